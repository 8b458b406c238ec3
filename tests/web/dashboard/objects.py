"""Live objects as a cluster would have them, and what pages are made from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from gitops_bg.web.access.person import Person, Via
from gitops_bg.web.dashboard.snapshot import Listed, Snapshot, listed, snapshot_of
from gitops_bg.web.dashboard.source import MainState

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MAIN = MainState(
    commit="c" * 40, branch="main", age_seconds=3, cluster="test", ledger="gitops-bg/state/test", problems=()
)


def common() -> dict[str, Any]:
    """What every page is given."""
    return {
        "main": MAIN,
        "now": NOW,
        "here": "/",
        "address": "/?",
        "commit_url": lambda _: "https://forge.example/c",
        "person": Person("Ada", "ada@example.com", "https://id.example#7", frozenset({"devs"}), Via.OIDC),
        "token": "",
        "reading_only": "",
        "live": True,
        "fragment": False,
    }


def body(namespace: str, name: str, phase: str = "Healthy", **status: Any) -> dict[str, Any]:
    """A BlueGreenDeployment with a phase."""
    conditions = [{"type": "Ready", "status": "True", "reason": phase, "lastTransitionTime": "2026-03-01T11:00:00Z"}]
    return {
        "metadata": {"namespace": namespace, "name": name},
        "status": {"phase": phase, "conditions": conditions, **status},
    }


def many(count: int) -> Snapshot:
    """So many apps; every tenth waits for somebody who promotes it."""
    phases = ("AwaitingPromotion", *["Healthy"] * 9)
    bodies = (body(f"team-{each % 40}", f"app-{each:05}", phases[each % 10]) for each in range(count))
    return snapshot_of(1, sorted(map(listed, bodies), key=lambda each: (each.row.namespace, each.row.name)))


def line(name: str, phase: str = "Healthy", **status: Any) -> Listed:
    """The line of an app of the shop."""
    return listed(body("shop", name, phase, **status))
