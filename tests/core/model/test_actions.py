"""Each action describes itself in one sentence: for the log line, the Event, and the line of `plan`."""

import typing

import pytest

from gitops_bg.core import errors
from gitops_bg.core.model import actions as act
from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.record import Event, LedgerEntry, SwitchKind
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.model.version import AppKey, Color, PodMetadata, ReleaseId, short
from tests.core.simulation import settings, template
from tests.core.worlds import NOW, candidate, digest

S1, S2 = short(digest(1)), short(digest(2))
FROM_1 = (digest(1), 1)
R2 = ReleaseId(2, "r1:2")


def switch(switch_kind: SwitchKind, from_number: int | None = 1, from_digest: str = digest(1)) -> act.SwitchTraffic:
    return act.SwitchTraffic("web", (), from_number, from_digest, 2, digest(2), switch_kind, 3)


SENTENCES = {
    act.ApplyApp(): "apply the BlueGreenDeployment as Git describes it",
    act.DeleteApp(): "delete the app and all it owns: its folder left main with deletionPolicy: delete",
    act.DeleteApp(moved_to="shop"): "delete the app and its versions: it is the app shop now, which has its Services",
    act.DeleteApp(DeletionPolicy.ORPHAN): "let all objects of the app go, as they are, and delete the "
    "BlueGreenDeployment: its folder left main with deletionPolicy: orphan",
    act.DeleteApp(DeletionPolicy.REVERT_TO_TARGET): "delete the app, whose traffic went back, and its versions: its "
    "folder left main with deletionPolicy: revertToTarget",
    act.ApplyConfiguration(settings("a"), "settings-3f9c012345", 2): (
        "make settings-3f9c012345, the copy of ConfigMap settings for v2"
    ),
    act.ApplyConfiguration(settings("a"), "settings-3f9c012345", 2, repair=True): (
        "repair settings-3f9c012345, the copy of ConfigMap settings for v2"
    ),
    act.DeleteConfiguration("Secret", "passwords-3f9c012345"): (
        "delete Secret passwords-3f9c012345: no version uses this copy any more"
    ),
    act.CreateReplicaSet(2, template("2"), Color.GREEN, 0): "create the green ReplicaSet of 2 (v2) at 0",
    act.CreateReplicaSet(2, template("2"), Color.BLUE, 3, 10, repair=True): (
        "repair the blue ReplicaSet of 2 (v2) at 3"
    ),
    act.CreateReplicaSet(2, template("2"), Color.BLUE, 3, 0, True, reason="its pods get role=active"): (
        "repair the blue ReplicaSet of 2 (v2) at 3: its pods get role=active"
    ),
    act.ScaleReplicaSet(digest(2), 2, 0, 3, "a new candidate"): f"scale v2 ({S2}) from 0 to 3: a new candidate",
    act.SyncPodMetadata(digest(2), 2, PodMetadata((("role", "active"),), (("note", "x"),))): (
        f"give the pods of v2 ({S2}) role=active, note=x"
    ),
    act.SyncPodMetadata(digest(2), 2, PodMetadata()): f"give the pods of v2 ({S2}) no metadata of a role",
    act.EvictPod("web-x7k2p", "uid", digest(2), 2): f"restart pod web-x7k2p of v2 ({S2}): evict it",
    act.DeleteReplicaSet("web-primary-1", digest(1), "beyond revisionHistoryLimit"): (
        "delete ReplicaSet web-primary-1: beyond revisionHistoryLimit"
    ),
    act.RepairSelector("web", (), digest(1), "somebody changed its selector"): (
        f"lead the active Service web back to {S1}: somebody changed its selector"
    ),
    act.ApplyService(act.ServiceRole.ACTIVE, "web", digest(1), "it does not exist"): (
        f"apply the active Service web -> {S1}: it does not exist"
    ),
    act.PointPreview("web-preview", (), digest(2)): f"point the preview Service web-preview to {S2}",
    act.SwitchTraffic(
        "web", (("app", "web"), ("tier", "x")), None, "", 1, digest(1), SwitchKind.FIRST, 2, adopts=True
    ): f"take over Service web from app=web,tier=x to v1 ({S1})",
    act.HandBack("web", (), (("app", "web"), ("tier", "x"))): "hand Service web back, to app=web,tier=x",
    act.ScaleDeployment("web", 3, 0, "traffic has left it"): "scale Deployment web from 3 to 0: traffic has left it",
    act.MarkService("web", (), "5eed-1"): "mark Service web: a switch that was on its way is withdrawn",
    switch(SwitchKind.PROMOTION): f"switch live traffic from v1 ({S1}) to v2 ({S2})",
    switch(SwitchKind.ROLLBACK): f"roll live traffic back from v1 ({S1}) to v2 ({S2})",
    switch(SwitchKind.FIRST, None, ""): f"switch live traffic to v2 ({S2})",
    switch(SwitchKind.PROMOTION, None): f"switch live traffic from {S1} to v2 ({S2})",
    act.ApplyAuxiliaryObject(AuxiliaryObject("PodDisruptionBudget", "web"), "it does not exist"): (
        "apply PodDisruptionBudget web: it does not exist"
    ),
    act.ApplyAuxiliaryObject(
        AuxiliaryObject("HorizontalPodAutoscaler", "web-primary"), "live traffic goes there now", digest(2), 2
    ): f"apply HorizontalPodAutoscaler web-primary -> v2 ({S2}): live traffic goes there now",
    act.DeleteAuxiliaryObject(
        AuxiliaryObject("ConfigMap", "flags"), "it left Git"
    ): "delete ConfigMap flags: it left Git",
    act.CommitPrimary(candidate(2), Event.PROMOTED, *FROM_1, "web 2"): "commit primary.yaml = 2 (v2) to main: web 2",
    act.OfferPromotion(candidate(2), Event.PROMOTED, *FROM_1, "web 2"): "offer 2 (v2) on the promotion branch: web 2",
    act.WithdrawPromotion("main has it"): "delete the promotion branch: main has it",
    act.EnterRelease("prod", R2, "c2", ("dev",), "it is proven"): "let r2 into prod: it is proven",
    act.EnterRelease("prod", R2, "c2", ("dev",), "it is proven", offered=True): "offer r2 for prod: it is proven",
    act.WithdrawRelease("prod", "main has it"): "delete the branch that asks for a release in prod: main has it",
    act.PublishLedger("5eed", (LedgerEntry(1, NOW, Event.HELD), LedgerEntry(2, NOW, Event.ROLLED_BACK))): (
        "write 2 ledger entries: held, rolled-back"
    ),
}


