"""Main as one look showed it: what it says of every app, and how its head relates to what was seen before.

The Git thread replaces a reading as a whole, and only once everything is read. A worker takes one reading and asks it
for everything, so that no decision mixes the head of one main with the files of another.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field

from gitops_bg.agent.desired.document_caches import PolicyView
from gitops_bg.agent.desired.lineage import Followed
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InternalError
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.observed import PromotionBranch
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey
from gitops_bg.core.written import Labels
from gitops_bg.repo.read.app_index import Hidden
from gitops_bg.repo.read.environment import NO_ENVIRONMENT, EnvironmentAt
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.app.settings import Settings, default_settings
from gitops_bg.spec.groups.load import GroupConfig
from gitops_bg.spec.manifests.auxiliary import UNKNOWN
from gitops_bg.spec.notifications import Alerting


@dataclass(frozen=True, slots=True)
class AppEntry:
    """One app in main: its files as the core's types, and which of the files exist."""

    config: AppConfig
    has_primary: bool
    has_target: bool
    makers: tuple[str, ...] = ()
    """The files that the target's version comes from."""
    commit: str = ""
    """The commit of main where it was read."""
    tree: str = ""
    """The id of the app's folder there; equal ids are equal files."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What main, the promotion branches and the shared files say. Immutable."""

    followed: Followed = field(default_factory=Followed)
    entries: Mapping[AppKey, AppEntry] = field(default_factory=dict)
    settings: Settings = field(default_factory=default_settings)
    settings_problems: tuple[Problem, ...] = ()
    environment: EnvironmentAt = NO_ENVIRONMENT
    """The environment that main was read for."""
    settings_known: bool = True
    """Whether the settings are those of main, or were: a file that was broken from the start says nothing of them."""
    alerting: Alerting = field(default_factory=Alerting)
    policies: PolicyView = field(default_factory=PolicyView)
    """The policies in force."""
    promotions: Mapping[AppKey, PromotionBranch] = field(default_factory=dict)
    hidden: Hidden = field(default_factory=Hidden)
    """The apps in main that are unknown."""
    groups: Mapping[GroupKey, GroupConfig] = field(default_factory=dict)
    """The release groups of main that this agent manages."""
    broken: Mapping[AppKey, InternalError] = field(default_factory=dict)
    """The bug that keeps the files of an app from being read; every poll tries again."""
    moved: Mapping[AppKey, str] = field(default_factory=dict)
    """The former names of apps, with the present ones (``adopt.app``)."""
    look: int = 0
    """The number of the look that read it (``core.model.journal``)."""

    @property
    def apps(self) -> frozenset[AppKey]:
        """The apps of main that this agent manages."""
        return frozenset(self.entries)

    def entry(self, app: AppKey) -> AppEntry | None:
        """Return the app as main has it, or None; None as well where main does not count."""
        return None if self.followed.blind else self.found(app)

    def moved_to(self, app: AppKey, remembered: str, spec: AppSpec | None = None) -> str:
        """Return what an app without a folder is called now; empty where main does not say. ``remembered`` is what it
        was to be called, which may have another name by now; ``spec`` what its file said last.
        """
        remembered_as = AppKey(app.namespace, remembered)
        return self.moved.get(app) or self.moved.get(remembered_as) or (self._named_again(app, spec) if spec else "")

    def _named_again(self, app: AppKey, spec: AppSpec) -> str:
        """Return the name that an app had before, where main has that again with a Service of the app: somebody
        reverted the move. Of two apps, only one can have a Service.
        """
        before = self.found(AppKey(app.namespace, spec.adopt.app)) if spec.adopt and spec.adopt.app else None
        again = before.config.spec if before is not None else None
        if again is None or not set(again.strategy.active_services) & set(spec.strategy.active_services):
            return ""
        return again.app.name

    def has_left(self, app: AppKey) -> bool:
        """Return whether main has no folder of an app, as far as it was read and counts: unknown is not absent."""
        return bool(self.followed.commit) and not self.followed.blind and self.found(app) is None

    def group_has_left(self, group: GroupKey) -> bool:
        """Return whether main has no folder of a release group, as far as it was read and counts."""
        return bool(self.followed.commit) and not self.followed.blind and group not in self.groups

    def unread(self, namespace: str) -> Iterator[AppKey]:
        """Return the apps of a namespace whose ``app.yaml`` cannot be read."""
        return (app for app, entry in self.entries.items() if app.namespace == namespace and entry.config.spec is None)

    def labels(self, app: AppKey) -> Labels:
        """Return the labels in the metadata of an app's target; none where main has no such app."""
        entry = self.entries.get(app)
        return entry.config.labels if entry is not None else ()

    def tree(self, who: AppOrGroup) -> str:
        """Return the id of the folder of an app or a group in main; empty where main has none."""
        of = self.groups.get(who) if isinstance(who, GroupKey) else self.found(who)
        return of.tree if of is not None else ""

    def found(self, app: AppKey) -> AppEntry | None:
        """Return the app as main has it, whether main counts or not."""
        known = self.entries.get(app)
        problem = None if known else self.hidden.may_hide(app)
        return unreadable(app, problem) if problem else known


def unreadable(app: AppKey, problem: Problem, folder: str = "") -> AppEntry:
    """Return the entry of an app of which nothing can be read: unknown is not absent, and the running version goes on.

    ``folder`` is the one that has the app all the same; empty where nobody can tell.
    """
    config = AppConfig(
        app, None, {}, None, None, problems=(problem,), whole=False, folder=folder, auxiliary_objects=UNKNOWN
    )
    return AppEntry(config, has_primary=True, has_target=True)
