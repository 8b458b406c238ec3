"""Which apps are services of release groups, and whether their groups let them run, by what looks at groups found."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.lineage import Followed
from gitops_bg.agent.desired.reading import AppEntry, Reading
from gitops_bg.agent.groups.members import Members
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.groups.inputs import DesiredGroup, DesiredService, DesiredVersion, GroupSpec
from gitops_bg.core.groups.model import Endpoint, GroupState, GroupVersion, VersionStage
from gitops_bg.core.groups.record import GroupRecord, MemberState
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.groups.load import GroupConfig

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STORE = GroupKey("shop", "store")
CART_1, CART_2, WEB = AppKey("shop", "cart-v1"), AppKey("shop", "cart-v2"), AppKey("shop", "web")


def entry(app: AppKey, folder: str) -> AppEntry:
    return AppEntry(AppConfig(app, None, {}, None, None, folder=folder), has_primary=True, has_target=True)


def reading(*versions: str) -> Reading:
    """Main with a group of these versions, each with a cart, and an app beside it."""
    cart = {"cart": DesiredService()}
    desired = DesiredGroup(GroupSpec("v1"), {each: DesiredVersion(each, cart) for each in versions})
    carts = {AppKey("shop", f"cart-{each}"): f"groups/shop/store/{each}/cart" for each in versions}
    entries = {app: entry(app, folder) for app, folder in {**carts, WEB: "apps/shop/web"}.items()}
    return Reading(Followed("c" * 40), entries, groups={STORE: GroupConfig(desired)})


def record(**stages: VersionStage) -> GroupRecord:
    """A group of these versions, each with a cart of its own."""
    versions = tuple(GroupVersion(name, stage, NOON) for name, stage in stages.items())
    return GroupRecord(state=GroupState(versions, tuple(Endpoint("cart", each, each) for each in stages)))


class World:
    """Main, and which apps have pods."""

    def __init__(self, *versions: str) -> None:
        self.reading = reading(*versions)
        self.with_pods: set[AppKey] = set()
        cluster = SimpleNamespace(bgd=self._bgd)
        self.members = Members(cast(Catalog, self), cast(Cluster, cluster))

    def _bgd(self, app: AppKey) -> Any:
        status = {"availableReplicas": 1 if app in self.with_pods else 0}
        return SimpleNamespace(status=SimpleNamespace(read=lambda: status))


def test_an_app_of_its_own_is_no_member() -> None:
    members = World("v1").members
    assert (members.group_of(WEB), members.state(WEB)) == (None, None)
    assert members.group_of(CART_1) == STORE


def test_a_member_waits_until_its_group_was_looked_at() -> None:
    members = World("v1", "v2").members
    assert members.state(CART_1) is MemberState.PENDING
    members.know(STORE, record(v1=VersionStage.ACTIVE, v2=VersionStage.CANDIDATE))
    assert [members.state(each) for each in (CART_1, CART_2)] == [MemberState.RUNNING, MemberState.CANDIDATE]
    assert members.changed() == {CART_1, CART_2}, "both wait for the look"


@pytest.mark.parametrize("empty", [False, True])
def test_what_has_pods_runs_on_where_nobody_can_read_its_group(empty: bool) -> None:
    world = World("v1", "v2")
    world.with_pods, members = {CART_1}, world.members
    assert {members.state(each) for each in (CART_1, CART_2)} == {MemberState.PENDING}, "its group was not looked at"
    if empty:
        members.know(STORE, GroupRecord())
    else:
        members.failed(STORE)
    assert [members.state(each) for each in (CART_1, CART_2)] == [MemberState.RUNNING, MemberState.PENDING]
    assert members.changed() == {CART_1, CART_2}
    members.failed(STORE)
    assert members.changed() == frozenset(), "a second failure is no news"


def test_a_look_that_changes_nothing_wakes_nobody() -> None:
    members, known = World("v1").members, record(v1=VersionStage.ACTIVE)
    members.state(CART_1)
    members.know(STORE, known)
    members.changed()
    members.know(STORE, known)
    members.failed(STORE)
    assert members.changed() == frozenset()


def test_members_of_a_group_that_ends_are_deleted_and_live_on_where_its_folder_comes_back() -> None:
    members, known = World("v1").members, record(v1=VersionStage.ACTIVE)
    members.know(STORE, known, ends=True)
    assert members.state(CART_1) is MemberState.DELETED
    members.know(STORE, known)
    assert members.state(CART_1) is MemberState.RUNNING
    assert members.changed() == {CART_1}


def test_what_serves_without_a_folder_is_still_a_member() -> None:
    world = World("v2")
    members = world.members
    assert members.state(CART_1) is MemberState.PENDING, "it may be one of a group that was not looked at"
    members.know(STORE, record(v1=VersionStage.ACTIVE, v2=VersionStage.CANDIDATE))
    assert CART_1 in members.changed(), "it was deferred until then"
    assert (members.group_of(CART_1), members.state(CART_1)) == (STORE, MemberState.RUNNING)
    world.reading = Reading(Followed("d" * 40))
    members.forget(STORE)
    assert members.groups() == []
    assert CART_1 in members.changed()
