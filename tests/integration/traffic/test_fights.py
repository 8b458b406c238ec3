"""Another tool holds on to the live Service while people use it: no request fails, and a promotion is not held up."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

from gitops_bg.core.model.drift import REMEMBERED
from gitops_bg.core.names import MANAGED_BY
from tests.integration.traffic.recipes import argo_cd
from tests.integration.traffic.stage import Stage, stage
from tests.support import manifests
from tests.support.cluster.argo_cd import MANAGER, ArgoCd, Sync
from tests.support.cluster.paths import services
from tests.support.cluster.rawapi import APPLY, Json
from tests.support.waiting import eventually

MINE = {"app": "web"}
"""The selector of the Service in the other tool's repository."""
WARM = 36_000
"""``scaleDownDelaySeconds`` of the app: longer than what it takes until fights are forgotten."""


class Other:
    """A tool that applies its Service on the server as soon as somebody changed it, as Argo CD's self-heal does."""

    def __init__(self, on: Stage) -> None:
        self._on = on
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
        while not self._stopped.wait(0.01):
            if not MINE.items() <= self.selector().items():
                self._on.cluster.patch(self._path, service, APPLY, fieldManager="argocd-controller", force="true")

    def selector(self) -> Json:
        return dict(self._on.cluster.get(self._path)["spec"]["selector"])


def test_a_fight_over_the_live_service_loses_no_request_and_holds_no_promotion_up(tmp_path: Path) -> None:
    """An apply on the server replaces the selector: until the repair, a second later at most, it takes what it fits."""
    with stage(tmp_path) as on:
        on.world.start()
        on.web.deploy("v1")
        on.load.start()
        other = Other(on)
        with other.healing():
            on.web.wait(lambda: fights_said(on), "the fight is named")
            assert "argocd-controller changes spec.selector" in "".join(fights_said(on))
            merge = on.web.promote("v2")
            on.web.revert(merge)
            on.web.wait_told("rolled-back")
        eventually(lambda: MINE.keys().isdisjoint(other.selector()), what="it is as it should be")
        on.wait_used("v1")
        assert not [each.failure for each in on.load.failures()]


# --- Argo CD, by what its controller does -----------------------------------------------------------------------------


class Beside(NamedTuple):
    """What an Application with self-heal says about the Service, and what its repository has of it."""

    sync: Sync
    manager: str = ""
    """The label app.kubernetes.io/managed-by."""
    spec: bool = True

    def manifest(self, on: Stage, team: int) -> Json:
        made = manifests.service(on.world.namespace, **MINE)
        made["spec"]["ports"] = [{"name": "http", "port": 8080, "protocol": "TCP"}]
        labels = {MANAGED_BY: self.manager} if self.manager else {}
        made["metadata"] |= {"labels": labels, "annotations": {"team": f"{team}"}}
        return made if self.spec else {key: made[key] for key in ("apiVersion", "kind", "metadata")}


RECIPE = argo_cd()
ON_THE_SERVER = "ServerSideApply=true"
WITHOUT_THE_LABEL = ({"kind": "Service", "jsonPointers": ["/spec/selector", "/spec/ports"]},)

FIGHTS = {
    "no rules": (Beside(Sync()), "spec.selector"),
    "rules that a sync does not respect": (Beside(Sync(RECIPE.ignored)), "spec.selector"),
    "rules without a chart's label": (Beside(Sync(WITHOUT_THE_LABEL, RECIPE.options), "Helm"), "metadata.labels"),
}
"""With the field that the two then fight over."""

PEACE = {
    "the recipe": Beside(RECIPE, "Helm"),
    "the recipe, applied on the server": Beside(Sync(RECIPE.ignored, (*RECIPE.options, ON_THE_SERVER)), "Helm"),
    "a manifest without spec, applied on the server": Beside(Sync((), (ON_THE_SERVER,)), spec=False),
}

OVERTAKEN = {"the recipe": True, "a manifest without spec, applied on the server": False}
"""Whether a sync that began before a promotion leads traffic back: Argo CD respects what it read at its beginning."""


