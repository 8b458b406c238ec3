"""When an agent deletes the promotion branch of an app or a group, and why."""

from gitops_bg.core.delivery.world import DeliveryWorld
from gitops_bg.core.model.actions import WithdrawPromotion

MERGED = WithdrawPromotion("main has it")
UNWANTED = WithdrawPromotion("its version is not wanted any more")


def may_tidy(world: DeliveryWorld) -> bool:
    """Whether a branch that nothing asks for may go: not while it is suspended, or nobody can read what it asks for."""
    return not (world.suspended or world.desired.problems)
