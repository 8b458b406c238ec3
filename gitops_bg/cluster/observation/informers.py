"""The watches and caches of one cluster: a `reader.Reader` that asks the server only about foreign names."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gitops_bg.cluster.api.client import Client, EndpointSliceVersion
from gitops_bg.cluster.api.kinds import (
    APPS,
    DAEMON_SETS,
    OURS,
    RELEASE_GROUPS,
    REPLICA_SETS,
    SERVICES,
    WORKLOADS,
    Kind,
    Object,
    name_of,
)
from gitops_bg.cluster.api.watch import Pace, Watch
from gitops_bg.cluster.observation.informer import Informer, Unlisted
from gitops_bg.cluster.observation.ownership import controlling_app
from gitops_bg.cluster.observation.project import (
    CONFIGURATION_STATES,
    WORKLOAD_STATES,
    app_state,
    auxiliary_state,
    daemon_set_state,
    group_state,
    replica_set_state,
    service_state,
    slice_state,
)
from gitops_bg.cluster.observation.reader import foreign_slices
from gitops_bg.cluster.observation.states import (
    AppState,
    ConfigurationState,
    Copied,
    ReleaseGroupState,
    ReplicaSetState,
    ServiceState,
    SliceState,
    State,
)
from gitops_bg.core import names
from gitops_bg.core.errors import GitopsBgError, Refused
from gitops_bg.core.model.version import AppKey, GroupKey, WorkloadKind

_STOP_SECONDS = 2.0
_FIRST_LIST_SECONDS = 2.0
"""How long after the watch of DaemonSets began apps wait for its first list; later none holds a worker for it."""
_LOOK_SECONDS = 0.05
"""Seconds between two looks whether the first lists are complete, or refused."""


class Informers:
    """All objects of ours in ``namespaces`` (none: all), kept up to date.

    ``on_change`` is called with each changed app. A namespace that the server refuses to list, or fails to, is
    `unknown`, and holds up no other one.

    Apps are indexed by their label, which is the name itself unless that exceeds 63 characters.
    """

    def __init__(
        self,
        client: Client,
        slice_kind: EndpointSliceVersion,
        namespaces: Sequence[str],
        on_change: Callable[[AppKey], None],
        pace: Pace | None = None,
        on_group: Callable[[GroupKey], None] | None = None,
    ) -> None:
        self._client = client
        self._slice_kind = slice_kind
        self._tell = on_change
        self._namespaces = tuple(namespaces) or ("",)
        self._long_names: dict[AppKey, AppKey] = {}
        self._absent: set[tuple[str, str]] = set()
        self._unlabelled: dict[AppKey, set[tuple[WorkloadKind, str]]] = {}
        self._apps = Informer(app_state, self._own_key, self._changed)
        self._replica_sets = Informer(replica_set_state, _owning_key, self._changed)
        self._services = Informer(service_state, _owning_key, self._changed, on_return=self._absent.clear)
        self._slices = Informer(slice_state, _owning_key, self._changed)
        self._configuration: dict[Kind, Informer[ConfigurationState, AppKey]] = {
            kind: Informer(reduce, _owning_key, self._changed, can_do_without=True)
            for kind, reduce in CONFIGURATION_STATES.items()
        }
        self._daemon_sets = Informer(daemon_set_state, _owning_key, self._changed, can_do_without=True)
        self._tell_of_group = on_group
        self._sighted: set[GroupKey] = set()
        self._groups = Informer(group_state, _group_key, self._group_changed, can_do_without=True)
        self._pace = pace
        self._followed: dict[Kind, float] = {}
        """The kinds that are watched since somebody asked, and from when on."""
        self._beginning = threading.Lock()
        self._stopping = False
        self._watches: list[Watch] = []
        for namespace in self._namespaces:
            self._follow(client, lambda: APPS, namespace, "", self._apps, pace)
            self._follow(client, lambda: REPLICA_SETS, namespace, OURS, self._replica_sets, pace)
            self._follow(client, lambda: SERVICES, namespace, OURS, self._services, pace)
            self._follow(client, slice_kind, namespace, OURS, self._slices, pace)
            for kind, cache in self._configuration.items():
                self._follow(client, lambda kind=kind: kind, namespace, OURS, cache, pace)  # type: ignore[misc]
            if on_group is not None:
                self._follow(client, lambda: RELEASE_GROUPS, namespace, "", self._groups, pace)

    def start(self) -> None:
        """Start all watches; returns at once."""
        for watch in self._watches:
            watch.start()

    def follow(self, kind: Kind) -> None:
        """Watch one more kind, from the first app on that has an object of it: where there is none, it costs nothing.

        The agent can do without: a refused list leaves these objects to the next look at their apps.
        """
        self._begin(kind, lambda: Informer(auxiliary_state, _owning_key, self._changed, can_do_without=True))

    def stop(self) -> None:
        """End all watches, within two seconds; one that waits for a silent server ends later."""
        with self._beginning:
            self._stopping = True
        for watch in self._watches:
            watch.begin_stop()
        deadline = time.monotonic() + _STOP_SECONDS
        for watch in self._watches:
            watch.stop(max(0.1, deadline - time.monotonic()))

    @property
    def synced(self) -> bool:
        """Whether all is known of every namespace, except of those that the server refuses to list, or fails to."""
        why = [self.unknown(namespace) for namespace in self._namespaces]
        return None in why and not any(isinstance(each, Unlisted) for each in why)

    def unknown(self, namespace: str) -> GitopsBgError | None:
        """Return why nothing may be decided in a namespace: not all that is in it is known. None: it is."""
        found = [error for cache in self._all() if (error := cache.unknown(namespace))]
        return min(found, key=lambda each: not isinstance(each, Refused), default=None)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for `synced`, at most ``timeout`` seconds; return whether it is.

        Returns at once where the server refuses every list: a missing kind or right does not come by waiting.
        """
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while not self.synced and time.monotonic() < deadline and not self._closed:
            time.sleep(_LOOK_SECONDS)
        return self.synced

    @property
    def _closed(self) -> bool:
        """Whether the server refuses to tell of every namespace."""
        return all(isinstance(self.unknown(each), Refused) for each in self._namespaces)

    @property
    def alive(self) -> bool:
        """Whether all watches run; False is a bug."""
        return all(watch.alive for watch in self._watches)

    def unmanaged(self) -> dict[str, GitopsBgError]:
        """Return the namespaces that are `unknown`, and why; the empty name stands for all of them."""
        return {each: why for each in self._namespaces if (why := self.unknown(each))}

    @property
    def knows_all(self) -> bool:
        """Whether no namespace is `unknown`."""
        return not self.unmanaged()

    @property
    def age(self) -> float:
        """The seconds since the server last confirmed what is known, of the kind with the oldest knowledge.

        Of a namespace that is `unknown`, nothing is known that could grow old.
        """
        needed = [watch for watch in self._watches if not watch.can_do_without]
        known = [each for each in self._namespaces if self.unknown(each) is None]
        return max(watch.silent_seconds for watch in [each for each in needed if each.namespace in known] or needed)

    def troubles(self) -> list[GitopsBgError]:
        """Return why watches receive nothing at present, what is refused first."""
        found = [error for cache in self._all() for error in cache.troubles()]
        return sorted(found, key=lambda each: not isinstance(each, Refused))

    def app(self, app: AppKey) -> AppState | None:
        """Return the BlueGreenDeployment, whoever created it."""
        return self._apps.get(app.namespace, app.name)

    def holds_app(self, app: AppKey, uid: str) -> bool:
        """Return whether the BlueGreenDeployment of this uid is there."""
        state = self.app(app)
        return state is not None and state.meta.uid == uid

    def apps(self) -> list[AppState]:
        """Return all BlueGreenDeployments."""
        return self._apps.all()

    def groups(self) -> list[ReleaseGroupState]:
        """Return all ReleaseGroups, where they are watched."""
        return self._groups.all()

    def replica_sets(self, app: AppKey) -> tuple[ReplicaSetState, ...]:
        """Return the workloads of the app, and those that `found` named, which are read live until they have our
        labels.
        """
        labelled = self._replica_sets.of(_indexed(app)) + self._daemon_sets.of(_indexed(app))
        if app not in self._unlabelled:
            return labelled
        self._unlabelled[app] -= {(state.workload, state.meta.name) for state in labelled}
        return labelled + tuple(self._still_unlabelled(app))

    def follow_daemon_sets(self, namespace: str) -> None:
        """Watch DaemonSets as well, from the first app on that has one.

        Raises `Refused` where they may not be listed, and `Transient` where those of a namespace are not known yet: a
        namespace that the server is slow to list must not take the workers from the apps of others.
        """
        self._begin(DAEMON_SETS, lambda: self._daemon_sets)
        deadline = self._followed.get(DAEMON_SETS, 0.0) + _FIRST_LIST_SECONDS
        while (why := self._daemon_sets.unknown(namespace)) and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)
        why = why or self._daemon_sets.refusal(namespace)
        if why is not None:
            raise why

    def copies(self, app: AppKey, *, in_use: bool) -> Copied:  # noqa: ARG002 (in a cache, all are looked at)
        """Return the ConfigMaps and Secrets of the app, in use or not, and the kinds that the server refuses to
        list.
        """
        states = (state for cache in self._configuration.values() for state in cache.of(_indexed(app)))
        unlisted = (kind.name for kind, cache in self._configuration.items() if cache.blind(app.namespace))
        return Copied(tuple(states), tuple(unlisted))

    def service(self, namespace: str, name: str) -> ServiceState | None:
        """Return the Service of this name. One without our labels is in no cache: it is read live until it has them."""
        state = self._services.get(namespace, name)
        if state is not None:
            self._absent.discard((namespace, name))
            return state
        if (namespace, name) in self._absent:
            return None
        body = self._client.get(SERVICES, namespace, name)
        if body is None:
            self._absent.add((namespace, name))
            return None
        return service_state(body)

    def services(self, app: AppKey) -> tuple[ServiceState, ...]:
        """Return the Services of the app, whatever their names."""
        return self._services.of(_indexed(app))

    def slices(self, app: AppKey) -> tuple[SliceState, ...]:
        """Return the EndpointSlices of the app's Services."""
        return self._slices.of(_indexed(app))

    def slices_of(self, namespace: str, service: str) -> tuple[SliceState, ...]:
        """Return the EndpointSlices of a Service that is not ours, read live: nothing watches them."""
        return foreign_slices(self._client, self._slice_kind(), namespace, service)

    def version(self, kind: Kind, namespace: str, name: str) -> str:
        """Return the cached version before a write."""
        return self._of_kind(kind).version(namespace, name)

    def remember(self, kind: Kind, body: Object, instead_of: str) -> None:
        """Store the response to our own write."""
        self._absent.discard(name_of(body))
        self._of_kind(kind).remember(body, instead_of)

    def forget(self, kind: Kind, namespace: str, name: str, uid: str) -> None:
        """Note that the agent deleted an object."""
        self._of_kind(kind).forget(namespace, name, uid)

    def found(self, kind: Kind, app: AppKey, name: str) -> None:
        """Note that an object without our labels has a name that the app needs."""
        workload = next((each for each, its in WORKLOADS.items() if its == kind), None)
        if workload is not None:
            self._unlabelled.setdefault(app, set()).add((workload, name))
        self._absent.discard((app.namespace, name))

    def recheck(self, app: AppKey, service_names: Sequence[str]) -> None:
        """Look live again for what did not exist: part of a resync."""
        for name in service_names:
            self._absent.discard((app.namespace, name))

    def _still_unlabelled(self, app: AppKey) -> Iterator[ReplicaSetState]:
        for workload, name in sorted(self._unlabelled[app]):
            body = self._client.get(WORKLOADS[workload], app.namespace, name)
            if body is None:
                self._unlabelled[app].discard((workload, name))
            else:
                yield WORKLOAD_STATES[workload](body)

    def _begin(self, kind: Kind, cache: Callable[[], Informer[Any, AppKey]]) -> None:
        """Watch a kind from now on, once."""
        with self._beginning:
            if kind in self._followed or self._stopping:
                return
            self._followed[kind] = time.monotonic()
            kept, before = cache(), len(self._watches)
            for namespace in self._namespaces:
                self._follow(self._client, lambda: kind, namespace, OURS, kept, self._pace)
            for watch in self._watches[before:]:
                watch.start()

    def _follow(
        self,
        client: Client,
        kind: Callable[[], Kind],
        namespace: str,
        labels: str,
        cache: Informer[Any, Any],
        pace: Pace | None,
    ) -> None:
        scope, spare = cache.scope(namespace), cache.can_do_without
        self._watches.append(Watch(client, kind, namespace, labels, scope, pace, can_do_without=spare))

    def _all(self) -> tuple[Informer[Any, AppKey], ...]:
        more = (self._daemon_sets,) if DAEMON_SETS in self._followed else ()
        return self._apps, self._replica_sets, self._services, self._slices, *self._configuration.values(), *more

    def _of_kind(self, kind: Kind) -> Informer[Any, AppKey]:
        caches: dict[Kind, Informer[Any, AppKey]] = {
            APPS: self._apps,
            REPLICA_SETS: self._replica_sets,
            DAEMON_SETS: self._daemon_sets,
            SERVICES: self._services,
            **self._configuration,
        }
        return caches[kind]

    def _own_key(self, state: AppState) -> AppKey:
        app = AppKey(state.meta.namespace, state.meta.name)
        key = _indexed(app)
        if key != app:
            self._long_names[key] = app
        return key

    def _changed(self, key: AppKey) -> None:
        self._tell(self._long_names.get(key, key))

    def _group_changed(self, group: GroupKey) -> None:
        """Tell only that there is a group, or that somebody asks something of it: each look at one reads it live."""
        state, is_known = self._groups.get(group.namespace, group.name), group in self._sighted
        self._sighted.add(group)
        if state is not None and (state.asks or not is_known) and self._tell_of_group is not None:
            self._tell_of_group(group)


def _group_key(state: ReleaseGroupState) -> GroupKey:
    return GroupKey(state.meta.namespace, state.meta.name)


def _indexed(app: AppKey) -> AppKey:
    return AppKey(app.namespace, names.app_label(app))


def _owning_key(state: State) -> AppKey:
    """Return the app of an object: by its controller, which outlives a removed label, else by label."""
    app = controlling_app(state.meta)
    return AppKey(state.meta.namespace, state.meta.app) if app is None else _indexed(app)
