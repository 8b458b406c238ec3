"""The content of ``app.yaml``; defaults of Argo Rollouts (argo-rollouts.md §1.1). Declared as it is written
(`core.written`): what stands below a field is what its users read. `gitops_bg.spec.app` has what is only of the file.
"""

import re
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from annotated_types import MaxLen

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.analysis import MeasurementPlan
from gitops_bg.core.model.hooks import Hook
from gitops_bg.core.model.version import NO_METADATA, AppKey, PodMetadata
from gitops_bg.core.written import (
    NOT_WRITTEN,
    Conflict,
    Count,
    Delay,
    Digest,
    DnsLabel,
    Matching,
    Positive,
    ServiceName,
    Text,
)


class PreviewSwitch(StrEnum):
    """When the preview Service moves to a candidate: once its pods are ready, or (Argo's order) at once."""

    ON_READY = "onReady"
    IMMEDIATE = "immediate"


class PreviewWithoutCandidate(StrEnum):
    """What requests for the hosts of the candidate get while there is none."""

    NONE = "none"
    """Nothing: there is no route for them."""
    LIVE = "live"
    """The live version."""


DIGEST_IN_HOST = "{digest}"
"""What stands for the first ten digits of a version's digest in a host of the candidate."""
_HOST_END = r"([a-z0-9]|\{digest\})"
_HOST_LABEL = rf"{_HOST_END}(([-a-z0-9]|\{{digest\}})*{_HOST_END})?"
_HOST = "write one such as preview.example.com, or {digest}.preview.example.com"
PreviewHost = Annotated[str, Matching(rf"{_HOST_LABEL}(\.{_HOST_LABEL})*", _HOST)]


