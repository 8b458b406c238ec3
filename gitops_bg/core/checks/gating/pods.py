"""Gates on pods: they exist, they are available, Kubernetes routes to them. Nothing here decides anything."""

from gitops_bg.core.checks.adoption.onboarding import leak_to, until_no_leak
from gitops_bg.core.checks.pods.scheduling import Stuck, remedy_of, stuck
from gitops_bg.core.checks.pods.sizes import is_scaled_to_zero, needed_to_switch, wanted_size
from gitops_bg.core.checks.subject import awaits_confirmation
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

_AVAILABLE = GateResult(GateKind.AVAILABILITY, True, "its pods are available")
_AT_ZERO = "target.yaml asks for 0 replicas, and 0 of 0 pods prove nothing: set spec.replicas"


def candidate_available(world: World, version: Version) -> GateResult:
    """Whether the pods that a candidate should have now have been available for ``minReadySeconds``."""
    if is_scaled_to_zero(world):
        return _shut(world, _AT_ZERO)
    if version.available_since:
        return _AVAILABLE
    size = wanted_size(world, version)
    if awaits_confirmation(world, version):
        return _shut(world, "its pods come up once every confirm-rollout hook has said yes")
    if leaking := _leaking(world, version):
        return leaking
    found = stuck(world, version)
    if version.failure:
        return _shut(world, f"{version.failure}: its {size} pods did not become available", found)
    reason = f"waiting for its {size} pods to become available" if size else "no pods of it are wanted now"
    return _shut(world, reason, found)


def enough_available(world: World, version: Version) -> GateResult:
    """Whether as many pods are available as live traffic needs, and no fewer than serve it now (I1)."""
    if leaking := _leaking(world, version):
        return leaking
    needed = needed_to_switch(world, version)
    if world.replica_set(version.digest) and world.available(version.digest) >= needed:
        return _AVAILABLE
    if is_scaled_to_zero(world):
        return _shut(world, _AT_ZERO)
    return _shut(world, f"waiting for {needed} available pods", stuck(world, version))


def endpoints_ready(world: World, version: Version) -> GateResult:
    """Whether the preview Service shows that Kubernetes routes to the pods, before live traffic depends on it."""
    service, needed = world.observed.preview_service, needed_to_switch(world, version)
    watched = service is not None and service.digest == short(version.digest)
    if service is None or not watched or service.ready_endpoints >= needed:
        return GateResult(GateKind.ENDPOINTS, True, "its pods are in the endpoints")
    reason = f"waiting for {needed} ready endpoints of Service {service.name}"
    return GateResult(GateKind.ENDPOINTS, False, reason, remedy=f"`gitops-bg tree {world.spec.app}` shows its pods")


def _leaking(world: World, version: Version) -> GateResult | None:
    service = leak_to(world, version)
    if service is None:
        return None
    return _shut(world, f"its pods come up once {until_no_leak(world, service)}")


def _shut(world: World, reason: str, found: Stuck | None = None) -> GateResult:
    """A shut gate; ``found`` says what keeps the pods from coming up."""
    app, known = world.spec.app, remedy_of(world, found)
    remedy = known or f"`gitops-bg tree {app}` shows its pods; `kubectl describe` them if they do not come up"
    return GateResult(GateKind.AVAILABILITY, False, f"{reason}; {found.message}" if found else reason, remedy=remedy)
