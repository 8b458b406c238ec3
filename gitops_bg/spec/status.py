"""The status of a BlueGreenDeployment and of a ReleaseGroup, as the agent writes it and everybody reads it: one
declaration.

The CustomResourceDefinition (`crd`), the saved status (``cluster.status``), the rows of `get` and the table in
docs/reference/status.md are read off it. The docstrings below the fields are for users. Reading one status takes a few
microseconds, and imports nothing that the core does not import. Decides nothing.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Self

import msgspec

from gitops_bg.core.model.conditions import Condition

Number = Annotated[int, msgspec.Meta(extra_json_schema={"format": "int64"})]
Count = Annotated[int, msgspec.Meta(extra_json_schema={"format": "int32"})]

Moment = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
"""A metav1.Time in its text form; text, because every look at an app makes a status."""

_TRUTH_VALUES = {"True": True, "False": False, "Unknown": None}
TruthValue = Annotated[str, msgspec.Meta(extra_json_schema={"enum": [*_TRUTH_VALUES]})]


def moment_of(time: datetime | None) -> str | None:
    """Return a time in UTC as a `Moment`, to the second.

    >>> from datetime import UTC
    >>> moment_of(datetime(2026, 3, 1, 12, 0, 0, 500, UTC)), moment_of(None)
    ('2026-03-01T12:00:00Z', None)
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ") if time else None


class StatusPart(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Part of a status. Further fields of a newer release are ignored."""

    def stored(self) -> dict[str, Any]:
        """Return the form that the API server stores, without what is None."""
        stored: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return stored


class VersionStatus(StatusPart, frozen=True):
    """One version at a glance."""

    version: Number | None = None
    """Its number."""
    digest: str | None = None
    """What it is: the digest of its pod template and configuration."""
    name: str | None = None
    """Its name in every sentence: by the tag of its first image."""
    color: str | None = None
    """blue or green."""
    commit: str | None = None
    """The commit that brought it."""
    image: str | None = None
    """The images of its containers."""
    release: str | None = None
    """The release that it is of, in an environment: r12."""


class NamedStatus(StatusPart, frozen=True):
    """What a file in Git names."""

    digest: str | None = None
    """The digest of what it names."""
    commit: str | None = None
    """The commit that made it do so."""


class RolloutStatus(StatusPart, frozen=True):
    """One attempt to promote a version."""

    number: Number | None = None
    version: Number | None = None
    digest: str | None = None
    started_at: Moment | None = None
    available_at: Moment | None = None
    """When its pods were available for the first time."""
    promoted_at: Moment | None = None
    """When primary.yaml was first seen to name its version."""
    switched_at: Moment | None = None
    """When live traffic moved to it."""
    settled_at: Moment | None = None
    """When it was promoted for good, and the endpoints had followed."""
    waiting_since: Moment | None = None
    """Since when it waits for people."""
    waited_seconds: Number | None = None
    """Seconds that it waited for people, before waitingSince."""
    commit: str | None = None
    """The commit of main that named its version in primary.yaml."""
    finished_at: Moment | None = None
    outcome: str | None = None
    """Promoted, FastPromoted, Aborted, Superseded, Cancelled or RolledBack; absent while under way."""


class MetricStatus(StatusPart, frozen=True):
    """The result of one metric of an analysis run."""

    name: str | None = None
    phase: str | None = None
    count: Number | None = None
    successful: Number | None = None
    failed: Number | None = None
    inconclusive: Number | None = None
    error: Number | None = None
    dry_run: bool | None = None
    terminated: bool | None = None
    """The run was over before this metric was."""
    value: str | None = None
    """What was measured last."""
    message: str | None = None
    """What was said of it."""
    measured_at: Moment | None = None


class AnalysisFacts(StatusPart, frozen=True):
    """One analysis of one rollout, whoever's."""

    stage: str | None = None
    """before-pods, pre or post: before the pods of the version, before traffic moves, or after."""
    rollout: Number | None = None
    attempt: Number | None = None
    """Counts the runs of one rollout; a pause is answered with a fresh one."""
    phase: str | None = None
    """Running, Successful, Inconclusive, Error or Failed."""
    started_at: Moment | None = None
    finished_at: Moment | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    metrics: tuple[MetricStatus, ...] | None = None


class AnalysisRunStatus(AnalysisFacts, frozen=True):
    """One analysis of one rollout of an app."""

    version: Number | None = None


class ConditionStatus(StatusPart, frozen=True):
    """As metav1.Condition."""

    type: str
    status: TruthValue
    observed_generation: Number | None = None
    last_transition_time: Moment | None = None
    reason: str | None = None
    message: str | None = None


Conditions = Annotated[
    tuple[ConditionStatus, ...] | None,
    msgspec.Meta(extra_json_schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}),
]


