"""Approvals of one app judged together: of the forge and by a merge, by people who may be one (policies.md §4)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gitops_bg.core.checks.policy_people import standing
from gitops_bg.core.model.policy_facts import Approval
from gitops_bg.core.model.policy_rules import Proof

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=1)
MERGED = Approval("ben", "v1:new", NOON, Proof.MERGE)
REFUSED = Approval("ben", "v1:new", LATER, void="ben asks for changes", objection=True)
ACCOUNT = Approval("ben-p (gitea 7)", "v1:new", LATER, may_be=frozenset(["ben", "bea"]))
TWICE = "ben-p (gitea 7) may be ben: give ben this account in people.yaml"

TABLE: dict[str, tuple[tuple[Approval, ...], list[str]]] = {
    "nobody approved": ((), []),
    "one approves": ((MERGED,), [""]),
    "merges, then asks for changes": ((MERGED, REFUSED), ["ben asks for changes", "ben asks for changes"]),
    "asks for changes at the same moment": (
        (MERGED, replace(REFUSED, at=NOON)),
        ["ben asks for changes", "ben asks for changes"],
    ),
    "asks for changes, then merges": (
        (replace(MERGED, at=LATER), replace(REFUSED, at=NOON)),
        ["", "ben asks for changes"],
    ),
    "another one asks for changes": (
        (MERGED, replace(REFUSED, by="ana", void="ana asks for changes")),
        ["", "ana asks for changes"],
    ),
    "what was void keeps its reason": ((replace(MERGED, void="x"), REFUSED), ["x", "ben asks for changes"]),
    "withdraws a review, and merged": (
        (MERGED, replace(REFUSED, void="withdrawn", objection=False)),
        ["", "withdrawn"],
    ),
    "asks for changes under an account that may be theirs": (
        (MERGED, replace(ACCOUNT, void="x asks", objection=True)),
        ["ben-p (gitea 7) asks for changes", "x asks"],
    ),
    "merges and reviews, as it may be": ((MERGED, ACCOUNT), ["", TWICE]),
    "in another order": ((ACCOUNT, MERGED), [TWICE, ""]),
    "merged other content": ((replace(MERGED, digest="v1:old"), ACCOUNT), ["", ""]),
    "the account may be of nobody who approved": ((replace(MERGED, by="cy"), ACCOUNT), ["", ""]),
    "merged, and took that back": ((replace(MERGED, void="taken back"), ACCOUNT), ["taken back", ""]),
    "and was void before": ((MERGED, replace(ACCOUNT, void="gone")), ["", "gone"]),
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
