"""A plan as Markdown: its rows and folds, its limit, and that nothing breaks it."""

from __future__ import annotations

from datetime import UTC, datetime

from gitops_bg.cli.commands.inspect.plan_comment import LONGEST, markdown
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.views.plan import Planned, PlannedSubject

WEB, API, QUIET = AppKey("shop", "web"), AppKey("shop", "api"), AppKey("shop", "quiet")
MONDAY = datetime(2026, 11, 23, tzinfo=UTC)
FROZEN = GateResult(GateKind.POLICY, False, "calm: weekend: shut", MONDAY, "wait")
OPEN = GateResult(GateKind.AVAILABILITY, True, "its pods are available")
APPROVAL = GateResult(GateKind.APPROVAL, False, "waiting for the promotion branch to be merged", remedy="merge it")
BROKEN = Problem("apps/shop/api/a b.yaml", "is no port", 7, 3, "spec.ports[0]", "write a number")
PLANNED = Planned(
    "a" * 40,
    (
        PlannedSubject(WEB, Phase.AWAITING_PROMOTION, ("offer v2", "scale v2"), (OPEN, FROZEN, APPROVAL)),
        PlannedSubject(API, Phase.INVALID, problems=(BROKEN, Problem("gitops-bg.yaml", "is no YAML"))),
        PlannedSubject(QUIET, Phase.HEALTHY, gates=(OPEN,)),
    ),
)


NOWHERE = PlannedSubject(
    WEB, Phase.DEGRADED, ("create v1",), refused="no namespace shop: kubectl create namespace shop"
)


def test_what_the_cluster_refuses_is_a_word_in_the_row_of_the_app() -> None:
    planned = Planned("a" * 40, (NOWHERE,))
    text = markdown(planned)
    assert "1 app: 1 to be changed, 1 refused." in text
    assert "| <code>create v1</code> | **refused** |" in text
    assert "- **refused** <code>no namespace shop" in text


def test_the_comment_has_a_row_and_a_fold_for_each_app_that_has_something_to_say() -> None:
    lines = markdown(PLANNED).splitlines()
    assert lines[:3] == [
        "### gitops-bg plan at <code>aaaaaaaaaa</code>",
        "",
        "3 apps: 1 to be changed, 1 waiting, 1 with problems, 1 with nothing to do.",
    ]
    assert lines[4:8] == [
        "| Name | Phase | Would do | Waits for |",
        "|---|---|---|---|",
        "| <code>shop/web</code> | <code>AwaitingPromotion</code> | <code>offer v2</code><br><code>scale v2</code> | "
        "<code>policy</code> until 2026-11-23 00:00 UTC<br><code>approval</code> |",
        "| <code>shop/api</code> | <code>Invalid</code> | – | **2 problems** |",
    ]
    folds = [line for line in lines if line.startswith("<details>")]
    assert len(folds) == 2
    assert "| <code>policy</code> | **shut** | <code>calm&#58; weekend&#58; shut</code> | 2026" in ("\n".join(lines))
    assert "quiet" not in "\n".join(lines)


def test_a_comment_on_nothing_is_one_line() -> None:
    assert markdown(Planned("a" * 40, (PlannedSubject(QUIET, Phase.HEALTHY),))).endswith(
        "1 app: 1 with nothing to do.\n"
    )
    assert markdown(Planned("a" * 40)).endswith("\n0 apps.\n")


def test_of_many_actions_the_row_has_three() -> None:
    text = markdown(Planned("a" * 40, (PlannedSubject(WEB, Phase.PROGRESSING, tuple(f"step {n}" for n in range(5))),)))
    (row,) = [line for line in text.splitlines() if line.startswith("| <code>shop/web")]
    assert "<code>step 2</code><br>and 2 more" in row
    assert "5. <code>step 4</code>" in text


def test_a_comment_stays_below_the_limit_of_forges_and_says_what_is_left_out() -> None:
    many = tuple(PlannedSubject(AppKey("shop", f"a{n}"), Phase.HEALTHY, ("x" * 150,), (FROZEN,)) for n in range(1000))
    text = markdown(Planned("a" * 40, many))
    assert len(text) <= LONGEST
    assert text.count("<details>") == text.count("</details>")
    assert text.splitlines()[-1].endswith("more lines and folds are left out; `gitops-bg plan` shows all of it.")


def test_what_others_wrote_breaks_no_table_and_mentions_nobody() -> None:
    evil = "a | b @ada </details> <img src=x> `x` \n| c | #77 ![x](y)"
    app = PlannedSubject(
        WEB, Phase.HEALTHY, (evil,), (GateResult(GateKind.POLICY, False, evil),), (Problem(evil, evil),)
    )
    text = markdown(Planned("a" * 40, (app,)))
    assert text.count("</details>") == 1
    assert not [sign for sign in ("@ada", "<img", "![", "#77", "`x`") if sign in text]
    assert {line.count(" | ") for line in text.splitlines() if line.startswith("| <code>shop/web")} == {3}
