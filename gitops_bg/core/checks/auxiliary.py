"""Whether the objects beside the workloads (``core.model.auxiliary``) may be live and do their work: whose each is, and
whether an HTTPRoute of ours gets the requests that it is for.

https://gateway-api.sigs.k8s.io/reference/spec/#httprouterule. Of two routes for the same requests the older has them.
As long as somebody else's answers them, a promotion would change nothing for users. One whose owner left main gives its
requests up, once all of them have somewhere to go.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.model.auxiliary import (
    ROUTES,
    AppRoute,
    HttpMatch,
    ParentRef,
    PathKind,
    RivalRoute,
    RouteClaim,
)
from gitops_bg.core.model.observed import AuxiliaryView
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, short
from gitops_bg.core.world import World


def auxiliary_trouble(world: World) -> str:
    """Return why one of the auxiliary objects is not as Git says; empty where all are, or soon will be."""
    own = names.candidate_route(world.spec.app)  # nothing but the address of a candidate hangs on it
    known = (one for one in world.record.last_read.auxiliary_objects if one.name != own)
    views = (world.auxiliary_object(one) for one in known)
    return next((said for view in views if view and (said := view.trouble or view.refused)), "")


def may_be_live(view: AuxiliaryView | None) -> bool:
    """Return whether the object is ours and stays, as far as the agent can see."""
    return view is not None and not (view.owner or view.former or view.deleting)


def is_of_another(world: World, view: AuxiliaryView) -> bool:
    """Return whether an object is not the app's to write: somebody else's, or of the app that this one was before and
    as long as that serves. An app without a folder takes nothing over: it may be the former one itself.
    """
    takes_over = bool(world.record.routing.traffic) and world.desired.in_git
    return bool(view.owner) or (view.former and not takes_over)


# --- routes for the same requests, of apps and release groups ---


@dataclass(frozen=True, slots=True)
class OwnRoute:
    """A route as its owner wants it, and since when it is live."""

    name: str
    claim: RouteClaim
    born: str | None
    """None: it is not live yet."""
    taken: bool | None = None
    answered: bool = False


class ObservedRoute(Protocol):
    """A live route, as far as Gateways have said something of it."""

    @property
    def taken(self) -> bool | None:
        """Whether every Gateway has taken it as it is; None where one says nothing."""
        ...

    @property
    def answered(self) -> bool:
        """Whether a Gateway has ever said anything of it."""
        ...


@dataclass(frozen=True, slots=True)
class Rivalry:
    """A route of somebody else for the same requests, and one match of these."""

    rival: RivalRoute
    match: HttpMatch
    older: bool = True
    """Whether it gets them first."""

    def __str__(self) -> str:
        has = f"HTTPRoute {self.rival.name} of {self.rival.owner} has the requests {self.match.path} first"
        return f"{has}: it says the same ones, and is older"


def rivalries(namespace: str, own: OwnRoute, rivals: Iterable[RivalRoute]) -> Iterator[Rivalry]:
    """Yield the routes of others that claim requests of a route of ``namespace``, each with one of these: older ones,
    and those of owners that left main, whichever is older, as two may be of the same second.
    """
    matches = {_in_one_spelling(match) for match in own.claim.matches}
    for rival in rivals:
        is_older = own.born is None or (rival.born, rival.name) < (own.born, own.name)
        counts = (is_older or rival.former) and _meet(namespace, own.claim, rival.claim)
        shared = matches.intersection(map(_in_one_spelling, rival.claim.matches)) if counts else set[HttpMatch]()
        for match in sorted(shared, key=lambda each: (each.path, each.method)):
            yield Rivalry(rival, match, is_older)


def first_of_others(namespace: str, own: Iterable[OwnRoute], rivals: Iterable[RivalRoute]) -> str:
    """Return which route of somebody else gets requests before these of one owner, and why it stays; empty where none
    does.
    """
    routes = tuple(own)
    first = next((each for each in _all_rivalries(namespace, routes, rivals) if each.older), None)
    if first is None or not first.rival.former:
        return str(first or "")
    why = unclaimed(namespace, (each.claim for each in routes), first.rival)
    return f"{first}; its folder left main" + (f", and it stays: {why}" if why else "")


def given_up(namespace: str, own: Iterable[OwnRoute], rivals: Iterable[RivalRoute]) -> tuple[RivalRoute, ...]:
    """Return the routes of owners that left main, for the same requests as these of one owner, which nobody would miss:
    these are for all their requests, the Gateways have taken them, and nobody else would have the requests instead.
    """
    routes = tuple(own)
    found = {each.rival.name: each.rival for each in _all_rivalries(namespace, routes, rivals)}
    if not all(each.former for each in found.values()):
        return ()
    claims = tuple(each.claim for each in routes)
    left = (each for each in found.values() if not unclaimed(namespace, claims, each))
    live = [each for each in routes if each.born is not None]
    return tuple(each for each in left if is_accepted(live, silent_before=not each.answered))


def is_accepted(routes: Sequence[ObservedRoute], *, silent_before: bool) -> bool:
    """Return whether their Gateways have taken these routes, as far as they say; ``silent_before``: they said nothing
    of those whose place these take, either.
    """
    said, silent = {each.taken for each in routes}, not any(each.answered for each in routes)
    return said == {True} or (said == {None} and silent and silent_before)


def _all_rivalries(namespace: str, own: Iterable[OwnRoute], rivals: Iterable[RivalRoute]) -> Iterator[Rivalry]:
    others = tuple(rivals)
    return (found for each in own for found in rivalries(namespace, each, others))


def unclaimed(namespace: str, claims: Iterable[RouteClaim], rival: RivalRoute) -> str:
    """Return what a route of somebody else is for, and none of these claims is, in a sentence; empty where they are for
    all of it: nobody would miss that route.
    """
    at = [claim for claim in claims if _reaches(namespace, claim, rival.claim)]
    if not at:
        return "it is at another Gateway, or for another host, as well"
    if not rival.whole:
        return "it says what no agent writes"
    known = [match for claim in at for match in claim.matches]
    left = sorted({match.path for match in rival.claim.matches if not any(_covers(each, match) for each in known)})
    return f"it has other requests as well: {', '.join(left)}" if left else ""


def with_formers(rivals: Iterable[RivalRoute], apps: Iterable[AppKey], groups: Iterable[str]) -> tuple[RivalRoute, ...]:
    """Return the routes, marked where their owner left main: one of these live apps or release groups of the
    namespace.
    """
    left = {names.app_label(each) for each in apps}, {names.fit(each) for each in groups}
    return tuple(replace(each, former=each.app in left[0] or each.group in left[1]) for each in rivals)


def _reaches(namespace: str, claim: RouteClaim, other: RouteClaim) -> bool:
    """Return whether a claim is at every Gateway, and for every host, that another one is for."""
    hosts = not claim.hosts or (bool(other.hosts) and set(other.hosts) <= set(claim.hosts))
    ours, theirs = (_parents(namespace, each) for each in (claim, other))
    return hosts and bool(theirs) and all(any(_includes(one, each) for one in ours) for each in theirs)


def _covers(one: HttpMatch, other: HttpMatch) -> bool:
    """Return whether a match is for all requests of another one."""
    one, other = _in_one_spelling(one), _in_one_spelling(other)
    return set(one.headers) <= set(other.headers) and one.method in ("", other.method) and _has_path(one, other)


def _has_path(one: HttpMatch, other: HttpMatch) -> bool:
    if one.kind is not PathKind.PREFIX:
        return (one.kind, one.path) == (other.kind, other.path)
    if one.path == "/":
        return True
    return other.kind is not PathKind.REGEX and f"{other.path.rstrip('/')}/".startswith(f"{one.path}/")


def _in_one_spelling(match: HttpMatch) -> HttpMatch:
    """Return a match with the words that others of the same requests have: the slash at the end of a prefix and the
    case of a header's name say nothing.
    """
    path = (match.path.rstrip("/") or "/") if match.kind is PathKind.PREFIX else match.path
    headers = tuple(sorted((name.lower(), value) for name, value in match.headers))
    return replace(match, path=path, headers=headers)


def _meet(namespace: str, own: RouteClaim, rival: RouteClaim) -> bool:
    """Return whether a rival is for all that comes in at a Gateway of ours: one of a single listener leaves the
    others.
    """
    ours, theirs = (_parents(namespace, each) for each in (own, rival))
    return _same_hosts(own.hosts, rival.hosts) and any(_includes(other, one) for one in ours for other in theirs)


def _parents(namespace: str, claim: RouteClaim) -> list[ParentRef]:
    return [replace(each, namespace=each.namespace or namespace) for each in claim.parents]


def _same_hosts(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether two routes have a host in common; the more specific host wins before any age counts."""
    return bool(set(one) & set(other)) or (not one and not other)


