"""A test case of policies can say whose key signed a promotion."""

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
