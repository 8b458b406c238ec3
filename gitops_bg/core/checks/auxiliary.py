"""Whether auxiliary objects (``core.model.auxiliary``) may be live, and what is wrong with them."""

from gitops_bg.core.model.observed import AuxiliaryView
from gitops_bg.core.world import World


def auxiliary_trouble(world: World) -> str:
    """Why one of the auxiliary objects is not as Git says; empty where all are, or soon will be."""
    views = (world.auxiliary_object(one) for one in world.record.last_read.auxiliary_objects)
    return next((said for view in views if view and (said := view.trouble or view.refused)), "")


def may_be_live(view: AuxiliaryView | None) -> bool:
    """Whether the object is ours and stays, as far as the agent can see."""
    return view is not None and not (view.owner or view.former or view.deleting)


def is_of_another(world: World, view: AuxiliaryView) -> bool:
    """Whether an object is not the app's to write: somebody else's, or of the app that this one was before and as long
    as that serves. An app without a folder takes nothing over: it may be the former one itself.
    """
    takes_over = bool(world.record.routing.traffic) and world.desired.in_git
    return bool(view.owner) or (view.former and not takes_over)
