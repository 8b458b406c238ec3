"""An in-memory router and in-memory workloads: second implementations of the ports, which test what the
ports promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gitops_bg.cluster.api.kinds import Kind
from gitops_bg.cluster.manifests.pod_templates import Labels
from gitops_bg.cluster.observation.states import State
from gitops_bg.cluster.observation.views import AppContext
from gitops_bg.cluster.ports import Entries, Spare
from gitops_bg.core.errors import WorldChanged
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
from gitops_bg.core.model.drift import Change, ChangeSetEntry
from gitops_bg.core.model.observed import ReplicaSetView, ServiceView
from gitops_bg.core.model.version import AppKey, short
from gitops_bg.core.names import replica_set_name, selector
from gitops_bg.spec.app.load import AppConfig


@dataclass(frozen=True)
class MemoryRoutes:
    """Where traffic went when somebody looked."""

    routes: Mapping[str, ServiceView]

    def view(self, look: AppContext, name: str) -> ServiceView | None:
        return self.routes.get(name)


@dataclass
class MemoryRouter:
    """Routes of one app, by name; those in ``live`` carry live traffic."""

    live: tuple[str, ...] = ("web",)
    routes: dict[str, ServiceView] = field(default_factory=dict)

    def current(
        self, app: AppKey, names: Iterable[str], *, adopting: bool = False, returning: bool = False
    ) -> MemoryRoutes:
        return MemoryRoutes({name: self.routes[name] for name in names if name in self.routes})

    def serving(self, app: AppKey, config: AppConfig | None, labels: Mapping[str, str], *, alone: bool = False) -> str:
        leads = (name for name in self.live if name in self.routes)
        found = (name for name in leads if dict(self.routes[name].selector).items() <= labels.items())
        return next((name for name in found if self.routes[name].digest or not alone), "")

    def switch(self, app: AppKey, config: AppConfig | None, action: SwitchTraffic, decided_on: str) -> Entries:
        if action.create == (action.name in self.routes):
            raise WorldChanged(f"{action.name} exists by now" if action.create else f"{action.name} is gone")
        if not action.create:
            self._expect(action)
        return self._lead(app, action.name, action.digest)

    def reaching(self, app: AppKey, config: AppConfig | None, digest: str) -> str:
        leads = (name for name in self.live if name in self.routes)
        return next((name for name in leads if self.routes[name].digest == short(digest)), "")

    def point(self, app: AppKey, config: AppConfig | None, action: PointPreview) -> Entries:
        self._expect(action)
        return self._lead(app, action.name, action.digest)

    def repair(self, app: AppKey, action: RepairSelector, decided_on: str) -> Entries:
        self._expect(action)
        return self._lead(app, action.name, action.digest)

    def apply(self, app: AppKey, config: AppConfig | None, action: ApplyService, decided_on: str) -> Entries:
        return self._lead(app, action.name, action.digest)

    def mark(self, app: AppKey, config: AppConfig | None, action: MarkService, decided_on: str) -> Entries:
        self.routes[action.name] = replace(self.routes[action.name], withdrawn=action.withdrawn)
        return ()

    def hand_back(self, app: AppKey, action: HandBack, decided_on: str) -> Entries:
        self._expect(action)
        self.routes[action.name] = ServiceView(action.name, "", action.selector, ours=False, unclaimed=True)
        return (ChangeSetEntry("Route", app.namespace, action.name, Change.CONFIGURED),)

    def owned(self, app: AppKey, uid: str, former: Sequence[str] = ()) -> Iterable[tuple[Kind, State]]:
        return ()

    def _expect(self, action: SwitchTraffic | PointPreview | RepairSelector | HandBack) -> None:
        if self.routes[action.name].selector != action.expected_selector:
            raise WorldChanged(f"{action.name} leads elsewhere")

    def _lead(self, app: AppKey, name: str, digest: str) -> Entries:
        change = Change.CONFIGURED if name in self.routes else Change.CREATED
        pairs = tuple(sorted(selector(app, digest).items()))
        self.routes[name] = ServiceView(name=name, digest=short(digest), selector=pairs)
        return (ChangeSetEntry("Route", app.namespace, name, change),)


@dataclass(frozen=True)
class SeenMemory:
    """The workloads as they were when somebody looked."""

    seen: tuple[ReplicaSetView, ...]

    def views(self, look: AppContext) -> tuple[ReplicaSetView, ...]:
        return self.seen

    def snapshots(self) -> Mapping[str, str]:
        return {short(each.snapshot.digest): each.snapshot.text for each in self.seen}


@dataclass
class MemoryWorkloads:
    """Workloads of one app whose pods are available as soon as there are ``pods`` of them."""

    pods: int = 1
    made: dict[str, ReplicaSetView] = field(default_factory=dict)

    def current(self, app: AppKey) -> SeenMemory:
        return SeenMemory(tuple(self.made.values()))

    def require_available(self, app: AppKey, number: int, digest: str, needed: int) -> None:
        available = self.made[digest].available if digest in self.made else 0
        if available < needed:
            raise WorldChanged(f"{short(digest)} has {available} available pods, not {needed}")

    def create(self, app: AppKey, action: CreateReplicaSet, own: Labels) -> Entries:
        digest = action.snapshot.digest
        name = replica_set_name(app, action.number, digest)
        available = min(self.pods, action.replicas)
        self.made[digest] = ReplicaSetView(name, action.snapshot, action.replicas, available, action.number)
        return (ChangeSetEntry("Workload", app.namespace, name, Change.CREATED),)

    def scale(self, app: AppKey, action: ScaleReplicaSet, spare: Spare) -> Entries:
        before = self.made[action.digest]
        if action.replicas < action.current:
            spare(before.name, selector(app, action.digest))
        self.made[action.digest] = replace(before, replicas=action.replicas)
        return (ChangeSetEntry("Workload", app.namespace, before.name, Change.CONFIGURED),)

    def sync_pod_metadata(self, app: AppKey, action: SyncPodMetadata) -> Entries:
        self.made[action.digest] = replace(self.made[action.digest], metadata=action.metadata)
        return ()

    def delete(self, app: AppKey, action: DeleteReplicaSet, spare: Spare) -> Entries:
        spare(action.name, selector(app, action.digest))
        self.made.pop(action.digest, None)
        return (ChangeSetEntry("Workload", app.namespace, action.name, Change.DELETED),)

    def owned(self, app: AppKey, uid: str) -> Iterable[tuple[Kind, State]]:
        return ()
