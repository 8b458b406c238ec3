"""How long an app or a group keeps a worker: until it rests, until its turn is over, or until others come first."""

from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from gitops_bg.agent.reconcile.reconciler import MOST_PASSES, Reconciler, ReconcileResult
from gitops_bg.core.model.version import AppKey, SubjectKind

WEB = AppKey("shop", "web")
WROTE, RESTS = True, False


def reconciler() -> Reconciler:
    """One of whose parts only passes are asked for, which a test makes up."""
    parts: Any = SimpleNamespace(metrics=None, ended=lambda subject, failed: None)
    return Reconciler(
        catalog=parts,
        kinds={SubjectKind.APP: parts},
        git=parts,
        timers=parts,
        recorder=parts,
        beside=parts,
        clock=lambda: datetime(2026, 1, 2, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("passes", "others_wait", "ends", "took"),
    [
        ([RESTS], False, ReconcileResult.AT_REST, 1),
        ([RESTS], True, ReconcileResult.AT_REST, 1),
        ([WROTE, WROTE, RESTS], False, ReconcileResult.AT_REST, 3),
        ([WROTE, WROTE, RESTS], True, ReconcileResult.WROTE, 1),
        ([WROTE] * 100, False, ReconcileResult.INTERRUPTED, MOST_PASSES),
    ],
)
def test_what_only_may_follow_from_a_write_waits_for_others(
    monkeypatch: pytest.MonkeyPatch, passes: list[bool], others_wait: bool, ends: ReconcileResult, took: int
) -> None:
    answers: Iterator[bool] = iter(passes)
    monkeypatch.setattr(Reconciler, "_pass", lambda *_: next(answers))
    assert reconciler().reconcile(WEB, lambda: others_wait) is ends
    assert len(list(answers)) == len(passes) - took
