"""What one agent sees, what the engine answers (each question is asked once), and how its actions are carried out.

The guards of the real adapters are here, too: the record's lock, compare-and-swap on selectors, what is read live
before a switch or a scale-down.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import NamedTuple

from gitops_bg.core import engine, names
from gitops_bg.core.checks.git import Asked, asks_main
from gitops_bg.core.checks.subject import round_of
from gitops_bg.core.delivery.analyses import due
from gitops_bg.core.model import actions as act
from gitops_bg.core.model.analysis import AnalysisPhase, MeasurementRequest, MeasurementResult
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.desired import (
    Desired,
    LedgerMemory,
    Missing,
    Primary,
    Problem,
    Target,
)
from gitops_bg.core.model.journal import (
    Entry,
    Journal,
    Named,
    PollCount,
    Retried,
    Saying,
    SuspensionChanged,
    Targeted,
    in_order,
)
from gitops_bg.core.model.main import Knowledge
from gitops_bg.core.model.main import Main as KnownMain
from gitops_bg.core.model.observed import (
    DeploymentView,
    GitView,
    Observed,
    OperatorCommand,
    PromotionBranch,
    ReplicaSetView,
    Request,
    SelectedPods,
    ServiceView,
)
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import AppSpec, Release, Retry, ScaleDown, Suspension
from gitops_bg.core.model.version import Snapshot, Source, short
from gitops_bg.core.status.deadlines import wake_at
from gitops_bg.core.transitions.record import update_rollouts
from gitops_bg.core.world import World
from tests.core.simulation import APP, template
from tests.exploration.apps.sameness import compared, named, nameless
from tests.exploration.apps.sayings import Said, said_of, untrue
from tests.exploration.moments import NOW, canonical, moved_back
from tests.exploration.world import (
    Agent,
    Branch,
    Cluster,
    Commit,
    Former,
    Ledger,
    Main,
    Pods,
    Pool,
    Pools,
    Settings,
)

SIZE = 2
"""The pods that the app asks for."""
FORMER = "old"
"""The Deployment that an app is adopted from."""


@cache
def snapshot(tag: str) -> Snapshot:
    return template(tag)


@cache
def digest(tag: str) -> str:
    return snapshot(tag).digest


TAGS = {digest(tag): tag for tag in (*"123456789", "x1", "x2", "x3")}


def tag_of(digest: str) -> str:
    """The tag of a digest; empty for none."""
    return TAGS.get(digest, "")


class Outcome(NamedTuple):
    """What the engine answered."""

    record: int
    cluster: tuple[act.Action, ...]
    git: tuple[act.Action, ...]
    wake: float | None
    measures: tuple[MeasurementRequest, ...] = ()
    look_again: bool = False
    """It knows an older main than the record: it is to read the remote first."""
    broken: str = ""


class Question(NamedTuple):
    """What the engine is asked, whatever the commits are called."""

    key: tuple[int, ...]
    """Equal for equal questions."""
    head: Commit | None
    spec: AppSpec
    desired: Desired
    observed: Observed
    main: KnownMain
    """The main of the record, as far as one can tell it from what main says now."""


FOR_PEOPLE = (update_rollouts,)
"""Steps that keep books which no decision reads, and which `moments.canonical` drops."""


def light(world: World, actions: tuple[act.Action, ...]) -> Decision:
    """The answer without what is only for people: conditions, phase, waits, counts. A fifth of all time."""
    return Decision(actions, world.record, Phase.HEALTHY, wake_at=wake_at(world), measurements=due(round_of(world)))


class Passes:
    """The engine over one app, with the memory of what it was asked.

    Worlds that are explored one after the other share it: equal parts have equal numbers in all of them.
    """

    def __init__(self, pools: Pools, spec: AppSpec) -> None:
        self.pools, self.spec = pools, spec
        self._answers: dict[tuple[object, ...], Outcome] = {}
        self._said: dict[tuple[object, ...], tuple[Outcome, Record]] = {}
        self._sayings: dict[tuple[object, ...], tuple[Said, tuple[str, ...]]] = {}
        self._specs: dict[object, AppSpec] = {}
        self._desired: dict[object, Desired] = {}
        self._observed: dict[object, Observed] = {}
        self._questions: Pool[object] = Pool()
        self._numbers: dict[int, int] = {}
        self._compared: dict[tuple[int, KnownMain], int] = {}
        self._later: dict[tuple[int, float], int] = {}
        self.led_on: set[tuple[int, ...]] = set()
        """The questions at which somebody has done what the status says."""

    @property
    def asked(self) -> int:
        """How often the engine was asked."""
        return len(self._said)

    def outcome(self, agent: Agent, cluster: int, record: int, verdict: str = "") -> Outcome:
        """What the engine says where the agent sees this."""
        key = (agent[:8], cluster, record, verdict)
        known = self._answers.get(key)
        if known is None:
            known = self._answers[key] = self._outcome(agent, cluster, record, verdict)
        return known

    def _outcome(self, agent: Agent, cluster_id: int, record_id: int, verdict: str) -> Outcome:
        asked, record = self.question(agent, cluster_id, record_id), self.pools.record[record_id]
        key = (asked.key, verdict)
        said = self._said.get(key)
        if said is None:
            nameless_record = record.with_part(replace(record.git, main=asked.main))
            observed = (
                replace(asked.observed, measurements=self._measured(asked.key, verdict)) if verdict else asked.observed
            )
            said = self._said[key] = self._decide(asked.spec, nameless(asked.desired), observed, nameless_record)
        outcome, after = said
        if outcome.record < 0:
            return outcome._replace(record=record_id)
        known = named(after, asked.main, record.git.main, asked.desired)
        return outcome._replace(record=self.pools.record.number(known))

    def question(self, agent: Agent, cluster_id: int, record_id: int) -> Question:
        """What the engine is asked where the agent sees this."""
        cluster, record = self.pools.cluster[cluster_id], self.pools.record[record_id]
        head = self.pools.main[agent.main][-1] if agent.main >= 0 else None
        spec = self.spec_of(head, cluster)
        desired = self.desired_of(agent, head, spec, record)
        observed = self.observed_of(agent, cluster_id, head, looks=_looks_at_former(spec, record))
        main = compared(record.git.main, desired)
        numbers = (self._number(spec), self._number(desired), self._number(observed))
        return Question((*numbers, self._without_names(record_id, main)), head, spec, desired, observed, main)

    def said(self, agent: Agent, cluster_id: int, record_id: int) -> tuple[Said, tuple[str, ...]]:
        """What the status says where the agent sees this, and what of it is not so."""
        asked = self.question(agent, cluster_id, record_id)
        known = self._sayings.get(asked.key)
        if known is None:
            cluster, record, desired = self.pools.cluster[cluster_id], self.pools.record[record_id], asked.desired
            counted = desired if desired.knowledge.counts else desired.unread()
            said = said_of(World(asked.spec, counted, asked.observed, record, NOW))
            live = tag_of(record.routing.traffic)
            read = None if desired.knowledge in (Knowledge.UNKNOWN, Knowledge.OLDER) else asked.head
            known = self._sayings[asked.key] = (said, tuple(untrue(said, read, agent, cluster, live)))
        return known

    def _number(self, part: AppSpec | Desired | Observed) -> int:
        """Of a part of a question, which is kept for good: worked out once."""
        known = self._numbers.get(id(part))
        if known is None:
            value = nameless(part) if isinstance(part, Desired) else part
            known = self._numbers[id(part)] = self._questions.number(value)
        return known

    def _without_names(self, record: int, main: KnownMain) -> int:
        known = self._compared.get((record, main))
        if known is None:
            value = self._questions.number(
                self.pools.record[record].with_part(replace(self.pools.record[record].git, main=main))
            )
            known = self._compared[record, main] = value
        return known

    def _decide(self, spec: AppSpec, desired: Desired, observed: Observed, record: Record) -> tuple[Outcome, Record]:
        """The record of the outcome is -1 where it stays as it is."""
        try:
            answer = engine.decide(spec, desired, observed, record, NOW)
        except Exception as error:  # every exception is a finding
            return Outcome(-1, (), (), None, broken=f"{type(error).__name__}: {error}"), record
        wake = (answer.wake_at - NOW) / timedelta(seconds=1) if answer.wake_at else None
        of_git = tuple(one for one in answer.actions if isinstance(one, act.GitAction))
        others = tuple(one for one in answer.actions if not isinstance(one, act.GitAction))
        after = -1 if answer.record == record else 0
        outcome = Outcome(after, others, of_git, wake, answer.measurements, answer.look_again)
        return outcome, canonical(answer.record)

    def _measured(self, question: tuple[int, ...], verdict: str) -> tuple[MeasurementResult, ...]:
        """What became of all that was to be measured where the same was asked before any answer."""
        due = self._said[question, ""][0].measures
        return tuple(MeasurementResult(one.id, AnalysisPhase(verdict), NOW) for one in due)

    def later(self, record: int, seconds: float) -> int:
        """A record after some time."""
        known = self._later.get((record, seconds))
        if known is None:
            moved = moved_back(self.pools.record[record], seconds)
            known = self._later[record, seconds] = self.pools.record.number(moved)
        return known

    # --- what it sees ---------------------------------------------------------------------------------------

    def spec_of(self, head: Commit | None, cluster: Cluster) -> AppSpec:
        """``app.yaml`` of main, or, where main was not read, of the live object."""
        settings = head.settings if head else cluster.applied
        known = self._specs.get(settings)
        if known is None:
            suspended, retry, released = settings
            known = self._specs[settings] = replace(
                self.spec,
                suspend=Suspension("incident", "ada") if suspended else None,
                retry=Retry(digest(retry[0]), retry[1], "ada") if retry[1] else None,
                release=Release(FORMER) if released else None,
            )
        return known

    def desired_of(self, agent: Agent, head: Commit | None, spec: AppSpec, record: Record) -> Desired:
        knowledge = self.knowledge(agent, head, record)
        begins = (not record.epoch or record.unrecalled) and head is not None
        key: tuple[object, ...] = (agent.main, agent.rewritten, agent.ledger if begins else None, knowledge)
        key = (*key, agent.process, agent.look)
        key, known = self._kept(key, lambda: self._desired_now(agent, head, knowledge, begins=begins))
        asked = asks_main(spec, known, record) if head else Asked()
        return self._kept((*key, asked), lambda: replace(known, journal=journal(self.pools.main[agent.main], asked)))[1]

    def _kept(self, key: tuple[object, ...], make: Callable[[], Desired]) -> tuple[tuple[object, ...], Desired]:
        """Each is kept for good, and known by its identity."""
        known = self._desired.get(key)
        if known is None:
            known = self._desired[key] = make()
        return key, known

    def knowledge(self, agent: Agent, head: Commit | None, record: Record) -> Knowledge:
        """How what the agent knows of main stands to the main that the record was decided from."""
        if head is None:
            return Knowledge.UNKNOWN
        if agent.rewritten:
            return Knowledge.REWRITTEN
        if record.git.main.commit in ("", head.id):
            return Knowledge.SAME
        if record.git.main.commit in self.pools.commits(agent.main) or head.generation > record.git.main.generation:
            return Knowledge.NEWER
        return Knowledge.UNKNOWN if agent.away else Knowledge.OLDER

    def _desired_now(self, agent: Agent, head: Commit | None, knowledge: Knowledge, *, begins: bool) -> Desired:
        if head is None:
            return Desired("", Missing.UNSEEN, Missing.UNSEEN, knowledge=knowledge)
        return Desired(
            head.id,
            _target(head),
            _primary(head, self.pools.main[agent.main]),
            problems=(Problem("target.yaml", "is no YAML"),) if head.target == "?" else (),
            history_rewritten=agent.rewritten,
            memory=_memory(agent.ledger) if begins else None,
            knowledge=knowledge,
            generation=head.generation,
            tree=repr(head.files),
            looks=PollCount(agent.process, agent.look, agent.look),
        )

    def observed_of(self, agent: Agent, cluster_id: int, head: Commit | None, *, looks: bool) -> Observed:
        """What is live; ``looks``: with the Deployment that the app was adopted from."""
        cluster = self.pools.cluster[cluster_id]
        drifted = head is not None and head.settings != cluster.applied
        key = (cluster_id, agent.branch, agent.ledger[:2], agent.away, agent.refused, drifted, looks)
        known = self._observed.get(key)
        if known is None:
            known = _observed(agent, cluster, drifted)
            if cluster.former is not None:
                known = replace(known, deployment=_former(cluster.former) if looks else None, other_services=())
            self._observed[key] = known
        return known


def _looks_at_former(spec: AppSpec, record: Record) -> bool:
    """Whether the agent reads the Deployment (`cluster.observation.on_demand.adopted_from`)."""
    if record.routing.traffic and (spec.release or record.release):
        return True
    stays = spec.adopt is None or spec.adopt.scale_down is ScaleDown.NEVER
    return not (stays or record.adopted is None or record.adopted.left)


def _former(former: Former) -> DeploymentView:
    if former.gone:
        return DeploymentView(FORMER, gone=True)
    return DeploymentView(FORMER, former.replicas, selector(""), available=former.available)


def _date(commit: str, *, backdated: bool) -> object:
    """Author dates of honest commits grow; one that was rebased keeps an old one."""
    return NOW - timedelta(days=9 if backdated else 1) + timedelta(seconds=int(commit or "0", 16) % 1000)


def _source(commit: str, subject: str, main: Main = (), *, backdated: bool = False) -> Source:
    landed = next((place for place, one in enumerate(main, 1) if one.id == commit), None)
    return Source(commit, "ada", _date(commit, backdated=backdated), subject, landed)  # type: ignore[arg-type]


def _target(head: Commit) -> Target | Missing:
    if head.target in ("", "?"):
        return Missing.UNREADABLE if head.target else Missing.ABSENT
    source = _source(head.brought_by, f"web {head.target}", backdated=head.backdated)
    return Target(snapshot(head.target), SIZE, source)


def journal(main: Main, asked: Asked) -> Journal:
    """What main said, as far as the engine asks."""
    suspended = (let_in(main, lambda commit: commit.suspended, SuspensionChanged()),) if asked.suspension else ()
    retried = retries(main, asked.retries_after) if asked.retries_after is not None else ()
    names = names_since(main, asked.names_since) if asked.names_since else ()
    targeted = targets(main) if asked.reverts else ()
    return Journal(in_order(suspended, tuple(names), tuple(retried), targeted), asked.names_since)


def let_in(main: Main, of: Callable[[Commit], object], says: Saying) -> Entry:
    """What app.yaml says now, by the commit since which it says so."""
    said = [of(one) for one in main]
    place = next((place for place in range(len(main) - 1, 0, -1) if said[place] != said[place - 1]), 0)
    return Entry(_source(main[place].id, "settings", main), says)


def retries(main: Main, since: int) -> Iterator[Entry]:
    """The retry of app.yaml, and those after a number that another one has replaced."""
    for tag, number in dict.fromkeys(one.retry for one in main if since < one.retry[1] < main[-1].retry[1]):
        source = _source(next(one.id for one in main if one.retry == (tag, number)), "settings", main)
        yield Entry(source, Retried(Retry(digest(tag), number, "ada")))
    tag, number = main[-1].retry
    yield let_in(main, lambda commit: commit.retry, Retried(Retry(digest(tag), number, "ada")))


def names_since(main: Main, since: str) -> Iterator[Entry]:
    """What primary.yaml named since a commit of main, oldest first; nothing where main lacks it."""
    seen = next((place for place, one in enumerate(main) if one.id == since), len(main))
    for one in main[seen + 1 :]:
        if one.named_by == one.id and one.primary:
            yield Entry(_source(one.id, f"promote {one.primary}", main), Named(snapshot(one.primary)))


def targets(main: Main) -> list[Entry]:
    """How the target came to be what it is: the newest change of it, and the reverts in a row right before it."""
    brought = {one.id: snapshot(one.target) for one in main if one.brought_by == one.id and one.target not in ("", "?")}
    found = list[Entry]()
    for one in reversed([one for one in main if one.brought_by == one.id]):
        if found and not one.reverts:
            break
        taken_back = tuple(brought[commit] for commit in one.reverts if commit in brought)
        said = Targeted(named=() if found else one.reverts, commits=tuple(one.reverts), taken_back=taken_back)
        found.insert(0, Entry(_source(one.brought_by, f"web {one.target}", main, backdated=one.backdated), said))
        if not one.reverts:
            break
    return found


def _primary(head: Commit, main: Main) -> Primary | Missing:
    if not head.primary:
        return Missing.ABSENT
    source = _source(head.source, f"web {head.primary}")
    return Primary(snapshot(head.primary), head.number, source, _source(head.named_by, f"promote {head.primary}", main))


def _memory(ledger: Ledger) -> LedgerMemory:
    return LedgerMemory(
        ledger.rollout,
        ledger.last_version,
        ledger.served,
        ledger.statements,
        primary_by=ledger.primary_by,
        contract=ledger.contract,
    )


def _observed(agent: Agent, cluster: Cluster, drifted: bool) -> Observed:
    branch = agent.branch
    return Observed(
        app_uid=f"{cluster.life:08x}" if cluster.exists else "",
        app_drifted=drifted and cluster.exists,
        app_going=cluster.going,
        replica_sets=tuple(
            ReplicaSetView(
                names.replica_set_name(APP, one.number, digest(one.tag)),
                snapshot(one.tag),
                one.replicas,
                one.available,
                one.number,
                pods=one.replicas,
                ready=one.available,
                metadata=one.metadata,
                pods_outdated=is_outdated(one),
                metadata_pending=is_outdated(one),
            )
            for one in cluster.sets
        ),
        active_service=_active_service(cluster),
        preview_service=service("web-preview", cluster, cluster.preview),
        requests=_requests(cluster.request),
        git=GitView(
            promotion=_offer(branch) if branch else None,
            main_refused="protected branch" if agent.refused else "",
            unreachable="connection refused" if agent.away else "",
            ledger_epoch=agent.ledger.epoch,
            ledger_sequence=agent.ledger.sequence,
        ),
    )


def _offer(branch: Branch) -> PromotionBranch:
    base = digest(branch[1]) if branch[1] else ""
    return PromotionBranch(digest(branch[0]), base, asks_for=branch[4], offered_here=True)


def service(name: str, cluster: Cluster, tag: str | None, mark: str = "") -> ServiceView | None:
    """A Service as it is seen; its endpoints are the available pods that it selects."""
    if tag is None:
        return None
    ready = cluster.available(tag) if tag else 0
    return ServiceView(name, short(digest(tag)) if tag else "", selector(tag), ready_endpoints=ready, withdrawn=mark)


def _active_service(cluster: Cluster) -> ServiceView | None:
    view = service("web", cluster, cluster.active, cluster.mark)
    if view is None or cluster.former is None:
        return view
    behind, others = cluster.behind, SelectedPods(("web",) if any(map(_has_own_labels, cluster.sets)) else ())
    if cluster.theirs:
        seen = {"ready_endpoints": sum(behind.values()), "other_endpoints": bool(behind.keys() - {""})}
        return replace(view, ours=False, owner="somebody's", unclaimed=True, **seen)
    return replace(view, before=selector("") if cluster.taken_over else (), selected=others)


def _has_own_labels(pods: Pods) -> bool:
    """Whether there are pods without a stand-in, which a Service that gets its selector back would have."""
    return bool(pods.replicas) and not pods.worn.labels


def is_outdated(pods: Pods) -> bool:
    """Whether pods that are there lack what new ones get."""
    return bool(pods.replicas) and pods.worn != pods.metadata


@cache
def selector(tag: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(names.selector(APP, digest(tag)).items())) if tag else (("app", "web"),)


def _requests(request: tuple[str, str] | None) -> tuple[Request, ...]:
    return (Request(request[0], OperatorCommand(request[1]), "ada", NOW, "because"),) if request else ()


# --- what it does -------------------------------------------------------------------------------------------


def carry_out(action: act.Action, cluster: Cluster, applied: Settings) -> Cluster | None:
    """The cluster after one write; None where the API server or a guard refuses it (``WorldChanged``)."""
    match action:
        case act.ApplyApp():
            return cluster._replace(exists=True, applied=applied)
        case act.CreateReplicaSet():
            return _create(action, cluster)
        case act.ScaleReplicaSet():
            return _scale(action, cluster)
        case act.DeleteReplicaSet():
            tag = tag_of(action.digest)
            return None if _is_selected(cluster, tag) else cluster.without(tag)
        case act.SyncPodMetadata():
            pods = cluster.pods(tag_of(action.digest))
            return cluster.with_pods(pods._replace(worn=action.metadata)) if pods else None
        case act.RepairSelector():
            same = _selects(cluster, action.expected_selector) and not cluster.theirs
            return cluster._replace(active=tag_of(action.digest)) if same else None
        case act.ApplyService(role=act.ServiceRole.ACTIVE):
            return None if cluster.theirs else cluster._replace(active=tag_of(action.digest))
        case act.ApplyService() | act.PointPreview():
            return cluster._replace(preview=tag_of(action.digest))
        case act.SwitchTraffic():
            return _switch(action, cluster)
        case act.MarkService():
            same = _selects(cluster, action.expected_selector) and cluster.theirs is action.adopts
            return cluster._replace(mark=action.withdrawn) if same else None
        case act.HandBack():
            return _hand_back(action, cluster)
        case act.ScaleDeployment():
            return _scale_former(action, cluster)
    raise AssertionError(f"the explored world knows no {action}")


def _selects(cluster: Cluster, expected: tuple[tuple[str, str], ...]) -> bool:
    """Whether the active Service is there, and has the selector that was seen."""
    return cluster.active is not None and selector(cluster.active) == expected


def _is_selected(cluster: Cluster, tag: str, *, alone: bool = False) -> bool:
    """Whether the active Service selects pods of a version; ``alone``: those of no other one."""
    pods = cluster.pods(tag)
    has_its_labels = cluster.former is not None and cluster.active == "" and pods is not None
    return cluster.active == tag or (has_its_labels and not alone and not pods.metadata.labels)  # type: ignore[union-attr]


def _hand_back(action: act.HandBack, cluster: Cluster) -> Cluster | None:
    if cluster.theirs or not _selects(cluster, action.expected_selector) or any(map(_has_own_labels, cluster.sets)):
        return None
    return cluster._replace(active="", theirs=True, taken_over=False, mark="")


def _scale_former(action: act.ScaleDeployment, cluster: Cluster) -> Cluster | None:
    former, is_selected = cluster.former, cluster.active == ""
    if former is None or former.gone or former.replicas != action.current:
        return None
    if action.replicas < action.current and is_selected:
        return None
    return cluster._replace(former=Former(action.replicas, min(former.available, action.replicas)))


def _create(action: act.CreateReplicaSet, cluster: Cluster) -> Cluster | None:
    tag = tag_of(action.snapshot.digest)
    before = cluster.pods(tag)
    if before and action.replicas < before.replicas and cluster.active == tag:
        return None
    if before and not action.repair:
        return None  # It exists by now.
    available = min(before.available, action.replicas) if before else 0
    worn = before.worn if before and before.replicas else action.metadata
    return cluster.with_pods(Pods(tag, action.number, action.replicas, available, action.metadata, worn))


def _scale(action: act.ScaleReplicaSet, cluster: Cluster) -> Cluster | None:
    tag = tag_of(action.digest)
    pods = cluster.pods(tag)
    if pods is None or pods.replicas != action.current:
        return None
    is_smaller = action.replicas < action.current and not action.serving
    if is_smaller and _is_selected(cluster, tag, alone=action.unpromoted):
        return None
    worn = pods.worn if pods.replicas else pods.metadata
    available = min(pods.available, action.replicas)
    return cluster.with_pods(pods._replace(replicas=action.replicas, available=available, worn=worn))


def _switch(action: act.SwitchTraffic, cluster: Cluster) -> Cluster | None:
    tag = tag_of(action.digest)
    pods = cluster.pods(tag)
    if pods is None or pods.available < action.needs_available:
        return None
    if action.create:
        return cluster._replace(active=tag) if cluster.active is None else None
    if not _selects(cluster, action.expected_selector) or cluster.theirs is not action.adopts:
        return None
    return cluster._replace(active=tag, theirs=False, taken_over=cluster.taken_over or action.adopts)
