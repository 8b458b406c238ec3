"""With `-o json` every verb prints what `gitops-bg schema --of VERB` says. A verb without a schema fails here.

`Cli` holds each object that any test has printed to its schema; here each verb prints one at least.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from jsonschema import Draft202012Validator

from gitops_bg.cli.commands import install as command
from gitops_bg.cli.lazy_commands import LazyCommand
from gitops_bg.cli.main import app as command_line
from gitops_bg.cli.printed import ERROR, NOTE, PRINTED, printed_schema
from tests.integration.cli.conftest import Cli
from tests.support import manifests, printed
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.git.remote import GitRemote
from tests.support.groups import Store
from tests.support.scenario import App, Scenario
from tests.support.waiting import eventually

ROOT = Path(__file__).parents[3]

FILES = {"init", "import", "check", "schema", "policies test"}
OPENED = {"open"}
"""tests/integration/cli/inspect/test_open.py."""
APPS = {
    "fleet",
    "version",
    "logs",
    "get",
    "tree",
    "status",
    "explain",
    "plan",
    "diff",
    "history",
    "reconcile",
    "gate status",
    "policies replay",
}
CHANGES = {"set-image", "promote", "rollback", "undo", "abort", "retry", "restart", "resume", "suspend"}
MORE_CHANGES = {"pause", "freeze", "unfreeze", "accept-history", "gate open", "gate close"}
GROUPS = {
    f"group {verb}"
    for verb in ["get", "tree", "explain", "plan", "diff", "history", "promote", "rollback", "delete", "new"]
}
ASKED_OF_GROUPS = {
    f"group {verb}" for verb in ["abort", "retry", "suspend", "resume", "open-gate", "close-gate", "gates"]
}
"""tests/integration/cli/operate/test_group_holds.py, and of gates as the plain verbs."""
ENVIRONMENTS = {"environments", "where", "hold", "enter"}
"""tests/integration/agent/environments/test_three_environments.py."""
INSTALLATION = {"install", "uninstall"}
RENDERED = {"render"}
"""Of real helm and kustomize: tests/integration/cli/onboarding/test_render.py."""
ADOPTION = {"adopt", "release"}
MOVED = {"move"}
"""tests/integration/cli/operate/test_move.py."""


def verbs_with_json(command: Any, name: str = "") -> Iterator[str]:
    """The verbs with ``-o json``, as users write them."""
    if hasattr(command, "list_commands"):
        context = typer.Context(command)
        for each in command.list_commands(context):
            yield from verbs_with_json(command.get_command(context, each), f"{name} {each}".strip())
        return
    loaded = command.loaded() if isinstance(command, LazyCommand) else command
    if any("--output" in each.opts for each in loaded.params):
        yield name


def test_every_verb_that_prints_json_has_a_schema_and_a_test_here() -> None:
    verbs = set(verbs_with_json(typer.main.get_command(command_line)))
    assert set(PRINTED) - {ERROR, NOTE} == verbs
    decided = CHANGES | MORE_CHANGES | ASKED_OF_GROUPS
    assert verbs == FILES | OPENED | APPS | decided | GROUPS | INSTALLATION | RENDERED | ADOPTION | MOVED | ENVIRONMENTS


@pytest.mark.parametrize("verb", PRINTED)
def test_every_schema_is_one_and_closed(verb: str) -> None:
    schema = printed_schema(verb)
    Draft202012Validator.check_schema(schema)
    if verb != "schema":  # Any JSON Schema is one.
        assert printed.mistakes(verb, {"unheard-of": 1})


def test_a_verb_without_a_schema_and_a_key_that_is_not_documented_are_found() -> None:
    with pytest.raises(AssertionError, match="dance has no schema"):
        printed.demand_documented(["dance", "-o", "json"], "{}", "")
    with pytest.raises(AssertionError, match="'fast' was unexpected"):
        printed.demand_documented(["reconcile", "-o", "json"], '{"app": "a/b", "requestedAt": "x", "fast": 1}', "")
    with pytest.raises(AssertionError, match="'exitCode' is a required property"):
        printed.demand_documented(["get", "-o", "json"], "", '{"error": {"reason": "", "message": "", "problems": []}}')


def test_files(tmp_path: Path) -> None:
    cli = Cli(GitRemote(tmp_path / "git"), tmp_path / "none", tmp_path)
    cli.json("init", str(tmp_path / "config"))
    rollout = ROOT / "tests/fixtures/peers/examples/rollout-by-hand.yaml"
    cli.json("import", str(rollout), "--into", str(tmp_path / "config"), "--namespace", "demo")
    cli.json("check", str(tmp_path / "config"))
    cli.json("check", str(tmp_path / "git"), code=1)
    cli.json("schema", "--dir", str(tmp_path / "schemas"))
    for verb in ("tree", "group plan", "error"):
        assert cli.json("schema", "--of", verb) == json.loads(json.dumps(printed_schema(verb)))
    assert "did you mean group plan?" in cli("schema", "--of", "group plans", code=5)
    assert "give one of them" in cli("schema", "Primary", "--of", "tree", code=2)
    cli.json("policies", "test", str(ROOT / "policies"))
    cli.run("policies", "test", str(tmp_path / "none"), "-o", "json", code=5)
    assert cli.printed == FILES


def test_apps_that_are_looked_at(cli: Cli, web: App) -> None:
    key = str(web.key)
    cli.json("get")
    cli.json("status", key)
    cli.json("diff", key)
    cli.json("freeze", "-r", "INC-4711")
    web.strategy |= {"webhooks": [{"name": "release", "type": "confirm-promotion"}]}
    web.configure()
    web.push_image("v2")
    web.wait_condition("HooksPassed", "False")
    web.wait_told()
    cli.run("get", "-w", "--timeout", "1s", "-o", "json")
    cli.run("get", key, "-w", "--timeout", "1s", "-o", "json")
    for verb in ("get", "tree", "explain", "plan", "history", "logs", "reconcile"):
        cli.json(verb, key)
    cli.json("fleet")
    cli.json("version")
    cli.json("gate", "status", key)
    cli.json("history", "--overrides")
    cli.json("diff", key, code=1)
    cli.json("diff", key, "--to", "v2", code=1)
    cli.json("plan", key, "--worktree", str(web.scenario.remote.clone))
    cli.json("policies", "replay")
    assert cli.printed == APPS | {"freeze"}


def test_apps_that_are_changed(cli: Cli, web: App, tmp_path: Path) -> None:
    key, remote, wake = str(web.key), web.scenario.remote, web.scenario.wake
    for words in (("suspend", key), ("resume", key), ("pause", key), ("resume", key), ("restart", key)):
        cli.json(*words)
    cli.json("freeze", "-r", "INC-4711")
    cli.json("unfreeze")
    cli.json("set-image", key, "web=registry.example/web:v1")
    web.strategy |= {"webhooks": [{"name": "release", "type": "confirm-promotion"}]}
    web.configure()
    cli.json("set-image", key, "web=registry.example/web:v2")
    wake()
    web.wait_condition("HooksPassed", "False")
    cli.json("gate", "open", key)
    cli.json("gate", "open", key)
    cli.json("gate", "close", key)
    cli.json("abort", key, "-r", "errors on the preview")
    cli.run("abort", key, "-r", "again", "-o", "json", code=1)
    cli.json("retry", key)
    cli.json("gate", "open", key)
    wake()
    web.wait_offered("v2")
    cli.json("promote", key)
    web.wait_live("v2")
    web.wait_told("promoted")
    cli.json("rollback", key)
    web.wait_live("v1")
    cli.json("rollback", key, "--offline", "--to", "v1")
    cli.json("undo", key, "--to", "v1")
    web.scenario.wait_idle()
    web.scenario.pull()
    remote.run("commit", "--quiet", "--amend", "-m", "with other words")
    remote.force_push()
    wake()
    web.wait(lambda: web.condition("HistoryRewritten")["status"] == "True", "the condition says so")
    cli.json("accept-history", "-m", "a typo")
    assert cli.printed == CHANGES | MORE_CHANGES


def test_a_live_app_there_and_back(cli: Cli, world: Scenario, tmp_path: Path) -> None:
    world.cluster.apply(manifests.deployment(world.namespace, tag="v1"))
    world.cluster.apply(manifests.service(world.namespace, app="web"))
    eventually(lambda: len(world.cluster.ready_addresses(world.namespace, "web")) == 2, what="it serves")
    tree = tmp_path / "tree"
    (tree / "apps").mkdir(parents=True)
    (tree / "gitops-bg.yaml").write_text("apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n")
    key = f"{world.namespace}/web"
    said: dict[str, Any] = {}

    def adopted() -> bool:
        """The status of the Deployment follows its pods a moment later."""
        said.update(cli.json("adopt", key, "--checkout", str(tree), "--dry-run"))
        return True

    eventually(adopted, what="it may be adopted")
    world.start()
    web = world.app()
    world.publish("Adopt web", said["files"])
    web.wait(lambda: web.condition("Adopting")["reason"] == "Adopted", "it is adopted")
    cli.json("release", key)
    cli.json("release", key)
    assert cli.printed == ADOPTION


def test_groups(cli: Cli, world: Scenario, tmp_path: Path) -> None:
    store = Store(world)
    store.begin()
    world.wait_idle()
    name = f"{world.namespace}/store"
    for verb in ("get", "tree", "explain", "plan", "diff"):
        cli.json("group", verb, name)
    cli.json("group", "get")
    cli.run("group", "get", name, "-w", "--timeout", "1s", "-o", "json")
    cli.json("group", "plan", name, "v2")
    cli.json("group", "promote", name, "v2")
    cli.json("group", "explain", name)
    cli.json("group", "diff", name, code=1)
    world.wake()
    store.wait("v1L v2A")
    store.wait_for_ledger("promoted")
    cli.json("group", "history", name)
    cli.json("group", "rollback", name, "v1")
    world.wake()
    store.wait("v1A v2C")
    cli.json("group", "delete", name, "v2")
    world.pull()
    cli.json("group", "new", name, "v3", "--checkout", str(world.remote.clone))
    cli.run("group", "promote", name, "v9", "-o", "json", code=5)
    assert cli.printed == GROUPS


@pytest.mark.control_plane
def test_the_installation(
    control_plane_cluster: ControlPlaneCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(command, "_PAUSE", 0.05)
    cli = Cli(GitRemote(tmp_path / "git"), control_plane_cluster.kubeconfig, tmp_path)
    del cli.env["GITOPS_BG_REPO"]
    try:
        cli.json("install", "--export")
        cli.json(
            "install",
            "--repo",
            "https://git.example.com/shop/config.git",
            "--cluster",
            "prod",
            "--timeout",
            "0s",
            "--watch-all-namespaces",
        )
    finally:
        cli.json("uninstall")
    assert cli.printed == INSTALLATION
