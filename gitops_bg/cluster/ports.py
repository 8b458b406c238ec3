"""The two seams of the cluster: what sends live traffic to a version, and what runs the pods of one.

The executor acts through them, and the observation looks through them; Services (`execution.services`) and ReplicaSets
(`execution.replica_sets`) are the first implementations. A port says what holds for every implementation; both take and
return the core's values, so that the core depends on none.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from gitops_bg.cluster.api.kinds import Kind
from gitops_bg.cluster.manifests.pod_templates import Labels
from gitops_bg.cluster.observation.states import State
from gitops_bg.cluster.observation.views import AppContext
from gitops_bg.core.model.actions import (
    ApplyService,
    CreateReplicaSet,
    DeleteReplicaSet,
    HandBack,
    MarkService,
    PointPreview,
    RepairSelector,
    ScaleReplicaSet,
    SwitchTraffic,
    SyncPodMetadata,
)
from gitops_bg.core.model.drift import ChangeSetEntry
from gitops_bg.core.model.observed import ReplicaSetView, ServiceView
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.load import AppConfig

Entries = tuple[ChangeSetEntry, ...]
"""What an action wrote to, in order; empty where there was nothing left to write to."""

Spare = Callable[[str, Mapping[str, str]], None]
"""Called before the workload of a name, whose pods have these labels, loses pods: raises `WorldChanged` while live
traffic goes to them (I2).
"""


class TrafficRoutes(Protocol):
    """Where traffic goes at one moment. Pure."""

    def view(self, look: AppContext, name: str) -> ServiceView | None:
        """Return the route of this name, compared with Git; None where there is none."""


class TrafficRouter(Protocol):
    """Sends the traffic of an app's routes to its versions.

    Each route goes to one version at a time, and moves as a whole, in one write. All methods raise the errors of
    `core.errors`; foreign objects are never changed (``ForeignObject``).
    """

    def current(
        self, app: AppKey, names: Iterable[str], *, adopting: bool = False, returning: bool = False
    ) -> TrafficRoutes:
        """Return where the routes of these names send traffic, from the caches.

        ``adopting``: ask the server as well how many pods serve through the routes that are not ours yet.
        ``returning``: ask it as well whose pods the routes lead to once they are handed back.
        """

    def serving(self, app: AppKey, config: AppConfig | None, labels: Mapping[str, str], *, alone: bool = False) -> str:
        """Return the route of live traffic that leads to pods with these labels, read live; empty for none.

        Where only those that lead to their version ``alone`` are asked for, one that leads to whatever else fits is
        none.
        """

    def switch(self, app: AppKey, config: AppConfig | None, action: SwitchTraffic, decided_on: str) -> Entries:
        """Move live traffic: compare-and-swap.

        Raises `WorldChanged`, and moves nothing, where the route does not go where ``action`` expects it to, where
        somebody wrote to it between that read and the write, where it does not exist (or, with ``create``, exists), and
        where the app has changed since ``decided_on`` (DESIGN §4.3).
        """

    def reaching(self, app: AppKey, config: AppConfig | None, digest: str) -> str:
        """Return the route of live traffic, whoever has it, by which requests still reach pods of a version, read live;
        empty for none. Those follow a route a moment later.
        """

    def point(self, app: AppKey, config: AppConfig | None, action: PointPreview) -> Entries:
        """Move the preview, by the same compare-and-swap."""

    def repair(self, app: AppKey, action: RepairSelector, decided_on: str) -> Entries:
        """Lead a route of live traffic back, by the same compare-and-swap, and write nothing else of it."""

    def apply(self, app: AppKey, config: AppConfig | None, action: ApplyService, decided_on: str) -> Entries:
        """Create a route, or repair it to what Git and ``action`` say."""

    def mark(self, app: AppKey, config: AppConfig | None, action: MarkService, decided_on: str) -> Entries:
        """Write a mark that makes every switch fail that read the route before it."""

    def hand_back(self, app: AppKey, action: HandBack, decided_on: str) -> Entries:
        """Give a route that was taken over back what it had before, by the same compare-and-swap.

        Raises `WorldChanged`, and hands nothing back, while it would lead to pods of an app.
        """

    def owned(self, app: AppKey, uid: str, former: Sequence[str] = ()) -> Iterable[tuple[Kind, State]]:
        """Return the live objects of routes that the object with this uid owns: those that it names, and ``former``
        ones.
        """


class SeenWorkloads(Protocol):
    """The workloads of an app at one moment. Pure."""

    def views(self, look: AppContext) -> tuple[ReplicaSetView, ...]:
        """Return the view of each workload, compared with its version in the record."""

    def snapshots(self) -> Mapping[str, str]:
        """Return the pod templates that they were created from, by short digest."""


class Workloads(Protocol):
    """Runs the pods of an app's versions: one workload for each version, found by its digest.

    All methods raise the errors of `core.errors`; foreign objects are never changed (``ForeignObject``).
    """

    def current(self, app: AppKey) -> SeenWorkloads:
        """Return the workloads of the app, from the caches."""

    def require_available(self, app: AppKey, number: int, digest: str, needed: int) -> None:
        """Check I1 live: raise `WorldChanged` where a version has fewer available pods than ``needed``."""

    def create(self, app: AppKey, action: CreateReplicaSet, own: Labels) -> Entries:
        """Create the workload of a version, or repair it to what the version says.

        ``own`` are the labels by which the target selects its pods.
        """

    def scale(self, app: AppKey, action: ScaleReplicaSet, spare: Spare) -> Entries:
        """Set how many pods a version has."""

    def sync_pod_metadata(self, app: AppKey, action: SyncPodMetadata) -> Entries:
        """Give live pods the metadata that new ones get."""

    def delete(self, app: AppKey, action: DeleteReplicaSet, spare: Spare) -> Entries:
        """Delete a workload; one deleted already is no error."""

    def owned(self, app: AppKey, uid: str) -> Iterable[tuple[Kind, State]]:
        """Return the live workloads that the object with this uid owns."""
