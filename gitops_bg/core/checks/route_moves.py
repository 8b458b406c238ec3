"""Whether the route of an app may move to other Gateways or hosts, or to another kind: as traffic moves, the new beside
the old.

Which requests reach the route at all depends on them. A name with a mistake in it, written into the live route, would
end all traffic. So a route of another name asks the Gateway first; the live one follows once that is taken.
"""

from gitops_bg.core.checks.auxiliary import is_of_another
from gitops_bg.core.checks.rival_routes import is_taken
from gitops_bg.core.model.observed import AuxiliaryView
from gitops_bg.core.world import World


def may_follow(world: World) -> bool:
    """Whether the live route may be attached as Git says: the one beside it is taken."""
    route = world.desired.route
    if route is None or route.beside is None:
        return True
    live, beside = world.auxiliary_object(route.live), world.auxiliary_object(route.beside)
    return live is None or not live.moves or is_carried_by(world, beside, live)


def is_carried_by(world: World, new: AuxiliaryView | None, former: AuxiliaryView | None) -> bool:
    """Whether a route leads what ``former`` led: its Gateways have taken it; where none ever said anything of the
    former one, silence is a yes.
    """
    if new is None or new.trouble or new.moves or is_of_another(world, new):
        return False
    return is_taken((new,), silent_before=former is None or not former.answered)


def why_not_moved(world: World) -> str:
    """Why the live route is not attached as Git says; empty where it is."""
    route = world.desired.route
    live = world.auxiliary_object(route.live) if route else None
    if route is None or live is None or not live.moves or world.suspended or may_follow(world):
        return ""
    beside = world.auxiliary_object(route.beside) if route.beside else None
    said = (beside.trouble or beside.refused) if beside else ""
    return said or f"{route.live} stays at the Gateways and hosts of before until a Gateway takes {route.beside}"
