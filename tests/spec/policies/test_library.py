"""The library of ready policies: each is good, has cases, and they are as expected; and a case can fail."""

from pathlib import Path

import pytest

from gitops_bg.core.model.policy_rules import Policy
from gitops_bg.spec.policies.cases import run_cases
from gitops_bg.spec.policies.load import is_policy_file, load_policies

LIBRARY = Path(__file__).parents[3] / "policies"
FILES = {f"policies/{path.name}": path.read_bytes() for path in LIBRARY.glob("*.yaml")}
POLICIES = sorted(filter(is_policy_file, FILES))


def policies() -> tuple[Policy, ...]:
    folder = load_policies(FILES)
    assert not folder.problems
    return tuple(each.policy for each in folder.written)


@pytest.mark.parametrize("path", POLICIES)
def test_each_has_cases_of_both_kinds_and_all_are_as_expected(path: str) -> None:
    file = path.replace(".yaml", ".test.yaml")
    results, problems = run_cases(file, FILES[file], policies())
    assert not problems
    assert [each for each in results if each.wrong] == []
    name = path.removeprefix("policies/").removesuffix(".yaml")
    text = FILES[file].decode()
    assert f"{name}: open" in text
    assert f"{name}: shut" in text


def test_the_readme_names_each() -> None:
    readme = (LIBRARY / "README.md").read_text()
    assert all(f"]({path.removeprefix('policies/')})" in readme for path in POLICIES)


CASES = b"""apiVersion: gitops-bg.dev/v1alpha1
kind: PromotionPolicyTest
cases:
- name: Saturday
  now: "2026-11-21T12:00:00Z"
  expect: {freeze: open, nobody: shut}
  until: "2026-11-22T00:00:00Z"
"""


def test_a_case_that_is_not_as_expected_says_why() -> None:
    (result,), problems = run_cases("policies/x.test.yaml", CASES, policies())
    assert not problems
    assert (result.line, result.name) == (4, "Saturday")
    assert result.wrong[0] == (
        "freeze: expected open, found shut (weekend: shut until Mon 2026-11-23 00:00 Europe/Berlin)"
    )
    assert result.wrong[1].startswith("there is no policy nobody; known: calm-after-rollback")
    assert result.wrong[2] == "until: expected 2026-11-22T00:00:00Z, found 2026-11-22T23:00:00Z"


def test_a_broken_case_is_a_problem_with_its_line() -> None:
    results, problems = run_cases("policies/x.test.yaml", CASES.replace(b"open", b"yes, please"), policies())
    assert not results
    assert "policies/x.test.yaml:6: cases[0].expect" in str(problems[0])
