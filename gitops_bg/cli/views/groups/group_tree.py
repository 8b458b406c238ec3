"""A group as a tree: its versions, their services with what each app's tree has, its Services, routes and gates.

`read_group` reads all of it at one moment from the live objects; the rest is pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.console import Group

from gitops_bg.cli.errors import ObjectNotFound
from gitops_bg.cli.options.durations import spoken
from gitops_bg.cli.output import said
from gitops_bg.cli.session.live_session import LiveSession
from gitops_bg.cli.views.app_json import json_of
from gitops_bg.cli.views.app_row import age, style_of
from gitops_bg.cli.views.app_view import AppView, look
from gitops_bg.cli.views.groups.group_row import group_row_of
from gitops_bg.cli.views.tree_rows import Branch, gate_branch, root_of
from gitops_bg.cli.views.tree_view import drawn_tree
from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.groups.group_cluster import GroupCluster
from gitops_bg.core.groups.model import Endpoint, GroupVersion, VersionStage
from gitops_bg.core.groups.observed import LiveRoute, ObservedGroup
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.inspect.outlook import serving_in
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.spec.groups.status import GroupStatus

if TYPE_CHECKING:
    from gitops_bg.cli.printed.groups import GroupServiceTreeJson

_STAGES = {VersionStage.ACTIVE: "bold green", VersionStage.CANDIDATE: "cyan", VersionStage.LEGACY: "yellow"}
_TAKEN = {True: "Accepted", False: "NotAccepted", None: "Unknown"}
"""What the Gateways of a route say of it; Unknown: nothing."""


@dataclass(frozen=True, slots=True)
class GroupView:
    """One group. ``apps`` is by name; a service without one there is None."""

    group: GroupKey
    body: Object
    record: GroupRecord
    observed: ObservedGroup
    apps: Mapping[str, AppView | None]

    @property
    def status(self) -> GroupStatus:
        """What the agent wrote."""
        return GroupStatus.read(self.body.get("status"))


def read_group(session: LiveSession, body: Object) -> GroupView:
    """Read all that belongs to a live ReleaseGroup. Raises the cluster's errors, and `InvalidInput` for a damaged
    record.
    """
    group = GroupKey(body["metadata"]["namespace"], body["metadata"]["name"])
    groups = GroupCluster(session.cluster.client)
    seen = groups.seen(group)
    names = {member_name(each.service, each.initial_version) for each in seen.record.state.endpoints}
    apps = {name: _app(session, AppKey(group.namespace, name)) for name in sorted(names)}
    return GroupView(group, body, seen.record, groups.observe(group, seen, body.get("spec") or {}, {}), apps)


def _app(session: LiveSession, app: AppKey) -> AppView | None:
    try:
        return look(session, app)
    except ObjectNotFound:  # It is not made yet, or somebody deleted it: the tree says so.
        return None


def json_tree(view: GroupView) -> dict[str, Any]:
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
    return {"service": place.service, "app": name, "tree": json_of(app) if app is not None else None}


def drawn_group(view: GroupView, now: datetime) -> Group:
    """Return the group for people; ages count from ``now``."""
    status = view.status
    headline = said(f"{view.group}: {status.phase or 'Unknown'}: {status.message or ''}", style_of(status.phase or ""))
    return Group(headline, "", drawn_tree(group_root(view, now)))


def group_root(view: GroupView, now: datetime) -> Branch:
    """Return the whole tree: versions newest first, then the Services, the HTTPRoutes and the gates."""
    created = view.body["metadata"].get("creationTimestamp") or ""
    children = (
        *(_version(view, each, now) for each in reversed(view.record.state.versions)),
        *_services(view),
        *(_route(name, each) for name, each in sorted(view.observed.routes.items())),
        *(gate_branch(gate, now) for gate in (view.body.get("status") or {}).get("gates") or ()),
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
