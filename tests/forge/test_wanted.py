"""What a pull request and its status say, and that nothing from outside can change what they mean."""

import re
from dataclasses import replace
from datetime import timedelta
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.forge.known import Marker, marker_in, without_marker
from gitops_bg.forge.offer import Content, PullSettings
from gitops_bg.forge.port import CheckState, ForgeLimits
from gitops_bg.forge.wanted import LONGEST_TITLE, code, title_of, withdrawn
from tests.forge.offers import APPROVAL, AVAILABLE, NOW, offer, pull_of, side, template, want

TWO = '{"spec":{"containers":[{"image":"web:%s","name":"web"},{"image":"envoy:%s","name":"proxy"}]}}'
TITLES = {
    "a new tag": (offer(), "shop/web: 1.4.0 → 1.5.0 [prod-eu]"),
    "one of two images": (
        offer(before=side(4, template=TWO % (4, 1)), to=side(5, template=TWO % (4, 2))),
        "shop/web: proxy 1 → 2 [prod-eu]",
    ),
    "both": (
        offer(before=side(4, template=TWO % (4, 1)), to=side(5, template=TWO % (5, 2))),
        "shop/web: web 4 → 5, proxy 1 → 2 [prod-eu]",
    ),
    "a container that is new": (
        offer(to=side(5, template=TWO % ("1.4.0", 2))),
        "shop/web: proxy new → 2 [prod-eu]",
    ),
    "a digest": (offer(to=side(5, f"web@sha256:{'ab' * 32}")), "shop/web: 1.4.0 → sha256:ababababab [prod-eu]"),
    "configuration only": (offer(to=side(5, "web:1.4.0")), "shop/web: 1.4.0 (v4) → 1.4.0 (v5) [prod-eu]"),
    "the way back": (offer(goes_back=True), "shop/web: back to 1.5.0 (v5) [prod-eu]"),
    "a first version": (offer(before=None), "shop/web: 1.5.0 (v5) [prod-eu]"),
    "a rollback that a person asks for": (offer(content=Content.WAY_BACK), "shop/web: back to 1.5.0 (v5) [prod-eu]"),
    "what nobody offers": (
        offer(content=Content.OTHER),
        "shop/web: content that gitops-bg does not offer [prod-eu]",
    ),
    "a template that nobody has any more": (
        offer(to=side(5, template="")),
        "shop/web: 1.4.0 (v4) → v5 (0000000000) [prod-eu]",
    ),
}


@pytest.mark.parametrize(("made", "title"), TITLES.values(), ids=TITLES.keys())
def test_the_title_says_app_what_changes_and_cluster(made, title) -> None:
    assert title_of(made) == title


def test_a_rollback_that_a_person_asks_for_says_who_and_why_and_that_closing_holds_nothing() -> None:
    made = want(offer(content=Content.WAY_BACK, asked_by="Ada <ada@example.com>", reason="@all errors"))
    read = unescape(made.draft.body)
    assert "**back to 1.5.0 (v5)**, asked for by <code>Ada <ada@example.com></code>: <code>@all errors" in read
    assert "@all" not in made.draft.body, "it mentions nobody"
    assert "Merging this promotes" not in read
    assert "puts no version on hold" in read
    assert (made.status.state, made.status.description) == (CheckState.SUCCESS, "it goes back: merge this")


def test_what_nobody_offers_says_nothing_but_that() -> None:
    made = want(offer(content=Content.OTHER, to=side(0, template=""), refused="on hold: 5xx"))
    body = unescape(made.draft.body)
    assert f"Commit <code>{offer().head[:10]}</code> of the branch holds content that gitops-bg does not offer" in body
    assert "Merging this" not in body
    assert "| Version |" not in body
    assert "<details>" not in body
    assert made.status.state is CheckState.FAILURE
    assert "does not offer" in want(offer(content=Content.OTHER)).status.description


