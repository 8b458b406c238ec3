"""docs/features/policies.md: its examples are read as they stand, and its table has every rule."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from gitops_bg.spec.policies.cases import PromotionPolicyTest
from gitops_bg.spec.policies.load import load_people, load_policies
from gitops_bg.spec.policies.models import RuleEntry
from gitops_bg.spec.yaml.reader import read

PAGE = (Path(__file__).parents[3] / "docs" / "features" / "policies.md").read_text()
POLICY, CHAIN, PEOPLE, SIGNERS, RULES, ACCOUNTS, CASES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_examples_are_good() -> None:
    folder = load_policies({"policies/a.yaml": POLICY.encode(), "policies/people.yaml": PEOPLE.encode()})
    assert not folder.problems
    assert [each.policy.name for each in folder.written] == ["prod-calm"]
    chain = {"policies/chain.yaml": CHAIN.encode(), "policies/people.yaml": PEOPLE.encode()}
    assert not load_policies(chain).problems
    assert load_people(f"apiVersion: gitops-bg.dev/v1alpha1\nkind: People\n{SIGNERS}".encode()).people[0].signers
    head = "apiVersion: gitops-bg.dev/v1alpha1\nkind: PromotionPolicy\nmetadata: {name: eyes}\nspec:\n"
    rules = head + textwrap.indent(RULES, "  ")
    accounts = f"apiVersion: gitops-bg.dev/v1alpha1\nkind: People\n{ACCOUNTS}"
    both = {"policies/eyes.yaml": rules.encode(), "policies/people.yaml": accounts.encode()}
    assert not load_policies(both).problems
    (document,) = read("a.test.yaml", CASES.encode()).documents
    assert PromotionPolicyTest.model_validate(document.value).cases


def test_the_table_has_every_rule() -> None:
    table = "\n".join(line for line in PAGE.splitlines() if line.startswith("| `"))
    assert [name for name in RuleEntry.model_fields if f"`{name}" not in table] == []
