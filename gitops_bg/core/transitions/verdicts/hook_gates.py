"""The step that asks hooks: it begins to ask, reads answers, and acts on them (flagger.md §3.4).

Too many refusals before promotion: abort and hold. A rollback hook that accepts: back at once. An unreachable backend
neither promotes nor rolls back. No hook is asked about a rollback, and none blocks one (I6).
"""

from collections.abc import Iterator
from dataclasses import replace

from gitops_bg.core.checks.analysis import has_passed_analysis, is_in_preview, is_shown
from gitops_bg.core.checks.gates import waits_only_for_hooks
from gitops_bg.core.checks.hooks.queries import (
    answered,
    describe,
    goes_forward,
    has_passed,
    hooks_of,
    is_judged_live,
    is_skipped,
    run_of,
)
from gitops_bg.core.checks.hooks.timing import ASKS_THE_PREVIEW, CONFIRM_PROMOTION, ROLLBACK, asked_about
from gitops_bg.core.model.hooks import (
    Answer,
    Hook,
    HookRun,
    HookType,
    expires_at,
    failure_limit_exceeded,
    has_accepted,
    id_of,
    take,
)
from gitops_bg.core.model.record import Cause, Event, SwitchKind
from gitops_bg.core.model.version import Version
from gitops_bg.core.plan.hook_calls import CONFIRM_ROLLOUT, PRE_ROLLOUT, ROLLOUT
from gitops_bg.core.transitions.traffic.abort import abort_rollout
from gitops_bg.core.transitions.verdicts.analysis import leave
from gitops_bg.core.world import World

ASKED = (CONFIRM_ROLLOUT, ROLLBACK, PRE_ROLLOUT, ROLLOUT, CONFIRM_PROMOTION)
"""The types that answer a question, in the order in which they are asked; the others only listen (`notifications`)."""


def take_hook_answers(world: World) -> World:
    """Read the answers of hooks, and act on them."""
    for step in (_drop_stale, _take_in, _expire, _draw_consequences):
        world = step(world)
    return world


def begin_hooks(world: World) -> World:
    """Begin to ask the hooks that are due, now that it is known which versions are available and on their way."""
    return _ask_people(_begin(_drop_stale(world)))


def _drop_stale(world: World) -> World:
    """Forget runs of former rollouts and of removed hooks; the last runs stay for the status."""
    kept = tuple(run for run in world.record.hook_state.runs if not _is_stale(world, run))
    return (
        world if kept == world.record.hook_state.runs else world.with_part(replace(world.record.hook_state, runs=kept))
    )


def _is_stale(world: World, run: HookRun) -> bool:
    version = world.record.version(run.digest)
    hooks = {(hook.name, hook.type): hook for hook in world.spec.strategy.hooks}
    hook = hooks.get((run.hook, run.type))
    if version is None or version.rollout != run.rollout or hook is None:
        return True
    if run.final and not _is_about_to_move(world, version):
        return True
    if run.type in ASKS_THE_PREVIEW and not has_accepted(run, hook) and not is_shown(world, version):
        return True  # Another version answers now: it is asked anew, once that is over.
    if run.type is ROLLBACK and _is_being_left(world, version):
        return True
    newest = max(one.rollout for one in world.record.hook_state.runs)
    return run.rollout != newest and not goes_forward(world, version) and not is_judged_live(world, version)


def _is_being_left(world: World, version: Version) -> bool:
    """Whether traffic is about to go back from it: if it stays after all, its hooks are asked anew."""
    return version.digest == world.record.routing.traffic and world.switch_kind is SwitchKind.ROLLBACK


def _take_in(world: World) -> World:
    answers = {called.id: called for called in world.observed.calls}
    for hook, run in tuple(asked_about(world)):
        called = answers.get(id_of(run, world.record.epoch))
        if called:
            world = _taken(world, hook, run, take(run, hook, called))
    return world


def _taken(world: World, hook: Hook, before: HookRun, after: HookRun) -> World:
    """Note the first refusal in the ledger; later ones are only shown. A rollback hook refuses when all is well."""
    world = _with_run(world, before, after)
    is_first = before.refused == 0 < after.refused
    return _tell(world, hook, after) if is_first and hook.type is not ROLLBACK else world


