"""The Jobs of an app's folder that ``spec.jobs`` of app.yaml names (decision 114): what is measured by running them,
and what is wrong with one before the API server is asked.
"""

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.analysis import MeasurementPlan, Metric
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.digest import canonical_json
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.written import DnsLabel
from gitops_bg.spec.app.layout import meant_as
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.manifests.configuration import references
from gitops_bg.spec.manifests.objects import LabelledMeta, Loose, check_place
from gitops_bg.spec.manifests.target import value_at
from gitops_bg.spec.yaml.reader import Document
from gitops_bg.spec.yaml.scalars import Path

PROVIDER = "job"
_API = "batch/v1"
_TEMPLATE: Path = ("spec", "template", "spec")


class JobContainer(Loose):
    """A container; without an image it has the one of the target's container of its name, else of the first one."""

    name: DnsLabel
    image: str | None = None


class JobPods(Loose):
    """The part of a Job's pods that is checked."""

    containers: list[JobContainer] = Field(min_length=1)
    init_containers: list[JobContainer] | None = None
    restart_policy: str | None = None


class JobTemplate(Loose):
    """The pod template of a Job."""

    spec: JobPods


class JobSpec(Loose):
    """The part of a Job that is checked."""

    template: JobTemplate


class JobMeta(LabelledMeta):
    """Its metadata; the name is the beginning of the live Job's, whose end is the digest of the version."""

    name: DnsLabel


