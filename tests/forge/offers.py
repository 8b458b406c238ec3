"""Hand-made offers and pull requests for the tables of this room."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.journal import PullState
from gitops_bg.core.model.version import AppKey, Source
from gitops_bg.forge.offer import Offer, PullSettings, Side
from gitops_bg.forge.port import ForgeLimits, Pull, PullRequestDraft, User
from gitops_bg.forge.wanted import Wanted, wanted

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LIMITS = ForgeLimits(body=65_536, description=140)
NO_SETTINGS = PullSettings()
APPROVAL = GateResult(GateKind.APPROVAL, False, "waiting for the promotion branch to be merged")
AVAILABLE = GateResult(GateKind.AVAILABILITY, True, "v8 is available")
BOT = User("1", "gitops-bg")


def template(image: str, **more: Any) -> str:
    return json.dumps({"spec": {"containers": [{"name": "web", "image": image, **more}]}}, sort_keys=True)


def side(number: int, image: str = "", **changes: Any) -> Side:
    source = Source(f"{number:040x}", "Ada <ada@example.com>", NOW, f"web {number}")
    return replace(Side(number, f"v1:{number:064x}", source, template(image or f"web:1.{number}.0")), **changes)


def offer(number: int = 5, app: str = "web", **changes: Any) -> Offer:
    key = AppKey("shop", app)
    made = Offer(
        app=key,
        cluster="prod-eu",
        id=f"v1:{number:064x}@{number:040x}#0",
        branch=f"gitops-bg/promote/{key}",
        base="main",
        head=f"{number:040x}",
        since=NOW,
        to=side(number),
        before=side(number - 1),
        gates=(AVAILABLE, APPROVAL),
    )
    return replace(made, **changes)


def want(made: Offer | None = None, settings: PullSettings = NO_SETTINGS, limits: ForgeLimits = LIMITS) -> Wanted:
    return wanted(made or offer(), settings, limits)


def pull_of(draft: PullRequestDraft, number: int = 7, **changes: Any) -> Pull:
    """The pull request that a forge has made of a draft."""
    made = Pull(
        number=number,
        branch=draft.branch,
        head="f" * 40,
        base=draft.base,
        state=PullState.OPEN,
        title=draft.title,
        body=draft.body,
        url=f"https://forge.example.com/pulls/{number}",
        author=BOT,
        updated_at=NOW,
        labels=draft.labels,
        reviewers=draft.reviewers,
        assignees=draft.assignees,
    )
    return replace(made, **changes)
