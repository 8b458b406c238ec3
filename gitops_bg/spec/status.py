"""The status of a BlueGreenDeployment and of a ReleaseGroup, as the agent writes it and everybody reads it: one model.

The CustomResourceDefinition (`crd`), the saved status (``cluster.status``), the row of `get` and the table in
docs/reference/status.md derive from it. Descriptions are for users. Decides nothing.
"""

from collections.abc import Mapping, Set
from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from gitops_bg.spec.glance import pull_request_text

Number = Annotated[int, Field(json_schema_extra={"format": "int64"})]
Count = Annotated[int, Field(json_schema_extra={"format": "int32"})]


Moment = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""A metav1.Time in its text form; text, because every look at an app makes a status."""


def moment_of(time: datetime | None) -> str | None:
    """A time in UTC as a `Moment`, to the second.

    >>> from datetime import UTC
    >>> moment_of(datetime(2026, 3, 1, 12, 0, 0, 500, UTC)), moment_of(None)
    ('2026-03-01T12:00:00Z', None)
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ") if time else None


class StatusPart(BaseModel):
    """Part of a status. Further fields of a newer release are ignored."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)

    def stored(self) -> dict[str, Any]:
        """The form that the API server stores."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class VersionStatus(StatusPart):
    """One version at a glance."""

    version: Number | None = Field(default=None, description="Its number.")
    digest: str | None = Field(
        default=None, description="What it is: the digest of its pod template and configuration."
    )
    name: str | None = Field(default=None, description="Its name in every sentence: by the tag of its first image.")
    color: str | None = Field(default=None, description="blue or green.")
    commit: str | None = Field(default=None, description="The commit that brought it.")
    image: str | None = Field(default=None, description="The images of its containers.")


class NamedStatus(StatusPart):
    """What a file in Git names."""

    digest: str | None = Field(default=None, description="The digest of what it names.")
    commit: str | None = Field(default=None, description="The commit that made it do so.")


class RolloutStatus(StatusPart):
    """One attempt to promote a version."""

    number: Number | None = None
    version: Number | None = None
    digest: str | None = None
    started_at: Moment | None = None
    available_at: Moment | None = Field(default=None, description="When its pods were available for the first time.")
    promoted_at: Moment | None = Field(
        default=None, description="When primary.yaml was first seen to name its version."
    )
    switched_at: Moment | None = Field(default=None, description="When live traffic moved to it.")
    settled_at: Moment | None = Field(
        default=None, description="When it was promoted for good, and the endpoints had followed."
    )
    waiting_since: Moment | None = Field(default=None, description="Since when it waits for people.")
    waited_seconds: Number | None = Field(
        default=None, description="Seconds that it waited for people, before waitingSince."
    )
    commit: str | None = Field(default=None, description="The commit of main that named its version in primary.yaml.")
    finished_at: Moment | None = None
    outcome: str | None = Field(
        default=None,
        description="Promoted, FastPromoted, Aborted, Superseded, Cancelled or RolledBack; absent while under way.",
    )


class MetricStatus(StatusPart):
    """The result of one metric of an analysis run."""

    name: str | None = None
    phase: str | None = None
    count: Number | None = None
    successful: Number | None = None
    failed: Number | None = None
    inconclusive: Number | None = None
    error: Number | None = None
    dry_run: bool | None = None
    terminated: bool | None = Field(default=None, description="The run was over before this metric was.")
    value: str | None = Field(default=None, description="What was measured last.")
    message: str | None = Field(default=None, description="What was said of it.")
    measured_at: Moment | None = None


class AnalysisFacts(StatusPart):
    """One analysis of one rollout, whoever's."""

    stage: str | None = Field(default=None, description="pre or post: before traffic moves, or after.")
    rollout: Number | None = None
    attempt: Number | None = Field(
        default=None, description="Counts the runs of one rollout; a pause is answered with a fresh one."
    )
    phase: str | None = Field(default=None, description="Running, Successful, Inconclusive, Error or Failed.")
    started_at: Moment | None = None
    finished_at: Moment | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    metrics: tuple[MetricStatus, ...] | None = None


