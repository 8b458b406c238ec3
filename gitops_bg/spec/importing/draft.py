"""What an import writes: the files of one app, as they take shape, and their texts; and what would be wrong with them.

They are read as the agent would: an import that is not valid is not whole. Nothing here writes a file.
"""

from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import lines_of
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import API_VERSION
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.app.layout import APP_FILE, DEFAULT_TARGET_FILE, app_file
from gitops_bg.spec.importing.manifest import Manifest, authored, handed_over, text_of
from gitops_bg.spec.importing.tools import marks_of, without_marks
from gitops_bg.spec.manifests.configuration import references
from gitops_bg.spec.manifests.edit import set_field
from gitops_bg.spec.manifests.target import template_of
from gitops_bg.spec.yaml.scalars import as_map, to_yaml, written

FILES = {
    "Service": "services.yaml",
    "ConfigMap": "configuration.yaml",
    "HorizontalPodAutoscaler": "autoscaler.yaml",
    "ScaledObject": "autoscaler.yaml",
    "PodDisruptionBudget": "budget.yaml",
}
"""The file of an app's folder by the kind of what is in it."""
DEFAULTS = {"progressDeadlineSeconds": 600, "revisionHistoryLimit": 10, "minReadySeconds": 0}
"""Fields of app.yaml that say nothing with these values: the defaults of Kubernetes, Argo Rollouts, and here."""


@dataclass(frozen=True, slots=True)
class DraftObject:
    """One object of a file that is written, and what it comes from."""

    text: str
    origin: Manifest


@dataclass
class AppDraft:
    """One app in the making."""

    app: AppKey
    origin: Manifest
    """The object that makes it an app."""
    workload: Manifest
    """The object with the pod template: ``origin`` itself, or the one that it refers to."""
    target: Mapping[str, Any]
    """The Deployment that becomes target.yaml."""
    spec: dict[str, Any] = field(default_factory=dict)
    """``spec`` of app.yaml."""
    comments: dict[str, str] = field(default_factory=dict)
    """What is said behind a field of app.yaml, by its name."""
    parts: list[tuple[str, Mapping[str, Any], Manifest]] = field(default_factory=list)
    """The other objects of the folder: kind, value, and where each comes from."""
    listed: list[Problem] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    replicas: int | None = None
    """The size that counts, where another object than the workload says it."""
    is_partial: bool = False
    """Whether another workload stands for its own, which is not among the files: only app.yaml is as it would be."""

    @property
    def blue_green(self) -> dict[str, Any]:
        """``spec.strategy.blueGreen``; made where it is not there."""
        found: dict[str, Any] = self.spec.setdefault("strategy", {}).setdefault("blueGreen", {})
        return found

    @property
    def template(self) -> Mapping[str, Any]:
        """The pod template."""
        return as_map(template_of(self.target))

    @property
    def labels(self) -> Mapping[str, Any]:
        """The labels of its pods."""
        return as_map(as_map(self.template.get("metadata")).get("labels"))

    @property
    def uses(self) -> frozenset[tuple[str, str]]:
        """The ConfigMaps and Secrets that its pods refer to, by kind and name."""
        return references(self.template)

    @property
    def services(self) -> tuple[str, ...]:
        """The Services that carry its live traffic, as far as they are known."""
        named = self.blue_green.get("activeServices") or [self.blue_green.get("activeService")]
        return tuple(filter(None, named))

    def put(self, key: str, value: Any) -> None:
        """Write a field of ``spec``, unless its value is the default."""
        if value is not None and DEFAULTS.get(key) != value:
            self.spec[key] = value

    def let_a_person_decide(self, why: str) -> None:
        """Promote nothing without a person: something that was checked before traffic moved is left out."""
        self.blue_green["autoPromotionEnabled"] = False
        self.comments["autoPromotionEnabled"] = why

    def suspend(self, why: str) -> None:
        """Suspend the app."""
        self.spec["suspend"] = {"reason": why}

    @property
    def paths(self) -> set[str]:
        """The paths of its files."""
        names = {APP_FILE, DEFAULT_TARGET_FILE, *(FILES[kind] for kind, _, _ in self.parts)}
        return {app_file(self.app, name) for name in names}

    def pieces(self) -> dict[str, list[DraftObject]]:
        """Return what its files consist of, by path: one piece for each object."""
        found = {
            app_file(self.app, APP_FILE): [DraftObject(self._app_file(), self.origin)],
            app_file(self.app, DEFAULT_TARGET_FILE): [DraftObject(self._target_file(), self.workload)],
        }
        for kind, value, origin in self.parts:
            text = f"# From {origin.origin}.\n{text_of(origin, value)}"
            found.setdefault(app_file(self.app, FILES[kind]), []).append(DraftObject(text, origin))
        return found

    def _app_file(self) -> str:
        metadata: dict[str, Any] = {"name": self.app.name, "namespace": self.app.namespace}
        own = without_marks(as_map(self.origin.value.get("metadata")))
        annotations = authored(as_map(own.get("annotations")))
        metadata |= {key: each for key, each in (("labels", own.get("labels")), ("annotations", annotations)) if each}
        value: dict[str, Any] = {
            "apiVersion": API_VERSION,
            "kind": "BlueGreenDeployment",
            "metadata": metadata,
            "spec": self._ordered(),
        }
        return f"# From {self.origin.origin}, by gitops-bg import.\n{_commented(to_yaml(value), self.comments)}"

    def _ordered(self) -> dict[str, Any]:
        """Return ``spec`` in the order in which people read it."""
        spec = {key: self.spec[key] for key in _in_order(self.spec, _FIRST)}
        blue_green = {key: self.blue_green[key] for key in _in_order(self.blue_green, _FIRST_OF_STRATEGY)}
        return {**spec, "strategy": {"blueGreen": blue_green}}

    def _target_file(self) -> str:
        text = text_of(self.workload, self.target)
        if self.replicas is not None and as_map(self.target.get("spec")).get("replicas") != self.replicas:
            text = set_field(text.encode(), ("spec", "replicas"), self.replicas, DEFAULT_TARGET_FILE).decode()
        return f"# From {self.workload.origin}.\n{text}"