def _includes(one: ParentRef, other: ParentRef) -> bool:
    """Return whether all that comes in by ``other`` comes in by ``one``."""
    is_same = (one.group, one.kind, one.namespace, one.name) == (other.group, other.kind, other.namespace, other.name)
    return is_same and one.section in ("", other.section) and one.port in (0, other.port)


# --- the route of an app, and those of others ---
# Only where it is an HTTPRoute: Gateways tell conflicts with a GRPCRoute themselves.

HTTP_ROUTE = "HTTPRoute"


def own_routes(world: World) -> tuple[OwnRoute, ...]:
    """Return the route that main asks for, as it is live; none where main does not count, or has none."""
    route = _route(world)
    if route is None:
        return ()
    view = world.auxiliary_object(route.live)
    if view is None or view.owner or view.former or not view.born:
        return (OwnRoute(route.live.name, route.claim, None),)
    return (OwnRoute(route.live.name, route.claim, view.born, view.taken, view.answered),)


def requests_claimed_by_others(world: World) -> str:
    """Return which route of somebody else gets requests before that of the app, in a sentence; empty where none
    does.
    """
    return first_of_others(world.spec.app.namespace, own_routes(world), world.observed.rivals)


def waits_for_former(world: World) -> bool:
    """Return whether an owner that left main has a route for requests of the app."""
    found = (rivalries(world.spec.app.namespace, each, world.observed.rivals) for each in own_routes(world))
    return any(each.rival.former for of_one in found for each in of_one)