class AnalysisRunStatus(AnalysisFacts):
    """One analysis of one rollout of an app."""

    version: Number | None = None


class ConditionStatus(StatusPart):
    """As metav1.Condition."""

    type: str
    status: str = Field(json_schema_extra={"enum": ["True", "False", "Unknown"]})
    observed_generation: Number | None = None
    last_transition_time: Moment | None = None
    reason: str | None = None
    message: str | None = None


class Gate(StatusPart):
    """One gate of the next version."""

    kind: str
    open: bool
    reason: str | None = None
    until: Moment | None = None


class WaitStatus(StatusPart):
    """One wait."""

    gate: str
    version: Number
    reason: str
    until: Moment | None = None


class PullRequestStatus(StatusPart):
    """A pull request (GitLab: merge request)."""

    number: Number | None = None
    url: str | None = None
    state: str | None = Field(default=None, description="open or closed.")
    closed_by: str | None = Field(default=None, description="Who closed it without a merge, where the forge says.")

    def __str__(self) -> str:
        """The pull request as text in a line.

        >>> str(PullRequestStatus(number=7, url="https://forge/7", state="closed", closed_by="ada"))
        '#7 https://forge/7 (closed by ada)'
        """
        return pull_request_text(self.number, self.url or "", self.state or "", self.closed_by or "")


class HandledPollStatus(StatusPart):
    """The answer to a request for a look at main."""

    request: str = Field(description="The request: the value of the annotation `gitops-bg.dev/reconcile-requested-at`.")
    commit: str | None = Field(default=None, description="The head of main that was read, and decided from.")
    contains: bool | None = Field(
        default=None, description="Whether main has the commit that the request names; absent where it names none."
    )


class TopStatus(StatusPart):
    """A whole status."""

    @classmethod
    def read(cls, stored: object) -> Self:
        """Read a live status, whichever release wrote it. Only invalid parts, which somebody else wrote,
        are left out.
        """
        given = dict(stored) if isinstance(stored, Mapping) else {}
        try:
            return cls.model_validate(given, by_alias=True, by_name=False)
        except ValidationError as error:
            wrong = {each["loc"][:2] for each in error.errors()}
        sound = {key: _without(value, key, wrong) for key, value in given.items() if (key,) not in wrong}
        return cls.model_validate(sound, by_alias=True, by_name=False)


