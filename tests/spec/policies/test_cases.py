"""A test case of policies can say whose key signed a promotion, who merged it, and what environments before say."""

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


CHAIN = policy(
    "chain",
    "- after: {from: [staging], proven: 2h}",
    "- images: {sameAs: staging}",
    more="  match: {environments: [prod]}\n  override: {by: [group:incident]}\n",
)
TRAVELS = """apiVersion: gitops-bg.dev/v1alpha1
kind: PromotionPolicyTest
cases:
- name: the way
  now: "2026-11-20T13:00:00Z"
  environment: %s
  version: {images: [web:2]}
  %s
  expect: {chain: %s}
"""
SERVED = "served: {staging: [web:2]}"
SKIPPED = 'skipped: {by: "%s", environments: [staging], trailers: {Bg-Reason: INC-1}}'


@pytest.mark.parametrize(
    ("environment", "said", "expected"),
    [
        ("prod", f"proven: {{staging: 2h}}\n  {SERVED}", "open"),
        ("prod", "proven: {staging: 2h}\n  served: {staging: [web:1]}", "shut"),
        ("prod", f"proven: {{staging: 30m}}\n  {SERVED}\n  until: '2026-11-20T14:30:00Z'", "shut"),
        ("prod", SERVED, "shut"),
        ("prod", f"{SKIPPED % 'Grace <grace@example.com>'}\n  {SERVED}", "overridden"),
        ("prod", f"{SKIPPED % 'Bob <bob@example.com>'}\n  {SERVED}", "shut"),
        ("dev", "place: 0", "absent"),
    ],
    ids=["proven", "another image", "for less", "nowhere", "a hotfix", "by whom it may not be", "another environment"],
)
def test_a_case_says_what_the_environments_before_say(environment: str, said: str, expected: str) -> None:
    folder = load_policies({"policies/chain.yaml": CHAIN.encode(), "policies/people.yaml": PEOPLE.encode()})
    assert not folder.problems
    policies = tuple(each.policy for each in folder.written)
    case = TRAVELS % (environment, said, expected)
    results, problems = run_cases("policies/chain.test.yaml", case.encode(), policies)
    assert (problems, [each.wrong for each in results]) == ([], [()])
