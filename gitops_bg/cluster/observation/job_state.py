"""What a Job and its pods say about a measurement (argo-rollouts.md §3, the provider ``job``). Pure.

A complete Job is a success, a failed one a failure. An image that cannot be pulled says nothing of the version:
inconclusive.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from sys import intern

from gitops_bg.cluster.api.kinds import JOB_NAME, Object
from gitops_bg.cluster.observation.states import Meta, meta_of
from gitops_bg.core import names
from gitops_bg.core.model.analysis import AnalysisPhase

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
    """A pod of a Job: why its image cannot be pulled, or empty."""

    meta: Meta
    job: str
    trouble: str = ""


def job_state(body: Object, _known: JobState | None = None) -> JobState:
    """The state of a Job."""
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
    """The state of a pod of a Job."""
    job = (body["metadata"].get("labels") or {}).get(JOB_NAME, "")
    status = body.get("status") or {}
    statuses = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    waits = [(each.get("state") or {}).get("waiting") or {} for each in statuses]
    troubles = [_sentence(each) for each in waits if each.get("reason") in IMAGE_TROUBLE]
    return PodState(meta_of(body), job, next(iter(troubles), ""))


def phase_of_job(job: JobState, trouble: str) -> tuple[AnalysisPhase, str]:
    """The phase of a measurement by its Job, and why, in a sentence; ``RUNNING`` while unknown.

    ``trouble`` is that of its pods.
    """
    name = f"Job {job.meta.name}"
    if job.end == "Complete":
        return AnalysisPhase.SUCCESSFUL, f"{name} is complete"
    if job.end and job.reason == "DeadlineExceeded" and not job.own_deadline:
        return (
            AnalysisPhase.ERROR,
            f"{name} did not end in an hour; give its spec activeDeadlineSeconds if it is to take longer",
        )
    if job.end:
        return AnalysisPhase.FAILED, f"{name} failed: {job.reason}: {job.message}".rstrip(": ")
    return (AnalysisPhase.INCONCLUSIVE, f"{name}: {trouble}") if trouble else (AnalysisPhase.RUNNING, "")


def metric_of(measurement: str) -> str:
    """The common part of all measurements of one metric in one run.

    >>> metric_of("3.pre.1.smoke.2")
    '3.pre.1.smoke'
    """
    return measurement.rpartition(".")[0]


def took(job: JobState) -> timedelta | None:
    """How long a Job took; None while it runs.

    Both times are by the clock of the cluster, which may differ from ours; they are never compared with ours.
    """
    return datetime.fromisoformat(job.ended) - datetime.fromisoformat(job.created) if job.ended else None


def _is_end(condition: Object) -> bool:
    return condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True"


def _sentence(waiting: Object) -> str:
    return f"{waiting['reason']}: {waiting.get('message') or ''}".rstrip(": ")
