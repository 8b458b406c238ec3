"""What a group waits for before its versions move: each gate open or shut, with its reason, as for an app."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from gitops_bg.core.delivery import hooks
from gitops_bg.core.delivery.gates import (
    AlikeGate,
    Answer,
    alike,
    files_valid,
    history_kept,
    live_version_not_being_measured,
    not_on_hold,
    not_suspended,
    policies,
    pre_promotion,
    requests_ours,
    results,
)
from gitops_bg.core.delivery.hooks import CONFIRM_PROMOTION, PRE_ROLLOUT, ROLLBACK, ROLLOUT, says_no
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.groups.model import VersionStage, version_in
from gitops_bg.core.groups.plan import carrying_routes
from gitops_bg.core.groups.subject import retry_hint, round_of
from gitops_bg.core.groups.world import GroupWorld, members_available, members_healthy
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.hooks import Hook, HookRun

Gate = Callable[[GroupWorld, str], Answer]
"""None: nobody asked for it."""


def not_left(world: GroupWorld, version: str) -> GateResult | None:
    """Shut where another version, which served, was left since main names this one: nothing is promoted then until
    somebody says so. Whether this one is on hold itself, `not_on_hold` says.
    """
    override = world.record.override
    if override is None or override.main_named != version or world.record.held(world.digest_of(version)) is not None:
        return None
    left, back = version_in(override.from_digest), version_in(override.to_digest)
    remedy = f"gitops-bg retry {world.key}, or set active: {back} and back"
    return GateResult(GateKind.HOLD, False, f"{left} was left for {back}: {override.reason}", remedy=remedy)


def ledger_read(world: GroupWorld, version: str) -> GateResult | None:
    """Shut where the record began while nobody could read the ledger, which says what is on hold."""
    if not world.record.unrecalled:
        return None
    reason = f"nobody has read the ledger yet, which may have a hold on {version}"
    remedy = "the agent tries again by itself; the condition GitReachable says what keeps it from Git"
    return GateResult(GateKind.HOLD, open=False, reason=reason, remedy=remedy)


def knows_routes(world: GroupWorld, version: str) -> GateResult:
    """Require that the cluster has the Gateway API, where the group has a gateway."""
    if world.spec.gateway is None or world.observed.has_gateway_api:
        return GateResult(GateKind.ENDPOINTS, open=True, reason=f"the routes of {version} can be written")
    reason = "the cluster does not know HTTPRoute of gateway.networking.k8s.io/v1"
    remedy = "install the Gateway API, or take gateway out of group.yaml"
    return GateResult(GateKind.ENDPOINTS, open=False, reason=reason, remedy=remedy)


def services_ours(world: GroupWorld, version: str) -> GateResult | None:
    """Require that every Service that is to follow the version, or serves on in it, is the group's; None where all
    are.
    """
    serving = world.record.state.only(VersionStage.ACTIVE)
    for each in (each for each in world.record.state.endpoints if each.version in (version, serving)):
        service = world.observed.services.get(each.service)
        if service is not None and service.foreign:
            reason, remedy = (
                f"Service {each.service}: {service.foreign}",
                "hand it over, or give the service another name",
            )
            return GateResult(GateKind.ENDPOINTS, open=False, reason=reason, remedy=remedy)
    return None


def routes_ours(world: GroupWorld, version: str) -> GateResult | None:
    """Require that every HTTPRoute that is to lead to the version is the group's; None where all are."""
    for each in carrying_routes(world):
        live = world.observed.routes.get(each.name)
        if live is not None and live.foreign:
            remedy = f"hand it over, or give it another name; then {version} goes on"
            reason = f"HTTPRoute {each.name}: {live.foreign}"
            return GateResult(GateKind.ENDPOINTS, open=False, reason=reason, remedy=remedy)
    return None


STOPPING = (PRE_ROLLOUT, ROLLOUT, CONFIRM_PROMOTION, ROLLBACK)
"""The types that may keep a version from its promotion."""


def hook_gates(world: GroupWorld, version: str) -> tuple[GateResult, ...]:
    """Return one gate for each hook that leads forward, and for each rollback hook that has called for one."""
    asked, gates = round_of(world), []
    for hook, run in _stopping_hooks(world, version):
        ends = run is not None and says_no(hook, run)
        if ends or hook.type is not ROLLBACK:
            is_over = ends or (run is not None and run.expired)
            remedy = retry_hint(world, version) if is_over else ""
            gates.append(replace(hooks.hook_gate(asked, hook, run), remedy=remedy))
    return tuple(gates)


def _stopping_hooks(world: GroupWorld, version: str) -> Iterator[tuple[Hook, HookRun | None]]:
    asked, digest = round_of(world), world.digest_of(version)
    return ((hook, hooks.run_of(asked, hook, digest)) for hook in hooks.hooks_of(asked, *STOPPING))


def _of_group(gate: AlikeGate) -> Gate:
    """Return a gate that an app has, too, about a version of the group."""
    return alike(gate, round_of, GroupWorld.digest_of)


# What can be mended at once is said first.
BEFORE_MERGE: tuple[Gate, ...] = (
    _of_group(files_valid),
    _of_group(history_kept),
    _of_group(not_suspended),
    knows_routes,
    services_ours,
    routes_ours,
    _of_group(requests_ours),
    ledger_read,
    _of_group(not_on_hold),
    not_left,
    _of_group(live_version_not_being_measured),  # else nobody would know what was measured
    members_healthy,
    _of_group(policies),
)
"""What can be open before main names a version: nobody could merge what waits for its analysis and its hooks."""

BEFORE_PROMOTION: tuple[Gate, ...] = (
    *BEFORE_MERGE[:-1],
    _of_group(pre_promotion),
    hook_gates,
    _of_group(policies),
)
# The way back waits for pods to go to, and for nobody: no policy, no Gateway and no failure stands in it (I6).
BEFORE_ROLLBACK: tuple[Gate, ...] = (members_available,)


def gates_of(world: GroupWorld, version: str) -> tuple[GateResult, ...]:
    """Return the gates between the group and a version, by the way that leads there."""
    if world.record.state.stage(version) is VersionStage.LEGACY:
        return results(BEFORE_ROLLBACK, world, version)
    return results(BEFORE_PROMOTION, world, version)


@answered_once
def gates_to_show(world: GroupWorld) -> tuple[GateResult, ...]:
    """Return the gates of the version that is wanted, where it is not active and may become so; else of what Git
    names.
    """
    for version in (world.wanted, world.spec.active):
        if world.record.state.stage(version) in (VersionStage.CANDIDATE, VersionStage.LEGACY):
            return gates_of(world, version)
    return ()


def gates_before_merge(world: GroupWorld, version: str) -> tuple[GateResult, ...]:
    """Return those that can be open before main names the version: for people who are asked to merge that."""
    if world.record.state.stage(version) is not VersionStage.CANDIDATE:
        return gates_of(world, version)
    return results(BEFORE_MERGE, world, version)
