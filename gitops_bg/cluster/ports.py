"""The two seams of the cluster: what sends live traffic to a version, and what runs the pods of one.

The executor carries actions out through them, and the observation looks through them; Services
(`execution.services`) and ReplicaSets (`execution.replica_sets`) are the first implementations. A port says what holds
whatever is behind it; both take and give the core's values, so that nothing of the core depends on which one it is.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from gitops_bg.cluster.api.kinds import Kind
from gitops_bg.cluster.observation.look import Look
from gitops_bg.cluster.observation.states import State
from gitops_bg.core.model.actions import (
    ApplyService,
    CreateReplicaSet,
    DeleteReplicaSet,
    MarkService,
    PointPreview,
    ScaleReplicaSet,
    SwitchTraffic,
    SyncPodMetadata,
)
from gitops_bg.core.model.change_set import ChangeSetEntry
from gitops_bg.core.model.observed import ReplicaSetView, ServiceView
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.load import AppConfig

Entries = tuple[ChangeSetEntry, ...]
"""What an action wrote to, in that order; empty where there was nothing left to write to."""

Spare = Callable[[str, Mapping[str, str]], None]
"""Asked before the workload of a name, whose pods have these labels, loses pods: raises `WorldChanged` while live
traffic goes to them (I2)."""


class Routes(Protocol):
    """Where traffic goes, read at one moment. Pure from then on."""

    def view(self, look: Look, name: str) -> ServiceView | None:
        """The route of this name beside what Git says of it; None where there is none."""


class TrafficRouter(Protocol):
    """Sends the traffic of an app's routes to its versions.

    Each route goes to one version at a time, and moves as a whole, in one write. All raise the errors of `core.errors`;
    what is not ours is never changed (``ForeignObject``).
    """

    def current(self, app: AppKey, names: Iterable[str]) -> Routes:
        """Where the routes of these names send traffic, as far as is known without asking."""

    def serving(self, app: AppKey, config: AppConfig | None, labels: Mapping[str, str]) -> str:
        """The route of live traffic that leads to pods with these labels, read live; empty for none."""

    def switch(self, app: AppKey, config: AppConfig | None, action: SwitchTraffic, decided_on: str) -> Entries:
        """Move live traffic: compare-and-swap. Raises `WorldChanged`, and moves nothing, where the route does not go
        where ``action`` expects it to, where anybody wrote to it between that look and the write, where there is none
        (or, with ``create``, one), and where the app is no longer what this was ``decided_on`` (DESIGN §4.3).
        """

    def point(self, app: AppKey, action: PointPreview) -> Entries:
        """Move the preview, by the same compare-and-swap."""

    def apply(self, app: AppKey, config: AppConfig | None, action: ApplyService, decided_on: str) -> Entries:
        """Make a route, or make it again what Git and ``action`` say."""

    def mark(self, app: AppKey, action: MarkService, decided_on: str) -> Entries:
        """Leave a mark that no switch survives which was read before it."""

    def owned(self, app: AppKey, uid: str) -> Iterable[tuple[Kind, State]]:
        """The live objects of routes that the object with this uid owns."""


class SeenWorkloads(Protocol):
    """The workloads of an app, read at one moment. Pure from then on."""

    def views(self, look: Look) -> tuple[ReplicaSetView, ...]:
        """Each of them beside what the record says of its version."""

    def snapshots(self) -> Mapping[str, str]:
        """The pod templates that they were made from, by short digest."""


class Workloads(Protocol):
    """Runs the pods of an app's versions: one workload a version, named by its digest.

    All raise the errors of `core.errors`; what is not ours is never changed (``ForeignObject``).
    """

    def current(self, app: AppKey) -> SeenWorkloads:
        """The workloads of the app, as far as is known without asking."""

    def require_available(self, app: AppKey, digest: str, needed: int) -> None:
        """I1, read live: raises `WorldChanged` where a version has fewer available pods than ``needed``."""

    def create(self, app: AppKey, action: CreateReplicaSet, spare: Spare) -> Entries:
        """Make the workload of a version, or make it again what the version says."""

    def scale(self, app: AppKey, action: ScaleReplicaSet, spare: Spare) -> Entries:
        """Set how many pods a version has."""

    def sync_pod_metadata(self, app: AppKey, action: SyncPodMetadata) -> Entries:
        """Give live pods the metadata that new ones get."""

    def delete(self, app: AppKey, action: DeleteReplicaSet, spare: Spare) -> Entries:
        """Delete a workload; one that is gone already is fine."""

    def owned(self, app: AppKey, uid: str) -> Iterable[tuple[Kind, State]]:
        """The live workloads that the object with this uid owns."""
