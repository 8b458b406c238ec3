"""Main as one look showed it: what it says of every app, and how its head stands to what was seen before.

The Git thread replaces a reading as a whole, and only once all of it is read. A worker takes one and asks it for
everything, so that no decision is made from the head of one main and the files of another.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_bg.agent.desired.lineage import Followed
from gitops_bg.agent.desired.policy_shelf import PolicyView
from gitops_bg.core.errors import InternalError
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.observed import PromotionBranch
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.app.models import Settings
from gitops_bg.spec.app.settings import default_settings
from gitops_bg.spec.manifests.auxiliary import UNKNOWN
from gitops_bg.spec.notifications.alert_providers import Alerting


@dataclass(frozen=True, slots=True)
class Entry:
    """One app in main: its files turned into the core's types, and which of them there are."""

    config: AppConfig
    has_primary: bool
    has_target: bool
    makers: tuple[str, ...] = ()
    """The files that the target's version comes from."""
    commit: str = ""
    """Of main, where it was read so."""
    tree: str = ""
    """Of the app's folder there; equal trees are equal files."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What main, the promotion branches and what apps share say. Nothing of it changes."""

    followed: Followed = field(default_factory=Followed)
    entries: Mapping[AppKey, Entry] = field(default_factory=dict)
    settings: Settings = field(default_factory=default_settings)
    settings_problems: tuple[Problem, ...] = ()
    alerting: Alerting = field(default_factory=Alerting)
    policies: PolicyView = field(default_factory=PolicyView)
    """What holds of ``policies/`` now."""
    promotions: Mapping[AppKey, PromotionBranch] = field(default_factory=dict)
    hidden: Mapping[str, Problem] = field(default_factory=dict)
    """The namespaces of which nobody can tell what apps main has, and why; under the empty name: all of them."""
    broken: Mapping[AppKey, InternalError] = field(default_factory=dict)
    """The bug that keeps the files of an app from being read; they are tried again with every poll."""
    look: int = 0
    """The number of the look that found it (``core.model.looks``)."""

    @property
    def apps(self) -> frozenset[AppKey]:
        """The apps of main that are ours to care for."""
        return frozenset(self.entries)

    def entry(self, app: AppKey) -> Entry | None:
        """The app as main has it, or None; also where nothing that main says counts."""
        return None if self.followed.blind else self.found(app)

    def found(self, app: AppKey) -> Entry | None:
        """The app as main has it, whether that counts or not."""
        known = self.entries.get(app)
        problem = None if known else hides(self.hidden, app)
        return unreadable(app, problem) if problem else known


def hides(hidden: Mapping[str, Problem], app: AppKey) -> Problem | None:
    """Why nobody can tell whether main has an app; None where everybody can."""
    return hidden.get("") or hidden.get(app.namespace)


def unreadable(app: AppKey, problem: Problem) -> Entry:
    """What stands for an app of which nothing can be read: unknown is not absent, and what runs goes on."""
    config = AppConfig(app, None, {}, None, None, problems=(problem,), whole=False, auxiliary_objects=UNKNOWN)
    return Entry(config, has_primary=True, has_target=True)
