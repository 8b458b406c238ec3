"""How a group without a record comes to one: by its former name, where somebody renamed its folder, or by what the live
Services and HTTPRoutes say, where somebody deleted its ReleaseGroup.

Two groups with HTTPRoutes for the same requests would be two answers to one question, and the older object wins. So a
group that has no record yet looks for a live one whose folder left main, and all of whose serving members lie in its
own folder now. It begins with what that one remembers; Services and HTTPRoutes are made its own as they are, before
anything else is written; then the ReleaseGroup of before goes. The routes keep their former names until others are
beside them, as with another Gateway (`core.groups.attaching`).

Otherwise traffic says what served: each Service of a service's own name follows a member, and has its name as a label.
Where Services follow several versions, the group's HTTPRoutes say which of them serves; where there are none, the
ledger.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gitops_bg.core.groups.attaching import attached_at
from gitops_bg.core.groups.inputs import FormerGroup
from gitops_bg.core.groups.model import GroupGateway, version_number
from gitops_bg.core.groups.plan import members_of
from gitops_bg.core.groups.record import AdoptObject, DeleteGroup, GroupAction, GroupRecord
from gitops_bg.core.groups.routing import led_by_default
from gitops_bg.core.groups.world import GroupWorld, member_name
from gitops_bg.core.model.auxiliary import Backend, HttpRoute, HttpRule
from gitops_bg.core.model.desired import LedgerMemory
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import GroupKey


def is_lost(world: GroupWorld) -> bool:
    """Return whether nothing is remembered of the group."""
    return not world.record.state.versions


def newest_followed(world: GroupWorld) -> int:
    """Return the number of the newest version that a Service follows; 0 where none follows any.

    What group.yaml names may be on its way through the gates.
    """
    followed = (member.removeprefix(f"{service}-") for service, member in _services_that_follow(world))
    return max((version_number(version) for version in followed), default=0)


def never_promoted(world: GroupWorld) -> frozenset[str]:
    """Return the versions that traffic has not moved to: a Service of what they bring follows an older version.

    They were left out, or rolled back, or traffic is only on its way there: then it goes back, and begins again. The
    live routes say it, too.
    """
    overtaken = (name for name in world.desired.versions if _overtaken(world, name) and not inherited(world, name))
    return frozenset(overtaken) | _led_to_by_nothing(world)


def inherited(world: GroupWorld, version: str) -> frozenset[str]:
    """Return the services that an older version serves in this one, although its folder has them: they came into it
    when it was active already.

    So say Services and routes together: of what the folder has, some follow this version, the others an older one, and
    requests without the header go to exactly these. While traffic moves, Services and routes differ. Of services
    without routes the ledger says which version served last; traffic moves while it still says the one before.
    """
    overtaken, followed = _overtaken(world, version), dict(_services_that_follow(world))
    its = _its_own(world, version)
    if not its or not overtaken:
        return frozenset()
    led = _led_to(world)
    routed = {member.rpartition("-")[0] for member in led}
    if not overtaken & routed:
        return overtaken if _by_ledger(world).serving == version else frozenset()
    agree = {followed[service] for service in (overtaken | its) & routed} <= led
    is_on_its_way = any(member_name(service, version) in led for service in overtaken)
    return overtaken if agree and not is_on_its_way else frozenset()


def reached_members(world: GroupWorld) -> frozenset[str]:
    """Return the members that some requests reach: those that serve, and those to which requests were moving."""
    return frozenset(member for _, member in _services_that_follow(world)) | _led_to(world)


def versions_of(members: Iterable[str]) -> tuple[str, ...]:
    """Return the versions of members, by their names."""
    return tuple(sorted({member.rpartition("-")[2] for member in members}))


def _its_own(world: GroupWorld, version: str) -> frozenset[str]:
    """Return the services whose Service follows a version."""
    return frozenset(
        service for service, member in _services_that_follow(world) if member == member_name(service, version)
    )


def _led_to(world: GroupWorld) -> frozenset[str]:
    """Return the members that get requests without the header by HTTPRoutes."""
    return frozenset[str]().union(*led_by_default(_routes(world), _attached(world)).values())


def _by_ledger(world: GroupWorld) -> LedgerMemory:
    """Return what the ledger says; nothing, where nobody has read it."""
    return world.observed.memory or LedgerMemory()


def _overtaken(world: GroupWorld, version: str) -> frozenset[str]:
    """Return the services with pods in the folder of a version whose Service follows an older one."""
    followed = {
        service: version_number(member.removeprefix(f"{service}-")) for service, member in _services_that_follow(world)
    }
    found = world.desired.versions[version].services.items()
    return frozenset(
        service for service, one in found if one.pods and 0 < followed.get(service, 0) < version_number(version)
    )


def _led_to_by_nothing(world: GroupWorld) -> frozenset[str]:
    """Return the versions between the legacy one and the one that serves, nothing of which serves: they were rolled
    back and left behind, so that a rollback leads past them.

    The legacy version is the one before that routes name in a header, else the one of the ledger; what is older was
    archived. Where somebody has changed a route of the group, or none names such a version, and the ledger knows of
    none either, nothing is known.
    """
    newest = newest_followed(world)
    ledger = _by_ledger(world)
    noted = version_number(ledger.legacy) if version_number(ledger.serving) == newest else 0
    named = [number for number in _numbers_in_headers(world) if number < newest]
    legacy = max(named, default=noted or newest)
    served = {member for _, member in _services_that_follow(world)} | _backends(world)
    return frozenset(
        name
        for name, version in world.desired.versions.items()
        if legacy < version_number(name) < newest
        and not any(member_name(service, name) in served for service in version.services)
    )


def _routes(world: GroupWorld) -> tuple[HttpRoute, ...]:
    """Return the group's HTTPRoutes; none where one of them says what no agent writes."""
    own = [each.route for each in world.observed.routes.values() if not each.foreign]
    known = tuple(route for route in own if route is not None)
    return known if len(known) == len(own) else ()


