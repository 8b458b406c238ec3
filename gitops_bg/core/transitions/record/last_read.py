"""The steps that remember what the app's folder said when it could be read last, what has left it since, and, in the
ledger, that it left main as a whole.

A file that nobody can read now says nothing: what it said before holds. What left Git is remembered as long as it may
be live, for otherwise nobody would delete it, or report it. Where the folder cannot be read whole, nothing has left it.
"""

from dataclasses import replace

from gitops_bg.core.checks.adoption.moving import is_stranded, successor
from gitops_bg.core.checks.auxiliary import may_be_live
from gitops_bg.core.checks.phase import is_to_go
from gitops_bg.core.checks.pods.draining import without_traffic
from gitops_bg.core.model.auxiliary import ROUTES, Autoscaler, AuxiliaryObject
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.record import Event, FormerService, LastRead
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.world import World

ENDINGS = {
    DeletionPolicy.ORPHAN: "deletionPolicy: orphan: its objects stay as they are, and serve, and are nobody's of ours",
    DeletionPolicy.REVERT_TO_TARGET: "deletionPolicy: revertToTarget: live traffic goes where it went before the app",
}
"""What the ledger tells of the end of an app, by its policy, beside that it is deleted."""


def record_departure(world: World) -> World:
    """Note one entry when the folder of an app has left main; where it is to go, once nothing speaks against that."""
    if world.desired.in_git or not world.desired.knowledge.counts or world.record.orphaned:
        return world
    policy, stranded = world.spec.deletion_policy, is_stranded(world)
    leaves = (policy is not DeletionPolicy.KEEP or world.moved) and not stranded
    if leaves and not is_to_go(world):
        return world
    world = world.with_record(replace(world.record, orphaned=True))
    if is_to_go(world):
        reason = ENDINGS.get(policy, "")
        reason = f"it is the app {successor(world)} now, which has its Services" if world.moved else reason
        return world.with_ledger_entry(Event.DELETED, origin=world.active, commit=world.desired.commit, reason=reason)
    why = f"it was to be the app {successor(world)}" if stranded else "without deletionPolicy: delete"
    reason = f"the app's folder has left main{', ' if stranded else ' '}{why}; it keeps serving"
    return world.with_ledger_entry(Event.ORPHANED, to=world.active, commit=world.desired.commit, reason=reason)


def remember_last_read(world: World) -> World:
    """Remember what can be read now; of what cannot, what was remembered holds."""
    auxiliary_objects = _auxiliary_objects(world)
    return world.with_part(
        LastRead(
            replicas=_replicas(world),
            auxiliary_objects=auxiliary_objects,
            autoscaler=_autoscaler(world, auxiliary_objects),
            former_services=_former_services(world),
            moved_to=_moved_to(world),
        )
    )


def _replicas(world: World) -> int | None:
    """The size that the target asks for; an autoscaler in its place asks for none."""
    before, target = world.record.last_read.replicas, world.target
    return before if not target or target.replicas is None else target.replicas


def _auxiliary_objects(world: World) -> tuple[AuxiliaryObject, ...]:
    """What Git names, and what it named before and may be live. A route that is found where the record is new was named
    before.
    """
    desired, known, views = world.desired, world.record.last_read.auxiliary_objects, world.observed.auxiliary_objects
    if not (desired.auxiliary_objects or known or views):
        return ()
    routes = {view.auxiliary_object for view in views if view.auxiliary_object.kind in ROUTES}
    left = routes.union(known).difference(desired.auxiliary_objects)
    staying = (one for one in left if not desired.whole or may_be_live(world.auxiliary_object(one)))
    return tuple(sorted((*desired.auxiliary_objects, *staying)))


def _autoscaler(world: World, auxiliary_objects: tuple[AuxiliaryObject, ...]) -> Autoscaler | None:
    """What sizes the live version: the one in Git; one that left it counts until its copy is deleted."""
    before = world.record.last_read.autoscaler
    return world.desired.autoscaler or (before if before and before.copy in auxiliary_objects else None)


def _moved_to(world: World) -> str:
    """The new name of the app: what main said once counts until the folder is back, for an app whose Services nobody
    has taken over yet must not leave by its policy because that line is gone.
    """
    said, before = world.desired.moved_to, world.record.last_read.moved_to
    if not (said or before) or world.in_main_for_sure:
        return ""
    return said or before if world.left_main else before


def _former_services(world: World) -> tuple[FormerService, ...]:
    """Each Service of ours that Git no longer names, and since when, until it is deleted or named again; of one that is
    to show the preview, until it has followed long enough.

    Clients still use the old name of a Service that carried live traffic until ``app.yaml`` named others. So it moves
    with live traffic as long as its manifest is in Git, or those that ``app.yaml`` names instead carry none, and for a
    whole ``scaleDownDelaySeconds`` afterwards: also one that ``app.yaml`` names for the preview now, which shows no
    candidate before. A former preview Service carried nothing, and is only reported. The agent deletes none.
    """
    strategy, views = world.spec.strategy, world.observed.former_services
    if not views:
        return ()
    known = {each.name: each for each in world.record.last_read.former_services}
    theirs = (view for view in views if view.ours and view.name not in strategy.active_services)
    there = sorted(theirs, key=lambda view: view.name)
    noted = (_dated(world, known.get(view.name) or _begun(world, view), view) for view in there)
    return tuple(each for each in noted if each.name != strategy.preview_service or world.follows(each))


def _begun(world: World, view: ServiceView) -> FormerService:
    is_preview = view.name == world.observed.former_preview
    return FormerService(view.name, world.now if is_preview else None, preview=is_preview)


def _dated(world: World, former: FormerService, view: ServiceView) -> FormerService:
    """Set since when a Service only has to be followed for a while: it has left Git, and its successors carry
    traffic.
    """
    if former.preview:
        return former
    is_preview = former.name == world.spec.strategy.preview_service
    if not is_preview and any(each.service == former.name for each in world.desired.ports):
        return replace(former, left_at=None)
    waits = bool(without_traffic(world))
    if former.left_at:
        still_carries = waits and view.digest == short(world.record.routing.traffic)
        return replace(former, left_at=None) if still_carries else former
    return former if waits or not world.desired.whole else replace(former, left_at=world.now)
