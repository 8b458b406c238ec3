"""What a decision on a release group is made from: what Git says of it at one commit, and what the cluster shows of its
members, its Services and its HTTPRoutes.
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Annotated

from annotated_types import MinLen

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.groups.model import GroupGateway, RouteMatch, VersionName
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.analysis import MeasurementPlan, MeasurementResult
from gitops_bg.core.model.auxiliary import HttpRoute, RivalRoute
from gitops_bg.core.model.desired import LedgerMemory, Problem
from gitops_bg.core.model.drift import DriftLoop
from gitops_bg.core.model.hooks import Hook, HookResponse
from gitops_bg.core.model.journal import NO_JOURNAL, Journal, PullState
from gitops_bg.core.model.main import MainRead
from gitops_bg.core.model.observed import GitView, Request
from gitops_bg.core.model.policy_facts import PolicyInput, VersionFacts
from gitops_bg.core.model.spec import Retry, Suspension
from gitops_bg.core.model.version import Source
from gitops_bg.core.written import NOT_WRITTEN, Count, Positive, ServiceName


@dataclass(frozen=True, slots=True)
class DesiredRoute:
    """One route of a service's ``routes.yaml``."""

    match: RouteMatch
    port: int
    allowed: bool = True
    rewrite: str = ""
    timeout: str = ""


@dataclass(frozen=True, slots=True)
class DesiredService:
    """A service of one version. Without ``pods`` the version only says that the service belongs to it."""

    pods: bool = True
    routes: tuple[DesiredRoute, ...] = ()


@dataclass(frozen=True, slots=True)
class DesiredVersion:
    """The folder of one version."""

    content: str
    """Identifies what people wrote into the folder; what the agent writes there does not change it."""
    services: Mapping[str, DesiredService] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """The spec of a ReleaseGroup, declared as it is written (`core.written`), and what others say that it names."""

    active: VersionName
    """The version that serves: a folder beside group.yaml. Changing it to a candidate promotes that version, changing
    it back to the version before rolls back.
    """
    archive_size: Count = 1
    """How many versions older than the last one are remembered. They have no pods."""
    gateway: Annotated[GroupGateway | None, NOT_WRITTEN] = None
    removed_services: Annotated[frozenset[ServiceName], MinLen(1)] = frozenset()
    """Services that may leave: once the folder of one is gone, so are its routes, its Service and its pods. Any other
    service whose folder is gone serves on with its last routes, because nobody meant that.
    """
    suspend: Suspension | None = None
    """Stops every promotion of the group, until it is removed or its time is over; no rollback."""
    retry: Retry | None = None
    """Has a version tried again with fresh checks, whatever held or paused it: `gitops-bg retry`."""
    pre_promotion_analysis: Annotated[MeasurementPlan | None, NOT_WRITTEN] = None
    """What must be good before the group is promoted; None: nothing."""
    post_promotion_analysis: Annotated[MeasurementPlan | None, NOT_WRITTEN] = None
    """What must be good after it."""
    hooks: Annotated[tuple[Hook, ...], NOT_WRITTEN] = ()
    """Who is asked about a promotion, and who is told of what happens, in the order of the file."""
    progress_deadline_seconds: Positive = 600
    """How long a promotion or a rollback may wait for the Gateway to take its routes. After that it is taken back, as
    far as traffic has not moved.
    """


@dataclass(frozen=True, slots=True)
class MemberPolicing:
    """What policies ask about one service of the version that group.yaml names."""

    policing: PolicyInput
    promotion: Source | None
    """The commit of main since which group.yaml names the version; None where that is unknown, or nobody has merged it
    yet.
    """
    to: VersionFacts
    serving: VersionFacts = VersionFacts("")
    """What its service runs in the active version; nothing is known of a service that is new there."""
    available_since: datetime | None = None
    """Since when it has been available; None while it is not."""
    promoted: bool = True
    """Whether main names the version; else a branch does, and people are asked to merge that."""


@dataclass(frozen=True, slots=True)
class DesiredGroup:
    """The whole folder, or what it said last while it was valid. ``spec`` None: it never was, and nothing moves.

    While there are ``problems``, in the folder or in what it shares with others, nothing is promoted, and the way back
    is open.
    """

    spec: GroupSpec | None
    versions: Mapping[str, DesiredVersion] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    commit: str = ""
    is_last_valid: bool = False
    """Main has a mistake in the folder: this is what it said before."""
    alerts: tuple[Hook, ...] = ()
    """Who is told of what happens to it: the alerts of the repository."""
    policing: Mapping[str, MemberPolicing] = field(default_factory=dict)
    """By the name of the app, while the version that group.yaml names may be promoted; those that no policy is for
    have none.
    """
    journal: Journal = NO_JOURNAL
    """What main said of the group: since when group.yaml names its version, where something moves; who suspended it, or
    ended that, where the record does not know of it.
    """
    main: MainRead = MainRead()
    """Main as it was read. Where it does not count, all else is what the record's main says, as far as that can still
    be read: what serves needs its folders.
    """

    @property
    def is_valid(self) -> bool:
        """Whether the folder says this now."""
        return self.spec is not None and not self.is_last_valid


@dataclass(frozen=True, slots=True)
class Member:
    """One service of one version, which is an app of its own (decision 36)."""

    healthy: bool = False
    """Whether the newest version in its folder serves, at today's size."""
    available: bool = False
    """Whether its Service exists and has pods that answer."""
    reason: str = ""
    """Why it is not healthy."""
    ports: frozenset[int] = frozenset()
    """Those of its Service now; none where there is no Service."""


