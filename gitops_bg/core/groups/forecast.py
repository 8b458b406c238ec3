"""What a promotion or a rollback of a group would change: stages, who answers which request, where Services lead."""

from collections.abc import Mapping
from dataclasses import dataclass

from gitops_bg.core.groups.model import GroupState, RouteMatch, VersionStage
from gitops_bg.core.groups.plan import after_of, members_of
from gitops_bg.core.groups.record import TransitionKind
from gitops_bg.core.groups.world import GroupWorld, member_name
from gitops_bg.core.model.http_routes import PathKind

NOBODY, DENIED = "nobody", "denied"


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is one way now and another way afterwards; an empty text: it is not there."""

    what: str
    now: str
    after: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """What would be different; what stays is left out."""

    kind: TransitionKind
    source: str
    target: str
    stages: tuple[Difference, ...]
    requests: tuple[Difference, ...]
    """Requests without the version's header, and the members that answer them."""
    services: tuple[Difference, ...]
    """The Services of the services' own names, and the members that they follow."""


def forecast(world: GroupWorld, version: str) -> Forecast:
    """Return what moving to a version would change, whatever its gates say. Raises `PromotionRejected`."""
    before, after = world.state, after_of(world, version)
    is_way_back = before.stage(version) is VersionStage.LEGACY
    return Forecast(
        TransitionKind.ROLLBACK if is_way_back else TransitionKind.PROMOTION,
        before.only(VersionStage.ACTIVE),
        version,
        _differences(_stages(before), _stages(after)),
        _differences(_answers(before), _answers(after), NOBODY),
        _differences(members_of(before), members_of(after)),
    )


def _differences(now: Mapping[str, str], after: Mapping[str, str], none: str = "") -> tuple[Difference, ...]:
    found = (Difference(what, now.get(what, none), after.get(what, none)) for what in dict.fromkeys((*now, *after)))
    return tuple(each for each in found if each.now != each.after)


def _stages(state: GroupState) -> dict[str, str]:
    return {each.name: str(each.stage) for each in state.versions}


def _answers(state: GroupState) -> dict[str, str]:
    active = state.only(VersionStage.ACTIVE)
    routes = sorted((each for each in state.routes if each.version == active), key=lambda each: said_of(each.match))
    return {
        said_of(each.match): member_name(each.service, each.initial_version) if each.allowed else DENIED
        for each in routes
    }


def said_of(match: RouteMatch) -> str:
    """Return the requests of a route in words.

    >>> said_of(RouteMatch("/cart")), said_of(RouteMatch("/export", PathKind.EXACT, "c.io", (), ("GET",)))
    ('/cart', 'GET c.io/export only')
    >>> said_of(RouteMatch("/v[0-9]+", PathKind.REGEX, headers=(("X-Beta", "yes"),)))
    '~/v[0-9]+ with X-Beta: yes'
    """
    methods = f"{','.join(match.methods)} " if match.methods else ""
    path = f"~{match.path}" if match.kind is PathKind.REGEX else match.path
    only = " only" if match.kind is PathKind.EXACT else ""
    headers = "".join(f" with {name}: {value}" for name, value in match.headers)
    return f"{methods}{match.host}{path}{only}{headers}"
