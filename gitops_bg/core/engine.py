"""The engine: ``decide(spec, desired, observed, record, now) -> Decision`` (DESIGN §5).

Read it top to bottom. First, steps bring the record up to date: each step takes a world and returns one with another
record. Then the actions are the difference between that record and what is live. The record is saved before the actions
are carried out, so any of them may be the last one that happens.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial

from gitops_bg.core.checks.gates import gates_to_show
from gitops_bg.core.checks.phase import is_to_go
from gitops_bg.core.checks.situations import flagger_phase, phase_of
from gitops_bg.core.checks.subject import listeners, round_of
from gitops_bg.core.checks.versions import APP, accepted, repair_is_due
from gitops_bg.core.delivery import analyses, hooks, messages, subject
from gitops_bg.core.delivery.ledger import record_state_changes
from gitops_bg.core.invariants import check
from gitops_bg.core.model.actions import (
    Action,
    ApplyApp,
    ApplyAuxiliaryObject,
    ApplyConfiguration,
    ApplyService,
    CreateReplicaSet,
    ScaleReplicaSet,
    SwitchTraffic,
)
from gitops_bg.core.model.decision import Decision, NamedInMain
from gitops_bg.core.model.desired import Desired
from gitops_bg.core.model.hooks import HookCall
from gitops_bg.core.model.observed import Observed
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.plan.auxiliary import auxiliary_actions, ending
from gitops_bg.core.plan.git import write_to_git
from gitops_bg.core.plan.services import (
    keep_active,
    keep_preview,
    mark_services,
    release,
    scale_deployment,
    switch_traffic,
)
from gitops_bg.core.plan.workloads import (
    by_priority,
    ensure_copies,
    evictions,
    grow,
    prune_copies,
    repair_copies,
    shrink,
    sync_pod_metadata,
)
from gitops_bg.core.status.conditions import conditions_of, counts_of
from gitops_bg.core.status.deadlines import waits_of, wake_at
from gitops_bg.core.status.events import app_events
from gitops_bg.core.transitions.adoption import settle_adoption
from gitops_bg.core.transitions.decisions import (
    record_divergence,
    record_offer,
    sync_entry_pull,
    sync_merge_metadata,
    sync_pull_request,
    track_extra_files,
)
from gitops_bg.core.transitions.journal import answer_main, follow_main, record_main, resume_rollback
from gitops_bg.core.transitions.notifications import alert_of, enqueue
from gitops_bg.core.transitions.proving import prove
from gitops_bg.core.transitions.record import record_departure, remember_last_read, restore_record, update_rollouts
from gitops_bg.core.transitions.switching import (
    choose_preview,
    decide_switch,
    record_ports,
    recover_traffic,
    settle_traffic,
)
from gitops_bg.core.transitions.verdicts import follow_triggers, step_of_app, watch_versions
from gitops_bg.core.transitions.versions import advance_restart, archive, choose_candidate, forget
from gitops_bg.core.world import World

Steps = tuple[Callable[[World], World], ...]

SETTLE: Steps = (
    restore_record,  # what Git has of it, and where it is new, what the ledger and the cluster still know
    recover_traffic,  # of a new record: where it still is
    remember_last_read,  # for the time when the folder cannot be read; and what left Git, until it is gone
    resume_rollback,  # continue a rollback that main has not followed
    settle_traffic,  # what the Services show: a switch came true, or is over; endpoints have followed
    settle_adoption,  # of Services that were taken over, given back, or went to another app
)
"""What has become of what was decided before: all else is read against where traffic is."""

READ: Steps = (
    follow_main,  # what main said up to the last change of primary.yaml, and what that names
    step_of_app(subject.answer_requests),  # abort, rollback --offline
    answer_main,  # what main said since: retries, reverts of pushes
    sync_pull_request,  # somebody closed the pull request, or reopened it
    sync_entry_pull,  # the same of the one that asks for a release
    sync_merge_metadata,  # who merged the version that serves, and who approved it
    step_of_app(analyses.process_results),  # what hooks and measurements say, and what follows
    choose_candidate,  # what the target names: register, supersede, cancel, retire
)
"""What people, hooks and measurements say, in the order in which it counts."""

JUDGE: Steps = (
    watch_versions,  # which are ready since when, which take too long, whether the serving one keeps its pods
    step_of_app(analyses.begin_checks),  # the hooks and analyses of available versions, and of the one just promoted
    follow_triggers,  # pods that fail, or are late; a version that nobody promotes
)
"""What speaks against a version: it is stopped, or left."""

AGE: Steps = (
    archive,  # warm versions whose delay is over
    forget,  # versions beyond the history limit, and analyses beyond theirs
)
"""Which versions nothing needs any more."""

MOVE: Steps = (
    decide_switch,  # every gate is open: write the switch down
    advance_restart,  # restartAt
    choose_preview,  # the target of the preview Service
    record_ports,  # the ports that each version is served with
)
"""Where traffic is to go."""

TELL: Steps = (
    record_divergence,  # main refuses the commit of an emergency
    track_extra_files,  # what people add to the promotion branch
    record_offer,  # the version that the agent itself puts on the promotion branch
    record_state_changes,  # suspended, invalid, adopted, rewritten
    record_departure,  # its folder left main
    prove,  # for how long the release that serves has served without a break
    update_rollouts,  # when each rollout began, how long it waited, how it ended
    enqueue,  # notify the hooks that listen of what these steps did
)
"""What happened, for the ledger and for people."""

STEPS: Steps = (*SETTLE, *READ, *JUDGE, *AGE, *MOVE, *TELL)
"""A decision, from top to bottom."""


def decide(spec: AppSpec, desired: Desired, observed: Observed, record: Record, now: datetime) -> Decision:
    """Decide what to do about one app now, and what to remember. Pure; all times are UTC."""
    world = World(spec, desired if desired.knowledge.counts else desired.unread(), observed, record, now)
    if desired.main.is_older:
        return Decision(actions=(), record=record, phase=phase_of(world), look_again=True, silent=True)
    if not observed.app_uid or observed.app_foreign:
        return _answer(world, _begin(world))
    world = accepted(world)
    for step in STEPS:
        world = step(world)
    world = record_main(world, record)
    actions = _actions(world)
    check(world, actions)
    events = app_events(spec.app, record, world.record, now)
    is_silent = desired.main.is_silent(changed=world.record != record)
    return replace(_answer(world, actions), events=events, silent=is_silent)


def _begin(world: World) -> tuple[Action, ...]:
    """Create the object that keeps the record first, unless it is somebody else's."""
    return () if world.observed.app_foreign or not world.desired.in_git else (ApplyApp(),)


