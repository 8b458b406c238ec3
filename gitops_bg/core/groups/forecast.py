"""What main, or the merge of its branch, would make of a live group: the moves, and who answers which request before
and after them. Pure.

The same functions that the engine acts by, on the state in which all that main asks for is done. Gates are not waited
for: `decide_group` says which are shut. Who answers follows from the precedence of the Gateway API
(https://gateway-api.sigs.k8s.io/reference/spec/#httprouterule and #httproutespec): the most specific host, an exact
path, the longest prefix, a method, most headers; then the first HTTPRoute by name, and its first rule.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.groups.gates import gates_before_merge
from gitops_bg.core.groups.inputs import DesiredGroup, ObservedGroup
from gitops_bg.core.groups.model import GroupGateway, GroupState, PromotionRejected, VersionStage
from gitops_bg.core.groups.plan import after_of, wanted_routes, wanted_services
from gitops_bg.core.groups.record import GroupRecord, TransitionKind
from gitops_bg.core.groups.requests import retry_version
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.auxiliary import Backend, Deny, HttpMatch, HttpRoute, HttpRule, PathKind, as_stored
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.version import GroupKey, Source

NOT_FOUND, DENIED = "404", "denied"
_KINDS = {PathKind.EXACT: 2, PathKind.REGEX: 1, PathKind.PREFIX: 0}


@dataclass(frozen=True, slots=True, order=True)
class SampleRequest:
    """One request for each set of conditions that a rule may have."""

    path: str
    version: str = ""
    """What its version's header names; empty: it has none."""
    host: str = ""
    """Empty: one that no rule names."""
    method: str = ""
    """Empty: one that no rule names."""
    headers: tuple[tuple[str, str], ...] = ()
    """The other headers."""
    kind: PathKind = PathKind.PREFIX
    """With `PathKind.REGEX` the path stands for all that match it."""

    def __str__(self) -> str:
        """Return the request in a few words.

        >>> str(SampleRequest("/cart", "v2", "shop.example.com", "GET", (("X-Beta", "yes"),)))
        'GET shop.example.com/cart, v2, X-Beta: yes'
        >>> str(SampleRequest("/a.*", kind=PathKind.REGEX))
        '/a.* (regex)'
        """
        path = f"{self.method} {self.host}{self.path}".strip()
        kind = " (regex)" if self.kind is PathKind.REGEX else ""
        more = (self.version, *(f"{name}: {value}" for name, value in self.headers))
        return ", ".join(filter(None, (path + kind, *more)))


def sample_requests(routes: Iterable[HttpRoute], header: str) -> list[SampleRequest]:
    """Return a request for every match of every rule: without the version's ``header``, and with each that a rule
    names.
    """
    every = list(routes)
    found = {
        _sample(match, host, header)
        for route in every
        for host in route.hosts or ("",)
        for rule in route.rules
        for match in rule.matches
    }
    versions = {each.version for each in found} | {""}
    return sorted({replace(each, version=version) for each in found for version in versions})


class RouteAnswers:
    """Who answers requests by these HTTPRoutes. ``header`` is the version's, ``deny`` how the group denies."""

    def __init__(self, routes: Iterable[HttpRoute], header: str, deny: Deny) -> None:
        self._header = header.lower()
        self._deny = deny
        self._found: defaultdict[tuple[PathKind, str], list[_Match]] = defaultdict(list)
        for route in routes:
            for place, rule in enumerate(route.rules):
                for match in rule.matches:
                    path = match.path.rstrip("/") if match.kind is PathKind.PREFIX else match.path
                    self._found[match.kind, path].append(_Match(route, place, rule, match))
        self._expressions = [path for kind, path in self._found if kind is PathKind.REGEX]

    def of(self, request: SampleRequest) -> str:
        """Return the Service that gets a request, `DENIED`, or `NOT_FOUND`."""
        given = {name.lower(): value for name, value in request.headers}
        if request.version:
            given[self._header] = request.version
        found = [
            (each.specificity(request), each.route.name, each.place, each.rule.to)
            for key in self._keys(request)
            for each in self._found.get(key, ())
            if each.has(request, given)
        ]
        if not found:
            return NOT_FOUND
        best = max(each[0] for each in found)
        to = min((each for each in found if each[0] == best), key=lambda each: each[1:3])[3]
        return to.service if isinstance(to, Backend) and to != self._deny.backend else DENIED

    def _keys(self, request: SampleRequest) -> Iterator[tuple[PathKind, str]]:
        """Yield the paths of rules that a request has."""
        if request.kind is PathKind.REGEX:  # It has no path of its own: only what surely matches all of them does.
            yield PathKind.REGEX, request.path
            yield PathKind.PREFIX, ""
            return
        yield PathKind.EXACT, request.path
        parts = request.path.rstrip("/").split("/")
        for count in range(len(parts), 0, -1):
            yield PathKind.PREFIX, "/".join(parts[:count])
        for path in self._expressions:
            if re.fullmatch(path, request.path):
                yield PathKind.REGEX, path


