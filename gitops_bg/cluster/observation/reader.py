"""The one interface to the live objects of an app: from caches (`informers`) or read on demand (`LiveReader`)."""

from collections.abc import Sequence
from typing import Protocol

from gitops_bg.cluster.api.client import Client, EndpointSliceVersion
from gitops_bg.cluster.api.errors import Forbidden
from gitops_bg.cluster.api.kinds import APPS, OURS, SERVICES, WORKLOADS, Kind, Object
from gitops_bg.cluster.observation.project import (
    CONFIGURATION_STATES,
    SERVICE_NAME,
    WORKLOAD_STATES,
    app_state,
    service_state,
    slice_state,
)
from gitops_bg.cluster.observation.states import (
    AppState,
    ConfigurationState,
    Copied,
    ReleaseGroupState,
    ReplicaSetState,
    ServiceState,
    SliceState,
)
from gitops_bg.core import names
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.version import AppKey, WorkloadKind


class Reader(Protocol):
    """Reads live objects."""

    def app(self, app: AppKey) -> AppState | None:
        """Return the BlueGreenDeployment, whoever created it."""

    def apps(self) -> list[AppState]:
        """Return all BlueGreenDeployments in the watched namespaces."""

    def replica_sets(self, app: AppKey) -> tuple[ReplicaSetState, ...]:
        """Return the ReplicaSets, and DaemonSets, with the labels of the app, and those without under a name that it
        needs.
        """

    def follow_daemon_sets(self, namespace: str) -> None:
        """Let the workloads of apps be DaemonSets, too, from now on: nobody pays for them where no app has any."""

    def copies(self, app: AppKey, *, in_use: bool) -> Copied:
        """Return the ConfigMaps and Secrets with the labels of the app, as far as they may be listed.

        Where none is known to be ``in_use``, a reader that would have to ask the server may skip them.
        """

    def service(self, namespace: str, name: str) -> ServiceState | None:
        """Return the Service of this name, whoever created it."""

    def services(self, app: AppKey) -> tuple[ServiceState, ...]:
        """Return the Services with the labels of the app, whatever their names."""

    def slices(self, app: AppKey) -> tuple[SliceState, ...]:
        """Return the EndpointSlices of the app's Services."""

    def slices_of(self, namespace: str, service: str) -> tuple[SliceState, ...]:
        """Return the EndpointSlices of a Service that is not ours, read live: no cache has them."""

    def follow(self, kind: Kind) -> None:
        """Have the apps of objects of this kind looked at when somebody changes one; called whenever one is read."""


class WriteThrough(Protocol):
    """Learns of our own writes before a watch reports them."""

    def version(self, kind: Kind, namespace: str, name: str, /) -> str:
        """Return the version held before a write."""

    def remember(self, kind: Kind, body: Object, instead_of: str) -> None:
        """Store the response to a write; ``instead_of`` is what `version` returned before it."""

    def forget(self, kind: Kind, namespace: str, name: str, uid: str) -> None:
        """Note that the agent deleted an object."""

    def holds_app(self, app: AppKey, uid: str) -> bool:
        """Return whether a cache has the BlueGreenDeployment of this uid; False where there is no cache."""

    def found(self, kind: Kind, app: AppKey, name: str) -> None:
        """Note that an object without our labels has a name that the app needs: no cache has it, so it is read live."""


class Caches(Protocol):
    """What is known of the watched namespaces: of each all that is in it, or why not."""

    def start(self) -> None:
        """Start to watch; returns at once."""

    def stop(self) -> None:
        """End all watches."""

    @property
    def synced(self) -> bool:
        """Whether all is known of every namespace, except of those that the server refuses to list, or fails to."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for `synced`, at most ``timeout`` seconds, and no longer than until a list is refused; return whether it
        is.
        """

    @property
    def alive(self) -> bool:
        """Whether all watches run; False is a bug."""

    @property
    def knows_all(self) -> bool:
        """Whether no namespace is `unknown`: what is in one that is cannot be counted."""

    @property
    def age(self) -> float:
        """The seconds since the server last confirmed what is known, of the kind with the oldest knowledge."""

    def troubles(self) -> list[GitopsBgError]:
        """Return why watches receive nothing at present, what is refused first; empty when all is well."""

    def unknown(self, namespace: str) -> GitopsBgError | None:
        """Return why nothing may be decided in a namespace: not all that is in it is known. None: it is."""

    def unmanaged(self) -> dict[str, GitopsBgError]:
        """Return the namespaces that are `unknown`, and why; the empty name stands for all of them."""

    def groups(self) -> list[ReleaseGroupState]:
        """Return all ReleaseGroups, where they are watched."""

    def recheck(self, app: AppKey, service_names: Sequence[str]) -> None:
        """Look live again for what did not exist: part of a resync."""


