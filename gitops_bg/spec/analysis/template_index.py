"""The AnalysisTemplates of a repository by name, from the files of ``analysis/``. Fetches nothing."""

from collections.abc import Mapping

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.analysis.templates import TEMPLATES, TemplateSpec
from gitops_bg.spec.app.layout import ANALYSIS_FOLDER
from gitops_bg.spec.app.shared_documents import Item, SharedDocuments, load_shared_documents

Template = Item[TemplateSpec]
Library = SharedDocuments[TemplateSpec]


def load_templates(files: Mapping[str, bytes | Problem]) -> Library:
    """The templates in the files of ``analysis/``, by path. A Problem stands for a file that Git found unusable."""
    return load_shared_documents(files, ANALYSIS_FOLDER, TEMPLATES)
