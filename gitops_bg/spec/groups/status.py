"""The status of a ReleaseGroup, as the agent writes it and everybody reads it: one model, like that of an app."""

from pydantic import Field

from gitops_bg.spec.status import (
    AnalysisFacts,
    ConditionStatus,
    Gate,
    Moment,
    Number,
    PullRequestStatus,
    StatusPart,
    TopStatus,
)


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