class Gate(StatusPart, frozen=True):
    """One gate of the next version."""

    kind: str
    open: bool
    reason: str | None = None
    until: Moment | None = None


class WaitStatus(StatusPart, frozen=True):
    """One wait."""

    gate: str
    version: Number
    reason: str
    until: Moment | None = None


class PullRequestStatus(StatusPart, frozen=True):
    """A pull request (GitLab: merge request)."""

    number: Number | None = None
    url: str | None = None
    state: str | None = None
    """open or closed."""
    closed_by: str | None = None
    """Who closed it without a merge, where the forge says."""

    def __str__(self) -> str:
        """Return the pull request as text in a line.

        >>> str(PullRequestStatus(number=7, url="https://forge/7", state="closed", closed_by="ada"))
        '#7 https://forge/7 (closed by ada)'
        """
        by = f" by {self.closed_by}" if self.closed_by else ""
        return f"#{self.number} {self.url or ''} ({self.state or 'unknown'}{by})"


class HandledPollStatus(StatusPart, frozen=True):
    """The answer to a request for a look at main."""

    request: str
    """The request: the value of the annotation `gitops-bg.dev/reconcile-requested-at`."""
    commit: str | None = None
    """The head of main that was read, and decided from."""
    contains: bool | None = None
    """Whether main has the commit that the request names; absent where it names none."""


class TopStatus(StatusPart, frozen=True):
    """What the status of an app and that of a group have alike."""

    observed_generation: Number | None = None
    """The generation of the live spec that this status is about."""

    @classmethod
    def read(cls, stored: object) -> Self:
        """Return a live status, whichever release wrote it, without the parts that somebody else wrote wrongly."""
        given = stored if isinstance(stored, Mapping) else {}
        if not _fits(given, cls):
            kinds = {field.encode_name: field.type for field in msgspec.structs.fields(cls)}
            given = {key: _sound(value, kinds[key]) for key, value in given.items() if key in kinds}
        return msgspec.convert(given, cls)


class Status(TopStatus, frozen=True):
    """The status of the app."""

    phase: str | None = None
    """The state of the app, in one word."""
    message: str | None = None
    """The sentence that explains the phase."""
    environment: str | None = None
    """The environment of the repository that the app is in."""
    commit: str | None = None
    """The commit of the candidate, or else of the active version."""
    target: NamedStatus | None = None
    """The version of the target, and its commit."""
    primary: NamedStatus | None = None
    """The version in primary.yaml, and the commit that wrote it."""
    active: VersionStatus | None = None
    """The version behind the active Service."""
    preview: VersionStatus | None = None
    """The version behind the preview Service."""
    candidate: VersionStatus | None = None
    """The version that is next."""
    desired_replicas: Count | None = None
    """Pods that the target asks for."""
    replicas: Count | None = None
    """Pods of all versions."""
    updated_replicas: Count | None = None
    """Pods of the version that the target names."""
    ready_replicas: Count | None = None
    """Ready pods of the active version."""
    available_replicas: Count | None = None
    """Available pods of the active version, which live traffic can reach."""
    rollouts: tuple[RolloutStatus, ...] | None = None
    """The rollout in progress, and the last that ended; newest first: when each started, was available, promoted,
    switched and settled, how long it waited for people, how it ended.
    """
    analysis_runs: tuple[AnalysisRunStatus, ...] | None = None
    """The last run of each stage, and earlier ones that are kept; newest first."""
    pull_request: PullRequestStatus | None = None
    """The pull request of the promotion branch, if a forge is configured."""
    handled_look: HandledPollStatus | None = None
    """The last request for a poll of main that was answered, and the result of that poll."""
    conditions: Conditions = None
    """The conditions, listed below."""
    gates: tuple[Gate, ...] | None = None
    """Every gate of the version that is next, open or shut, with its reason and, if known, until when."""
    waits: tuple[WaitStatus, ...] | None = None
    """What the app waits for, and until when (no end while a suspension stops the clock): shut gates; git, while the
    remote is down; restart; and probation, draining, scaleDown of earlier versions.
    """
    record: str | None = None
    """The agent's record of the app, packed: internal, and different in each release."""