@dataclass(frozen=True, slots=True)
class _Match:
    """One match of a rule, with its place."""

    route: HttpRoute
    place: int
    rule: HttpRule
    match: HttpMatch

    def has(self, request: SampleRequest, given: Mapping[str, str]) -> bool:
        """Return whether a request of its path, with these headers, meets all other conditions."""
        return (
            any(True for _ in _host(self.route, request))
            and self.match.method in ("", request.method)
            and all(given.get(name.lower()) == value for name, value in self.match.headers)
        )

    def specificity(self, request: SampleRequest) -> tuple[tuple[int, int], int, int, bool, int]:
        """Return how specific it is for a request that it has."""
        match = self.match
        host = max(_host(self.route, request), default=(0, 0))
        return host, _KINDS[match.kind], len(match.path), bool(match.method), len(match.headers)


def _sample(match: HttpMatch, host: str, header: str) -> SampleRequest:
    version = next((value for name, value in match.headers if name.lower() == header.lower()), "")
    others = tuple(each for each in match.headers if each[0].lower() != header.lower())
    kind = match.kind if match.kind is PathKind.REGEX else PathKind.PREFIX
    return SampleRequest(match.path, version, host, match.method, others, kind)


def _host(route: HttpRoute, request: SampleRequest) -> Iterator[tuple[int, int]]:
    """Yield how specific each host of a route is that the request has: a name before a wildcard, the longer one first.

    >>> list(_host(HttpRoute("a", ("*.a.com", "b.a.com"), (), ()), SampleRequest("/", host="b.a.com")))
    [(1, 6), (2, 7)]
    """
    if not route.hosts:
        yield 0, 0
    for host in route.hosts:
        if host == request.host:
            yield 2, len(host)
        elif host.startswith("*.") and request.host.endswith(host[1:]):
            yield 1, len(host[1:])


@dataclass(frozen=True, slots=True)
class Ahead:
    """A promotion or rollback that is under way, or that main asks for."""

    kind: TransitionKind
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Changed:
    """Something by its name, before and after; empty where it does not exist."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ChangedAnswer:
    """A request that somebody else answers afterwards."""

    request: SampleRequest
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """The group once all that main asks for is done, and what is different then."""

    ahead: Ahead | None
    routes: tuple[HttpRoute, ...]
    """All HTTPRoutes then, as they read back from a cluster."""
    services: Mapping[str, str]
    """The member that each stable Service follows then."""
    stages: tuple[Changed, ...] = ()
    """The versions that change their stage."""
    answers: tuple[ChangedAnswer, ...] = ()
    same_answers: int = 0
    """How many of the requests are answered as before."""
    followers: tuple[Changed, ...] = ()
    """The stable Services that follow another member then."""


def forecast(
    key: GroupKey, desired: DesiredGroup, observed: ObservedGroup, record: GroupRecord, now: datetime
) -> Forecast:
    """Return what becomes of a group; ``record`` is that of its decision. Without a usable folder nothing changes."""
    if desired.spec is None or observed.foreign:
        return Forecast(None, _live_routes(observed), _live_services(observed))
    world = GroupWorld(key, desired.spec, desired, observed, record, now)
    ahead = _move_ahead(world)
    after = after_of(world, ahead.target, _archive_size(world)) if ahead else world.state
    done = world.with_record(state=after, transition=None)
    routes, services = tuple(map(as_stored, wanted_routes(done))), wanted_services(done)
    changed, same = _changed_answers(_live_routes(observed), routes, desired.spec.gateway)
    return Forecast(
        ahead=ahead,
        routes=routes,
        services=services,
        stages=tuple(_changed(_stage_names(world.state), _stage_names(after))),
        answers=changed,
        same_answers=same,
        followers=tuple(_changed(_live_services(observed), services)),
    )


def _move_ahead(world: GroupWorld) -> Ahead | None:
    """Return where the group goes; nowhere if it goes back, or if what main asks for is rejected. From a version that
    failed it goes to the one before, whatever main asks for.
    """
    moving, state, wanted = world.record.transition, world.record.state, world.record.next_of(world.spec.active)
    if moving is not None:
        return None if moving.withdrawn else Ahead(moving.kind, moving.source, moving.target)
    source, stage = state.only(VersionStage.ACTIVE), state.stage(wanted)
    if not source or stage is VersionStage.ACTIVE:
        return None
    try:
        after_of(world, wanted)
    except PromotionRejected:  # The condition PromotionRejected of the decision says why.
        return None
    is_back = stage is VersionStage.LEGACY
    return Ahead(TransitionKind.ROLLBACK if is_back else TransitionKind.PROMOTION, source, wanted)


def _archive_size(world: GroupWorld) -> int | None:
    return world.record.transition.archive_size if world.record.transition else None


def _live_routes(observed: ObservedGroup) -> tuple[HttpRoute, ...]:
    """Return the group's own HTTPRoutes, without those that say something no agent writes."""
    return tuple(each.route for each in observed.routes.values() if each.route is not None and not each.foreign)


