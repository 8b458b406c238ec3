"""The gate on routes: nobody else answers the requests of the app. Nothing here decides anything."""

from gitops_bg.core.checks.own_requests import first_of_others
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

_REMEDY = "delete it, or give one of the two other hosts or Gateways; then the promotion goes on"


def requests_ours(world: World, _: Version | None) -> GateResult | None:
    """Shut where somebody else's route has the requests of the app first: a promotion would move nothing for users."""
    reason = first_of_others(world)
    return GateResult(GateKind.ENDPOINTS, False, reason, remedy=_REMEDY) if reason else None
