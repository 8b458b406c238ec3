"""The engine of a release group: ``decide_group(key, desired, observed, record, now) -> GroupDecision``.

In the manner of `core.engine`: steps bring the record up to date, then the actions are the difference between it and
what is live. The record is saved before the actions are carried out, so any of them may be the last that happens.

What becomes of a group whose folder left main, ``decide_left`` says: it ends, as its file said last, or serves on as it
is. It ends from outside to inside: first no request is led to it, then no Service of its own follows anything, then its
members end, and at last its ReleaseGroup goes, so that whoever dies in between goes on. Until then the folder may come
back. An accident ends nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery import analyses, gates, hooks, subject
from gitops_bg.core.delivery.ledger import (
    acknowledge_ledger,
    acknowledged,
    begun,
    recalled,
    record_state_changes,
    with_entry,
)
from gitops_bg.core.groups.attaching import attach, attaching_moments, claimable_routes, record_claimed_routes
from gitops_bg.core.groups.gates import gates_to_show
from gitops_bg.core.groups.inputs import DesiredGroup, ObservedGroup
from gitops_bg.core.groups.model import VersionStage, version_number
from gitops_bg.core.groups.plan import actions_of, contest_moments, due_now, write_to_git
from gitops_bg.core.groups.record import (
    ApplyGroup,
    DeleteGroup,
    DeleteRoute,
    DeleteService,
    GroupAction,
    GroupDecision,
    GroupRecord,
)
from gitops_bg.core.groups.registering import register_versions_of_main, reject_late
from gitops_bg.core.groups.requests import go_back_still, record_refused_commit
from gitops_bg.core.groups.subject import latest_start, round_of, step_of_group
from gitops_bg.core.groups.succession import succeed, taking_over, why_not_succeeded, why_unknown
from gitops_bg.core.groups.transition import (
    GATEWAY_STATUS_GRACE_SECONDS,
    advance,
    deadline_of,
    follow_active,
    give_up,
    let_go,
)
from gitops_bg.core.groups.world import GroupWorld, with_served_routes
from gitops_bg.core.model.actions import WithdrawPromotion
from gitops_bg.core.model.conditions import Phase, kstatus_of
from gitops_bg.core.model.desired import LedgerMemory
from gitops_bg.core.model.main import MainRead
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.status.events import group_events
from gitops_bg.core.status.groups import (
    conditions_of,
    conditions_of_invalid,
    conditions_of_lost,
    conditions_of_rewritten,
    standing_of,
)
from gitops_bg.core.transitions.notifications import notified
from gitops_bg.core.transitions.record import by_now

Steps = tuple[Callable[[GroupWorld], GroupWorld], ...]

SETTLE: Steps = (
    acknowledge_ledger,  # what Git has is not written again
)
"""What has become of what was decided before; that the Gateway has taken a step is asked where versions move."""

READ: Steps = (
    register_versions_of_main,  # what main names, and asks for once more; folders that are new, or have left
    reject_late,  # what has passed, or serves, gets nothing new without a promotion
    go_back_still,  # a way back whose record was lost
    step_of_group(subject.answer_requests),  # abort, and manual gates
    step_of_group(analyses.process_results),  # what hooks and measurements say: it may open the way, or lead back
)
"""What people, hooks and measurements say, in the order in which it counts."""

JUDGE: Steps = (
    step_of_group(analyses.begin_checks),  # the hooks and analyses of what is on its way, and of what has arrived
    give_up,  # the Gateway did not take a step in time
)
"""What speaks against a version: it is stopped, or left."""

AGE: Steps = (
    let_go,  # what requests have left, once nothing leads there
)
"""Which versions nothing needs any more."""

MOVE: Steps = (
    follow_active,  # another version is wanted, and every gate is open; or it is taken back
    advance,  # the Gateway has taken a step
    attach,  # requests come in by another Gateway, or for other hosts
)
"""Where requests are to go."""

TELL: Steps = (
    record_claimed_routes,  # who left main had them
    record_state_changes,  # suspended, invalid, back in main, rewritten
    record_refused_commit,  # main refuses the commit of a way back
)
"""What happened, for the ledger and for people; messages follow (`notified`)."""

STEPS: Steps = (*SETTLE, *READ, *JUDGE, *AGE, *MOVE, *TELL)
"""A decision, from top to bottom: the acts of an app's (`core.engine`)."""


def decide_group(
    key: GroupKey, desired: DesiredGroup, observed: ObservedGroup, record: GroupRecord, now: datetime
) -> GroupDecision:
    """Decide what to do about one group now, and what to remember. Pure; all times are UTC.

    A folder with a mistake changes nothing: what is live stays, and the conditions name the mistake.
    """
    if desired.main.is_older:
        return GroupDecision((), record, Phase.WAITING, silent=True, look_again=True)
    saved, record = record, by_now(record, now)  # First: what is new in it is told, and a corrected time is no news.
    if desired.spec is None and not desired.main.counts:
        return learnt(desired, saved, _with_events(record, _at_rest(desired, observed, record)))
    decision = _decided(key, desired, observed, record, now)
    decision = _with_events(record, notified(key, desired, observed, record, decision, now))
    return decision if observed.foreign else learnt(desired, saved, decision)


