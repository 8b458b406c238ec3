"""The Event of each action, with the reason of Argo Rollouts where it has one."""

from dataclasses import replace
from typing import get_args

import pytest

from gitops_bg.core.model import actions as act
from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.decision import Occurrence, notice_of, result_event
from gitops_bg.core.model.drift import ActionResult
from gitops_bg.core.model.record import Event, LedgerEntry, SwitchKind
from gitops_bg.core.model.version import Color, PodMetadata
from tests.core.simulation import settings, template
from tests.core.worlds import NOW, digest

COPY = AuxiliaryObject("HorizontalPodAutoscaler", "web-primary")


def switch(switch_kind: SwitchKind) -> act.SwitchTraffic:
    return act.SwitchTraffic("web", (), 1, digest(1), 2, digest(2), switch_kind, 3)


REASONS = {
    switch(SwitchKind.FIRST): None,  # the entry of the ledger is told, once the Service shows it
    switch(SwitchKind.PROMOTION): None,
    switch(SwitchKind.ROLLBACK): None,
    replace(switch(SwitchKind.FIRST), adopts=True): "ServiceTakenOver",
    act.HandBack("web", (), (("app", "web"),)): "ServiceHandedBack",
    act.ScaleDeployment("web", 3, 0, "traffic has left it"): "ScalingDeployment",
    act.CreateReplicaSet(2, template("2"), Color.GREEN, 0): None,  # it has no pods yet
    act.CreateReplicaSet(2, template("2"), Color.GREEN, 3): "NewReplicaSetCreated",
    act.CreateReplicaSet(2, template("2"), Color.GREEN, 3, repair=True): "ReplicaSetRepaired",
    act.ScaleReplicaSet(digest(2), 2, 0, 3, "a new candidate"): "ScalingReplicaSet",
    act.DeleteReplicaSet("web-primary-1", digest(1), "beyond revisionHistoryLimit"): "ReplicaSetDeleted",
    act.SyncPodMetadata(digest(2), 2, PodMetadata()): "PodMetadataChanged",
    act.EvictPod("web-x7k2p", "uid", digest(2), 2): "PodEvicted",
    act.ApplyConfiguration(settings("a"), "settings-3f9c012345", 2): "ConfigurationCopied",
    act.ApplyConfiguration(settings("a"), "settings-3f9c012345", 2, repair=True): "ConfigurationRepaired",
    act.DeleteConfiguration("ConfigMap", "settings-3f9c012345"): "ConfigurationDeleted",
    act.PointPreview("web-preview", (), digest(2)): "PreviewSwitched",
    act.RepairSelector("web", (), digest(1), "somebody changed its selector"): "ServiceApplied",
    act.ApplyService(act.ServiceRole.ACTIVE, "web", digest(1), "it does not exist"): "ServiceApplied",
    act.ApplyAuxiliaryObject(COPY, "it does not exist"): "AuxiliaryObjectApplied",
    act.DeleteAuxiliaryObject(COPY, "Git names it no longer"): "AuxiliaryObjectDeleted",
    act.ApplyApp(): None,
    act.DeleteApp(): None,
    act.MarkService("web", (), "5eed-1"): None,
}


BEGUN = (LedgerEntry(1, NOW, Event.CANDIDATE, to_digest=digest(2)),)
CREATED = act.CreateReplicaSet(2, template("2"), Color.GREEN, 3)
SCALED = act.ScaleReplicaSet(digest(2), 2, 0, 3, "a new candidate")
TOLD = {
    "a rollout begins, and its pods with it": (SCALED, BEGUN, None),
    "its pods come later": (SCALED, (), "ScalingReplicaSet"),
    "it gets more": (replace(SCALED, current=1), BEGUN, "ScalingReplicaSet"),
    "another version begins": (SCALED, (replace(BEGUN[0], to_digest=digest(3)),), "ScalingReplicaSet"),
    "another entry about it": (SCALED, (replace(BEGUN[0], event=Event.HELD),), "ScalingReplicaSet"),
    "it comes back at its size": (CREATED, BEGUN, "NewReplicaSetCreated"),
    "something else": (act.PointPreview("web-preview", (), digest(2)), BEGUN, "PreviewSwitched"),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_an_entry_of_the_ledger_tells_is_told_once(name: str) -> None:
    action, news, reason = TOLD[name]
    said = result_event(ActionResult(action), [Occurrence(fact=entry) for entry in news])
    assert (said.reason or None, said.fact) == (reason, ActionResult(action))


def test_a_refusal_is_told_whatever_begins() -> None:
    said = result_event(ActionResult(CREATED, refused="quota"), [Occurrence(fact=entry) for entry in BEGUN])
    assert said.reason == "ReplicaSetCreateError"


def test_every_action_on_the_cluster_is_in_the_table():
    assert set(map(type, REASONS)) == set(get_args(act.ClusterAction))


@pytest.mark.parametrize("action", REASONS, ids=str)
def test_notice_of(action: act.ClusterAction) -> None:
    assert notice_of(ActionResult(action)) == REASONS[action]
