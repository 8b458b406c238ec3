"""The one act loop of agent and command line: what it tries, in which order, and what a failure stops."""

from __future__ import annotations

import pytest

from gitops_bg.agent.reconcile.kind import Acted, act
from gitops_bg.core.errors import GitopsBgError, LostLeadership, Refused, Transient, WorldChanged
from gitops_bg.core.model.actions import (
    ApplyApp,
    ApplyAuxiliaryObject,
    ClusterAction,
    DeleteAuxiliaryObject,
    DeleteReplicaSet,
    MarkService,
    RepairSelector,
    WithdrawPromotion,
)
from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.drift import ActionResult, Change, ChangeSetEntry

FIRST, SECOND = MarkService("web", (), "x"), DeleteReplicaSet("web-1", "v1:0123456789", "old")
BESIDE = ApplyApp()
HPA = ApplyAuxiliaryObject(AuxiliaryObject("HorizontalPodAutoscaler", "web"), "told to")
BUDGET = DeleteAuxiliaryObject(AuxiliaryObject("PodDisruptionBudget", "web"), "told to")
GIT = WithdrawPromotion("merged")
ALL: tuple[object, ...] = (HPA, FIRST, GIT, SECOND, BESIDE, BUDGET)


class Scripted:
    """A cluster that fails where it is told to."""

    def __init__(self, failures: dict[ClusterAction, GitopsBgError]) -> None:
        self.failures = failures
        self.tried: list[ClusterAction] = []

    def carry_out(self, action: ClusterAction) -> ActionResult:
        self.tried.append(action)
        if action in self.failures:
            raise self.failures[action]
        return ActionResult(action, (ChangeSetEntry("Thing", "shop", "web", Change.CREATED),))


def run(failures: dict[ClusterAction, GitopsBgError]) -> tuple[list[ClusterAction], Acted]:
    cluster, heard = Scripted(failures), list[ActionResult]()
    acted = act(ALL, cluster.carry_out, heard.append)
    assert tuple(heard) == acted.changes.results, "each is heard as it is there"
    return cluster.tried, acted


def test_versions_and_traffic_go_first_and_git_is_not_the_loops() -> None:
    tried, acted = run({})
    assert tried == [FIRST, SECOND, BESIDE, HPA, BUDGET]
    assert [result.action for result in acted.changes.carried_out] == tried
    assert (acted.stopped, acted.troubled, acted.moved_on) == (None, None, True)


def test_a_refusal_stops_what_builds_on_it_and_nothing_else() -> None:
    refused = Refused("no rights")
    tried, acted = run({FIRST: refused})
    assert tried == [FIRST, BESIDE, HPA, BUDGET]
    assert acted.stopped is refused
    assert [(each.action, each.refused) for each in acted.changes if each.refused] == [(FIRST, "no rights")]
    assert acted.moved_on


def test_of_several_refusals_the_first_counts() -> None:
    refused = Refused("no rights")
    _, acted = run({FIRST: refused, BESIDE: Refused("another")})
    assert acted.stopped is refused
    assert not acted.moved_on


def test_something_passing_after_a_refusal_ends_the_pass() -> None:
    error = Transient("busy")
    tried, acted = run({FIRST: Refused("no rights"), BESIDE: error})
    assert tried == [FIRST, BESIDE]
    assert acted.stopped is error


@pytest.mark.parametrize("error", [WorldChanged("gone"), Transient("busy"), LostLeadership("lost")])
def test_something_passing_ends_the_pass(error: GitopsBgError) -> None:
    tried, acted = run({SECOND: error})
    assert tried == [FIRST, SECOND]
    assert acted.stopped is error
    assert [result.action for result in acted.changes] == [FIRST], "what was not done to the end is no result"


GRPC, LED = MarkService("grpc", (), "x"), RepairSelector("grpc", (), "v1:0123456789", "told to")


@pytest.mark.parametrize(
    ("error", "tried"),
    [
        (Refused("no rights"), [FIRST, GRPC, LED, BESIDE]),
        (WorldChanged("gone"), [FIRST, GRPC, LED]),
        (Transient("busy"), [FIRST, GRPC, LED]),
        (LostLeadership("lost"), [FIRST]),
    ],
)
def test_one_service_holds_up_no_way_back_of_another(error: GitopsBgError, tried: list[ClusterAction]) -> None:
    """Where the API server fails for it alone, as a webhook of it does, others must not stay on bad pods."""
    cluster = Scripted({FIRST: error})
    acted = act((FIRST, SECOND, GRPC, LED, BESIDE), cluster.carry_out, lambda _: None)
    assert cluster.tried == tried
    assert acted.stopped is error


@pytest.mark.parametrize("error", [Refused("no rights"), WorldChanged("gone"), Transient("busy")])
def test_an_auxiliary_object_holds_up_nothing_else(error: GitopsBgError) -> None:
    tried, acted = run({HPA: error, BUDGET: Refused("another")})
    assert tried == [FIRST, SECOND, BESIDE, HPA, BUDGET]
    assert (acted.stopped, acted.troubled, acted.moved_on) == (None, error, True)


def test_in_a_chain_all_that_follows_a_refused_action_waits() -> None:
    """Of a release group each prefix of the actions is safe, and nothing else is said of them."""
    cluster, refused = Scripted({SECOND: Refused("no rights")}), list[str]()
    acted = act(
        (FIRST, SECOND, BESIDE),
        cluster.carry_out,
        lambda result: refused.append(result.refused),
        waits_for=lambda *_: True,
    )
    assert cluster.tried == [FIRST, SECOND]
    assert refused == ["", "no rights"]
    assert str(acted.stopped) == "no rights"
