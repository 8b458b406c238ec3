"""The engine: ``decide(spec, desired, observed, record, now) -> Decision`` (DESIGN §5).

Read it top to bottom. First the record is brought up to date, step by step: each step takes a world and returns
one with another record. Then the actions are read off as the difference between that record and what is live.
The record is saved before the actions are carried out, so any of them may be the last one that happens.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from gitops_bg.core.actions import (
    Action,
    ApplyApp,
    ApplyCompanion,
    ApplyConfiguration,
    ApplyService,
    CreateReplicaSet,
    DeleteApp,
    ScaleReplicaSet,
    SwitchTraffic,
)
from gitops_bg.core.analysis.judging import begin_runs, judge, measurements_due
from gitops_bg.core.decision import Decision, Named
from gitops_bg.core.desired import Desired
from gitops_bg.core.hooks.consulting import ask, calls_due, consult
from gitops_bg.core.hooks.telling import deliveries_due, flagger_phase, tell
from gitops_bg.core.invariants import check
from gitops_bg.core.knowledge import Knowledge, is_silent, learn
from gitops_bg.core.lifecycle.accompanying import accompany, remember_companions
from gitops_bg.core.lifecycle.availability import note_availability
from gitops_bg.core.lifecycle.configuring import clear, mend, prepare
from gitops_bg.core.lifecycle.dressing import dress
from gitops_bg.core.lifecycle.restarting import evictions, note_restart
from gitops_bg.core.lifecycle.retention import archive, follow_delays
from gitops_bg.core.lifecycle.scaling import grow, in_turn, shrink
from gitops_bg.core.lifecycle.versions import choose_candidate, forget
from gitops_bg.core.observed import Observed
from gitops_bg.core.record import Record
from gitops_bg.core.run_history import forget_runs
from gitops_bg.core.spec import AppSpec
from gitops_bg.core.status.clocks import trust_no_future
from gitops_bg.core.status.conditions import conditions_of, phase_of
from gitops_bg.core.status.counts import counts_of
from gitops_bg.core.status.memory import acknowledge_ledger, remember_size, restore_memory
from gitops_bg.core.status.rollouts import note_rollouts
from gitops_bg.core.status.standing import is_to_go, note_standing
from gitops_bg.core.status.timers import wake_at
from gitops_bg.core.status.waits import waits_of
from gitops_bg.core.traffic.draining import note_arrival
from gitops_bg.core.traffic.following import follow_primary, hear_what_passed, note_divergence
from gitops_bg.core.traffic.former import note_former_services
from gitops_bg.core.traffic.gates import gates_to_show
from gitops_bg.core.traffic.giving_up import give_up_expired, give_up_late
from gitops_bg.core.traffic.in_full import end_full
from gitops_bg.core.traffic.looking import note_look, resume_emergency
from gitops_bg.core.traffic.ports import note_ports
from gitops_bg.core.traffic.preview import choose_preview
from gitops_bg.core.traffic.probation import watch_active
from gitops_bg.core.traffic.promotion import note_offer, write_to_git
from gitops_bg.core.traffic.requests import answer_older_retry, answer_request, answer_retry
from gitops_bg.core.traffic.reverting import follow_target_revert, lift_by_older_revert, lift_by_revert
from gitops_bg.core.traffic.services import keep, mark, switch
from gitops_bg.core.traffic.switching import decide_switch, end_withdrawn, settle_switch, take_up
from gitops_bg.core.world import World

STEPS: tuple[Callable[[World], World], ...] = (
    acknowledge_ledger,  # what Git has by now need not be remembered
    trust_no_future,  # no wait counts from a moment that is still to come
    restore_memory,  # a record that begins takes what the ledger and the cluster still know
    take_up,  # and live traffic, where that still is
    resume_emergency,  # that main has not followed
    remember_size,  # for the time when the target cannot be read
    remember_companions,  # for then, too; and what left Git, until it is gone
    note_former_services,  # what app.yaml named before
    settle_switch,  # a switch decided before is true once the Service shows it
    end_withdrawn,  # and one that was withdrawn is over once it can only come too late
    note_arrival,  # the endpoints have followed the Service
    hear_what_passed,  # what primary.yaml named between two looks is an answer to what is older
    note_look,  # what main says was there before the emergency, or is an answer to it
    answer_older_retry,  # one that was there before primary.yaml was changed
    lift_by_older_revert,  # the revert of a revert, likewise
    follow_primary,  # somebody changed primary.yaml: that is a decision
    answer_request,  # abort, rollback --offline
    answer_retry,  # retry
    follow_target_revert,  # the push of the version that serves, or is about to, was reverted
    lift_by_revert,  # that revert was reverted
    consult,  # take in what hooks say, act on it
    judge,  # take measurements in, act on the verdicts of analyses
    choose_candidate,  # register, supersede, cancel, let go
    end_full,  # promote --full has done what it was for
    note_availability,  # who is ready since when, and who takes too long
    ask,  # hooks that have a say in what is on its way
    begin_runs,  # analyses of what is available, and of what has just been promoted
    watch_active,  # pods that fail after the switch
    give_up_late,  # progressDeadlineAbort
    give_up_expired,  # expireAfterSeconds
    decide_switch,  # every gate open: write the switch down
    note_restart,  # restartAt
    follow_delays,  # somebody changed a delay: it holds for versions let go before, too
    archive,  # warm versions whose time is up
    choose_preview,  # where the preview Service points
    note_ports,  # what each version is served with
    forget,  # history beyond its limit
    forget_runs,  # analyses beyond theirs
    note_divergence,  # main refuses the commit of an emergency
    note_offer,  # what the agent itself puts on the promotion branch
    note_standing,  # suspended, invalid, orphaned, rewritten
    note_rollouts,  # when each rollout began, how long it waited, how it ended
    tell,  # hooks that listen: what all these steps did
)


def decide(spec: AppSpec, desired: Desired, observed: Observed, record: Record, now: datetime) -> Decision:
    """What is to be done about one app now, and what is to be remembered. Pure; all times are UTC."""
    world = World(spec, desired if desired.knowledge.counts else desired.unread(), observed, record, now)
    if desired.knowledge is Knowledge.OLDER:
        return Decision(actions=(), record=record, phase=phase_of(world), look_again=True, silent=True)
    if not observed.app_uid or observed.app_foreign:
        return _answer(world, _begin(world))
    for step in STEPS:
        world = step(world)
    world = learn(world, record)
    actions = _actions(world)
    check(world, actions)
    return replace(_answer(world, actions), silent=is_silent(desired, record, world.record))


def _begin(world: World) -> tuple[Action, ...]:
    """There is nowhere to keep a record yet: create its object first, unless it is somebody else's."""
    return () if world.observed.app_foreign or not world.desired.in_git else (ApplyApp(),)


