"""A cluster and a repository in memory, for the engine of groups: one action at a time, and it may die after any.

The record survives in `record` alone, as it does in the status of the live ReleaseGroup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from gitops_bg.core.delivery.ledger import publication
from gitops_bg.core.group_engine import LeftGroup, decide_group, decide_left
from gitops_bg.core.groups.inputs import (
    DesiredGroup,
    DesiredRoute,
    DesiredService,
    DesiredVersion,
    FormerGroup,
    GroupBranch,
    GroupSpec,
    LiveRoute,
    Member,
    MemberPolicing,
    ObservedGroup,
    StableService,
)
from gitops_bg.core.groups.model import GroupGateway, RouteMatch, VersionStage
from gitops_bg.core.groups.record import (
    AdoptObject,
    ApplyGroup,
    ApplyRoute,
    CommitActive,
    DeleteGroup,
    DeleteRoute,
    DeleteService,
    FollowMember,
    GroupAction,
    GroupDecision,
    GroupGitAction,
    GroupRecord,
    MemberState,
    member_state,
)
from gitops_bg.core.groups.world import GroupWorld, member_name
from gitops_bg.core.model.analysis import (
    AnalysisPhase,
    AnalysisStage,
    MeasurementPlan,
    MeasurementRequest,
    MeasurementResult,
)
from gitops_bg.core.model.auxiliary import Backend, Deny, HttpRoute, ParentRef, RivalRoute, as_stored
from gitops_bg.core.model.desired import LedgerMemory, Problem
from gitops_bg.core.model.drift import DriftLoop
from gitops_bg.core.model.hooks import Hook, HookCall, HookResponse
from gitops_bg.core.model.journal import NO_JOURNAL, Entry, Journal, PullRequest, Retried
from gitops_bg.core.model.main import MainRead
from gitops_bg.core.model.observed import GitView, OperatorCommand, Request
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.spec import Retry, Suspension
from gitops_bg.core.model.version import GroupKey, Source
from gitops_bg.repo.ledger.ledger_file import LedgerBatch, LedgerDocument, Position, state_of
from tests.core.groups import gateway
from tests.core.groups.notation import NOW

STORE = GroupKey("shop", "store")
GATEWAY = GroupGateway((ParentRef("public"),), deny=Deny(backend=Backend("deny", 80)))


def _is_lost(record: GroupRecord) -> bool:
    """Whether the ledger is asked what it knows."""
    return record.unrecalled or not record.state.versions


class Died(Exception):
    """The agent was killed."""


def version(content: str = "1", **services: str | None) -> DesiredVersion:
    """A version's folder: services with their paths, separated by spaces; None: only named."""
    made = {
        service: DesiredService(
            pods=paths is not None,
            routes=tuple(DesiredRoute(RouteMatch(path), 80) for path in (paths or "").split()),
        )
        for service, paths in services.items()
    }
    return DesiredVersion(content, made)