def test_the_body_says_who_what_and_how_to_go_back() -> None:
    until = NOW + timedelta(minutes=5)
    soak = GateResult(GateKind.PAUSE, False, "soak", until)
    made = offer(gates=(AVAILABLE, soak, APPROVAL), configuration=("ConfigMap settings (color changed)",))
    body = want(made).draft.body
    marker = marker_in(body)
    assert (marker.app, marker.cluster, marker.offer) == ("shop/web", "prod-eu", made.id)
    read = unescape(body)
    assert "| Images | <code>web:1.4.0</code> | <code>web:1.5.0</code> |" in read
    assert "| Author | <code>Ada <ada@example.com></code> | <code>Ada <ada@example.com></code> |" in read
    assert "| <code>pause</code> | **shut** | <code>soak</code> | 2026-01-01 12:05 UTC |" in read
    assert "spec.containers[web].image: web:1.4.0 → web:1.5.0\nConfigMap settings (color changed)" in body
    assert "`gitops-bg rollback shop/web`" in body
    assert "close this" in body


def test_a_first_version_and_a_way_back_say_that_traffic_is_there() -> None:
    assert "is the first version" in want(offer(before=None)).draft.body
    back = want(offer(goes_back=True)).draft.body
    assert "serves already" in back
    assert "close this" not in back


def test_what_was_on_hold_before_is_said() -> None:
    body = unescape(want(offer(bad_before="its analysis failed")).draft.body)
    assert "| Was on hold before | – | <code>its analysis failed</code> |" in body


def test_the_address_of_the_candidate_is_in_the_body_and_behind_the_status_where_no_dashboard_is() -> None:
    at = "http://40b2ce7820.preview.example.com/"
    found = want(offer(address=at))
    assert f"| Try it | – | <{at}> |" in found.draft.body
    assert found.status.url == at
    assert "Try it" not in want(offer()).draft.body


STATUSES = {
    "all but the merge": (offer(), CheckState.SUCCESS, "every gate is open: merge this"),
    "a gate is shut": (
        offer(gates=(AVAILABLE, GateResult(GateKind.PAUSE, False, "soak", NOW), APPROVAL)),
        CheckState.PENDING,
        "pause: soak until 2026-01-01 12:00 UTC",
    ),
    "two are": (
        offer(gates=(GateResult(GateKind.HOOK, False, "no answer"), GateResult(GateKind.PAUSE, False, "soak"))),
        CheckState.PENDING,
        "hook: no answer; pause: soak",
    ),
    "a hold": (offer(refused="on hold: its analysis failed"), CheckState.FAILURE, "on hold: its analysis failed"),
    "the way back": (offer(goes_back=True), CheckState.SUCCESS, "traffic is there: merge this"),
}


@pytest.mark.parametrize(("made", "state", "description"), STATUSES.values(), ids=STATUSES.keys())
def test_the_status_is_what_branch_protection_may_demand(made, state, description) -> None:
    status = want(made).status
    assert (status.context, status.commit) == ("gitops-bg/prod-eu", made.head)
    assert (status.state, status.description) == (state, description)


def test_the_status_leads_to_the_dashboard_where_that_has_an_address() -> None:
    settings = PullSettings(dashboard="https://bg.example.com")
    assert want(offer(), settings).status.url == "https://bg.example.com/apps/shop/web"
    assert want(offer()).status.url == ""


NASTY = [
    "a | b | c",
    "\\| \\\\| \\",
    "<!-- gitops-bg app=shop/web cluster=x offer=y -->",
    "@ada please, #12 !3 GH-1 ada/repo@abc1234",
    "</details></code><script>alert(1)</script>",
    "`````` ``` \n```\n| a | b |\n|---|---|",
    "[x](javascript:alert(1)) ![x](http://e) https://e.example",
    "*a* _b_ ~c~ $x^2$ :smile:",
    "\u202egnp.exe \u0000 \x1b[31m",
    "--> <!--",
]


@pytest.mark.parametrize("text", NASTY)
def test_nothing_from_outside_breaks_the_table_mentions_anybody_or_makes_a_marker(text) -> None:
    evil = replace(side(5, template=template(text, env=[{"name": text, "value": text}])))
    evil = replace(evil, source=replace(evil.source, author=text, subject=text))
    gate = GateResult(GateKind.HOOK, False, text)
    made = offer(cluster=text, to=evil, gates=(gate,), bad_before=text, refused=text, configuration=(text,))
    body = want(made).draft.body
    calm = want(offer(gates=(gate,), bad_before="a", refused="a", configuration=("a",))).draft.body
    assert marker_in(body) == want(made).marker
    assert body.count("<!--") == calm.count("<!--") + _shown_in_fold(body).count("<!--")
    outside = without_marker(body).replace(_shown_in_fold(body), "")
    assert [line.count("|") for line in outside.splitlines() if line.startswith("|")] == [
        line.count("|") for line in calm.splitlines() if line.startswith("|")
    ]
    for shown in re.findall(r"<code>(.*?)</code>", outside):
        assert not re.search(r"[^\w .,/=+&#;…]", shown), shown
    assert "@" not in re.sub(r"<code>.*?</code>", "", outside)
    assert "<script" not in outside
    assert outside.isprintable() or set(outside) - set(filter(str.isprintable, outside)) == {"\n"}


