"""A version has one ReplicaSet, whatever that is called, also for an agent whose caches have not seen it yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client, EndpointSliceVersion
from gitops_bg.cluster.api.errors import ForeignObject
from gitops_bg.cluster.execution.replica_sets import ReplicaSets
from gitops_bg.cluster.execution.writer import Guards, Writer
from gitops_bg.cluster.observation.additions import AppliedStates
from gitops_bg.cluster.observation.on_demand import Pods
from gitops_bg.cluster.observation.reader import LiveReader
from gitops_bg.cluster.observation.states import ReplicaSetState
from gitops_bg.cluster.observation.views import live_name
from gitops_bg.core import names
from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.actions import ApplyApp, ScaleReplicaSet
from gitops_bg.core.model.version import AppKey
from tests.integration.cluster.scene import Scene, create, snapshot
from tests.support import manifests
from tests.support.cluster.paths import replica_sets
from tests.support.cluster.rawapi import MERGE

ONE, TWO = snapshot("v1"), snapshot("v2")


@dataclass
class Sight(LiveReader):
    """A reader that has not seen any ReplicaSet yet, like a cache whose watch is behind, while `behind`."""

    client: Client
    namespace: str
    behind: bool = False

    def __post_init__(self) -> None:
        super().__init__(self.client, EndpointSliceVersion(self.client), (self.namespace,))

    def replica_sets(self, app: AppKey) -> tuple[ReplicaSetState, ...]:
        return () if self.behind else super().replica_sets(app)


@dataclass
class Hand:
    """The workloads of an app, behind that reader."""

    scene: Scene
    sight: Sight

    def __post_init__(self) -> None:
        writer, client = Writer(self.sight.client, self.sight), self.sight.client
        guards = Guards(self.sight, self.sight, writer)
        self.workloads = ReplicaSets(self.sight, writer, guards, AppliedStates(), Pods(client))

    def create(self, of: object = ONE, **more: object) -> None:
        self.workloads.create(self.scene.app, create(of, **more), {})  # type: ignore[arg-type]

    def scale(self, current: int, to: int, number: int = 1) -> None:
        action = ScaleReplicaSet(ONE.digest, number, current, to, "told to")
        self.workloads.scale(self.scene.app, action, lambda *_: None)

    def sizes(self) -> dict[str, int]:
        """The replicas of each live ReplicaSet, by name."""
        found = self.scene.cluster.list(replica_sets(self.scene.app.namespace))
        return {each["metadata"]["name"]: each["spec"]["replicas"] for each in found}

    def patch(self, name: str, metadata: dict[str, object]) -> None:
        path = f"{replica_sets(self.scene.app.namespace)}/{name}"
        self.scene.cluster.patch(path, {"metadata": metadata}, MERGE)


@pytest.fixture
def hand(scene: Scene) -> Iterator[Hand]:
    scene.do(ApplyApp())
    client = Client(Access(scene.cluster.kubeconfig))
    with closing(client):
        yield Hand(scene, Sight(client, scene.app.namespace))


TODAYS = names.replica_set_name(AppKey("any", "web"), 1, ONE.digest)


@pytest.fixture
def made(hand: Hand) -> str:
    """The name of the one ReplicaSet that there is."""
    hand.create()
    assert hand.sizes() == {TODAYS: 1}
    return TODAYS


@pytest.mark.parametrize("behind", [False, True])
def test_one_that_exists_is_repaired_and_no_second_one_made_even_where_no_cache_shows_it(
    hand: Hand, made: str, behind: bool
) -> None:
    """The number is in the record, which is saved before anything is created: whoever decides on it makes one name."""
    hand.sight.behind = behind
    hand.create(replicas=2, repair=True)
    hand.create(replicas=2)
    assert hand.sizes() == {made: 2}


def test_one_that_exists_is_scaled_and_counted_under_its_name(hand: Hand, made: str) -> None:
    hand.scale(1, 2)
    assert hand.sizes() == {made: 2}
    hand.scene.available(ONE, 2)
    hand.workloads.require_available(hand.scene.app, 1, ONE.digest, 2)
    with pytest.raises(WorldChanged, match=f"{made} has 2 available pods, not 3"):
        hand.workloads.require_available(hand.scene.app, 1, ONE.digest, 3)


@pytest.mark.parametrize("number", [1, 7])
def test_one_that_exists_keeps_its_name_where_the_version_has_another_number(
    hand: Hand, made: str, number: int
) -> None:
    hand.create(number=number, repair=True)
    hand.scale(1, 3, number)
    assert hand.sizes() == {made: 3}


def test_one_that_is_being_deleted_is_waited_for(hand: Hand, made: str) -> None:
    hand.patch(made, {"finalizers": ["example.com/slow"]})
    hand.scene.cluster.delete(f"{replica_sets(hand.scene.app.namespace)}/{made}")
    for behind in (False, True):
        hand.sight.behind = behind
        with pytest.raises(WorldChanged, match="still being deleted"):
            hand.create()
    hand.patch(made, {"finalizers": None})


def test_somebody_elses_under_its_name_is_a_conflict(hand: Hand) -> None:
    theirs = manifests.replica_set(hand.scene.app.namespace, TODAYS, replicas=0)
    hand.scene.cluster.create(replica_sets(hand.scene.app.namespace), theirs)
    with pytest.raises(ForeignObject, match=f"{TODAYS} is made by somebody else"):
        hand.create()


def test_name_counts_more_than_what_somebody_wrote_on_another_one(hand: Hand) -> None:
    """The selector of its pods cannot change, nor can its name; an annotation can."""
    hand.create()
    hand.create(TWO, number=2)
    two = names.replica_set_name(hand.scene.app, 2, TWO.digest)
    hand.patch(two, {"annotations": {names.FULL_DIGEST: ONE.digest}})
    app = hand.scene.app
    assert [live_name(hand.sight, app, number, of.digest) for number, of in ((1, ONE), (2, TWO))] == [TODAYS, two]
