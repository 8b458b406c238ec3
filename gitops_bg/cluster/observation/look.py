"""One look at one app: what its live objects are compared with. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.observation.applied_states import AppliedStates, intent_of
from gitops_bg.cluster.observation.states import AppState, Meta, ServiceState
from gitops_bg.core import names
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import Adoption
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.load import AppConfig

_S = TypeVar("_S", AppState, ServiceState)


@dataclass(frozen=True, slots=True)
class AppContext:
    """What is known of an app besides its workloads and routes. ``config`` None: its folder left main."""

    app: AppKey
    state: AppState | None
    """The BlueGreenDeployment."""
    config: AppConfig | None
    record: Record
    settled: AppliedStates
    namespace_uid: str = ""
    """The uid of the namespace as second owner (``execution.anchors``); empty where it is unknown."""
    snapshots: Mapping[str, str] = field(default_factory=dict)
    """The known pod templates, by short digest."""

    @property
    def uid(self) -> str:
        """The uid of the BlueGreenDeployment; empty where there is none."""
        return self.state.meta.uid if self.state is not None else ""

    @property
    def going(self) -> bool:
        """Whether somebody is deleting the BlueGreenDeployment: it must not become an owner then."""
        return self.state is not None and self.state.meta.deleting

    @property
    def adopt(self) -> Adoption | None:
        """What the app's file agrees to take over."""
        return self.config.spec.adopt if self.config is not None and self.config.spec is not None else None

    def labelled(self, meta: Meta) -> bool:
        """Whether an object has our labels."""
        return (meta.manager, meta.app) == (names.MANAGER, names.app_label(self.app))

    def controlled(self, meta: Meta) -> bool:
        """Whether our object controls it, and the namespace is its second owner."""
        if not self.uid or self.going:
            return True
        controller, anchor = meta.controller, self.namespace_uid
        return controller is not None and controller.uid == self.uid and (not anchor or anchor in meta.owners)

    def unsettled(self, state: _S, manifest: Object, drifted: Callable[[_S, Object], bool]) -> bool:
        """Whether it drifted, beyond how the server normalised our last apply."""
        return drifted(state, manifest) and not self.settled.covers(state, intent_of(manifest))
