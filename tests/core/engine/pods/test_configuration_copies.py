"""Copies of ConfigMaps and Secrets: when they are made, made again and deleted, and what never waits for them."""

from contextlib import suppress
from dataclasses import replace

import pytest

from gitops_bg.core.model.actions import (
    ApplyConfiguration,
    CreateReplicaSet,
    DeleteConfiguration,
    PublishLedger,
    ScaleReplicaSet,
    SwitchTraffic,
)
from gitops_bg.core.model.desired import LedgerMemory, Missing
from gitops_bg.core.model.digest import with_configuration
from gitops_bg.core.model.observed import ConfigurationView, OperatorCommand
from gitops_bg.core.model.record import Switch, SwitchKind
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import AppKey, ConfigurationRef, Stage, Version
from gitops_bg.core.names import LONGEST_NAME, configuration_name
from gitops_bg.core.world import World
from tests.core import worlds
from tests.core.simulation import APP, Crash, automatic, deployed, manual, settings, template
from tests.core.worlds import NOW, decided, digest, world

ONE, TWO = settings("a"), settings("b")
HIDDEN = ConfigurationRef("Secret", "settings", ONE.digest)
SUSPENDED = replace(manual(), suspend=Suspension("incident"))


def using(version: Version, *refs: ConfigurationRef) -> Version:
    """The version with configuration; its digest stays, which is only compared here."""
    return replace(version, snapshot=replace(version.snapshot, configuration=refs))


def pods(of: int, *refs: ConfigurationRef, replicas: int = 3):
    view = worlds.pods(of, replicas)
    return replace(view, snapshot=replace(view.snapshot, configuration=refs))


def target(number: int, *refs: ConfigurationRef):
    plain = worlds.target(number)
    return replace(plain, snapshot=replace(plain.snapshot, configuration=refs))


def primary(number: int, *refs: ConfigurationRef):
    plain = worlds.primary(number)
    return replace(plain, snapshot=replace(plain.snapshot, configuration=refs))


def copy(ref: ConfigurationRef, **changes: object) -> ConfigurationView:
    return replace(ConfigurationView(ref.kind, configuration_name(APP, ref), ref.digest), **changes)


def named(ref: ConfigurationRef) -> str:
    return configuration_name(APP, ref)


ACTIVE = using(worlds.active(1), ONE)
COMING = using(worlds.rising(2), TWO)


def state(*versions: Version, copies=(), unlisted=(), **changes):
    """A world whose target and primary are those of the newest and of the active version, with their configuration."""
    newest, serving = versions[-1], next(one for one in versions if one.stage is Stage.ACTIVE)
    wanted = {
        "target": target(newest.number, *newest.snapshot.configuration),
        "primary": primary(serving.number, *serving.snapshot.configuration),
        **changes.pop("desired", {}),
    }
    sets = changes.pop("sets", None)
    if sets is None:
        sets = tuple(pods(one.number, *one.snapshot.configuration) for one in versions)
    seen = {"configurations": copies, "unlisted": unlisted}
    return world(*versions, desired=wanted, sets=sets, observed=seen, **changes)


def make(ref: ConfigurationRef, number: int) -> str:
    return f"make {named(ref)}, the copy of {ref.kind} settings for v{number}"


def repair(ref: ConfigurationRef, number: int) -> str:
    return f"repair {named(ref)}, the copy of {ref.kind} settings for v{number}"