def _tell(world: World, hook: Hook, run: HookRun) -> World:
    if hook.mute_alert:
        return world
    return world.noting(Event.HOOK_REFUSED, to=world.record.version(run.digest), reason=answered(world, hook, run))


def _expire(world: World) -> World:
    """Apply deadlines, including those that somebody has just changed."""
    for hook, run in tuple(asked_about(world)):
        moment = expires_at(run, hook, world.resumed_at)
        expired = moment is not None and world.now >= moment
        if expired is not run.expired:
            after = replace(run, expired=expired)
            world = _with_run(world, run, after)
            if expired:
                version = world.record.version(run.digest)
                world = world.noting(Event.HOOK_EXPIRED, to=version, reason=describe(world, hook, after))
    return world


def _draw_consequences(world: World) -> World:
    for hook, run in tuple(asked_about(world)):
        version = world.record.version(run.digest)
        says_no = failure_limit_exceeded(run, hook) or (hook.type is ROLLBACK and run.answer is Answer.ACCEPTED)
        if version is None or not says_no:
            continue
        reason, by = answered(world, hook, run), hook.title if hook.type is ROLLBACK else ""
        if goes_forward(world, version):
            world = abort_rollout(world, version, cause=Cause.HOOK_REFUSED, reason=reason, by=by)
        elif is_judged_live(world, version):
            world = leave(world, Cause.HOOK_REFUSED, reason, by)
    return world


def _begin(world: World) -> World:
    """Begin to ask each hook as soon as those before it have accepted."""
    for version, asked in tuple(_asked(world)):
        world = _begin_type(world, version, asked)
    return world


def _asked(world: World) -> Iterator[tuple[Version, HookType]]:
    """What hooks are asked about: what serves while it is judged, and what is on its way unless the app is frozen."""
    for version in world.record.versions:
        if is_judged_live(world, version):
            yield version, ROLLBACK
        elif goes_forward(world, version) and not world.frozen:
            yield from ((version, asked) for asked in ASKED)


def _begin_type(world: World, version: Version, asked: HookType) -> World:
    final = asked is CONFIRM_PROMOTION and world.incoming == version
    for hook in hooks_of(world, asked):
        if run_of(world, hook, version, final=final) is None and _may_begin(world, version, asked):
            run = HookRun(hook.name, asked, version.digest, version.rollout, world.now, final)
            world = world.with_part(replace(world.record.hook_state, runs=(*world.record.hook_state.runs, run)))
    return world


def _may_begin(world: World, version: Version, asked: HookType) -> bool:
    if asked in (CONFIRM_ROLLOUT, ROLLBACK):
        return True
    if version.available_since is None or is_skipped(world, version, asked):
        return False
    if asked is PRE_ROLLOUT:
        return is_in_preview(world, version)
    if asked is ROLLOUT:
        return is_in_preview(world, version) and has_passed(world, version, PRE_ROLLOUT)
    if world.incoming == version:
        return _is_about_to_move(world, version)
    return has_passed(world, version, PRE_ROLLOUT, ROLLOUT) and has_passed_analysis(world, version)


def _is_about_to_move(world: World, version: Version) -> bool:
    """Whether only hooks keep traffic from moving to it."""
    return world.incoming == version and waits_only_for_hooks(world, version)


def _ask_people(world: World) -> World:
    """Answer for a manual gate according to what somebody did to it."""
    for hook, run in tuple(asked_about(world)):
        if hook.manual:
            is_open = world.record.gate(hook.name) is not None
            answer = Answer.ACCEPTED if is_open else Answer.REFUSED
            since = world.now if run.answer is Answer.ACCEPTED and not is_open else run.since
            after = replace(run, answer=answer, accepted=max(run.accepted, int(is_open)), since=since)
            world = _with_run(world, run, after)
            world = _tell(world, hook, after) if run.answer is None and not is_open else world
    return world


def _with_run(world: World, before: HookRun, after: HookRun) -> World:
    if before == after:
        return world
    runs = tuple(after if run == before else run for run in world.record.hook_state.runs)
    return world.with_part(replace(world.record.hook_state, runs=runs))