@dataclass(frozen=True, slots=True)
class StableService:
    """The Service of a service's own name, which follows the active version."""

    member: str = ""
    """The member whose live pods it selects, by its app's name; empty: none's."""
    foreign: str = ""
    """Whose it is, and how to hand it over, where it is not the group's."""
    label: str = ""
    """The member that it was made to follow last, whatever it selects by now."""

    @property
    def followed(self) -> str:
        """The member that it follows, else the one that it followed last."""
        return self.member or self.label


@dataclass(frozen=True, slots=True)
class LiveRoute:
    """One HTTPRoute of the group."""

    route: HttpRoute | None
    """What it says; None where it says something that no agent writes."""
    accepted: bool | None = None
    """Whether every Gateway has taken exactly this; None where none has said anything of it."""
    reason: str = ""
    """Why the Gateway has not taken it."""
    foreign: str = ""
    """Whose it is, where it is not the group's."""
    unresolved: str = ""
    """What a Gateway that has taken it says against one of its backends: of the route as a whole, although it serves
    all rules that lead elsewhere.
    """
    answered: bool = False
    """Whether a Gateway has ever said anything of it."""
    born: str = ""
    """When it was created: of two routes that say the same requests, the older one has them."""


@dataclass(frozen=True, slots=True)
class FormerGroup:
    """A live ReleaseGroup of the namespace whose folder left main, with what is labelled as its own."""

    name: str
    record: GroupRecord = GroupRecord()
    """Empty as well where it is ``unreadable``: that is not what it remembers."""
    unreadable: str = ""
    """Why nobody can read its record; empty where it can be read."""
    services: Mapping[str, StableService] = field(default_factory=dict)
    routes: Mapping[str, LiveRoute] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupBranch:
    """The branch of a group, which asks people for a merge, as it was fetched last."""

    name: str
    commit: str
    """Its head."""
    active: str = ""
    """The version that main names after its merge; empty where nobody can read that."""
    is_own: bool = False
    """Whether its commit says that an agent of this cluster made it."""
    is_merged: bool = False
    """Whether main says all of it, however it was merged."""
    is_outdated: bool = False
    """Whether main has changed ``group.yaml`` since it was made, or dropped what it stands on: its merge may conflict,
    or bring that back.
    """


@dataclass(frozen=True, slots=True)
class ObservedGroup:
    """All of it at one moment."""

    uid: str = ""
    """The uid of the live ReleaseGroup; empty where there is none."""
    foreign: str = ""
    """Why the live ReleaseGroup is not ours."""
    members: Mapping[str, Member] = field(default_factory=dict)
    """By the name of their app."""
    services: Mapping[str, StableService] = field(default_factory=dict)
    routes: Mapping[str, LiveRoute] = field(default_factory=dict)
    rivals: tuple[RivalRoute, ...] = ()
    """The other HTTPRoutes of the namespace, in the order of their names."""
    formers: tuple[FormerGroup, ...] = ()
    """The groups of the namespace whose folder left main."""
    has_gateway_api: bool = True
    """Whether the cluster knows HTTPRoutes."""
    calls: tuple[HookResponse, ...] = ()
    """What hooks and chats answered, until a saved record has taken it in."""
    requests: tuple[Request, ...] = ()
    """What operators ask for, oldest first, answered or not."""
    drifted: bool = False
    """Whether somebody changed the live ReleaseGroup's spec."""
    contests: tuple[DriftLoop, ...] = ()
    """The repairs of late, of what others changed; as far as this process made them."""
    measurements: tuple[MeasurementResult, ...] = ()
    """The results that no saved record contains."""
    without_pods: str = ""
    """Why the last step was not written: where it leads, no pod answered at that moment; empty where it was."""
    refused: str = ""
    """Why the cluster refused a write last (missing rights, somebody else's object); empty where it did not."""
    git: GitView = GitView()
    """What Git showed last, and a forge of the pull request of its branch."""
    unwritten: str = ""
    """The mistake in a file, or the bug, that kept a commit from being made: only said, as main refused none."""
    branch: GroupBranch | None = None
    """The branch of the group; None where there is none."""
    memory: LedgerMemory | None = None
    """What the ledger knows, where the record is lost, or began while nobody could read that; None while nobody can."""

    @property
    def main_refused(self) -> str:
        """Why main takes no commit from the agent, nor, where that is refused as well, its branch; empty where nothing
        is in its way.
        """
        return "; ".join(filter(None, (self.git.main_refused, self.git.offer_refused))) if self.git.main_refused else ""

    def to_merge(self, version: str) -> str:
        """Return what people are to merge to have main name a version: the pull request, else the branch; empty where
        there is neither.
        """
        if self.branch is None or self.branch.active != version:
            return ""
        pull = self.git.pull
        return pull.url if pull is not None and pull.state is PullState.OPEN else self.branch.name

    def not_offered(self, version: str) -> str:
        """Return why the agent cannot offer a version; empty where it can, and where the branch asks for that
        already.
        """
        branch = self.branch
        if branch is None or branch.is_own or branch.is_merged or branch.active == version:
            return ""
        if not branch.active:
            return f"nobody can read what {branch.name} asks for: mend it, or delete it"
        return f"{branch.name} has what somebody else asked for: merge it, or delete it"

    def in_the_way(self, version: str) -> str:
        """Return why the agent cannot have main name a version; empty where nothing is in its way."""
        against = self.not_offered(version)
        return f"{self.main_refused}; and {against}" if self.main_refused and against else self.main_refused
