"""The pull request that docs/features/pull-requests.md shows is the one that the agent writes."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime
from pathlib import Path

from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.version import Source
from gitops_bg.forge.offer import Side
from tests.forge.offers import offer, template, want

PAGE = Path(__file__).parents[2] / "docs" / "features" / "pull-requests.md"
WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def side(number: int, digest: str, commit: str, author: str, tag: str) -> Side:
    source = Source(commit + "0" * 30, author, WHEN, f"web {tag}")
    return Side(number, f"v1:{digest}{'0' * 54}", source, template(f"registry.example.com/web:{tag}"))


SHOWN = offer(
    cluster="prod",
    before=side(7, "3f9c11d2aa", "9be1d20c55", "Ada <ada@example.com>", "1.4.0"),
    to=side(8, "4f0c2a91be", "77aa01f3c2", "Bob <bob@example.com>", "1.5.0"),
    gates=(
        GateResult(GateKind.AVAILABILITY, True, "its pods are available"),
        GateResult(GateKind.PAUSE, True, "no pause asked for"),
        GateResult(GateKind.APPROVAL, False, "waiting for the promotion branch to be merged"),
    ),
    configuration=("ConfigMap settings (color changed)",),
)


def lines_of(text: str) -> list[str]:
    """As a reader sees them: without markup and alignment, and without the lines that only draw."""
    plain = html.unescape(re.sub(r"<!--.*?-->|</?[a-z]+>", "", text)).replace("**", "")
    lines = (re.sub(r"\s+", " ", line.replace("|", " | ")).strip() for line in plain.split("\n"))
    return [line for line in lines if line.strip("|-` ▸")]


def test_the_page_shows_what_the_agent_writes() -> None:
    draft = want(SHOWN).draft
    shown = [line[4:] for line in PAGE.read_text().split("\n") if line.startswith("    ")]
    start = shown.index(draft.title)
    first, *_ = lines_of(draft.body)
    example = lines_of("\n".join(shown[start + 1 :]))
    example = example[example.index(first) :]
    example = example[: example.index("ConfigMap settings (color changed)") + 1]
    written = [line.removeprefix("▸ ") for line in lines_of(draft.body)]
    assert [line.removeprefix("▸ ") for line in example] == written[: len(example)]
    assert len(example) > 12
