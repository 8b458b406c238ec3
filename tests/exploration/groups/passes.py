"""What one agent sees of a group, what the engine answers (each question is asked once), and what a write changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import datetime, timedelta
from functools import cache, lru_cache
from typing import Any, NamedTuple
from unittest import mock

from gitops_bg.core import group_engine as engine
from gitops_bg.core.groups import record as act
from gitops_bg.core.groups.inputs import (
    DesiredGroup,
    DesiredVersion,
    GroupSpec,
    LiveRoute,
    Member,
    MemberPolicing,
    ObservedGroup,
    StableService,
)
from gitops_bg.core.groups.record import GroupRecord, MemberState, member_state
from gitops_bg.core.groups.world import GroupWorld, member_name
from gitops_bg.core.model.analysis import AnalysisPhase, MeasurementResult
from gitops_bg.core.model.auxiliary import Backend, HttpMatch, HttpRoute, HttpRule, RivalRoute, as_stored, claim_of
from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.model.desired import LedgerMemory, Problem
from gitops_bg.core.model.hooks import HookCall, HookResponse, HookRun, HookType
from gitops_bg.core.model.journal import Entry, Journal, Retried
from gitops_bg.core.model.main import Knowledge, MainRead
from gitops_bg.core.model.main import Main as MainAt
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.model.policy_facts import PolicyInput, VersionFacts
from gitops_bg.core.model.policy_rules import DateSpan, Policy, Windows
from gitops_bg.core.model.spec import Retry, Suspension
from gitops_bg.core.model.version import Source
from gitops_bg.core.status.groups import conditions_of
from gitops_bg.repo.ledger.ledger_file import LedgerDocument, SubjectState
from tests.core.groups.simulation import GATEWAY, STORE, version
from tests.exploration.groups.world import APP, OTHERS, Agent, Cluster, Commit, Main, Pools, Routes
from tests.exploration.moments import LONG_AGO, NOW, mapped
from tests.exploration.world import Pool

RUNS = (MemberState.RUNNING, MemberState.CANDIDATE)
FOLDERS: dict[str, dict[str, str | None]] = {
    "v1": {"cart": "/cart", "auth": "/auth"},
    "v2": {"cart": "/cart /new", "auth": "/auth"},
    "v3": {"cart": "/cart", "mail": ""},
}
"""What each version brings: two services, and one that leaves the other to the version before, and that has one which
only its neighbours reach.
"""
MEMBERS = tuple(member_name(service, name) for name, services in FOLDERS.items() for service in services)


@lru_cache
def folder(name: str, content: int) -> DesiredVersion:
    return version(str(content), **FOLDERS[name])


class Outcome(NamedTuple):
    """What the engine answered."""

    record: int
    actions: tuple[act.GroupAction, ...]
    wake: float | None
    git: tuple[act.GroupGitAction, ...] = ()
    measures: tuple[Any, ...] = ()
    calls: tuple[Any, ...] = ()
    look_again: bool = False
    """It knows an older main than the record: it is to read the remote first."""
    broken: str = ""


class Said(NamedTuple):
    """What came back from outside since the last pass: the verdict of every measurement, and what hooks found."""

    verdict: str = ""
    hooks: str = ""
    """``Successful``: those that lead forward accept, and those that lead back refuse. ``Failed``: the reverse."""


NOTHING = Said()
ASKED = Source("a" * 40, "ada", LONG_AGO)
"""The commits that ask for retries: which one says nothing about what is to be done."""


@lru_cache(maxsize=100_000)
def retries(main: Main) -> tuple[Retry, ...]:
    """The retries that main has asked for, oldest first."""
    return tuple(dict.fromkeys(each.retry for each in main if each.retry is not None))


def without_conditions(_: GroupWorld) -> tuple[Condition, ...]:
    """None: they are only for people (`Passes.told`)."""
    return ()


class Passes:
    """The engine over one group, with the memory of what it was asked.

    Worlds that are explored one after the other share it: equal parts have equal numbers in all of them.
    ``compares``: agents of different knowledge are told apart by the main that the record names.
    """

    def __init__(self, pools: Pools, spec: GroupSpec, *, compares: bool) -> None:
        self.pools, self.spec, self.compares = pools, spec, compares
        self._answers: dict[tuple[object, ...], Outcome] = {}
        self._desired: dict[Commit, DesiredGroup] = {}
        self._views: Pool[tuple[object, ...]] = Pool()
        self._view_of: dict[int, int] = {}
        self._later: dict[tuple[int, float], int] = {}
        self.gone_back: dict[tuple[Commit, int, int], int] = {}
        """Where each way back that was tried has ended, by each of its states: the record."""

    @property
    def asked(self) -> int:
        """How often the engine was asked."""
        return len(self._answers)

    def outcome(self, agent: Agent, cluster: int, record: int, said: Said = NOTHING, pods: int = -1) -> Outcome:
        """What the engine says where the agent sees this; ``pods``: the cluster whose pods its cache still shows."""
        line = self.pools.main[agent.main]
        head, main, asked_again = line[-1]._replace(by_agent=False), self._read(agent, record), retries(line)
        asked = (agent.measures, agent.calls) if said is not NOTHING else ()
        up = self.pools.cluster[pods].up if pods >= 0 else None
        git = (agent.ledger, self._memory(agent, self.pools.record[record]), agent.refused, agent.branch)
        key = (head, main, asked_again, git, self._view(cluster), record, said, asked, up)
        known = self._answers.get(key)
        if known is None:
            known = self._answers[key] = self._decide(agent, cluster, record, said, pods)
        return known

    def _view(self, cluster: int) -> int:
        """What an agent sees of a cluster: equal for clusters that look alike."""
        known = self._view_of.get(cluster)
        if known is None:
            live = self.pools.cluster[cluster]
            said = tuple(_said_of(live, route) for route in live.routes)
            parts = (live.exists, live.life, live.up, live.services, live.routes, said, live.requests)
            parts = (*parts, live.knows_routes, live.policy)
            known = self._view_of[cluster] = self._views.number(parts)
        return known

    def _decide(self, agent: Agent, cluster: int, record: int, said: Said, pods: int) -> Outcome:
        before = self.pools.record[record]
        try:
            answer = self.decision(agent, cluster, record, said, pods)
        except Exception as error:  # every exception is a finding
            return Outcome(record, (), None, broken=f"{type(error).__name__}: {error}")
        wake = (answer.wake_at - NOW) / timedelta(seconds=1) if answer.wake_at else None
        is_saved = answer.record != before and not answer.silent
        after = self.pools.record.number(canonical(answer.record)) if is_saved else record
        again = answer.look_again
        return Outcome(after, answer.actions, wake, answer.git, answer.measurements, answer.calls, again)

    def decision(
        self, agent: Agent, cluster: int, record: int, said: Said = NOTHING, pods: int = -1
    ) -> act.GroupDecision:
        """The whole answer."""
        head, live = self.pools.main[agent.main][-1], self.pools.cluster[cluster]
        known = self.pools.record[record].operator.retry
        asked = retries(self.pools.main[agent.main])
        desired = replace(self.desired(head), main=self._read(agent, record), policing=policing(head, live))
        new = tuple(Entry(ASKED, Retried(each)) for each in asked if each.number > known)
        desired = replace(desired, journal=Journal(new))
        observed = self._observed(agent, live, self.pools.record[record], said, pods)
        if len(observed.routes) < len(live.routes):
            observed = replace(observed, rivals=tuple(rivals(live, head)))
        return engine.decide_group(STORE, desired, observed, self.pools.record[record], NOW)

    def told(self, agent: Agent, cluster: int, record: int) -> act.GroupDecision:
        """The whole answer, also what is for people."""
        with mock.patch.object(engine, "conditions_of", conditions_of):
            return self.decision(agent, cluster, record)

    def later(self, record: int, seconds: float) -> int:
        """A record after some time."""
        known = self._later.get((record, seconds))
        if known is None:
            moved = moved_back(self.pools.record[record], seconds)
            known = self._later[record, seconds] = self.pools.record.number(moved)
        return known

    def _read(self, agent: Agent, record: int) -> MainRead:
        """Main as an agent has read it: each commit contains those before it, and none is lost."""
        if not self.compares:
            return MainRead()
        main, known = self.pools.main[agent.main], self.pools.record[record].main
        is_older = bool(known.commit) and int(known.commit) > len(main)
        knowledge = Knowledge.OLDER if is_older else Knowledge.NEWER
        return MainRead(MainAt(str(len(main)), 0, str(main[-1])), knowledge)

    def desired(self, head: Commit) -> DesiredGroup:
        """What main says of the group."""
        known = self._desired.get(head)
        if known is None:
            suspend = Suspension("a holiday") if head.suspended else None
            spec = replace(self.spec, active=head.active, suspend=suspend, retry=head.retry)
            problems = (Problem("group.yaml", 1, "is no YAML"),) if head.broken else ()
            versions = {name: folder(name, content) for name, content in head.folders}
            known = self._desired[head] = DesiredGroup(spec, versions, problems, is_last_valid=head.broken)
        return known

    def _observed(self, agent: Agent, cluster: Cluster, record: GroupRecord, said: Said, pods: int) -> ObservedGroup:
        up = self.pools.cluster[pods].up if pods >= 0 else cluster.up
        answers = [HookResponse(call.id, _status(call, said), NOW, "said so") for call in agent.calls if said.hooks]
        asked = agent.measures if said.verdict else ()
        git = GitView(main_refused="main is protected" if agent.refused else "")
        if agent.ledger is not None:
            epoch, sequence = agent.ledger
            git = replace(git, ledger_is_known=True, ledger_epoch=epoch, ledger_sequence=sequence)
        return ObservedGroup(
            uid=f"{cluster.life:08}" if cluster.exists else "",
            members=members(up, record),
            services={service: StableService(name, label=name) for service, name in cluster.services},
            routes={
                route.name: live_route(cluster, route) for route in sorted(cluster.routes, key=_name) if is_own(route)
            },
            has_gateway_api=cluster.knows_routes,
            calls=tuple(answers),
            measurements=tuple(MeasurementResult(one.id, AnalysisPhase(said.verdict), NOW) for one in asked),
            branch=agent.branch,
            git=git,
            memory=self._memory(agent, record),
            requests=cluster.requests,
        )

    @staticmethod
    def _memory(agent: Agent, record: GroupRecord) -> LedgerMemory | None:
        """What the ledger knows, where the record is lost, and the ledger has all that the agent has for it."""
        is_lost = record.unrecalled or not record.state.versions
        return agent.memory if is_lost and agent.batch is None else None


def _status(call: HookCall, said: Said) -> int:
    is_well = said.hooks == AnalysisPhase.SUCCESSFUL
    return 200 if is_well is (call.hook.type is not HookType.ROLLBACK) else 403


def _name(route: HttpRoute) -> str:
    return route.name


@lru_cache(maxsize=100_000)
def _stored(route: HttpRoute) -> HttpRoute:
    return as_stored(route)


def live_route(cluster: Cluster, route: HttpRoute) -> LiveRoute:
    """A route with what its Gateway says of it."""
    accepted, answered = _said_of(cluster, route)
    return LiveRoute(
        _stored(route),
        accepted,
        "the certificate has expired" if accepted is False else "",
        born=f"{cluster.routes.index(route):06}",
        answered=answered,
    )


def _said_of(cluster: Cluster, route: HttpRoute) -> tuple[bool | None, bool]:
    """Whether the Gateway has taken a route, and whether it has ever said anything of it."""
    is_taken = route in cluster.taken
    accepted = {"silent": None, "refuses": is_taken, "late": is_taken or None}.get(cluster.gateway, True)
    return accepted, cluster.gateway != "silent"


def is_own(route: HttpRoute) -> bool:
    """Whether a route is the group's."""
    return route.name not in OTHERS


