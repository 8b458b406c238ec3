"""Verbs that read: what they show is true, in both formats."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_bg import __version__
from tests.integration.cli.conftest import Cli, with_candidate
from tests.support.cluster.clusters import SandboxCluster
from tests.support.imports import HEAVY, OF_OTHERS, imported_by
from tests.support.manifests import deployment
from tests.support.scenario import STATE_BRANCH, App, Scenario, scenario


@pytest.fixture(scope="module")
def world(sandbox_cluster: SandboxCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scenario]:
    """One world for all tests here: they look, and change nothing."""
    with scenario(sandbox_cluster, tmp_path_factory.mktemp("looking")) as made:
        made.start()
        yield made


@pytest.fixture(scope="module")
def healthy(world: Scenario) -> App:
    """The app `api`, its v1 live."""
    return world.app("api").deploy("v1")


@pytest.fixture(scope="module")
def waiting(world: Scenario) -> App:
    """The app `web`: its v1 is live, and v2 waits for somebody to merge its promotion."""
    return with_candidate(world.app().deploy("v1"))


def test_get_shows_phase_version_candidate_and_what_promotion_waits_for(cli: Cli, waiting: App) -> None:
    shown = cli("get", "-n", waiting.key.namespace)
    assert "AwaitingPromotion" in shown
    assert "v2 (v2)" in " ".join(shown.split())
    assert "waits for approval" in shown
    [row] = cli.json("get", str(waiting.key))["items"]
    assert (row["version"], row["color"], row["image"]) == (1, "blue", "registry.example/web:v1")
    assert row["candidate"] == 2


def test_get_gives_scripts_what_they_ask_for(cli: Cli, healthy: App, waiting: App) -> None:
    namespace = healthy.key.namespace
    assert cli("get", "-n", namespace, "-o", "name").split() == [str(healthy.key), str(waiting.key)]
    assert cli("get", str(waiting.key), "-o", "jsonpath={.phase} {.candidateName}") == "AwaitingPromotion v2 (v2)"
    every = '{range .items[*]}{.name}={.version}{"\\n"}{end}'
    assert cli("get", "-n", namespace, "-o", f"jsonpath={every}") == "api=1\nweb=1\n"
    table = cli("get", "-n", namespace, "-o", "custom-columns=APP:.name,CANDIDATE:.candidateName")
    assert [line.split() for line in table.splitlines()] == [
        ["APP", "CANDIDATE"],
        ["api", "<none>"],
        ["web", "v2", "(v2)"],
    ]
    assert "no output format" in cli("get", "-o", "xml", code=2)
    assert "is no JSONPath" in cli("get", str(waiting.key), "-o", "jsonpath={.items[}", code=2)


def test_logs_are_of_the_candidate_or_of_the_version_that_is_named(cli: Cli, waiting: App) -> None:
    names = {line.split()[0] for line in cli("logs", str(waiting.key)).splitlines()[1:]}
    assert names
    assert all(each.startswith("web-v2-") for each in names)
    shown = cli("logs", str(waiting.key), "--version", "v1").splitlines()
    assert shown[0] == f"{waiting.key}: v1 (v1)"
    assert all(line.startswith("web-v1-") and line.endswith("the sandbox keeps no logs") for line in shown[1:])
    assert "has no version v9" in cli("logs", str(waiting.key), "--version", "v9", code=5)


def test_version_says_what_runs_here_and_in_the_cluster(cli: Cli, healthy: App) -> None:
    assert cli("version").startswith(f"client: {__version__}\n")
    agent = deployment(healthy.key.namespace, "agent", tag="0.1.0")
    healthy.scenario.cluster.create(
        f"/apis/apps/v1/namespaces/{healthy.key.namespace}/deployments",
        agent | {"metadata": agent["metadata"] | {"labels": {"app.kubernetes.io/name": "gitops-bg"}}},
    )
    assert cli.json("version", "-n", healthy.key.namespace) == {
        "client": __version__,
        "agents": [{"name": f"{healthy.key.namespace}/agent", "image": "registry.example/agent:0.1.0"}],
    }


def test_a_list_of_apps_imports_no_heavy_library(cli: Cli, healthy: App) -> None:
    assert imported_by("get", "-n", healthy.key.namespace, **cli.env) & HEAVY == set()


def test_a_tree_imports_no_library_of_expressions_that_the_app_does_not_use(cli: Cli, healthy: App) -> None:
    found = imported_by("get", str(healthy.key), **cli.env)
    assert found & {"cel", "prompt_toolkit", "jsonpath"} == set()


@pytest.mark.parametrize("verb", ["explain", "history", "plan", "diff"])
def test_a_verb_that_reads_git_imports_no_library_of_the_agent_or_of_a_forge(cli: Cli, healthy: App, verb: str) -> None:
    assert imported_by(verb, str(healthy.key), **cli.env) & OF_OTHERS == set()


@pytest.mark.parametrize("verb", ["explain", "history", "plan", "diff"])
def test_verbs_that_read_need_no_clone(
    cli: Cli, healthy: App, verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    told = cli.json(verb, str(healthy.key), "-n", healthy.key.namespace)
    cli.env["GITOPS_BG_REPO"] = ""
    assert cli.json(verb, str(healthy.key), "-n", healthy.key.namespace).keys() == told.keys()


def test_get_of_an_unknown_app_is_not_found(cli: Cli, healthy: App) -> None:
    assert "runs no app" in cli("get", f"{healthy.key.namespace}/nobody", code=5)


def test_get_watch_of_a_list_shows_every_change_as_a_line(cli: Cli, healthy: App) -> None:
    where = ("-n", healthy.key.namespace, "-w", "--timeout", "300ms")
    lines = cli("get", *where, "-o", "json").splitlines()
    assert json.loads(lines[0])["phase"] == "Healthy"
    assert json.loads(lines[0])["candidateImage"] == ""
    assert cli("get", *where).startswith(f"{healthy.key}  Healthy  v1 (v1) blue")


@pytest.mark.parametrize("verb", ["get", "tree"])
def test_one_app_is_a_tree_of_versions_pods_services_and_gates(cli: Cli, waiting: App, verb: str) -> None:
    shown = " ".join(cli(verb, str(waiting.key)).split())
    assert "Phase: ॥ AwaitingPromotion" in shown
    assert "registry.example/web:v2 (preview, green)" in shown
    assert "registry.example/web:v1 (active, blue)" in shown
    assert "desired 2 current 4 updated 2 ready 2 available 2" in shown
    assert "green Version candidate" in shown
    assert "2/2 available" in shown
    assert shown.count("Pod Running") == 4
    assert "⇄ web Service active → v1 (v1) blue, 2 ready endpoints" in shown
    assert "⇄ web-preview Service preview → v2 (v2) green" in shown
    assert "⊞ approval Gate shut" in shown
    [answer] = cli.json(verb, str(waiting.key))["items"]
    assert [(each["version"], each["live"], len(each["pods"])) for each in answer["versions"]] == [
        (1, True, 2),
        (2, False, 2),
    ]


def test_explain_shows_each_gate_its_reason_and_what_to_do(cli: Cli, waiting: App) -> None:
    shown = cli("explain", "web", "-n", waiting.key.namespace)
    assert "open  availability" in shown
    assert "(2/2 available)" in shown
    assert f"merge the branch {waiting.promotion_branch}, or: gitops-bg promote {waiting.key}" in shown
    gates = {gate["kind"]: gate for gate in cli.json("explain", str(waiting.key))["gates"]}
    assert gates["availability"]["open"] is True
    assert gates["approval"]["open"] is False
    assert gates["approval"]["advice"]


def test_explain_exits_with_1_for_an_unhealthy_app_only_when_asked(cli: Cli, waiting: App) -> None:
    cli("explain", str(waiting.key))
    cli("explain", str(waiting.key), "--exit-code", code=1)


def test_explain_of_a_healthy_app_has_nothing_to_wait_for(cli: Cli, healthy: App) -> None:
    shown = cli("explain", str(healthy.key), "--exit-code")
    assert shown.splitlines()[0] == f"{healthy.key}: Healthy"
    assert len(shown.splitlines()) == 2, "but where its traffic goes, there is nothing to say"


def test_diff_shows_paths_by_container_name_and_exits_like_diff(cli: Cli, waiting: App) -> None:
    shown = cli("diff", str(waiting.key), code=1)
    assert "spec.containers[web].image: registry.example/web:v1 → registry.example/web:v2" in shown
    answer = cli.json("diff", str(waiting.key), code=1)
    assert [each["path"] for each in answer["differences"]] == ["spec.containers[web].image"]


def test_diff_of_a_live_target_is_none(cli: Cli, healthy: App) -> None:
    assert "no difference" in cli("diff", str(healthy.key))


def test_diff_compares_any_version_with_what_is_live(cli: Cli, waiting: App) -> None:
    waiting.push_image("v3")
    waiting.wait_preview("v3")
    shown = cli("diff", str(waiting.key), "--to", "v2", code=1)
    assert "compared with v2" in shown
    assert "registry.example/web:v1 → registry.example/web:v2" in shown
    assert cli.json("diff", str(waiting.key), "--to", "1")["equal"]
    assert "has a template of version 7" in cli("diff", str(waiting.key), "--to", "v7", code=5)


def test_history_of_an_unknown_app_is_not_found(cli: Cli, healthy: App) -> None:
    assert STATE_BRANCH in cli("history", f"{healthy.key.namespace}/nobody", code=5)


@pytest.mark.parametrize("verb", ["get", "tree", "explain", "history", "diff", "plan"])
def test_no_line_is_padded_or_folded_where_nobody_sees_a_screen(cli: Cli, waiting: App, verb: str) -> None:
    cli.env["COLUMNS"] = None
    cli.env["TERM"] = "dumb"  # as CI has it
    code = 1 if verb == "diff" else 0
    lines = cli(verb, str(waiting.key), code=code).splitlines()
    assert lines
    assert lines == [line.rstrip() for line in lines]
    assert not any(line.startswith(" " * 60) for line in lines), "a cell went on in the next line"


def test_plan_of_a_local_work_tree(cli: Cli, waiting: App) -> None:
    waiting.scenario.remote.pull()
    cli.env["GITOPS_BG_REPO"] = str(waiting.scenario.remote.clone)
    assert cli.json("plan", str(waiting.key), "--cluster", "test")["commit"] == waiting.scenario.remote.head()


def test_plan_from_a_file_that_is_none_says_how_to_make_one(cli: Cli, healthy: App, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    assert "--dump-observed" in cli("plan", "--observed", str(tmp_path / "bad.json"), code=1)
    (tmp_path / "bad.json").write_text("{")
    assert "is no JSON" in cli("plan", "--observed", str(tmp_path / "bad.json"), code=1)
    assert "cannot be read" in cli("plan", "--observed", str(tmp_path / "none.json"), code=2)
