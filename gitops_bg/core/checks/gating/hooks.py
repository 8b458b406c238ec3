"""Gates that hooks open, or people where a gate is manual: one for each hook of a type, in the order of the file.

None where nothing serves yet: the first deployment asks nobody. The reason of a manual gate says how to open it.
"""

from gitops_bg.core.checks.analysis import SKIPPED
from gitops_bg.core.checks.hooks import DeliveredApp, delivery_of
from gitops_bg.core.delivery.delivery import Delivery
from gitops_bg.core.delivery.hooks import hook_gate, hooks_of, is_skipped
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
    if not world.record.routing.traffic:
        return ()
    delivery = delivery_of(world)
    return tuple(_gate(delivery, hook, version.digest, final=final) for hook in hooks_of(delivery, *types))


def _gate(delivery: Delivery[DeliveredApp], hook: Hook, digest: str, *, final: bool) -> GateResult:
    if is_skipped(delivery, digest, hook.type):
        return GateResult(GateKind.HOOK, True, f"{hook.title}: {SKIPPED}")
    return hook_gate(delivery, hook, digest, final=final)