@cache
def route_of(owner: str, *paths: str) -> HttpRoute:
    """The HTTPRoute of somebody else, for requests that the group answers as well."""
    return HttpRoute(owner, (), GATEWAY.parents, (HttpRule(tuple(map(HttpMatch, paths)), Backend(owner, 80)),))


def rivals(cluster: Cluster, head: Commit) -> Iterator[RivalRoute]:
    """The routes of others; the app's owner left main where an agent has read that its folder is gone."""
    for age, route in enumerate(cluster.routes):
        if not is_own(route):
            taken, answered = _said_of(cluster, route)
            former = route.name == APP and not head.has_app
            born = f"{age:06}"
            yield RivalRoute(
                route.name, f"the {route.name}", claim_of(route), born, True, answered, taken, former=former
            )


OPENS = timedelta(minutes=5)
"""In how much time a policy that says ``later`` says yes."""


@cache
def policing_of(policy: str) -> MemberPolicing:
    """What a policy says of a member that moves: never, or not yet."""
    end = (NOW + OPENS).replace(tzinfo=None) if policy == "later" else None
    freeze = Windows(deny=(DateSpan(LONG_AGO.replace(tzinfo=None), end, "a freeze"),))
    promotion = Source("c" * 40, "ada", LONG_AGO)
    return MemberPolicing(PolicyInput((Policy("p", (freeze,)),)), promotion, VersionFacts("v1:new"))