@answered_once
def formers_to_end(world: World) -> tuple[RivalRoute, ...]:
    """Return the routes whose requests are the app's now: their owners left main, and what its own route leads to
    answers. An app that is suspended, or moves, takes nothing over.
    """
    route = _route(world)
    if route is None or world.suspended or world.record.routing.switch is not None or not _answers(world, route):
        return ()
    return given_up(world.spec.app.namespace, own_routes(world), world.observed.rivals)


def has_http_route(record: Record) -> bool:
    """Return whether the app has, or may have, an HTTPRoute that is live."""
    return any(each.kind == HTTP_ROUTE for each in record.last_read.auxiliary_objects)


def _route(world: World) -> AppRoute | None:
    """Return the HTTPRoute that main asks for; None where main does not count, or has no folder of the app."""
    route = world.desired.route if world.in_main_for_sure else None
    return route if route is not None and route.live.kind == HTTP_ROUTE else None


def _answers(world: World, route: AppRoute) -> bool:
    """Return whether the live route is as Git says, and leads to a Service with pods for all of the traffic."""
    view, (_, service), active = world.auxiliary_object(route.live), world.active_services[0], world.active
    if view is None or view.owner or view.former or view.trouble or view.deleting or view.drifted or view.moves:
        return False
    if active is None or service is None or not service.ours or service.digest != short(active.digest):
        return False
    is_enough = service.ready_endpoints > 0 and world.available(active.digest) >= world.full_size
    return is_enough and service.name in dict(view.ports)


# --- the hosts of the candidate ---


def routes_of_candidate(world: World) -> tuple[AuxiliaryView, ...]:
    """Return our routes for the hosts of the candidate that are live, of either kind, whatever Git says now."""
    name = names.candidate_route(world.spec.app)
    views = (view for view in world.observed.auxiliary_objects if view.auxiliary_object.name == name)
    return tuple(view for view in views if view.auxiliary_object.kind in ROUTES and not (view.owner or view.former))


def is_astray(world: World, view: AuxiliaryView) -> bool:
    """Return whether a route of the candidate's hosts names another version than the preview is to show, or leads to a
    preview that is another app's now. It has to go before the preview moves: nothing else makes it right.
    """
    return world.moved or view.names_version not in ("", short(world.record.routing.preview))


def addresses_of(world: World, digest: str) -> tuple[str, ...]:
    """Return where a version is reached by the hosts of the candidate; none where there is no route for it there, or a
    Gateway refuses that.
    """
    view = _route_of_preview(world)
    strategy, named = world.spec.strategy, short(digest) if world.spec.strategy.hosts_name_version else ""
    if view is None or view.refused or view.trouble or not may_be_live(view) or view.names_version != named:
        return ()
    shown = world.observed.preview_service
    return strategy.addresses(short(digest)) if shown is not None and shown.digest == short(digest) else ()


def why_no_address(world: World) -> str:
    """Return why the candidate is not reached by its hosts, where something is wrong with their route."""
    view = _route_of_preview(world)
    if view is None:
        return ""
    return view.trouble or view.refused or (f"{view.auxiliary_object} is {view.owner}" if view.owner else "")


def _route_of_preview(world: World) -> AuxiliaryView | None:
    route = world.desired.route
    return world.auxiliary_object(route.preview) if route is not None and route.preview is not None else None


# --- the route of an app on its way to other Gateways or hosts, or to another kind ---
# Which requests reach a route at all depends on them, so a mistake in a name, written into the live route, would end
# all traffic. A route of another name asks the Gateway first; the live one follows once that is taken.


def may_follow(world: World) -> bool:
    """Return whether the live route may be attached as Git says: the one beside it is taken."""
    route = world.desired.route
    if route is None or route.beside is None:
        return True
    live, beside = world.auxiliary_object(route.live), world.auxiliary_object(route.beside)
    return live is None or not live.moves or is_carried_by(world, beside, live)


def is_carried_by(world: World, new: AuxiliaryView | None, former: AuxiliaryView | None) -> bool:
    """Return whether a route leads what ``former`` led: its Gateways have taken it; where none ever said anything of
    the former one, silence is a yes.
    """
    if new is None or new.trouble or new.moves or is_of_another(world, new):
        return False
    return is_accepted((new,), silent_before=former is None or not former.answered)


def why_not_moved(world: World) -> str:
    """Return why the live route is not attached as Git says; empty where it is."""
    route = world.desired.route
    live = world.auxiliary_object(route.live) if route else None
    if route is None or live is None or not live.moves or world.suspended or may_follow(world):
        return ""
    beside = world.auxiliary_object(route.beside) if route.beside else None
    said = (beside.trouble or beside.refused) if beside else ""
    return said or f"{route.live} stays at the Gateways and hosts of before until a Gateway takes {route.beside}"
