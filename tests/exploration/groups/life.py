"""What can happen to an explored release group: each event takes a state and gives the next, or None.

People act on main, agents only on what they have read of it. A broken promise is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from gitops_bg.core.delivery.ledger import publication
from gitops_bg.core.groups.inputs import GroupBranch, GroupSpec
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.record import CommitActive, GroupAction, GroupGitAction, GroupRecord
from gitops_bg.core.groups.requests import aborting
from gitops_bg.core.model.auxiliary import HttpRoute
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.spec import Retry
from gitops_bg.repo.ledger.ledger_file import LedgerBatch, state_of
from tests.core.groups.simulation import GATEWAY
from tests.exploration.groups import promises
from tests.exploration.groups.passes import (
    FOLDERS,
    NOTHING,
    OPENS,
    Outcome,
    Passes,
    Said,
    as_decided_from,
    carry_out,
    is_own,
    route_of,
    running,
    served,
)
from tests.exploration.groups.world import (
    APP,
    STRANGER,
    Agent,
    Books,
    Cluster,
    Commit,
    Git,
    Main,
    Pools,
    Routes,
    content_of,
)
from tests.exploration.moments import NOW
from tests.exploration.rest import Resting
from tests.exploration.seed import Event, Memory
from tests.exploration.world import State, Violation

ACTIVE, LEGACY = VersionStage.ACTIVE, VersionStage.LEGACY
GATEWAYS = ("takes", "late", "refuses", "silent")
GOOD, BAD = "Successful", "Failed"
MOST_REQUESTS = 2
"""How often somebody asks in the cluster, and how often for a retry."""


class Rules(NamedTuple):
    """What one seed explores."""

    spec: GroupSpec = GroupSpec("v1", gateway=GATEWAY)
    versions: tuple[str, ...] = ("v1", "v2")
    """Those that people push and name."""
    kinds: frozenset[str] = frozenset()
    """The kinds of events that may happen."""
    second: bool = False
    """Two agents by mistake."""


class Life(Resting[State]):
    """The transitions of one seed, with what they remember."""

    def __init__(self, rules: Rules, memory: Memory) -> None:
        super().__init__()
        about = (rules.spec, rules.second)
        if about not in memory:
            memory[about] = Passes(Pools(), rules.spec, compares=rules.second)
        self.rules, self.passes = rules, memory[about]
        self.pools, self._asked_before = self.passes.pools, self.passes.asked

    @property
    def asked(self) -> int:
        return self.passes.asked - self._asked_before

    # --- parts ----------------------------------------------------------------------------------------------

    def empty(self) -> State:
        """Main with the first version; nothing in the cluster."""
        main = self.pools.main.number((Commit(folders=(("v1", 1),)),))
        agent = self.pools.agent.number(Agent(main=main))
        return State(
            git=self.pools.git.number(Git(main)),
            cluster=self.pools.cluster.number(Cluster()),
            record=self.pools.record.number(GroupRecord()),
            a=agent,
            b=agent if self.rules.second else -1,
            books=self.pools.books.number(Books()),
            old=-1,
        )

    def git(self, state: State) -> Git:
        return self.pools.git[state.git]

    def main(self, state: State) -> Main:
        return self.pools.main[self.git(state).main]

    def head(self, state: State) -> Commit:
        return self.main(state)[-1]

    def cluster(self, state: State) -> Cluster:
        return self.pools.cluster[state.cluster]

    def record(self, state: State) -> GroupRecord:
        return self.pools.record[state.record]

    def agent(self, state: State, who: str) -> Agent:
        return self.pools.agent[state.a if who == "a" else state.b]

    def with_git(self, state: State, **changes: object) -> State:
        return state._replace(git=self.pools.git.number(self.git(state)._replace(**changes)))

    def with_cluster(self, state: State, cluster: Cluster) -> State:
        number = self.pools.cluster.number(cluster)
        lags = "stale" in self.rules.kinds and self.cluster(state).up != cluster.up
        return state._replace(cluster=number, old=state.cluster if lags else state.old)

    def with_agent(self, state: State, who: str, agent: Agent) -> State:
        number = self.pools.agent.number(agent)
        return state._replace(a=number) if who == "a" else state._replace(b=number)

    # --- what people do to main -----------------------------------------------------------------------------

    def commit(self, state: State, **changes: object) -> State:
        """One more commit of main."""
        head = self.head(state)._replace(**{"by_agent": False, **changes})
        return self.with_git(state, main=self.pools.main.number((*self.main(state), head)))

    def name(self, state: State, version: str) -> State | None:
        """Somebody merges another ``active:`` of ``group.yaml``: a promotion, or a way back."""
        head = self.head(state)
        is_possible = version in head.names and version != head.active and not head.broken
        return self.commit(state, active=version) if is_possible else None

    def add(self, state: State, version: str) -> State | None:
        """Somebody pushes the folder of a new version."""
        head = self.head(state)
        is_possible = version not in head.names and not head.broken
        return self.commit(state, folders=tuple(sorted((*head.folders, (version, 1))))) if is_possible else None

    def fix(self, state: State, version: str) -> State | None:
        """Somebody changes the folder of a version."""
        folders = dict(self.head(state).folders)
        if folders.get(version) != 1 or self.head(state).broken:
            return None
        return self.commit(state, folders=tuple(sorted({**folders, version: 2}.items())))

    def remove(self, state: State, version: str) -> State | None:
        """Somebody deletes the folder of a version that ``group.yaml`` does not name."""
        head = self.head(state)
        if version not in head.names or version == head.active or head.broken:
            return None
        return self.commit(state, folders=tuple(one for one in head.folders if one[0] != version))

    def suspend(self, state: State) -> State | None:
        head = self.head(state)
        return None if head.broken else self.commit(state, suspended=not head.suspended)

    def break_group(self, state: State) -> State:
        """Somebody pushes a ``group.yaml`` that is no YAML, or mends it."""
        return self.commit(state, broken=not self.head(state).broken)

    def protect(self, state: State) -> State:
        """Main refuses the agent's pushes, or takes them again."""
        return self.with_git(state, protected=not self.git(state).protected)

    def retry(self, state: State) -> State | None:
        """Somebody has what main names tried again, as they see the record now."""
        head, record = self.head(state), self.record(state)
        number = head.retry.number + 1 if head.retry else 1
        if number > MOST_REQUESTS or head.broken or head.active not in head.names:
            return None
        return self.commit(state, retry=Retry(content_of(head, head.active), number, after=record.sequence))

    # --- what operators ask for in the cluster ---

    def ask(self, state: State, verb: str) -> State | None:
        """Somebody stops what is on its way, and what has not proven itself; or opens or closes the manual gate."""
        cluster, planned = self.cluster(state), aborting(self.record(state), self.head(state).active)
        is_abort = verb == OperatorCommand.ABORT
        if not cluster.exists or cluster.asked == MOST_REQUESTS or (is_abort and not planned):
            return None
        request = Request(
            f"r{cluster.asked}", OperatorCommand(verb), "ada", NOW, gate="" if is_abort else promises.GATE
        )
        request = replace(request, about=planned.stops, live=planned.live) if is_abort else request
        asked = cluster._replace(requests=(*cluster.requests, request), asked=cluster.asked + 1)
        return self.with_cluster(state, asked)

    def merge(self, state: State) -> State | None:
        """Somebody merges the branch with the commit that main refused."""
        branch, head = self.git(state).branch, self.head(state)
        if branch is None or self._is_outdated(state) or branch.version not in head.names or head.broken:
            return None
        return self.commit(self.with_git(state, branch=None, base=()), active=branch.version)

    def _branch(self, state: State) -> GroupBranch | None:
        """The branch as it is read: main has it, or it asks for a version; nobody can merge it where main has changed
        ``group.yaml`` since it was made.
        """
        git, file = self.git(state), self.head(state).file
        if git.branch is None:
            return None
        asks = git.branch.version
        if (asks, *git.base[1:]) == file:
            return GroupBranch("gitops-bg/store", asks, is_merged=True)
        return GroupBranch("gitops-bg/store", asks, asks, is_own=True, is_outdated=git.base != file)

    def _is_outdated(self, state: State) -> bool:
        branch = self._branch(state)
        return branch is not None and branch.is_outdated

    # --- the cluster ----------------------------------------------------------------------------------------

    def pods(self, state: State, name: str, up: bool) -> State | None:
        """The pods of a member fail, or come up again."""
        cluster = self.cluster(state)
        if (name in cluster.failing) is not up:
            return None
        failing = cluster.failing - {name} if up else cluster.failing | {name}
        is_up = up and name in running(self.record(state), cluster.up | {name})
        alive = cluster.up | {name} if is_up else cluster.up - {name}
        return self.with_cluster(state, cluster._replace(failing=failing, up=alive))

    def gateway(self, state: State, mode: str) -> State | None:
        """The Gateway behaves in another way from now on."""
        cluster = self.cluster(state)
        if cluster.gateway == mode:
            return None
        return self._moved(state, served(cluster._replace(gateway=mode)))

    def catch_up(self, state: State) -> State | None:
        """A Gateway that is late takes what is written."""
        cluster = self.cluster(state)
        if cluster.gateway != "late" or cluster.taken == cluster.routes:
            return None
        return self._moved(state, cluster._replace(taken=cluster.routes))

    def _moved(self, state: State, cluster: Cluster) -> State:
        """The Gateway serves other routes by now."""
        promises.followed(self.cluster(state), cluster)
        return self.with_cluster(state, cluster)

    def come_up(self, state: State) -> State | None:
        """The pods of all members that run and do not fail are there."""
        cluster = self.cluster(state)
        up = running(self.record(state), cluster.up) - cluster.failing
        return None if up == cluster.up else self.with_cluster(state, cluster._replace(up=up))

    def follow(self, state: State, service: str, member: str) -> State | None:
        """Somebody points a stable Service elsewhere."""
        cluster = self.cluster(state)
        if dict(cluster.services).get(service, member) == member:
            return None
        others = [one for one in cluster.services if one[0] != service]
        return self.with_cluster(state, cluster._replace(services=tuple(sorted([*others, (service, member)]))))

    def lose_record(self, state: State) -> State | None:
        """Somebody deletes the ReleaseGroup, and so the record."""
        cluster = self.cluster(state)
        if not cluster.exists:
            return None
        state = state._replace(record=self.pools.record.number(GroupRecord()))
        return self.with_cluster(state, cluster._replace(exists=False, requests=()))

    def lose_cluster(self, state: State) -> State | None:
        """The whole cluster is lost."""
        cluster = self.cluster(state)
        if not cluster.exists:
            return None
        state = state._replace(record=self.pools.record.number(GroupRecord()))
        return self.with_cluster(state, Cluster(life=cluster.life))

    def later(self, state: State) -> State | None:
        """Time passes until the engine wants to be woken."""
        if self.agent(state, "a").main < 0:
            return None
        wake = self._outcome(state, "a").wake
        return None if wake is None else self._after(state, wake)

    def _after(self, state: State, seconds: float) -> State:
        cluster = self.cluster(state)
        if cluster.policy == "later" and seconds >= OPENS.total_seconds():
            state = self.with_cluster(state, cluster._replace(policy=""))
        return state._replace(record=self.passes.later(state.record, seconds))

    # --- others with routes for the same requests, and what the cluster lacks --------------------------------

    def claim(self, state: State, path: str) -> State | None:
        """Somebody nobody knows makes an HTTPRoute for requests of the group, or deletes it."""
        cluster = self.cluster(state)
        return self._with_route_of(state, route_of(STRANGER, path)) if cluster.knows_routes else None

    def app(self, state: State) -> State:
        """The folder of the app whose requests the group is to have leaves main, or comes back."""
        return self.commit(state, has_app=not self.head(state).has_app)

    def app_acts(self, state: State) -> State | None:
        """The app has its HTTPRoute, as long as main has its folder; it keeps that once the folder has left."""
        cluster = self.cluster(state)
        has = any(each.name == APP for each in cluster.routes)
        if not self.head(state).has_app or has or not cluster.knows_routes:
            return None
        return self._with_route_of(state, route_of(APP, "/auth", "/cart"))

    def _with_route_of(self, state: State, route: HttpRoute) -> State:
        cluster = self.cluster(state)
        left = Routes(each for each in cluster.routes if each.name != route.name)
        routes = left if len(left) < len(cluster.routes) else Routes((*left, route))
        return self._moved(state, served(cluster._replace(routes=routes)))

    def delete_routes(self, state: State) -> State | None:
        """Somebody deletes the HTTPRoutes of the group: those of others are older than what is made again."""
        cluster = self.cluster(state)
        left = Routes(each for each in cluster.routes if not is_own(each))
        if left == cluster.routes:
            return None
        return self.with_cluster(state, cluster._replace(routes=left, taken=left))

    def api(self, state: State) -> State:
        """The Gateway API leaves the cluster, with all its objects, or comes back."""
        cluster = self.cluster(state)
        gone = cluster._replace(knows_routes=not cluster.knows_routes, routes=Routes(), taken=Routes())
        return self.with_cluster(state, gone)

    def policy(self, state: State, says: str) -> State | None:
        """A policy says of promotions ``no``, or ``later``; empty: nothing any more."""
        cluster = self.cluster(state)
        return None if cluster.policy == says else self.with_cluster(state, cluster._replace(policy=says))

    # --- agents ---------------------------------------------------------------------------------------------

    def fetch(self, state: State, who: str) -> State:
        """An agent reads main, and how far the ledger is."""
        git = self.git(state)
        at = git.ledger.position
        return self.with_agent(
            state,
            who,
            self.agent(state, who)._replace(
                main=git.main,
                ledger=(at.epoch, at.sequence),
                memory=git.ledger.memory,
                branch=self._branch(state),
                refused=self.agent(state, who).refused and git.protected,  # Until then it is tried again now and then.
            ),
        )

    def _outcome(self, state: State, who: str, said: Said = NOTHING) -> Outcome:
        outcome = self.passes.outcome(self.agent(state, who), state.cluster, state.record, said)
        if outcome.broken:
            raise Violation(outcome.broken)
        return outcome

    def act(self, state: State, who: str, verdict: str = "", says: str = "") -> State | None:
        """A pass of an agent: it saves the record, and writes. What it had begun to measure and ask may have ended."""
        agent = self.agent(state, who)
        if agent.main < 0 or (verdict and not agent.measures) or (says and not agent.calls):
            return None
        said = Said(verdict, says) if verdict or says else NOTHING
        outcome = self._outcome(state, who, said)
        return self.fetch(state, who) if outcome.look_again else self._pass(state, who, outcome)

    def lag(self, state: State, who: str) -> State | None:
        """A pass of an agent whose cache still shows the pods of before."""
        agent = self.agent(state, who)
        if state.old < 0 or agent.main < 0:
            return None
        outcome = self.passes.outcome(agent, state.cluster, state.record, pods=state.old)
        return self._pass(state, who, outcome)

    def die(self, state: State, who: str, writes: int) -> State | None:
        """An agent dies in a pass after so many writes, and a new process begins."""
        if self.agent(state, who).main < 0:
            return None
        outcome = self._outcome(state, who)
        if outcome.look_again:
            return None
        most = len(outcome.actions) + (outcome.record != state.record)
        if writes >= most:
            return None
        state = self._pass(state, who, outcome, writes)
        return self.with_agent(state, who, Agent())

    def _pass(self, state: State, who: str, outcome: Outcome, writes: int = 1000) -> State:
        agent = self.agent(state, who)
        if outcome.record != state.record:
            if writes < 1:
                return state
            state = self._knowing(state, agent)
            state, writes = self._save(state, who, outcome), writes - 1
        state = self._write(state, who, outcome.actions[:writes])
        record = self.record(state)
        batch = LedgerBatch(record.epoch, record.ledger, state_of(record))
        agent = agent._replace(
            batch=batch if publication(record) and self.cluster(state).exists else None,
            git=outcome.git,
            measures=outcome.measures,
            calls=outcome.calls,
        )
        return self.with_agent(state, who, agent)

    def _knowing(self, state: State, agent: Agent) -> State:
        """The newest main that a record was decided from. One that changed the folder there and back costs no write."""
        newest = self.pools.books[state.books].newest
        if newest >= 0 and len(self.pools.main[agent.main]) <= len(self.pools.main[newest]):
            return state
        return state._replace(books=self.pools.books.number(Books(agent.main)))

    def _save(self, state: State, who: str, outcome: Outcome) -> State:
        """The record is saved; members that it says no longer run lose their pods at once, the worst that may be."""
        before, after, cluster = self.record(state), self.pools.record[outcome.record], self.cluster(state)
        newest = self.pools.main[self.pools.books[state.books].newest][-1]
        answered = tuple(each for each in cluster.requests if after.operator.has_answered(each.id))
        promises.saved(before, after, newest, self.head_of(state, who), cluster)
        promises.answered(before, after, self.head_of(state, who), answered)
        if not self.rules.second:  # A second agent may not have read yet what the ledger has.
            promises.recalled(before, after, self.git(state).ledger, self.head_of(state, who), cluster)
        left = tuple(each for each in cluster.requests if each not in answered)
        up = cluster.up & running(after, cluster.up)
        promises.taken_away(cluster, cluster.up - up)
        return self.with_cluster(state._replace(record=outcome.record), cluster._replace(up=up, requests=left))

    def head_of(self, state: State, who: str) -> Commit:
        """The head of main as an agent knows it."""
        return self.pools.main[self.agent(state, who).main][-1]

    def _write(self, state: State, who: str, actions: tuple[GroupAction, ...]) -> State:
        cluster = self.cluster(state)
        for action in actions:
            after = carry_out(action, cluster)
            if after is None:
                break
            promises.written(action, cluster, after, self.record(state))
            promises.taken(action, self.head_of(state, who))
            cluster = after
        return self.with_cluster(state, cluster)

    def put(self, state: State, who: str, answered: bool = True) -> State | None:
        """The Git thread writes what the last pass wants; not ``answered``: the process dies before it hears."""
        agent = self.agent(state, who)
        if agent.batch is None and not agent.git:
            return None
        if agent.batch is not None:
            ledger, fresh = self.git(state).ledger.taking(agent.batch)
            promises.told(self.git(state).ledger, agent.batch, fresh)
            state = self.with_git(state, ledger=as_decided_from(ledger))
        for action in agent.git:
            state = self._put_action(state, who, action)
        agent = self.agent(state, who)._replace(batch=None, git=())
        if not answered:
            return self.with_agent(state, who, Agent())
        return self.fetch(self.with_agent(state, who, agent), who)

    def _put_action(self, state: State, who: str, action: GroupGitAction) -> State:
        head, git, agent = self.head(state), self.git(state), self.agent(state, who)
        is_on_main = isinstance(action, CommitActive) and not action.offered
        if not is_on_main and agent.branch != self._branch(state):
            return state  # Somebody else has moved the branch.
        if not isinstance(action, CommitActive):
            return self.with_git(state, branch=None, base=())
        if head != self.head_of(state, who) or head.broken or head.active != action.named:
            return state  # Somebody else decided.
        if action.offered:
            return self.with_git(state, branch=action, base=head.file)
        if git.protected:
            return self.with_agent(state, who, agent._replace(refused=True))
        return self.commit(state, active=action.version, by_agent=True)

    # --- getting on with it ---------------------------------------------------------------------------------

    def _agents(self) -> tuple[str, ...]:
        return ("a", "b") if self.rules.second else ("a",)

    def _work(self, state: State) -> State:
        for who in self._agents():
            state = self.fetch(state, who)
            state = self.act(state, who) or state
            state = self.put(state, who) or state
            agent = self.agent(state, who)
            if agent.measures or agent.calls:
                verdict, says = GOOD if agent.measures else "", GOOD if agent.calls else ""
                state = self.act(state, who, verdict, says) or state
        state = self.come_up(state) or state
        state = self.app_acts(state) or state
        state = self.catch_up(state) or state
        return state._replace(old=-1)

    def _well(self, state: State) -> State:
        """Main takes commits, pods come up, and the Gateway takes routes. As long as main refuses what is offered, and
        cannot be merged, it goes on refusing: that is to be offered anew.
        """
        cluster = self.cluster(state)
        if self.git(state).protected and not self._is_outdated(state):
            state = self.with_git(state, protected=False)
        if cluster.failing or cluster.gateway != "takes" or not cluster.knows_routes:
            for name in sorted(cluster.failing):
                state = self.pods(state, name, up=True) or state
            state = self.with_cluster(state, self.cluster(state)._replace(knows_routes=True))
            state = self.come_up(state) or state
            state = self.gateway(state, "takes") or state
        return state

    def _wake(self, state: State) -> float | None:
        return self._outcome(state, "a").wake

    def hear(self, state: State) -> None:
        """I6: from everywhere there is a way back, whatever a Gateway says: one movement, through no gate."""
        record, head = self.record(state), self.head(state)
        moving = record.transition
        back = moving.source if moving is not None and not moving.goes_back else record.state.only(LEGACY)
        if not back or back not in head.names or head.broken or not self._has_pods(state, back):
            return
        asked = self.commit(state, active=back, suspended=True) if head.active != back or not head.suspended else state
        asked = asked._replace(a=self.pools.agent.number(Agent(main=self.git(asked).main)), old=-1)
        self._goes_back(asked, back)

    def _has_pods(self, state: State, version: str) -> bool:
        serving = (one for one in self.record(state).state.endpoints if one.version == version)
        return all(f"{one.service}-{one.initial_version}" in self.cluster(state).up for one in serving)

    def _goes_back(self, state: State, back: str) -> None:
        before, path, end = self.record(state).moves, list[tuple[Commit, int, int]](), state.record
        for _ in range(12):
            at = (self.head(state), state.cluster, state.record)
            if at in self.passes.gone_back:
                end = self.passes.gone_back[at]
                break
            path.append(at)
            following = self.act(state, "a")
            if following in (None, state):
                break
            state, end = following, following.record
        if not path:
            return
        record = self.pools.record[end]
        active, moving = record.state.only(ACTIVE), record.transition
        if active != back or moving is not None:
            raise Violation(f"I6: group.yaml names {back} again, and {active} serves{' on the move' if moving else ''}")
        self.passes.gone_back.update(dict.fromkeys(path, end))
        if record.moves != before and record.moves[-1].target != back:
            raise Violation(f"I6: on the way back to {back} requests move to {record.moves[-1].target}")

    def _check(self, state: State) -> None:
        head, cluster, record = self.head(state), self.cluster(state), self.record(state)
        answer = self.passes.told(self.agent(state, "a"), state.cluster, state.record)
        if self._is_outdated(state) and not head.broken:
            raise Violation("nobody can merge what is offered: group.yaml has changed since")
        is_routed = self.rules.spec.gateway is not None
        promises.rests(head, cluster, record, self.git(state).ledger, answer, is_routed=is_routed)

    def _sleeps(self, state: State) -> None:
        """I5: at rest nothing is wanted, and where nothing wants to be woken, nothing a day later."""
        for when, then in (("at rest", state), ("a day later", self._after(state, 86_400.0))):
            for who in self._agents():
                outcome = self._outcome(then, who)
                if outcome.actions or outcome.record != then.record or outcome.git:
                    raise Violation(f"I5: {when} it still wants {[str(one) for one in outcome.actions]}")

    # --- all that can happen --------------------------------------------------------------------------------

    def following(self, state: State) -> Iterator[tuple[Event, Callable[[], State | None]]]:
        """Every event that may happen now."""
        for event in self._events():
            yield event, lambda event=event: self.happen(state, event)

    def _events(self) -> Iterator[Event]:
        on = self.rules.kinds.__contains__
        yield ("settle",)
        for who in self._agents():
            yield from (("fetch", who), ("act", who), ("put", who))
            if on("crash"):
                yield ("put", who, False)
                yield from (("die", who, writes) for writes in range(4))
            if on("stale"):
                yield ("lag", who)
            if on("analysis"):
                yield from (("act", who, verdict) for verdict in (GOOD, BAD, "Inconclusive"))
            if on("hooks"):
                yield from (("act", who, "", says) for says in (GOOD, BAD))
        for name in self.rules.versions:
            yield ("name", name)
            yield ("add", name)
            if on("fix"):
                yield ("fix", name)
            if on("remove"):
                yield ("remove", name)
        yield ("come_up",)
        if on("suspend"):
            yield ("suspend",)
        if on("operators"):
            yield from (("ask", "abort"), ("retry",))
        if on("gate"):
            yield from (("ask", verb) for verb in ("open-gate", "close-gate"))
        if on("broken"):
            yield ("break_group",)
        if on("protect"):
            yield from (("protect",), ("merge",))
        if on("time"):
            yield ("later",)
        if on("gateway"):
            yield ("catch_up",)
            yield from (("gateway", mode) for mode in GATEWAYS)
        if on("pods"):
            brought = [f"{service}-{name}" for name in self.rules.versions for service in FOLDERS[name]]
            yield from (("pods", name, up) for name in brought for up in (True, False))
        if on("foreign"):
            yield from (("follow", "cart", f"cart-{name}") for name in self.rules.versions)
        if on("lost"):
            yield from (("lose_record",), ("lose_cluster",))
        if on("strangers"):
            yield from (("claim", "/cart"), ("claim", "/new"), ("delete_routes",))
        if on("app"):
            yield from (("app",), ("app_acts",))
        if on("api"):
            yield ("api",)
        if on("policies"):
            yield from (("policy", says) for says in ("no", "later", ""))

    def happen(self, state: State, event: Event) -> State | None:
        """One event by its name, as stories have it."""
        return getattr(self, str(event[0]))(state, *event[1:])  # type: ignore[no-any-return]