def _attached(world: GroupWorld) -> GroupGateway | None:
    """Return where the live routes are attached, whatever group.yaml says by now."""
    return attached_at(world.key, world.observed.routes.values(), world.spec.gateway)


def _live_rules(world: GroupWorld) -> Iterator[HttpRule]:
    for route in _routes(world):
        yield from route.rules


def _numbers_in_headers(world: GroupWorld) -> frozenset[int]:
    attached = _attached(world)
    header = attached.version_header.lower() if attached is not None else ""
    return frozenset(
        version_number(value)
        for rule in _live_rules(world)
        for match in rule.matches
        for name, value in match.headers
        if name.lower() == header
    )


def _backends(world: GroupWorld) -> frozenset[str]:
    return frozenset(rule.to.service for rule in _live_rules(world) if isinstance(rule.to, Backend))


def why_unknown(world: GroupWorld) -> str:
    """Return why the record cannot be made again from main; empty where it can.

    A service may serve on without a folder. Only the lost record knew that, and its routes: a new one would take its
    Service and its pods away. And where nothing says which of two versions serves, either may.
    """
    return (_without_folder(world) or _either(world)) if is_lost(world) else ""


def _either(world: GroupWorld) -> str:
    """Return what Services, routes and ledger leave open about the version that Git asks for; empty: nothing.

    Where Git asks for an older one, requests go to that in any case.
    """
    version = f"v{newest_followed(world)}"
    if version not in world.desired.versions or version_number(world.spec.active) < newest_followed(world):
        return ""
    overtaken, its = _overtaken(world, version), _its_own(world, version)
    if not overtaken or not its or _led_to(world) or _by_ledger(world).serving:
        return ""
    followed, late = dict(_services_that_follow(world)), min(overtaken)
    pairs = " and ".join(f"{service} follows {followed[service]}" for service in (min(its), late))
    unread = world.observed.memory is None
    why = "nobody has read the ledger yet" if unread else "the ledger does not say which of them is active"
    was = followed[late].removeprefix(f"{late}-")
    return (
        f"the record is lost, {pairs}, and {why}: until then nothing is changed; if {version} is active, take "
        f"{version}/{late}/ out of main, else write active: {was}"
    )


def _without_folder(world: GroupWorld) -> str:
    """Return which service serves on without a folder; empty where none does."""
    there = {
        member_name(service, name)
        for name, version in world.desired.versions.items()
        for service, one in version.services.items()
        if one.pods
    }
    for service, member in _services_that_follow(world):
        if member not in there and service not in world.spec.removed_services:
            folder = f"{member.removeprefix(f'{service}-')}/{service}"
            return (
                f"the record is lost, and the Service {service} follows {member}, whose folder main does not have: "
                f"put {folder}/ back, or name {service} under removedServices; until then nothing is changed"
            )
    return ""


def _services_that_follow(world: GroupWorld) -> Iterator[tuple[str, str]]:
    """Yield each own Service that follows a member, or did last, with that member."""
    for service, each in sorted(world.observed.services.items()):
        if each.followed and not each.foreign:
            yield service, each.followed


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
    """Return why the group cannot begin with what its former name remembers; empty where it can, or has none. Until
    then nothing is changed: a record of its own would say that it had served before.
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
    """Return the former name of a group that remembers nothing."""
    return next((each for each in world.observed.formers if is_lost(world) and _is_same(world, each)), None)


def taking_over(world: GroupWorld) -> tuple[GroupAction, ...]:
    """Return what is left to take over from the former name; nothing else is written before. Its ReleaseGroup goes once
    the ledger has what that one tells of it, and what it has on hold is known here.
    """
    former = next((each for each in world.observed.formers if each.name == world.record.succeeds), None)
    if former is None:
        return ()
    was = former.record
    is_told = (not was.epoch or (was.orphaned and not was.ledger)) and not world.record.unrecalled
    return tuple(_objects(former)) or ((DeleteGroup(former.name),) if is_told else ())


def left_behind(world: GroupWorld) -> str:
    """Return which group that left main still leads requests to pods of this one, and is not taken over; empty: none
    does.
    """
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
    """Return whether all that serves in a former group lies in the folder of this one."""
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
