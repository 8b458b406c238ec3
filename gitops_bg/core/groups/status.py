"""What people and tools are told of a group: one phase, and conditions that exist from the start."""

from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.observed import ObservedGroup
from gitops_bg.core.groups.plan import is_in_place, wanted_services
from gitops_bg.core.groups.record import TransitionKind
from gitops_bg.core.groups.transition import waits_for
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.decision import Condition, GateResult, Phase
from gitops_bg.core.status.kstatus import kstatus_of

VALID, PROMOTION_REJECTED, ROUTES_ACCEPTED = "SpecValid", "PromotionRejected", "RoutesAccepted"


def phase_of(world: GroupWorld, gates: tuple[GateResult, ...]) -> Phase:
    """One word for the state of a group; the first that fits."""
    moving = world.record.transition
    is_new = not world.record.state.only(VersionStage.ACTIVE) or _waits_for_first_pods(world)
    backwards = moving is not None and (moving.withdrawn or moving.kind is TransitionKind.ROLLBACK)
    rows: tuple[tuple[object, Phase], ...] = (
        (backwards, Phase.ROLLING_BACK),
        (moving, Phase.PROMOTING),
        (is_new, Phase.DEPLOYING),
        (world.record.failed, Phase.HELD),
        (world.rejected[0], Phase.DEGRADED),
        (gates, Phase.WAITING),
        (_ill(world), Phase.DEGRADED),
        (not is_in_place(world), Phase.PROGRESSING),
    )
    return next((phase for holds, phase in rows if holds), Phase.HEALTHY)


def conditions_of(world: GroupWorld, gates: tuple[GateResult, ...]) -> tuple[Condition, ...]:
    """All conditions of a group whose folder is valid."""
    phase = phase_of(world, gates)
    reason, message = world.rejected
    against = waits_for(world)
    placed = is_in_place(world)
    return (
        *kstatus_of(phase, _sentence(world, gates)),
        Condition(VALID, True, "Valid", "every file of the group is valid"),
        Condition(PROMOTION_REJECTED, bool(reason), reason or "NotRejected", message or "nothing is rejected"),
        Condition(
            ROUTES_ACCEPTED,
            placed and not against,
            "Accepted" if placed and not against else "NotAccepted" if against else "Pending",
            against or ("every route is in place" if placed else "routes and Services are being written"),
        ),
    )


def conditions_of_invalid(desired: DesiredGroup, observed: ObservedGroup) -> tuple[Condition, ...]:
    """The conditions of a group whose folder has mistakes, or whose object is somebody else's."""
    said = observed.foreign or "; ".join(map(str, desired.problems[:3]))
    reason = "Conflict" if observed.foreign else "InvalidSpec"
    return (*kstatus_of(Phase.INVALID, said), Condition(VALID, False, reason, said))


def conditions_of_lost(said: str) -> tuple[Condition, ...]:
    """The conditions of a group whose record is lost, and cannot be made again (`core.groups.lost_record`)."""
    return (
        *kstatus_of(Phase.DEGRADED, said),
        Condition(VALID, True, "Valid", "every file of the group is valid"),
        Condition(PROMOTION_REJECTED, True, "RecordLost", said),
    )


def _sentence(world: GroupWorld, gates: tuple[GateResult, ...]) -> str:
    moving, active = world.record.transition, world.record.state.only(VersionStage.ACTIVE)
    if moving is not None:
        way = f"back to {moving.source}" if moving.withdrawn else f"from {moving.source} to {moving.target}"
        return f"{moving.kind.lower()} {way}: {moving.step.lower()}; {waits_for(world) or 'routes are being written'}"
    shut = [gate.reason for gate in gates if not gate.open]
    return (
        world.rejected[1] or next(iter(shut), "") or next(iter(_ill(world)), "") or f"{active or 'no version'} serves"
    )


def _waits_for_first_pods(world: GroupWorld) -> bool:
    """Whether a Service of the active version has never led anywhere yet."""
    return any(service not in world.observed.services for service in wanted_services(world))


def _ill(world: GroupWorld) -> list[str]:
    active = world.record.state.only(VersionStage.ACTIVE)
    serving = (each for each in world.record.state.endpoints if each.version == active)
    return [
        f"{each.service}: {member.reason or 'is not healthy'}"
        for each in serving
        if not (member := world.member(each.service, each.initial_version)).healthy
    ]
