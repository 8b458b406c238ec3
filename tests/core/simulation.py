"""A world of plain values for the engine to act on: Git, a cluster and a clock, and nothing that is real.

It carries out decisions as the adapters do, may stop after any write, and keeps the books that the invariants
which speak of histories (I4, I5, I6) are checked against.
"""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Self

from gitops_bg.core import names
from gitops_bg.core.checks.git import asks_main
from gitops_bg.core.checks.versions import warm_until
from gitops_bg.core.engine import decide
from gitops_bg.core.model import actions as act
from gitops_bg.core.model.analysis import MeasurementResult
from gitops_bg.core.model.auxiliary import Autoscaler, AuxiliaryObject
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.desired import Desired, LedgerMemory, Missing, Primary, Problem, Target
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.hooks import HookCall, HookResponse
from gitops_bg.core.model.journal import (
    AwaitsPoll,
    Entry,
    Journal,
    Merge,
    Named,
    PollCount,
    PullRequest,
    PullState,
    Retried,
    Targeted,
    in_order,
    offer_of,
)
from gitops_bg.core.model.main import Knowledge
from gitops_bg.core.model.observed import (
    AuxiliaryView,
    ConfigurationView,
    GitView,
    Observed,
    OperatorCommand,
    PodView,
    PromotionBranch,
    ReplicaSetView,
    Request,
    ServiceView,
)
from gitops_bg.core.model.policy_facts import PolicyInput
from gitops_bg.core.model.policy_rules import DateSpan, Policy, Windows
from gitops_bg.core.model.record import Event, LedgerEntry, Record
from gitops_bg.core.model.spec import AppSpec, PromoteVia, Retry, Strategy, Suspension
from gitops_bg.core.model.version import NO_METADATA, AppKey, ConfigurationRef, PodMetadata, Snapshot, Source, short
from gitops_bg.core.plan.chains import waits_for
from gitops_bg.core.transitions.journal import aborting, meant_in_full
from gitops_bg.core.transitions.versions import paused_versions
from gitops_bg.core.world import World
from tests.core.consistency import untimely

APP = AppKey("shop", "web")
START = datetime(2026, 1, 1, tzinfo=UTC)
COPY = AuxiliaryObject("HorizontalPodAutoscaler", "web-primary")
MOVES = (Event.DEPLOYED, Event.PROMOTED, Event.ROLLED_BACK)


class Crash(Exception):
    """The agent died right after a write."""


@cache
def template(tag: str) -> Snapshot:
    """The snapshot of the app at an image tag; ``2+a`` is image 2 with the ConfigMap ``settings`` that holds a."""
    image, _, held = tag.partition("+")
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"image": f"web:{image}"}]}}
    return snapshot_of(pod, [settings(held)] if held else [])


def settings(held: str) -> ConfigurationRef:
    """The ConfigMap ``settings`` of the folder, by what it holds."""
    return ConfigurationRef("ConfigMap", "settings", f"v1:{held.encode().hex():0>64}")


def manual(**changes: object) -> AppSpec:
    """An app that is promoted by merging, with a preview Service."""
    strategy = Strategy("web", "web-preview", auto_promotion_enabled=False, scale_down_delay_seconds=300)
    return AppSpec(APP, replace(strategy, **changes), PromoteVia.PULL_REQUEST)  # type: ignore[arg-type]


def automatic(**changes: object) -> AppSpec:
    """An app that the agent promotes itself."""
    return AppSpec(APP, replace(manual().strategy, auto_promotion_enabled=True, **changes))  # type: ignore[arg-type]


@dataclass
class Pods:
    """One ReplicaSet."""

    snapshot: Snapshot
    number: int
    replicas: int
    available: int = 0
    foreign: str = ""
    metadata: PodMetadata = NO_METADATA
    """What new pods get."""
    worn: PodMetadata = NO_METADATA
    """What those that are there carry."""
    members: list[tuple[str, datetime]] = field(default_factory=list)
    """The uid and the birth of each pod; the available ones first."""


