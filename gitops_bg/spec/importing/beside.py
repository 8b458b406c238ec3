"""The objects beside an app's workload, in an import: which of them belong into its folder, as what, and which
AnalysisTemplates and AlertProviders its apps name. Reads no file.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.analysis.templates import TEMPLATES
from gitops_bg.spec.app.layout import ANALYSIS_FOLDER, APP_FILE
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.importing.draft import AppDraft, of_other_tools
from gitops_bg.spec.importing.manifest import Manifest, cleaned, handed_over
from gitops_bg.spec.importing.tools import OF_OAM
from gitops_bg.spec.importing.workloads import template_names
from gitops_bg.spec.manifests.autoscaling import AUTOSCALERS
from gitops_bg.spec.manifests.objects import MatchExpression
from gitops_bg.spec.notifications import AlertProvider
from gitops_bg.spec.yaml.reader import Document, read
from gitops_bg.spec.yaml.scalars import as_map, as_maps

# --- AnalysisTemplates and AlertProviders: which of them apps name, and what is wrong with one ---

_MODELS: Mapping[str, type[BaseModel]] = {**TEMPLATES, "AlertProvider": AlertProvider}
"""The models of what is read as it is, by kind."""
_NOBODY_S = "it is left out: no imported app names it"


def used_by(drafts: Iterable[AppDraft], templates: Iterable[Manifest]) -> set[tuple[bool, str]]:
    """Return what apps name: whether it is a template, and its name; with the templates that those templates name."""
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
    """Return whether it is a document of its own that is written as its author wrote it."""
    return not shared.path and cleaned(shared.value) == shared.value


def wrong_with(shared: Manifest) -> tuple[Problem, ...]:
    """Return what is wrong with a document as it would be written."""
    model = _MODELS[shared.kind]
    if is_as_written(shared):
        return validate(model, shared.document)[1]
    found = validate(model, Document(shared.document.file, cleaned(shared.value)))[1]
    return tuple(shared.problem((), f"{each.field}: {each.message}", each.remedy) for each in found)


def left_out(wrong: Problem) -> Problem:
    """Return what is said of an object that cannot be imported and that no app needs."""
    return replace(wrong, remedy=f"{wrong.remedy}; {_NOBODY_S}" if wrong.remedy else _NOBODY_S)


def templates_of(repository: Mapping[str, bytes | Problem]) -> Iterator[str]:
    """Yield the names of the AnalysisTemplates of a repository."""
    for path, content in repository.items():
        if path.startswith(f"{ANALYSIS_FOLDER}/") and isinstance(content, bytes):
            for document in read(path, content).documents:
                name = as_map(as_map(document.value).get("metadata")).get("name")
                if isinstance(name, str):
                    yield name


# --- what belongs into a folder ---

BUDGET = "PodDisruptionBudget"
_ASSIGNED: Mapping[str, tuple[Any, ...]] = {
    "internalTrafficPolicy": ("Cluster",),
    "sessionAffinity": ("None",),
    "type": ("ClusterIP",),
    "ipFamilyPolicy": ("SingleStack",),
}
"""Fields of a live Service with the values that the API server fills in."""


class CompanionObjects:
    """The objects of the files beside the workloads; each is given to the drafts it belongs to."""

    def __init__(self, manifests: Iterable[Manifest]) -> None:
        self._manifests = list(manifests)
        self._given: set[int] = set()

    def give(self, draft: AppDraft, *, is_chosen: bool) -> None:
        """Add to a draft what belongs to it. ``is_chosen``: the Services of its live traffic are known already."""
        near = [each for each in self._manifests if each.namespace == draft.app.namespace]
        self._services(draft, [each for each in near if each.kind == "Service"], is_chosen=is_chosen)
        for each in near:
            if each.kind == "ConfigMap" and ("ConfigMap", each.name) in draft.uses:
                self._give(draft, each, handed_over(each.value))
            elif each.kind in AUTOSCALERS and _scales(each, draft):
                self._give(draft, each, _aimed_at(draft, each))
            elif each.kind == BUDGET and _selects(as_map(each.spec.get("selector")), draft.labels):
                self._give(draft, each, handed_over(each.value))

    def ungiven(self) -> Iterable[Problem]:
        """Yield what belongs to none of the apps."""
        for each in self._manifests:
            if id(each) not in self._given:
                message = f"{each.kind} {each.name} belongs to none of the apps that are imported"
                yield each.problem(("metadata", "name"), message, "apply it as before, or move it to an app's folder")

    def mark(self, manifest: Manifest) -> None:
        """Say that something has been said of an object."""
        self._given.add(id(manifest))

    def named(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """Return the object of this kind and name."""
        found = (each for each in self._manifests if (each.kind, each.namespace, each.name) == (kind, namespace, name))
        return next(found, None)

    def _services(self, draft: AppDraft, services: list[Manifest], *, is_chosen: bool) -> None:
        selecting = [each for each in services if _selects_pods(each, draft.labels)]
        preview = draft.blue_green.get("previewService")
        if not is_chosen:
            taken = {each.name for each in services}
            self._choose(draft, [each.name for each in selecting if each.name != preview], taken)
        routed = [*draft.services, draft.blue_green.get("previewService")]
        for each in services:
            if each.name in routed:
                self._give(draft, each, _service(each))
            elif each in selecting:
                self.mark(each)
                message = f"selects the pods of {draft.app}, of every version, and {APP_FILE} does not name it"
                remedy = "add it to strategy.blueGreen.activeServices, so that it follows live traffic, or apply it as "
                draft.listed.append(each.problem(("metadata", "name"), message, f"{remedy}before"))

    def _choose(self, draft: AppDraft, names: list[str], taken: set[str]) -> None:
        """Decide which Services carry live traffic: all that select its pods. Where none does, one called as the app,
        unless one of that name leads to other pods.
        """
        strategy, own = draft.blue_green, draft.app.name
        made = f"{own}-active" if own in taken else own
        live = {"activeServices": names} if len(names) > 1 else {"activeService": (names or [made])[0]}
        strategy.pop("activeService", None)
        draft.spec["strategy"]["blueGreen"] = {**live, **strategy}
        if not names:
            message = f"no Service of the files selects its pods, so the agent makes one called {made}"
            remedy = "add the file of its Service, or name another one in app.yaml"
            containers = as_maps(as_map(draft.template.get("spec")).get("containers"))
            if not any(as_maps(each.get("ports")) for each in containers):
                message = "no Service of the files selects its pods, and no container declares a port to make one of"
                remedy = "add the file of its Service, or declare a containerPort"
            draft.listed.append(draft.workload.problem(("metadata", "name"), message, remedy))

    def _give(self, draft: AppDraft, manifest: Manifest, value: Mapping[str, Any]) -> None:
        self.mark(manifest)
        draft.listed.extend(of_other_tools(manifest))
        draft.parts.append((manifest.kind, value, manifest))


def _service(manifest: Manifest) -> dict[str, Any]:
    """Return a Service without its selector, which the agent sets, and without what the API server assigns."""
    value = handed_over(manifest.value)
    spec = {
        key: each
        for key, each in as_map(value.get("spec")).items()
        if key != "selector"
        and not (each in _ASSIGNED.get(key, ()) or (key.startswith(("clusterIP", "ipFamil")) and each != "None"))
    }
    return {**value, "spec": spec}


def _selects_pods(service: Manifest, labels: Mapping[str, Any]) -> bool:
    selector = as_map(service.spec.get("selector"))
    return bool(selector) and all(labels.get(key) == each for key, each in selector.items() if key != _HASH)


_HASH = "rollouts-pod-template-hash"
"""The label by which Argo Rollouts tells versions apart."""


def _selects(selector: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    """Return whether a label selector selects pods with these labels; an empty one, which selects all, belongs to no
    app.
    """
    exact, expressions = as_map(selector.get("matchLabels")), as_maps(selector.get("matchExpressions"))
    try:
        found = [MatchExpression.model_validate(each) for each in expressions]
    except ValidationError:
        return False
    plain = {key: str(each) for key, each in labels.items()}
    is_empty = not exact and not found
    return not is_empty and all(plain.get(key) == each for key, each in exact.items()) and _all(found, plain)


def _all(expressions: Iterable[MatchExpression], labels: dict[str, str]) -> bool:
    return all(each.matches(labels) for each in expressions)


def _scales(scaler: Manifest, draft: AppDraft) -> bool:
    aim = as_map(scaler.spec.get("scaleTargetRef"))
    wanted = {(each.kind, each.name) for each in (draft.origin, draft.workload)}
    if draft.workload.kind in OF_OAM:  # their controllers make a Deployment of them
        wanted.add(("Deployment", draft.workload.name))
    return (str(aim.get("kind", "Deployment")), str(aim.get("name"))) in wanted


def _aimed_at(draft: AppDraft, scaler: Manifest) -> dict[str, Any]:
    """Return the autoscaler, aimed at the workload in target.yaml."""
    value = handed_over(scaler.value)
    aim = as_map(as_map(value.get("spec")).get("scaleTargetRef"))
    kind = str(draft.target.get("kind"))
    if (aim.get("kind", "Deployment"), aim.get("name")) == (kind, draft.app.name):
        return value
    ours = {"apiVersion": draft.target.get("apiVersion"), "kind": kind, "name": draft.app.name}
    return {**value, "spec": {**as_map(value["spec"]), "scaleTargetRef": ours}}