@dataclass
class World:
    """One group. `ill` are members that are not healthy, `gone` those that do not even answer."""

    versions: dict[str, DesiredVersion]
    key: GroupKey = STORE
    former: GroupRecord | None = None
    """The record of the group `STORE`, whose folder left main; None where there is none."""
    former_git: LedgerDocument = field(default_factory=LedgerDocument)
    """The file of that one in the ledger."""
    former_told: list[tuple[Event, str]] = field(default_factory=list)
    """What the ledger was told of that one since."""
    damaged: bool = False
    """Whether nobody can read that record."""
    formers_own: set[str] = field(default_factory=set)
    """The Services and HTTPRoutes that are still that one's."""
    others: dict[str, RivalRoute] = field(default_factory=dict)
    """HTTPRoutes of somebody else."""
    ages: dict[str, int] = field(default_factory=dict)
    """When each HTTPRoute came, by its name."""
    active: str = "v1"
    archive_size: int = 1
    gateway: GroupGateway | None = GATEWAY
    accepts: bool | None = True
    """What the Gateway says of every route; None: nothing, ever."""
    says: str = ""
    refusing: dict[ParentRef, str] = field(default_factory=dict)
    """The Gateways that take no route of the group, or no longer, each with what it says."""
    refuses: Callable[[HttpRoute], str] = field(default=lambda _: "")
    """What every Gateway says against a route; empty: nothing."""
    away: set[ParentRef] = field(default_factory=set)
    """The Gateways that are not there: nobody says anything for them."""
    lacks: set[str] = field(default_factory=set)
    """The Services that the Gateway does not find: it says so of a whole route, and serves its other rules."""
    now: datetime = NOW
    policing: dict[str, MemberPolicing] = field(default_factory=dict)
    """What policies ask about members."""
    suspend: Suspension | None = None
    removed: frozenset[str] = frozenset()
    """`removedServices` of group.yaml."""
    record: GroupRecord = field(default_factory=GroupRecord)
    there: bool = False
    uid: str = "uid"
    """That of the live ReleaseGroup."""
    routes: dict[str, HttpRoute] = field(default_factory=dict)
    services: dict[str, str] = field(default_factory=dict)
    ill: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    """The members that had pods when the record was lost: they have them still."""
    ports: dict[str, frozenset[int]] = field(default_factory=dict)
    """Those of the Services of members, where they are not just what Git says."""
    events: list[str] = field(default_factory=list)
    trail: list[dict[tuple[str, str], str]] = field(default_factory=list)
    """Who answered which request after every write."""
    problems: bool = False
    """Whether the folder was never valid."""
    broken: bool = False
    """Whether the folder has a mistake since, so that what it said before holds."""
    knows_routes: bool = True
    """Whether the cluster has the Gateway API."""
    foreign: set[str] = field(default_factory=set)
    """The names of HTTPRoutes and Services that are somebody else's."""
    unreadable: set[str] = field(default_factory=set)
    """The names of HTTPRoutes that somebody has made say what no agent writes."""
    contests: tuple[DriftLoop, ...] = ()
    """What was repaired of late."""
    mute: bool = False
    """Whether no Service selects what the Service of its member selects: somebody changed them all."""
    alerts: tuple[Hook, ...] = ()
    """Who is told of what happens."""
    calls: dict[str, HookResponse] = field(default_factory=dict)
    """What chats answered, by the ids of the calls."""
    hooks: tuple[Hook, ...] = ()
    """The webhooks of group.yaml."""
    answers_with: dict[str, int] = field(default_factory=dict)
    """The status that a hook answers with, by its name; none where it has not answered yet."""
    called: list[HookCall] = field(default_factory=list)
    """The calls of hooks that have an answer."""
    told: list[tuple[Event, str]] = field(default_factory=list)
    """The events of the ledger, each with its reason."""
    notices: list[tuple[str, str]] = field(default_factory=list)
    """What only Kubernetes is told."""
    before: MeasurementPlan | None = None
    """`prePromotionAnalysis`."""
    after_it: MeasurementPlan | None = None
    """`postPromotionAnalysis`."""
    finds: dict[AnalysisStage, AnalysisPhase] = field(default_factory=dict)
    """What every measurement of a stage finds; none where it has no answer yet."""
    asked: tuple[MeasurementRequest, ...] = ()
    """What the saved record has asked to be measured."""
    git: LedgerDocument = field(default_factory=LedgerDocument)
    """The file of the group in the ledger."""
    written: list[LedgerEntry] = field(default_factory=list)
    """What the ledger has taken, in its order."""
    takes_ledger: bool = True
    """Whether the ledger takes anything now."""
    reads_ledger: bool = True
    """Whether the agent has read the ledger."""
    takes_commits: bool = True
    """Whether main takes the agent's commits."""
    branch: str = ""
    """The branch that asks for v1, which main does not take from the agent."""
    pull: PullRequest | None = None
    """The pull request of that branch."""
    commits: list[CommitActive] = field(default_factory=list)
    templates: tuple[Problem, ...] = ()
    """What is wrong in analysis/."""
    main: MainRead = MainRead()  # noqa: RUF009 - frozen
    """Main as the agent has read it."""
    requests: list[Request] = field(default_factory=list)
    """What operators have asked for, answered or not."""

    retry: Retry | None = None
    """`retry` of group.yaml."""
    replaced: tuple[Retry, ...] = ()
    """Those that stood there before, since anybody has looked."""
    retried_by: str = "c" * 40
    """The commit that asked for it; empty where nobody can tell now."""

    @property
    def held(self) -> tuple[str, ...]:
        """The versions on hold, with what their folders say."""
        return tuple(each.digest for each in self.record.holds)

    def ask_for(self, verb: OperatorCommand, *, age: timedelta = timedelta(), **more: Any) -> None:
        """Somebody asks for something in the cluster."""
        self.requests.append(Request(f"r{len(self.requests)}", verb, "ada", self.now - age, **more))

    def observed(self) -> ObservedGroup:
        members = {
            member_name(service, name): self._member(service, name)
            for name, each in self.versions.items()
            for service, desired in each.services.items()
            if desired.pods
        }
        # A member whose folder left main is kept, and is no longer looked at.
        left = {member_name(each.service, each.initial_version) for each in self.record.state.endpoints}
        members |= {app: Member(available=app not in self.gone) for app in left - members.keys()}
        members = {app: replace(each, ports=self.ports.get(app, frozenset())) for app, each in members.items()}
        routes = {
            name: LiveRoute(
                self._said_by(name),
                self._accepted(name),
                self._against(name),
                self._foreign(name),
                self._unresolved(name),
                born=f"{self.ages.get(name, 0):06}",
                answered=self.accepts is not None and not self.away.issuperset(self.routes[name].parents),
            )
            for name in sorted(self.routes)  # as the API server lists them
        }
        services = {
            name: StableService("" if self.mute else member, self._foreign(name), member)
            for name, member in self.services.items()
        }
        trouble = "" if self.takes_commits else "main is protected"
        git = GitView(main_refused=trouble, pull=self.pull)
        if self.reads_ledger:
            at = self.git.position
            git = replace(git, ledger_is_known=True, ledger_epoch=at.epoch, ledger_sequence=at.sequence)
        formers = () if self.former is None else (self._former(self.former, services, routes),)
        routes = {name: each for name, each in routes.items() if name not in self.formers_own}
        services = {
            name: replace(each, foreign="it belongs to another release group") if name in self.formers_own else each
            for name, each in services.items()
        }
        return ObservedGroup(
            self.uid if self.there else "",
            "",
            members,
            services,
            routes,
            tuple(replace(each, name=name) for name, each in sorted(self.others.items())),
            formers,
            self.knows_routes,
            contests=self.contests,
            calls=tuple(self.calls.values()),
            measurements=tuple(self._measured()),
            branch=GroupBranch(self.branch, "b" * 40, "v1", is_own=True) if self.branch else None,
            git=git,
            memory=self._memory(self.former_git if self.record.succeeds else self.git, self.record),
            requests=tuple(self.requests),
        )

    def _memory(self, file: LedgerDocument, record: GroupRecord) -> LedgerMemory | None:
        """What the ledger knows, where it is asked, and the agent has read it."""
        return file.memory if self.reads_ledger and _is_lost(record) else None

    def _former(
        self, record: GroupRecord, services: dict[str, StableService], routes: dict[str, LiveRoute]
    ) -> FormerGroup:
        own_services, own_routes = (
            {name: each for name, each in found.items() if name in self.formers_own} for found in (services, routes)
        )
        known = (GroupRecord(), "state: is text") if self.damaged else (record, "")
        return FormerGroup(STORE.name, *known, own_services, own_routes)  # type: ignore[arg-type]

    def rename(self, name: str) -> None:
        """Somebody gives the folder another name in one commit."""
        self.key, self.former = GroupKey(STORE.namespace, name), self.record
        self.formers_own, self.record, self.there = {*self.routes, *self.services}, GroupRecord(), False
        self.former_git, self.git = self.git, LedgerDocument()

    def lose_record(self) -> None:
        """Somebody deletes the ReleaseGroup. What has pods keeps them."""
        runs = (MemberState.RUNNING, MemberState.CANDIDATE)
        self.kept = {app for app, state in self.member_states().items() if state in runs}
        self.record, self.there, self.uid = GroupRecord(), False, "another"

    def _measured(self) -> Iterator[MeasurementResult]:
        for each in self.asked:
            found = self.finds.get(each.id.stage)
            if found is not None:
                yield MeasurementResult(each.id, found, self.now, "7", "" if found.value == "Successful" else "7 > 5")

    def _said_by(self, route: str) -> HttpRoute | None:
        return None if route in self.unreadable else as_stored(self.routes[route])

    def _unresolved(self, route: str) -> str:
        led = (rule.to for rule in as_stored(self.routes[route]).rules)
        missing = sorted(to.service for to in led if isinstance(to, Backend) and to.service in self.lacks)
        return f"BackendNotFound: {missing[0]}" if missing and self.accepts else ""

    def _accepted(self, route: str) -> bool | None:
        parents = self.routes[route].parents
        if self.accepts and (self.refusing.keys() & set(parents) or self.refuses(self.routes[route])):
            return False
        return None if self.away.intersection(parents) else self.accepts

    def _against(self, route: str) -> str:
        refused = next((self.refusing[each] for each in self.routes[route].parents if each in self.refusing), "")
        return self.says if self.accepts is False else refused or self.refuses(self.routes[route])

    def _foreign(self, name: str) -> str:
        return "it is managed by Helm" if name in self.foreign else ""

    def _member(self, service: str, name: str) -> Member:
        app = member_name(service, name)
        runs = member_state(self.record, service, name) in (MemberState.RUNNING, MemberState.CANDIDATE)
        return Member(
            healthy=runs and app not in self.ill | self.gone,
            available=(runs or app in self.kept) and app not in self.gone,
            reason="pods are missing" if app in self.ill | self.gone else "",
        )

    def desired(self) -> DesiredGroup:
        """What the folder says, with what policies ask."""
        spec = GroupSpec(
            self.active,
            self.archive_size,
            self.gateway,
            removed_services=self.removed,
            suspend=self.suspend,
            retry=self.retry,
            pre_promotion_analysis=self.before,
            post_promotion_analysis=self.after_it,
            hooks=self.hooks,
        )
        versions = {} if self.problems else dict(self.versions)
        return DesiredGroup(
            None if self.problems else spec,
            versions,
            (Problem("group.yaml", "is wrong"),) if self.problems or self.broken else self.templates,
            "c" * 40,
            is_last_valid=self.broken,
            alerts=self.alerts,
            policing=self.policing,
            journal=self._journal(),
            main=self.main,
        )

    def _journal(self) -> Journal:
        """What main asked to be tried again since the record knows it."""
        if self.retry is None or self.retry.number <= self.record.operator.retry:
            return NO_JOURNAL
        asked = Source(self.retried_by, "ada")
        return Journal(tuple(Entry(asked, Retried(each)) for each in (*self.replaced, self.retry)))

    def decide(self) -> GroupDecision:
        return decide_group(self.key, self.desired(), self.observed(), self.record, self.now)

    def decided(self) -> GroupWorld:
        """The group as its engine sees it now, with the routes of its folders."""
        spec = GroupSpec(self.active, self.archive_size, self.gateway)
        return GroupWorld(
            self.key, spec, DesiredGroup(spec, dict(self.versions)), self.observed(), self.record, self.now
        )

    def step(self, most: int = 10_000) -> bool:
        """One pass that dies after so many writes; whether it wrote anything."""
        decision, writes = self.decide(), self._former_told()
        if decision.record != self.record and not decision.silent:
            told = [one.fact for one in decision.events if isinstance(one.fact, LedgerEntry)]
            self.record = decision.record
            self.events += [entry.event for entry in told]
            self.told += [(entry.event, entry.reason) for entry in told]
            self.notices += [(one.reason, one.message) for one in decision.events if one.fact is None]
            writes += 1
        writes += self._published()
        is_new, self.asked = decision.measurements != self.asked, decision.measurements
        for action in decision.actions:
            if writes >= most:
                raise Died
            self._carry_out(action)
            writes += 1
            self.trail.append(self.answers())
        return writes > 0 or is_new or self._answered(decision.calls) or self._committed(decision.git)

    def _former_told(self) -> int:
        """Have the ledger take what the former name tells of itself; whether there was anything."""
        if self.former is None or self.damaged or self.record.succeeds != STORE.name:
            return 0
        memory = self._memory(self.former_git, self.former)
        left = LeftGroup(STORE, successor=self.key.name, taken_over=True, memory=memory)
        told = decide_left(left, self.former, self.now).record
        if publication(told):
            self.former_told += [(each.event, each.reason) for each in told.ledger]
        is_new, self.former = told != self.former, replace(told, ledger=() if publication(told) else told.ledger)
        return int(is_new)

    def _published(self) -> int:
        """Have the ledger take what the saved record has for it; whether there was anything."""
        batch = LedgerBatch(self.record.epoch, self.record.ledger, state_of(self.record))
        if not publication(self.record) or not self.takes_ledger or self._has(batch):
            return 0
        self.git, fresh = self.git.taking(batch)
        self.written += fresh
        return 1

    def _has(self, batch: LedgerBatch) -> bool:
        return self.git.position == Position(batch.epoch, batch.entries[-1].sequence)

    def _answered(self, calls: tuple[HookCall, ...]) -> bool:
        """Whether a hook has answered a call that has no answer yet."""
        new = [each for each in calls if each.id not in self.calls and each.hook.name in self.answers_with]
        for call in new:
            status = self.answers_with[call.hook.name]
            self.calls[call.id] = HookResponse(call.id, status, self.now, f"{call.hook.name} said so")
        self.called += new
        return bool(new)

    def _committed(self, wanted: tuple[GroupGitAction, ...]) -> bool:
        """Whether main has taken a commit that names what serves: only where it still names what failed."""
        for commit in wanted:
            if isinstance(commit, CommitActive) and self.takes_commits and self.active == commit.named:
                self.active = commit.version
                self.commits.append(commit)
                return True
        return False

    def settle(self) -> GroupDecision:
        """Work until nothing is left to do at once."""
        for _ in range(50):
            if not self.step():
                return self.decide()
        raise AssertionError("the group never comes to rest")

    def stop_once(self, service: str, follows: str) -> World:
        """Die after every write, until a stable Service follows a member: requests are on the move then."""
        for _ in range(60):
            if self.services[service] == follows:
                return self
            with suppress(Died):
                self.step(1)
        raise AssertionError(f"Service {service} never follows {follows}")

    def settle_with_crashes(self, writes: int) -> GroupDecision:
        """Work, and die after every so many writes; each life goes on from what is live."""
        for _ in range(200):
            try:
                if not self.step(writes):
                    return self.decide()
            except Died:
                continue
        raise AssertionError("the group never comes to rest")

    def after(self, seconds: float) -> World:
        self.now += timedelta(seconds=seconds)
        return self

    def _carry_out(self, action: GroupAction) -> None:
        match action:
            case ApplyGroup():
                self.there = True
            case ApplyRoute(route):
                self.routes[route.name] = route
                self.ages.setdefault(route.name, len(self.trail) + 1)
            case DeleteRoute(name, owner):
                gone = self.others.pop(name) if owner else self.routes.pop(name)
                assert not isinstance(gone, RivalRoute) or (gone.owner, gone.former) == (owner, True)
                self.ages.pop(name, None)
            case FollowMember(service, member):
                self.services[service] = member
            case DeleteService(service):
                del self.services[service]
            case AdoptObject(_, name):
                self.formers_own.remove(name)
            case DeleteGroup():
                assert not self.formers_own, "it leaves nothing behind"
                self.former = None

    # --- what users see -----------------------------------------------------------------------------------------

    def ask(self, path: str, name: str = "") -> str:
        return gateway.answer(self.served(), gateway.Request(path, {"X-Version": name} if name else {}), self.ages)

    def served(self) -> Iterator[HttpRoute]:
        """The routes that the Gateway of the users has, ``public``, whatever it says of them."""
        public = ParentRef("public")
        has = public not in self.away and public not in self.refusing
        own = (each for each in self.routes.values() if has and public in each.parents)
        return (each for each in own if not self.refuses(each))

    def answers(self) -> dict[tuple[str, str], str]:
        services = [one for each in self.versions.values() for one in each.services.values()]
        paths = {route.match.path for one in services for route in one.routes}
        return {(path, name): self.ask(path, name) for path in sorted(paths) for name in ("", *self.versions)}

    @property
    def stages(self) -> str:
        letters = {VersionStage.ACTIVE: "A", VersionStage.CANDIDATE: "C", VersionStage.LEGACY: "L"}
        return " ".join(f"{each.name}{letters.get(each.stage, 'R')}" for each in self.record.state.versions)

    def member_states(self) -> Mapping[str, MemberState]:
        return {
            member_name(service, name): member_state(self.record, service, name)
            for name, each in self.versions.items()
            for service, desired in each.services.items()
            if desired.pods
        }


def store(**changes: object) -> World:
    """Two versions of cart, and auth of the first one only."""
    first, second = version(cart="/cart /old", auth="/auth"), version(cart="/cart /new")
    return replace(World({"v1": first, "v2": second}), **changes)  # type: ignore[arg-type]
