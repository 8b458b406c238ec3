"""Every view shows what a condition means: where traffic goes, who must do what, the command; in 80 columns."""

from __future__ import annotations

import pytest
from rich.console import Console, RenderableType

from gitops_bg.cli.views.rows import drawn, drawn_together
from gitops_bg.core.model.conditions import Condition, Meanings
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.core.status.conditions import MEANINGS
from gitops_bg.core.status.groups import GROUP_MEANINGS
from gitops_bg.views.conditions import Advised, asked_of_people, json_of_condition
from tests.integration.cli.conftest import Cli
from tests.support.scenario import App

WEB = AppKey("shop", "web")
DIVERGED = Condition("Diverged", True, "MainRefusesCommit", "live traffic was rolled back before Git: " + "5xx " * 20)
AWAY = Condition("GitReachable", False, "Unreachable", "no route to host")


def in_80_columns(*renderables: RenderableType) -> list[str]:
    console = Console(width=80, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(*renderables)
    return captured.get().splitlines()


def test_a_condition_is_drawn_with_its_meaning_in_80_columns() -> None:
    lines = in_80_columns(drawn(DIVERGED, Advised(WEB)))
    assert lines[0].startswith("Diverged=True: live traffic was rolled back before Git: 5xx")
    assert "  traffic  goes where the rollback sent it; primary.yaml does not say so" in "\n".join(lines)
    assert any("who promotes this app: merge the promotion branch" in line for line in lines)
    assert lines[-1].split() == ["by", "git", "merge", "--no-ff", "origin/gitops-bg/promote/shop/web"]


def test_advice_names_the_promotion_branch_of_the_environment() -> None:
    in_prod, command = Advised(WEB, "prod"), "git merge --no-ff origin/gitops-bg/promote-in/prod/shop/web"
    assert command in " ".join(" ".join(in_80_columns(drawn(DIVERGED, in_prod))).split())
    assert json_of_condition(DIVERGED, in_prod)["command"] == command
    assert [each.command for each in asked_of_people("Degraded", [DIVERGED], in_prod)] == [command]


@pytest.mark.parametrize(("subject", "table"), [(WEB, MEANINGS), (GroupKey("shop", "store"), GROUP_MEANINGS)])
def test_no_meaning_is_wider_than_80_columns(subject: AppKey | GroupKey, table: Meanings) -> None:
    for kind, reason in table:
        lines = in_80_columns(drawn(Condition(kind, True, reason or "Other", "why"), Advised(subject)))
        assert max(map(len, lines)) <= 80, (kind, reason)
        assert len(lines) <= 6, (kind, reason)


def test_many_apps_with_the_same_trouble_are_one_paragraph() -> None:
    apps = [AppKey("shop", name) for name in ("api", "cart", "search", "web", "mail")]
    lines = in_80_columns(*drawn_together((Advised(app), (AWAY,)) for app in apps))
    assert lines[0].startswith("shop/api, shop/cart, shop/search and 2 more: GitReachable=False: no route")
    assert sum("traffic" in line for line in lines) == 1


def test_apps_with_different_reasons_keep_them_and_each_its_command() -> None:
    refused = [Condition("OnHold", True, "Hold", reason) for reason in ("rolled back: 5xx", "aborted: slow")]
    lines = in_80_columns(
        *drawn_together((Advised(AppKey("shop", name)), (one,)) for name, one in zip("ab", refused, strict=True))
    )
    assert lines[:2] == ["shop/a: OnHold=True: rolled back: 5xx", "shop/b: OnHold=True: aborted: slow"]
    assert sum("traffic" in line for line in lines) == 1
    assert [line.split()[-1] for line in lines[-2:]] == ["shop/a", "shop/b"]


def test_what_was_just_said_is_not_said_again() -> None:
    assert in_80_columns(drawn(AWAY, Advised(WEB), told=AWAY.message))[0] == "GitReachable=False"


def test_programs_get_the_meaning_beside_the_condition() -> None:
    said = json_of_condition(AWAY, Advised(WEB))
    assert (said["type"], said["reason"], said["who"]) == ("GitReachable", "Unreachable", "who runs the Git remote")
    assert said["command"] == "gitops-bg rollback shop/web --offline"
    assert "traffic" not in json_of_condition(Condition("Available", True, "Serving", ""), Advised(WEB))


def test_explain_get_and_status_say_it(cli: Cli, web: App) -> None:
    cli("suspend", str(web.key), "-r", "incident 4711")
    web.scenario.wake()
    web.wait_phase("Suspended")
    for verb in (("explain",), ("get",), ("get", "-n"), ("status", "--until-asked")):
        name = web.key.namespace if verb[-1] == "-n" else str(web.key)
        shown = cli(*verb, name, code=6 if verb[0] == "status" else 0)
        assert "Grace Hopper <grace@example.com>: incident 4711" in shown
        assert "Suspended=True" in shown
        assert "traffic  stays with the live version" in shown
        assert f"gitops-bg resume {web.key}" in shown