@pytest.mark.parametrize("action", SENTENCES, ids=lambda action: type(action).__name__)
def test_sentence(action):
    assert str(action) == SENTENCES[action]


def test_every_action_has_its_sentence_here():
    assert {type(action) for action in SENTENCES} == set(typing.get_args(act.Action))


# --- what else speaks to people ---

PROBLEMS = {
    "only where and what": (Problem("app.yaml", "is empty"), "app.yaml: is empty"),
    "with its line": (Problem("app.yaml", "is empty", 3, 5), "app.yaml:3: is empty"),
    "with field and remedy": (
        Problem("app.yaml", "is not a number", 3, 5, "spec.replicas", "write 3"),
        "app.yaml:3: spec.replicas: is not a number (write 3)",
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_problem(name):
    problem, sentence = PROBLEMS[name]
    assert str(problem) == sentence


REASONS = {
    errors.GitopsBgError: "Error",
    errors.InvalidInput: "InvalidInput",
    errors.Refused: "Refused",
    errors.Transient: "Transient",
    errors.WorldChanged: "WorldChanged",
    errors.LostLeadership: "LostLeadership",
}


@pytest.mark.parametrize("kind", REASONS, ids=lambda kind: kind.__name__)
def test_error_has_a_reason_of_its_own(kind):
    assert kind.reason == REASONS[kind]
    assert issubclass(kind, errors.GitopsBgError)


def test_invalid_input_carries_every_problem():
    both = (Problem("a.yaml", "is empty"), Problem("b.yaml", "is no YAML"))
    error = errors.InvalidInput(*both)
    assert (error.problems, str(error)) == (both, "a.yaml: is empty; b.yaml: is no YAML")


def test_a_transient_error_may_say_when_to_come_back():
    assert errors.Transient("busy").retry_after is None
    assert errors.Transient("busy", 2.5).retry_after == 2.5
    assert errors.WorldChanged("the selector moved", 0.0).retry_after == 0.0


def test_an_app_is_named_by_namespace_and_name():
    assert str(AppKey("shop", "web")) == "shop/web"
