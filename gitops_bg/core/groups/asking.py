"""The steps that ask the hooks of a group (`core.delivery.hooks`), and what follows from their answers.

Too many refusals, or a rollback hook that accepts: the version stays where it is, or is left.
"""

from gitops_bg.core.delivery import hooks
from gitops_bg.core.delivery.hook_text import answer_text
from gitops_bg.core.delivery.hooks import is_first_refusal, says_no
from gitops_bg.core.groups.analysis.answers import version_of
from gitops_bg.core.groups.analysis.verdicts import go_back
from gitops_bg.core.groups.hooks import DeliveredGroup, delivery_of
from gitops_bg.core.groups.reporting.events import GroupEvent
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.hooks import Hook, HookRun


def take_hook_answers(world: GroupWorld) -> GroupWorld:
    """Read the answers of hooks, and act on them."""
    world = _drop_stale(world)
    heard = hooks.heard(delivery_of(world))
    world = _with_runs(world, hooks.changed(world.record.hooks, heard))
    for hook, before, after in heard:
        world = _told(world, hook, before, after)
    for hook, _, run in heard:
        if says_no(hook, run) and DeliveredGroup(world).is_judged_live(run.digest):
            world = go_back(world, version_of(run), world.fallback, answer_text(hook, run))
    return world


def begin_hooks(world: GroupWorld) -> GroupWorld:
    """Begin to ask the hooks that are due, now that it is known which version is on its way."""
    world = _drop_stale(world)
    return _with_runs(world, hooks.begun(delivery_of(world)))


def _drop_stale(world: GroupWorld) -> GroupWorld:
    return _with_runs(world, hooks.counting(delivery_of(world)))


def _with_runs(world: GroupWorld, runs: tuple[HookRun, ...]) -> GroupWorld:
    """The first run ever gives all calls what tells them from those of a lost record."""
    if runs == world.record.hooks:
        return world
    rollout = max((world.record.rollout, *(run.rollout for run in runs)))
    epoch = world.record.epoch or world.observed.uid[:8] or "0"
    return world.with_record(hooks=runs, rollout=rollout, epoch=epoch)


def _told(world: GroupWorld, hook: Hook, before: HookRun, after: HookRun) -> GroupWorld:
    """Tell of the first refusal, of what ends a promotion or leads back, and of a deadline that has passed."""
    said = f"{version_of(after)}: {answer_text(hook, after)}"
    ends = says_no(hook, after) and not says_no(hook, before)
    is_told = not hook.mute_alert or DeliveredGroup(world).is_judged_live(after.digest)
    if is_first_refusal(hook, before, after) or (ends and is_told):
        world = world.with_event(GroupEvent.HOOK_REFUSED, said)
    if after.expired and not before.expired:
        world = world.with_event(GroupEvent.HOOK_EXPIRED, f"{said}; no answer within {hook.deadline} s")
    return world
