"""Gates that hooks open, or people where a gate is manual: one for each hook of a type, in the order of the file.

None where nothing serves yet: the first deployment asks nobody. The reason of a manual gate says how to open it.
"""

from gitops_bg.core.checks.analysis import SKIPPED
from gitops_bg.core.checks.hooks.queries import describe, hooks_of, is_skipped, run_of
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.hooks import Hook, HookType, satisfied
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World


def confirm_rollout(world: World, version: Version) -> tuple[GateResult, ...]:
    """Whether a version may have pods."""
    return _each(world, version, HookType.CONFIRM_ROLLOUT)


def pods_checked(world: World, version: Version) -> tuple[GateResult, ...]:
    """Whether the hooks that check its pods accept: acceptance tests before the analysis, load tests beside it."""
    return _each(world, version, HookType.PRE_ROLLOUT, HookType.ROLLOUT)


def confirm_promotion(world: World, version: Version) -> tuple[GateResult, ...]:
    """Whether the agent may write the promotion of a version to Git."""
    return _each(world, version, HookType.CONFIRM_PROMOTION)


def confirm_switch(world: World, version: Version) -> tuple[GateResult, ...]:
    """Whether the confirm-promotion hooks accept again when traffic would move: the commit may be days old."""
    return _each(world, version, HookType.CONFIRM_PROMOTION, final=True)


def _each(world: World, version: Version, *types: HookType, final: bool = False) -> tuple[GateResult, ...]:
    if not world.spec.strategy.hooks or not world.record.routing.traffic:
        return ()
    return tuple(_answer(world, version, hook, final=final) for hook in hooks_of(world, *types))


def _answer(world: World, version: Version, hook: Hook, *, final: bool) -> GateResult:
    kind = GateKind.MANUAL if hook.manual else GateKind.HOOK
    if is_skipped(world, version, hook.type):
        return GateResult(kind, True, f"{hook.title}: {SKIPPED}")
    run = run_of(world, hook, version, final=final)
    return GateResult(kind, run is not None and satisfied(run, hook, world.now), describe(world, hook, run))
