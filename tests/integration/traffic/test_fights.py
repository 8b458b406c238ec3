"""Another tool holds on to the live Service while people use it: no request fails, and a promotion is not held up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitops_bg.core.model.drift import QUIET
from tests.integration.traffic.stage import Stage, stage
from tests.support.cluster.paths import services
from tests.support.cluster.rawapi import APPLY, MERGE, Json
from tests.support.waiting import eventually

MINE = {"app": "web"}
"""The selector of the Service in the other tool's repository."""


class Other:
    """A tool that applies its Service again as soon as somebody changed it, as Argo CD's self-heal does."""

    def __init__(self, on: Stage, how: str) -> None:
        self._on = on
        self._how = how
        self._path = f"{services(on.world.namespace)}/web"
        self._stopped = threading.Event()

    @contextmanager
    def healing(self) -> Iterator[None]:
        thread = threading.Thread(target=self._heal)
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            thread.join()

    def _heal(self) -> None:
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": MINE}}
        force = {"force": "true"} if self._how == APPLY else {}
        while not self._stopped.wait(0.01):
            if not MINE.items() <= self.selector().items():
                self._on.cluster.patch(self._path, service, self._how, fieldManager="argocd-controller", **force)

    def selector(self) -> Json:
        return dict(self._on.cluster.get(self._path)["spec"]["selector"])


@pytest.mark.parametrize("how", [MERGE, APPLY], ids=["three-way apply", "server-side apply"])
def test_a_fight_over_the_live_service_loses_no_request_and_holds_no_promotion_up(tmp_path: Path, how: str) -> None:
    """The three-way apply adds to the selector, so that all requests go where they should. That of the server replaces
    it, and until the repair, a second later at most, the other tool's selector takes whatever it fits.
    """
    with stage(tmp_path) as on:
        on.world.start()
        on.web.deploy("v1")
        on.load.start()
        other = Other(on, how)
        with other.healing():
            on.web.wait(lambda: on.web.condition("Contested")["status"] == "True", "the fight is named")
            assert "argocd-controller changes spec.selector" in on.web.condition("Contested")["message"]
            merge = on.web.promote("v2")
            on.web.revert(merge)
            on.web.wait_told("rolled-back")
        eventually(lambda: MINE.keys().isdisjoint(other.selector()), what="it is as it should be")
        on.world.advance(QUIET.total_seconds() + 1)
        on.web.wait_condition("Contested", "False")
        on.wait_used("v1")
        if how == MERGE:
            assert on.load.shares(0).keys() == {"v1", "v2"}
            on.judge("a fight", 0)
            on.seen.assert_traffic_was_safe("web")
        assert not [each.failure for each in on.load.failures()]
