"""Approvals of one app judged together: of the forge and signed, by people who may be one (policies.md §4)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gitops_bg.core.checks.policies.people import standing
from gitops_bg.core.model.policies.facts import Approval
from gitops_bg.core.model.policies.rules import Proof

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=1)
SIGNED = Approval("ben", "v1:new", NOON, Proof.SIGNED)
REFUSED = Approval("ben", "v1:new", LATER, void="ben asks for changes", objection=True)
ACCOUNT = Approval("ben-p (gitea 7)", "v1:new", LATER, may_be=frozenset(["ben", "bea"]))
TWICE = "ben-p (gitea 7) may be ben: give ben this account in people.yaml"

TABLE: dict[str, tuple[tuple[Approval, ...], list[str]]] = {
    "nobody approved": ((), []),
    "one approves": ((SIGNED,), [""]),
    "signs, then asks for changes": ((SIGNED, REFUSED), ["ben asks for changes", "ben asks for changes"]),
    "asks for changes at the same moment": (
        (SIGNED, replace(REFUSED, at=NOON)),
        ["ben asks for changes", "ben asks for changes"],
    ),
    "asks for changes, then signs": (
        (replace(SIGNED, at=LATER), replace(REFUSED, at=NOON)),
        ["", "ben asks for changes"],
    ),
    "another one asks for changes": (
        (SIGNED, replace(REFUSED, by="ana", void="ana asks for changes")),
        ["", "ana asks for changes"],
    ),
    "what was void keeps its reason": ((replace(SIGNED, void="x"), REFUSED), ["x", "ben asks for changes"]),
    "withdraws a review, and signed": (
        (SIGNED, replace(REFUSED, void="withdrawn", objection=False)),
        ["", "withdrawn"],
    ),
    "asks for changes under an account that may be theirs": (
        (SIGNED, replace(ACCOUNT, void="x asks", objection=True)),
        ["ben-p (gitea 7) asks for changes", "x asks"],
    ),
    "signs and reviews, as it may be": ((SIGNED, ACCOUNT), ["", TWICE]),
    "in another order": ((ACCOUNT, SIGNED), [TWICE, ""]),
    "signed other content": ((replace(SIGNED, digest="v1:old"), ACCOUNT), ["", ""]),
    "the account may be of nobody who approved": ((replace(SIGNED, by="cy"), ACCOUNT), ["", ""]),
    "signed, and took that back": ((replace(SIGNED, void="taken back"), ACCOUNT), ["taken back", ""]),
    "and was void before": ((SIGNED, replace(ACCOUNT, void="gone")), ["", "gone"]),
}


@pytest.mark.parametrize("name", TABLE)
def test_approvals_that_stand(name: str) -> None:
    approvals, reasons = TABLE[name]
    found = standing(approvals)
    assert found is not None
    assert [each.void for each in found] == reasons
    assert [replace(each, void="") for each in found] == [replace(each, void="") for each in approvals]


def test_unknown_stays_unknown() -> None:
    assert standing(None) is None
