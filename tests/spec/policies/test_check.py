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
