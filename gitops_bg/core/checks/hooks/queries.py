"""What the hooks of an app say about a version, for sizes, gates and analysis. Decides nothing."""

from collections.abc import Iterator
from datetime import datetime

from gitops_bg.core.checks.hooks.text import answer_text, what_next
from gitops_bg.core.model.analysis.metrics import AnalysisStage
from gitops_bg.core.model.hooks import Hook, HookRun, HookType, due_at, has_accepted
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.core.world import World


def hooks_of(world: World, *types: HookType) -> Iterator[Hook]:
    """The app's hooks of these types, in the order of the file."""
    return (hook for hook in world.spec.strategy.hooks if hook.type in types)


def run_of(world: World, hook: Hook, version: Version, *, final: bool = False) -> HookRun | None:
    """What a hook has answered for the present rollout of a version so far."""
    wanted = (hook.name, hook.type, version.digest, version.rollout, final)
    runs = (
        run
        for run in world.record.hook_state.runs
        if (run.hook, run.type, run.digest, run.rollout, run.final) == wanted
    )
    return next(runs, None)


def has_passed(world: World, version: Version, *types: HookType, final: bool = False) -> bool:
    """Whether every hook of these types has accepted a version."""
    hooks = [hook for hook in hooks_of(world, *types) if not is_skipped(world, version, hook.type)]
    runs = ((hook, run_of(world, hook, version, final=final)) for hook in hooks)
    return all(run is not None and has_accepted(run, hook) for hook, run in runs)


def is_skipped(world: World, version: Version, kind: HookType) -> bool:
    """Whether hooks of this type are skipped: `promote --full` skips checks, but not the gates that people open."""
    return kind.counts_refusals and world.record.operator.promote_full == version.digest


def goes_forward(world: World, version: Version) -> bool:
    """Whether hooks are asked about a version: it is on its way, and is neither the first nor a rollback (DESIGN §4.5,
    §4.6).
    """
    if (
        not world.record.routing.traffic
        or version.digest == world.record.routing.traffic
        or world.record.held(version.digest)
    ):
        return False
    if version.digest == world.desired_digest:
        return world.switch_kind is SwitchKind.PROMOTION
    is_target = version.digest == world.target_digest or not world.target
    return version.stage is Stage.CANDIDATE and not version.retiring and is_target


def awaits_confirmation(world: World, version: Version) -> bool:
    """Whether a version must not be scaled up yet, because a confirm-rollout hook has not accepted it."""
    if not any(hooks_of(world, HookType.CONFIRM_ROLLOUT)) or not goes_forward(world, version):
        return False
    return not has_passed(world, version, HookType.CONFIRM_ROLLOUT)


def is_judged_live(world: World, version: Version) -> bool:
    """Whether it serves, its analysis after promotion is not over, and traffic does not go back from it anyway.

    Rollback hooks are still asked then. What Git asks for meanwhile waits, so it still may be left. Who promotes
    another version while it is paused has seen it.
    """
    run = world.record.run(AnalysisStage.POST)
    if run is None or not version.digest == run.digest == world.record.routing.traffic:
        return False
    stays = world.switch_kind is not SwitchKind.ROLLBACK
    return (run.running and stays) or (run.paused and world.desired_digest == version.digest)


def next_call(world: World, run: HookRun, hook: Hook) -> datetime | None:
    """When a hook is called next; a rollout hook is called as long as the analysis beside it runs."""
    beside = world.record.run(AnalysisStage.PRE)
    analysed = beside is not None and beside.running and beside.rollout == run.rollout
    return due_at(run, hook, goes_on=hook.type is HookType.ROLLOUT and analysed)


def describe(world: World, hook: Hook, run: HookRun | None) -> str:
    """The state of a hook, as one sentence."""
    title = hook.title
    if run is None:
        return f"{title}: not asked yet"
    if hook.manual:
        return _said_by_hand(world, hook)
    anew = f"`gitops-bg retry {world.spec.app}` asks anew"
    comes = what_next(hook, run, next_call(world, run, hook), anew, world.now, world.resumed_at)
    return f"{answered(world, hook, run)}{comes}"


def answered(world: World, hook: Hook, run: HookRun) -> str:
    """What a hook has answered, without what comes next, for the record."""
    if hook.manual:
        return _said_by_hand(world, hook)
    return answer_text(hook, run)


def _said_by_hand(world: World, hook: Hook) -> str:
    opened = world.record.gate(hook.name)
    if opened is None:
        return f"manual gate {hook.name} is closed; `gitops-bg gate open {world.spec.app} {hook.name}` opens it"
    because = f": {opened.reason}" if opened.reason else ""
    return f"manual gate {hook.name} was opened by {opened.by}{because}"
