"""Which version live traffic goes to, where the record does not say: it is new (docs/decisions/0022, 0084).

Nothing serves by a selector alone (DESIGN §4.6): a Service of ours must lead to pods that Git knows. But as long as one
does, the next switch is no first deployment, whatever has become of the other Services.
"""

from collections.abc import Iterable

from gitops_bg.core.checks.adoption.taking_over import services_to_take_over
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

Versions = tuple[Version, ...]


def found_serving(world: World) -> Version | None:
    """The version that the Services of ours show, of those with pods that the ledger says served; or one that only main
    names, where every active Service shows it.

    A missing Service follows the others, one of somebody else's says nothing. Where Services are still to be taken over
    the first switch goes on to what it was begun for.
    """
    served = tuple(each for each in _with_pods(world) if each.digest in world.record.routing.activations)
    serving = _shown_by_active(world, served) or _named_and_shown_by_all(world) or _shown_by_former(world, served)
    if serving and services_to_take_over(world) and serving.digest == world.desired_digest:
        return None
    return serving


def _with_pods(world: World) -> Versions:
    return tuple(each for each in world.record.versions if world.replica_set(each.digest) is not None)


def _shown_by_active(world: World, served: Versions) -> Version | None:
    """The version that they show. Where they disagree, traffic stays with pods that are there (I1); then it goes where
    the lost record had it; else back, never forward.
    """

    def doubt(version: Version) -> tuple[bool, bool, int]:
        there = world.available(version.digest) > 0
        return not there, version.digest != _remembered(world), _place(world, version)

    shown = _shown(served, (view for _, view in world.active_services if view is not None))
    return min(shown, key=doubt, default=None)


def _named_and_shown_by_all(world: World) -> Version | None:
    """What main names and the ledger does not know: an unfinished first switch looks like it, unless all have moved."""
    if any(view is None or not view.ours for _, view in world.active_services):
        return None
    named = (each for each in _with_pods(world) if each.digest == world.primary_digest)
    return next((each for each in named if world.is_selected_by_all(each.digest)), None)


def _shown_by_former(world: World, served: Versions) -> Version | None:
    """The version where only Services under former names lead anywhere. A preview Service that was renamed may be among
    them, so what the ledger says serves counts more than what they show.
    """
    shown = _shown(served, world.observed.former_services)
    if not shown or services_to_take_over(world):
        return None
    remembered = (each for each in served if each.digest == _remembered(world))
    return next(remembered, None) or min(shown, key=lambda each: _place(world, each))


def _shown(versions: Versions, views: Iterable[ServiceView]) -> Versions:
    selected = {view.digest for view in views if view.ours}
    return tuple(each for each in versions if short(each.digest) in selected)


def _place(world: World, version: Version) -> int:
    return world.record.routing.activations.index(version.digest)


def _remembered(world: World) -> str:
    memory = world.desired.memory
    return memory.serving if memory else ""