def _actions(world: World) -> tuple[Action, ...]:
    """In the order that keeps every prefix safe: route, grow, shrink, what no traffic depends on, then Git.

    The first that is refused ends a pass. So what traffic needs comes first: a switch that is decided, the pods of what
    serves, the Services; only then what may be refused to a new version (by a quota, a policy, missing rights).
    """
    if is_to_go(world):
        return write_to_git(world) or (() if world.record.ledger else (DeleteApp(),))
    actions = _all_actions(world)
    return (
        tuple(action for action in actions if _needs_no_owner(world, action)) if world.observed.app_going else actions
    )


def _needs_no_owner(world: World, action: Action) -> bool:
    """While somebody deletes the app's object nothing is made or repaired: what it would own would go with it."""
    match action:
        case ApplyApp() | CreateReplicaSet() | ApplyConfiguration() | ApplyService() | ApplyCompanion():
            return False
        case SwitchTraffic():
            return not action.create
        case ScaleReplicaSet():
            return world.replica_set(action.digest) is not None
        case _:
            return True


def _all_actions(world: World) -> tuple[Action, ...]:
    repair: tuple[Action, ...] = (ApplyApp(),) if world.observed.app_drifted else ()
    needed, served, new = in_turn(world)
    prepared = prepare(world, new)
    return (
        *switch(world),
        *mark(world),
        *grow(world, needed),
        *keep(world),
        *shrink(world),
        *repair,
        *grow(world, served),
        *prepared,
        *grow(world, new),
        *clear(world),
        *dress(world),
        *evictions(world),
        *mend(world, prepared),
        *accompany(world),
        *write_to_git(world),
    )


def _answer(world: World, actions: tuple[Action, ...]) -> Decision:
    phase, gates = phase_of(world), gates_to_show(world)
    target, primary = world.target, world.desired.primary
    return Decision(
        actions=actions,
        record=world.record,
        phase=phase,
        conditions=conditions_of(world, phase, gates),
        gates=gates,
        wake_at=wake_at(world, gates),
        waits=waits_of(world, gates),
        counts=counts_of(world),
        target=Named(world.target_digest, target.source.commit) if target else None,
        primary=Named(world.primary_digest, primary.changed_by.commit) if primary else None,
        calls=(*calls_due(world, flagger_phase(world)), *deliveries_due(world)) if world.spec.strategy.hooks else (),
        measurements=measurements_due(world),
    )
