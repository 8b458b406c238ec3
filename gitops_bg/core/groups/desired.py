"""What Git says of a release group, at one commit."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gitops_bg.core.groups.model import GroupGateway, RouteMatch
from gitops_bg.core.model.analysis.metrics import MeasurementPlan
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.git.journal import NO_JOURNAL, Journal
from gitops_bg.core.model.git.main import MainRead
from gitops_bg.core.model.hooks import Hook
from gitops_bg.core.model.policies.facts import PolicyInput, VersionFacts
from gitops_bg.core.model.spec import Retry, Suspension
from gitops_bg.core.model.version import Source


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
    """The fields of ``group.yaml``."""

    active: str
    archive_size: int = 1
    gateway: GroupGateway | None = None
    progress_deadline_seconds: int = 600
    removed_services: frozenset[str] = frozenset()
    """Services that may leave the active version once their folder is gone."""
    suspend: Suspension | None = None
    retry: Retry | None = None
    """Which version somebody has tried again."""
    pre_promotion_analysis: MeasurementPlan | None = None
    """What must be good before the group is promoted; None: nothing."""
    post_promotion_analysis: MeasurementPlan | None = None
    """What must be good after it."""
    hooks: tuple[Hook, ...] = ()
    """Who is asked about a promotion, and who is told of what happens, in the order of the file."""


@dataclass(frozen=True, slots=True)
class MemberPolicing:
    """What policies ask about one service of the version that group.yaml names."""

    policing: PolicyInput
    promotion: Source | None
    """The commit of main since which group.yaml names the version; None where that is unknown, or nobody has merged it
    yet.
    """
    to: VersionFacts
    serving: VersionFacts = VersionFacts("")  # noqa: RUF009 - frozen
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
    main: MainRead = MainRead()  # noqa: RUF009 - frozen
    """Main as it was read. Where it does not count, all else is what the record's main says, as far as that can still
    be read: what serves needs its folders.
    """

    @property
    def is_valid(self) -> bool:
        """Whether the folder says this now."""
        return self.spec is not None and not self.is_last_valid
