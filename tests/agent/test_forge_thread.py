"""What an app last wanted reaches the forge, whenever it says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from types import SimpleNamespace
from typing import Any

import pytest

from gitops_bg.agent.forge_thread import ForgeConnection, ForgeThread, Wiring
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.journal import PollCount
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.forge.offer import DesiredPull
from gitops_bg.spec.app.settings import ForgeSettings
from tests.forge.fake import FakeForge
from tests.forge.offers import offer
from tests.support.waiting import eventually

WEB = AppKey("shop", "web")


LAST = AppKey("shop", "zeta")
"""Its status is written after that of any other app."""


def wish(reason: str, app: AppKey = WEB) -> DesiredPull:
    number = 5 if app == WEB else 9
    return DesiredPull(offer(number, app.name, gates=(GateResult(GateKind.POLICY, False, reason),)))


@dataclass
class Rendering:
    """The limits of a forge, which are read while a text is made: something may happen at that moment."""

    body: int = 65_536
    meanwhile: list[Callable[[], None]] = field(default_factory=list)

    @property
    def description(self) -> int:
        while self.meanwhile:
            self.meanwhile.pop()()
        return 140


class Counted:
    """Metrics that nobody reads."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args: None


@pytest.fixture
def scene() -> Iterator[SimpleNamespace]:
    """A running thread with a forge of plain values; each look at the clock takes a second."""
    limits, leads = Rendering(), [True]
    forge = FakeForge(limits=limits)  # type: ignore[arg-type]

    def clock() -> datetime:
        forge.now += timedelta(seconds=1)
        return forge.now

    settings = SimpleNamespace(forge=ForgeSettings(type="gitea"))  # type: ignore[call-arg]
    catalog: Any = SimpleNamespace(
        reading=SimpleNamespace(settings=settings),
        seen=True,
        connect_forge=lambda *_: None,
        looks=PollCount,
        branch_of=promotion_branch,
    )
    wiring = Wiring(
        catalog=catalog,
        metrics=Counted(),  # type: ignore[arg-type]
        connect=lambda _: ForgeConnection(forge, lambda: None),
        cluster="prod-eu",
        base="main",
        interval=30.0,
        clock=clock,
        may_write=lambda: leads[0],
        wake=lambda apps: None,
        poll_soon=lambda: None,
        crashed=lambda error: pytest.fail(str(error)),
    )
    thread = ForgeThread(wiring)
    thread.start()
    yield SimpleNamespace(thread=thread, forge=forge, limits=limits)
    thread.stop(10.0)
    assert not thread.alive


def said(scene: SimpleNamespace, app: AppKey = WEB) -> str:
    """The description of the newest status of an app."""
    wanted = wish("", app).offer
    assert wanted is not None
    told = (all_said[-1:] for (head, _), all_said in list(scene.forge.statuses.items()) if head == wanted.head)
    return next((newest.description for newest in chain.from_iterable(told)), "")


def wait_said(scene: SimpleNamespace, reason: str, app: AppKey = WEB) -> None:
    eventually(lambda: reason in said(scene, app), what=f"the status of {app} says {reason}")


def wait_all_done(scene: SimpleNamespace) -> None:
    """Wait until what happens meanwhile has happened, and all that was wished before is written."""
    eventually(lambda: not scene.limits.meanwhile, what="a text is made")
    scene.thread.set_desired(LAST, wish("the last", LAST))
    wait_said(scene, "the last", LAST)


def test_a_wish_that_comes_back_while_another_is_taken_over_is_not_lost(scene: SimpleNamespace) -> None:
    first, second = wish("0 of 1 approvals"), wish("the forge has not answered yet")
    scene.thread.set_desired(WEB, first)
    wait_said(scene, "0 of 1")
    scene.limits.meanwhile.append(lambda: scene.thread.set_desired(WEB, first))
    scene.thread.set_desired(WEB, second)
    wait_all_done(scene)
    assert "0 of 1" in said(scene)


def test_who_leads_again_at_once_loses_no_wish(scene: SimpleNamespace) -> None:
    scene.thread.set_desired(WEB, wish("0 of 1 approvals"))
    wait_said(scene, "0 of 1")

    def leads_no_more_and_again() -> None:
        scene.thread.stand_by()
        scene.thread.set_desired(WEB, wish("1 of 2 approvals"))

    scene.limits.meanwhile.append(leads_no_more_and_again)
    scene.thread.set_desired(WEB, wish("a window"))
    wait_all_done(scene)
    assert "1 of 2" in said(scene)
