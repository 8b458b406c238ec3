"""What `check` reports on policies beyond each file."""

from datetime import UTC, datetime

import pytest

from gitops_bg.spec.app.check import check_repository
from tests.fixtures.repos.texts import SETTINGS, folder, policy

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def checked(settings: str = "", **policies: str) -> tuple[list[str], list[str]]:
    files = {"gitops-bg.yaml": SETTINGS + settings.encode()}
    for app in ("web", "api"):
        files |= {f"apps/shop/{app}/{name}": content for name, content in _folder(app).items()}
    files |= {f"policies/{name}.yaml": text.encode() for name, text in policies.items()}
    found = check_repository(files.items(), now=NOW)
    return [str(each) for each in found.problems], [str(each) for each in found.notes if each.file.startswith("pol")]


def _folder(app: str) -> dict[str, bytes]:
    return {path.rpartition("/")[2]: content for path, content in folder("shop", app).items()}


SOAK = "- soak: {for: 1h}"


@pytest.mark.parametrize(
    ("policies", "settings", "said"),
    [
        ({"a": policy("a", SOAK)}, "", None),
        ({"a": policy("a", SOAK)}, "require: [a]\n", None),
        (
            {"a": policy("a", SOAK)},
            "require: [a, b]\n",
            "gitops-bg.yaml:3: require[1]: there is no policy b in policies/, so nothing is promoted (known: a)",
        ),
        (
            {"a": policy("a", SOAK), "b": policy("a", SOAK)},
            "",
            "policies/b.yaml:3: metadata.name: there is a policy a in policies/a.yaml already: both count "
            "(rename one of the two)",
        ),
        (
            {"a": policy("a", "- after: {app: shop/nobody}")},
            "",
            "policies/a.yaml:6: spec.rules[0].after.app: there is no app shop/nobody, so it never opens "
            "(name one of apps/)",
        ),
        (
            {"a": policy("a", "- cel: {expression: \"apps['shop/nobody'].healthy\"}")},
            "",
            "policies/a.yaml:6: spec.rules[0].cel.expression: there is no app shop/nobody, so it has no answer "
            "(name one of apps/)",
        ),
        (
            {"a": policy("a", '- windows: {allow: [{start: "2020-01-01", end: "2020-01-02"}]}')},
            "",
            "policies/a.yaml:6: spec.rules[0].windows: never opens within a year (change its windows, or remove it)",
        ),
        (
            {"a": policy("a", "- windows: {deny: [{days: [mon, tue, wed, thu, fri, sat, sun]}]}")},
            "",
            "policies/a.yaml:6: spec.rules[0].windows: never opens within a year (change its windows, or remove it)",
        ),
        ({"a": policy("a", '- windows: {deny: [{start: "2020-01-01"}]}')}, "", None),  # a freeze, as it is meant
        (
            {
                "a": policy("a", "- after: {app: api}", more="  match: {apps: [web]}\n"),
                "b": policy("b", "- after: {app: web}", more="  match: {apps: [api]}\n"),
            },
            "",
            "policies/b.yaml:7: spec.rules[0].after: shop/api waits for shop/web waits for shop/api: none of them is "
            "ever promoted (take one of them out)",
        ),
    ],
)
def test_what_is_wrong(policies: dict[str, str], settings: str, said: str | None) -> None:
    problems, notes = checked(settings, **policies)
    assert problems == ([said] if said else [])
    assert notes == []


def test_a_policy_for_no_app_is_a_note() -> None:
    problems, notes = checked(a=policy("a", SOAK, more="  match: {namespaces: [pay]}\n"))
    assert problems == []
    assert notes == ["policies/a.yaml:5: spec.match: is for no app, so it does nothing (change spec.match)"]


ENVIRONMENTS = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: Environments
environments: [{name: dev, clusters: [d]}, {name: staging, clusters: [s]}, {name: prod, clusters: [p]}]
"""
AFTER = "- after: {from: [staging], proven: 2h}"
SAME = "- images: {sameAs: staging}"


@pytest.mark.parametrize(
    ("written", "rule", "more", "said"),
    [
        (True, AFTER, "  match: {environments: [prod]}\n", ""),
        (True, AFTER, "  match: {environments: ['pr*']}\n", ""),
        (True, SAME, "  match: {environments: [prod]}\n", ""),
        (
            True,
            SOAK,
            "  match: {environments: [prdo]}\n",
            "policies/a.yaml:5: spec.match.environments[0]: there is no environment prdo (did you mean prod?)",
        ),
        (
            True,
            "- after: {from: [stagging]}",
            "  match: {environments: [prod]}\n",
            "policies/a.yaml:7: spec.rules[0].after.from[0]: there is no environment stagging (did you mean staging?)",
        ),
        (
            True,
            AFTER,
            "",
            "policies/a.yaml:6: spec.rules[0].after.from[0]: staging does not come before dev, which the policy is "
            "for, too: nothing is ever promoted there (write match: {environments: [prod]})",
        ),
        (
            True,
            SAME,
            "  match: {environments: [staging]}\n",
            "policies/a.yaml:7: spec.rules[0].images.sameAs: staging is this environment itself, which the policy is "
            "for, too: nothing is ever promoted there (write match: {environments: [prod]})",
        ),
        (
            False,
            SOAK,
            "  match: {environments: [prod]}\n",
            "policies/a.yaml:5: spec.match.environments[0]: the repository has no environments, so nothing is known of "
            "prod (write environments.yaml, or remove it)",
        ),
        (
            False,
            AFTER,
            "",
            "policies/a.yaml:6: spec.rules[0].after.from[0]: the repository has no environments, so nothing is known "
            "of staging (write environments.yaml, or remove it)",
        ),
    ],
)
def test_what_is_wrong_with_environments(written: bool, rule: str, more: str, said: str) -> None:
    files = {"policies/a.yaml": policy("a", rule, more=more).encode(), "gitops-bg.yaml": SETTINGS}
    if written:
        files["environments.yaml"] = ENVIRONMENTS.encode()
        shared = {name: content for name, content in _folder("web").items() if name != "primary.yaml"}
        files |= {f"apps/shop/web/{name}": content for name, content in shared.items()}
        files |= {f"apps/shop/web/{each}/overlay.yaml": b"{}\n" for each in ("dev", "staging", "prod")}
    found = check_repository(files.items(), now=NOW)
    assert [str(each) for each in found.problems] == ([said] if said else [])
    assert said or not [each for each in found.notes if each.file.startswith("policies")]
