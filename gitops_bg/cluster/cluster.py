"""One cluster, as the agent and the command line use it: apps, with the parts that have the rest.

What is known of namespaces is asked of ``caches``, release groups are in ``release_groups``, requests of operators in
``operator_requests``, Events in ``events``, and ``executor`` carries out what was decided.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client, EndpointSliceVersion
from gitops_bg.cluster.api.connection import Count, Skew
from gitops_bg.cluster.api.errors import Forbidden, NamespaceClosed, NotFound
from gitops_bg.cluster.api.kinds import APPS, NAMESPACES, SECRETS, Object
from gitops_bg.cluster.api.watch import Pace
from gitops_bg.cluster.events import EventSink, KubernetesEvent
from gitops_bg.cluster.execution.auxiliary import AuxiliaryWriter
from gitops_bg.cluster.execution.executor import Executor, Parts, scale_deployment
from gitops_bg.cluster.execution.jobs import Jobs
from gitops_bg.cluster.execution.operator_requests import OperatorRequests, requests_of
from gitops_bg.cluster.execution.replica_sets import ReplicaSets
from gitops_bg.cluster.execution.services import Services
from gitops_bg.cluster.execution.writer import Guards, Writer
from gitops_bg.cluster.group_cluster import GroupCluster
from gitops_bg.cluster.manifests.services import service_names
from gitops_bg.cluster.observation.additions import AppliedStates
from gitops_bg.cluster.observation.informers import Informers
from gitops_bg.cluster.observation.observe import ObservationSources, gather, observe
from gitops_bg.cluster.observation.on_demand import Pods, deployment_view, left_manifests
from gitops_bg.cluster.observation.ownership import UNOWNED, Ownership, app_owner_of
from gitops_bg.cluster.observation.project import app_state
from gitops_bg.cluster.observation.reader import Caches, LiveReader, Reader, Uncached, WriteThrough
from gitops_bg.cluster.observation.routes import ForeignServices
from gitops_bg.cluster.observation.states import AppState
from gitops_bg.cluster.status import (
    LastStatus,
    PrunedStatus,
    differs_in_process_view_only,
    load,
    patience,
    pull_in,
    record_in,
    since,
    status_of,
    with_condition,
)
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InternalError, Refused, Transient, WorldChanged
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.model.actions import ClusterAction
from gitops_bg.core.model.analysis import MeasurementRequest, MeasurementResult, RunRecord
from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.drift import ActionResult
from gitops_bg.core.model.journal import PullRequest
from gitops_bg.core.model.observed import Observed, Request
from gitops_bg.core.model.record import OperatorState, Record
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey
from gitops_bg.spec.app.load import AppConfig


@dataclass(frozen=True, slots=True)
class Seen:
    """A BlueGreenDeployment at one moment; ``version`` is empty where there was none."""

    manifest: Object | None
    record: Record
    version: str
    pull: PullRequest | None = None
    """The pull request that its status names."""


class Cluster:
    """One cluster. Thread-safe as long as each app has one thread at a time; `start` first, `stop` at the end.

    Created by `Cluster.watching` (the agent) or `Cluster.live` (commands that run once). Every method raises only the
    errors of `core.errors`.
    """

    def __init__(
        self,
        client: Client,
        sources: ObservationSources,
        writer: Writer,
        executor: Executor,
        settled: AppliedStates,
        jobs: Jobs | None = None,
        us: Ownership = UNOWNED,
    ) -> None:
        self.client = client
        self.skew: Skew | None = None
        """The difference between the API server's clock and ours, where it is measured."""
        self._us = us
        self._jobs = jobs
        self.sources = sources
        self._reader = sources.reader
        self._writer = writer
        self.executor = executor
        self._settled = settled
        self._kept = PrunedStatus()
        self._last_status = LastStatus()
        self._decided: dict[AppKey, str] = {}
        self.caches: Caches = sources.reader if isinstance(sources.reader, Informers) else Uncached()
        self.events = EventSink(client)
        self.operator_requests = OperatorRequests(APPS, client.get, writer.merge_patch, _answered)
        self.release_groups = GroupCluster(client, us)

    @classmethod
    def watching(  # noqa: PLR0913 - the wiring, by keyword
        cls,
        access: Access,
        on_change: Callable[[AppKey], None],
        namespaces: Sequence[str] = (),
        pace: Pace | None = None,
        on_crash: Callable[[BaseException], None] | None = None,
        *,
        clock: Callable[[], datetime] | None = None,
        us: Ownership = UNOWNED,
        may_write: Callable[[], None] = lambda: None,
        count: Count = lambda *_: None,
        on_group: Callable[[GroupKey], None] | None = None,
    ) -> "Cluster":
        """Return a cluster with caches of ``namespaces`` (none: all).

        ``on_change`` is called with each changed app, on a watch's thread, and ``on_group`` with each release group
        that is new there, one of whose Jobs changed, or of which somebody asks something.

        ``on_crash`` gets the bug that ended a thread; without it, Python prints the bug. With a ``clock``, which gives
        UTC, the skew of the API server's clock is measured. Our own writes are in the caches at once and cause no
        change event.
        """
        skew = Skew(clock) if clock else None
        client = Client(access, skew, may_write, count)
        caches = Informers(client, EndpointSliceVersion(client), namespaces, on_change, pace, on_group)

        def changed(subject: AppOrGroup) -> None:
            if isinstance(subject, GroupKey) and on_group is not None:
                on_group(subject)
            elif isinstance(subject, AppKey):
                on_change(subject)

        jobs = Jobs(client, namespaces, changed, pace, on_crash)
        made = cls._of(client, caches, caches, jobs, us)
        made.skew = skew
        return made

    @classmethod
    def live(cls, access: Access, namespaces: Sequence[str] = ()) -> "Cluster":
        """Return a cluster without caches: everything is read when needed."""
        return cls.over(Client(access), namespaces)

    @classmethod
    def over(cls, client: Client, namespaces: Sequence[str] = (), us: Ownership = UNOWNED) -> "Cluster":
        """Do as `live`, over a client that there is already, as who follows ``us`` sees it; `stop` closes it."""
        reader = LiveReader(client, EndpointSliceVersion(client), tuple(namespaces))
        return cls._of(client, reader, reader, us=us)

    @classmethod
    def _of(
        cls, client: Client, reader: Reader, memory: WriteThrough, jobs: Jobs | None = None, us: Ownership = UNOWNED
    ) -> "Cluster":
        writer, settled = Writer(client, memory), AppliedStates()
        guards, pods = Guards(reader, memory, writer, us), Pods(client)
        beside = AuxiliaryWriter(client, writer.anchors, writer.intents, reader)
        workloads = ReplicaSets(reader, writer, guards, settled, pods)
        router = Services(reader, writer, guards, settled, workloads, pods)
        deployments = partial(scale_deployment, client)
        executor = Executor(reader, writer, guards, settled, Parts(router, workloads, pods, beside, deployments), us)
        adopted = partial(deployment_view, client)
        others = ForeignServices(client)
        sources = ObservationSources(reader, router, workloads, pods, beside, writer.anchors, adopted, others)
        return cls(client, sources, writer, executor, settled, jobs, us)

    def start(self) -> None:
        """Start to watch and to write Events; returns at once, see `Informers.wait`."""
        self.events.start()
        self.caches.start()

    def stop(self) -> None:
        """End all threads and connections; waiting Events get two seconds."""
        self.caches.stop()
        if self._jobs is not None:
            self._jobs.stop()
        self.events.stop()
        self.client.close()

    def demand_synced(self, seconds: float) -> None:
        """Wait until the caches are complete, at most so many seconds: until then, nothing may be decided. Raises what
        keeps them from that.

        A namespace that the server refuses to list, or fails to, holds up no other one: see `demand_known`.
        """
        if not self.caches.wait(seconds):
            late = Transient("the cluster did not list its objects in time")
            raise next(iter(self.caches.troubles()), late)

    @property
    def alive(self) -> bool:
        """Whether the watches run; False after a bug in one of them."""
        return self.caches.alive and (self._jobs is None or self._jobs.alive)

    def apps(self, namespace: str = "") -> list[AppKey]:
        """Return the apps whose BlueGreenDeployment is ours, sorted; those of one namespace, or of all."""
        return sorted(self.bgds(namespace))

    def bgds(self, namespace: str = "") -> dict[AppKey, AppState]:
        """Return the live BlueGreenDeployments that are ours, as `apps`."""
        states = (state for state in self._reader.apps() if namespace in ("", state.meta.namespace))
        found = {AppKey(state.meta.namespace, state.meta.name): state for state in states}
        return {app: state for app, state in found.items() if not app_owner_of(state, app, self._us)}

    def own_bgd(self, app: AppKey) -> AppState | None:
        """Return the live BlueGreenDeployment of an app, if it is ours."""
        state = self._reader.app(app)
        return state if state is not None and not app_owner_of(state, app, self._us) else None

    def groups(self, namespace: str) -> list[GroupKey]:
        """Return the live release groups of a namespace that follow what this agent follows; none where they cannot be
        listed: then no route counts as one of a group that left main, and stays.
        """
        try:
            return self.release_groups.live([namespace])
        except InternalError:
            raise
        except (Refused, Transient):
            return []

    def known_groups(self) -> list[GroupKey]:
        """Return the live release groups that follow what this agent follows, as far as they are watched."""
        ours = (each.meta for each in self.caches.groups() if Ownership(each.repository, each.cluster) == self._us)
        return [GroupKey(each.namespace, each.name) for each in ours]

    def uid_of(self, subject: AppOrGroup) -> str:
        """Return the uid of the live object of an app or a release group, as it was seen last; empty where there is
        none.
        """
        if isinstance(subject, GroupKey):
            return self.release_groups.uid_of(subject)
        state = self._reader.app(subject)
        return state.meta.uid if state is not None else ""

    def has_namespace(self, name: str) -> bool:
        """Return whether a namespace exists now, never cached."""
        return self.client.get(NAMESPACES, "", name) is not None

    def is_open(self, namespace: str) -> bool:
        """Return whether a namespace exists, and all that is in it is known."""
        return self.caches.unknown(namespace) is None and self.has_namespace(namespace)

    def demand_known(self, namespace: str) -> None:
        """Raise why nothing may be decided in a namespace: `NamespaceClosed` where the server refuses to list it."""
        error = self.caches.unknown(namespace)
        if isinstance(error, Forbidden):
            raise NamespaceClosed(str(error)) from error
        if error is not None:
            raise error

    def since(self, app: AppKey, condition: str) -> datetime | None:
        """Return since when a condition of the app has its status; None where that is unknown."""
        state = self._reader.app(app)
        return since(state, condition) if state else None

    def bgd(self, app: AppKey) -> AppState | None:
        """Return the live BlueGreenDeployment, whoever created it."""
        return self._reader.app(app)

    def service_ports(self, service: AppKey) -> frozenset[int]:
        """Return the numbers of the ports of a Service; none where there is no such Service."""
        state = self._reader.service(service.namespace, service.name)
        ports = reread_json(state.content)["spec"].get("ports") if state is not None else None
        return frozenset(each["port"] for each in ports or ())

    def seen(self, app: AppKey) -> Seen:
        """Return the live BlueGreenDeployment, its record and its version, all of one moment."""
        state = self._reader.app(app)
        if state is None:
            return Seen(None, Record(), "")
        status = self._last_status.of(state)
        return Seen(_manifest(app, state, status), record_in(status), state.meta.version, pull_in(status))

    def manifest(self, app: AppKey) -> Object | None:
        """Return the live BlueGreenDeployment as an object, for `spec.app.load.app_config_from_live`."""
        state = self._reader.app(app)
        return None if state is None else _manifest(app, state, state.status.read())

    def record(self, app: AppKey) -> Record:
        """Return the record of an app; the empty one where there is none yet."""
        return load(self._reader.app(app))

    def record_was_edited(self, app: AppKey) -> bool:
        """Return whether somebody edited the record of an app: then it has none, until the next save."""
        state = self._reader.app(app)
        return state is not None and state.edited

    def observe(self, app: AppKey, config: AppConfig | None, record: Record, now: datetime | None = None) -> Observed:
        """Return the live state of an app; Git's part stays empty. ``config`` None: the folder left main; ``now`` None:
        nobody asks why pods are late.
        """
        return observe(app, gather(self.sources, app, config, record, now), config, record, self._settled, self._us)

    def left_manifests(self, config: AppConfig) -> tuple[Problem, ...]:
        """Return a problem for each active Service that is live as a manifest said it which is in the folder no
        more.
        """
        app, workloads = config.app, self.sources.workloads
        return left_manifests(
            config, lambda name: self._reader.service(app.namespace, name), lambda: workloads.current(app).snapshots()
        )

    def secret(self, namespace: str, name: str) -> Mapping[str, bytes]:
        """Return the present data of a Secret, never cached. Raises `NotFound` where there is none."""
        found = self.client.get(SECRETS, namespace, name)
        if found is None:
            raise NotFound(f"{SECRETS.called(namespace, name)} does not exist in this cluster")
        return {key: base64.b64decode(data) for key, data in (found.get("data") or {}).items()}

    def carry_out(self, app: AppKey, config: AppConfig | None, action: ClusterAction) -> ActionResult:
        """Carry out one action of the decision saved last, see `Executor.carry_out`."""
        return self.executor.carry_out(app, config, action, self._decided.get(app, ""))

    def save(
        self,
        app: AppKey,
        decision: Decision,
        now: datetime,
        decided_on: str | None = None,
        may_report: Callable[[], bool] = lambda: True,
        may_wait: Callable[[timedelta], bool] = lambda _: False,
    ) -> bool:
        """Write the status for ``decision``, unless it is already so; return whether it was written.

        Saves nothing where there is no BlueGreenDeployment, because creating it is the first action of every app, nor
        in a foreign one. ``decided_on`` is the version that the decision's record was read from (None: the one known
        now). ``may_report`` is asked whether to write where only this process's own view is new
        (``core.status.alike``); ``may_wait``, whether to leave for later what may wait, and for how long at
        most (``status.patience``). Raises `WorldChanged` where somebody wrote to the object since: its record
        may have changed.
        """
        state = self._reader.app(app)
        if decided_on is not None and decided_on != (state.meta.version if state else ""):
            raise WorldChanged(f"{APPS.called(app.namespace, app.name)} is not what this was decided on")
        self._decided.pop(app, None)
        if state is None:
            if decision.record != Record():
                raise WorldChanged(f"{APPS.called(app.namespace, app.name)} is gone, and its record with it")
            return False
        self._decided[app] = state.meta.version
        live = self._last_status.of(state)
        status = status_of(state.meta.generation, live, decision, now)
        if app_owner_of(state, app, self._us) or self._kept.says(app, live, status):
            return False
        if differs_in_process_view_only(live, status) and not may_report():
            return False
        longest = patience(live, status)
        if longest and may_wait(longest):
            return False
        answer = self._writer.save_status(APPS, app.namespace, app.name, state.meta.version, status)
        self._decided[app] = answer["metadata"]["resourceVersion"]
        self._kept.came_back(app, status, answer.get("status") or {})
        return True

    def warn(self, subject: AppOrGroup, condition: Condition, now: datetime) -> bool:
        """Write one condition where no decision can be written; return whether it is new.

        It needs nothing of the record. Raises as `save`.
        """
        if isinstance(subject, GroupKey):
            return self.release_groups.warn(subject, condition, now)
        app, state = subject, self._reader.app(subject)
        if state is None or app_owner_of(state, app, self._us):
            return False
        before = state.status.read()
        status = with_condition(before, state.meta.generation, condition, now)
        if status["conditions"] == before.get("conditions"):
            return False
        lock = {"resourceVersion": state.meta.version}
        self._writer.patch_status(APPS, app.namespace, app.name, {"metadata": lock, "status": status})
        return True

    def claim(self, app: AppKey) -> bool:
        """Note a claim, once, on an app that follows another repository: the other agent shows it (``Conflict``)."""
        state = self._reader.app(app)
        if state is None or not self._us.repository or not state.repository:
            return False
        if Ownership(state.repository, state.cluster) == self._us or state.claimed_by == str(self._us):
            return False
        self._annotate(app, names.CLAIMED_BY, str(self._us))
        return True

    def measured(self, subject: AppOrGroup, record: RunRecord, now: datetime) -> tuple[MeasurementResult, ...]:
        """Return the results of the Jobs that the record waits for, see `Jobs.measured`."""
        return self._jobs.measured(subject, record, now) if self._jobs is not None else ()

    def measure(
        self, subject: AppOrGroup, record: RunRecord, measures: Sequence[MeasurementRequest], now: datetime
    ) -> None:
        """Start Jobs for the measurements of the provider ``job``, and end others, see `Jobs.take`."""
        if self._jobs is not None and (uid := self.uid_of(subject)):
            self._jobs.update(subject, uid, record, measures, now)

    @property
    def jobs_started(self) -> bool:
        """Whether every requested Job is started, see `Jobs.started`."""
        return self._jobs is None or self._jobs.started

    def record_event(
        self, subject: AppOrGroup, reason: str, message: str, now: datetime, *, warning: bool = False
    ) -> None:
        """Queue a Kubernetes Event about an app or a release group; never fails, never waits."""
        if uid := self.uid_of(subject):
            self.events.put(KubernetesEvent(subject, uid, reason, message, warning, now))

    def requests(self, app: AppKey) -> tuple[Request, ...]:
        """Return the requests of the app, oldest first, answered or not; none where it does not exist."""
        state = self._reader.app(app)
        return requests_of(state.request) if state is not None else ()

    def reconcile(self, app: AppKey, now: datetime, commit: str = "") -> str:
        """Ask the agent to look at main and at an app again, and whether main has a commit; return the request."""
        request = f"{now.isoformat()} {commit}".strip()
        self._annotate(app, names.RECONCILE, request)
        return request

    def recheck(self, app: AppKey, config: AppConfig | None) -> None:
        """Forget which foreign names were free: part of a resync."""
        self.caches.recheck(app, service_names(config, self._reader.app(app)).all())

    def _annotate(self, app: AppKey, annotation: str, text: str) -> None:
        if self._reader.app(app) is None:
            raise NotFound(f"{APPS.called(app.namespace, app.name)} does not exist in this cluster")
        body = {"metadata": {"annotations": {annotation: text}}}
        self._writer.merge_patch(APPS, app.namespace, app.name, body)


def _answered(body: Object) -> OperatorState:
    return load(app_state(body)).operator


def _manifest(app: AppKey, state: AppState, status: Object) -> Object:
    metadata = {"namespace": app.namespace, "name": app.name, "uid": state.meta.uid}
    head = {"apiVersion": APPS.api_version, "kind": APPS.name, "metadata": metadata}
    return {**head, "spec": reread_json(state.spec), "status": status}
