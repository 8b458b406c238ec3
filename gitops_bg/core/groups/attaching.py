"""Moves the routes of a group to another Gateway, or to other hosts, as traffic moves: the new beside the old. So do
another header that names versions, and another way to deny. Routes of others may stand before them
(`core.checks.auxiliary`).

What ``gateway`` and ``hosts`` of group.yaml say decides whether any request reaches the routes at all. A name with a
mistake in it, written into the live routes, would end all traffic. So routes with names of their own are written beside
those that carry traffic; once their Gateways have taken them, the former ones go. What no Gateway takes stays beside
them, and does no harm, until group.yaml or the Gateway is mended.

A promotion or rollback goes first: nothing that a Gateway has not taken is in its way.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from gitops_bg.core import names
from gitops_bg.core.checks.auxiliary import OwnRoute, first_of_others, given_up, unclaimed
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.groups.inputs import LiveRoute
from gitops_bg.core.groups.model import GroupGateway, VersionStage, version_number
from gitops_bg.core.groups.plan import carrying_routes, is_written, replacement_routes, routes_after
from gitops_bg.core.groups.record import Reattachment
from gitops_bg.core.groups.routing import led_by_default
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.auxiliary import HttpRoute, ParentRef, RivalRoute, as_stored, claim_of
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import GroupKey


def requests_claimed_by_others(world: GroupWorld, routes: Iterable[HttpRoute]) -> str:
    """Return which route of somebody else gets requests before these of the group, in a sentence; empty where none
    does.
    """
    return first_of_others(world.key.namespace, _as_live(world, routes), world.observed.rivals)


def requests_kept(world: GroupWorld, version: str) -> str:
    """Return which route of somebody else would keep requests that a version brings, in a sentence; empty where none
    would. One whose owner left main gives them up once all that it has is the version's.
    """
    namespace, routes = world.key.namespace, tuple(_as_live(world, routes_after(world, version)))
    claims = tuple(each.claim for each in routes)
    stay = (each for each in world.observed.rivals if not each.former or unclaimed(namespace, claims, each))
    return first_of_others(namespace, routes, stay)


@answered_once
def claimable_routes(world: GroupWorld) -> tuple[RivalRoute, ...]:
    """Return the routes whose requests are the group's now: their owners left main, and all that they are for has
    somewhere to go. A group that moves, or is suspended, takes nothing over.
    """
    own = carrying_routes(world)
    if world.record.transition is not None or world.record.left_at is not None or world.suspended:
        return ()
    if not own or not is_written(world) or not _is_answered(world, own):
        return ()
    return given_up(world.key.namespace, _as_live(world, own), world.observed.rivals)


def record_claimed_routes(world: GroupWorld) -> GroupWorld:
    """Say whose requests the group has from now on. World in, world out."""
    for rival in claimable_routes(world):
        said = (
            f"{world.key.name} answers the requests of HTTPRoute {rival.name} of {rival.owner}, whose folder left main"
        )
        world = world.with_ledger_entry(Event.TAKEN_OVER, reason=said)
    return world


def _is_answered(world: GroupWorld, routes: Iterable[HttpRoute]) -> bool:
    """Return whether a version is active, and all that it leads requests without the header to has pods that answer."""
    led = led_by_default(routes, world.gateway).values()
    is_active = bool(world.record.state.only(VersionStage.ACTIVE))
    return is_active and all(map(world.answers, frozenset[str]().union(*led)))


def _as_live(world: GroupWorld, routes: Iterable[HttpRoute]) -> Iterator[OwnRoute]:
    for route in routes:
        live, claim = world.observed.routes.get(route.name), claim_of(route)
        if live is None:
            yield OwnRoute(route.name, claim, None)
        else:
            yield OwnRoute(route.name, claim, live.born, live.accepted, live.answered)


GRACE = timedelta(seconds=5)
"""How long the new routes are beside the former ones at least: a Gateway says that it takes a route before it serves it
everywhere, and some never say anything.
"""


def attach(world: GroupWorld) -> GroupWorld:
    """Bring what carries traffic to where group.yaml says, one step further. World in, world out."""
    if not world.observed.has_gateway_api:
        return world
    carries = world.record.gateway or attached_at(world.key, world.observed.routes.values(), world.spec.gateway)
    world = world.with_record(gateway=carries)
    if _moves_otherwise(world) or world.suspended:
        return world.with_record(gateway=carries or world.spec.gateway, reattachment=None)
    wanted = world.spec.gateway
    if wanted is None:
        return world.with_record(gateway=None, reattachment=None)
    if carries is None or not _own(world):
        return world.with_record(gateway=wanted, reattachment=None)
    if carries.attachment == wanted.attachment and carries.base in _own_bases(world.key, carries):
        return world.with_record(gateway=carries, reattachment=None)
    return _reattached(world, replace(wanted, base=_replacement_name(world.key, wanted, carries)))


def why_not_attached(world: GroupWorld) -> str:
    """Return why routes are not where group.yaml says; empty where they are, or will be soon."""
    wanted, carries, beside = world.spec.gateway, world.record.gateway, world.record.reattachment
    if carries is None or (wanted is not None and wanted.attachment == carries.attachment):
        return ""
    if beside is None:
        why = "the group is suspended" if world.suspended else ""
    else:
        said = (f"{name}: {live.reason}" for name, live in _live_of(world, replacement_routes(world)) if live.reason)
        why = next(said, "") or requests_claimed_by_others(world, replacement_routes(world))
        why = why or ("it says nothing of them" if world.now >= deadline_of(world, beside) else "")
    if not why:
        return ""
    if wanted is not None and (carries.parents, carries.hosts) == (wanted.parents, wanted.hosts):
        return f"{_what_stays(carries, wanted)}, and not as group.yaml says: {why}"
    now = "nowhere" if wanted is None else entrance_of(wanted)
    return f"requests still come in by {entrance_of(carries)}, and not by {now} as group.yaml says: {why}"


def _what_stays(carries: GroupGateway, wanted: GroupGateway) -> str:
    """Return what stays as it was, where requests come in by the same Gateways and hosts."""
    if carries.version_header.lower() != wanted.version_header.lower():
        return f"requests still name a version by {carries.version_header}, not by {wanted.version_header}"
    return "requests that a version must not answer are still denied as before"


def entrance_of(gateway: GroupGateway) -> str:
    """Return the Gateways and hosts by which requests come in.

    >>> entrance_of(GroupGateway((ParentRef("public", section="web"),), ("a.io",)))
    'Gateway public (listener web) for a.io'
    """
    hosts = f" for {', '.join(gateway.hosts)}" if gateway.hosts else ""
    return f"{' and '.join(map(_parent_text, gateway.parents))}{hosts}"


def deadline_of(world: GroupWorld, beside: Reattachment) -> datetime:
    """Return when a Gateway has said nothing of the new routes for too long."""
    return beside.since + timedelta(seconds=world.spec.progress_deadline_seconds)


def attaching_moments(world: GroupWorld) -> Iterable[datetime]:
    """Return when time alone takes a move of routes further."""
    beside = world.record.reattachment
    return (beside.since + GRACE, deadline_of(world, beside)) if beside is not None else ()


def _parent_text(parent: ParentRef) -> str:
    place = f"{parent.namespace}/{parent.name}" if parent.namespace else parent.name
    listener = (f"listener {parent.section}" if parent.section else "", f"port {parent.port}" if parent.port else "")
    details = ", ".join(filter(None, listener))
    return f"{parent.kind} {place}{f' ({details})' if details else ''}"


def _moves_otherwise(world: GroupWorld) -> bool:
    return world.record.transition is not None or world.record.left_at is not None


def _reattached(world: GroupWorld, to: GroupGateway) -> GroupWorld:
    """Return the world with the new routes beside those that carry traffic, or, once they are taken, carrying it."""
    beside = world.record.reattachment
    if beside is None or beside.to.attachment != to.attachment:
        beside = Reattachment(to, world.now, answered=False)
    answered = any(live.answered for _, live in _live_of(world, carrying_routes(world)))
    beside = replace(beside, to=replace(to, base=beside.to.base), answered=beside.answered or answered)
    world = world.with_record(reattachment=beside)
    if world.now < beside.since + GRACE or not _are_accepted(world, beside):
        return world
    said = f"requests come in by {entrance_of(beside.to)}"
    return world.with_ledger_entry(Event.ROUTES_MOVED, reason=said).with_record(gateway=beside.to, reattachment=None)


def _are_accepted(world: GroupWorld, beside: Reattachment) -> bool:
    """Return whether the Gateways have taken the new routes; where they never said anything of the former ones, silence
    is a yes.
    """
    routes = replacement_routes(world)
    live = dict(_live_of(world, routes))
    written = all(each.name in live and live[each.name].route == as_stored(each) for each in routes)
    answers = {each.accepted for each in live.values()}
    silent = answers == {None} and not beside.answered and not any(each.answered for each in live.values())
    return written and (answers <= {True} or silent) and not requests_claimed_by_others(world, routes)


def _live_of(world: GroupWorld, routes: Iterable[HttpRoute]) -> Iterable[tuple[str, LiveRoute]]:
    meant = {each.name for each in routes}
    return ((name, live) for name, live in sorted(_own(world).items()) if name in meant)


def _own(world: GroupWorld) -> dict[str, LiveRoute]:
    return {name: live for name, live in world.observed.routes.items() if not live.foreign}


# --- names ---


def _own_bases(group: GroupKey, gateway: GroupGateway) -> tuple[str, str]:
    return "", _salted(group, gateway)


def _replacement_name(group: GroupKey, wanted: GroupGateway, carries: GroupGateway) -> str:
    """Return what names of new routes begin with: not with what those that carry traffic have."""
    return _salted(group, wanted) if carries.base == "" else ""


def _salted(group: GroupKey, gateway: GroupGateway) -> str:
    identity = repr((sorted(map(repr, gateway.parents)), sorted(gateway.hosts)))
    return f"{group.name}-{hashlib.sha256(identity.encode()).hexdigest()[:6]}"


# --- what is live without a record of it ---


def attached_at(group: GroupKey, routes: Iterable[LiveRoute], said: GroupGateway | None) -> GroupGateway | None:
    """Return where live routes of a group are attached, whose record does not say it; None where there are none.

    Where group.yaml's are there beside others, those others carry traffic; else the older ones of two sets do, as no
    set is written beside another one before that is there.
    """
    own = [(each.born, each.route) for each in routes if each.route is not None and not each.foreign]
    live = sorted(own, key=lambda each: each[0])
    if not live:
        return None
    wanted, sets = said or GroupGateway(()), _by_base(group, [route for _, route in live])
    found = [
        replace(
            wanted,
            parents=own[0].parents,
            hosts=_hosts_of(group, base, own, wanted),
            version_header=_header_of(own) or wanted.version_header,
            base=base,
        )
        for base, own in sets.items()
    ]
    return next((each for each in found if each.attachment != wanted.attachment), found[0])


def _header_of(routes: Iterable[HttpRoute]) -> str:
    """Return the header that names versions in these routes; empty where none does."""
    headers = (header for route in routes for rule in route.rules for match in rule.matches for header in match.headers)
    return next((name for name, value in headers if version_number(value)), "")


def _by_base(group: GroupKey, routes: Sequence[HttpRoute]) -> dict[str, list[HttpRoute]]:
    """Return the routes by what their names begin with, in the order of the first of each; by the empty text those
    whose names begin as that of the group.
    """
    bases = {_salted(group, GroupGateway(each.parents, each.hosts)) for each in routes}
    found: dict[str, list[HttpRoute]] = {}
    for route in routes:
        base = next((each for each in bases if route.name.startswith(each)), "")
        found.setdefault(base, []).append(route)
    return found


def _hosts_of(group: GroupKey, base: str, routes: Sequence[HttpRoute], said: GroupGateway) -> tuple[str, ...]:
    """Return the hosts of a group, told from its routes: those of their own hosts are beside those of the group's, so
    that it is what their names say, or the most of them.
    """
    hosts = [each.hosts for each in routes]
    for each in routes:
        is_plain = not base and each.name == names.fit(group.name)
        if is_plain or (base and _salted(group, GroupGateway(each.parents, each.hosts)) == base):
            return each.hosts
    return said.hosts if said.hosts in hosts else Counter(hosts).most_common(1)[0][0]