def policing(head: Commit, cluster: Cluster) -> dict[str, MemberPolicing]:
    """What policies ask about each member of the version that main names."""
    brought = FOLDERS[head.active] if cluster.policy else {}
    return {member_name(service, head.active): policing_of(cluster.policy) for service in brought}


def runs(record: GroupRecord, name: str) -> bool:
    """Whether the record says that a member runs."""
    service, _, initial = name.rpartition("-")
    return member_state(record, service, initial) in RUNS


def running(record: GroupRecord, up: frozenset[str]) -> frozenset[str]:
    """The members that run, where these have pods: a record that knows no version yet stops nobody, and starts nobody
    (`GroupReconciler.member_state`).
    """
    return frozenset(name for name in MEMBERS if runs(record, name)) if record.state.versions else up


def members(up: frozenset[str], record: GroupRecord) -> dict[str, Member]:
    """The members as their agents show them."""
    run = running(record, up)
    return {name: _UP[name in run] if name in up else _DOWN for name in MEMBERS}


_DOWN = Member(reason="has no available pod")
_UP = {runs: Member(runs, available=True, ports=frozenset({80})) for runs in (False, True)}


# --- what a write changes -----------------------------------------------------------------------------------


def carry_out(action: act.GroupAction, cluster: Cluster) -> Cluster | None:
    """The cluster after one write; None where the adapter finds the world changed."""
    match action:
        case act.ApplyRoute(_, moves) if any(leaves & cluster.up and not to & cluster.up for leaves, to in moves):
            return None
        case act.FollowMember(_, to, before) if before in cluster.up and to not in cluster.up:
            return None
        case act.ApplyGroup():
            return cluster if cluster.exists else cluster._replace(exists=True, life=cluster.life + 1)
        case act.ApplyRoute(route):
            return served(_with_route(cluster, route))
        case act.DeleteRoute(name, owner):
            assert bool(owner) is (name in OTHERS), f"{name} is somebody else's"
            left = Routes(one for one in cluster.routes if one.name != name)
            return served(cluster._replace(routes=left))
        case act.FollowMember(service, to):
            others = [one for one in cluster.services if one[0] != service]
            return cluster._replace(services=tuple(sorted([*others, (service, to)])))
        case act.DeleteService(service):
            return cluster._replace(services=tuple(one for one in cluster.services if one[0] != service))
    raise AssertionError(f"nothing here answers {action}")