def learnt(desired: DesiredGroup, before: GroupRecord, decision: GroupDecision) -> GroupDecision:
    """Return the decision with the main that it was made from in its record, and silent where another agent knows
    more.
    """
    main, record = desired.main, decision.record
    is_silent = decision.silent or main.is_silent(changed=record != before)
    known = main.learnt(record.main, saved=record != before)
    events = () if is_silent else decision.events
    return replace(decision, record=replace(record, main=known), events=events, silent=is_silent)


def _with_events(before: GroupRecord, decision: GroupDecision) -> GroupDecision:
    """Return the decision with what happened in it, beside a record whose times are corrected."""
    return replace(decision, events=group_events(before, decision.record))


def _with_record(world: GroupWorld) -> GroupWorld:
    """Return the group with a record that has begun."""
    record = world.record
    if record.epoch:
        return world
    return replace(world, record=begun(record, world.observed.uid, world.spec.retry, world.observed.requests))


def _with_ledger(world: GroupWorld) -> GroupWorld:
    """Return the group with what the ledger knows of a former life, once that can be read."""
    memory = world.observed.memory
    return replace(world, record=recalled(world.record, memory)) if memory is not None else world


def _at_rest(desired: DesiredGroup, observed: ObservedGroup, record: GroupRecord) -> GroupDecision:
    """Decide nothing where main does not count and nobody can read what the record's main said: it has the routes."""
    record = replace(record, lost=desired.main.lost_after(record.lost))
    conditions = conditions_of_rewritten(observed, record) if record.lost else ()
    return GroupDecision((), record, Phase.DEGRADED, conditions, silent=not conditions)


def _decided(
    key: GroupKey, desired: DesiredGroup, observed: ObservedGroup, record: GroupRecord, now: datetime
) -> GroupDecision:
    if desired.spec is None or observed.foreign:
        return GroupDecision((), record, Phase.INVALID, conditions_of_invalid(desired, observed))
    world = GroupWorld(key, desired.spec, desired, observed, record, now)
    if not observed.uid:
        return GroupDecision((ApplyGroup(),), record, standing_of(world).phase, conditions_of(world))
    if record.succeeds and not desired.main.counts:
        return _at_rest(desired, observed, record)  # Whether the former name is gone, only a main that counts says.
    new = _with_record(world)
    world = succeed(_with_ledger(new))
    if actions := taking_over(world):
        return GroupDecision(actions, world.record, standing_of(world).phase, conditions_of(world))
    unreadable = why_not_succeeded(world)
    if unknown := unreadable or why_unknown(world):
        kept = record if unreadable else new.record  # What is asked for from now on is not answered yet.
        return GroupDecision((), kept, Phase.DEGRADED, conditions_of_lost(unknown))
    for step in STEPS:
        world = step(world)
    world = world.with_record(state=with_served_routes(world.state))
    return GroupDecision(
        actions=(
            *due_now(world, actions_of(world)),
            *(DeleteRoute(each.name, each.owner) for each in claimable_routes(world)),
        ),
        record=world.record,
        phase=standing_of(world).phase,
        conditions=conditions_of(world),
        gates=gates_to_show(world),
        wake_at=_wake_at(world),
        git=write_to_git(world),
        measurements=analyses.due(round_of(world)),
        calls=hooks.calls_due(round_of(world), "Promoting"),
    )


def _end_of_suspension(world: GroupWorld) -> tuple[datetime, ...]:
    suspend = world.spec.suspend
    return (suspend.until,) if suspend is not None and suspend.until is not None else ()


def _policies(world: GroupWorld) -> Iterable[datetime]:
    """Return when a policy says something else about the version that group.yaml names, and that is to be promoted."""
    if world.record.state.stage(world.spec.active) is not VersionStage.CANDIDATE:
        return ()
    return gates.moments(round_of(world), world.digest_of(world.spec.active))


def _wake_at(world: GroupWorld) -> datetime | None:
    """Return when a deadline passes, a measurement is due, a policy opens or shuts, a repair waits no longer, a silent
    Gateway counts as one that never says anything, or one that is not silent may have answered.
    """
    moving, left = world.record.transition, world.record.left_at
    since = moving.step_since if moving else left
    moments = [*_policies(world), *_end_of_suspension(world), *contest_moments(world)]
    moments += (*analyses.moments(round_of(world)), *hooks.moments(round_of(world)))
    moments += attaching_moments(world)
    latest = latest_start(world)
    if latest is not None:
        moments.append(latest)
    if since is not None:
        moments.append(since + timedelta(seconds=GATEWAY_STATUS_GRACE_SECONDS))
    if any(live.answered and live.accepted is None and not live.foreign for live in world.observed.routes.values()):
        moments.append(world.now + timedelta(seconds=GATEWAY_STATUS_GRACE_SECONDS))  # Nothing else tells of its answer.
    if moving is not None:
        moments.append(deadline_of(world, moving))
    return min((moment for moment in moments if moment > world.now), default=None)


