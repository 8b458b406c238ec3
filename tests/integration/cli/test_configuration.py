"""ConfigMaps and Secrets of a version on the command line: what people read of them, how `undo` brings them back.

Values of Secrets are in no output; what people read of a Secret is its name and its keys.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from gitops_bg.core import names
from gitops_bg.core.model.version import short
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


def assert_no_secret(text: str) -> None:
    for value in (HUSH, LOUD):
        for form in (value, base64.b64encode(value.encode()).decode().rstrip("=")):
            assert form not in text


CHANGES = ["ConfigMap web-settings (nginx.conf, url changed)", "Secret db (password changed)"]


def test_what_changes_is_named_wherever_a_version_is_and_no_value_of_a_secret_is(cli: Cli, web: App) -> None:
    """By `diff`, `explain`, `get`, the promotion's branch and commit, `promote`, `history` and `rollback`."""
    key, remote = str(web.key), web.scenario.remote
    assert "no difference" in cli("diff", key)
    push(web, "other settings", settings=config("two", 4), db=secret(LOUD))
    wait_offered(web, 2)
    _diff_shows_values_of_config_maps_and_that_a_secret_changes(cli, web)
    _explain_and_get_name_what_comes_next(cli, web)

    listed = "Configuration:\n" + "\n".join(f"- {change}" for change in CHANGES)
    assert listed in remote.message(web.promotion_branch)
    assert_no_secret(remote.message(web.promotion_branch))
    shown = cli("promote", key, "--wait")
    for change in CHANGES:
        assert f"it changes: {change}" in shown
    assert listed in remote.message("main")
    assert_no_secret(remote.message("main") + shown)
    wait_live(web, 2)

    shown = cli("history", key)
    for change in CHANGES:
        assert change in shown
    entries = {each["event"]: each for each in cli.json("history", key)["entries"]}
    assert [each["whole"] for each in entries["deployed"]["configuration"]] == ["added", "added"]
    assert [each["changed"] for each in entries["promoted"]["configuration"]] == [["nginx.conf", "url"], ["password"]]
    assert_no_secret(shown + json.dumps(entries))

    shown = cli("rollback", key, "--wait")
    for change in CHANGES:
        assert f"it changes: {change}" in shown
    assert_no_secret(shown)
    wait_live(web, 1)

    cli("resume", key)
    wait_offered(web, 2)
    answer = cli.json("promote", key)
    assert [each["name"] for each in answer["configuration"]] == ["web-settings", "db"]
    assert_no_secret(json.dumps(answer))


def _diff_shows_values_of_config_maps_and_that_a_secret_changes(cli: Cli, waiting: App) -> None:
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


def _explain_and_get_name_what_comes_next(cli: Cli, waiting: App) -> None:
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
    [app] = cli.json("get", str(waiting.key))["items"]
    assert [ref["name"] for ref in app["versions"][1]["configuration"]] == ["web-settings", "db"]
    assert [each["changed"] for each in app["versions"][1]["configurationChanges"]] == [
        ["nginx.conf", "url"],
        ["password"],
    ]
    assert app["versions"][0]["configurationChanges"] == []
    for output in (shown, json.dumps(answer), tree, json.dumps(app)):
        assert_no_secret(output)


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


def test_undo_keeps_what_else_stands_in_the_file_and_makes_a_deleted_one_again(cli: Cli, web: App) -> None:
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {a: b}  # not ours\n"
    push(web, "together", settings=f"{other}---\n{config('two')}")
    wait_offered(web, 2)
    undone(cli, web)
    assert now(web, "settings") == f"{other}---\n{config()}"
    push(web, "alone again", settings=config())
    web.wait_phase("Healthy")
    web.container = {}
    push(web, "without", settings=None, db=None, target=web.target_yaml("v2"))
    wait_offered(web, 3)
    assert undone(cli, web, "--to-version", "1") == 1
    assert (now(web, "settings"), now(web, "db")) == (config(), secret())
    web.wait_phase("Healthy")


# Pods that wait for it.


def test_a_missing_key_is_asked_for_by_its_name_in_git_and_a_missing_copy_is_the_agents(cli: Cli, web: App) -> None:
    push(web, "another key", db=SECRET.format(password=LOUD).replace("password:", "passphrase:"))
    web.wait(lambda: cli.json("explain", str(web.key))["troubles"], "pods are in trouble")
    [trouble] = cli.json("explain", str(web.key))["troubles"]
    assert "couldn't find key password in Secret" in trouble["message"]
    assert trouble["advice"] == "give the Secret db the key password, or correct the reference in the target"

    push(web, "other settings", settings=config("two"), db=secret())
    wait_offered(web, 3)
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
    commits = len(web.scenario.remote.log())
    undone(cli, web)
    assert (now(web, "settings"), now(web, "db")) == (config(), secret())
    assert len(web.scenario.remote.log()) == commits + 1
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
