"""The steps that ask the hooks of an app (`core.delivery.hooks`), and what follows from their answers.

Too many refusals before promotion: abort and hold. A rollback hook that accepts: back at once.
"""

from dataclasses import dataclass, replace

from gitops_bg.core.checks.gates import waits_only_for_hooks
from gitops_bg.core.checks.subject import AppSubject, round_as, round_of
from gitops_bg.core.delivery import hooks
from gitops_bg.core.delivery.hooks import Answered
from gitops_bg.core.delivery.subject import Round
from gitops_bg.core.model.hooks import Hook, HookRun, HookType
from gitops_bg.core.model.record import Cause, Event, SwitchKind
from gitops_bg.core.transitions.traffic.abort import abort_rollout
from gitops_bg.core.transitions.verdicts.analysis import leave
from gitops_bg.core.world import World


def take_hook_answers(world: World) -> World:
    """Read the answers of hooks, and act on them."""
    world = _drop_stale(world)
    answered = hooks.answered_by(round_of(world), {called.id: called for called in world.observed.calls})
    world = _with_runs(world, hooks.after(world.record.hook_state.runs, answered))
    for each in answered:
        world = _tell(world, each)
    for each in answered:
        world = _refuse(world, each.hook, each.after) if hooks.says_no(each.hook, each.after) else world
    return world


def begin_hooks(world: World) -> World:
    """Begin to ask the hooks that are due, now that it is known which versions are available and on their way."""
    world = _drop_stale(world)
    for version in world.record.versions if world.spec.strategy.hooks else ():
        world = _with_runs(world, hooks.begun(_asking(world), version.digest))
    return _ask_people(world)


@dataclass(frozen=True, slots=True)
class AskingApp(AppSubject):
    """An app whose hooks begin to be asked (`core.delivery.subject.AskingSubject`)."""

    def waits_only_for_hooks(self) -> bool:
        """Whether every other gate before the switch is open."""
        coming = self.world.incoming
        return coming is not None and waits_only_for_hooks(self.world, coming)

    def counts(self, run: HookRun) -> bool:
        """Whether a run is of the present rollout of a version, and the newest one unless it goes on."""
        world, version = self.world, self.world.record.version(run.digest)
        if version is None or version.rollout != run.rollout:
            return False
        if run.final and not (world.incoming == version and self.waits_only_for_hooks()):
            return False
        is_left = run.digest == world.record.routing.traffic and world.switch_kind is SwitchKind.ROLLBACK
        if run.type is HookType.ROLLBACK and is_left:
            return False  # If it stays after all, its hooks are asked anew.
        newest = max(one.rollout for one in world.record.hook_state.runs)
        return run.rollout == newest or self.goes_forward(run.digest) or self.is_judged_live(run.digest)


def _asking(world: World) -> Round[AskingApp]:
    return round_as(AskingApp(world), world)


def _drop_stale(world: World) -> World:
    return _with_runs(world, hooks.kept(_asking(world))) if world.record.hook_state.runs else world


def _with_runs(world: World, runs: tuple[HookRun, ...]) -> World:
    state = world.record.hook_state
    return world if runs == state.runs else world.with_part(replace(state, runs=runs))


def _tell(world: World, each: Answered) -> World:
    """Note the first refusal, and a deadline that has passed, in the ledger."""
    hook, before, after = each
    version = world.record.version(after.digest)
    if hooks.is_told_refusal(each):
        said = hooks.answered(round_of(world), hook, after)
        world = world.noting(Event.HOOK_REFUSED, to=version, reason=said)
    if after.expired and not before.expired:
        said = hooks.describe(round_of(world), hook, after)
        world = world.noting(Event.HOOK_EXPIRED, to=version, reason=said)
    return world


def _refuse(world: World, hook: Hook, run: HookRun) -> World:
    """Abort the version on its way that a hook says no to, or go back from the one that serves."""
    app, version = AppSubject(world), world.record.version(run.digest)
    reason, by = hooks.answered(round_of(world), hook, run), hook.title if hook.type is HookType.ROLLBACK else ""
    if version is not None and app.goes_forward(run.digest):
        return abort_rollout(world, version, cause=Cause.HOOK_REFUSED, reason=reason, by=by)
    if app.is_judged_live(run.digest):
        return leave(world, Cause.HOOK_REFUSED, reason, by)
    return world


def _ask_people(world: World) -> World:
    """Answer for manual gates according to what somebody did to them; the ledger has each that waits for people."""
    if not any(hook.manual for hook in world.spec.strategy.hooks):
        return world
    answered = hooks.opened_by_hand(round_of(world))
    world = _with_runs(world, hooks.after(world.record.hook_state.runs, answered))
    for each in filter(hooks.is_told_closed, answered):
        said = hooks.answered(round_of(world), each.hook, each.after)
        world = world.noting(Event.HOOK_REFUSED, to=world.record.version(each.after.digest), reason=said)
    return world