class GroupVersionStatus(StatusPart, frozen=True):
    """One version of the group."""

    name: str
    stage: str
    """Candidate, Active, Legacy or Archived."""
    changed_at: Moment | None = None
    """When it came to this stage."""
    services: tuple[str, ...] | None = None
    """The apps that serve in it: its own, and those that it has from older versions."""


class GroupTransitionStatus(StatusPart, frozen=True):
    """A promotion or rollback under way."""

    kind: str
    """Promotion or Rollback."""
    source: str
    """The version that was active when it began."""
    target: str
    """The version that will be."""
    step: str
    """Prepare: its routes are being made; Switch: traffic moves."""
    started_at: Moment | None = None
    withdrawn: str | None = None
    """Why it goes back."""


class GroupMoveStatus(StatusPart, frozen=True):
    """A promotion or rollback that was carried out."""

    kind: str
    """Promotion or Rollback."""
    source: str
    """The version that was active."""
    target: str
    """The version that is active since."""
    at: Moment | None = None
    commit: str | None = None
    """The commit of main that was read then."""
    reason: str | None = None
    """Why the agent went back by itself."""


class GroupAnalysisRun(AnalysisFacts, frozen=True):
    """One analysis of one version of the group."""

    version: str | None = None


class GroupStatus(TopStatus, frozen=True):
    """The status of the group."""

    phase: str | None = None
    """The state of the group, in one word."""
    message: str | None = None
    """The sentence that explains the phase."""
    commit: str | None = None
    """The commit of main that was read."""
    active: str | None = None
    """The version that serves."""
    legacy: str | None = None
    """The version that a rollback leads to."""
    candidates: tuple[str, ...] | None = None
    """The versions that may be promoted."""
    versions: tuple[GroupVersionStatus, ...] | None = None
    """Every version, in the order of their numbers."""
    transition: GroupTransitionStatus | None = None
    """A promotion or rollback under way."""
    gates: tuple[Gate, ...] | None = None
    """Every gate of the version that group.yaml asks for, while it is not active."""
    pull_request: PullRequestStatus | None = None
    """The last pull request of the branch that asks for a version of the group."""
    analysis_runs: tuple[GroupAnalysisRun, ...] | None = None
    """The last analysis before and after promotion, and those before, the newest first."""
    history: tuple[GroupMoveStatus, ...] | None = None
    """The last promotions and rollbacks, the newest first."""
    conditions: Conditions = None
    """The conditions of the group."""
    record: str | None = None
    """The agent's record of the group, packed: internal, and different in each release."""


def conditions_of(status: Status | GroupStatus) -> tuple[Condition, ...]:
    """Return the conditions of a status in the words of the core."""
    return tuple(
        Condition(each.type, _TRUTH_VALUES.get(each.status), each.reason or "", each.message or "")
        for each in status.conditions or ()
    )


# --- reading what somebody else may have written ---


def _fits(value: object, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _sound(value: object, kind: Any) -> object:
    """Return a part of a status without its wrong items; None where nothing of it is sound."""
    if _fits(value, kind):
        return value
    sound: object = None
    if isinstance(value, list):
        sound = [item for item in value if _fits([item], kind)]
    elif isinstance(value, Mapping):
        sound = {name: each for name, each in value.items() if _fits({name: each}, kind)}
    return sound if _fits(sound, kind) else None
