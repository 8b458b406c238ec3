"""The content of ``app.yaml``, as the core sees it; defaults of Argo Rollouts (argo-rollouts.md §1.1)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.model.analysis import MeasurementPlan
from gitops_bg.core.model.hooks import Hook
from gitops_bg.core.model.version import NO_METADATA, AppKey, PodMetadata


class PreviewSwitch(StrEnum):
    """When the preview Service moves to a candidate: once its pods are ready, or (Argo's order) at once."""

    ON_READY = "onReady"
    IMMEDIATE = "immediate"


class OnExpire(StrEnum):
    """What happens to a candidate that nobody promoted in time."""

    ABORT = "abort"
    PROMOTE = "promote"


class PromoteVia(StrEnum):
    """How a promotion gets into main: by a promotion branch that somebody merges, or by a commit of the agent."""

    PULL_REQUEST = "pullRequest"
    COMMIT = "commit"


class DeletionPolicy(StrEnum):
    """What becomes of an app whose folder leaves main (docs/decisions/0065)."""

    KEEP = "keep"
    """It keeps serving, and stays the agent's."""
    DELETE = "delete"
    """All that the agent created is deleted."""
    ORPHAN = "orphan"
    """All of it stays as it is, and is nobody's of ours any more."""
    REVERT_TO_TARGET = "revertToTarget"
    """Live traffic goes back to what the app was adopted from, as by ``spec.release``; then the versions go."""


class ScaleDown(StrEnum):
    """What becomes of the pods of a Deployment that an app was adopted from; Argo's words (argo-rollouts.md §1.3)."""

    NEVER = "never"
    ON_SUCCESS = "onSuccess"
    """To 0, once the app is healthy and ``scaleDownDelaySeconds`` have passed since traffic left them."""
    PROGRESSIVELY = "progressively"
    """As many as ours are available, and only once the endpoints show that no request reaches the old ones."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """``spec.adopt``: the consent to take over what serves the app before the agent does (docs/decisions/0023)."""

    deployment: str = ""
    """The Deployment in the app's namespace whose pods serve until the hand-over."""
    scale_down: ScaleDown = ScaleDown.NEVER
    app: str = ""
    """The app of this namespace that serves until then, under whose name this one was known (docs/decisions/0070). One
    of the two is set.
    """
    formers: tuple[str, ...] = ()
    """The names before that one, under which it may serve still: not from the file, but from the records of apps
    without a folder (docs/decisions/0070).
    """
    left: tuple[str, ...] = ()
    """Those of all these names that have no folder in main, as it was read: the consent covers no app that is there,
    and none of which nobody knows.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that the app had before, the last one first."""
        return (self.app, *self.formers) if self.app else ()

    def was(self, name: str) -> bool:
        """Whether the app of this name is this one, as it was called before, and has left main."""
        return name in self.names and name in self.left

    @property
    def source(self) -> str:
        """What serves until the hand-over, in a sentence."""
        return f"Deployment {self.deployment}" if self.deployment else f"app {self.app}"


@dataclass(frozen=True, slots=True)
class Release:
    """``spec.release``: live traffic goes back to what the app was adopted from (docs/decisions/0065)."""

    deployment: str


@dataclass(frozen=True, slots=True)
class AntiAffinity:
    """New pods avoid the nodes of the live version: strictly, or, with a ``weight`` of 1 to 100, where possible."""

    weight: int | None = None


@dataclass(frozen=True, slots=True)
class IntOrPercent:
    """A number of pods, or a percentage of them."""

    number: int
    percent: bool = False

    def of(self, total: int) -> int:
        """The number of pods out of ``total``, rounded down.

        >>> IntOrPercent(25, percent=True).of(7), IntOrPercent(2).of(7)
        (1, 2)
        """
        return total * self.number // 100 if self.percent else self.number


A_QUARTER = IntOrPercent(25, percent=True)


SCALE_DOWN_DELAY_SECONDS = 600
"""The default of ``scaleDownDelaySeconds``."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """``spec.strategy.blueGreen``. Times in seconds; a delay of None means never."""

    active_service: str
    preview_service: str | None = None
    preview_replica_count: int | None = None
    preview_switch: PreviewSwitch = PreviewSwitch.ON_READY
    auto_promotion_enabled: bool = False
    auto_promotion_seconds: int = 0
    scale_down_delay_seconds: int | None = SCALE_DOWN_DELAY_SECONDS
    scale_down_delay_revision_limit: int | None = None
    abort_scale_down_delay_seconds: int | None = 30
    expire_after_seconds: int | None = None
    """How long a candidate with available pods waits for a promotion; None: for ever."""
    on_expire: OnExpire = OnExpire.ABORT
    anti_affinity: AntiAffinity | None = None
    drain_seconds: int = 0
    hooks: tuple[Hook, ...] = ()
    """In the order of the file; each name stands for one hook."""
    active_metadata: PodMetadata = NO_METADATA
    """What the pods of the active version carry in addition to its template (``core.plan.workloads``)."""
    preview_metadata: PodMetadata = NO_METADATA
    max_unavailable: IntOrPercent = A_QUARTER
    """How many pods of a version may be missing during a restart; at least one (``core.checks.sizes``)."""
    more_active_services: tuple[str, ...] = ()
    """Further Services that carry live traffic: all move together, or none."""
    pre_promotion_analysis: MeasurementPlan | None = None
    post_promotion_analysis: MeasurementPlan | None = None

    @property
    def active_services(self) -> tuple[str, ...]:
        """Every Service that carries live traffic."""
        return (self.active_service, *self.more_active_services)


@dataclass(frozen=True, slots=True)
class Suspension:
    """``spec.suspend``: everything stops except rollbacks, until somebody removes it or ``until`` passes."""

    reason: str
    by: str = ""
    until: datetime | None = None

    def lasts(self, now: datetime) -> bool:
        """Whether it is in force."""
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True)
class Retry:
    """``spec.retry``: a new rollout of this digest, in spite of any hold; numbered, so that each is carried
    out once.
    """

    digest: str
    number: int
    by: str = ""
    after: int = 0
    """The last ledger entry that its author had seen: the retry answers decisions up to then. 0: unknown."""


@dataclass(frozen=True, slots=True)
class Revision:
    """``spec.revision``: the version to run instead of what the target says. One of the three is set."""

    number: int = 0
    digest: str = ""
    """With its prefix; the beginning is enough."""
    commit: str = ""
    """A commit of main: what the folder's target was there."""

    def __str__(self) -> str:
        return self.digest or self.commit or f"v{self.number}"


@dataclass(frozen=True, slots=True)
class AppSpec:
    """One app as its author wants it to run."""

    app: AppKey
    strategy: Strategy
    promote_via: PromoteVia = PromoteVia.COMMIT
    merge_when_green: bool = False
    """The agent merges the pull request itself once every gate is open."""
    min_ready_seconds: int = 0
    progress_deadline_seconds: int = 600
    progress_deadline_abort: bool = False
    revision_history_limit: int = 10
    rollback_window_revisions: int | None = None
    successful_run_history_limit: int = 5
    """How many successful analysis runs are remembered, beside the last run of each stage."""
    unsuccessful_run_history_limit: int = 5
    deletion_policy: DeletionPolicy = DeletionPolicy.KEEP
    restart_at: datetime | None = None
    """Pods older than this are restarted; a time in the future schedules the restart."""
    suspend: Suspension | None = None
    retry: Retry | None = None
    revision: Revision | None = None
    adopt: Adoption | None = None
    release: Release | None = None
