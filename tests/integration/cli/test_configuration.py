"""ConfigMaps and Secrets of a version on the command line: what people read of them, how `undo` brings them back.

Values of Secrets are in no output; what people read of a Secret is its name and its keys.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from gitops_bg.core import names
from gitops_bg.core.model.digest import short
from tests.integration.cli.conftest import Cli
from tests.support.cluster.paths import config_maps, pods
from tests.support.configuration import copies
from tests.support.scenario import App, Scenario

HUSH, LOUD = "hush-hush", "loud-and-clear"
CONFIG = """\
# What web is told.
apiVersion: v1
kind: ConfigMap
metadata: {{name: web-settings}}
data:
  url: {url}  # where it asks
  nginx.conf: |
    listen 80;
    workers {workers};
    root /srv;
"""
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {{name: db}}
stringData: {{password: {password}}}
"""
USES = {
    "envFrom": [{"configMapRef": {"name": "web-settings"}}],
    "env": [{"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}],
}


def config(url: str = "one", workers: int = 1) -> str:
    return CONFIG.format(url=url, workers=workers)


def secret(password: str = HUSH) -> str:
    return SECRET.format(password=password)


def push(app: App, message: str, **files: str | None) -> str:
    """Push files of the app's folder by their stems; None deletes one."""
    paths = {f"{app.folder}/{stem}.yaml": text for stem, text in files.items()}
    return app.scenario.publish(message, paths)


def now(app: App, stem: str) -> str | None:
    return app.scenario.remote.show("main", f"{app.folder}/{stem}.yaml")


@pytest.fixture
def web(world: Scenario) -> App:
    """The app `web` with its configuration, its v1 live; the agent runs."""
    world.start()
    return deployed(world)


def deployed(world: Scenario) -> App:
    """A new app with its configuration, its v1 live."""
    app = world.app()
    app.container = USES
    folder = app.folder
    world.publish("Settings", {f"{folder}/settings.yaml": config(), f"{folder}/db.yaml": secret()})
    app.add("v1")
    wait_live(app, 1)
    return app


def wait_live(app: App, number: int) -> None:
    """Traffic goes to a version, which Git and the ledger know."""
    app.wait(lambda: app.status.get("active", {}).get("version") == number, f"v{number} is live")
    app.wait(lambda: app.primary_digest() == app.status["active"]["digest"], "primary.yaml names it")
    app.wait_told()


def wait_offered(app: App, number: int) -> None:
    """A version waits to be promoted."""
    app.wait(lambda: app.status.get("candidate", {}).get("version") == number, f"v{number} is the candidate")
    app.wait(lambda: app.offered() and app.phase() == "AwaitingPromotion", "it waits for somebody to promote it")


@pytest.fixture
def waiting(web: App) -> App:
    """v2 has other settings and another password, and waits to be promoted."""
    push(web, "other settings", settings=config("two", 4), db=secret(LOUD))
    wait_offered(web, 2)
    return web


def assert_no_secret(text: str) -> None:
    for value in (HUSH, LOUD):
        for form in (value, base64.b64encode(value.encode()).decode().rstrip("=")):
            assert form not in text


CHANGES = ["ConfigMap web-settings (nginx.conf, url changed)", "Secret db (password changed)"]


def test_diff_shows_values_of_config_maps_and_only_that_a_secret_changes(cli: Cli, waiting: App) -> None:
    shown = cli("diff", str(waiting.key), code=1)
    assert "ConfigMap/web-settings.url: one → two" in shown
    assert '  ConfigMap/web-settings["nginx.conf"]:\n' in shown
    assert "    - workers 1;\n    + workers 4;\n" in shown
    assert "Secret/db.password: *** (#1) → *** (#2)" in shown
    assert_no_secret(shown)
    answer = cli.json("diff", str(waiting.key), code=1)
    assert_no_secret(json.dumps(answer))
    assert [each["path"] for each in answer["differences"]] == [
        'ConfigMap/web-settings["nginx.conf"]',
        "ConfigMap/web-settings.url",
        "Secret/db.password",
    ]


def test_diff_of_a_live_target_is_none(cli: Cli, web: App) -> None:
    assert "no difference" in cli("diff", str(web.key))


def test_explain_and_get_name_what_comes_with_the_next_version(cli: Cli, waiting: App) -> None:
    shown = cli("explain", str(waiting.key))
    for change in CHANGES:
        assert f"it changes: {change}" in shown
    answer = cli.json("explain", str(waiting.key))
    assert [(each["name"], each["changed"]) for each in answer["configuration"]] == [
        ("web-settings", ["nginx.conf", "url"]),
        ("db", ["password"]),
    ]
    tree = cli("get", str(waiting.key))
    assert ", ".join(CHANGES) in tree
    [app] = cli.json("get", str(waiting.key))["apps"]
    assert [ref["name"] for ref in app["versions"][1]["configuration"]] == ["web-settings", "db"]
    assert [each["changed"] for each in app["versions"][1]["configurationChanges"]] == [
        ["nginx.conf", "url"],
        ["password"],
    ]
    assert app["versions"][0]["configurationChanges"] == []
    for output in (shown, json.dumps(answer), tree, json.dumps(app)):
        assert_no_secret(output)


def test_promotion_branch_and_promotion_name_objects_and_keys(cli: Cli, waiting: App) -> None:
    remote = waiting.scenario.remote
    listed = "Configuration:\n" + "\n".join(f"- {change}" for change in CHANGES)
    assert listed in remote.message(waiting.promotion_branch)
    assert_no_secret(remote.message(waiting.promotion_branch))
    answer = cli.json("promote", str(waiting.key))
    assert [each["name"] for each in answer["configuration"]] == ["web-settings", "db"]
    assert listed in remote.message("main")
    assert_no_secret(remote.message("main") + json.dumps(answer))


def test_promote_and_rollback_say_what_changes(cli: Cli, waiting: App) -> None:
    shown = cli("promote", str(waiting.key), "--wait")
    for change in CHANGES:
        assert f"it changes: {change}" in shown
    wait_live(waiting, 2)
    shown = cli("rollback", str(waiting.key), "--wait")
    for change in CHANGES:
        assert f"it changes: {change}" in shown
    assert_no_secret(shown)
    wait_live(waiting, 1)


def test_history_names_what_changed_with_each_move_of_traffic(cli: Cli, waiting: App) -> None:
    cli("promote", str(waiting.key), "--wait")
    waiting.wait_told("promoted")
    shown = cli("history", str(waiting.key))
    for change in CHANGES:
        assert change in shown
    entries = {each["event"]: each for each in cli.json("history", str(waiting.key))["entries"]}
    assert [each["whole"] for each in entries["deployed"]["configuration"]] == ["added", "added"]
    assert [each["changed"] for each in entries["promoted"]["configuration"]] == [["nginx.conf", "url"], ["password"]]
    assert_no_secret(shown + json.dumps(entries))


def test_plan_says_no_secret(cli: Cli, web: App) -> None:
    web.scenario.stop()
    push(web, "other settings", settings=config("two"), db=secret(LOUD))
    shown, answer = cli("plan", str(web.key)), cli.json("plan", str(web.key))
    assert "the copy of ConfigMap web-settings" in shown
    assert "the copy of Secret db" in shown
    assert_no_secret(shown + json.dumps(answer))


# undo.


def undone(cli: Cli, app: App, *arguments: str) -> int:
    answer = cli.json("undo", str(app.key), *arguments)
    assert answer["changed"] is True
    return int(answer["to"])


def test_undo_brings_back_configuration_and_template_as_they_were_written_in_one_commit(cli: Cli, web: App) -> None:
    before = {stem: now(web, stem) for stem in ("target", "settings", "db")}
    commits = len(web.scenario.remote.log())
    push(
        web,
        "everything else",
        settings=config("two").replace("# What", "# Another"),
        db=secret(LOUD),
        target=web.target_yaml("v2"),
    )
    wait_offered(web, 2)
    assert undone(cli, web) == 1
    assert {stem: now(web, stem) for stem in before} == before
    assert len(web.scenario.remote.log()) == commits + 2
    web.wait_phase("Healthy")
    assert web.live_tag() == "v1"


def test_undo_of_configuration_alone_leaves_the_target_file(cli: Cli, waiting: App) -> None:
    commits = len(waiting.scenario.remote.log())
    undone(cli, waiting)
    assert (now(waiting, "settings"), now(waiting, "db")) == (config(), secret())
    assert len(waiting.scenario.remote.log()) == commits + 1
    waiting.wait_phase("Healthy")


def test_undo_keeps_what_else_stands_in_the_file(cli: Cli, web: App) -> None:
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {a: b}  # not ours\n"
    push(web, "together", settings=f"{other}---\n{config('two')}")
    wait_offered(web, 2)
    undone(cli, web)
    assert now(web, "settings") == f"{other}---\n{config()}"


def test_undo_makes_a_deleted_file_again(cli: Cli, web: App) -> None:
    web.container = {}
    push(web, "without", settings=None, db=None, target=web.target_yaml("v2"))
    wait_offered(web, 2)
    undone(cli, web)
    assert (now(web, "settings"), now(web, "db")) == (config(), secret())
    web.wait_phase("Healthy")


# Pods that wait for it.


def test_a_key_that_is_missing_is_asked_for_by_the_name_in_git(cli: Cli, web: App) -> None:
    push(web, "another key", db=SECRET.format(password=LOUD).replace("password:", "passphrase:"))
    web.wait(lambda: cli.json("explain", str(web.key))["troubles"], "pods are in trouble")
    [trouble] = cli.json("explain", str(web.key))["troubles"]
    assert "couldn't find key password in Secret" in trouble["message"]
    assert trouble["advice"] == "give the Secret db the key password, or correct the reference in the target"


def test_a_copy_that_is_missing_is_the_agents_to_make(cli: Cli, web: App) -> None:
    push(web, "other settings", settings=config("two"))
    wait_offered(web, 2)
    web.scenario.stop()
    cluster, digest = web.scenario.cluster, web.status["candidate"]["digest"]
    for name in copies(web):
        cluster.delete(f"{config_maps(web.key.namespace)}/{name}")
    cluster.request("DELETE", pods(web.key.namespace), labelSelector=f"{names.DIGEST}={short(digest)}")
    web.wait(lambda: cli.json("explain", str(web.key))["troubles"], "pods are in trouble")
    [trouble] = cli.json("explain", str(web.key))["troubles"]
    assert trouble["advice"].startswith("it is the copy of ConfigMap web-settings, which the agent makes")


def test_undo_of_configuration_on_both_clusters(either_world: Scenario, tmp_path: Path) -> None:
    cli = Cli(either_world.remote, either_world.cluster.kubeconfig, tmp_path)
    either_world.start()
    web = deployed(either_world)
    push(web, "other settings", settings=config("two"), db=secret(LOUD))
    wait_offered(web, 2)
    undone(cli, web)
    assert (now(web, "settings"), now(web, "db")) == (config(), secret())
    web.wait_phase("Healthy")
    wait_live(web, 1)


def test_explain_and_plan_say_why_a_copy_cannot_be_made(web: App, cli: Cli) -> None:
    push(web, "a certificate without one", db=secret(LOUD).replace("stringData", "type: kubernetes.io/tls\nstringData"))
    web.wait_condition("Refused")
    shown = cli("explain", str(web.key))
    assert f"{web.key}: Degraded" in shown
    assert "data[tls.crt]: Required value" in shown
    assert "Degraded" in cli("plan", str(web.key))
    assert_no_secret(shown)
