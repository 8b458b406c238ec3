"""The shapes of what is shown of release groups, and of plans, which are of both: one for each serialiser."""

from typing import Annotated, Any, Literal

from pydantic import Field, with_config
from typing_extensions import TypedDict

from gitops_bg.core.groups.forecast import Ahead, Changed, SampleRequest
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.record import Transition
from gitops_bg.core.model.conditions import Condition
from gitops_bg.spec.status import GroupStatus
from gitops_bg.views.shapes.apps import CLOSED, Encoded, ExplainedJson, PlannedAppJson, PlannedJson, RowJson, TreeJson

_OF_ROW: dict[str, Any] = {
    "kind": Literal["group"],
    "namespace": str,
    "name": str,
    "branch": Annotated[
        str, Field(description="The branch that it follows; empty where the live object does not say.")
    ],
}
GroupRowJson = Annotated[dict[str, Any], Encoded(GroupStatus, **_OF_ROW)]
"""One group: the status of its object."""


@with_config(CLOSED)
class ItemsJson(TypedDict):
    """What `get` prints."""

    items: list[RowJson | GroupRowJson]


@with_config(CLOSED)
class PageJson(ItemsJson):
    """One page of the list, of the dashboard's API."""

    page: int
    """Its number, from 1."""
    pages: int
    found: int
    """How many fit what was asked for, on all pages."""
    total: int
    """How many there are."""


@with_config(CLOSED)
class GroupsJson(TypedDict):
    """What `group get` prints."""

    items: list[GroupRowJson]


@with_config(CLOSED)
class GroupServiceTreeJson(TypedDict):
    """One service of a version."""

    service: str
    app: str
    tree: TreeJson | None
    """The app as `tree` prints it; null where there is none."""


@with_config(CLOSED)
class GroupVersionTreeJson(TypedDict):
    """One version of a group, with its services."""

    name: str
    stage: VersionStage
    services: list[GroupServiceTreeJson]


@with_config(CLOSED)
class FollowingJson(TypedDict):
    """One stable Service."""

    name: str
    follows: str
    """The app that it follows."""


@with_config(CLOSED)
class RouteJson(TypedDict):
    """One HTTPRoute."""

    name: str
    accepted: bool | None
    """null: its Gateways say nothing of it."""
    reason: str


GroupTreeJson = Annotated[
    dict[str, Any],
    Encoded(
        GroupStatus,
        **_OF_ROW
        | {"versions": list[GroupVersionTreeJson], "services": list[FollowingJson], "routes": list[RouteJson]},
    ),
]
"""One group: its row, and what its versions, Services and routes are now."""


@with_config(CLOSED)
class GroupTreesJson(TypedDict):
    """What `group tree` and `group get GROUP` print."""

    items: list[GroupTreeJson]


@with_config(CLOSED)
class MemberJson(TypedDict):
    """What the cluster shows of one service of a version."""

    service: str
    app: str
    healthy: bool
    available: bool
    reason: str


@with_config(CLOSED)
class ExplainedVersionJson(TypedDict):
    """One version of a group."""

    name: str
    stage: VersionStage
    services: list[MemberJson]


@with_config(CLOSED)
class AdviceJson(TypedDict):
    """What a person can do."""

    what: str
    command: str
    """Empty where there is none."""


@with_config(CLOSED)
class GroupExplanationJson(ExplainedJson):
    """What `explain` prints of a release group."""

    group: str
    wanted: str | None
    """The version that main asks for."""
    transition: Annotated[dict[str, Any], Encoded(Transition)] | None
    versions: list[ExplainedVersionJson]
    outlook: str
    """What comes next, as a sentence."""
    toDo: list[AdviceJson]


@with_config(CLOSED)
class PlannedGroupJson(PlannedJson):
    """The plan of one release group."""

    group: str
    askedFor: str | None
    """The version that the plan is for as if main asked for it."""
    move: Annotated[dict[str, Any], Encoded(Ahead)] | None
    rejected: list[Annotated[dict[str, Any], Encoded(Condition)]]
    versions: list[Annotated[dict[str, Any], Encoded(Changed)]]
    requests: list[Annotated[dict[str, Any], Encoded(SampleRequest, before=str, after=str)]]
    """The requests that somebody else answers then."""
    services: list[Annotated[dict[str, Any], Encoded(Changed)]]
    left: str | None
    """What becomes of a live group whose folder left main."""


_Before = TypedDict("_Before", {"from": str, "unchanged": int}, total=False)


@with_config(CLOSED)
class PlanJson(_Before):
    """What `plan` prints. ``from`` and ``unchanged`` are there if it is about what would come to main."""

    commit: str
    apps: list[PlannedAppJson]
    groups: list[PlannedGroupJson]
