"""The Job of a measurement: its manifest, and what a live one and its pods say (argo-rollouts.md §3, the provider
``job``). Pure.

A complete Job is a success, a failed one a failure. An image that cannot be pulled says nothing of the version:
inconclusive. A Job before the pods of a version (decision 114) waits for its image, until its deadline.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from sys import intern
from typing import Any

from gitops_bg.cluster.api.kinds import JOB_NAME, JOBS, Object
from gitops_bg.cluster.manifests.render import owner_reference, subject_label, with_quantities
from gitops_bg.cluster.observation.states import Meta, meta_of
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import Refused
from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.model.analysis import AnalysisPhase, MeasurementRequest
from gitops_bg.core.model.version import AppKey, AppOrGroup, Snapshot
from gitops_bg.spec.manifests.configuration import redirected

LONGEST = 3600
"""The longest run of a Job without ``activeDeadlineSeconds``, in seconds."""

_SECRET = re.compile(r"\{\{secret:(?P<name>[^/}]+)/(?P<key>[^}]+)\}\}")


def job_manifest(subject: AppOrGroup, uid: str, measure: MeasurementRequest) -> Object:
    """Return the Job to create. Raises ``Refused`` where it would contain a readable secret."""
    block = read_json(measure.metric.query)
    spec = _with_references(block.get("spec") or {})
    if measure.version is not None and isinstance(subject, AppKey):
        spec = {**spec, "template": _of_version(subject, measure.version, spec["template"])}
    spec.pop("ttlSecondsAfterFinished", None)  # the Job must stay until it is counted; the agent cleans up itself
    deadline = {} if spec.get("activeDeadlineSeconds") else {names.DEADLINE: str(LONGEST)}
    template = {**(spec.get("template") or {})}
    template["metadata"] = _ours(subject, template.get("metadata") or {}, {})
    marks = {names.MEASUREMENT: str(measure.id), names.METRIC: measure.metric.name, **deadline}
    metadata = _ours(subject, block.get("metadata") or {}, marks)
    metadata |= {"name": names.job_name(subject, measure.id), "namespace": subject.namespace}
    metadata["ownerReferences"] = [owner_reference(subject, uid)]
    spec = {**({"activeDeadlineSeconds": LONGEST} if deadline else {}), **spec, "template": template}
    return {"apiVersion": JOBS.api_version, "kind": JOBS.name, "metadata": metadata, "spec": spec}


def _of_version(app: AppKey, version: Snapshot, template: Mapping[str, Any]) -> Object:
    """Return the pod template of a Job before the pods of a version, with the version's images where it names none,
    its copies of its configuration, and the end of the log in the status of a pod that fails.
    """
    copies = {(ref.kind, ref.name): names.configuration_name(app, ref) for ref in version.configuration}
    own: Object = with_quantities(redirected(dict(template), copies))
    images = {each["name"]: each["image"] for each in read_json(version.text)["spec"]["containers"]}
    first = next(iter(images.values()), "")
    spec = own["spec"]
    for each in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        each.setdefault("image", images.get(each.get("name"), first))
        each.setdefault("terminationMessagePolicy", "FallbackToLogsOnError")
    return own


def _ours(subject: AppOrGroup, theirs: Mapping[str, Any], marks: Mapping[str, str]) -> Object:
    """Return the metadata of the block, overridden by ours; keys in our name are dropped, because Services select by
    those.
    """
    labels, annotations = (_foreign(theirs.get(each) or {}) for each in ("labels", "annotations"))
    labels |= {names.MANAGED_BY: names.MANAGER, **subject_label(subject)}
    return {"labels": labels, "annotations": annotations | dict(marks)}


def _foreign(words: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in words.items() if not key.startswith(f"{names.GROUP}/")}


def _with_references(value: Any) -> Any:
    """Return the spec with secret args as references: an ``env`` variable that is only such an arg refers to the
    Secret.
    """
    if isinstance(value, list):
        return [_with_references(item) for item in value]
    if isinstance(value, dict):
        found = _SECRET.fullmatch(value["value"]) if isinstance(value.get("value"), str) and "name" in value else None
        if found:
            return {"name": value["name"], "valueFrom": {"secretKeyRef": {"name": found["name"], "key": found["key"]}}}
        return {key: _with_references(item) for key, item in value.items()}
    if isinstance(value, str) and _SECRET.search(value):
        raise Refused(
            "a secret arg would stand in the Job for all to read; "
            "let the whole value of an env variable be the arg, and use that variable"
        )
    return value


DEADLINE = "DeadlineExceeded"
"""Why a Job ended whose time was up; its pods are deleted."""
IMAGE_TROUBLE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName")


@dataclass(frozen=True, slots=True)
class JobState:
    """A Job. ``end`` is the condition that ended it, empty while it runs; ``ended`` says when."""

    meta: Meta
    metric: str
    """The metric and run that it measures, see `metric_of`."""
    number: int
    """The number of the measurement within that."""
    created: str
    own_deadline: bool
    """Whether its deadline comes from its author instead of the agent."""
    end: str = ""
    reason: str = ""
    message: str = ""
    ended: str = ""


@dataclass(frozen=True, slots=True)
class PodState:
    """A pod of a Job. ``trouble``: why its image cannot be pulled, or empty."""

    meta: Meta
    job: str
    trouble: str = ""
    said: str = ""
    """The last line of what its container said that failed, as far as its status has it."""
    begun: bool = False
    """Whether one of its containers has run."""
    ended: bool = False
    """Whether all of them have ended."""


def job_state(body: Object, _known: JobState | None = None) -> JobState:
    """Return the state of a Job."""
    metadata, status = body["metadata"], body.get("status") or {}
    annotations = metadata.get("annotations") or {}
    measurement = annotations.get(names.MEASUREMENT, "")
    ends = [each for each in status.get("conditions") or () if _is_end(each)]
    end = ends[0] if ends else {}
    return JobState(
        meta=meta_of(body),
        metric=intern(metric_of(measurement)),
        number=int(measurement.rpartition(".")[2] or 0),
        created=metadata["creationTimestamp"],
        own_deadline=names.DEADLINE not in annotations,
        end=intern(end.get("type", "")),
        reason=intern(end.get("reason") or ""),
        message=end.get("message") or "",
        ended=end.get("lastTransitionTime") or "",
    )


def pod_state(body: Object, _known: PodState | None = None) -> PodState:
    """Return the state of a pod of a Job."""
    job = (body["metadata"].get("labels") or {}).get(JOB_NAME, "")
    status = body.get("status") or {}
    statuses = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    waits = [(each.get("state") or {}).get("waiting") or {} for each in statuses]
    troubles = [_sentence(each) for each in waits if each.get("reason") in IMAGE_TROUBLE]
    ends = [(each.get("state") or {}).get("terminated") or {} for each in statuses]
    lines = [line for each in ends if each.get("exitCode") and (line := _last_line(each.get("message") or ""))]
    ended = status.get("phase") in ("Failed", "Succeeded")
    began = any(set(each.get(key) or {}) & {"running", "terminated"} for each in statuses for key in _STATES)
    return PodState(meta_of(body), job, next(iter(troubles), ""), next(iter(lines), ""), began, ended)


def phase_of_job(job: JobState, trouble: str) -> tuple[AnalysisPhase, str]:
    """Return the phase of a measurement by its Job, and why, in a sentence; ``RUNNING`` while unknown.

    ``trouble`` is that of its pods.
    """
    name = f"Job {job.meta.name}"
    if job.end == "Complete":
        return AnalysisPhase.SUCCESSFUL, f"{name} is complete"
    if job.end and job.reason == DEADLINE and not job.own_deadline:
        return (
            AnalysisPhase.ERROR,
            f"{name} did not end in an hour; give its spec activeDeadlineSeconds if it is to take longer",
        )
    if job.end:
        return AnalysisPhase.FAILED, f"{name} failed: {job.reason}: {job.message}".rstrip(": ")
    return (AnalysisPhase.INCONCLUSIVE, f"{name}: {trouble}") if trouble else (AnalysisPhase.RUNNING, "")


def phase_before_pods(job: JobState, trouble: str, said: str) -> tuple[AnalysisPhase, str]:
    """Return the same of a Job before the pods of a version: it is never broken off before its deadline, and one that
    passed it has failed. ``said`` is the last line of its log.
    """
    name = f"Job {job.meta.name}"
    more = f"; {trouble}" if trouble else f"; its log ends with: {said}" if said else ""
    if job.end == "Complete":
        return AnalysisPhase.SUCCESSFUL, f"{name} is complete"
    if job.end:
        return AnalysisPhase.FAILED, f"{name} failed: {job.reason}: {job.message}".rstrip(": ") + more
    return AnalysisPhase.RUNNING, f"{name} runs{more}"


def metric_of(measurement: str) -> str:
    """Return the common part of all measurements of one metric in one run.

    >>> metric_of("3.pre.1.smoke.2")
    '3.pre.1.smoke'
    """
    return measurement.rpartition(".")[0]


def took(job: JobState) -> timedelta | None:
    """Return how long a Job took; None while it runs.

    Both times are by the clock of the cluster, which may differ from ours; they are never compared with ours.
    """
    return datetime.fromisoformat(job.ended) - datetime.fromisoformat(job.created) if job.ended else None


def _is_end(condition: Object) -> bool:
    return condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True"


_STATES = ("state", "lastState")
LONGEST_LINE = 100
"""The most characters of the last line of a log that are shown."""


def _last_line(text: str) -> str:
    r"""Return the last line of a log that says anything.

    >>> _last_line("migrating\nERROR: relation exists\n\n")
    'ERROR: relation exists'
    """
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return lines[-1][:LONGEST_LINE] if lines else ""


def _sentence(waiting: Object) -> str:
    return f"{waiting['reason']}: {waiting.get('message') or ''}".rstrip(": ")
