"""A test case of policies can say whose key signed a promotion, and who merged it."""

from __future__ import annotations

import pytest

from gitops_bg.spec.policies.cases import run_cases
from gitops_bg.spec.policies.load import load_policies
from tests.fixtures.repos.texts import policy
from tests.support.signers import PEOPLE

STOP = policy(
    "stop", '- windows: {deny: [{start: "2020-01-01"}]}', more="  override: {by: [group:incident], proof: signed}\n"
)
CASE = """apiVersion: gitops-bg.dev/v1alpha1
kind: PromotionPolicyTest
cases:
- name: the glass
  now: "2026-11-20T13:00:00Z"
  promotion: {by: "Grace <grace@example.com>", trailers: {Bg-Override: stop, Bg-Reason: INC-1}%s}
  expect: {stop: %s}
"""


@pytest.mark.parametrize(
    ("signed", "expected"), [(", signedBy: grace", "overridden"), (", signedBy: bob", "shut"), ("", "shut")]
)
def test_a_case_says_who_signed_a_promotion(signed: str, expected: str) -> None:
    folder = load_policies({"policies/stop.yaml": STOP.encode(), "policies/people.yaml": PEOPLE.encode()})
    assert not folder.problems
    policies = tuple(each.policy for each in folder.written)
    results, problems = run_cases("policies/stop.test.yaml", (CASE % (signed, expected)).encode(), policies)
    assert (problems, [each.wrong for each in results]) == ([], [()])


LEADS_MERGE = policy("leads", "- approvals: {by: [group:incident], proof: merge}")
MERGE = """apiVersion: gitops-bg.dev/v1alpha1
kind: PromotionPolicyTest
cases:
- name: the button
  now: "2026-11-20T13:00:00Z"
  authors: [ada]
  promotion: {by: "Grace <grace@example.com>"}
  approvals: [%s]
  expect: {leads: %s}
"""


@pytest.mark.parametrize(
    ("merge", "expected"),
    [
        ("{by: grace, groups: [incident], proof: merge}", "open"),
        ("{by: grace, groups: [incident]}", "open"),
        ("{by: bob, proof: merge}", "shut"),
        ("{by: ada, groups: [incident], proof: merge}", "shut"),
    ],
)
def test_a_case_says_who_merged_where_that_approves(merge: str, expected: str) -> None:
    folder = load_policies({"policies/leads.yaml": LEADS_MERGE.encode(), "policies/people.yaml": PEOPLE.encode()})
    assert not folder.problems
    policies = tuple(each.policy for each in folder.written)
    results, problems = run_cases("policies/leads.test.yaml", (MERGE % (merge, expected)).encode(), policies)
    assert (problems, [each.wrong for each in results]) == ([], [()])
