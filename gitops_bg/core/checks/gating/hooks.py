"""Gates that hooks open, or people where a gate is manual: one for each hook of a type, in the order of the file.

None where nothing serves yet: the first deployment asks nobody. The reason of a manual gate says how to open it.
"""

from gitops_bg.core.checks.subject import AppSubject, round_of
from gitops_bg.core.delivery.gates import SKIPPED
from gitops_bg.core.delivery.hooks import hook_gate, hooks_of, is_skipped, run_of
from gitops_bg.core.delivery.subject import Round
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.hooks import Hook, HookType
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
    asked = round_of(world)
    return tuple(_gate(asked, hook, version.digest, final=final) for hook in hooks_of(asked, *types))


def _gate(asked: Round[AppSubject], hook: Hook, digest: str, *, final: bool) -> GateResult:
    if is_skipped(asked, digest, hook.type):
        return GateResult(GateKind.HOOK, True, f"{hook.title}: {SKIPPED}")
    return hook_gate(asked, hook, run_of(asked, hook, digest, final=final))
