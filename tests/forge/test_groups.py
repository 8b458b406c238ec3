"""The pull request of a group's branch: what it says, and that one worker looks after apps and groups alike."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from html import unescape

import pytest

from gitops_bg.core.groups.forecast import Ahead, Changed, ChangedAnswer, Forecast, Proposal, SampleRequest
from gitops_bg.core.groups.record import TransitionKind
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.journal import PullState
from gitops_bg.core.model.journal import PullState as State
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.forge.asking import Asks
from gitops_bg.forge.known import marker_in
from gitops_bg.forge.offer import DesiredPull, GroupOffer
from gitops_bg.forge.port import CheckState, ForgeDown, ForgeLimits, Review, ReviewVerdict, User
from gitops_bg.forge.wanted import LONGEST_TITLE, MOST_ROWS, wanted
from tests.forge.fake import ADA, Scene
from tests.forge.offers import AVAILABLE, LIMITS, NO_SETTINGS, NOW, offer

STORE, SAME_NAME = GroupKey("shop", "store"), AppKey("shop", "store")
FREEZE = GateResult(GateKind.POLICY, False, "cart-v2: freeze: INC-4711", NOW + timedelta(hours=1))
ANSWERS = (
    ChangedAnswer(SampleRequest("/cart"), "cart-v1", "cart-v2"),
    ChangedAnswer(SampleRequest("/new", "v1"), "404", "denied"),
)
PROMOTION = Proposal(
    "v2",
    "v1",
    Forecast(
        Ahead(TransitionKind.PROMOTION, "v1", "v2"),
        (),
        {},
        (Changed("v1", "Active", "Legacy"),),
        ANSWERS,
        8,
        (Changed("cart", "cart-v1", "cart-v2"), Changed("search", "", "search-v2")),
    ),
    gates=(AVAILABLE,),
    named="v1",
)
NOTHING = Forecast(None, (), {})
BACK = replace(
    PROMOTION, version="v1", live="v2", forecast=Forecast(Ahead(TransitionKind.ROLLBACK, "v2", "v1"), (), {})
)
WENT_BACK = Proposal("v1", "v1", NOTHING, named="v2")
DELETES = Proposal("v1", "v1", NOTHING, deleted=("v3",), named="v1")
OTHER = Proposal("v1", "v1", NOTHING, named="v1")


def of_group(asks: Proposal = PROMOTION, number: int = 5) -> GroupOffer:
    return GroupOffer(STORE, "prod-eu", f"{number:040x}", promotion_branch(STORE), "main", f"{number:040x}", NOW, asks)


SAID = {
    "a promotion": (
        PROMOTION,
        "shop/store: v1 → v2 [prod-eu]",
        "Merging this promotes **v2** of **shop/store** on <code>prod-eu</code>: requests move from v1 to it",
        (CheckState.SUCCESS, "every gate is open: merge this"),
    ),
    "a promotion that waits": (
        replace(PROMOTION, gates=(AVAILABLE, FREEZE)),
        "shop/store: v1 → v2 [prod-eu]",
        "| <code>policy</code> | **shut** | <code>cart-v2: freeze: INC-4711</code> | 2026-01-01 13:00 UTC |",
        (CheckState.PENDING, "policy: cart-v2: freeze: INC-4711 until 2026-01-01 13:00 UTC"),
    ),
    "a promotion that is measured later": (
        replace(PROMOTION, later=True),
        "shop/store: v1 → v2 [prod-eu]",
        "Analyses and hooks of the group begin after the merge.",
        (CheckState.SUCCESS, "every gate is open: merge this"),
    ),
    "what would be rejected": (
        replace(PROMOTION, refused="v2 has passed"),
        "shop/store: v1 → v2 [prod-eu]",
        "> **Do not merge:** <code>v2 has passed</code>",
        (CheckState.FAILURE, "v2 has passed"),
    ),
    "a file that nobody can read": (
        Proposal("", "v1", NOTHING, refused="group.yaml:3: is no YAML", named="v1"),
        "shop/store: a group.yaml that nobody can read [prod-eu]",
        "Nobody can tell what merging this does to **shop/store** on <code>prod-eu</code>.",
        (CheckState.FAILURE, "group.yaml:3: is no YAML"),
    ),
    "a way back": (
        replace(BACK, gates=(FREEZE,)),
        "shop/store: back to v1 [prod-eu]",
        "Merging this takes **shop/store** on <code>prod-eu</code> **back to v1**",
        (CheckState.SUCCESS, "it goes back: merge this"),
    ),
    "requests that went back": (
        WENT_BACK,
        "shop/store: back to v1 [prod-eu]",
        "**v1 serves already**: requests of **shop/store** on <code>prod-eu</code> went back to it, and main is to say",
        (CheckState.SUCCESS, "traffic is there: merge this"),
    ),
    "a folder that goes": (
        DELETES,
        "shop/store: delete v3 [prod-eu]",
        "Merging this deletes **v3** of **shop/store** on <code>prod-eu</code>; v1 serves on.",
        (CheckState.SUCCESS, "every gate is open: merge this"),
    ),
    "what people pushed": (
        OTHER,
        "shop/store: another group.yaml [prod-eu]",
        "Merging this changes what main says of **shop/store** on <code>prod-eu</code>; v1 serves on.",
        (CheckState.SUCCESS, "every gate is open: merge this"),
    ),
}


@pytest.mark.parametrize(("asks", "title", "part", "status"), SAID.values(), ids=SAID.keys())
def test_it_says_what_moves_and_what_stands_before_it(
    asks: Proposal, title: str, part: str, status: tuple[CheckState, str]
) -> None:
    made = wanted(of_group(asks), NO_SETTINGS, LIMITS)
    assert made.draft.title == title
    assert part in unescape(made.draft.body)
    assert (made.status.state, made.status.description) == status
    assert (made.status.context, made.status.commit) == ("gitops-bg/prod-eu", of_group().head)
    marker = marker_in(made.draft.body)
    assert marker is not None
    assert (marker.app, marker.cluster, marker.offer) == ("shop/store", "prod-eu", of_group().id)


def test_it_names_every_service_and_request_that_changes_hands() -> None:
    body = unescape(wanted(of_group(), NO_SETTINGS, LIMITS).draft.body).replace("<code>", "").replace("</code>", "")
    for row in (
        "| Service | Now | Then |",
        "| cart | cart-v1 | cart-v2 |",
        "| search | – | search-v2 |",
        "| Request | Now | Then |",
        "| /cart | cart-v1 | cart-v2 |",
        "| /new, v1 | 404 | denied |",
        "8 requests are answered as now.",
        "| v1 | Active | Legacy |",
        "`gitops-bg rollback shop/store --to v1`",
    ):
        assert row in body
    one = replace(PROMOTION, forecast=replace(PROMOTION.forecast, same_answers=1))
    assert "1 request is answered as now." in wanted(of_group(one), NO_SETTINGS, LIMITS).draft.body


def test_it_stays_within_the_limits_of_the_forge_and_says_what_is_left_out() -> None:
    many = tuple(Changed(f"service-{number}", "a", "b") for number in range(MOST_ROWS + 3))
    asks = replace(PROMOTION, forecast=replace(PROMOTION.forecast, followers=many))
    assert "| … and 3 more | | |" in wanted(of_group(asks), NO_SETTINGS, LIMITS).draft.body
    short = wanted(of_group(asks), NO_SETTINGS, ForgeLimits(body=2_000, description=20))
    assert len(short.draft.body) <= 2_000
    assert len(short.status.description) <= 20
    long = wanted(of_group(replace(PROMOTION, version="v" * 300)), NO_SETTINGS, LIMITS)
    assert len(long.draft.title) <= LONGEST_TITLE


@pytest.mark.parametrize("text", ["@ada #1", "a|b", "<img src=x>", "`x`"])
def test_nothing_from_outside_means_anything_in_it(text: str) -> None:
    asks = replace(PROMOTION, refused=text, gates=(replace(FREEZE, reason=text),))
    body = wanted(of_group(asks), NO_SETTINGS, LIMITS).draft.body
    assert text not in body
    assert unescape(body).count(text) == 2


# --- over time -------------------------------------------------------------------------------------------------------


def begun() -> Scene:
    """A scene in which the pull request of the group is open."""
    scene = Scene()
    scene.worker.set_desired(STORE, DesiredPull(of_group()))
    scene.run()
    return scene


def test_an_app_and_a_group_of_one_name_have_a_pull_request_each() -> None:
    scene = begun()
    scene.worker.set_desired(SAME_NAME, DesiredPull(offer(app="store")))
    scene.run()
    assert {each.branch for each in scene.forge.opened} == {promotion_branch(STORE), promotion_branch(SAME_NAME)}
    assert [scene.told[each].pull.number for each in (STORE, SAME_NAME)] == [1, 2]  # type: ignore[union-attr]
    scene.worker.set_desired(SAME_NAME, DesiredPull())
    scene.run()
    assert [each.branch for each in scene.forge.opened] == [promotion_branch(STORE)]


def test_another_version_that_is_asked_for_edits_the_same_one() -> None:
    scene = begun()
    scene.worker.set_desired(STORE, DesiredPull(of_group(replace(PROMOTION, version="v3"), 6)))
    scene.run()
    assert [(each.number, each.title) for each in scene.forge.opened] == [(1, "shop/store: v1 → v3 [prod-eu]")]


def test_what_a_person_closes_is_not_opened_again_for_the_same_wish() -> None:
    scene = begun()
    scene.forge.closes(1, ADA)
    scene.run(600)
    assert (scene.told[STORE].pull.state, scene.told[STORE].pull.closed_by) == (State.CLOSED, "ada")  # type: ignore[union-attr]
    scene.restart()
    scene.run(600)
    assert scene.forge.opened == []
    scene.worker.set_desired(STORE, DesiredPull(of_group(number=6)))
    scene.run()
    assert [each.number for each in scene.forge.opened] == [2]


def test_a_branch_that_main_has_by_another_way_closes_its_pull_request_and_a_merged_one_stays() -> None:
    scene = begun()
    scene.worker.set_desired(STORE, DesiredPull())
    scene.run()
    assert (scene.forge.opened, scene.forge.pulls[1].state) == ([], PullState.CLOSED)
    merged = begun()
    merged.forge.ends(1, PullState.MERGED)
    merged.worker.set_desired(STORE, DesiredPull())
    merged.run()
    assert "edit" not in merged.forge.writes()


def test_while_the_forge_is_down_the_branch_waits_and_then_has_its_pull_request() -> None:
    scene = Scene()
    scene.forge.fails = lambda _: ForgeDown("it is down")
    scene.worker.set_desired(STORE, DesiredPull(of_group()))
    scene.run(120)
    assert "it is down" in scene.told[STORE].trouble
    scene.forge.fails = lambda _: None
    scene.run(600)
    assert (len(scene.forge.opened), scene.told[STORE].trouble) == (1, "")


def test_reviews_are_those_of_the_branch_and_then_of_whatever_pull_request_merged_it() -> None:
    scene = begun()
    review = Review(User("4", "ben"), ReviewVerdict.APPROVED, NOW, of_group().head)
    scene.forge.reviewed(1, review)
    scene.worker.set_desired(STORE, DesiredPull(of_group(), asks=Asks(reviews=True)))
    scene.run()
    heard = scene.worker.answers_of(STORE)
    assert heard is not None
    assert heard.reviews == (review,)
    assert scene.worker.answers_of(SAME_NAME) is None

    other = replace(scene.forge.pulls[1], number=2, branch="release", merge_commit="c" * 40)
    scene.forge.pulls[2] = other
    scene.forge.ends(2, PullState.MERGED)
    scene.forge.given[2] = [replace(review, user=ADA)]
    scene.worker.set_desired(STORE, DesiredPull(asks=Asks(reviews=True, promotion="c" * 40)))
    scene.run()
    heard = scene.worker.answers_of(STORE)
    assert heard is not None
    assert (heard.reviews, heard.merged["c" * 40].pull) == ((replace(review, user=ADA),), scene.forge.pulls[2])