MADE: dict[str, tuple[World, list[str]]] = {
    "nothing where it is there": (state(ACTIVE, COMING, copies=(copy(ONE), copy(TWO))), []),
    "a new version's copy": (state(ACTIVE, COMING, copies=(copy(ONE),)), [make(TWO, 2)]),
    "a new version's copy, of an app of one pod": (
        state(ACTIVE, COMING, copies=(copy(ONE),), desired={"target": replace(target(2, TWO), replicas=1)}),
        [make(TWO, 2)],
    ),
    "a ConfigMap and a Secret of one name": (
        state(ACTIVE, using(COMING, TWO, HIDDEN), copies=(copy(ONE),)),
        [make(TWO, 2), make(HIDDEN, 2)],
    ),
    "one that holds something else": (
        state(ACTIVE, COMING, copies=(copy(ONE), copy(TWO, digest="v1:else"))),
        [repair(TWO, 2)],
    ),
    "one that may be changed": (state(ACTIVE, COMING, copies=(copy(ONE), copy(TWO, drifted=True))), [repair(TWO, 2)]),
    "not while one of its name is going away": (
        state(ACTIVE, COMING, copies=(copy(ONE), copy(TWO, deleting=True, digest="v1:else"))),
        [],
    ),
    "not for a version that gets no pods": (
        state(
            ACTIVE,
            using(worlds.archived(2, activated_at=None), TWO),
            copies=(copy(ONE),),
            desired={"target": target(1, ONE)},
        ),
        [],
    ),
    "not what Git does not have": (state(ACTIVE, COMING, copies=(copy(ONE),), desired={"target": Missing.ABSENT}), []),
    "not while suspended": (state(ACTIVE, COMING, copies=(copy(ONE),), spec=SUSPENDED), []),
    "where nothing may be listed, before its ReplicaSet": (
        state(ACTIVE, COMING, unlisted=("ConfigMap",), sets=(pods(1, ONE),)),
        [make(TWO, 2)],
    ),
    "where nothing may be listed, not while its former ReplicaSet goes": (
        state(ACTIVE, COMING, unlisted=("ConfigMap",), sets=(pods(1, ONE), replace(pods(2, TWO), deleting=True))),
        [],
    ),
    "where nothing may be listed, once": (state(ACTIVE, COMING, unlisted=("ConfigMap",)), []),
    "what serves": (state(ACTIVE, COMING, copies=(copy(TWO),)), [make(ONE, 1)]),
    "what somebody replaced": (state(ACTIVE, copies=(copy(ONE, digest="v1:else"),)), [repair(ONE, 1)]),
    "what two versions share, once": (
        state(using(worlds.legacy(1), ONE), using(worlds.active(2), ONE)),
        [make(ONE, 2)],
    ),
    "nothing where nothing may be listed": (state(ACTIVE, unlisted=("ConfigMap",)), []),
    "what is of another kind than may not be listed": (state(ACTIVE, unlisted=("Secret",)), [make(ONE, 1)]),
    "not what Git has no more": (
        state(using(worlds.legacy(1), ONE), using(worlds.active(2), TWO), copies=(copy(TWO),)),
        [],
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_copies_are_made_before_pods_that_use_them_and_again_where_somebody_deleted_or_replaced_them(name):
    before, actions = MADE[name]
    assert [str(each) for each in decided(before).actions if isinstance(each, ApplyConfiguration)] == actions


CLEARED = {
    "nothing that a version uses": (state(ACTIVE, COMING, copies=(copy(ONE), copy(TWO))), []),
    "what nothing uses": (state(ACTIVE, copies=(copy(ONE), copy(TWO), copy(HIDDEN))), [TWO, HIDDEN]),
    "not what an archived version uses": (
        state(using(worlds.archived(1), TWO), using(worlds.active(2), ONE), copies=(copy(ONE), copy(TWO))),
        [],
    ),
    "not what a ReplicaSet uses that no version knows": (
        state(ACTIVE, copies=(copy(ONE), copy(TWO)), sets=(pods(1, ONE), pods(9, TWO))),
        [],
    ),
    "nothing while there is a ReplicaSet that no version knows": (
        state(ACTIVE, copies=(copy(ONE), copy(TWO)), sets=(pods(1, ONE), pods(9))),
        [],
    ),
    "not what the target uses, though it is on hold": (
        state(ACTIVE, copies=(copy(ONE), copy(TWO)), desired={"target": target(2, TWO)}),
        [],
    ),
    "not what is somebody else's": (state(ACTIVE, copies=(copy(ONE), copy(TWO, ours=False, owner="x"))), []),
    "not what is going already": (state(ACTIVE, copies=(copy(ONE), copy(TWO, deleting=True))), []),
    "nothing while suspended": (state(ACTIVE, copies=(copy(TWO),), spec=SUSPENDED), []),
    "nothing while a switch is on its way": (
        state(ACTIVE, copies=(copy(TWO),), record={"switch": Switch(digest(1), digest(2), SwitchKind.PROMOTION, NOW)}),
        [],
    ),
}


@pytest.mark.parametrize("name", CLEARED)
def test_what_nothing_uses_any_more_is_deleted(name):
    before, refs = CLEARED[name]
    deleted = [each for each in decided(before).actions if isinstance(each, DeleteConfiguration)]
    assert deleted == [DeleteConfiguration(ref.kind, named(ref)) for ref in refs]


FIRST: dict[str, tuple[World, list[type]]] = {
    "a new version": (
        state(ACTIVE, COMING, copies=(copy(ONE),), sets=(pods(1, ONE),)),
        [ApplyConfiguration, CreateReplicaSet, ScaleReplicaSet],
    ),
    "a new version of an app of one pod": (
        state(
            ACTIVE,
            COMING,
            copies=(copy(ONE),),
            sets=(pods(1, ONE, replicas=1),),
            desired={"target": replace(target(2, TWO), replicas=1)},
        ),
        [ApplyConfiguration, CreateReplicaSet, ScaleReplicaSet],
    ),
    "no new version that gets no pods: its copy comes last": (
        state(
            ACTIVE,
            COMING,
            copies=(copy(ONE),),
            sets=(pods(1, ONE, replicas=0),),
            desired={"target": replace(target(2, TWO), replicas=0)},
        ),
        [CreateReplicaSet, ApplyConfiguration],
    ),
    "no version that serves: its copy comes last": (
        state(ACTIVE, COMING, copies=(copy(TWO),), sets=(pods(1, ONE),)),
        [CreateReplicaSet, ScaleReplicaSet, ApplyConfiguration],
    ),
}


@pytest.mark.parametrize("name", FIRST)
def test_copies_come_before_the_pods_of(name):
    before, kinds = FIRST[name]
    wanted = ApplyConfiguration | CreateReplicaSet | ScaleReplicaSet
    assert [type(each) for each in decided(before).actions if isinstance(each, wanted)] == kinds


def test_a_copy_that_is_refused_holds_up_only_the_version_that_begins_with_it():
    """The agent carries out actions up to the first that is refused: what serves is repaired and switched before."""
    before = state(
        using(worlds.legacy(1), ONE),
        using(worlds.active(2), ONE),
        using(worlds.rising(3), TWO),
        copies=(copy(ONE),),
        sets=(pods(1, ONE), replace(pods(2, ONE), drifted=True)),
        names_=1,
        desired={"primary": primary(1, ONE)},
    )
    kinds = [type(action) for action in decided(before).actions if not isinstance(action, PublishLedger)]
    assert kinds == [SwitchTraffic, CreateReplicaSet, ApplyConfiguration, CreateReplicaSet, ScaleReplicaSet]


def test_what_traffic_is_to_go_to_gets_its_copies_first():
    """Also where nothing is there: a cluster that was rebuilt."""
    coming = using(worlds.rising(1), ONE)
    before = world(coming, names_=1, sets=(), desired={"target": target(1, ONE), "primary": primary(1, ONE)})
    kinds = [type(action) for action in decided(before).actions if not isinstance(action, PublishLedger)]
    assert kinds[:2] == [ApplyConfiguration, CreateReplicaSet]


def test_a_change_of_configuration_alone_is_a_new_version():
    """flagger.md §9 (e): it restarts green."""
    sim = deployed(manual(), "1+a")
    sim.push("1+b")
    sim.settle()
    assert (sim.live, sim.shown) == ("1+a", "1+b")
    assert len(sim.copies) == 2
    sim.merge()
    sim.settle()
    assert sim.live == "1+b"


def test_setting_it_back_cancels_the_candidate():
    """Where Flagger starts a full run (flagger.md §2)."""
    sim = deployed(manual(), "1+a")
    sim.push("1+b")
    sim.settle()
    sim.push("1+a")
    sim.settle()
    assert (sim.live, sim.shown, sim.decide().phase) == ("1+a", "1+a", "Healthy")
    assert "cancelled" in sim.events()


def test_the_way_back_is_one_write_whatever_became_of_the_copies():
    sim = deployed(automatic(), "1+a")
    sim.push("1+b")
    sim.settle()
    assert sim.live == "1+b"
    sim.copies.clear()
    sim.set_primary("1+a")
    sim.settle()
    assert sim.live == "1+a"
    assert sim.copies[named(ONE)].digest == ONE.digest, "what main has again is made again"


def test_a_rebuilt_cluster_comes_back_with_the_promoted_configuration():
    """Not with the newest: main's `primary.yaml` has it."""
    sim = deployed(manual(), "1+a")
    sim.push("1+b")
    sim.settle()
    sim.rebuild_cluster()
    sim.settle()
    assert sim.live == "1+a"


def test_a_forgotten_version_takes_its_copy_along():
    sim = deployed(replace(automatic(scale_down_delay_seconds=0), revision_history_limit=1), "1+a")
    for held in "bcd":
        sim.push(f"1+{held}")
        sim.settle()
    assert {view.digest for view in sim.copies.values()} == {settings(held).digest for held in "cd"}


def test_the_record_keeps_what_an_archived_version_uses_but_no_text():
    sim = deployed(automatic(scale_down_delay_seconds=0), "1+a")
    for tag in ("2+b", "3+c", "4+d"):
        sim.push(tag)
        sim.settle()
    first = sim.record.numbered(1)
    assert first is not None
    assert first.snapshot.text == ""
    assert first.snapshot.configuration == (ONE,)
    assert World(sim.spec, sim.desired(), sim.observed(), sim.record, sim.now).snapshot(first).configuration == (ONE,)


def test_a_foreign_object_under_the_name_of_a_copy_is_said():
    foreign = copy(ONE, ours=False, owner="ConfigMap shop/x is made by somebody else")
    condition = next(one for one in decided(state(ACTIVE, copies=(foreign,))).conditions if one.type == "Conflict")
    assert (condition.status, condition.message) == (True, "ConfigMap shop/x is made by somebody else")


def test_names_of_copies():
    """Another for each app, kind, name and content; never longer than Kubernetes takes for every name."""
    refs = [ONE, TWO, HIDDEN, replace(ONE, name="other")]
    assert len({configuration_name(app, ref) for app in (APP, AppKey("shop", "api")) for ref in refs}) == 8
    long = replace(ONE, name="a" * 52 + "." + "b" * 200)
    assert len(configuration_name(APP, long)) <= LONGEST_NAME
    assert configuration_name(APP, long).startswith("a" * 52 + "-")


def test_a_version_with_configuration_is_found_under_a_digest_of_a_newer_release():
    """It is the same version where pod template and configuration are the same (DESIGN §3)."""
    newer = replace(with_configuration(worlds.version(1, Stage.ACTIVE).snapshot, (ONE,)), digest="v9:ff")
    serving = replace(worlds.active(1), snapshot=newer)
    record = {"traffic": "v9:ff", "primary": "v9:ff", "preview": "v9:ff"}
    snapshot = with_configuration(newer, (ONE, HIDDEN))
    same, other = replace(snapshot, digest=digest(7), configuration=(ONE,)), snapshot
    assert world(serving, record=record).resolve(same) == "v9:ff"
    assert world(serving, record=record).resolve(other) == other.digest


@pytest.mark.parametrize("writes", range(6))
def test_rebuilt_cluster_has_copies_before_pods_also_where_none_may_be_listed(writes):
    """The ledger knows that the version served. Whatever dies after any write: its pods find what they need."""
    sim = deployed(automatic())
    sim.push("2+a")
    sim.settle(limit=60)
    sim.rebuild_cluster()
    sim.unlisted = ("ConfigMap",)
    served = tuple(template(tag).digest for tag in ("1", "2+a"))
    sim.seen, sim.reachable = replace(sim.desired(), memory=LedgerMemory(2, 2, active_digests=served)), False
    sim.step()
    with suppress(Crash):
        sim.step(writes)
    sim.reachable = True
    sim.settle()
    assert (sim.live, sim.pods[template("2+a").digest].available) == ("2+a", 3)


def test_copy_that_nobody_may_list_is_not_made_for_what_gets_no_replica_set():
    """Else it would be made again with every pass, for ever (I5)."""
    sim = deployed(automatic(), "2+a")
    sim.push("3+b")
    sim.settle(limit=60)
    sim.unlisted = ("ConfigMap",)
    sim.ask(OperatorCommand.ROLLBACK)
    sim.settle()
    sim.later(seconds=601)
    sim.settle()
    sim.delete_replica_set("3+b")
    sim.settle()
    assert sim.decide().actions == ()
