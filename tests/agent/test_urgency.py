"""How soon an app is looked at, by its live object and by main."""

from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.agent.desired.reading import Entry
from gitops_bg.agent.reconcile.urgency import Urgency, urgency_of
from gitops_bg.cluster.observation.project import app_state
from gitops_bg.cluster.observation.states import AppState
from gitops_bg.core.model.git.main import NO_MAIN, Main
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.load import AppConfig

OLD, NEW = "a" * 40, "b" * 40
ENTRY = Entry(AppConfig(AppKey("shop", "web"), None, {}, None, None), has_primary=True, has_target=True, tree=OLD)
CHANGED = replace(ENTRY, tree=NEW)


def live(phase: str = "Healthy", main: Any = None) -> AppState:
    metadata = {"namespace": "shop", "name": "web", "uid": "1", "resourceVersion": "1"}
    record = {"main": {"commit": OLD, "tree": OLD} if main is None else main}
    return app_state({"metadata": metadata, "spec": {}, "status": {"phase": phase, "record": record}})


@pytest.mark.parametrize(
    ("state", "entry", "urgency"),
    [
        (live(), ENTRY, Urgency.AT_REST),
        (live("AwaitingPromotion"), ENTRY, Urgency.AT_REST),
        (live("Promoting"), ENTRY, Urgency.ON_ITS_WAY),
        (live("RollingBack"), CHANGED, Urgency.ON_ITS_WAY),
        (live("Restarting"), None, Urgency.ON_ITS_WAY),
        (live("OfANewerRelease"), ENTRY, Urgency.AT_REST),
        (live(), CHANGED, Urgency.CHANGED),
        (live(), None, Urgency.CHANGED),
        (live(main={}), ENTRY, Urgency.CHANGED),
        (None, ENTRY, Urgency.CHANGED),
        (None, None, Urgency.AT_REST),
    ],
)
def test_the_urgency_of(state: AppState | None, entry: Entry | None, urgency: Urgency) -> None:
    assert urgency_of(state, entry) is urgency


@pytest.mark.parametrize("damaged", [3, "x", [], {"commit": 3}, {"commit": OLD, "generation": "1"}, {"tree": None}])
def test_a_main_that_somebody_damaged_is_none(damaged: Any) -> None:
    assert live(main=damaged).main == NO_MAIN


def test_a_sound_main_is_that_of_the_record() -> None:
    assert live(main={"commit": OLD, "generation": 2, "tree": NEW}).main == Main(OLD, 2, NEW)