def _with_route(cluster: Cluster, route: HttpRoute) -> Cluster:
    if all(one.name != route.name for one in cluster.routes):
        return cluster._replace(routes=Routes((*cluster.routes, route)))
    return cluster._replace(routes=Routes(route if one.name == route.name else one for one in cluster.routes))


def served(cluster: Cluster) -> Cluster:
    """The cluster once its Gateway has followed as far as it does by itself.

    What a Gateway refuses, it serves as it was before.
    """
    if cluster.gateway == "late":
        return cluster
    if cluster.gateway == "refuses":
        names = {one.name for one in cluster.routes}
        return cluster._replace(taken=Routes(one for one in cluster.taken if one.name in names))
    return cluster._replace(taken=cluster.routes)


# --- times --------------------------------------------------------------------------------------------------


def moved_back(record: GroupRecord, seconds: float) -> GroupRecord:
    """The record as it is so many seconds later, seen from then."""
    delta = timedelta(seconds=seconds)
    moved = {name: mapped(value, lambda moment: moment - delta) for name, value in _timed(record)}
    return canonical(replace(record, **moved))


def canonical(record: GroupRecord) -> GroupRecord:
    """Equal for records that no decision tells apart: without what is for people, and of what is long ago the order."""
    record = replace(
        record,
        ledger=tuple(replace(one, at=LONG_AGO, reason="", commit="") for one in record.ledger),
        moves=tuple(replace(one, at=LONG_AGO, commit="", reason="") for one in record.moves[-1:]),
        analyses=replace(record.analyses, past=()),
        hook_state=replace(record.hook_state, runs=tuple(map(_without_counts, record.hook_state.runs))),
        state=replace(record.state, versions=tuple(replace(one, changed_at=LONG_AGO) for one in record.state.versions)),
    )
    old: set[datetime] = set()
    timed = tuple(_timed(record))
    mapped(timed, lambda moment: old.add(moment) or moment if moment < LONG_AGO else moment)  # type: ignore[func-returns-value]
    if not old:
        return record
    ranks = {moment: LONG_AGO - timedelta(seconds=rank) for rank, moment in enumerate(sorted(old, reverse=True), 1)}
    ranked = {name: mapped(value, lambda moment: ranks.get(moment, moment)) for name, value in timed}
    return replace(record, **ranked)


TIMELESS = ("state", "ledger", "moves")
"""What has the same times in every canonical record."""
_TIMED = tuple(one.name for one in fields(GroupRecord) if one.name not in TIMELESS)


def _timed(record: GroupRecord) -> Iterator[tuple[str, Any]]:
    """The fields that may hold times, and do hold something."""
    for name in _TIMED:
        value = getattr(record, name)
        if value and not isinstance(value, str | int):
            yield name, value


def as_decided_from(ledger: LedgerDocument) -> LedgerDocument:
    """A file of the ledger without what no decision on a group reads."""
    state = ledger.state
    statements = tuple(replace(one, at=LONG_AGO, sequence=0) for one in state.statements)
    kept = SubjectState(active=state.active, legacy=state.legacy, served=state.served[-2:], statements=statements)
    return LedgerDocument(kept, ledger.position)


def _without_counts(run: HookRun) -> HookRun:
    """A run without what is only counted, where no number of refusals ends it."""
    return run if run.type.counts_refusals else replace(run, refused=min(run.refused, 1), accepted=min(run.accepted, 1))