class Status(TopStatus):
    """The status of the app."""

    observed_generation: Number | None = Field(
        default=None, description="The generation of the live spec that this status is about."
    )
    phase: str | None = Field(default=None, description="The state of the app, in one word.")
    message: str | None = Field(default=None, description="The sentence that explains the phase.")
    commit: str | None = Field(default=None, description="The commit of the candidate, or else of the active version.")
    target: NamedStatus | None = Field(default=None, description="The version of the target, and its commit.")
    primary: NamedStatus | None = Field(
        default=None, description="The version in primary.yaml, and the commit that wrote it."
    )
    active: VersionStatus | None = Field(default=None, description="The version behind the active Service.")
    preview: VersionStatus | None = Field(default=None, description="The version behind the preview Service.")
    candidate: VersionStatus | None = Field(default=None, description="The version that is next.")
    desired_replicas: Count | None = Field(default=None, description="Pods that the target asks for.")
    replicas: Count | None = Field(default=None, description="Pods of all versions.")
    updated_replicas: Count | None = Field(default=None, description="Pods of the version that the target names.")
    ready_replicas: Count | None = Field(default=None, description="Ready pods of the active version.")
    available_replicas: Count | None = Field(
        default=None, description="Available pods of the active version, which live traffic can reach."
    )
    rollouts: tuple[RolloutStatus, ...] | None = Field(
        default=None,
        description="The rollout in progress, and the last that ended; newest first: when each started, was "
        "available, promoted, switched and settled, how long it waited for people, how it ended.",
    )
    analysis_runs: tuple[AnalysisRunStatus, ...] | None = Field(
        default=None, description="The last run of each stage, and earlier ones that are kept; newest first."
    )
    pull_request: PullRequestStatus | None = Field(
        default=None, description="The pull request of the promotion branch, if a forge is configured."
    )
    handled_look: HandledPollStatus | None = Field(
        default=None, description="The last request for a poll of main that was answered, and the result of that poll."
    )
    conditions: tuple[ConditionStatus, ...] | None = Field(
        default=None,
        description="The conditions, listed below.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
    gates: tuple[Gate, ...] | None = Field(
        default=None,
        description="Every gate of the version that is next, open or shut, with its reason and, if known, until when.",
    )
    waits: tuple[WaitStatus, ...] | None = Field(
        default=None,
        description="What the app waits for, and until when (no end while a suspension stops the clock): shut gates; "
        "git, while the remote is down; restart; and probation, draining, scaleDown of earlier versions.",
    )
    record: str | None = Field(
        default=None,
        description="The agent's record of the app, packed: internal, and different in each release.",
    )


# --- of a release group ---


class GroupVersionStatus(StatusPart):
    """One version of the group."""

    name: str
    stage: str = Field(description="Candidate, Active, Legacy or Archived.")
    changed_at: Moment | None = Field(default=None, description="When it came to this stage.")
    services: tuple[str, ...] | None = Field(
        default=None, description="The apps that serve in it: its own, and those that it has from older versions."
    )


class GroupTransitionStatus(StatusPart):
    """A promotion or rollback under way."""

    kind: str = Field(description="Promotion or Rollback.")
    source: str = Field(description="The version that was active when it began.")
    target: str = Field(description="The version that will be.")
    step: str = Field(description="Prepare: its routes are being made; Switch: traffic moves.")
    started_at: Moment | None = None
    withdrawn: str | None = Field(default=None, description="Why it goes back.")


class GroupMoveStatus(StatusPart):
    """A promotion or rollback that was carried out."""

    kind: str = Field(description="Promotion or Rollback.")
    source: str = Field(description="The version that was active.")
    target: str = Field(description="The version that is active since.")
    at: Moment | None = None
    commit: str | None = Field(default=None, description="The commit of main that was read then.")
    reason: str | None = Field(default=None, description="Why the agent went back by itself.")


class GroupAnalysisRun(AnalysisFacts):
    """One analysis of one version of the group."""

    version: str | None = None


class GroupStatus(TopStatus):
    """The status of the group."""

    observed_generation: Number | None = Field(
        default=None, description="The generation of the live spec that this status is about."
    )
    phase: str | None = Field(default=None, description="The state of the group, in one word.")
    message: str | None = Field(default=None, description="The sentence that explains the phase.")
    commit: str | None = Field(default=None, description="The commit of main that was read.")
    active: str | None = Field(default=None, description="The version that serves.")
    legacy: str | None = Field(default=None, description="The version that a rollback leads to.")
    candidates: tuple[str, ...] | None = Field(default=None, description="The versions that may be promoted.")
    versions: tuple[GroupVersionStatus, ...] | None = Field(
        default=None, description="Every version, in the order of their numbers."
    )
    transition: GroupTransitionStatus | None = Field(default=None, description="A promotion or rollback under way.")
    gates: tuple[Gate, ...] | None = Field(
        default=None, description="Every gate of the version that group.yaml asks for, while it is not active."
    )
    pull_request: PullRequestStatus | None = Field(
        default=None, description="The last pull request of the branch that asks for a version of the group."
    )
    analysis_runs: tuple[GroupAnalysisRun, ...] | None = Field(
        default=None, description="The last analysis before and after promotion, and those before, the newest first."
    )
    history: tuple[GroupMoveStatus, ...] | None = Field(
        default=None, description="The last promotions and rollbacks, the newest first."
    )
    conditions: tuple[ConditionStatus, ...] | None = Field(
        default=None,
        description="The conditions of the group.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
    record: str | None = Field(
        default=None,
        description="The agent's record of the group, packed: internal, and different in each release.",
    )


def _without(value: object, key: str, wrong: Set[tuple[int | str, ...]]) -> object:
    """Return a list or an object without its wrong items."""
    if isinstance(value, list):
        return [item for place, item in enumerate(value) if (key, place) not in wrong]
    if isinstance(value, Mapping):
        return {name: item for name, item in value.items() if (key, name) not in wrong}
    return value
