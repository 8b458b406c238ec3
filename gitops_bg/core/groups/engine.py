"""The engine of a release group: ``decide_group(key, desired, observed, record, now) -> GroupDecision``.

In the manner of `core.engine`: steps bring the record up to date, then the actions are the difference between it and
what is live. The record is saved before the actions are carried out, so any of them may be the last that happens.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from gitops_bg.core.delivery import analyses, hooks, operators, policies
from gitops_bg.core.delivery.ledger import acknowledge_ledger
from gitops_bg.core.delivery.restore import begun, recalled
from gitops_bg.core.delivery.standing import note_standing
from gitops_bg.core.groups.asking import step_of_group
from gitops_bg.core.groups.contests import contest_moments, due_now
from gitops_bg.core.groups.decision import ApplyGroup, DeleteRoute, GroupDecision
from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.gates import gates_to_show
from gitops_bg.core.groups.lost_record import why_unknown
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.notifications.messages import notified
from gitops_bg.core.groups.observed import ObservedGroup
from gitops_bg.core.groups.operators.holds import go_back_still
from gitops_bg.core.groups.plan import actions_of, write_to_git
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.registering import follow_main, reject_late
from gitops_bg.core.groups.reporting.history import learnt, note_refused_commit
from gitops_bg.core.groups.reporting.situations import standing_of
from gitops_bg.core.groups.reporting.status import (
    conditions_of,
    conditions_of_invalid,
    conditions_of_lost,
    conditions_of_rewritten,
)
from gitops_bg.core.groups.routes.attaching import attach, attaching_moments
from gitops_bg.core.groups.routes.rivals import tell_of_requests, to_take_over
from gitops_bg.core.groups.subject import latest_start, round_of
from gitops_bg.core.groups.succession import succeed, taking_over, why_not_succeeded
from gitops_bg.core.groups.transition import (
    GATEWAY_STATUS_GRACE_SECONDS,
    advance,
    deadline_of,
    follow_active,
    give_up,
    let_go,
)
from gitops_bg.core.groups.world import GroupWorld, with_served_routes
from gitops_bg.core.model.decision import Phase
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.transitions.record.clocks import by_now

Steps = tuple[Callable[[GroupWorld], GroupWorld], ...]

SETTLE: Steps = (
    acknowledge_ledger,  # what Git has is not written again
)
"""What has become of what was decided before; that the Gateway has taken a step is asked where versions move."""

READ: Steps = (
    follow_main,  # what main names, and asks for once more; folders that are new, or have left
    reject_late,  # what has passed, or serves, gets nothing new without a promotion
    go_back_still,  # a way back whose record was lost
    step_of_group(operators.answer_requests),  # abort, and manual gates
    step_of_group(analyses.take_results),  # what hooks and measurements say: it may open the way, or lead back
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
    tell_of_requests,  # who left main had them
    note_standing,  # suspended, invalid, back in main, rewritten
    note_refused_commit,  # main refuses the commit of a way back
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
        return learnt(desired, saved, _at_rest(desired, observed, record))
    decision = _decided(key, desired, observed, record, now)
    decision = notified(key, desired, observed, record, decision, now)
    return decision if observed.foreign else learnt(desired, saved, decision)


def _begun(world: GroupWorld) -> GroupWorld:
    """The group with a record that has begun."""
    record = world.record
    if record.epoch:
        return world
    return replace(world, record=begun(record, world.observed.uid, world.spec.retry, world.observed.requests))


def _recalled(world: GroupWorld) -> GroupWorld:
    """The group with what the ledger knows of a former life, once that can be read."""
    memory = world.observed.memory
    return replace(world, record=recalled(world.record, memory)) if memory is not None else world


def _at_rest(desired: DesiredGroup, observed: ObservedGroup, record: GroupRecord) -> GroupDecision:
    """Nothing moves where main does not count and nobody can read what the record's main said: it has the routes."""
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
    new = _begun(world)
    world = succeed(_recalled(new))
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
            *(DeleteRoute(each.name, each.owner) for each in to_take_over(world)),
        ),
        record=world.record,
        phase=standing_of(world).phase,
        conditions=conditions_of(world),
        gates=gates_to_show(world),
        wake_at=_wake_at(world),
        git=write_to_git(world),
        measurements=analyses.due(round_of(world)),
        notices=world.notices,
        calls=hooks.calls_due(round_of(world), "Promoting"),
    )


def _end_of_suspension(world: GroupWorld) -> tuple[datetime, ...]:
    suspend = world.spec.suspend
    return (suspend.until,) if suspend is not None and suspend.until is not None else ()


def _policies(world: GroupWorld) -> Iterable[datetime]:
    """When a policy says something else about the version that group.yaml names, and that is to be promoted."""
    if world.record.state.stage(world.spec.active) is not VersionStage.CANDIDATE:
        return ()
    return policies.moments(round_of(world), world.digest_of(world.spec.active))


def _wake_at(world: GroupWorld) -> datetime | None:
    """When a deadline passes, a measurement is due, a policy opens or shuts, a repair waits no longer, a silent Gateway
    counts as one that never says anything, or one that is not silent may have answered.
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