class Uncached:
    """The caches of who reads each object when it is needed: always as the server has it."""

    synced = alive = knows_all = True
    age = 0.0

    def start(self) -> None:
        """Do nothing: there is nothing to watch."""

    def stop(self) -> None:
        """Do as `start`."""

    def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - the protocol's
        """Return at once."""
        return True

    def troubles(self) -> list[GitopsBgError]:
        """Return what goes wrong is raised by each read."""
        return []

    def unknown(self, namespace: str) -> GitopsBgError | None:  # noqa: ARG002 - the protocol's
        """Do as `troubles`."""
        return None

    def unmanaged(self) -> dict[str, GitopsBgError]:
        """Do as `troubles`."""
        return {}

    def groups(self) -> list[ReleaseGroupState]:
        """Return none: none is watched."""
        return []

    def recheck(self, app: AppKey, service_names: Sequence[str]) -> None:
        """Do nothing: everything is read anew anyway."""


class LiveReader:
    """Reads each object on demand, and caches nothing: for a command that runs once."""

    def __init__(self, client: Client, slice_kind: EndpointSliceVersion, namespaces: tuple[str, ...] = ()) -> None:
        self._client = client
        self._slice_kind = slice_kind
        self._namespaces = namespaces or ("",)
        self._kinds = [WorkloadKind.REPLICA_SET]

    def app(self, app: AppKey) -> AppState | None:
        """Return the BlueGreenDeployment."""
        body = self._client.get(APPS, app.namespace, app.name)
        return None if body is None else app_state(body)

    def apps(self) -> list[AppState]:
        """Return all BlueGreenDeployments."""
        return [app_state(body) for namespace in self._namespaces for body in self._client.list(APPS, namespace)]

    def replica_sets(self, app: AppKey) -> tuple[ReplicaSetState, ...]:
        """Return the ReplicaSets, and DaemonSets, with the labels of the app."""
        return tuple(
            WORKLOAD_STATES[each](body)
            for each in self._kinds
            for body in self._client.list(WORKLOADS[each], app.namespace, labels_of(app))
        )

    def follow_daemon_sets(self, _namespace: str) -> None:
        """List DaemonSets as well."""
        self._kinds = list(WorkloadKind)

    def copies(self, app: AppKey, *, in_use: bool) -> Copied:
        """Return the ConfigMaps and Secrets with the labels of the app; the user of a command may lack the right."""
        states: list[ConfigurationState] = []
        unlisted: list[str] = []
        for kind, reduce in CONFIGURATION_STATES.items() if in_use else ():
            try:
                states.extend(map(reduce, self._client.list(kind, app.namespace, labels_of(app))))
            except Forbidden:
                unlisted.append(kind.name)
        return Copied(tuple(states), tuple(unlisted))

    def service(self, namespace: str, name: str) -> ServiceState | None:
        """Return the Service of this name."""
        body = self._client.get(SERVICES, namespace, name)
        return None if body is None else service_state(body)

    def services(self, app: AppKey) -> tuple[ServiceState, ...]:
        """Return the Services with the labels of the app."""
        return tuple(map(service_state, self._client.list(SERVICES, app.namespace, labels_of(app))))

    def slices(self, app: AppKey) -> tuple[SliceState, ...]:
        """Return the EndpointSlices, which carry the labels of their Service."""
        return tuple(map(slice_state, self._client.list(self._slice_kind(), app.namespace, labels_of(app))))

    def slices_of(self, namespace: str, service: str) -> tuple[SliceState, ...]:
        """Return the EndpointSlices of one Service."""
        return foreign_slices(self._client, self._slice_kind(), namespace, service)

    def follow(self, kind: Kind) -> None:
        """Do nothing: nobody looks again."""

    def version(self, _kind: Kind, _namespace: str, _name: str, /) -> str:
        """Return no version: nothing is cached."""
        return ""

    def remember(self, kind: Kind, body: Object, instead_of: str) -> None:
        """Do nothing: nothing is cached."""

    def forget(self, kind: Kind, namespace: str, name: str, uid: str) -> None:
        """Do nothing: nothing is cached."""

    def holds_app(self, app: AppKey, uid: str) -> bool:  # noqa: ARG002 - the protocol's
        """Return False: nothing is cached."""
        return False

    def found(self, kind: Kind, app: AppKey, name: str) -> None:
        """Do nothing: nothing is cached."""


def labels_of(app: AppKey) -> str:
    """Return the label selector of all objects of one app."""
    return f"{OURS},{names.APP}={names.app_label(app)}"


def foreign_slices(client: Client, kind: Kind, namespace: str, service: str) -> tuple[SliceState, ...]:
    """Return the present EndpointSlices of a Service, whoever made it."""
    return tuple(map(slice_state, client.list(kind, namespace, f"{SERVICE_NAME}={service}")))