def test_a_service_stays_in_argo_cd_by_the_recipe_and_each_rule_that_lacks_is_a_fight_that_is_named(
    tmp_path: Path,
) -> None:
    """Its repository changes all the while, so that it does write; whoever is in peace writes nothing else."""
    with stage(tmp_path) as on:
        on.world.start()
        on.web.strategy["scaleDownDelaySeconds"] = WARM
        on.web.deploy("v1")
        on.load.start()
        for row, (beside, field) in FIGHTS.items():
            fight(on, beside, f"{row}: {MANAGER} changes {field}")
        for number, (row, beside) in enumerate(PEACE.items()):
            live_together(on, row, beside, f"v1{number}")
        on.judge("beside Argo CD", 0)
        on.seen.assert_traffic_was_safe("web")
        for number, (row, is_led_back) in enumerate(OVERTAKEN.items()):
            overtake(on, row, PEACE[row], f"v2{number}", is_led_back)
        assert not [each.failure for each in on.load.failures()]


def fight(on: Stage, beside: Beside, said: str) -> None:
    """Commit after commit, until the fight is named; then the Application is deleted, and all is quiet."""
    argo, teams = ArgoCd(on.cluster, [beside.manifest(on, 0)], beside.sync), count(1)
    row, _, message = said.partition(": ")
    known = fights_said(on)

    def is_named() -> bool:
        push(on, argo, beside, next(teams))
        return fights_said(on) != known

    with argo.healing():
        on.web.wait(is_named, row)
    on.world.advance(1)
    assert any(message in each for each in fights_said(on)), row
    on.world.wait_idle()
    on.world.advance(REMEMBERED.total_seconds() + 1)


def live_together(on: Stage, row: str, beside: Beside, tag: str) -> None:
    """A promotion and its revert, with a sync before, between and after."""
    known, fights = len(changed_by_argo_cd(on)), fights_said(on)
    argo = ArgoCd(on.cluster, [beside.manifest(on, 0)], beside.sync)
    argo.sync(argo.look())
    with argo.healing():
        push(on, argo, beside, 1)
        merge = on.web.promote(tag)
        push(on, argo, beside, 2)
        on.web.revert(merge)
        on.web.wait_live("v1")
        on.web.wait_told()
        push(on, argo, beside, 3)
    on.world.wait_idle()
    assert changed_by_argo_cd(on)[known:] == [], row
    assert argo.syncs == ["web"] * 4, f"{row}: one for each of its own changes"
    assert fights_said(on) == fights, row


def overtake(on: Stage, row: str, beside: Beside, tag: str, is_led_back: bool) -> None:
    """A sync that began before a promotion ends after it; it is repaired at once, and said."""
    argo = ArgoCd(on.cluster, [beside.manifest(on, 0)], beside.sync)
    argo.sync(argo.look())
    argo.push(beside.manifest(on, 1))
    known, begun = len(changed_by_argo_cd(on)), argo.look()
    on.web.promote(tag)
    argo.sync(begun)
    assert team_of(on) == "1"
    on.web.wait_live(tag)
    on.world.wait_idle()
    assert bool(changed_by_argo_cd(on)[known:]) is is_led_back, row
    on.wait_used(tag)


def push(on: Stage, argo: ArgoCd, beside: Beside, team: int) -> None:
    """A commit in Argo CD's repository, which its self-heal carries out."""
    argo.push(beside.manifest(on, team))
    eventually(lambda: argo.is_well() and team_of(on) == f"{team}", what=f"sync {team}")


def team_of(on: Stage) -> str:
    """The annotation of the live Service that is Argo CD's alone."""
    found = on.cluster.get(f"{services(on.world.namespace)}/web")
    return str(found["metadata"].get("annotations", {}).get("team", ""))


def changed_by_argo_cd(on: Stage) -> list[str]:
    """What we say that it changed of ours."""
    return [each["message"] for each in on.world.events() if f"{MANAGER} changed" in each["message"]]


def fights_said(on: Stage) -> dict[str, int]:
    """What we say of fights, and how often."""
    return {each["message"]: each["count"] for each in on.world.events() if each["reason"] == "Contested"}
