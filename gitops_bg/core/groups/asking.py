"""The steps that ask the hooks of a group (`core.delivery.hooks`), and what follows from their answers.

Too many refusals, or a rollback hook that accepts: the version stays where it is, or is left.
"""

from gitops_bg.core.delivery import hooks
from gitops_bg.core.delivery.hook_text import answer_text
from gitops_bg.core.delivery.hooks import Answered, says_no
from gitops_bg.core.groups.analysis.answers import digest_of, version_of
from gitops_bg.core.groups.analysis.verdicts import go_back
from gitops_bg.core.groups.hooks import GroupSubject, round_of
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.reporting.events import GroupEvent
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.hooks import HookRun


def take_hook_answers(world: GroupWorld) -> GroupWorld:
    """Read the answers of hooks, and act on them."""
    world = _drop_stale(world)
    answered = hooks.answered_by(round_of(world), world.observed.calls)
    world = _with_runs(world, hooks.after(world.record.hooks, answered))
    for each in answered:
        world = _told(world, each)
    for hook, _, run in answered:
        if says_no(hook, run) and GroupSubject(world).is_judged_live(run.digest):
            world = go_back(world, version_of(run), world.fallback, answer_text(hook, run))
    return world


def begin_hooks(world: GroupWorld) -> GroupWorld:
    """Begin to ask the hooks that are due of the version that serves, and of the one that is to.

    One after the other: each has a try of its own, with its own number.
    """
    world = _drop_stale(world)
    asked = (world.record.state.only(VersionStage.ACTIVE), world.wanted) if world.spec.hooks else ()
    for version in dict.fromkeys(asked):
        world = _with_runs(world, hooks.begun(round_of(world), digest_of(world, version)))
    return world


def _drop_stale(world: GroupWorld) -> GroupWorld:
    return _with_runs(world, hooks.kept(round_of(world))) if world.record.hooks else world


def _with_runs(world: GroupWorld, runs: tuple[HookRun, ...]) -> GroupWorld:
    """The first run ever gives all calls what tells them from those of a lost record."""
    if runs == world.record.hooks:
        return world
    rollout = max((world.record.rollout, *(run.rollout for run in runs)))
    epoch = world.record.epoch or world.observed.uid[:8] or "0"
    return world.with_record(hooks=runs, rollout=rollout, epoch=epoch)


def _told(world: GroupWorld, each: Answered) -> GroupWorld:
    """Tell of the first refusal, of what ends a promotion or leads back, and of a deadline that has passed."""
    hook, before, after = each
    said = f"{version_of(after)}: {answer_text(hook, after)}"
    ends = says_no(hook, after) and not says_no(hook, before)
    is_told = not hook.mute_alert or GroupSubject(world).is_judged_live(after.digest)
    if hooks.is_told_refusal(each) or (ends and is_told):
        world = world.with_event(GroupEvent.HOOK_REFUSED, said)
    if after.expired and not before.expired:
        world = world.with_event(GroupEvent.HOOK_EXPIRED, f"{said}; no answer within {hook.deadline} s")
    return world
