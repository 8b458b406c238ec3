"""The AnalysisTemplates of a repository by name, from the files of ``analysis/``. Fetches nothing."""

from collections.abc import Mapping

from gitops_bg.core.desired import Problem
from gitops_bg.spec.layout import ANALYSIS_FOLDER
from gitops_bg.spec.shelf import Item, Shelf, load_shelf
from gitops_bg.spec.templates import AnalysisTemplate, TemplateSpec

Template = Item[TemplateSpec]
Library = Shelf[TemplateSpec]


def load_library(files: Mapping[str, bytes | Problem]) -> Library:
    """The templates of the files of ``analysis/``, by path. A Problem stands for a file that Git found unusable."""
    return load_shelf(files, ANALYSIS_FOLDER, "AnalysisTemplate", AnalysisTemplate)
