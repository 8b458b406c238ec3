"""The AnalysisTemplates of a repository by name, from the files of ``analysis/``. Fetches nothing.

What is wrong with a template is kept with it: apps that use it are told, the others go on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_bg.core.desired import Problem
from gitops_bg.spec.layout import ANALYSIS_FOLDER, is_manifest
from gitops_bg.spec.templates import AnalysisTemplate, TemplateSpec
from gitops_bg.spec.validation import validate
from gitops_bg.spec.yamlio import Document, read


@dataclass(frozen=True, slots=True)
class Template:
    """One AnalysisTemplate. ``spec`` is None where ``problems`` says why it cannot be used."""

    name: str
    document: Document
    spec: TemplateSpec | None
    namespace: str | None = None
    problems: tuple[Problem, ...] = ()

    def says_the_same_as(self, other: "Template | None") -> bool:
        """Whether an app that uses this one need not look again because of the other."""
        return other is not None and (self.document.value, self.problems) == (other.document.value, other.problems)


@dataclass(frozen=True, slots=True)
class Library:
    """All templates. ``problems`` are those of files in which no template could be told."""

    templates: Mapping[str, Template] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def all_problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong in ``analysis/``."""
        return (*self.problems, *(each for template in self.templates.values() for each in template.problems))

    def changed(self, other: "Library") -> frozenset[str]:
        """The names under which the other library has something else, or nothing; an app may name one in vain."""
        names = self.templates.keys() | other.templates.keys()
        return frozenset(name for name in names if not _same(self.templates.get(name), other.templates.get(name)))


def _same(one: Template | None, other: Template | None) -> bool:
    return one is other or (one is not None and one.says_the_same_as(other))


def is_template_file(path: str) -> bool:
    """Whether a file of the repository may hold AnalysisTemplates.

    >>> is_template_file("analysis/errors.yaml"), is_template_file("apps/shop/web/app.yaml")
    (True, False)
    """
    return path.startswith(f"{ANALYSIS_FOLDER}/") and is_manifest(path)


def load_library(files: Mapping[str, bytes | Problem]) -> Library:
    """The templates of the files of ``analysis/``, by path. A Problem stands for a file that Git found unusable."""
    templates: dict[str, Template] = {}
    problems: list[Problem] = []
    for path in sorted(filter(is_template_file, files)):
        content = files[path]
        if isinstance(content, Problem):
            problems.append(content)
            continue
        reading = read(path, content)
        problems.extend(reading.problems)
        for document in reading.documents:
            template = _template(document)
            if template is None:
                problems.extend(validate(AnalysisTemplate, document)[1])
            elif template.name in templates:
                templates[template.name] = _twice(templates[template.name], document)
            else:
                templates[template.name] = template
    return Library(templates, tuple(problems))


def _template(document: Document) -> Template | None:
    """The template of a document, good or not; None where it has no name."""
    model, problems = validate(AnalysisTemplate, document)
    if model is not None:
        return Template(model.metadata.name, document, model.spec, model.metadata.namespace)
    metadata = document.value.get("metadata") if isinstance(document.value, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return Template(name, document, None, problems=problems) if isinstance(name, str) else None


def _twice(first: Template, document: Document) -> Template:
    """Nobody can know which of the two is meant: neither is used."""
    message = f"there is an AnalysisTemplate {first.name} in {first.document.file} already"
    problem = document.problem(("metadata", "name"), message, "rename one of the two")
    return Template(first.name, first.document, None, first.namespace, (*first.problems, problem))
