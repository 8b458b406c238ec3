"""The AnalysisTemplates and AlertProviders of an import: which of them its apps name, and what is wrong with one."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from pydantic import BaseModel

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.analysis.templates import TEMPLATES
from gitops_bg.spec.app.layout import ANALYSIS_FOLDER
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.importing.argo_rollouts import template_names
from gitops_bg.spec.importing.draft import Draft
from gitops_bg.spec.importing.manifest import Manifest, cleaned
from gitops_bg.spec.notifications.alert_providers import AlertProvider
from gitops_bg.spec.yaml.reader import Document, read
from gitops_bg.spec.yaml.values import as_map, as_maps

_MODELS: Mapping[str, type[BaseModel]] = {**TEMPLATES, "AlertProvider": AlertProvider}
"""The models of what is read as it is, by kind."""
_NOBODY_S = "it is left out: no imported app names it"


def used_by(drafts: Iterable[Draft], templates: Iterable[Manifest]) -> set[tuple[bool, str]]:
    """What apps name: whether it is a template, and its name; with the templates that those templates name."""
    of_name: dict[str, list[Manifest]] = {}
    for each in templates:
        of_name.setdefault(each.name, []).append(each)
    found: set[tuple[bool, str]] = set()
    waiting: list[str] = []
    for draft in drafts:
        waiting += [name for _, name in template_names(draft)]
        alerts = as_maps(as_map(draft.spec.get("analysis")).get("alerts"))
        found |= {(False, str(as_map(alert.get("providerRef")).get("name"))) for alert in alerts}
    while waiting:
        name = waiting.pop()
        if (True, name) not in found:
            found.add((True, name))
            refs = (ref for of in of_name.get(name, ()) for ref in as_maps(of.spec.get("templates")))
            waiting += [str(ref.get("templateName")) for ref in refs]
    return found


def is_as_written(shared: Manifest) -> bool:
    """Whether it is a document of its own that is written as its author wrote it."""
    return not shared.path and cleaned(shared.value) == shared.value


def wrong_with(shared: Manifest) -> tuple[Problem, ...]:
    """What is wrong with a document as it would be written."""
    model = _MODELS[shared.kind]
    if is_as_written(shared):
        return validate(model, shared.document)[1]
    found = validate(model, Document(shared.document.file, cleaned(shared.value)))[1]
    return tuple(shared.problem((), f"{each.field}: {each.message}", each.remedy) for each in found)


def left_out(wrong: Problem) -> Problem:
    """What is said of an object that cannot be imported and that no app needs."""
    return replace(wrong, remedy=f"{wrong.remedy}; {_NOBODY_S}" if wrong.remedy else _NOBODY_S)


def templates_of(repository: Mapping[str, bytes | Problem]) -> Iterator[str]:
    """The names of the AnalysisTemplates of a repository."""
    for path, content in repository.items():
        if path.startswith(f"{ANALYSIS_FOLDER}/") and isinstance(content, bytes):
            for document in read(path, content).documents:
                name = as_map(as_map(document.value).get("metadata")).get("name")
                if isinstance(name, str):
                    yield name