def _actions(world: World) -> tuple[Action, ...]:
    """Return the actions, in an order that keeps every prefix safe: route, grow, shrink, what no traffic depends on,
    then Git.

    An error that passes ends a pass, so what traffic needs comes first: a decided switch, the live Services, the pods
    of the serving version; only then what is for a new version. A refused action (by a quota, a policy, missing rights)
    holds up what depends on it, see ``plan.chains``.
    """
    if is_to_go(world):
        return write_to_git(world) or (() if world.record.ledger else ending(world))
    actions = _all_actions(world)
    return (
        tuple(action for action in actions if _needs_no_owner(world, action)) if world.observed.app_going else actions
    )


def _needs_no_owner(world: World, action: Action) -> bool:
    """Return whether an action may run while somebody deletes the app's object.

    Creating or repairing may not: owned objects would be deleted with it.
    """
    match action:
        case ApplyApp() | CreateReplicaSet() | ApplyConfiguration() | ApplyService() | ApplyAuxiliaryObject():
            return False
        case SwitchTraffic():
            return not action.create
        case ScaleReplicaSet():
            return world.replica_set(action.digest) is not None
        case _:
            return True


def _all_actions(world: World) -> tuple[Action, ...]:
    is_due = world.observed.app_drifted and repair_is_due(world, APP, world.spec.app.name)
    repair: tuple[Action, ...] = (ApplyApp(),) if is_due else ()
    needed, served, new = by_priority(world)
    prepared = ensure_copies(world, new)
    return (
        *switch_traffic(world),
        *mark_services(world),
        *keep_active(world),
        *grow(world, needed),
        *keep_preview(world),
        *shrink(world),
        *repair,
        *grow(world, served),
        *prepared,
        *grow(world, new),
        *prune_copies(world),
        *sync_pod_metadata(world),
        *evictions(world),
        *scale_deployment(world),
        *release(world),
        *repair_copies(world, prepared),
        *auxiliary_actions(world),
        *write_to_git(world),
    )


def _answer(world: World, actions: tuple[Action, ...]) -> Decision:
    phase, gates = phase_of(world), gates_to_show(world)
    target, primary = world.target, world.desired.primary
    return Decision(
        actions=actions,
        record=world.record,
        phase=phase,
        conditions=conditions_of(world, gates),
        gates=gates,
        wake_at=wake_at(world, gates),
        waits=waits_of(world, gates),
        counts=counts_of(world),
        target=NamedInMain(world.target_digest, target.source.commit) if target else None,
        primary=NamedInMain(world.primary_digest, primary.changed_by.commit) if primary else None,
        calls=_calls(world) if world.spec.strategy.hooks else (),
        measurements=analyses.due(round_of(world)) if world.record.analyses.runs else (),
        pull=world.observed.git.pull,
        environment=world.spec.environment,
    )


def _calls(world: World) -> tuple[HookCall, ...]:
    record = world.record
    told = messages.calls_due(record.outbox, listeners(world), record.epoch, world.now, partial(alert_of, world))
    return (*hooks.calls_due(round_of(world), flagger_phase(world)), *told)
