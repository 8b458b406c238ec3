"""What a group waits for before its versions move: each gate open or shut, with its reason, as for an app."""

from collections.abc import Callable, Iterator

from gitops_bg.core.checks.git import history
from gitops_bg.core.groups.gating.analyses import live_version_not_being_measured, pre_promotion
from gitops_bg.core.groups.gating.hooks import hook_gates
from gitops_bg.core.groups.gating.members import members_available, members_healthy
from gitops_bg.core.groups.gating.policies import policies
from gitops_bg.core.groups.gating.suspension import not_suspended
from gitops_bg.core.groups.model import VersionStage, version_in
from gitops_bg.core.groups.plan import carrying_routes
from gitops_bg.core.groups.routes.rivals import first_of_others
from gitops_bg.core.groups.subject import asked_anew, digest_of
from gitops_bg.core.groups.succession import left_behind
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.record import Cause
from gitops_bg.core.questions import answered_once

Gate = Callable[[GroupWorld, str], GateResult | None]
"""None: nobody asked for it."""


def not_on_hold(world: GroupWorld, version: str) -> GateResult:
    """Nothing holds the version with what its folder says: what failed would fail again, what was aborted waits. Nor
    did another one fail that served when main named it: nothing is promoted then until somebody says so.
    """
    hold, override = world.record.held(digest_of(world, version)), world.record.override
    if hold is None and override is not None and override.baseline == version:
        left, back = version_in(override.from_digest), version_in(override.to_digest)
        remedy = f"gitops-bg retry {world.key}, or set active: {back} and back"
        return GateResult(GateKind.HOLD, False, f"{left} was left for {back}: {override.reason}", remedy=remedy)
    if hold is None:
        return GateResult(GateKind.HOLD, open=True, reason=f"nothing holds {version}")
    first = "mend what the Gateway says, then " if hold.cause is Cause.LATE else ""
    return GateResult(GateKind.HOLD, False, f"on hold: {hold.why}", remedy=f"{first}{asked_anew(world, version)}")


def files_valid(world: GroupWorld, version: str) -> GateResult | None:
    """The files of the group, and what it shares with others, have no mistake; None where they have none."""
    problems = world.desired.problems
    if not problems:
        return None
    return GateResult(GateKind.SPEC, open=False, reason=str(problems[0]), remedy=f"mend it; then {version} goes on")


def history_kept(world: GroupWorld, _: str) -> GateResult | None:
    """Main went forward, and was read: else it moves nothing. None where it did."""
    return history.history_kept(world.desired.main, world.record.lost)


def knows_routes(world: GroupWorld, version: str) -> GateResult:
    """The cluster has the Gateway API, where the group has a gateway."""
    if world.spec.gateway is None or world.observed.has_gateway_api:
        return GateResult(GateKind.ENDPOINTS, open=True, reason=f"the routes of {version} can be written")
    reason = "the cluster does not know HTTPRoute of gateway.networking.k8s.io/v1"
    remedy = "install the Gateway API, or take gateway out of group.yaml"
    return GateResult(GateKind.ENDPOINTS, open=False, reason=reason, remedy=remedy)


def services_ours(world: GroupWorld, version: str) -> GateResult | None:
    """Every Service that is to follow the version, or serves on in it, is the group's; None where all are."""
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
    """Every HTTPRoute that is to lead to the version is the group's; None where all are."""
    for each in carrying_routes(world):
        live = world.observed.routes.get(each.name)
        if live is not None and live.foreign:
            remedy = f"hand it over, or give it another name; then {version} goes on"
            reason = f"HTTPRoute {each.name}: {live.foreign}"
            return GateResult(GateKind.ENDPOINTS, open=False, reason=reason, remedy=remedy)
    return None


def requests_ours(world: GroupWorld, version: str) -> GateResult | None:
    """Nobody else has the requests of the group first: else a promotion would move nothing. None where nobody has."""
    reason = first_of_others(world, carrying_routes(world)) or left_behind(world)
    if not reason:
        return None
    remedy = f"delete it, or give one of the two other paths or hosts; then {version} goes on"
    return GateResult(GateKind.ENDPOINTS, open=False, reason=reason, remedy=remedy)


# What can be mended at once is said first.
BEFORE_PROMOTION: tuple[Gate, ...] = (
    files_valid,
    history_kept,
    not_suspended,
    knows_routes,
    services_ours,
    routes_ours,
    requests_ours,
    not_on_hold,
    live_version_not_being_measured,  # else nobody would know what was measured
    members_healthy,
    pre_promotion,
)
# An analysis and hooks begin once main names the version: nobody could merge what waits for them.
BEFORE_MERGE: tuple[Gate, ...] = tuple(each for each in BEFORE_PROMOTION if each is not pre_promotion)
# The way back waits for pods to go to, and for nobody: no policy, no Gateway and no failure stands in it (I6).
BEFORE_ROLLBACK: tuple[Gate, ...] = (members_available,)


def gates_of(world: GroupWorld, version: str) -> tuple[GateResult, ...]:
    """The gates between the group and a version, by the way that leads there."""
    if world.record.state.stage(version) is VersionStage.LEGACY:
        return tuple(_asked(world, version, BEFORE_ROLLBACK))
    return (*_asked(world, version, BEFORE_PROMOTION), *hook_gates(world, version), *policies(world, version))


@answered_once
def gates_to_show(world: GroupWorld) -> tuple[GateResult, ...]:
    """The gates of the version that is wanted, where it is not active and may become so; else of what Git names."""
    for version in (world.wanted, world.spec.active):
        if world.record.state.stage(version) in (VersionStage.CANDIDATE, VersionStage.LEGACY):
            return gates_of(world, version)
    return ()


def gates_before_merge(world: GroupWorld, version: str) -> tuple[GateResult, ...]:
    """Those that can be open before main names the version: for people who are asked to merge that."""
    if world.record.state.stage(version) is not VersionStage.CANDIDATE:
        return gates_of(world, version)
    return (*_asked(world, version, BEFORE_MERGE), *policies(world, version))


def _asked(world: GroupWorld, version: str, gates: tuple[Gate, ...]) -> Iterator[GateResult]:
    return (result for gate in gates if (result := gate(world, version)) is not None)
