"""The steps that ask the hooks of a group: begin to ask, read answers, act on them (flagger.md §3.4).

Too many refusals, or a rollback hook that accepts: the version stays where it is, or is left. A backend that does not
answer promotes nothing, and takes nothing back.
"""

from collections.abc import Iterator
from dataclasses import replace

from gitops_bg.core.checks.hooks.text import answer_text
from gitops_bg.core.groups.analysis.answers import digest_of, pre_promotion, version_of
from gitops_bg.core.groups.analysis.verdicts import go_back, rollout_of
from gitops_bg.core.groups.gates import members_healthy
from gitops_bg.core.groups.hooks.answers import (
    FORWARD,
    asked_about,
    goes_forward,
    have_passed,
    hooks_of,
    is_judged_live,
    run_of,
    says_no,
)
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.reporting.events import GroupEvent
from gitops_bg.core.groups.suspension import is_suspended
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.hooks import Hook, HookRun, HookType, expires_at, id_of, take


def take_hook_answers(world: GroupWorld) -> GroupWorld:
    """Read the answers of hooks, and act on them."""
    world = _drop_stale(world)
    for hook, run in tuple(asked_about(world)):
        called = world.observed.calls.get(id_of(run, world.record.epoch))
        after = run if called is None or says_no(hook, run) else take(run, hook, called)
        moment = expires_at(after, hook, world.record.resumed_at)
        after = replace(after, expired=moment is not None and world.now >= moment)
        if after != run:
            world = _conclude(_with_run(world, run, after), hook, run, after)
    return world


def begin_hooks(world: GroupWorld) -> GroupWorld:
    """Begin to ask each hook as soon as those before it have accepted."""
    for version, asked in tuple(_asked(world)):
        for hook in hooks_of(world, asked):
            if run_of(world, hook, version) is None and _may_begin(world, version, asked):
                world = _begun(world, hook, version)
    return world


def _asked(world: GroupWorld) -> Iterator[tuple[str, HookType]]:
    """What hooks are asked about: what serves while it is measured, and what shall serve next."""
    active = world.record.state.only(VersionStage.ACTIVE)
    if is_judged_live(world, active):
        yield active, HookType.ROLLBACK
    if goes_forward(world, world.wanted):
        yield from ((world.wanted, asked) for asked in (HookType.ROLLBACK, *FORWARD))


def _may_begin(world: GroupWorld, version: str, asked: HookType) -> bool:
    if asked is HookType.ROLLBACK:
        return True
    if is_suspended(world) or not members_healthy(world, version).open:
        return False
    before = FORWARD[: FORWARD.index(asked)]
    if asked is not HookType.CONFIRM_PROMOTION:
        return have_passed(world, version, *before)
    analysed = pre_promotion(world, version)
    return have_passed(world, version, *before) and (analysed is None or analysed.open)


def _begun(world: GroupWorld, hook: Hook, version: str) -> GroupWorld:
    rollout = rollout_of(world, version)
    run = HookRun(hook.name, hook.type, digest_of(world, version), rollout, world.now)
    epoch = world.record.epoch or world.observed.uid[:8] or "0"
    return world.with_record(hooks=(*world.record.hooks, run), rollout=max(world.record.rollout, rollout), epoch=epoch)


def _drop_stale(world: GroupWorld) -> GroupWorld:
    """Forget what was asked about another content, or for another wish, and hooks that left the file."""
    known = {(hook.name, hook.type) for hook in world.spec.hooks}
    kept = tuple(run for run in world.record.hooks if (run.hook, run.type) in known and _counts(world, run))
    return world if kept == world.record.hooks else world.with_record(hooks=kept)


def _counts(world: GroupWorld, run: HookRun) -> bool:
    version = version_of(run)
    may_lead_back = run.type is HookType.ROLLBACK and is_judged_live(world, version)
    return (world.spec.active == version or may_lead_back) and run.digest == digest_of(world, version)


def _conclude(world: GroupWorld, hook: Hook, before: HookRun, after: HookRun) -> GroupWorld:
    """Tell of the first refusal, of a deadline, and of what ends the promotion; leave a version that serves already."""
    version, said = version_of(after), answer_text(hook, after)
    if says_no(hook, after) and is_judged_live(world, version):
        world = world.with_event(GroupEvent.HOOK_REFUSED, f"{version}: {said}")
        return go_back(world, version, world.fallback, said)
    first = before.refused == 0 < after.refused or says_no(hook, after)
    if first and not hook.mute_alert:
        world = world.with_event(GroupEvent.HOOK_REFUSED, f"{version}: {said}")
    if after.expired and not before.expired:
        world = world.with_event(GroupEvent.HOOK_EXPIRED, f"{version}: {said}; no answer within {hook.deadline} s")
    return world


def _with_run(world: GroupWorld, before: HookRun, after: HookRun) -> GroupWorld:
    return world.with_record(hooks=tuple(after if run == before else run for run in world.record.hooks))