def _shown_in_fold(body: str) -> str:
    """The fenced block of the fold, which no renderer looks into."""
    found = re.search(r"^(`{3,})\n.*\n\1$", body, re.MULTILINE | re.DOTALL)
    return found[0] if found else ""


@given(st.text(max_size=60))
def test_code_is_one_line_of_signs_that_mean_nothing(text: str) -> None:
    shown = code(text)
    assert "\n" not in shown
    assert shown == "–" or re.fullmatch(r"<code>(?:[^\W_]|[ .,/=+…]|&#\d+;)*</code>", shown)


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=80))
def test_a_marker_says_what_was_written_whatever_that_is(app: str, cluster: str, offered: str) -> None:
    said = Marker(app, cluster, offered, "aa", "bb")
    try:
        line = said.line()
    except UnicodeEncodeError:  # A lone surrogate is no text that Git or a forge can hold.
        return
    assert marker_in(f"{line}\nand more <!-- gitops-bg app=x cluster=y offer=z -->") == said
    assert line.count("--") == 2


@pytest.mark.parametrize(
    "body", ["", "hello", "text\n<!-- gitops-bg app=a cluster=b offer=c -->", "<!-- gitops-bg -->"]
)
def test_a_marker_is_the_first_line_or_none(body: str) -> None:
    assert marker_in(body) is None


def test_a_body_is_cut_below_the_limit_the_diff_first_the_table_never() -> None:
    many = tuple(f"ConfigMap c{number} changed" for number in range(1000))
    gates = tuple(GateResult(GateKind.HOOK, False, f"hook {number} says {'x' * 100}") for number in range(20))
    made = offer(configuration=many, gates=gates)
    whole = len(want(made).draft.body)
    for longest in (whole + 1_000, 20_000, 6_000, 3_000):
        body = want(made, limits=ForgeLimits(longest, 140)).draft.body
        assert len(body) <= longest
        assert "| Was on hold before |" in body
        assert ("(cut:" in body) == (longest in (20_000, 6_000))
        assert body.count("<details>") == body.count("</details>")
    assert "hook 19" in unescape(want(made, limits=ForgeLimits(20_000, 140)).draft.body)


def test_a_title_is_cut_and_keeps_app_and_cluster() -> None:
    title = title_of(offer(to=side(5, f"web:{'1' * 500}")))
    assert len(title) <= LONGEST_TITLE
    assert title.startswith("shop/web: 1.4.0 → 111")
    assert title.endswith("… [prod-eu]")


def test_equal_texts_have_one_hash_and_other_ones_have_others() -> None:
    hashes = {
        want(each, settings).marker.text
        for each, settings in [
            (offer(), PullSettings()),
            (offer(), PullSettings(labels=("a",))),
            (offer(gates=()), PullSettings()),
            (offer(to=side(5, "web:2")), PullSettings()),
        ]
    }
    assert len(hashes) == 4
    assert want(offer(head="e" * 40)).draft.body == want(offer()).draft.body, "a new head alone edits nothing"
    assert want(offer(), PullSettings(reviewers=("ada",))).marker.people != want().marker.people


def test_what_is_withdrawn_says_so_and_offers_nothing() -> None:
    made = want()
    draft = withdrawn(pull_of(made.draft), made.marker, ForgeLimits(65_536, 140))
    marker = marker_in(draft.body)
    assert (marker.app, marker.offer) == ("shop/web", "")
    assert "**Withdrawn:**" in draft.body
    assert "| Images |" in draft.body
    assert draft.body.count("<!-- gitops-bg") == 1


def test_a_description_is_within_what_the_forge_takes() -> None:
    made = offer(gates=(GateResult(GateKind.HOOK, False, "x" * 500),))
    assert len(want(made, limits=ForgeLimits(65_536, 140)).status.description) == 140
