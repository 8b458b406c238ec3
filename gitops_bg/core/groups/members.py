"""Whether the services of a version run, for gates and for who is asked about it."""

from collections.abc import Iterator

from gitops_bg.core.groups.model import Endpoint
from gitops_bg.core.groups.world import GroupWorld, member_name
from gitops_bg.core.model.decision import GateKind, GateResult

_MOST_NAMED = 3


def members_healthy(world: GroupWorld, version: str) -> GateResult:
    """Every service that the version brings runs what its folder says, at today's size: one that fails stops all. A
    version without any cannot be judged, by nobody: no policy, analysis or approval is about it.
    """
    if not any(brought_by(world, version)):
        remedy = f"add the folder of a service to {version}/"
        reason = f"{version} brings no service with pods, so that nothing of it can be judged"
        return GateResult(GateKind.AVAILABILITY, open=False, reason=reason, remedy=remedy)
    ill = [
        f"{member_name(each.service, each.initial_version)}: {member.reason or 'is not healthy'}"
        for each in brought_by(world, version)
        if not (member := world.member(each.service, each.initial_version)).healthy
    ]
    return _availability(ill, f"every service of {version} is healthy")


def members_available(world: GroupWorld, version: str) -> GateResult:
    """Every service that the version brought has pods that answer; a rollback waits for no more (I1)."""
    gone = [
        f"{member_name(each.service, each.initial_version)} has no pod that answers"
        for each in brought_by(world, version)
        if not world.member(each.service, each.initial_version).available
    ]
    return _availability(gone, f"every service of {version} answers")


def brought_by(world: GroupWorld, version: str) -> Iterator[Endpoint]:
    """The endpoints that serve in a version now: its own, and those that it inherited."""
    return (each for each in world.record.state.endpoints if each.version == version)


def _availability(wrong: list[str], right: str) -> GateResult:
    if not wrong:
        return GateResult(GateKind.AVAILABILITY, open=True, reason=right)
    more = f", and {len(wrong) - _MOST_NAMED} more" if len(wrong) > _MOST_NAMED else ""
    return GateResult(GateKind.AVAILABILITY, open=False, reason="; ".join(wrong[:_MOST_NAMED]) + more)
