"""`promote --full`: one version moves without pause, analyses and preview size. Every other gate stays.

It applies to the version on its way at the time of the request, and ends by itself once that version serves, or is no
longer wanted (argo-rollouts.md §2.4).
"""

from dataclasses import replace

from gitops_bg.core.checks.analysis import SKIPPED
from gitops_bg.core.checks.availability import is_in_flight
from gitops_bg.core.model.observed import Request
from gitops_bg.core.model.record import Event, SwitchKind
from gitops_bg.core.transitions.verdicts.analysis import skip_verdict
from gitops_bg.core.world import World


def promote_full(world: World, request: Request) -> World:
    """Speed up the version on its way forward, or, without one, end the analysis of the serving version."""
    version = world.incoming if world.switch_kind is SwitchKind.PROMOTION else None
    version = version or (None if world.incoming else world.candidate)
    if world.active is None:
        return world
    if version is None:
        return skip_verdict(world, request.by)
    if world.record.operator.promote_full == version.digest:
        return world
    world = world.with_part(replace(world.record.operator, promote_full=version.digest))
    return world.noting(Event.SKIPPED, to=version, by=request.by, reason=request.reason or SKIPPED)


def end_full(world: World) -> World:
    """End it once its version serves, or is not on its way any more."""
    version = world.record.version(world.record.operator.promote_full)
    if not world.record.operator.promote_full or (version and is_in_flight(world, version)):
        return world
    return world.with_part(replace(world.record.operator, promote_full=""))