def deployment_of(name: str, namespace: str, spec: Mapping[str, Any], labels: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Deployment with this spec."""
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if labels:
        metadata["labels"] = dict(labels)
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": dict(spec)}


def target_of(manifest: Manifest) -> Mapping[str, Any]:
    """Return a Deployment as a target: itself, without what the API server and other tools wrote."""
    value = handed_over(manifest.value)
    return manifest.value if value == manifest.value else value


def of_other_tools(manifest: Manifest) -> Iterator[Problem]:
    """Yield the labels and annotations that are another tool's, on an object that it does not apply any more."""
    for where, key in marks_of(as_map(manifest.value.get("metadata"))):
        does = "is how another tool knows" if where == "labels" else "tells another tool what to do with"
        message, remedy = f"{does} this object, which it does not apply any more", "leave it out"
        if key.startswith("notifications.argoproj.io/"):
            message = "subscribes at Argo"
            remedy = "add spec.analysis.alerts to app.yaml, and an AlertProvider to alerts/"
        yield manifest.problem(("metadata", where, key), message, remedy, at_key=True)


_FIRST = ("suspend", "strategy", "promotion", "analysis", "autoscalerRef")
_FIRST_OF_STRATEGY = ("activeService", "activeServices", "previewService", "routes", "autoPromotionEnabled")


def _in_order(fields: Mapping[str, Any], first: Iterable[str]) -> list[str]:
    known = [key for key in first if key in fields]
    return [*known, *(key for key in fields if key not in known)]


def _commented(text: str, comments: Mapping[str, str]) -> str:
    """Return the text with a comment behind the first line of each of these fields."""
    lines = text.split("\n")
    for key, comment in comments.items():
        at = next((number for number, line in enumerate(lines) if line.strip().startswith(f"{key}:")), None)
        if at is not None:
            lines[at] = f"{lines[at]}  # {comment}"
    return "\n".join(lines)


_SEPARATOR = "---\n"

Pieces = Mapping[str, Sequence[DraftObject]]
"""What the new files consist of, by path."""
_Place = tuple[str, int]
"""A file, and a line of it."""


def file_text(pieces: Iterable[DraftObject]) -> str:
    """Return the text of a file."""
    return _SEPARATOR.join(each.text for each in pieces)


def problems_of(
    files: Pieces, repository: Mapping[str, bytes | Problem], said: Iterable[Problem], unsure: Container[str] = ()
) -> Iterator[Problem]:
    """Yield the errors that `check` would find, and does not find now: in the new files each with the place of what the
    file comes from, in others, where a new file contradicts them, with their own.

    What follows from an error that is ``said`` already, of the same field of the same object, is not said again, and
    nothing is of the files that are ``unsure``.
    """
    whole = {**repository, **{path: file_text(each).encode() for path, each in files.items()}}
    known = set(check_repository(repository.items()).problems)
    of_object = _by_object((each.origin for pieces in files.values() for each in pieces), said)
    for found in check_repository(whole.items()).problems:
        field = f"{found.field}: " if found.field else ""
        if found.file in unsure:
            continue
        if found.file in files:
            origin = _origin_of(found, files[found.file])
            if not any(_follows(found, each, origin) for each in of_object.get(_place(origin), ())):
                message = f"would be wrong as {found.file}: {field}{found.message}"
                yield origin.problem((), message, found.remedy)
        elif found not in known:
            yield found


def _origin_of(problem: Problem, pieces: Sequence[DraftObject]) -> Manifest:
    """Return what the object comes from that a problem of a new file is about."""
    last = 0
    for each in pieces:
        last += len(lines_of(each.text))
        if (problem.line or 1) <= last:
            return each.origin
    return pieces[-1].origin


def _follows(found: Problem, said: Problem, origin: Manifest) -> bool:
    """Return whether a problem is of the same field as one that is said, or of one inside of it. Of all of `spec` is
    said that there is nothing to run, which means the target.
    """
    root = f"{written(origin.path)}." if origin.path else ""
    field = said.field.removeprefix(root)
    if not field or (field == "spec" and found.file.endswith(f"/{APP_FILE}")):
        return False
    ours = {found.field, found.field.removeprefix("spec.template.")}  # the latter where a pod template was made
    return any(each == field or each.startswith((f"{field}.", f"{field}[")) for each in ours)


def _by_object(manifests: Iterable[Manifest], said: Iterable[Problem]) -> dict[_Place, list[Problem]]:
    """Return the problems of each object, by where it begins: it is the last one that begins before them."""
    places = sorted({_place(each) for each in manifests})
    found: dict[_Place, list[Problem]] = {}
    for each in said:
        at = (each.file, each.line or 0)
        before = bisect_right(places, at)
        if before and places[before - 1][0] == each.file:
            found.setdefault(places[before - 1], []).append(each)
    return found


def _place(manifest: Manifest) -> _Place:
    return manifest.document.file, manifest.problem((), "").line or 1