class JobObject(Loose):
    """A Job of an app's folder."""

    metadata: JobMeta
    spec: JobSpec


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that ``spec.jobs`` names, and the place where it does."""

    name: str
    place: Path


_REFUSED = {
    "selector": ("is Kubernetes' own to make: each version has a Job of its own", "remove it"),
    "manualSelector": ("lets a Job take pods of another one", "remove it"),
    "ttlSecondsAfterFinished": (
        "would delete the Job before somebody reads its log, and, should the agent's record be lost, run it again",
        "remove it: the Job goes when its version is forgotten",
    ),
    "suspend": ("keeps it from ever running, and so every version from its pods", "remove it"),
}
"""By field of its spec: why not, and what to do."""


NO_CONTRACT = (
    "a service of a release group cannot tell whether an older version of the group can come back",
    "remove it: run such a Job by other means once nobody goes back to the version before",
)
"""Why a member has no contract, and what to do."""


def named_files(written: Sequence[str] | None, place: Path) -> list[NamedFile]:
    """Return the files that a field names.

    >>> [each.name for each in named_files(["a.yaml", "b.yaml"], ("spec",))], named_files(None, ())
    (['a.yaml', 'b.yaml'], [])
    """
    return [NamedFile(name, (*place, number)) for number, name in enumerate(written or ())]


@dataclass(frozen=True, slots=True)
class JobFolder:
    """Where Jobs are looked for: ``there`` are the files of the folder, ``open_file`` gives the one document of one, or
    None where that is broken, and reported.
    """

    app: AppKey
    document: Document
    target: str
    folder: str
    there: Collection[str]
    open_file: Callable[[str], Document | None]


def read_jobs(folder: JobFolder, files: Sequence[NamedFile]) -> tuple[dict[str, Document], tuple[Problem, ...]]:
    """Return the Jobs of the named files that are all right, by file, and the problems of the others."""
    found: dict[str, Document] = {}
    problems: list[Problem] = []
    for file in files:
        if problem := _unusable(folder, file, found):
            problems.append(problem)
        elif document := folder.open_file(file.name):
            wrong = check_job(document, folder.app) or tuple(_check_name(document, found))
            problems.extend(wrong)
            if not wrong:
                found[file.name] = document
    return found, tuple(problems)


def _unusable(folder: JobFolder, file: NamedFile, known: Container[str]) -> Problem | None:
    """Return what is wrong with the name of a file."""
    if file.name == folder.target or file.name in known:
        message = f"{file.name} is {'the target' if file.name == folder.target else 'named twice'}"
        return folder.document.problem(file.place, message, "name a file of its own for each Job")
    if file.name in folder.there:
        return None
    meant = meant_as(file.name, folder.there)
    remedy = f"rename {meant} to {file.name}" if meant else f"add it to {folder.folder}, with a Job"
    return folder.document.problem(file.place, f"{file.name} is not in the folder", remedy)


def _check_name(document: Document, others: Mapping[str, Document]) -> Iterator[Problem]:
    """Check that no two Jobs have one name: the live ones would, too."""
    name = document.value["metadata"]["name"]
    for file, other in others.items():
        if value_at(other.value, ("metadata", "name")) == name:
            message = f"the Job of {file} is called {name}, too"
            yield document.problem(("metadata", "name"), message, "rename one of the two")


def check_job(document: Document, app: AppKey) -> tuple[Problem, ...]:
    """Return what is wrong with the document of a file that ``spec.jobs`` names."""
    return tuple(_check(document, app))


def _check(document: Document, app: AppKey) -> Iterator[Problem]:
    kind, version = document.value.get("kind"), document.value.get("apiVersion")
    if kind != "Job":
        yield document.problem(("kind",), f"{kind or 'no kind'} is no Job", "write kind: Job, or name another file")
        return
    if version != _API:
        yield document.problem(("apiVersion",), f"a Job is of {_API}, found {version}", f"write apiVersion: {_API}")
        return
    model, problems = validate(JobObject, document)
    yield from problems
    if model is None:
        return
    yield from check_place(document, app, model.metadata, named=False)
    for field, (why, remedy) in _REFUSED.items():
        if document.value["spec"].get(field) is not None:
            yield document.problem(("spec", field), why, remedy, at_key=True)
    yield from _check_restarts(document, model.spec.template.spec.restart_policy)


def _check_restarts(document: Document, policy: str | None) -> Iterator[Problem]:
    """Kubernetes takes two policies; with one of them the pod of a failed Job, and its log, are deleted."""
    if policy in ("Never", "OnFailure"):
        return
    path = (*_TEMPLATE, "restartPolicy")
    if policy is None:
        yield document.problem(path, "is required in a Job", "write restartPolicy: Never")
    else:
        yield document.problem(path, f"{policy} is not possible in a Job", "write restartPolicy: Never")


def check_references(
    document: Document, folder: frozenset[tuple[str, str]], tracked: frozenset[tuple[str, str]]
) -> Iterator[Problem]:
    """Check that a Job uses no ConfigMap or Secret of the folder that is no part of the version: there is no copy of
    it, and a change of it would make no version. ``tracked`` are those that the target refers to.
    """
    for kind, name in sorted(references(document.value["spec"]["template"]) & folder - tracked):
        message = f"it refers to {kind} {name}, which is no part of the version: the target does not refer to it"
        remedy = f"refer to it in the target, too, as by an optional volume; or move {kind} {name} out of apps/"
        yield document.problem(_TEMPLATE, message, remedy)


def plan_of(
    files: Sequence[NamedFile], found: Mapping[str, Document], problems: Sequence[Problem]
) -> MeasurementPlan | None:
    """Return what is measured by running these Jobs: each once, and good if it is complete. Where one has a problem,
    the plan says so, and no pod comes without it.

    An error, as that a quota refuses it, is no verdict: it is tried again until somebody says otherwise.
    None where no file is named.
    """
    if not files:
        return None
    broken = [each.name for each in files if each.name not in found]
    if problems or broken:
        return MeasurementPlan(unknown=str(problems[0]) if problems else f"{broken[0]} cannot be used")
    return MeasurementPlan(tuple(_metric(found[each.name]) for each in files))


def _metric(document: Document) -> Metric:
    metadata: Mapping[str, Any] = document.value["metadata"]
    kept = {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
    query = canonical_json({"metadata": kept, "spec": document.value["spec"]})
    return Metric(metadata["name"], PROVIDER, query, consecutive_error_limit=-1, retention=1)