@dataclass
class Simulation:
    """One app, its repository and its cluster."""

    spec: AppSpec
    replicas: int = 3
    now: datetime = START
    target: str | None = None
    primary: str | None = None
    primary_history: list[str | None] = field(default_factory=list)
    target_source: Source = field(default_factory=lambda: Source(""))
    primary_source: Source = field(default_factory=lambda: Source(""))
    pushes: list[tuple[Source, str, str]] = field(default_factory=list)
    """Every commit of the target, with its tag and the commit that it says it reverts."""
    named: list[tuple[Source, str | None]] = field(default_factory=list)
    """Every commit of primary.yaml, with the tag that it named from then on."""
    retried_by: Source | None = None
    """The last commit of app.yaml."""
    branch: str | None = None
    branch_base: str = ""
    pull: PullRequest | None = None
    """The pull request of the branch, as the forge shows it."""
    has_forge: bool = False
    merges: tuple[Merge, ...] = ()
    """What the forge answers of who merged."""
    protected: bool = False
    reachable: bool = True
    commits: int = 0
    app_uid: str = "5eed5eed-0000"
    exists: bool = False
    record: Record = field(default_factory=Record)
    pods: dict[str, Pods] = field(default_factory=dict)
    active: str | None = None
    """The digest that the active Service selects; empty text where its selector was wiped; None: no Service."""
    copies: dict[str, ConfigurationView] = field(default_factory=dict)
    """The live copies of ConfigMaps, by name."""
    unlisted: tuple[str, ...] = ()
    more: dict[str, str | None] = field(default_factory=dict)
    """The same of the other active Services, by name."""
    marks: dict[str, str] = field(default_factory=dict)
    """Which withdrawn switch each of them is marked with."""
    preview: str | None = None
    requests: tuple[Request, ...] = ()
    measured: tuple[MeasurementResult, ...] = ()
    answers: tuple[HookResponse, ...] = ()
    bad_tags: set[str] = field(default_factory=set)
    history_rewritten: str = ""
    problems: tuple[Problem, ...] = ()
    policies: tuple[Policy, ...] = ()
    in_git: bool = True
    ledger: list[LedgerEntry] = field(default_factory=list)
    moves: list[tuple[str, str]] = field(default_factory=list)
    seen: Desired | None = None
    memory: LedgerMemory | None = None
    """What the ledger knows, where the record is gone."""
    looks: int = 0
    """How often the agent looked at main."""
    unseen: bool = False
    """Nobody has looked at Git yet."""
    tags: dict[str, str] = field(default_factory=dict)
    deleted: bool = False
    late_endpoints: set[str] = field(default_factory=set)
    """The Services whose EndpointSlices still hold the pods of another version, too."""
    budget_refuses: bool = False
    """A PodDisruptionBudget that spares no pod."""
    autoscaler: Autoscaler | None = None
    """The one in Git."""
    auxiliary_objects: dict[AuxiliaryObject, str] = field(default_factory=dict)
    """Those that are live; of the autoscaler's copy with the name of the ReplicaSet that it scales."""
    evicted: int = 0
    born: int = 0
    refuses: Callable[[act.Action], bool] = lambda action: False
    """What the API server does not take, as the act loop bears it: what depends on it is not tried in that pass."""

    def copied(self) -> Self:
        """One that goes its own way from here on; what both hold is immutable."""
        own = copy(self)
        for each in fields(self):
            if isinstance(value := getattr(self, each.name), list | dict | set):
                setattr(own, each.name, copy(value))
        own.pods = {name: replace(pods, members=[*pods.members]) for name, pods in self.pods.items()}
        return own

    # --- what people do -------------------------------------------------------------------------------------

    def commit(self, subject: str) -> Source:
        self.commits += 1
        return Source(f"{self.commits:040x}", "Ada <ada@example.com>", self.now, subject, self.commits)

    def push(self, tag: str, reverts: str = "") -> str:
        """Set the target; ``reverts`` is the commit that the message says it reverts. Returns the new commit."""
        self.target, self.target_source = tag, self.commit(f"web {tag}")
        self.pushes.append((self.target_source, tag, reverts))
        self.tags[template(tag).digest] = tag
        return self.target_source.commit

    def set_primary(self, tag: str | None, subject: str = "promote") -> None:
        self.primary_history.append(self.primary)
        self.primary, self.primary_source = tag, self.commit(subject)
        self.named.append((self.primary_source, tag))
        if tag:
            self.tags[template(tag).digest] = tag

    def merge(self) -> None:
        """Merge the promotion branch, if there is one."""
        if self.branch:
            self.set_primary(self.branch, "merge the promotion")
            self.branch = None

    def pull_is(self, state: PullState) -> None:
        """The forge's thread sees the pull request of what the branch offers so, now."""
        version = self.record.version(template(self.branch or self.target or "").digest)
        if version is not None:
            offer, seen_at = offer_of(version, self.spec), AwaitsPoll((("simulation", self.looks),))
            by = "ada" if state is PullState.CLOSED else ""
            self.pull = PullRequest(7, "https://forge/pulls/7", state, offer, by, seen_at)

    def revert_promotion(self) -> None:
        if self.primary_history and self.primary_history[-1]:
            self.set_primary(self.primary_history.pop(), "revert the promotion")
            self.primary_history.pop()

    def revert_target(self, to: str) -> str:
        active = self.record.version(self.record.routing.traffic)
        return self.push(to, reverts=active.source.commit if active else "")

    def ask(self, verb: OperatorCommand, to_version: int | None = None, gate: str = "", *, force: bool = False) -> None:
        """What the command line does: it asks about what it sees in the cluster, beside what others asked for."""
        fetched = self.seen
        main = Desired("", Missing.UNSEEN, Missing.UNSEEN, knowledge=Knowledge.UNKNOWN)  # an abort reads no Git
        main = self.desired() if verb is not OperatorCommand.ABORT else main
        self.seen = fetched  # what a command reads, the agent has not seen
        seen = World(self.spec, main, self.observed(), self.record, self.now)
        self.commits += 1
        said = Request(str(self.commits), verb, "ada", self.now, "because", to_version, gate, force)
        waiting = (each for each in self.requests if not self.record.operator.has_answered(each.id))
        self.requests = (*waiting, replace(said, about=named_by(verb, seen), live=self.record.routing.traffic))

    def answer(self, replies: Mapping[str, int | tuple[int, str]]) -> list[HookCall]:
        """Every hook that is called now answers with a status and a body, those without a reply not at all; a pass."""
        calls = [call for call in self.decide().calls if call.hook.name in replies]
        for call in calls:
            reply = replies[call.hook.name]
            status, text = reply if isinstance(reply, tuple) else (reply, "")
            self.answers = (*self.answers, HookResponse(call.id, status, self.now, text))
        self.step()
        self.answers = ()
        return calls

    def retry(self) -> None:
        if self.target:
            number = self.spec.retry.number + 1 if self.spec.retry else 1
            self.spec = replace(self.spec, retry=Retry(template(self.target).digest, number, "ada"))
            self.retried_by = self.commit("retry")

    def restart(self, seconds: float = 0) -> None:
        self.spec = replace(self.spec, restart_at=self.now + timedelta(seconds=seconds))

    def suspend(self, until: datetime | None = None) -> None:
        self.spec = replace(self.spec, suspend=Suspension("incident", "ada", until))

    def freeze(self, until: datetime | None = None) -> None:
        """Somebody writes a policy that shuts every gate, for ever or until a moment; or removes it."""
        window = DateSpan(
            self.now.replace(tzinfo=None) - timedelta(days=1), until.replace(tzinfo=None) if until else None
        )
        self.policies = () if self.policies else (Policy("freeze", (Windows(deny=(window,)),)),)

    def resume(self) -> None:
        self.spec = replace(self.spec, suspend=None)

    # --- what the cluster does ------------------------------------------------------------------------------

    def pods_come_up(self) -> None:
        for pods in self.pods.values():
            bad = self.tags.get(pods.snapshot.digest) in self.bad_tags
            can_start = all(names.configuration_name(APP, ref) in self.copies for ref in pods.snapshot.configuration)
            pods.available = 0 if bad else pods.replicas if can_start else min(pods.available, pods.replicas)
            self._members(pods)

    def pods_fail(self, tag: str, available: int = 0) -> None:
        pods = self.pods.get(template(tag).digest)
        if pods:
            pods.available = min(available, pods.replicas)

    def delete_replica_set(self, tag: str) -> None:
        self.pods.pop(template(tag).digest, None)

    def autoscale(self, minimum: int = 2, maximum: int = 8) -> None:
        """Add an autoscaler to the folder, or take it away."""
        self.autoscaler = None if self.autoscaler else Autoscaler(COPY, minimum, maximum)

    def load(self, wanted: int) -> None:
        """So many pods are wanted: the autoscaler, where there is one, scales what it aims at, unless that is at 0."""
        aim = self.auxiliary_objects.get(COPY, "")
        for pods in self.pods.values():
            if (
                self.autoscaler
                and pods.replicas
                and names.replica_set_name(APP, pods.number, pods.snapshot.digest) == aim
            ):
                pods.replicas = self.autoscaler.within(wanted)
                pods.available = min(pods.available, pods.replicas)

    def later(self, **delta: float) -> None:
        self.now += timedelta(**delta)

    def rebuild_cluster(self) -> None:
        self.exists, self.record, self.active, self.preview = False, Record(), None, None
        self.pods.clear()
        self.copies.clear()
        self.auxiliary_objects.clear()
        self.marks.clear()
        self.app_uid = f"{self.commits:08x}-0000"

    # --- what the agent sees --------------------------------------------------------------------------------

    def desired(self) -> Desired:
        if self.unseen:
            return Desired("", Missing.UNSEEN, Missing.UNSEEN)
        if self.seen is None or self.reachable:
            target = Target(template(self.target), self.replicas, self.target_source) if self.target else Missing.ABSENT
            primary: Primary | Missing = Missing.ABSENT
            if self.primary:
                number = next(
                    (e.to_version for e in reversed(self.ledger) if e.to_digest == template(self.primary).digest), 0
                )
                primary = Primary(template(self.primary), number or 0, self.target_source, self.primary_source)
            self.seen = Desired(
                f"{self.commits:040x}",
                target,
                primary,
                problems=self.problems,
                policing=PolicyInput(self.policies) if self.policies else None,
                history_rewritten=self.history_rewritten,
                in_git=self.in_git,
                looks=PollCount("simulation", self.looks, self.looks),
                memory=self.memory if not self.record.epoch or self.record.unrecalled else None,
            )
            if self.autoscaler:
                self.seen = replace(self.seen, auxiliary_objects=(self.autoscaler.copy,), autoscaler=self.autoscaler)
            if not self.in_git:
                none = Missing.ABSENT
                gone = {"target": none, "primary": none, "auxiliary_objects": (), "autoscaler": None, "whole": False}
                self.seen = replace(self.seen, **gone)
        return replace(self.seen, journal=self._journal(self.seen))

    def _journal(self, seen: Desired) -> Journal:
        """What main said, as far as the engine asks for it."""
        asked, retry, by = (
            asks_main(self.spec, seen, self.record),
            self.spec.retry,
            self.retried_by or Source(seen.commit),
        )
        retried = [Entry(by, Retried(retry))] if retry is not None and asked.retries_after is not None else []
        names = self._names(asked.names_since) if asked.names_since else []
        return Journal(in_order(names, retried, self._targets() if asked.reverts else []), asked.names_since)

    def _names(self, commit: str) -> list[Entry]:
        """What primary.yaml named since the record's look at it, oldest first."""
        commits = [source.commit for source, _ in self.named]
        since = commits.index(commit) + 1
        return [Entry(source, Named(template(tag))) for source, tag in self.named[since:] if tag]

    def _targets(self) -> list[Entry]:
        """What main's history says of the newest push, and of the reverts right before it."""
        brought, found = {source.commit: template(tag) for source, tag, _ in self.pushes}, list[Entry]()
        for source, _, reverts in reversed(self.pushes):
            if found and not reverts:
                break
            said = Targeted(
                named=(reverts,) if reverts and not found else (),
                missing=(reverts,) if reverts and not found and reverts not in brought else (),
                commits=(reverts,) if reverts else (),
                taken_back=(brought[reverts],) if reverts in brought else (),
            )
            found.insert(0, Entry(source, said))
            if not reverts:
                break
        return found

    def observed(self) -> Observed:
        return Observed(
            app_uid=self.app_uid if self.exists else "",
            replica_sets=tuple(self._replica_set(pods) for pods in self.pods.values()),
            configurations=() if self.unlisted else tuple(self.copies.values()),
            unlisted=self.unlisted,
            active_service=self._service("web", self.active),
            more_active_services=tuple(
                view for name, digest in self.more.items() if (view := self._service(name, digest)) is not None
            ),
            preview_service=self._service("web-preview", self.preview),
            auxiliary_objects=tuple(
                AuxiliaryView(one, scale_target=aim) for one, aim in self.auxiliary_objects.items()
            ),
            pods=self._pods() if self.record.operator.restart and self.record.operator.restart.begun else None,
            requests=self.requests,
            measurements=self.measured,
            calls=self.answers,
            git=self._git(),
        )

    def _replica_set(self, pods: Pods) -> ReplicaSetView:
        name = names.replica_set_name(APP, pods.number, pods.snapshot.digest)
        ours = not pods.foreign
        view = ReplicaSetView(name, pods.snapshot, pods.replicas, pods.available, pods.number, ours, pods.foreign)
        return replace(view, metadata=pods.metadata, pods_outdated=pods.worn != pods.metadata)

    def _pods(self) -> tuple[PodView, ...]:
        return tuple(view for pods in self.pods.values() for view in self._members(pods))

    def _members(self, pods: Pods) -> list[PodView]:
        """The pods of a ReplicaSet: those that are missing are born as soon as somebody looks."""
        del pods.members[pods.replicas :]
        while len(pods.members) < pods.replicas:
            self.born += 1
            pods.members.append((f"pod-{self.born}", self.now))
        digest = short(pods.snapshot.digest)
        return [
            PodView(uid, uid, digest, born, born if place < pods.available else None)
            for place, (uid, born) in enumerate(pods.members)
        ]

    def older_than(self, moment: datetime | None) -> list[str]:
        """The pods that were born before."""
        return [view.uid for view in self._pods() if moment and view.created_at < moment]

    def _evict(self, action: act.EvictPod) -> None:
        """What the API server does, and the promise that fewer are never left than `maxUnavailable` says."""
        if self.budget_refuses:
            return
        pods = self.pods[action.digest]
        place = [uid for uid, _ in pods.members].index(action.uid)
        del pods.members[place]
        self.evicted += 1
        if place < pods.available:
            pods.available -= 1
            most_missing = max(1, self.spec.strategy.max_unavailable.of(pods.replicas))
            assert pods.available >= pods.replicas - most_missing, "too many at once"

    def _service(self, name: str, digest: str | None) -> ServiceView | None:
        if digest is None:
            return None
        selector = tuple(sorted(names.selector(APP, digest).items())) if digest else (("app", "web"),)
        pods = self.pods.get(digest)
        ready, late = pods.available if pods else 0, name in self.late_endpoints
        mark = self.marks.get(name, "")
        return ServiceView(name, short(digest), selector, ready_endpoints=ready, other_endpoints=late, withdrawn=mark)

    def _git(self) -> GitView:
        branch = (
            PromotionBranch(template(self.branch).digest, self.branch_base, offered_here=True) if self.branch else None
        )
        last = self.ledger[-1].sequence if self.ledger else 0
        return GitView(
            promotion=branch,
            pull=self.pull,
            has_forge=self.has_forge,
            merges=self.merges,
            main_refused="protected branch" if self.protected else "",
            unreachable="" if self.reachable else "connection refused",
            ledger_epoch=self.record.epoch,
            ledger_sequence=last,
        )

    # --- what the agent does --------------------------------------------------------------------------------

    def decide(self) -> Decision:
        decision = decide(self.spec, self.desired(), self.observed(), self.record, self.now)
        wrong = list(untimely(decision, self.now))
        assert not wrong, "; ".join(wrong)
        return decision

    def step(self, writes: int | None = None) -> Decision:
        """One pass of the agent; dies after ``writes`` writes (the record counts as one)."""
        self.looks += self.reachable and not self.unseen
        decision = self.decide()
        todo: list[Callable[[], None]] = []
        if decision.record != self.record:
            todo.append(lambda: setattr(self, "record", decision.record))
        todo.extend(lambda action=action: self.carry_out(action) for action in self._taken(decision))  # type: ignore[misc]
        for write in todo[:writes]:
            write()
        if self.record.operator.restart:
            self.later(milliseconds=1)  # No two passes of a real agent are at the same time.
        if writes is not None and writes < len(todo):
            raise Crash
        return decision

    def _taken(self, decision: Decision) -> list[act.Action]:
        """The actions that are carried out: those that are not refused, and depend on none that is."""
        taken: list[act.Action] = []
        failed: list[act.ClusterAction] = []
        for action in decision.actions:
            if isinstance(action, act.GitAction):
                taken.append(action)
            elif self.refuses(action) or any(waits_for(action, each) for each in failed):
                failed.append(action)
            else:
                taken.append(action)
        return taken

    def settle(self, *, limit: int = 40) -> int:
        """Pass after pass, pods coming up in between, until nothing is left to do; the number of passes."""
        for passes in range(limit):
            before = (self.record, self.observed(), self.primary, self.branch)
            decision = self.step()
            self.pods_come_up()
            if not decision.actions and before == (self.record, self.observed(), self.primary, self.branch):
                return passes
        raise AssertionError(f"not quiet after {limit} passes: {[str(action) for action in decision.actions]}")

    def carry_out(self, action: act.Action) -> None:
        match action:
            case act.ApplyApp():
                self.exists = True
            case act.DeleteApp():
                self.exists, self.deleted = False, True
                self.pods.clear()
                self.copies.clear()
                self.auxiliary_objects.clear()
                self.active = self.preview = None
            case act.ApplyConfiguration():
                self._apply_configuration(action)
            case act.DeleteConfiguration():
                self._delete_configuration(action)
            case act.CreateReplicaSet():
                self._create(action)
            case act.ScaleReplicaSet():
                pods = self.pods[action.digest]
                pods.replicas, pods.available = action.replicas, min(pods.available, action.replicas)
            case act.SyncPodMetadata():
                assert self.pods[action.digest].metadata == action.metadata
                self.pods[action.digest].worn = action.metadata
            case act.EvictPod():
                self._evict(action)
            case act.DeleteReplicaSet():
                self.pods.pop(action.digest, None)
            case act.RepairSelector():
                self._repair(action)
            case act.ApplyService():
                if action.role == act.ServiceRole.ACTIVE:
                    self._point(action.name, action.digest)
                else:
                    self.preview = action.digest
            case act.PointPreview():
                self.preview = action.digest
            case act.SwitchTraffic():
                self._switch(action)
            case act.MarkService():
                self.marks[action.name] = action.withdrawn
            case act.ApplyAuxiliaryObject():
                named = names.replica_set_name(APP, action.number or 0, action.digest)
                self.auxiliary_objects[action.auxiliary_object] = named
            case act.DeleteAuxiliaryObject():
                del self.auxiliary_objects[action.auxiliary_object]
            case act.CommitPrimary():
                self._commit_primary(action)
            case act.OfferPromotion():
                self.branch = self.tags[action.version.digest]
                self.branch_base = template(self.primary).digest if self.primary else ""
            case act.WithdrawPromotion():
                self.branch = None
            case act.PublishLedger():
                known = self.ledger[-1].sequence if self.ledger else 0
                self.ledger.extend(entry for entry in action.entries if entry.sequence > known)

    def _apply_configuration(self, action: act.ApplyConfiguration) -> None:
        """What it is to hold stands in what was read of Git last, or nobody could make it."""
        documents = [one for one in (self.desired().target, self.desired().primary) if one]
        assert any(action.ref in one.snapshot.configuration for one in documents), "of what?"
        assert action.repair == (action.name in self.copies) or self.unlisted
        self.copies[action.name] = ConfigurationView(action.ref.kind, action.name, action.ref.digest)

    def _delete_configuration(self, action: act.DeleteConfiguration) -> None:
        used = (ref for pods in self.pods.values() for ref in pods.snapshot.configuration)
        assert action.name not in {names.configuration_name(APP, ref) for ref in used}, "a ReplicaSet uses it"
        del self.copies[action.name]

    def _create(self, action: act.CreateReplicaSet) -> None:
        existing = self.pods.get(action.snapshot.digest)
        available = min(existing.available, action.replicas) if existing else 0
        made = Pods(action.snapshot, action.number, action.replicas, available, metadata=action.metadata)
        made.worn = existing.worn if existing else action.metadata
        made.members = existing.members if existing else []
        self.pods[action.snapshot.digest] = made

    def _switch(self, action: act.SwitchTraffic) -> None:
        view = self._service(action.name, self.active if action.name == "web" else self.more.get(action.name))
        assert action.expected_selector == (view.selector if view else ()), "compare-and-swap"
        assert self.pods[action.digest].available >= action.needs_available
        move = (action.from_digest, action.digest)
        self._point(action.name, action.digest)
        # The same switch written again (somebody undid it before it was settled) is one switch.
        if self.moves[-1:] != [move] and self.points_to() == {action.digest}:
            self.moves.append(move)

    def _repair(self, action: act.RepairSelector) -> None:
        view = self._service(action.name, self.active if action.name == "web" else self.more.get(action.name))
        assert view, "there is none"
        assert action.expected_selector == view.selector, "compare-and-swap"
        self._point(action.name, action.digest)

    def _point(self, name: str, digest: str) -> None:
        if name == "web":
            self.active = digest
        else:
            self.more[name] = digest

    def points_to(self) -> set[str | None]:
        """What the active Services select: one digest, except in the middle of a switch."""
        return {self.active, *(self.more.get(name) for name in self.spec.strategy.more_active_services)}

    def _commit_primary(self, action: act.CommitPrimary) -> None:
        assert not self.protected
        if self.reachable:
            self.set_primary(self.tags[action.version.digest], action.reason)

    # --- the books ------------------------------------------------------------------------------------------

    def tag(self, digest: str) -> str:
        """The tag of a digest; empty for none."""
        return self.tags.get(digest, "")

    @property
    def live(self) -> str:
        """The tag that live traffic really reaches."""
        return self.tag(self.active or "")

    @property
    def shown(self) -> str:
        """The tag that the preview Service reaches."""
        return self.tag(self.preview or "")

    @property
    def held(self) -> set[str]:
        return {self.tag(hold.digest) for hold in self.record.holds}

    def warm_until(self, number: int) -> datetime | None:
        """When a version that is retired goes to 0 pods, as far as time says so."""
        version = self.record.numbered(number)
        return warm_until(self.record, self.spec.strategy, version) if version else None

    def entries(self) -> list[LedgerEntry]:
        """All ledger entries made so far: those in Git, then those on their way."""
        known = self.ledger[-1].sequence if self.ledger else 0
        return self.ledger + [entry for entry in self.record.ledger if entry.sequence > known]

    def events(self) -> list[str]:
        return [entry.event.value for entry in self.entries()]

    def recorded_moves(self) -> list[tuple[str, str]]:
        return [(entry.from_digest, entry.to_digest) for entry in self.entries() if entry.event in MOVES]


def deployed(spec: AppSpec, tag: str = "1") -> Simulation:
    """An app whose first version is live."""
    return _deployed(spec, tag).copied()


@cache
def _deployed(spec: AppSpec, tag: str) -> Simulation:
    """Rolled out once for all tests that begin with it."""
    world = Simulation(spec)
    world.push(tag)
    world.settle()
    assert world.live == tag
    return world


def named_by(verb: OperatorCommand, world: World) -> tuple[str, ...]:
    """The digests that a request of somebody who sees this world is about (`Request.about`)."""
    if verb is OperatorCommand.ABORT:
        return tuple(each.digest for each in aborting(world).stops)
    if verb is OperatorCommand.PROMOTE:
        return paused_versions(world)
    return meant_in_full(world) if verb is OperatorCommand.PROMOTE_FULL else ()
