"""The list: what an address asks for, what waits for people, and one page at a time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gitops_bg.web.access.person import Role
from gitops_bg.web.dashboard.listing import ROWS, About, Query, may_answer, page_of
from gitops_bg.web.dashboard.snapshot import Listed, Snapshot, snapshot_of
from tests.web.dashboard.objects import line, many

WAITS = [
    {"kind": "availability", "open": True, "reason": "its pods are available"},
    {"kind": "policy", "open": False, "reason": "frozen", "until": "2026-03-02T06:00:00Z"},
]


def shown(snapshot: Snapshot, **asked: str) -> list[str]:
    return [each.row.name for each in page_of(snapshot, Query.read(asked)).rows]


def test_a_page_has_fifty_lines_and_says_how_many_there_are() -> None:
    page = page_of(many(1_234), Query.read({"page": "3"}))
    assert (len(page.rows), page.first, page.last, page.found, page.pages) == (ROWS, 101, 150, 1_234, 25)


@pytest.mark.parametrize(("asked", "number"), [("99", 2), ("0", 1), ("-1", 1), ("x", 1), ("٣", 1), ("9" * 40, 1)])
def test_a_page_that_is_not_there_is_the_last_or_the_first(asked: str, number: int) -> None:
    assert page_of(many(60), Query.read({"page": asked})).query.page == number


def test_nobody_asks_for_more_pages_than_a_thousand() -> None:
    assert [Query.read({"page": asked}).page for asked in ("0", "1000", "999999")] == [1, 1_000, 1_000]


def test_a_search_finds_names_namespaces_images_and_messages_by_all_of_its_words() -> None:
    snapshot = snapshot_of(1, [line("web", candidate={"image": "registry/web:2"}), line("cart", message="No Room")])
    assert shown(snapshot, q="registry/WEB") == ["web"]
    assert shown(snapshot, q="shop cart room") == ["cart"]
    assert shown(snapshot, q="cart registry") == []
    assert shown(snapshot, q="<script>") == []


def test_filters_combine() -> None:
    snapshot = many(400)
    waiting = page_of(snapshot, Query.read({"waiting": "1", "namespace": "team-10"}))
    assert {each.row.phase for each in waiting.rows} == {"AwaitingPromotion"}
    assert {each.row.namespace for each in waiting.rows} == {"team-10"}
    assert waiting.found == 10
    assert shown(snapshot, waiting="1", phase="Healthy") == []


def test_a_line_says_what_it_waits_for_until_when_and_who_must_act() -> None:
    waiting = line("web", "AwaitingPromotion", gates=WAITS)
    assert waiting.waits_for is not None
    assert (waiting.waits_for.kind, waiting.waits_for.until) == ("policy", datetime(2026, 3, 2, 6, tzinfo=UTC))
    assert [each.who for each in waiting.asked] == ["who promotes this app"]
    assert line("cart").asked == ()


LABELS = {"web": (("team", "shop"), ("tier", "front")), "cart": (("team", "shop"),)}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("team=shop", ["web", "cart"]),
        ("team==shop", ["web", "cart"]),
        ("tier", ["web"]),
        ("!tier", ["cart", "bank"]),
        ("team=shop,tier!=front", ["cart"]),
        ("team!=shop", ["bank"]),
        ("team = shop , tier", ["web"]),
        ("=", []),
        (",", ["web", "cart", "bank"]),
    ],
)
def test_labels_of_targets_are_selected_as_by_kubectl(asked: str, found: list[str]) -> None:
    snapshot = snapshot_of(1, [line("web"), line("cart"), line("bank")])
    about = About(labels=lambda key: LABELS.get(key.name, ()))
    page = page_of(snapshot, Query.read({"label": asked}), about)
    assert [each.row.name for each in page.rows] == found
    assert Query.read({"label": asked}) == Query.read({"label": page.query.label})


GATE = [{"kind": "manual", "open": False, "reason": "waits for somebody"}]


@pytest.mark.parametrize(
    ("waits", "roles", "is_mine"),
    [
        (line("web", "AwaitingPromotion"), {Role.OPERATOR}, True),
        (line("web", "AwaitingPromotion"), {Role.APPROVER}, False),
        (line("web", "AwaitingPromotion"), {Role.VIEWER}, False),
        (line("web", "Held"), {Role.OPERATOR}, True),
        (line("web", "Waiting", gates=GATE), {Role.APPROVER}, True),
        (line("web", "Waiting", gates=GATE), {Role.VIEWER}, False),
        (line("web"), {Role.OPERATOR, Role.APPROVER}, False),
    ],
)
def test_what_waits_for_somebody_is_what_their_role_may_answer(waits: Listed, roles: set[Role], is_mine: bool) -> None:
    assert may_answer(waits, roles.__contains__) is is_mine
    about = About(is_mine=lambda each: may_answer(each, roles.__contains__))
    page = page_of(snapshot_of(1, [waits, line("cart")]), Query(mine=True), about)
    assert (page.mine, [each.row.name for each in page.rows]) == ((1, ["web"]) if is_mine else (0, []))


def test_what_people_are_needed_for_comes_first_among_the_phases() -> None:
    snapshot = snapshot_of(1, [line("a"), line("b", "Progressing"), line("c", "Held"), line("d", "Dancing")])
    assert [name for name, _ in page_of(snapshot, Query()).phases] == ["Dancing", "Held", "Progressing", "Healthy"]


def test_somebody_sees_nothing_of_a_namespace_that_is_not_theirs() -> None:
    seen = many(400).seen_by(lambda namespace: namespace == "team-7")
    page = page_of(seen, Query())
    assert (page.total, page.namespaces) == (10, ("team-7",))


def test_a_status_that_somebody_else_wrote_is_shown_as_far_as_it_can_be_read() -> None:
    broken = line("web", 7, gates="no", conditions=[{"lastTransitionTime": "yesterday"}, 3], message=["?"])  # type: ignore[arg-type]
    assert (broken.row.phase, broken.waits_for, broken.changed_at, broken.message) == ("Unknown", None, None, "")
