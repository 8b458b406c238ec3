"""How soon an app or a group is looked at, by what is live and by main."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gitops_bg.agent.desired.reading import AppEntry
from gitops_bg.agent.reconcile.kind import Urgency, moves_requests, urgency_of, urgency_of_group
from gitops_bg.cluster.execution.operator_requests import annotation_of
from gitops_bg.cluster.manifests.stored_record import packed
from gitops_bg.cluster.observation.project import app_state
from gitops_bg.cluster.observation.states import AppState
from gitops_bg.core.groups.inputs import DesiredGroup, GroupSpec
from gitops_bg.core.groups.model import GroupState, GroupVersion, TransitionStep, VersionStage
from gitops_bg.core.groups.record import GroupRecord, Transition, TransitionKind
from gitops_bg.core.model.desired import Primary, Target
from gitops_bg.core.model.main import NO_MAIN, Main
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.version import AppKey, Snapshot, Source
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.groups.load import GroupConfig

OLD, NEW = "a" * 40, "b" * 40
V1, V2, V3 = (Snapshot(f"v1:{number}", "") for number in "123")
NO_FILES = AppConfig(AppKey("shop", "web"), None, {}, None, None)
ENTRY = AppEntry(NO_FILES, has_primary=True, has_target=True, tree=OLD)
CHANGED = replace(ENTRY, tree=NEW)
SOURCE = Source(OLD, "Ada", datetime(2026, 1, 2, tzinfo=UTC))
ABORT = annotation_of([Request("id-1", OperatorCommand.ABORT, "Ada", SOURCE.date)])
TWO = annotation_of([Request(each, OperatorCommand.ABORT, "Ada", SOURCE.date) for each in ("id-1", "id-2")])


def live(
    phase: str = "Healthy",
    main: Any = None,
    traffic: Any = V2.digest,
    activations: Any = (V1.digest, V2.digest),
    request: str = "",
    answered: Any = (),
) -> AppState:
    """An app whose v2 serves, as v1 did before; `request` is asked for, and the record has `answered`."""
    metadata = {"namespace": "shop", "name": "web", "uid": "1", "resourceVersion": "1"}
    annotations = {"gitops-bg.dev/request": request}
    served = list(activations) if isinstance(activations, tuple) else activations
    record = {
        "routing": {"traffic": traffic, "activations": served},
        "operator": {"answered": answered},
        "git": {"main": {"commit": OLD, "tree": OLD} if main is None else main},
    }
    status = {"phase": phase, "record": packed(record)}
    return app_state({"metadata": {**metadata, "annotations": annotations}, "spec": {}, "status": status})


def says(primary: Snapshot, target: Snapshot, tree: str = NEW) -> AppEntry:
    """What main says of it."""
    files = replace(NO_FILES, primary=Primary(primary, 1, SOURCE, SOURCE), target=Target(target, 1, SOURCE))
    return replace(ENTRY, config=files, tree=tree)


@pytest.mark.parametrize(
    ("state", "entry", "urgency"),
    [
        (live(), says(primary=V2, target=V3), Urgency.CHANGED),
        (live(), says(primary=V3, target=V3), Urgency.TRAFFIC),
        (live(), says(primary=V1, target=V2), Urgency.TRAFFIC),
        (live(), says(primary=V2, target=V1), Urgency.TRAFFIC),
        (live(activations=None), says(primary=V2, target=V1), Urgency.CHANGED),
        (live(activations=3), says(primary=V2, target=V1), Urgency.CHANGED),
        (live(traffic=3), says(primary=V2, target=V2), Urgency.TRAFFIC),
        (live(), says(primary=V3, target=V3, tree=OLD), Urgency.AT_REST),
        (live("Progressing"), says(primary=V2, target=V2, tree=OLD), Urgency.ON_ITS_WAY),
        (live("Progressing"), says(primary=V1, target=V2), Urgency.TRAFFIC),
        (live("Promoting"), ENTRY, Urgency.TRAFFIC),
        (live("RollingBack"), None, Urgency.TRAFFIC),
        (live(request=ABORT), ENTRY, Urgency.TRAFFIC),
        (live(request=ABORT), None, Urgency.TRAFFIC),
        (live(request=ABORT, answered=["id-0"]), ENTRY, Urgency.TRAFFIC),
        (live(request=ABORT, answered=["id-1"]), ENTRY, Urgency.AT_REST),
        (live(request=ABORT, answered=["id-1", "id-2"]), ENTRY, Urgency.AT_REST),
        (live(request=ABORT, answered=3), ENTRY, Urgency.TRAFFIC),
        (live(request=TWO, answered=["id-2"]), ENTRY, Urgency.TRAFFIC),
        (live(request=TWO, answered=["id-1", "id-2"]), ENTRY, Urgency.AT_REST),
        (live(request="not ours"), ENTRY, Urgency.AT_REST),
        (live(), ENTRY, Urgency.AT_REST),
        (live("AwaitingPromotion"), ENTRY, Urgency.AT_REST),
        (live("Progressing"), CHANGED, Urgency.ON_ITS_WAY),
        (live("Restarting"), None, Urgency.ON_ITS_WAY),
        (live("OfANewerRelease"), ENTRY, Urgency.AT_REST),
        (live(), CHANGED, Urgency.CHANGED),
        (live(), None, Urgency.CHANGED),
        (live(main={}), ENTRY, Urgency.CHANGED),
        (None, ENTRY, Urgency.CHANGED),
        (None, None, Urgency.AT_REST),
    ],
)
def test_the_urgency_of(state: AppState | None, entry: AppEntry | None, urgency: Urgency) -> None:
    assert urgency_of(state, entry) is urgency


@pytest.mark.parametrize("damaged", [3, "x", [], {"commit": 3}, {"commit": OLD, "generation": "1"}, {"tree": None}])
def test_a_main_that_somebody_damaged_is_none(damaged: Any) -> None:
    assert live(main=damaged).main == NO_MAIN


def test_a_sound_main_is_that_of_the_record() -> None:
    assert live(main={"commit": OLD, "generation": 2, "tree": NEW}).main == Main(OLD, 2, NEW)


NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
SERVING = GroupRecord(state=GroupState((GroupVersion("v1", VersionStage.ACTIVE, NOON),)), main=Main(OLD, tree=OLD))
MOVING = replace(
    SERVING, transition=Transition(TransitionKind.PROMOTION, "v1", "v2", TransitionStep.PREPARE, NOON, NOON)
)


def names(version: str, tree: str = OLD) -> GroupConfig:
    """What main says of a group."""
    return GroupConfig(DesiredGroup(GroupSpec(version)), tree=tree)


@pytest.mark.parametrize(
    ("record", "config", "urgency"),
    [
        (None, names("v1"), Urgency.CHANGED),
        (SERVING, names("v1"), Urgency.AT_REST),
        (SERVING, names("v1", tree=NEW), Urgency.CHANGED),
        (SERVING, None, Urgency.CHANGED),
        (SERVING, GroupConfig(DesiredGroup(None), tree=NEW), Urgency.CHANGED),
        (SERVING, names("v2", tree=NEW), Urgency.TRAFFIC),
        (SERVING, names("v2"), Urgency.TRAFFIC),
        (MOVING, names("v1"), Urgency.TRAFFIC),
        (MOVING, None, Urgency.TRAFFIC),
    ],
)
def test_the_urgency_of_a_group(record: GroupRecord | None, config: GroupConfig | None, urgency: Urgency) -> None:
    assert urgency_of_group(record, config) is urgency
    assert moves_requests(record, config) is (urgency is Urgency.TRAFFIC)