def host_of(host: str, digest: str) -> str:
    """Return a host of the candidate for the version of a short digest.

    >>> host_of("{digest}.preview.example.com", "d763871d2b")
    'd763871d2b.preview.example.com'
    """
    return host.replace(DIGEST_IN_HOST, digest)


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
    """Agrees that the agent takes over what serves the app now. Written by `gitops-bg adopt`."""

    deployment: DnsLabel = ""
    """The Deployment, in the namespace of the app, whose pods serve now."""
    app: DnsLabel = ""
    """The app of this namespace that serves now, and that this one is under a new name. Once its folder is gone and its
    Services are taken over, it goes. Written by `gitops-bg move`; instead of deployment.
    """
    scale_down: ScaleDown = ScaleDown.NEVER
    """What becomes of its pods after the Services were handed over: never: they stay. onSuccess: they go once the app
    is healthy and scaleDownDelaySeconds have passed. progressively: they go as soon as no request reaches them, as
    many as there are available pods of the app.
    """
    formers: Annotated[tuple[str, ...], NOT_WRITTEN] = ()
    """The names before that one, under which it may serve still: from the records of apps without a folder
    (docs/decisions/0070).
    """
    left: Annotated[tuple[str, ...], NOT_WRITTEN] = ()
    """Those of all these names that have no folder in main, as it was read: the consent covers no app that is there,
    and none of which nobody knows.
    """

    def check(self) -> None:
        """Raise `Conflict` where it is from nothing, or from two."""
        if bool(self.deployment) is bool(self.app):
            raise Conflict("", "is from a Deployment or from an app", "write one of deployment and app")

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that the app had before, the last one first."""
        return (self.app, *self.formers) if self.app else ()

    def was(self, name: str) -> bool:
        """Return whether the app of this name is this one, as it was called before, and has left main."""
        return name in self.names and name in self.left

    @property
    def source(self) -> str:
        """What serves until the hand-over, in a sentence."""
        return f"Deployment {self.deployment}" if self.deployment else f"app {self.app}"


@dataclass(frozen=True, slots=True)
class Release:
    """Gives live traffic back to the Deployment that the app was adopted from. Written by `gitops-bg release`."""

    deployment: DnsLabel
    """The Deployment, in the namespace of the app, whose pods are to serve."""


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
        """Return the number of pods out of ``total``, rounded down.

        >>> IntOrPercent(25, percent=True).of(7), IntOrPercent(2).of(7)
        (1, 2)
        """
        return total * self.number // 100 if self.percent else self.number

    def __str__(self) -> str:
        return f"{self.number}%" if self.percent else str(self.number)


A_QUARTER = IntOrPercent(25, percent=True)


SCALE_DOWN_DELAY_SECONDS = 600
"""The default of ``scaleDownDelaySeconds``."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """How traffic is switched; the fields of Argo Rollouts, with their names and defaults. A delay of None is never."""

    active_service: Annotated[str, NOT_WRITTEN]
    """The Service that carries live traffic; of several, the first."""
    preview_service: ServiceName | None = None
    """The Service that reaches the candidate before it is live. Without a manifest in the folder it has the ports of
    the active one.
    """
    preview_hosts: Annotated[tuple[PreviewHost, ...], MaxLen(16)] = ()
    """Hosts at which the candidate is reached, by a route of their own behind the Gateways of routes. {digest} in one
    stands for the first ten digits of its digest: the agent takes such a host away before the preview moves to
    another version. routes.hosts has to name those of the live version.
    """
    preview_without_candidate: PreviewWithoutCandidate = PreviewWithoutCandidate.NONE
    """What the previewHosts lead to while there is no candidate: to nothing (none), or to the live version.
    Default none.
    """
    preview_replica_count: Count | None = None
    """Replicas of the candidate until it is promoted; all of them where absent."""
    preview_switch: PreviewSwitch = PreviewSwitch.ON_READY
    """When the preview Service moves to a new candidate: once it is ready, or at once."""
    auto_promotion_enabled: bool = False
    """Promote without waiting for anybody. Default false: nothing goes live unasked."""
    auto_promotion_seconds: Count = 0
    """Seconds to wait before an automatic promotion, once every other gate is open. Without autoPromotionEnabled: true
    it does nothing.
    """
    scale_down_delay_seconds: Delay = SCALE_DOWN_DELAY_SECONDS
    """How long the old version stays warm after a switch: seconds, or "never". Default 600."""
    scale_down_delay_revision_limit: Count | None = None
    """How many old versions may stay warm; any number where absent."""
    abort_scale_down_delay_seconds: Delay = 30
    """How long a candidate keeps its pods after it was aborted, superseded or cancelled: seconds, or, of an aborted
    one, "never". Default 30; 0 is at once. Where a newer one waits for room, all go at once.
    """
    expire_after_seconds: Positive | None = None
    """Seconds that a candidate, from when its pods are available, waits for somebody to promote it; for ever where
    absent.
    """
    on_expire: OnExpire | None = None
    """What becomes of a candidate that nobody promoted within expireAfterSeconds: it is put on hold, or promoted by the
    agent once every other gate is open. Default abort.
    """
    drain_seconds: Count = 0
    """Seconds that the old version keeps its pods, whatever its delay, after the EndpointSlices of the active Service
    hold exactly the new ones.
    """
    anti_affinity: AntiAffinity | None = None
    """Keeps the pods of a new version off the nodes that the live version runs on. Written into its ReplicaSet when
    that is created; no part of the version.
    """
    pre_promotion_analysis: Annotated[MeasurementPlan | None, NOT_WRITTEN] = None
    post_promotion_analysis: Annotated[MeasurementPlan | None, NOT_WRITTEN] = None
    hooks: Annotated[tuple[Hook, ...], NOT_WRITTEN] = ()
    """In the order of the file; each name stands for one hook."""
    active_metadata: PodMetadata = NO_METADATA
    """Labels and annotations that the pods of the live version carry beside those of its template; changed in place,
    without a restart. No part of the version.
    """
    max_unavailable: IntOrPercent = A_QUARTER
    """How many pods of a version may be missing while restartAt restarts it: a number, or a percentage rounded down; at
    least one.
    """
    preview_metadata: PodMetadata = NO_METADATA
    """The same for the pods of a candidate, until it is live; then those of activeMetadata."""
    more_active_services: Annotated[tuple[str, ...], NOT_WRITTEN] = ()
    """Further Services that carry live traffic: all move together, or none."""

    def check(self) -> None:
        """Raise `Conflict` where a candidate would expire before it could be promoted, or its hosts cannot be."""
        self._check_hosts()
        if self.expire_after_seconds is None and self.on_expire:
            raise Conflict("onExpire", "means nothing without expireAfterSeconds", "add it, or remove onExpire")
        seconds = self.auto_promotion_seconds if self.auto_promotion_enabled else 0
        if self.expire_after_seconds is not None and self.expire_after_seconds <= seconds:
            message = f"{self.expire_after_seconds} is not more than autoPromotionSeconds, so nothing would be promoted"
            raise Conflict("expireAfterSeconds", message, f"set it above {seconds}")

    def _check_hosts(self) -> None:
        if not self.preview_hosts and self.preview_without_candidate is not PreviewWithoutCandidate.NONE:
            raise Conflict("previewWithoutCandidate", "means nothing without previewHosts", "add them, or remove it")
        if self.preview_hosts and self.preview_service is None:
            raise Conflict("previewHosts", "lead to the preview Service, and there is none", "add previewService")
        for place, host in enumerate(self.preview_hosts):
            written = host_of(host, "0123456789")
            if len(written) > 253 or any(len(label) > 63 for label in written.split(".")):
                message = f"{host} is longer than a host may be"
                raise Conflict(f"previewHosts.{place}", message, "write at most 63 letters between dots, 253 in all")
            if not re.search("[a-z]", host.replace(DIGEST_IN_HOST, "")):
                raise Conflict(f"previewHosts.{place}", f"{host!r} is no host name", _HOST)
            if host in self.preview_hosts[:place]:
                raise Conflict(f"previewHosts.{place}", f"{host} is there twice", "remove one of the two")

    @property
    def hosts_name_version(self) -> bool:
        """Whether a host of the candidate is for one version alone."""
        return any(DIGEST_IN_HOST in host for host in self.preview_hosts)

    def addresses(self, digest: str) -> tuple[str, ...]:
        """Return where the version of a short ``digest`` is reached while it is the candidate, as people type it."""
        return tuple(f"http://{host_of(host, digest)}/" for host in self.preview_hosts)

    @property
    def active_services(self) -> tuple[str, ...]:
        """Every Service that carries live traffic."""
        return (self.active_service, *self.more_active_services)


@dataclass(frozen=True, slots=True)
class Suspension:
    """Stops everything except rollbacks, until it is removed or its time is over."""

    reason: Text
    """Why; shown wherever the app is shown."""
    by: str = ""
    """Who."""
    until: datetime | None = None
    """When it ends by itself, RFC 3339; never where absent."""

    def lasts(self, now: datetime) -> bool:
        """Return whether it is in force."""
        return self.until is None or now < self.until


@dataclass(frozen=True, slots=True)
class Retry:
    """Asks for a new rollout of one digest, in spite of any hold. Written by `gitops-bg retry`."""

    digest: Digest
    """The digest to try again."""
    number: Positive
    """Counts the retries; each number is carried out once."""
    by: str = ""
    """Who."""
    after: Count = 0
    """The last ledger entry its author had seen: it lifts a hold that was put until then, also where nobody has looked
    at main since.
    """


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
    """One app as its author wants it to run: what its files say together, with the templates and alerts that they name.
    ``spec.app.models.AppFields`` is what app.yaml alone says.
    """

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
    held_releases: tuple[tuple[str, str], ...] = ()
    """The releases that come into no further environment, by their digests, each with why."""
    environment: str = ""
    """The environment that it is in; empty where the repository has none."""
    before_pods: MeasurementPlan | None = None
    """The Jobs that must succeed before a version gets its first pod, once for each version."""
    after_settled: MeasurementPlan | None = None
    """The Jobs that run once for each version that serves, when no older one can come back."""
