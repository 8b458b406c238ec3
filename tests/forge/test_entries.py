"""The pull request that asks for a release in an environment: what it says, and that it stands beside that of a
promotion of the same app.
"""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.journal import PullState
from gitops_bg.core.model.version import AppKey, EntryKey, Source
from gitops_bg.core.names import promotion_branch
from gitops_bg.forge.offer import DesiredPull, EntryOffer, ReleaseAt, ReleaseSide
from gitops_bg.forge.port import CheckState
from gitops_bg.forge.wanted import wanted
from tests.forge.fake import ADA, Scene
from tests.forge.offers import LIMITS, NO_SETTINGS, NOW, offer, template

WEB = EntryKey(AppKey("shop", "web"), "prod")
UNPROVEN = GateResult(GateKind.POLICY, False, "it is to be proven in staging: staging-1 serves r11")


def side(number: int) -> ReleaseSide:
    source = Source(f"{number:040x}", "Ada <ada@example.com>", NOW, f"web {number}")
    return ReleaseSide(f"2.{number}.0 (r{number})", source, template(f"web:2.{number}.0"))


def of_entry(number: int = 12, **changes: Any) -> EntryOffer:
    made = EntryOffer(
        entry=WEB,
        cluster="prod-eu",
        id=f"r1:{number:064x}@{number:040x}#enter",
        branch=promotion_branch(WEB),
        base="main",
        head=f"{number:040x}",
        since=NOW,
        to=side(number),
        before=side(11),
        where=(ReleaseAt("staging", "staging-1", "r12", "since 2026-01-01 10:00Z; r12 is proven, for 2h"),),
        changes=("spec.template.spec.containers[web].image: web:2.11.0 → web:2.12.0",),
        result=("spec.template.spec.containers[web].image: web:2.11.0 → web:2.12.0", "spec.replicas: 2 → 6"),
    )
    return replace(made, **changes)


def test_it_says_what_comes_in_where_it_is_proven_and_what_changes() -> None:
    made = wanted(of_entry(), NO_SETTINGS, LIMITS)
    body = unescape(made.draft.body)
    assert made.draft.title == "shop/web: let 2.12.0 (r12) into prod [prod-eu]"
    assert made.draft.branch == "gitops-bg/enter/prod/shop/web"
    assert "| Release | <code>2.11.0 (r11)</code> | <code>2.12.0 (r12)</code> |" in body
    assert "| <code>staging</code> | <code>staging-1</code> | <code>r12</code> |" in body
    assert "What changes in the release" in body
    assert "What changes in prod, with its overlay" in body
    assert "spec.replicas: 2 → 6" in body
    assert (made.status.state, made.status.description) == (CheckState.SUCCESS, "every gate is open: merge this")


def test_what_changes_alike_is_said_once() -> None:
    body = wanted(of_entry(result=of_entry().changes), NO_SETTINGS, LIMITS).draft.body
    assert "What changes in prod, with its overlay: the same." in body
    assert body.count("→") == 1


@pytest.mark.parametrize(
    ("changes", "state", "said"),
    [
        ({"gates": (UNPROVEN,)}, CheckState.PENDING, "policy: it is to be proven in staging: staging-1 serves r11"),
        ({"refused": "r12 is on hold: loses orders"}, CheckState.FAILURE, "r12 is on hold: loses orders"),
    ],
)
def test_the_status_says_whether_it_may_be_merged(changes: dict[str, Any], state: CheckState, said: str) -> None:
    status = wanted(of_entry(**changes), NO_SETTINGS, LIMITS).status
    assert (status.state, status.description) == (state, said)


def test_an_app_has_one_for_its_release_beside_one_for_its_promotion() -> None:
    scene = Scene()
    scene.worker.set_desired(WEB.app, DesiredPull(offer(5)))
    scene.worker.set_desired(WEB, DesiredPull(of_entry()))
    scene.run()
    assert {each.branch for each in scene.forge.opened} == {promotion_branch(WEB), promotion_branch(WEB.app)}
    scene.worker.set_desired(WEB, DesiredPull(of_entry(13)))
    scene.run(60)
    assert [each.title for each in scene.forge.opened if each.branch == promotion_branch(WEB)] == [
        "shop/web: let 2.13.0 (r13) into prod [prod-eu]"
    ]


def test_what_a_person_closes_is_offered_anew_with_a_newer_release_only() -> None:
    scene = Scene()
    scene.worker.set_desired(WEB, DesiredPull(of_entry()))
    scene.run()
    scene.forge.closes(1, ADA)
    scene.run(600)
    pull = scene.told[WEB].pull  # type: ignore[index]
    assert pull is not None
    assert (pull.state, pull.closed_by, pull.offer) == (PullState.CLOSED, "ada", of_entry().id)
    scene.restart()
    scene.run(600)
    assert scene.forge.opened == []
    scene.worker.set_desired(WEB, DesiredPull(of_entry(13)))
    scene.run()
    assert [each.number for each in scene.forge.opened] == [2]


def test_what_passes_by_an_environment_says_so_and_who_asks_for_it() -> None:
    body = unescape(
        wanted(of_entry(asked_by="Ben <ben@example.com>", skipped=("staging",)), NO_SETTINGS, LIMITS).draft.body
    )
    assert "<code>Ben <ben@example.com></code> asks for it." in body
    assert "It **skips <code>staging</code>**, where nobody says that it is proven." in body
    assert "skips" not in wanted(of_entry(), NO_SETTINGS, LIMITS).draft.body