_ENDS = "it ends, as deletionPolicy: delete says"


# --- a group whose folder left main ---


@dataclass(frozen=True, slots=True)
class LeftGroup:
    """A live group whose folder left main, and what it has."""

    key: GroupKey
    policy: DeletionPolicy = DeletionPolicy.KEEP
    """What its file said last."""
    kept: str = ""
    """Why it is kept, whatever the policy says; empty where nothing speaks for that."""
    routes: tuple[str, ...] = ()
    """Its own live HTTPRoutes."""
    services: tuple[str, ...] = ()
    """Its own live Services with the services' own names."""
    members: tuple[str, ...] = ()
    """The live apps of its services."""
    main: MainRead = MainRead()
    """The main that its folder left."""
    ledger_at: tuple[str, int] | None = None
    """As `GitView.ledger_at`."""
    memory: LedgerMemory | None = None
    """As `ObservedGroup.memory`."""
    branch: str = ""
    """The head of its promotion branch, where that is the agent's own, or main has it; empty: nothing is to go."""
    successor: str = ""
    """The release group that it is under another name, or is to be; empty where there is none."""
    taken_over: bool = False
    """Whether that one has begun to take over what this one has."""

    @property
    def ends(self) -> bool:
        """Whether it ends now."""
        return self.policy is DeletionPolicy.DELETE and not self.kept and not self.successor

    @property
    def leads_nowhere(self) -> bool:
        """Whether no request is led to its members by anything of its own: then they may end."""
        return not (self.routes or self.services)


def decide_left(left: LeftGroup, record: GroupRecord, now: datetime) -> GroupDecision:
    """Return what to do about the group now. Its record stays as it is but for the main, and what the ledger is told:
    the folder may come back.
    """
    phase = Phase.PROGRESSING if left.ends else Phase.DEGRADED
    told = _with_departure(left, record, now)
    said = f"the folder of the group left main; {_what_becomes(left, told)}"
    # First the ledger has what is told of it, as of an app: what waits in the record goes with the ReleaseGroup.
    actions = tuple(_deletions(left)) if left.ends and not told.ledger else ()
    told = replace(told, main=left.main.learnt(record.main, saved=told != record))
    git = (WithdrawPromotion("the group's folder left main"),) if left.branch else ()
    events = group_events(record, told)
    return GroupDecision(actions, told, phase, tuple(kstatus_of(phase, said)), git=git, events=events)


def _with_departure(left: LeftGroup, record: GroupRecord, now: datetime) -> GroupRecord:
    """Return the record with the entry that its folder left main; where it is to end, once nothing speaks against that,
    and where it is another group, once that one takes over, as of an app.
    """
    if left.ledger_at is not None:
        record = acknowledged(record, *left.ledger_at)
    if left.memory is not None:
        record = recalled(record, left.memory)
    is_kept = left.policy is DeletionPolicy.DELETE and bool(left.kept)
    is_awaited = not left.taken_over and (is_kept or bool(left.successor))
    if record.orphaned or is_awaited or not record.epoch:
        return record
    active = version_number(record.state.only(VersionStage.ACTIVE)) or None
    entry = LedgerEntry(0, now, Event.DELETED, from_version=active, commit=left.main.at.commit)
    if left.taken_over:
        entry = replace(entry, reason=_is_now(left))
    elif not left.ends:
        reason = "the group's folder has left main without deletionPolicy: delete; it keeps serving"
        entry = replace(entry, event=Event.ORPHANED, from_version=None, to_version=active, reason=reason)
    return with_entry(replace(record, orphaned=True), entry)


def _deletions(left: LeftGroup) -> Iterator[GroupAction]:
    """Yield the deletions, of one kind at a time: a Gateway that has a route still would answer 500 for a Service
    that is gone.
    """
    yield from map(DeleteRoute, left.routes)
    if not left.routes:
        yield from map(DeleteService, left.services)
    if left.leads_nowhere and not left.members:
        yield DeleteGroup(left.key.name, "its folder left main with deletionPolicy: delete")


def _is_now(left: LeftGroup) -> str:
    return f"it is the release group {left.successor} now"


def _what_becomes(left: LeftGroup, record: GroupRecord) -> str:
    if left.taken_over:
        return _is_now(left)
    if left.ends:
        return f"{_ENDS}: {_next_end(left, record)}"
    active = record.state.only(VersionStage.ACTIVE)
    serves = f"{active} serves on, with its Services and routes" if active else "it stays as it is"
    kept = left.kept if left.policy is DeletionPolicy.DELETE else ""
    heir = f"it may be the release group {left.successor} by now" if left.successor else ""
    why = "; ".join(filter(None, (heir, kept)))
    return f"{serves}, and nothing of it moves any more{why and f': {why}'}"


def _next_end(left: LeftGroup, record: GroupRecord) -> str:
    if record.ledger:
        return "first the ledger gets what is to be told of it"
    if not left.leads_nowhere:
        return "its routes and Services go"
    return f"{', '.join(left.members)} end with all they have" if left.members else "nothing of it is left"
