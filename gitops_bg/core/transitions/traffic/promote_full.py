"""`promote --full`: one version moves without pause, analyses and preview size. Every other gate stays.

It applies to the version that the request names, wherever that is by then, and to no other: to its present rollout. A
retry, or a version that is wanted again after it was given up, passes every gate (argo-rollouts.md §2.4).
"""

from dataclasses import replace

from gitops_bg.core.delivery.gates import SKIPPED
from gitops_bg.core.model.observed import Request
from gitops_bg.core.model.record import Event, SwitchKind
from gitops_bg.core.model.version import Version
from gitops_bg.core.transitions.verdicts.analysis import skip_verdict
from gitops_bg.core.world import World


def promote_full(world: World, request: Request) -> World:
    """Speed up the named version where it is on its way forward, and end its analysis where it serves."""
    if world.active is None:
        return world
    about = request.about or meant_in_full(world)
    if world.active.digest in about:
        world = skip_verdict(world, request.by)
    on_its_way = (_coming_forward(world), world.candidate)
    version = next((each for each in on_its_way if each and each.digest in about), None)
    if version is None or world.record.operator.promotes_in_full(version.rollout):
        return world
    world = world.with_part(replace(world.record.operator, promote_full=version.rollout))
    return world.with_ledger_entry(Event.SKIPPED, to=version, by=request.by, reason=request.reason or SKIPPED)


def meant_in_full(world: World) -> tuple[str, ...]:
    """The version that `promote --full` is about by what is seen now: the one on its way forward, else the serving
    one.
    """
    version = _coming_forward(world) or (None if world.incoming else world.candidate) or world.active
    return (version.digest,) if version else ()


def _coming_forward(world: World) -> Version | None:
    return world.incoming if world.switch_kind is SwitchKind.PROMOTION else None
