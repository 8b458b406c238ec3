"""Brings one group at a time closer to what Git says: gather, decide, save, act, as for an app."""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.git_loop import GitLoop
from gitops_bg.agent.desired.git_writes import GitChange
from gitops_bg.agent.desired.reading import Reading
from gitops_bg.agent.forge.thread import ForgeThread
from gitops_bg.agent.groups.facts import GroupFacts, GroupGatherer
from gitops_bg.agent.groups.leaving import LeftGroups
from gitops_bg.agent.groups.members import has_pods
from gitops_bg.agent.observability.metrics import Metrics
from gitops_bg.agent.reconcile.contests import Contests
from gitops_bg.agent.reconcile.measurements import MeasurementRunner
from gitops_bg.agent.runtime.cpu_limit import cpu_limited
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.groups.group_cluster import GroupCluster, NoPodAnswers
from gitops_bg.core.delivery.ledger import news, publication
from gitops_bg.core.errors import LASTING, GitopsBgError
from gitops_bg.core.groups.contests import object_of
from gitops_bg.core.groups.decision import GroupAction, GroupDecision
from gitops_bg.core.groups.leaving import decide_left
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.record import GroupRecord, MemberState, TransitionKind, member_state
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.change_set import Change, ChangeSetEntry
from gitops_bg.core.model.drift import Drift
from gitops_bg.core.model.events import EVENTS, Notice, severity_of
from gitops_bg.core.model.hooks import Severity
from gitops_bg.core.model.policies.facts import Others
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.core.status.rollout_events import analysis_events, entry_message, ledger_events, runs
from gitops_bg.hooks.caller import HookCaller
from gitops_bg.spec.app.layout import Member, member_of

LOGGER = logging.getLogger(__name__)

SWITCH_KINDS = {TransitionKind.PROMOTION: SwitchKind.PROMOTION, TransitionKind.ROLLBACK: SwitchKind.ROLLBACK}
MOST_PASSES = 20
_MEMBER_NAME = re.compile(r".-v[1-9][0-9]*\Z")
LOOK_AGAIN = timedelta(seconds=1)
"""How soon a group is looked at again while its Gateway, or a member, has yet to follow: nothing is watched for it."""


@dataclass(frozen=True, slots=True)
class Background:
    """What works beside the looks: a pass begins with its results and ends with new orders."""

    measurements: MeasurementRunner
    hooks: HookCaller
    forge: ForgeThread


@dataclass(frozen=True, slots=True)
class LookResult:
    """The result of a look."""

    again_at: datetime | None
    members: frozenset[AppKey]
    """The members whose state may have changed."""


