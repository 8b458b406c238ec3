"""A group takes over what its former name has live: somebody renamed the folder, and the pods are the same ones.

Two groups with HTTPRoutes for the same requests would be two answers to one question, and the older object wins. So a
group that has no record yet looks for a live one whose folder left main, and all of whose serving members lie in its
own folder now. It begins with what that one remembers; Services and HTTPRoutes are made its own as they are, before
anything else is written; then the ReleaseGroup of before goes. The routes keep their former names until others are
beside them, as with another Gateway (`core.groups.routes.attaching`).
"""

from collections.abc import Iterator
from dataclasses import replace

from gitops_bg.core.groups.decision import AdoptObject, DeleteGroup, GroupAction
from gitops_bg.core.groups.lost_record import is_lost
from gitops_bg.core.groups.observed import FormerGroup
from gitops_bg.core.groups.plan import members_of
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.routes.attaching import attached_at
from gitops_bg.core.groups.world import GroupWorld, member_name
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import GroupKey


def succeed(world: GroupWorld) -> GroupWorld:
    """Begin with what the former name of the group remembers, and forget that name once nothing of it is left, and what
    its ledger has on hold is known.
    """
    if world.record.succeeds:
        is_there = any(each.name == world.record.succeeds for each in world.observed.formers)
        return world if is_there or world.record.unrecalled else world.with_record(succeeds="")
    former = _to_succeed(world)
    if former is None or former.unreadable:
        return world
    key = GroupKey(world.key.namespace, former.name)
    gateway = former.record.gateway or attached_at(key, former.routes.values(), world.spec.gateway)
    was = former.record
    record = GroupRecord(
        state=was.state,
        gateway=replace(gateway, base=gateway.base or former.name) if gateway is not None else None,
        transition=was.transition,
        leaving=was.leaving,
        left_at=was.left_at,
        left=was.left,
        deleted=was.deleted,
        statements=tuple(replace(each, sequence=0) for each in was.statements),  # A new ledger: any retry is newer.
        moves=was.moves,
        rollout=was.rollout,
        analyses=was.analyses,
        hook_state=was.hook_state,
        operator=was.operator,
        late=was.late,
        succeeds=former.name,
        epoch=world.record.epoch,
        unrecalled=was.unrecalled or not was.epoch,
    )
    said = f"{world.key.name} takes over what the release group {former.name} has, whose folder left main"
    observed = replace(world.observed, memory=None)  # That of the new name: the one of the former is read from now on.
    return replace(world, record=record, observed=observed).with_ledger_entry(Event.TAKEN_OVER, reason=said)


def why_not_succeeded(world: GroupWorld) -> str:
    """Why the group cannot begin with what its former name remembers; empty where it can, or has none. Until then
    nothing is changed: a record of its own would say that it had served before.
    """
    former = _to_succeed(world)
    if former is None or not former.unreadable:
        return ""
    return (
        f"it is the release group {former.name} under another name, whose record in the status nobody can read "
        f"({former.unreadable}): give the folder its former name, run kubectl delete releasegroup {former.name} -n "
        f"{world.key.namespace}, which is made again from Git, and then rename it again; until then nothing is changed"
    )


def _to_succeed(world: GroupWorld) -> FormerGroup | None:
    """The former name of a group that remembers nothing."""
    return next((each for each in world.observed.formers if is_lost(world) and _is_same(world, each)), None)


def taking_over(world: GroupWorld) -> tuple[GroupAction, ...]:
    """What is left to take over from the former name; nothing else is written before. Its ReleaseGroup goes once the
    ledger has what that one tells of it, and what it has on hold is known here.
    """
    former = next((each for each in world.observed.formers if each.name == world.record.succeeds), None)
    if former is None:
        return ()
    was = former.record
    is_told = (not was.epoch or (was.orphaned and not was.ledger)) and not world.record.unrecalled
    return tuple(_objects(former)) or ((DeleteGroup(former.name),) if is_told else ())


def left_behind(world: GroupWorld) -> str:
    """Which group that left main still leads requests to pods of this one, and is not taken over; empty: none does."""
    own = _own_members(world)
    for former in world.observed.formers:
        if former.name != world.record.succeeds and _members_serving(former) & own:
            others = ", ".join(sorted(_members_serving(former) - own))
            why = f"{others} are in no folder of {world.key.name}" if others else f"{world.key.name} had served before"
            return f"the release group {former.name}, whose folder left main, leads requests to pods of this one: {why}"
    return ""


def _objects(former: FormerGroup) -> Iterator[GroupAction]:
    services = ((name, each.foreign) for name, each in sorted(former.services.items()))
    routes = ((name, each.foreign) for name, each in sorted(former.routes.items()))
    for kind, found in (("Service", services), ("HTTPRoute", routes)):
        for name, foreign in found:
            if not foreign:
                yield AdoptObject(kind, name, former.name)


def _is_same(world: GroupWorld, former: FormerGroup) -> bool:
    """Whether all that serves in a former group lies in the folder of this one."""
    serving = _members_serving(former)
    return bool(serving) and serving <= _own_members(world)


def _own_members(world: GroupWorld) -> frozenset[str]:
    return frozenset(
        member_name(service, version)
        for version, folder in world.desired.versions.items()
        for service, one in folder.services.items()
        if one.pods
    )


def _members_serving(former: FormerGroup) -> frozenset[str]:
    followed = {each.followed for each in former.services.values() if each.followed and not each.foreign}
    return frozenset({*members_of(former.record.state).values(), *followed})
