"""The auxiliary objects of an app: the objects of its folder that belong to the app and not to a version
(docs/decisions/0014).

The autoscaler as a copy, PodDisruptionBudgets, and ConfigMaps and Secrets that are no part of a version, as in Git.
Reads documents only.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import Any

from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.auxiliary import AppRoute, Autoscaler, AuxiliaryObject
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app import models
from gitops_bg.spec.app.layout import APP_FILE
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.manifests.autoscaling import AUTOSCALERS, AutoscalerRef, Scaler, check_ref, copy_of, read_autoscaler
from gitops_bg.spec.manifests.configuration import (
    CONFIG_MAP,
    SECRET,
    Named,
    check_configuration,
    is_tracked,
    references,
)
from gitops_bg.spec.manifests.members import check_shared, live_name, own_budget, renamed
from gitops_bg.spec.manifests.objects import Loose, Object, Selector
from gitops_bg.spec.manifests.target import template_of, value_at
from gitops_bg.spec.manifests.traffic import port_of, route_of
from gitops_bg.spec.yaml.reader import Document
from gitops_bg.spec.yaml.scalars import Path

BUDGET = "PodDisruptionBudget"

_CHANGING = (names.DIGEST, names.COLOR, names.VERSION)
"""Labels whose values differ between versions."""


@dataclass(frozen=True, slots=True)
class AuxiliaryObjects:
    """The auxiliary objects in the folder; where it is not ``whole``, further ones may exist."""

    manifests: Mapping[AuxiliaryObject, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    """Never shown by ``repr``, because Secrets are among them."""
    autoscaler: Autoscaler | None = None
    scaled_by: str = ""
    """The name of the autoscaler in Git."""
    route: AppRoute | None = None
    """The route in front of the Services."""
    whole: bool = True


NO_AUXILIARY_OBJECTS = AuxiliaryObjects()
UNKNOWN = AuxiliaryObjects(whole=False)


class BudgetSpec(Loose):
    """The part of a PodDisruptionBudget that is read."""

    selector: Selector | None = None
    min_available: Any = None
    max_unavailable: Any = None


class Budget(Object):
    """A PodDisruptionBudget."""

    spec: BudgetSpec


@dataclass(frozen=True, slots=True)
class FolderContent:
    """The content of a folder apart from its auxiliary objects: app.yaml, the target, and the other
    manifests by name.
    """

    app: AppKey
    app_document: Document | None
    model: models.AppFields | None
    target: Document | None
    manifests: Mapping[Named, Document]
    readable: bool
    """Whether every manifest could be read."""


def auxiliary_of(folder: FolderContent) -> tuple[AuxiliaryObjects, tuple[Problem, ...]]:
    """Return the valid auxiliary objects, and the problems of the others. Folders without any share a value."""
    found, problems = _Reading(folder).read()
    return next((each for each in (NO_AUXILIARY_OBJECTS, UNKNOWN) if each == found), found), problems


class _Reading:
    """One reading of the auxiliary objects of one folder; collects problems."""

    def __init__(self, folder: FolderContent) -> None:
        self.folder = folder
        self.problems: list[Problem] = []
        self.ref: AutoscalerRef | None = folder.model.autoscaler_ref if folder.model else None

    def read(self) -> tuple[AuxiliaryObjects, tuple[Problem, ...]]:
        manifests: dict[AuxiliaryObject, Mapping[str, Any]] = {}
        for (kind, name), document in self.folder.manifests.items():
            live = live_name(document.folder, name)
            if kind in (CONFIG_MAP, SECRET) and not self._is_tracked(document) and self._is_sound(document):
                self._add(manifests, AuxiliaryObject(kind, live), renamed(document, live), name)
            elif kind == BUDGET and self._protects(document):
                self._add(manifests, AuxiliaryObject(kind, live), own_budget(document), name)
        autoscaler, scaled_by = self._autoscaler(manifests)
        route = self._route(manifests)
        understood = self.folder.readable and bool(self.folder.model and self.folder.target)
        known = understood and not self.problems
        return AuxiliaryObjects(manifests, autoscaler, scaled_by, route, known), tuple(self.problems)

    def _add(
        self, manifests: dict[AuxiliaryObject, Mapping[str, Any]], key: AuxiliaryObject, document: Document, name: str
    ) -> None:
        if key in manifests:
            message = f"{key.kind} {name} is live as {key.name}, and so is another one of the folder"
            self.problems.append(document.problem(("metadata", "name"), message, "rename one of the two"))
        else:
            manifests[key] = document.value

    def _is_tracked(self, document: Document) -> bool:
        """Return whether a version tracks the object.

        The references of an unreadable target are unknown: then everything it may track stays untouched.
        """
        value = document.value
        itself = frozenset({(value["kind"], value["metadata"]["name"])})
        template = self._template()
        return is_tracked(value, itself if template is None else references(template) & itself)

    def _is_sound(self, document: Document) -> bool:
        """Return whether a configuration object is valid; one that is part of the version is checked with the target
        (`track`).
        """
        problems = (*check_configuration(document), *check_shared(document, references(self._template())))
        self.problems.extend(problems)
        return not problems

    def _template(self) -> Any:
        target = self.folder.target
        return template_of(target.value) if target else None

    # --- the autoscaler ---

    def _autoscaler(self, manifests: dict[AuxiliaryObject, Mapping[str, Any]]) -> tuple[Autoscaler | None, str]:
        document, scaler = self._chosen()
        if document is None or scaler is None:
            return None, ""
        if self.ref and self.folder.app_document:
            problems = tuple(check_ref(self.folder.app_document, self.ref, scaler, document.value))
            self.problems.extend(problems)
            if problems:
                return None, ""
        autoscaler, made = copy_of(
            scaler, document.value, self.ref, self._live_service(), partial(live_name, document.folder)
        )
        manifests[autoscaler.copy] = made
        return autoscaler, scaler.metadata.name

    def _chosen(self) -> tuple[Document | None, Scaler | None]:
        """Return the autoscaler that app.yaml names, or else the only one; several are a problem, and so is a missing
        name.

        None where app.yaml cannot be read: it may name one.
        """
        if self.folder.model is None:
            return None, None
        found = {name: each for name, each in self.folder.manifests.items() if name[0] in AUTOSCALERS}
        if self.ref is not None:
            named = found.get((self.ref.kind, self.ref.name))
            self.problems.extend(self._check_named(self.ref, named))
            found = {(self.ref.kind, self.ref.name): named} if named else {}
        documents = list(found.values())
        read = [(each, self._read(each)) for each in documents]
        for other in documents[1:]:
            self.problems.append(_one_too_many(other, documents[0]))
        return read[0] if len(read) == 1 else (None, None)

    def _read(self, document: Document) -> Scaler | None:
        scaler, problems = read_autoscaler(document, self._target())
        self.problems.extend(problems)
        return scaler

    def _target(self) -> Mapping[str, Any]:
        """Return the target's manifest; for an unreadable one, its name and the usual kind, Deployment."""
        target = self.folder.target
        return target.value if target else {"kind": "Deployment", "metadata": {"name": self.folder.app.name}}

    def _check_named(self, ref: AutoscalerRef, named: Document | None) -> Iterator[Problem]:
        app, path = self.folder.app_document, ("spec", "autoscalerRef")
        if app is None:
            return
        if named is None and self.folder.readable:
            message = f"there is no {ref.kind} {ref.name} in the folder"
            yield app.problem((*path, "name"), message, f"add it to {app.folder}, or name another")

    def _live_service(self) -> str:
        model = self.folder.model
        return model.strategy.blue_green.live_services[0] if model else self.folder.app.name

    # --- the route ---

    def _route(self, manifests: dict[AuxiliaryObject, Mapping[str, Any]]) -> AppRoute | None:
        folder = self.folder
        if folder.model is None or folder.app_document is None or folder.model.strategy.blue_green.routes is None:
            return None
        blue_green, template = folder.model.strategy.blue_green, self._template()
        port, problems = port_of(folder.app_document, blue_green, folder.manifests, template)
        self.problems.extend(problems)
        if port is None:
            return None
        route, made = route_of(folder.app, blue_green, port)
        manifests.update(made)
        return route

    # --- budgets ---

    def _protects(self, document: Document) -> bool:
        """Return whether a budget protects pods of this app; with a broken target, that is assumed."""
        budget, problems = validate(Budget, document)
        template = self._template()
        if budget is not None and isinstance(template, Mapping):
            problems = (*_check_limits(document, budget), *self._check_selector(document, budget, template))
        self.problems.extend(problems)
        return not problems

    def _check_selector(self, document: Document, budget: Budget, template: Mapping[str, Any]) -> Iterator[Problem]:
        selector, path = budget.spec.selector, ("spec", "selector")
        selects_all = document.value["apiVersion"] == "policy/v1"
        if selector is None or not (selector.match_labels or selector.match_expressions or selects_all):
            yield document.problem(path, "selects no pods", "write matchLabels with labels of the target's template")
            return
        labels = {**(value_at(template, ("metadata", "labels")) or {}), names.APP: names.app_label(self.folder.app)}
        changing = {*_CHANGING, *self._labels_of_roles()}
        for place, key, matches in _requirements(selector, labels):
            if key not in changing and not matches:
                found = f"{key}: {labels[key]}" if key in labels else f"no {key}"
                message = f"selects no pod of this app: the target's template has {found}"
                yield document.problem((*path, *place), message, "select by labels of the target's template")

    def _labels_of_roles(self) -> set[str]:
        """Return labels that pods carry only while their version has a role."""
        strategy = self.folder.model.strategy.blue_green.strategy if self.folder.model else None
        roles = (strategy.active_metadata, strategy.preview_metadata) if strategy else ()
        return {key for role in roles for key, _ in role.labels}


def _check_limits(document: Document, budget: Budget) -> Iterator[Problem]:
    if budget.spec.min_available is not None and budget.spec.max_unavailable is not None:
        yield document.problem(("spec", "maxUnavailable"), "is there beside minAvailable", "keep one of the two")


def _requirements(selector: Selector, labels: dict[str, str]) -> Iterator[tuple[Path, str, bool]]:
    """Yield each requirement of a selector: its place, its label, and whether these labels fulfil it."""
    for key, value in (selector.match_labels or {}).items():
        yield ("matchLabels", key), key, labels.get(key) == value
    for index, each in enumerate(selector.match_expressions or []):
        yield ("matchExpressions", index), each.key, each.matches(labels)


def _one_too_many(document: Document, first: Document) -> Problem:
    kind, name = first.value["kind"], first.value["metadata"]["name"]
    message = f"the folder has another autoscaler, {kind} {name} in {first.file.rpartition('/')[2]}"
    return document.problem(("metadata", "name"), message, f"keep one, or name one as spec.autoscalerRef in {APP_FILE}")
