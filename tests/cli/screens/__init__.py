"""Every table of the command line, and the page of `get -w` after some keys, drawn from values at three widths; the
pictures are the text files beside this one.

`python -m tests.cli.screens` writes them anew. Look at the difference before you commit it.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from gitops_bg.cli.commands.inspect import history
from gitops_bg.cli.commands.inspect.policies import table_of as replay_table
from gitops_bg.cli.views import rows
from gitops_bg.cli.views.pager import Act, PageScreen
from gitops_bg.cli.views.subject import gate_table, page_of, picture_of
from gitops_bg.core.checks.policy_judge import Outcome, Replayed
from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.repo.ledger.ledger import Committed
from gitops_bg.repo.ledger.policy_log import PolicyChange
from gitops_bg.views.explanation import ShownGate
from gitops_bg.views.history import HistoryRow
from gitops_bg.views.rows import Row, group_row_of
from tests.cli.test_tree_view import SIGHT

FOLDER = Path(__file__).parent
WIDTHS = (80, 100, 140)
NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
CREATED = (NOW - timedelta(days=3, hours=4)).strftime("%Y-%m-%dT%H:%M:%SZ")
DIGESTS = ("v1:3f9c2ab81e" + "0" * 54, "v1:77aa01c5d9" + "0" * 54)

_WEB = Row(
    namespace="shop",
    name="web",
    phase="AwaitingPromotion",
    version=7,
    color="blue",
    image="registry.example.com/shop/web:1.2.0",
    candidate=8,
    candidate_image="registry.example.com/shop/web:1.3.0",
    promotion="3/4, waits for approval",
    message="waiting for the promotion branch to be merged",
    created=CREATED,
    pull_request="#12 https://git.example.com/shop/config/pulls/12 (open)",
    digest=DIGESTS[0],
    active_name="1.2.0 (v7)",
    candidate_name="1.3.0 (v8)",
)
_SEARCH = Row(
    "checkout-and-payments", "search-suggestions-api", "Healthy", 41, "green",
    "registry.example.com/search/suggestions@sha256:" + "9b" * 32, 0, "", "", "", CREATED, digest=DIGESTS[1],
    active_name="v41 (77aa01c5d9)",
)  # fmt: skip
_BAD = replace(
    _WEB,
    name="cart",
    phase="Degraded",
    candidate=0,
    candidate_name="",
    candidate_image="",
    promotion="",
    pull_request="",
    demands=(Condition("Diverged", True, "MainRefusesCommit", "main takes only pull requests: protected branch"),),
)
_LONG = "waits for the promotion branch gitops-bg/promote/shop/web to be merged by one of the owners of the shop"
_GATES = (
    ShownGate(GateResult("availability", True, "all pods of v8 are available"), "all pods of v8 are available (4/4)"),
    ShownGate(GateResult("pause", False, "", NOW + timedelta(minutes=7)), "autoPromotionSeconds: 600"),
    ShownGate(GateResult("approval", False, _LONG), _LONG, "git merge --no-ff origin/gitops-bg/promote/shop/web"),
)
_ENTRY = LedgerEntry(
    9, NOW, Event.PROMOTED, 4, 7, DIGESTS[0], 8, DIGESTS[1], "9be1aa02f4" + "0" * 30,
    by="Ada Lovelace <ada@example.com>", reason=
    "merged by Ada Lovelace: the new search passes all checks, and the support team has been told about it",
    from_tag="1.2.0", to_tag="1.3.0",
)  # fmt: skip
_ROLLED_BACK = replace(_ENTRY, event=Event.ROLLED_BACK, at=NOW + timedelta(hours=2), reason="errors at checkout", by="")
_POLICY = PolicyChange(at=NOW, commit="c" * 40, by="Grace Hopper <grace@example.com>", changed=("policies/night.yaml",))


def _history() -> RenderableType:
    app = AppKey("shop", "web")
    said = (Committed("c1", "e1", _ROLLED_BACK), Committed("c0", "e1", _ENTRY), _POLICY)
    return history.table_of([HistoryRow(each, app) for each in said])


def _group_history() -> RenderableType:
    failed = "post-promotion analysis failed: smoke measured 7, and no more than 5 is good"
    entry = LedgerEntry(1, NOW, Event.ROLLED_BACK, from_version=2, to_version=1, reason=failed)
    return history.table_of([HistoryRow(Committed("c0", "e1", entry), GroupKey("shop", "store"))])


def _with_groups(*, wide: bool) -> RenderableType:
    versions = [{"name": "v2", "stage": "Active", "services": ["cart"]}]
    moves = {"phase": "Promoting", "message": "requests move to v3", "active": "v2", "candidates": ["v3", "v4"]}
    bad = {"type": "PromotionRejected", "status": "True", "reason": "RecordLost", "message": "v1/ left main"}
    store, plain = (
        group_row_of({"metadata": {"namespace": "shop", "name": name, "creationTimestamp": CREATED}, "status": status})
        for name, status in (("store", {**moves, "versions": versions}), ("b", {"phase": "Held", "conditions": [bad]}))
    )
    return rows.list_of((plain, store, replace(_BAD, group="store"), replace(_WEB, group="")), NOW, wide=wide)


def _replay() -> RenderableType:
    app = AppKey("shop", "web")
    why = ("office-hours: outside of Monday to Friday, 9:00 to 17:00 in Europe/Berlin", "two-people: 1 of 2 approved")
    late = Replayed(app, NOW, "c0", Outcome.WAITED, NOW + timedelta(hours=20), reasons=why)
    return replay_table([late, Replayed(app, NOW, "c1", Outcome.ALLOWED)])


SCREENS: Mapping[str, Callable[[], RenderableType]] = {
    "apps": lambda: rows.list_of((_WEB, _BAD, _SEARCH), NOW),
    "apps-of-branches": lambda: rows.list_of((replace(_WEB, branch="main"), replace(_SEARCH, branch="staging")), NOW),
    "apps-wide": lambda: rows.list_of((_WEB, _SEARCH), NOW, wide=True),
    "tree": lambda: picture_of(SIGHT, NOW),
    "gates": lambda: gate_table(_GATES, NOW, indent=2),
    "history": _history,
    "apps-and-groups": lambda: _with_groups(wide=False),
    "apps-and-groups-wide": lambda: _with_groups(wide=True),
    "group-history": _group_history,
    "replay": _replay,
}


PAGES: Mapping[str, tuple[str, ...]] = {
    "watch": (),
    "watch-bottom": ("end",),
    "watch-unfolded": ("tab", "tab", "tab", "enter"),
    "watch-promote": ("P",),
    "watch-promoted": ("P", "y"),
    "watch-keys": ("?",),
}
"""The keys that were pressed on the page of an app, on a terminal of 24 lines."""
ROWS = 24
_PROMOTE = Act(
    "P",
    "promote",
    lambda: ("shop/web: main would name 8 (v8): its pods, and the diff of its template\n", True),
    lambda: "shop/web: main names 8 (v8): a commit of gitops-bg/promote/shop/web\n",
)


def _paged(keys: tuple[str, ...], width: int) -> str:
    """The last picture that the page has drawn; what is pressed after a question is pressed once that is there."""
    printed = io.StringIO()
    console = Console(file=printed, force_terminal=True, width=width, height=ROWS, no_color=True)
    made = page_of(_PROMOTE)
    screen = PageScreen(console, replace(made, draw=lambda seen, _now, parts: made.draw(seen, NOW, parts)), deque())
    screen.show(SIGHT)
    for key in keys:
        screen.keys.append(key)
        screen.show(SIGHT)
    lines = printed.getvalue().split("\x1b[H")[-1].split("\n")
    return "".join(f"{Text.from_ansi(line).plain.rstrip()}\n" for line in lines)


def drawn(name: str, width: int) -> str:
    """A screen as text, for a terminal of so many columns."""
    if name in PAGES:
        return _paged(PAGES[name], width)
    console = Console(file=io.StringIO(), width=width, height=100, color_system=None, highlight=False, emoji=False)
    with console.capture() as captured:
        console.print(SCREENS[name](), crop=False, overflow="ignore")
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def picture(name: str) -> str:
    """A screen at every width, as its file has it."""
    return "\n".join(f"{'=' * width}\n{drawn(name, width)}" for width in WIDTHS)


def file_of(name: str) -> Path:
    """Where the picture of a screen is kept."""
    return FOLDER / f"{name}.txt"