class GroupReconciler:
    """One thread calls it. ``clock`` gives UTC."""

    def __init__(
        self,
        catalog: Catalog,
        cluster: Cluster,
        groups: GroupCluster,
        metrics: Metrics,
        beside: Background,
        clock: Callable[[], datetime],
        git: GitLoop,
    ) -> None:
        self._catalog = catalog
        self._cluster = cluster
        self._groups = groups
        self._metrics = metrics
        self._beside = beside
        self._clock = clock
        self._git = git
        self._gatherer = GroupGatherer(catalog, cluster, groups)
        self._left = LeftGroups(catalog, cluster, groups)
        self._records: dict[GroupKey, GroupRecord] = {}
        self._members: dict[AppKey, Member] = {}
        self._deferred: set[AppKey] = set()
        """Apps without a folder that may be members: they are looked at once their groups were."""
        self._unread: set[GroupKey] = set()
        """The groups whose record could not be read since this process began, or was empty."""
        self._ending: set[GroupKey] = set()
        """The groups that left main, and whose members end with them."""
        self._contests = Contests()
        self._without_pods: dict[GroupKey, str] = {}
        """Why the last step of a group was not written: no pod answered where it leads."""

    def groups(self) -> Iterable[GroupKey]:
        """All groups of main."""
        groups = self._catalog.reading.groups
        self._beside.forge.keep_groups(groups)
        return dict.fromkeys((*groups, *list(self._records)))  # Those that left main are told so.

    @property
    def knows_main(self) -> bool:
        """Whether main was read, and counts."""
        return self._catalog.seen and not self._catalog.reading.followed.blind

    def left_in_cluster(self) -> Iterable[GroupKey] | None:
        """All live groups that main does not have, as far as it was read: they may have left while no agent ran, and
        where main does not count, what serves may have to go back. None until somebody has asked the remote.
        """
        if not (self._catalog.seen or self._catalog.unreachable):
            return None
        groups = self._catalog.reading.groups
        return [each for each in self._groups.live(self._catalog.namespaces) if each not in groups]

    def member(self, app: AppKey) -> Member | None:
        """Where a member belongs, by its folder in main, or by the last one; None for an app that is none."""
        entry = self._catalog.reading.entries.get(app)
        is_known = entry is not None and entry.config.folder  # Of an app that two folders claim nobody knows it.
        found = member_of(entry.config.folder) if entry is not None and is_known else self._members.get(app)
        if found is not None:
            self._members[app] = found
        return found

    def member_state(self, app: AppKey) -> MemberState | None:
        """Whether a member runs; None for an app that is none. Until its group was looked at, it waits; and where that
        fails, what has pods runs on, so that it can still go back.
        """
        found = self.member(app)
        if found is None:
            return MemberState.PENDING if self._may_be_member(app) else None
        if found.group in self._ending:
            return MemberState.DELETED
        record = self._records.get(found.group)
        if record is None:
            runs_on = found.group in self._unread and has_pods(self._cluster, app)
            return MemberState.RUNNING if runs_on else MemberState.PENDING
        state = member_state(record, found.service, found.version)
        # What its group has forgotten, and main does not have any more, was deleted.
        left = state is MemberState.PENDING and self._left_main(found)
        return MemberState.DELETED if left else state

    def _may_be_member(self, app: AppKey) -> bool:
        """Whether an app without a folder may still serve in a group that this process has not looked at."""
        reading = self._catalog.reading
        if app in reading.entries or not _MEMBER_NAME.search(app.name):
            return False
        unknown = any(each.namespace == app.namespace and each not in self._records for each in reading.groups)
        if unknown:
            self._deferred.add(app)
        return unknown

    def failed(self, group: GroupKey, error: GitopsBgError) -> frozenset[AppKey]:
        """Note that a look at a group failed; return the members whose state may have changed."""
        self._metrics.failed(group, error.reason)
        if isinstance(error, LASTING):
            self._catalog.board.failed(group)
        if group in self._records or group in self._unread:
            return frozenset()
        self._unread.add(group)
        return self._members_of(group)

    def _left_main(self, member: Member) -> bool:
        reading = self._catalog.reading
        config = reading.groups.get(member.group)
        if config is None or config.desired.spec is None or reading.followed.blind:
            return False
        version = config.desired.versions.get(member.version)
        return version is None or member.service not in version.services

    def reconcile(self, group: GroupKey) -> LookResult:
        """Look at a group and act until nothing is left to do at once. Raises the errors of ``core.errors``."""
        before, was_unread, ended = self._records.get(group), group in self._unread, group in self._ending
        decision, measured_by = None, None
        for _ in range(MOST_PASSES):
            decision, measured_by, wrote = self._pass(group)
            if not wrote:
                break
        after = self._records.get(group)
        differs = before != after or was_unread is not (group in self._unread) or ended is not (group in self._ending)
        changed = self._members_of(group) if differs else frozenset[AppKey]()
        again = min(filter(None, (self._again(decision), measured_by)), default=None)
        return LookResult(again, changed | self._deferred_until_now())

    def _deferred_until_now(self) -> frozenset[AppKey]:
        """Forget the deferred apps, to have them looked at; workers may defer more of them meanwhile."""
        return frozenset(self._deferred.pop() for _ in range(len(self._deferred)))

    def _members_of(self, group: GroupKey) -> frozenset[AppKey]:
        return frozenset(app for app, each in list(self._members.items()) if each.group == group)

    def _pass(self, group: GroupKey) -> tuple[GroupDecision | None, datetime | None, bool]:
        """Look once; return what was decided, until when measurements take at most, and whether it wrote."""
        self._cluster.demand_known(group.namespace)
        reading = self._catalog.reading
        facts = self._gatherer.gather(reading, group)
        if facts is None:
            self._contests.drop(group)
            self._catalog.board.forget(group)
            ended = self._leave(group)
            self._metrics.forget(group)
            return ended, None, ended is not None and bool(ended.actions)
        self._ending.discard(group)
        now = self._clock()
        facts = self._with_answers(facts, now)
        decision = self._decide(facts, reading, now)
        if decision.look_again:
            self._know(group, facts.seen.record)
            self._git.poll_soon()
            return None, None, False
        wrote = self._save(facts, decision, now)
        # What the record asks for is measured, and said, once the record is saved, so that no result counts twice.
        measured_by = self._beside.measurements.take_group(
            group, facts.observed.uid, decision.record, decision.measurements, self._clock()
        )
        self._beside.hooks.take(group, decision.calls)
        self._beside.forge.take(facts, decision, now)
        self._know(group, decision.record)
        if facts.observed.uid and not decision.silent:  # Without an object, nothing is saved.
            if decision.record.state.versions:  # Who remembers nothing has nothing to tell: what waits stays.
                self._submit(group, decision, facts.decided_from, facts.offered_head)
            self._tell_of(group, facts.observed.uid, facts.seen.record, decision)
        self._carry_out(group, facts.observed.uid, facts.config.body, decision)
        return decision, measured_by, wrote or bool(decision.actions)

    def _decide(self, facts: GroupFacts, reading: Reading, now: datetime) -> GroupDecision:
        group, board = facts.group, self._catalog.board

        def decide(others: Others) -> tuple[GroupFacts, GroupDecision]:
            known = facts.with_others(others)
            return known, cpu_limited(f"deciding on {group}", lambda: known.decide(now))

        asked = perf_counter()

        def note(decided: tuple[GroupFacts, GroupDecision]) -> None:
            known, decision = decided
            if reading.policies.asks_about_others and not decision.look_again:
                board.note(known.peer_after(decision, now, reading))

        _, decision = board.agreed(facts.policies, group, decide, note)
        self._metrics.decided(group, decision.phase, perf_counter() - asked)
        return decision

    def _save(self, facts: GroupFacts, decision: GroupDecision, now: datetime) -> bool:
        """Write the status, unless another agent knows more; return whether it was written."""
        if decision.silent:
            return False
        group, before = facts.group, facts.seen.record
        saved = self._groups.save(facts.seen, decision, facts.desired.commit, now, facts.observed.pull)
        if saved:
            self._catalog.record_saved(group, before.lost, decision.record.lost)
            self._beside.measurements.counted(group, before, facts.observed.measurements, decision.measurements)
            self._count(group, before, decision.record)
        self._describe(facts, decision)
        return saved

    def _count(self, group: GroupKey, before: GroupRecord, after: GroupRecord) -> None:
        """Count what a newly saved record adds to the former one."""
        for entry in news(before, after):
            self._metrics.event(group, entry.event)
        moved = after.moves[-1] if after.moves and after.moves[-1:] != before.moves[-1:] else None
        if moved is not None and before.transition is not None:
            seconds = (moved.at - before.transition.started_at).total_seconds()
            self._metrics.moved(group, SWITCH_KINDS[moved.kind], seconds)
        for old, run in runs(before, after):
            if not run.running and (old is None or old.running):
                self._metrics.analysed(group, run.stage, run.phase)

    def _describe(self, facts: GroupFacts, decision: GroupDecision) -> None:
        """Show the present state of the group."""
        group, record = facts.group, decision.record
        asked_for = facts.desired.spec.active if facts.desired.spec is not None else ""
        candidate = asked_for if record.state.stage(asked_for) is VersionStage.CANDIDATE else ""
        self._metrics.info(group, decision.phase, None, record.state.only(VersionStage.ACTIVE), candidate)
        self._metrics.ledger_waits(group, len(record.ledger))

    def _leave(self, group: GroupKey) -> GroupDecision | None:
        """End a group whose folder left main, if its file said so; else say that nobody decides on it any more, and
        what serves, serves on. None where there is nothing to look at again: also of a main that does not count, and of
        a group that another agent follows by now.
        """
        reading = self._catalog.reading
        if not self.knows_main or group in reading.groups:
            return None
        seen = self._groups.seen(group)
        main = self._catalog.main_read(reading, group, seen.record.main, seen.record.lost)
        if not main.counts:
            return None
        if seen.body is None or not self._groups.is_ours(seen.body):
            self._records.pop(group, None)
            self._ending.discard(group)
            return None
        left = self._left.look(reading, group, seen, main, self._clock())
        decision = decide_left(left, seen.record, self._clock())
        self._groups.save(seen, decision, decision.record.main.commit, self._clock())
        self._know(group, decision.record)
        if left.ends and left.leads_nowhere:
            self._ending.add(group)
        else:
            self._ending.discard(group)
        uid = str(seen.body["metadata"]["uid"])
        self._submit(group, decision, decision.record.main.commit, left.branch)
        self._tell_of(group, uid, seen.record, decision)
        self._carry_out(group, uid, {}, decision)
        return decision if left.policy is DeletionPolicy.DELETE or left.successor else None

    def _carry_out(self, group: GroupKey, uid: str, spec: Mapping[str, Any], decision: GroupDecision) -> None:
        self._without_pods.pop(group, None)
        for action in decision.actions:
            LOGGER.info("%s: %s", group, action)
            try:
                drift = self._groups.carry_out(group, spec, action)
            except NoPodAnswers as error:
                self._without_pods[group] = str(error)
                raise
            self._metrics.acted(group, type(action).__name__)
            if drift is not None:
                self._tell_of_repair(group, uid, action, drift)

    def _know(self, group: GroupKey, record: GroupRecord) -> None:
        """Know the group by its record, and which apps are its members."""
        self._take(group, record)
        for place in record.state.endpoints:  # Also those whose folder left main while they serve.
            app = AppKey(group.namespace, member_name(place.service, place.initial_version))
            self._members.setdefault(app, Member(group, place.initial_version, place.service))

    def _tell_of_repair(self, group: GroupKey, uid: str, action: GroupAction, drift: Drift) -> None:
        """Count a repair, and say it, unless it is one of a fight, which is said instead."""
        kind, name = object_of(group, action)
        entries = (ChangeSetEntry(kind, group.namespace, name, Change.CONFIGURED, drift),)
        for contest in self._contests.note(group, entries, self._clock()):
            self._tell(group, uid, Notice.CONTESTED, str(contest), warning=True)
        if not self._contests.repeats(group, entries):
            self._tell(group, uid, Notice.REPAIRED, f"{action}: {drift}")

    def _with_answers(self, facts: GroupFacts, now: datetime) -> GroupFacts:
        """Return the facts with what those beside have found since the last look."""
        group, beside = facts.group, self._beside
        shown, trouble = beside.forge.view(group), self._git.trouble(group)
        observed = replace(
            facts.observed,
            calls=beside.hooks.answers(group),
            measurements=beside.measurements.results(group, facts.seen.record, now),
            unwritten=str(trouble or ""),
            contests=self._contests.of(group),
            without_pods=self._without_pods.get(group, ""),
            pull=shown.pull if shown is not None else facts.observed.pull,  # Else as the status has it.
        )
        return replace(facts, observed=observed)

    def _take(self, group: GroupKey, record: GroupRecord) -> None:
        """Know the group by its record; by an empty one, which may be lost, nobody knows anything of its members."""
        if record.state.versions:
            self._records[group] = record
        else:
            self._records.pop(group, None)
            self._unread.add(group)

    def _submit(self, group: GroupKey, decision: GroupDecision, decided_from: str, seen: str | None = None) -> None:
        """Hand what Git is to get to the Git thread."""
        record = decision.record
        self._git.submit(group, GitChange((*publication(record), *decision.git), record, decided_from, seen=seen))

    def _tell_of(self, group: GroupKey, uid: str, before: GroupRecord, decision: GroupDecision) -> None:
        """Say and count what a newly saved record adds to the former one."""
        after = decision.record
        for entry in news(before, after):
            grave = severity_of(entry) is not Severity.INFO
            self._tell(group, uid, EVENTS[entry.event].reason, entry_message(entry), warning=grave)
        for one in (*ledger_events(before, after), *analysis_events(before, after)):
            self._tell(group, uid, one.reason, one.message, warning=one.warning)
        for notice, message in decision.notices:
            self._tell(group, uid, notice, message)

    def _tell(self, group: GroupKey, uid: str, reason: str, message: str, *, warning: bool = False) -> None:
        LOGGER.log(logging.WARNING if warning else logging.INFO, "%s: %s: %s", group, reason, message)
        self._metrics.kubernetes_event(group, "Warning" if warning else "Normal", reason)
        self._cluster.record_group_event(group, uid, reason, message, self._clock(), warning=warning)

    def _again(self, decision: GroupDecision | None) -> datetime | None:
        if decision is None:
            return None
        record = decision.record
        waits = record.transition is not None or record.left_at is not None or bool(decision.gates)
        waits = waits or bool(record.succeeds)  # The former name goes once its ledger is in Git.
        soon = self._clock() + LOOK_AGAIN if waits or not _is_ready(decision) else None
        return min(filter(None, (soon, decision.wake_at)), default=None)


def _is_ready(decision: GroupDecision) -> bool:
    return any(each.type == "Ready" and each.status for each in decision.conditions)
