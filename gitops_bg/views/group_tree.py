"""A release group as a tree: its versions, their services with what each app's tree has, its Services, routes and
gates; and the same for programs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.groups.inputs import LiveRoute, ObservedGroup
from gitops_bg.core.groups.model import Endpoint, GroupVersion, VersionStage
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.status.group_advice import serving_in
from gitops_bg.spec.status import GroupStatus
from gitops_bg.views.app import AppView
from gitops_bg.views.rows import group_row_of
from gitops_bg.views.tree import Branch, gate_branch, json_tree_of_app, root_of
from gitops_bg.views.words import age, spoken, style_of

if TYPE_CHECKING:
    from gitops_bg.views.shapes.groups import GroupServiceTreeJson


_STAGES = {VersionStage.ACTIVE: "bold green", VersionStage.CANDIDATE: "cyan", VersionStage.LEGACY: "yellow"}
_TAKEN = {True: "Accepted", False: "NotAccepted", None: "Unknown"}
"""What the Gateways of a route say of it; Unknown: nothing."""


@dataclass(frozen=True, slots=True)
class GroupView:
    """One group. ``apps`` is by name; a service without one there is None."""

    group: GroupKey
    body: Mapping[str, Any]
    record: GroupRecord
    observed: ObservedGroup
    apps: Mapping[str, AppView | None]

    @property
    def status(self) -> GroupStatus:
        """What the agent wrote."""
        return GroupStatus.read(self.body.get("status"))


def json_tree_of_group(view: GroupView) -> dict[str, Any]:
    """Return the row of the group, and each app as `tree` shows it, for programs."""
    return {
        **group_row_of(view.body).json(),
        "versions": [
            {
                "name": each.name,
                "stage": each.stage,
                "services": [_json_service(view, of) for of in _places(view, each)],
            }
            for each in view.record.state.versions
        ],
        "services": [{"name": name, "follows": each.member} for name, each in sorted(view.observed.services.items())],
        "routes": [
            {"name": name, "accepted": each.accepted, "reason": each.reason or each.unresolved}
            for name, each in sorted(view.observed.routes.items())
        ],
    }


def _json_service(view: GroupView, place: Endpoint) -> "GroupServiceTreeJson":
    name = member_name(place.service, place.initial_version)
    app = view.apps[name]
    return {"service": place.service, "app": name, "tree": json_tree_of_app(app) if app is not None else None}


def group_root(view: GroupView, now: datetime) -> Branch:
    """Return the whole tree: the gates, then the versions, newest first, then the Services and the HTTPRoutes."""
    created = view.body["metadata"].get("creationTimestamp") or ""
    children = (
        *(gate_branch(gate, now) for gate in (view.body.get("status") or {}).get("gates") or ()),
        *(_version(view, each, now) for each in reversed(view.record.state.versions)),
        *_services(view),
        *(_route(name, each) for name, each in sorted(view.observed.routes.items())),
    )
    phase = view.status.phase or "Unknown"
    return Branch(f"⟳ {view.group.name}", "Group", phase, age(created, now), "", "bold", children)


def _places(view: GroupView, version: GroupVersion) -> tuple[Endpoint, ...]:
    return serving_in(view.record, version.name)


def _version(view: GroupView, version: GroupVersion, now: datetime) -> Branch:
    services = tuple(_service(view, place, now) for place in _places(view, version))
    since = spoken((now - version.changed_at).total_seconds())
    return Branch(f"# {version.name}", "Version", version.stage, since, "", _STAGES.get(version.stage, "dim"), services)


def _service(view: GroupView, place: Endpoint, now: datetime) -> Branch:
    """Return the app of a service; where it came from an older version, that is said."""
    name = member_name(place.service, place.initial_version)
    about = f"service {place.service}" + (f", from {place.initial_version}" if _is_older(place) else "")
    app = view.apps[name]
    if app is None:
        return Branch(f"⟳ {name}", "App", "Missing", "", about, "red")
    return replace(root_of(app, now), info=about, style=style_of(app.row.phase))


def _is_older(place: Endpoint) -> bool:
    return place.initial_version != place.version


def _services(view: GroupView) -> Iterator[Branch]:
    for name, each in sorted(view.observed.services.items()):
        info = each.foreign or f"→ {each.member or 'no member'}"
        yield Branch(f"⇄ {name}", "Service", "stable", "", info, "" if each.member else "yellow")


def _route(name: str, live: LiveRoute) -> Branch:
    info = live.foreign or live.reason or live.unresolved
    return Branch(f"⇉ {name}", "HTTPRoute", _TAKEN[live.accepted], "", info, "red" if live.accepted is False else "")
