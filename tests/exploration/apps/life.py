"""What can happen in the explored world: each event takes a state and gives the next, or None where it cannot be.

People act on the remote, agents only on what they have read of it. A broken promise is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from gitops_bg.core.model import actions as act
from gitops_bg.core.model.actions import Action, CommitPrimary, GitAction, PublishLedger
from gitops_bg.core.model.analysis import AnalysisStage
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.statements import unwanted
from tests.exploration.apps import promises
from tests.exploration.apps.passes import Outcome, Passes, carry_out, digest, tag_of
from tests.exploration.apps.sayings import PROMISE, still
from tests.exploration.moments import LONG_AGO, canonical
from tests.exploration.rest import Resting
from tests.exploration.seed import Event, Memory
from tests.exploration.world import (
    Agent,
    Books,
    Cluster,
    Commit,
    Git,
    Ledger,
    Pools,
    State,
    Violation,
    is_older,
)

_WAYS_ON: Mapping[Phase, Event] = {
    Phase.SUSPENDED: ("suspend",),
    Phase.HELD: ("push", "9"),
    Phase.AWAITING_PROMOTION: ("merge",),
    Phase.INVALID: ("push", "9"),
}
"""What the status tells somebody to do in a phase, as an event: each is to change what it says."""


class Rules(NamedTuple):
    """What one seed explores."""

    spec: AppSpec
    tags: tuple[str, ...] = ("1", "2", "3")
    kinds: frozenset[str] = frozenset()
    """The groups of events that may happen; empty: all but those of two agents."""
    second: bool = False
    """Two agents by mistake."""


def can_run(tag: str) -> bool:
    """Versions whose tag begins with x never come up."""
    return not tag.startswith("x")


class Life(Resting[State]):
    """The transitions of one seed, with what they remember."""

    def __init__(self, rules: Rules, memory: Memory) -> None:
        super().__init__()
        alike = rules.spec, rules.second
        if alike not in memory:
            memory[alike] = Passes(Pools(), rules.spec)
        self.rules, self.passes = rules, memory[alike]
        self.pools, self._asked_before = self.passes.pools, self.passes.asked
        self._gone_back: set[tuple[int, int]] = set()
        self._ends: dict[object, tuple[object, State]] = {}
        strategy = rules.spec.strategy
        asks = strategy.pre_promotion_analysis, strategy.post_promotion_analysis
        self._measures = any((*asks, rules.spec.before_pods, rules.spec.after_settled))
        """Else nothing is ever due to be measured, and nobody need ask."""

    @property
    def asked(self) -> int:
        return self.passes.asked - self._asked_before

    # --- parts ----------------------------------------------------------------------------------------------

    def empty(self) -> State:
        """Main without the app's target; nothing in the cluster."""
        pools = self.pools
        main = pools.main.number((Commit(self._id(0, 0)),))
        first, second = (pools.agent.number(Agent(main=main, process=name)) for name in "ab")
        return State(
            git=pools.git.number(Git(main)),
            cluster=pools.cluster.number(self.nothing()),
            record=pools.record.number(canonical(Record())),
            a=first,
            b=second if self.rules.second else -1,
            books=pools.books.number(Books()),
            old=0,
        )

    @staticmethod
    def nothing() -> Cluster:
        """The cluster before anything of the app is there."""
        return Cluster()

    @staticmethod
    def _id(line: int, number: int) -> str:
        return f"{line * 100 + number + 1:040x}"

    def git(self, state: State) -> Git:
        return self.pools.git[state.git]

    def head(self, state: State) -> Commit:
        return self.pools.main[self.git(state).main][-1]

    def cluster(self, state: State) -> Cluster:
        return self.pools.cluster[state.cluster]

    def record(self, state: State) -> Record:
        return self.pools.record[state.record]

    def books(self, state: State) -> Books:
        return self.pools.books[state.books]

    def agent(self, state: State, who: str) -> Agent:
        return self.pools.agent[state.a if who == "a" else state.b]

    def with_git(self, state: State, git: Git) -> State:
        return state._replace(git=self.pools.git.number(git))

    def with_cluster(self, state: State, cluster: Cluster) -> State:
        number = self.pools.cluster.number(cluster)
        if number == state.cluster or "stale" not in self.rules.kinds:
            return state._replace(cluster=number)
        return state._replace(cluster=number, old=self.pools.old.number((state.cluster, state.record)))

    def with_books(self, state: State, books: Books) -> State:
        return state._replace(books=self.pools.books.number(books))

    def with_agent(self, state: State, who: str, agent: Agent) -> State:
        number = self.pools.agent.number(agent)
        return state._replace(a=number) if who == "a" else state._replace(b=number)

    # --- what people do to main -----------------------------------------------------------------------------

    def commit(self, state: State, *, by_agent: bool = False, **changes: object) -> State:
        """One more commit of main; ``brought_by`` and ``named_by`` are set where it changes these files."""
        git, main = self.git(state), self.pools.main[self.git(state).main]
        head = main[-1]
        name = self._id(git.line, len(main))
        if "target" in changes:
            changes = {"reverts": (), "backdated": False, **changes, "brought_by": name}
        if "primary" in changes:
            changes = {**changes, "named_by": name}
        commit = head._replace(**{"says_good": "", "took_back": "", **changes, "id": name, "by_agent": by_agent})
        return self.with_git(state, git._replace(main=self.pools.main.number((*main, commit))))

    def decided(self, state: State, *, says_good: str = "", expect: tuple[str, ...] | None = None) -> State:
        """Somebody decided: an older expectation counts no more; ``says_good`` is wanted whatever it did before."""
        books = self.books(state)
        return self.with_books(
            state, books._replace(bad=books.bad - {says_good}, stopped=books.stopped - {says_good}, expect=expect)
        )

    def push(self, state: State, tag: str) -> State | None:
        head = self.head(state)
        if not self.git(state).up or tag == head.target:
            return None
        return self.decided(self.commit(state, target=tag))

    def break_target(self, state: State) -> State | None:
        if not self.git(state).up or self.head(state).target in ("?", ""):
            return None
        return self.decided(self.commit(state, target="?"))

    def remove_primary(self, state: State) -> State | None:
        if not self.git(state).up or not self.head(state).primary:
            return None
        return self.decided(self.commit(state, primary="", number=0))

    def merge(self, state: State) -> State | None:
        git, head = self.git(state), self.head(state)
        branch = git.branch
        if not git.up or branch is None or branch[1] != head.primary:
            return None
        state = self.commit(state, primary=branch[0], number=branch[2], source=branch[3], says_good=branch[0])
        state = self.with_git(state, self.git(state)._replace(branch=None))
        return self.decided(state, says_good=branch[0])

    def promote(self, state: State) -> State | None:
        """Somebody copies the target into ``primary.yaml`` (`gitops-bg promote`)."""
        head = self.head(state)
        if not self.git(state).up or head.target in ("", "?", head.primary):
            return None
        version = self.record(state).version(digest(head.target))
        number = version.number if version else 0
        state = self.commit(state, primary=head.target, number=number, source=head.brought_by, says_good=head.target)
        return self.decided(state, says_good=head.target)

    def revert_primary(self, state: State) -> State | None:
        """Revert of the commit that changed ``primary.yaml`` last, whoever made it."""
        main = self.pools.main[self.git(state).main]
        head = main[-1]
        place = next((n for n, one in enumerate(main) if one.id == head.named_by), 0)
        if not self.git(state).up or place == 0 or not main[place - 1].primary:
            return None
        before = main[place - 1]
        wanted = before.primary
        changes = {"primary": wanted, "number": before.number, "source": before.source, "took_back": head.primary}
        state = self.commit(state, says_good=wanted, **changes)
        expect: tuple[str, ...] = (
            before.primary,
            f"the promotion of {head.primary} was reverted, {before.primary} is to be live",
        )
        books, record = self.books(state), self.record(state)
        clear = (
            before.primary in books.served
            and can_run(before.primary)
            and not record.override
            and not record.awaits_poll
        )
        clear = clear and not self._goes_on_by_itself(head, head.primary)
        asked = self.cluster(state).request
        answered = asked is None or asked[0] == record.operator.request
        known = record.git.primary_by in self.pools.commits(self.git(state).main)
        if not record.epoch or not known:  # A record that is lost, or of a history that is gone, knows nothing since.
            pass
        elif before.primary in books.served and head.primary not in books.came[: books.came.index(before.primary)]:
            expect = (*expect, head.primary)  # Taken back: without a hold it would be offered again at once.
        return self.decided(state, says_good=before.primary, expect=expect if clear and answered else None)

    def revert_target(self, state: State, backdated: bool) -> State | None:
        """`git revert` of the commit that changed the target last."""
        main = self.pools.main[self.git(state).main]
        head = main[-1]
        place = next((n for n, one in enumerate(main) if one.id == head.brought_by), 0)
        if not self.git(state).up or place == 0 or main[place - 1].target in ("", "?"):
            return None
        before = main[place - 1]
        says_good = before.target if head.reverts else ""  # The revert of a revert asks for it again.
        reverts = (head.brought_by,)
        state = self.commit(state, target=before.target, reverts=reverts, backdated=backdated, says_good=says_good)
        return self.decided(state, says_good=says_good, expect=self._expected_of_revert(state, head, before))

    def _expected_of_revert(self, state: State, head: Commit, before: Commit) -> tuple[str, str] | None:
        """What the revert of a push leads to (gitops.md §3); None where this page does not say."""
        books, record, cluster = self.books(state), self.record(state), self.cluster(state)
        quiet = (
            not record.awaits_poll
            and record.override is None
            and (cluster.request is None or cluster.request[0] == record.operator.request)
        )
        if not quiet or not head.primary or not all(map(can_run, (head.primary, before.target, head.target))):
            return None
        if self._goes_on_by_itself(before, head.primary) or head.reverts or before.reverts:
            return None  # Of two reverts in a row, who looked in between has followed the first.
        if self._was_taken_back(state, before.target):
            return None  # Its own promotion was: that is said of it, whoever looked.
        if head.primary != head.target:  # not promoted: live traffic does not move
            return (head.primary, f"the push of {head.target} was reverted before it was promoted")
        came = books.came
        if head.primary in came and before.target in came and came.index(before.target) > came.index(head.primary):
            return None  # What was reverted had itself brought an older version back.
        if before.target == head.target or before.target not in books.served or head.source != head.brought_by:
            return None
        if before.target in books.bad:
            return (head.primary, f"the push of {head.target} was reverted, but {before.target} was rolled back before")
        return (before.target, f"the push of {head.target} was reverted, {before.target} is to be live again")

    def _was_taken_back(self, state: State, tag: str) -> bool:
        """Whether the last that main says of a version is that its promotion was reverted."""
        main = self.pools.main[self.git(state).main]
        said = [one.took_back == tag for one in main if tag in (one.says_good, one.took_back)]
        return bool(said) and said[-1]

    def _goes_on_by_itself(self, head: Commit, tag: str) -> bool:
        """Whether the agent promotes another target than this by itself."""
        return self.rules.spec.strategy.auto_promotion_enabled and head.target != tag

    def suspend(self, state: State) -> State | None:
        if not self.git(state).up:
            return None
        return self.commit(state, suspended=not self.head(state).suspended)

    def retry(self, state: State) -> State | None:
        head = self.head(state)
        if not self.git(state).up or head.target in ("", "?") or head.retry[0] == head.target:
            return None
        return self.decided(
            self.commit(state, retry=(head.target, head.retry[1] + 1), says_good=head.target), says_good=head.target
        )

    def rewind(self, state: State, commits: int) -> State | None:
        """A force-push from a stale clone."""
        git, main = self.git(state), self.pools.main[self.git(state).main]
        if not git.up or len(main) <= commits + 1 or git.line > 1:
            return None
        older = self.pools.main.number(main[:-commits])
        return self.decided(self.with_git(state, git._replace(main=older, line=git.line + 1)))

    # --- operators ------------------------------------------------------------------------------------------

    def ask(self, state: State, verb: str) -> State | None:
        cluster = self.cluster(state)
        if not cluster.exists or (cluster.request and cluster.request[0] != self.record(state).operator.request):
            return None
        number = str(int(cluster.request[0]) + 1 if cluster.request else 1)
        state = self.decided(self.with_cluster(state, cluster._replace(request=(number, verb))))
        return self.with_books(state, self.books(state)._replace(asked=self.git(state).main))

    def offline(self, state: State) -> State | None:
        """A pass of the CLI without Git, which carries out what was asked for."""
        cluster = self.cluster(state)
        if not cluster.request or cluster.request[0] == self.record(state).operator.request:
            return None
        return self._pass(state, "", Agent(away=True), None)

    # --- the cluster ----------------------------------------------------------------------------------------

    def pods(self, state: State, tag: str, up: bool) -> State | None:
        cluster = self.cluster(state)
        one = cluster.pods(tag)
        if one is None or not can_run(tag):
            return None
        changed = one._replace(available=one.replicas if up else 0)
        return None if changed == one else self.with_cluster(state, cluster.with_pods(changed))

    def lose(self, state: State, tag: str) -> State | None:
        """Somebody deletes a ReplicaSet."""
        cluster = self.cluster(state)
        return self.with_cluster(state, cluster.without(tag)) if cluster.pods(tag) else None

    def point(self, state: State, role: str, tag: str | None) -> State | None:
        """Somebody changes a Service: its selector wiped (empty), pointed elsewhere, or deleted (None)."""
        cluster, record = self.cluster(state), self.record(state)
        before = cluster.active if role == "active" else cluster.preview
        if before is None or before == tag:
            return None
        if record.routing.switch and tag and digest(tag) == record.routing.switch.to_digest:
            return None
        return self.with_cluster(state, cluster._replace(**{role: tag}))

    def rebuild(self, state: State, keep_pods: bool) -> State | None:
        """The record is lost: with the whole cluster, or with the BlueGreenDeployment alone."""
        cluster, books = self.cluster(state), self.books(state)
        if not cluster.exists:
            return None
        fresh = self.nothing()._replace(life=cluster.life + 1)
        if keep_pods:
            stays = ("sets", "active", "preview", "former", "theirs", "taken_over")
            fresh = fresh._replace(**{name: getattr(cluster, name) for name in stays})
        state = self.with_cluster(state, fresh)._replace(record=self.pools.record.number(canonical(Record())))
        live = books.live if keep_pods else ""
        ledger = self.git(state).ledger
        known = frozenset(tag_of(said.digest) for said in ledger.statements)
        books = books._replace(bad=books.bad & known, stopped=books.stopped & known)  # The rest is lost for everybody.
        return self.with_books(state, books._replace(owed=(), told=0, live=live, expect=None))

    def edit(self, state: State) -> State | None:
        """Somebody edits the record: it counts as lost, and the object stays (decision 22)."""
        if not self.cluster(state).exists or not self.record(state).epoch:
            return None
        books, ledger = self.books(state), self.git(state).ledger
        known = frozenset(tag_of(said.digest) for said in ledger.statements)
        books = books._replace(bad=books.bad & known, stopped=books.stopped & known)
        told = ledger.sequence if ledger.epoch == self.record(state).epoch else 0  # What nobody has published is lost.
        books = books._replace(owed=(), told=told, expect=None)
        return self.with_books(state, books)._replace(record=self.pools.record.number(canonical(Record())))

    def going(self, state: State) -> State | None:
        """Somebody deletes the BlueGreenDeployment; it stays until everything that it blocks on is gone."""
        cluster = self.cluster(state)
        if not cluster.exists or cluster.going:
            return None
        return self.with_cluster(state, cluster._replace(going=True))

    # --- Git, time ------------------------------------------------------------------------------------------

    def reach(self, state: State) -> State:
        git = self.git(state)
        return self.with_git(state, git._replace(up=not git.up))

    def protect(self, state: State) -> State | None:
        git = self.git(state)
        return self.with_git(state, git._replace(protected=not git.protected))

    def later(self, state: State) -> State | None:
        """Time passes until the engine wants to be woken."""
        outcome = self._outcome(state, "a")
        if outcome.wake is None:
            return None
        return self._after(state, outcome.wake)

    def _after(self, state: State, seconds: float) -> State:
        return state._replace(record=self.passes.later(state.record, seconds), old=0)

    # --- agents ---------------------------------------------------------------------------------------------

    def fetch(self, state: State, who: str) -> State | None:
        git, agent = self.git(state), self.agent(state, who)
        if not git.up:
            return self.with_agent(state, who, agent._replace(away=True))
        rewritten = self._lost(agent, git, self.record(state))
        seen = agent._replace(
            main=git.main, branch=git.branch, ledger=git.ledger, away=False, refused=git.protected and agent.refused
        )
        seen = seen._replace(rewritten=rewritten, look=self._next_look(self.record(state)))
        return self.with_agent(state, who, seen)

    @staticmethod
    def _next_look(record: Record) -> int:
        """Its number only has to be higher than those of decisions that wait for it."""
        waiting = (said.awaits for said in record.statements)
        numbers = [number for one in waiting if one for _, number in one.stamps]
        return max(numbers, default=-1) + 1

    def _lost(self, agent: Agent, git: Git, record: Record) -> str:
        """The commit that was seen before and that main does not contain, unless somebody accepted that."""
        has, main = self.pools.commits(git.main), self.pools.main
        known = main[agent.main][-1] if agent.main >= 0 else None
        is_past = known is not None and known.generation > record.git.main.generation  # Its loss was accepted.
        seen = (agent.rewritten, known.id if known else "", "" if is_past else record.git.main.commit)
        lost = next((one for one in seen if one and one not in has), "")
        generation = max(known.generation if known else 0, record.git.main.generation)
        return "" if main[git.main][-1].generation > generation else lost

    def accept(self, state: State) -> State | None:
        """Somebody accepts the rewritten history (`accept-history`): what it names is what is wanted."""
        git, head = self.git(state), self.head(state)
        if not git.up or head.generation >= git.line:
            return None
        state = self.commit(state, generation=git.line, says_good=head.primary)
        return self.decided(state, says_good=head.primary)

    def _outcome(self, state: State, who: str, verdict: str = "") -> Outcome:
        outcome = self.passes.outcome(self.agent(state, who), state.cluster, state.record, verdict)
        if outcome.broken:
            raise Violation(outcome.broken)
        return outcome

    def act(self, state: State, who: str, verdict: str = "") -> State | None:
        """A whole pass."""
        measures = self._outcome(state, who).measures if verdict else ()
        if verdict and not measures:
            return None
        if self.agent(state, who).halted:
            return None
        if verdict == "Successful" and self.rules.spec.before_pods:
            tags = frozenset(tag_of(each.id.digest) for each in measures if each.id.stage is AnalysisStage.BEFORE_PODS)
            books = self.books(state)
            state = self.with_books(state, books._replace(prepared=books.prepared | tags))
        return self._pass(state, who, self.agent(state, who), None, verdict=verdict)

    def die(self, state: State, who: str, writes: int) -> State | None:
        """A pass of which only so many writes happen; then the process ends, and a new one knows nothing of main."""
        return self._pass(state, who, self.agent(state, who), writes, dies=True)

    def halt(self, state: State, who: str, writes: int) -> State | None:
        """The process stands still after so many writes (SIGSTOP); what is left it does when it thaws."""
        if self._outcome(state, who).record != state.record and writes == 0:
            return None  # What was not saved is not carried out: the record's lock.
        return self._pass(state, who, self.agent(state, who), writes)

    def lag(self, state: State, who: str) -> State | None:
        """A pass that looks at the cluster as it was before its last change."""
        if state.old == 0:
            return None
        return self._pass(state, who, self.agent(state, who), None, seen=self._cached(state))

    def _cached(self, state: State) -> tuple[int, int]:
        """The cluster and the record that a cache which lags shows."""
        return self.pools.old[state.old]

    def thaw(self, state: State, who: str) -> State | None:
        agent = self.agent(state, who)
        if not agent.halted:
            return None
        actions, version, record = self.pools.halted[agent.halted]
        state = self.with_agent(state, who, agent._replace(halted=0))
        if isinstance(actions[0], act.SwitchTraffic):
            # It stood still between its last check and the write itself: only the Service's version still counts.
            if self.cluster(state).version != version:
                return state
            state, actions = self._write(state, who, agent, actions[:1]), actions[1:]
        if any(isinstance(one, act.SwitchTraffic) for one in actions) and state.record != record:
            return state  # What comes next asks for the record first.
        return self._write(state, who, agent, actions)

    def _pass(
        self,
        state: State,
        who: str,
        agent: Agent,
        writes: int | None,
        *,
        dies: bool = False,
        seen: tuple[int, int] | None = None,
        verdict: str = "",
    ) -> State | None:
        cluster, record = seen or (state.cluster, state.record)
        outcome = self.passes.outcome(agent, cluster, record, verdict)
        if outcome.broken:
            raise Violation(outcome.broken)
        if outcome.look_again:
            return self.fetch(state, who)
        saves = outcome.record != record
        if saves and record != state.record:
            return None  # The record's lock: nothing happens.
        todo = saves + len(outcome.cluster)
        if writes is not None and writes >= todo:
            return None
        state = self._now_newest(state, agent)
        if saves and writes != 0:
            state = self._save(state, agent, outcome)
        contract, live = self.record(state).contract, self.books(state).live
        closes = contract is not None and tag_of(contract.digest) == live
        if closes or any(each.id.stage is AnalysisStage.AFTER_SETTLED for each in outcome.measures):
            state = self.with_books(state, promises.contracted(self.cluster(state), self.books(state)))
        count = len(outcome.cluster) if writes is None else max(0, writes - saves)
        state = self._write(state, who, agent, outcome.cluster[:count])
        if not who:
            return state
        if dies:
            return self.with_agent(state, who, self._anew(agent, away=not self.git(state).up))
        decided_from = self.pools.main[agent.main][-1].id if agent.main >= 0 and outcome.git else ""
        told = _told_by(outcome.git, self.pools.record[outcome.record])
        wish = self.pools.wish.number((outcome.git, decided_from, told))  # type: ignore[arg-type]
        left, version = outcome.cluster[count:], self.cluster(state).version
        halted = self.pools.halted.number((left, version, state.record) if left else ((), 0, 0))  # type: ignore[arg-type]
        return self.with_agent(state, who, self.agent(state, who)._replace(wish=wish, halted=halted))

    @staticmethod
    def _anew(agent: Agent, *, away: bool = False) -> Agent:
        """The next process: it knows nothing of main."""
        return Agent(ledger=agent.ledger, away=away, process=f"{agent.process[:1]}{len(agent.process) % 2 * 'x'}")

    def _now_newest(self, state: State, agent: Agent) -> State:
        books = self.books(state)
        if agent.main < 0 or agent.main == books.newest:
            return state
        if agent.rewritten:
            return state
        known, now = self.pools.main[books.newest] if books.newest >= 0 else (), self.pools.main[agent.main]
        if known and not is_older(known, now) and now[-1].generation <= known[-1].generation:
            return state
        return self.with_books(state, books._replace(newest=agent.main))

    def _save(self, state: State, agent: Agent, outcome: Outcome) -> State:
        before, after = self.record(state), self.pools.record[outcome.record]
        main = self.pools.main[agent.main] if agent.main >= 0 else ()
        if not main:
            promises.goes_on_unread(before, after, self.cluster(state))
        books = promises.saved(
            self.books(state),
            before,
            after,
            self.cluster(state),
            asked=before.operator.request != after.operator.request,
            reverted=bool(main) and bool(main[-1].reverts),
            later=self._said_since(state, agent, asked=before.operator.request != after.operator.request),
            meant=self._meant(state),
            target=main[-1].target if main else "",
            ledger=agent.ledger if not before.epoch or before.unrecalled else None,
        )
        request = self.cluster(state).request
        if request and request[1] == "abort" and before.operator.request != after.operator.request == request[0]:
            newest = self.pools.main[books.newest][-1] if books.newest >= 0 else None
            books = promises.aborted(books, before, newest)
        auto = self.rules.spec.strategy.auto_promotion_enabled
        if request and before.operator.request != after.operator.request == request[0] and after.override and not auto:
            back = tag_of(after.override.to_digest)
            if can_run(back):
                books = books._replace(expect=(back, f"an operator asked for {request[1]}, back to {back}"))
        if before.operator.request != after.operator.request:
            books = books._replace(asked=-1)
        return self.with_books(state, books)._replace(record=outcome.record)

    def _said_since(self, state: State, agent: Agent, *, asked: bool = False) -> frozenset[str]:
        """Versions that somebody wants by commits which the agent has not read: later than what it has.

        Where it does what an operator ``asked`` for: later than that, whatever it has read.
        """
        main = self.pools.main[self.git(state).main]
        known = len(self.pools.main[agent.main]) if agent.main >= 0 else len(main)
        if asked:
            known = max(known, len(self.pools.main[self.books(state).asked]))
        return frozenset(one.says_good for one in main[known:] if one.says_good)

    def _meant(self, state: State) -> frozenset[str]:
        """Versions that somebody wants by commits of main later than the one that says what is live."""
        main = self.pools.main[self.git(state).main]
        place = next((n for n, one in enumerate(main) if one.id == main[-1].named_by), 0)
        return frozenset(one.says_good for one in main[place + 1 :] if one.says_good)

    def _write(self, state: State, who: str, agent: Agent, actions: tuple[Action, ...]) -> State:
        if not actions:
            return state
        before = self.cluster(state)
        known = self.pools.main[agent.main] if agent.main >= 0 else ()
        books, cluster, record = self.books(state), before, self.record(state)
        main = self.pools.main[books.newest] if books.newest >= 0 else ()
        applied = known[-1].settings if known else before.applied
        for action in actions:
            done = carry_out(action, cluster, applied)
            if done is None:
                break
            newest = main[-1] if main else None
            if self.rules.spec.before_pods:
                promises.prepared(cluster, done, books)
            books = promises.acted(
                action, cluster, done, books, record, newest, main, self._said_since(state, agent) | self._meant(state)
            )
            cluster = self._versioned(cluster, done)
        return self.with_books(self.with_cluster(state, cluster), books)

    def _versioned(self, before: Cluster, after: Cluster) -> Cluster:
        """A write to the active Service gives it a new version; counted only where that can matter."""
        if "halt" not in self.rules.kinds or (before.active, before.mark) == (after.active, after.mark):
            return after
        return after._replace(version=after.version + 1)

    def put(self, state: State, who: str, answered: bool = True) -> State | None:
        """The Git thread writes what the last decision wants; not ``answered``: the process dies before it hears."""
        git, agent = self.git(state), self.agent(state, who)
        actions, decided_from, ledger = self.pools.wish[agent.wish]
        if not actions or agent.halted:
            return None
        if not git.up:
            return self.with_agent(state, who, agent._replace(away=True))
        for action in actions:
            state = self._put(state, who, action, decided_from, ledger)
        if not answered:
            return self.with_agent(state, who, self._anew(agent))
        agent = self.agent(state, who)._replace(wish=0)
        return self.fetch(self.with_agent(state, who, agent), who)

    def _put(self, state: State, who: str, action: GitAction, decided_from: str, ledger: Ledger) -> State:
        git = self.git(state)
        match action:
            case act.CommitPrimary():
                return self._commit_primary(state, who, action, decided_from)
            case act.OfferPromotion():
                if self._touched_since(state, decided_from):
                    return state  # It is derived anew.
                self._promise(state, who, action, lambda: promises.offered(action, self.books(state)))
                version, tag = action.version, tag_of(action.version.digest)
                base, asks_for = self.head(state).primary, str(action.event)
                branch = (tag, base, version.number, version.source.commit, asks_for)
                return self.with_git(state, git._replace(branch=branch))
            case act.WithdrawPromotion():
                return self.with_git(state, git._replace(branch=None))
            case act.PublishLedger():
                return self._publish(state, action, ledger)
            case act.EnterRelease() | act.WithdrawRelease():
                raise AssertionError(f"the repository has no environments: {action}")

    def _promise(self, state: State, who: str, action: GitAction, promise: Callable[[], None]) -> None:
        """Broken where the record of now leads to it, too; else it was on its way, and is judged by where that ends."""
        try:
            promise()
        except Violation:
            if action in self._outcome(state, who).git:
                raise

    def _touched_since(self, state: State, decided_from: str) -> bool:
        """Whether main does not contain a commit, or has one since then that touched the app's folder."""
        main = self.pools.main[self.git(state).main]
        place = next((n for n, one in enumerate(main) if one.id == decided_from), None)
        return place is None or any(one.files != main[place].files for one in main[place:])

    def _commit_primary(self, state: State, who: str, action: CommitPrimary, decided_from: str) -> State:
        git, head = self.git(state), self.head(state)
        if git.protected:
            return self.with_agent(state, who, self.agent(state, who)._replace(refused=True))
        if self._touched_since(state, decided_from):
            return state  # Somebody was faster: it is derived anew.
        retried = head.target if head.reverts else head.retry[0]
        self._promise(state, who, action, lambda: promises.committed(action, self.books(state), retried))
        version = action.version
        return self.commit(
            state,
            by_agent=True,
            primary=tag_of(version.digest),
            number=version.number,
            source=version.source.commit,
        )

    def _publish(self, state: State, action: PublishLedger, told: Ledger) -> State:
        git = self.git(state)
        if git.ledger.epoch == action.epoch and git.ledger.sequence >= told.sequence:
            return state
        promises.published(action, git.ledger.epoch, git.ledger.sequence)
        return self.with_git(state, git._replace(ledger=told))

    # --- what is said ---------------------------------------------------------------------------------------

    def hear(self, state: State) -> None:
        """What the status says is so, wherever an agent has nothing to do at this moment."""
        for who in self._agents():
            agent, outcome = self.agent(state, who), self._outcome(state, who)
            if not self.cluster(state).exists or outcome.look_again or outcome.cluster:
                continue
            if outcome.record != state.record or outcome.git:
                continue
            _, wrong = self.passes.said(agent, state.cluster, state.record)
            for what in wrong:
                raise Violation(f"{PROMISE}: {what}")

    def _is_told_what_leads_on(self, state: State) -> None:
        """At rest nobody is told to wait; and what somebody is told to do, changes what is said."""
        if not self.cluster(state).exists:
            return
        self.hear(state)
        said, _ = self.passes.said(self.agent(state, "a"), state.cluster, state.record)
        for what in still(said):
            raise Violation(f"{PROMISE}: {what}")
        phase = said.standing.phase
        way_on = _WAYS_ON.get(phase)
        if said.standing.condition == "HistoryRewritten":
            way_on = ("accept",)
        question = self.passes.question(self.agent(state, "a"), state.cluster, state.record).key
        if way_on is None or question in self.passes.led_on:
            return
        before = self.books(state)
        after = self.happen(self.with_books(state, before._replace(expect=None)), way_on)
        if after is None:
            raise Violation(f"{PROMISE}: {phase} tells to {way_on[0]}, and that cannot be")
        for _ in range(6):
            after = self.work(after)
        now, _ = self.passes.said(self.agent(after, "a"), after.cluster, after.record)
        if now.standing == said.standing:
            raise Violation(f"{PROMISE}: {phase} tells to {way_on[0]}, and after that it says the same")
        self.passes.led_on.add(question)

    # --- getting on with it ---------------------------------------------------------------------------------

    def _agents(self) -> tuple[str, ...]:
        return ("a", "b") if self.rules.second else ("a",)

    def _work(self, state: State) -> State:
        for who in self._agents():
            for step in (self.thaw, self.fetch, self.act, self.put):
                state = step(state, who) or state
            if self._measures and self._outcome(state, who).measures:
                state = self.act(state, who, "Successful") or state
        cluster = self.cluster(state)
        up = tuple(one._replace(available=one.replicas) if can_run(one.tag) else one for one in cluster.sets)
        cluster = cluster._replace(sets=up)
        return state._replace(cluster=self.pools.cluster.number(cluster), old=0)

    def _well(self, state: State) -> State:
        """Git answers and takes commits, and nobody deletes the app."""
        git = self.git(state)
        if not git.up or git.protected:
            state = self.with_git(state, git._replace(up=True, protected=False))
        if self.cluster(state).going:
            state = self.work(state)
            state = self.rebuild(state, True) or state
        return state

    def _wake(self, state: State) -> float | None:
        return self._outcome(state, "a").wake

    def _check(self, state: State) -> None:
        head, cluster, record = self.head(state), self.cluster(state), self.record(state)
        frozen = head.suspended or head.target == "?" or bool(self.agent(state, "a").rewritten)
        self._is_told_what_leads_on(state)
        promises.told_all(record, self.git(state).ledger)
        promises.rests(head, cluster, record, self.books(state), frozen=frozen, can_run=can_run)
        branch = self.git(state).branch
        expect = self.books(state).expect
        if branch and not frozen and expect and branch[0] in expect[2:]:
            raise Violation(f"{expect[1]}; but {branch[0]} is offered again")
        if branch and not frozen and branch[0] in self.books(state).bad and branch[0] != self.books(state).live:
            raise Violation(f"{branch[0]} stays on offer, which was rolled back, failed or aborted")
        if not frozen and head.primary and can_run(head.primary) and promises.is_judged(record, head.primary):
            self._same_end(state, head, cluster, record)
        self._can_go_back(state, frozen=frozen)

    def _sleeps(self, state: State) -> None:
        """I5: at rest nothing is wanted; and where nothing wants to be woken, a day changes nothing."""
        for who in self._agents():
            outcome = self._outcome(state, who)
            if outcome.cluster or outcome.git or outcome.record != state.record:
                raise Violation(f"I5: at rest it still wants {[str(one) for one in (*outcome.cluster, *outcome.git)]}")
        later = self._after(state, 86_400.0)
        outcome = self._outcome(later, "a")
        if outcome.cluster or outcome.git or outcome.record != later.record:
            said = [str(one) for one in (*outcome.cluster, *outcome.git)]
            raise Violation(f"I5: nothing wants to be woken, and a day later it wants {said}")

    def _same_end(self, state: State, head: Commit, cluster: Cluster, record: Record) -> None:
        """The end depends on main, the holds, what a contract has closed, and whether anything was found about the
        target; not on the interleaving.
        """
        holds = frozenset(hold.digest for hold in record.holds)
        given = (
            head.target,
            head.primary,
            head.suspended,
            head.retry[0],
            holds,
            promises.is_judged(record, head.target),
            self.books(state).closed,
        )
        branch = self.git(state).branch
        end = (tag_of(record.routing.traffic), cluster.active, branch[0] if branch else "")
        before, _ = self._ends.setdefault(given, (end, state))
        if before != end:
            raise Violation(f"the end depends on the interleaving: {given[:2]} ended as {before} and as {end}")

    def _can_go_back(self, state: State, *, frozen: bool) -> None:
        """I6: a rollback to the last good version takes one switch, with Git away."""
        books, record, cluster = self.books(state), self.record(state), self.cluster(state)
        good = [one for one in books.served if one != books.live and one not in books.bad | books.left and can_run(one)]
        good = [one for one in good if one not in books.closed]
        good = [one for one in good if cluster.pods(one) or self._has_text(record, one)]
        state = self.with_git(state, self.git(state)._replace(up=False))
        asked = self.ask(self.with_books(state, books._replace(expect=None)), "rollback")
        if asked is None or not cluster.active or (state.cluster, state.record) in self._gone_back:
            return
        self._gone_back.add((state.cluster, state.record))
        switches = self._movements(asked)
        if switches > 1 or (good and switches != 1):
            raise Violation(f"I6: a rollback from {books.live} takes {switches} switches, though {good} served before")

    @staticmethod
    def _has_text(record: Record, tag: str) -> bool:
        """Whether its template is at hand: of one whose ReplicaSet somebody deleted, the record may have none."""
        version = record.version(digest(tag))
        return version is not None and bool(version.snapshot.text)

    def _movements(self, state: State) -> int:
        """How often traffic moves until it rests."""
        count = 0
        for _ in range(40):
            following = self.work(state)
            if following == state:
                return count
            count += self.books(following).live != self.books(state).live
            state = following
        raise Violation("I5: a rollback does not come to rest")

    # --- all that can happen --------------------------------------------------------------------------------

    def following(self, state: State) -> Iterator[tuple[Event, Callable[[], State | None]]]:
        """Every event that may happen now."""
        kinds, tags = self.rules.kinds, self.rules.tags

        def on(kind: str) -> bool:
            return kind in kinds

        yield ("settle",), lambda: self.settle(state)
        for who in self._agents():
            yield ("fetch", who), lambda who=who: self.fetch(state, who)
            yield ("act", who), lambda who=who: self.act(state, who)
            yield ("put", who), lambda who=who: self.put(state, who)
            if on("crash"):
                yield ("put", who, False), lambda who=who: self.put(state, who, False)
                for writes in range(8):
                    yield ("die", who, writes), lambda who=who, writes=writes: self.die(state, who, writes)
            if on("halt"):
                yield ("thaw", who), lambda who=who: self.thaw(state, who)
                for writes in range(4):
                    yield ("halt", who, writes), lambda who=who, writes=writes: self.halt(state, who, writes)
            if on("stale"):
                yield ("lag", who), lambda who=who: self.lag(state, who)
            if on("analysis"):
                for verdict in ("Successful", "Failed", "Inconclusive"):
                    yield ("act", who, verdict), lambda who=who, verdict=verdict: self.act(state, who, verdict)
        for tag in tags:
            yield ("push", tag), lambda tag=tag: self.push(state, tag)
        yield ("merge",), lambda: self.merge(state)
        yield ("promote",), lambda: self.promote(state)
        yield ("revert_primary",), lambda: self.revert_primary(state)
        yield ("revert_target", False), lambda: self.revert_target(state, False)
        if on("dates"):
            yield ("revert_target", True), lambda: self.revert_target(state, True)
        if on("retry"):
            yield ("retry",), lambda: self.retry(state)
        if on("suspend"):
            yield ("suspend",), lambda: self.suspend(state)
        if on("broken"):
            yield ("break_target",), lambda: self.break_target(state)
            yield ("remove_primary",), lambda: self.remove_primary(state)
        if on("rewind"):
            yield ("accept",), lambda: self.accept(state)
            yield ("rewind", 1), lambda: self.rewind(state, 1)
            yield ("rewind", 2), lambda: self.rewind(state, 2)
        if on("ask"):
            yield ("ask", "abort"), lambda: self.ask(state, "abort")
            yield ("ask", "rollback"), lambda: self.ask(state, "rollback")
            yield ("offline",), lambda: self.offline(state)
        if on("git"):
            yield ("reach",), lambda: self.reach(state)
        if on("protect"):
            yield ("protect",), lambda: self.protect(state)
        if on("time"):
            yield ("later",), lambda: self.later(state)
        for tag in tags:
            if on("pods"):
                yield ("pods", tag, True), lambda tag=tag: self.pods(state, tag, True)
                yield ("pods", tag, False), lambda tag=tag: self.pods(state, tag, False)
            if on("foreign"):
                yield ("lose", tag), lambda tag=tag: self.lose(state, tag)
                if self.cluster(state).pods(tag):
                    yield ("point", "active", tag), lambda tag=tag: self.point(state, "active", tag)
        if on("foreign"):
            yield ("point", "active", ""), lambda: self.point(state, "active", "")
            yield ("point", "active", None), lambda: self.point(state, "active", None)
            yield ("point", "preview", None), lambda: self.point(state, "preview", None)
        if on("edited"):
            yield ("edit",), lambda: self.edit(state)
        if on("lost"):
            yield ("going",), lambda: self.going(state)
            yield ("rebuild", True), lambda: self.rebuild(state, True)
            yield ("rebuild", False), lambda: self.rebuild(state, False)

    def happen(self, state: State, event: Event) -> State | None:
        """One event by its name, as stories have it."""
        return getattr(self, str(event[0]))(state, *event[1:])  # type: ignore[no-any-return]


def _told_by(actions: tuple[Action, ...], record: Record) -> Ledger:
    """What the ledger says once it has what a pass wants to write there: of the record of that pass."""
    published = next((one for one in actions if isinstance(one, act.PublishLedger)), None)
    if published is None:
        return Ledger()
    return Ledger(
        published.epoch,
        published.entries[-1].sequence,
        record.rollout,
        record.last_version,
        record.routing.activations,
        tuple(replace(said, at=LONG_AGO) for said in unwanted(record.statements)),
        record.git.primary_by,
        record.contract and replace(record.contract, at=LONG_AGO),
    )