def _live_services(observed: ObservedGroup) -> dict[str, str]:
    return {name: each.member for name, each in observed.services.items() if not each.foreign}


def _changed_answers(
    before: tuple[HttpRoute, ...], after: tuple[HttpRoute, ...], gateway: GroupGateway | None
) -> tuple[tuple[ChangedAnswer, ...], int]:
    if gateway is None:
        return (), 0
    header = gateway.version_header
    now, then = (RouteAnswers(routes, header, gateway.deny) for routes in (before, after))
    both = [ChangedAnswer(each, now.of(each), then.of(each)) for each in sample_requests((*before, *after), header)]
    changed = tuple(each for each in both if each.before != each.after)
    return changed, len(both) - len(changed)


def _stage_names(state: GroupState) -> dict[str, str]:
    return {each.name: each.stage.value for each in state.versions}


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Changed]:
    for name in sorted({*before, *after}):
        each = Changed(name, before.get(name, ""), after.get(name, ""))
        if each.before != each.after:
            yield each


@dataclass(frozen=True, slots=True)
class Proposal:
    """What people are asked to merge."""

    version: str
    """The version that it asks for; empty where nobody can read that."""
    live: str
    """The version that serves now."""
    forecast: Forecast
    deleted: tuple[str, ...] = ()
    """The versions whose folders it removes."""
    gates: tuple[GateResult, ...] = ()
    """What stands between the group and the version, as far as it can be open before the merge."""
    refused: str = ""
    """Why it must not be merged; empty where it may be."""
    later: bool = False
    """Whether an analysis or a hook is asked once it is merged."""
    named: str = ""
    """The version that main names without it."""

    @property
    def promotes(self) -> bool:
        """Whether requests move forward with it."""
        return self.forecast.ahead is not None and self.forecast.ahead.kind is TransitionKind.PROMOTION

    @property
    def is_back(self) -> bool:
        """Whether requests went back already, and main is to say so."""
        return self.version == self.live != self.named

    @property
    def goes_back(self) -> bool:
        """Whether requests go back with it, or did so already: for that nothing is waited for."""
        return self.is_back or (self.forecast.ahead is not None and not self.promotes)

    @property
    def change(self) -> str:
        """All of it in a few words."""
        if not self.version:
            return "a group.yaml that nobody can read"
        if self.goes_back:
            return f"back to {self.version}"
        if self.version != self.live:
            return f"{self.live} → {self.version}"
        return f"delete {', '.join(self.deleted)}" if self.deleted else "another group.yaml"


def proposal_of(
    key: GroupKey, main: DesiredGroup, merged: DesiredGroup, observed: ObservedGroup, record: GroupRecord, now: datetime
) -> Proposal:
    """Return what becomes of a group by a merge: ``main`` is what its folder says, ``merged`` what it says then."""
    record = replace(record, transition=None)  # What is on its way by main alone ends before, or because of it.
    live, named = record.state.only(VersionStage.ACTIVE), main.spec.active if main.spec is not None else ""
    if merged.spec is not None and merged.spec.retry is not None:  # It is on hold no longer then.
        world, asked = GroupWorld(key, merged.spec, merged, observed, record, now), Source(merged.commit or "merged")
        record = retry_version(world, asked, merged.spec.retry).record
    ahead = forecast(key, merged, observed, record, now)
    if merged.spec is None:
        why = str(merged.problems[0]) if merged.problems else "nobody can read what it would say"
        return Proposal("", live, ahead, refused=why, named=named)
    world = GroupWorld(key, merged.spec, merged, observed, record, now)
    version = merged.spec.active
    return Proposal(
        version,
        live,
        ahead,
        deleted=tuple(sorted(main.versions.keys() - merged.versions.keys())),
        gates=gates_before_merge(world, version) if version != live else (),
        refused=next(_against(world, version, live), ""),
        later=version != live and bool(merged.spec.pre_promotion_analysis or merged.spec.hooks),
        named=named,
    )


def _against(world: GroupWorld, version: str, live: str) -> Iterator[str]:
    """Yield why the group would reject it."""
    if version != live:
        try:
            after_of(world, version)
        except PromotionRejected as error:
            yield str(error)
