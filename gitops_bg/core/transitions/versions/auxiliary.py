"""The step that remembers the auxiliary objects of an app until they are deleted, even after they left Git."""

from dataclasses import replace

from gitops_bg.core.checks.auxiliary import may_be_live
from gitops_bg.core.model.auxiliary import ROUTES
from gitops_bg.core.world import World


def remember_auxiliary(world: World) -> World:
    """Remember what Git names, and what it named before as long as that may be live: otherwise nobody would delete it.
    A route that is found where the record is new was named before.

    Where the folder cannot be read whole, nothing has left it. The autoscaler counts until its copy is deleted.
    """
    desired, record = world.desired, world.record
    routes = {
        view.auxiliary_object for view in world.observed.auxiliary_objects if view.auxiliary_object.kind in ROUTES
    }
    known = {*record.auxiliary_objects, *routes}
    if not (desired.auxiliary_objects or known):
        return world
    left = (one for one in known if one not in desired.auxiliary_objects)
    staying = (one for one in left if not desired.whole or may_be_live(world.auxiliary_object(one)))
    auxiliary_objects = tuple(sorted((*desired.auxiliary_objects, *staying)))
    autoscaler = desired.autoscaler
    if autoscaler is None and record.autoscaler and record.autoscaler.copy in auxiliary_objects:
        autoscaler = record.autoscaler
    if (auxiliary_objects, autoscaler) == (record.auxiliary_objects, record.autoscaler):
        return world
    return world.with_record(replace(record, auxiliary_objects=auxiliary_objects, autoscaler=autoscaler))
