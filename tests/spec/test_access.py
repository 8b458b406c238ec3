"""Who has which role where: everybody sees until a rule says who does, and nobody acts until one says so."""

from __future__ import annotations

import pytest

from gitops_bg.spec.access import AccessRule, Role, has_role
from gitops_bg.spec.app.settings import read_settings

DEVS_OF_SHOP = AccessRule(Role.OPERATOR, ("devs",), ("shop", "pay-*"))
LEADS = AccessRule(Role.APPROVER, ("leads",))
ROOT = AccessRule(Role.ADMIN, ("sre", "boss"))
RULES = (DEVS_OF_SHOP, LEADS, ROOT)


@pytest.mark.parametrize(
    ("groups", "namespace", "roles"),
    [
        ((), "shop", {Role.VIEWER}),
        (("devs",), "shop", {Role.VIEWER, Role.OPERATOR}),
        (("devs",), "pay-eu", {Role.VIEWER, Role.OPERATOR}),
        (("devs",), "shopping", {Role.VIEWER}),
        (("devs",), "pay", {Role.VIEWER}),
        (("leads",), "pay", {Role.VIEWER, Role.APPROVER}),
        (("devs", "leads"), "shop", {Role.VIEWER, Role.OPERATOR, Role.APPROVER}),
        (("boss",), "anywhere", set(Role)),
        (("Devs",), "shop", {Role.VIEWER}),
    ],
)
def test_roles_come_from_groups_and_namespaces(groups: tuple[str, ...], namespace: str, roles: set[Role]) -> None:
    assert {role for role in Role if has_role(RULES, groups, role, namespace)} == roles


def test_without_rules_everybody_sees_and_nobody_acts() -> None:
    assert [role for role in Role if has_role((), ("admin",), role, "shop")] == [Role.VIEWER]


def test_once_a_rule_names_viewers_nobody_else_sees_but_who_acts() -> None:
    rules = (*RULES, AccessRule(Role.VIEWER, ("staff",), ("shop",)))
    sees = {group: has_role(rules, [group], Role.VIEWER, "shop") for group in ("staff", "devs", "boss", "guests")}
    assert sees == {"staff": True, "devs": True, "boss": True, "guests": False}
    assert not has_role(rules, ["staff"], Role.VIEWER, "pay")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{role: operater, groups: [devs]}", "gitops-bg.yaml:4: access[0].role: 'operater' is not allowed"),
        ("{role: operator, groups: []}", "gitops-bg.yaml:4: access[0].groups: must not be empty"),
        ("{role: operator}", "gitops-bg.yaml:4: access[0].groups: is required"),
        ("{role: operator, groups: ['']}", "gitops-bg.yaml:4: access[0].groups[0]: must not be empty"),
        ("{role: operator, groups: [devs], namespaces: ['[a']}", "gitops-bg.yaml:4: access[0].namespaces[0]"),
        ("{role: operator, groups: devs}", "gitops-bg.yaml:4: access[0].groups"),
        ("{role: operator, groups: [devs], users: [ada]}", "gitops-bg.yaml:4: access[0].users: there is no such"),
    ],
)
def test_a_wrong_rule_is_told_with_its_place(written: str, said: str) -> None:
    data = f"apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\naccess:\n  - {written}\n".encode()
    settings, (problem,) = read_settings(data)
    assert settings is None
    assert str(problem).startswith(said)
