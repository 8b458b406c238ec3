"""`--dry-run` of every verb that decides: it says what would be done, and writes nothing to Git, cluster or files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.cli.registry import DECIDE, VERBS
from gitops_bg.core import names
from tests.integration.cli.conftest import Cli
from tests.support.command_line import all_verbs
from tests.support.groups import Store
from tests.support.scenario import App, Scenario
from tests.support.signers import make_key

HERE = Path(__file__).parent.parent


OPTIONS = dict(all_verbs())
ASKS_ALONE = {"reconcile"}
"""Among the verbs that decide by their heading: it asks the agent to look, and nothing else."""
ASKS_ON_PAGES = {"dashboard"}
"""What commits only after a page has said what the commit would do: tests/integration/dashboard/test_acting.py."""
DECIDES = {verb.name for verb in VERBS[DECIDE]} - ASKS_ALONE | {
    verb for verb, options in OPTIONS.items() if "--author" in options
} - ASKS_ON_PAGES
"""Verbs that decide: listed as such, or with an author, whose commit or request it is."""
ELSEWHERE = {
    "adopt": "operate/test_adopt.py",
    "release": "operate/test_adopt.py",
    "move": "operate/test_move.py",
    "import": "onboarding/test_import.py",
    "render": "onboarding/test_render.py",
    "accept-history": "operate/test_deciding.py",
    "hold": "../agent/environments/test_three_environments.py",
    "enter": "../agent/environments/test_three_environments.py",
}
"""Where a dry run needs a world of its own, the test that has it."""


def test_the_parser_knows_verbs_of_every_kind() -> None:
    assert {"promote", "gate open", "group promote", "freeze", "policies replay"} <= OPTIONS.keys()
    assert {"set-image", "abort", "gate close", "group delete"} <= DECIDES


@pytest.mark.parametrize("verb", sorted(DECIDES))
def test_every_verb_that_decides_has_it(verb: str) -> None:
    assert "--dry-run" in OPTIONS[verb]


def test_every_dry_run_is_tried() -> None:
    """A verb with a dry run is in a table here, or in the test that it names."""
    tried = {
        verb.removesuffix(" --offline") for verb in (*SAID, *OF_A_GROUP, *OF_A_STOPPED_GROUP, *OF_A_GATE, "unfreeze")
    } | ELSEWHERE.keys()
    assert {verb for verb, options in OPTIONS.items() if "--dry-run" in options} == tried
    for verb, file in ELSEWHERE.items():
        text = (HERE / file).read_text()
        assert '"--dry-run"' in text, file
        assert f'"{verb}"' in text or f"{verb}_" in text, file


def written(world: Scenario) -> tuple[str, Any, Any]:
    """All that a verb could have written: branches of the remote, requests of operators, files of the clone."""
    kinds = ("bluegreendeployments", "releasegroups")
    listed = "/apis/gitops-bg.dev/v1alpha1/namespaces/{}/{}"
    objects = (each for kind in kinds for each in world.cluster.list(listed.format(world.namespace, kind)))
    annotations = {
        (each["kind"], each["metadata"]["name"]): (each["metadata"].get("annotations") or {}).get(names.REQUEST)
        for each in objects
    }
    return world.remote.run("for-each-ref", cwd=world.remote.bare), annotations, world.remote.files()


def try_dry_runs(cli: Cli, world: Scenario, subject: str, said: Mapping[str, tuple[list[str], str]]) -> None:
    before = written(world)
    for verb, (arguments, words) in said.items():
        given = [*verb.split(), *(subject if each == "IT" else each for each in arguments)]
        assert words in cli(*given, "--dry-run"), verb
        told = cli.json(*given, "--dry-run")
        assert (told["apps"][0] if "apps" in told else told)["dryRun"] is True, verb
        assert written(world) == before, verb


def signing_with(key: str, said: Mapping[str, tuple[list[str], str]]) -> dict[str, tuple[list[str], str]]:
    return {verb: ([key if each == "KEY" else each for each in words], told) for verb, (words, told) in said.items()}


@pytest.fixture
def moved(web: App) -> App:
    """v2 is live, v3 waits for somebody."""
    web.promote("v2")
    web.push_image("v3")
    web.wait_offered("v3")
    web.wait_told()
    web.scenario.wait_idle()
    return web


SAID = {
    "set-image": (["IT", "web=registry.example/web:v9"], "would commit to main: web: set image"),
    "promote": (["IT"], "main would name v3"),
    "rollback": (["IT"], "main would name v1"),
    "rollback --offline": (["IT"], "live traffic would go to v1"),
    "undo": (["IT", "--to", "1"], "would commit to main"),
    "abort": (["IT"], "stops v3"),
    "retry": (["IT"], "+  retry:"),
    "restart": (["IT"], "+  restartAt:"),
    "suspend": (["IT", "-r", "incident"], "would commit to main: web: suspend"),
    "pause": (["IT", "-r", "incident"], "would commit to main: web: suspend"),
    "resume": (["IT"], "main has it"),
    "freeze": (["-r", "incident"], "would commit to main: Freeze"),
}


def test_it_says_what_would_be_done_and_does_nothing(
    cli: Cli, moved: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the clone, whose files a verb that commits moves along."""
    key = str(make_key(tmp_path, "key").private)
    moved.scenario.pull()
    monkeypatch.chdir(moved.scenario.remote.clone)
    try_dry_runs(cli, moved.scenario, str(moved.key), signing_with(key, SAID))
    cli("freeze", "-r", "incident")
    try_dry_runs(cli, moved.scenario, "", {"unfreeze": ([], "would commit to main: Unfreeze")})


OF_A_GATE = {
    "gate open": (["IT"], "would open the gate release"),
    "gate close": (["IT"], "would close the gate release"),
}


def test_a_gate_stays_as_it_is(cli: Cli, web: App) -> None:
    web.strategy |= {"webhooks": [{"name": "release", "type": "confirm-promotion"}]}
    web.configure()
    web.scenario.wait_idle()
    for verb, opens in (("gate open", True), ("gate close", False)):
        try_dry_runs(cli, web.scenario, str(web.key), {verb: OF_A_GATE[verb]})
        if opens:
            cli("gate", "open", str(web.key))


OF_A_GROUP = {
    "group promote": (["IT", "v2"], "would commit to main: store: promote v2"),
    "group delete": (["IT", "v2"], "would commit to main: store: delete v2"),
    "group rollback": (["IT", "v1"], "would commit to main: store: roll back to v1"),
}


def test_a_group_stays_as_it_is(cli: Cli, world: Scenario, tmp_path: Path) -> None:
    store, key = Store(world), str(make_key(tmp_path, "key").private)
    store.begin()
    name = f"{world.namespace}/store"
    world.wait_idle()
    said = signing_with(key, OF_A_GROUP)
    back = {"group rollback": said.pop("group rollback")}
    try_dry_runs(cli, world, name, said)
    store.activate("v2")
    store.wait("v1L v2A")
    store.wait_for_ledger("promoted")
    world.wait_idle()
    try_dry_runs(cli, world, name, back)


OF_A_STOPPED_GROUP = {
    "group open-gate": (["IT"], "would open the gate release"),
    "group close-gate": (["IT"], "would close the gate release"),
    "group abort": (["IT"], "stops v2"),
    "group retry": (["IT"], "+  retry:"),
    "group suspend": (["IT", "-r", "incident"], "would commit to main: store: suspend"),
    "group resume": (["IT"], "would commit to main: store: resume"),
}


def test_a_group_that_somebody_stops_stays_as_it_is(cli: Cli, world: Scenario, tmp_path: Path) -> None:
    store, key = Store(world), str(make_key(tmp_path, "key").private)
    store.spec["webhooks"] = [{"name": "release", "type": "confirm-promotion"}]
    store.begin()
    name = f"{world.namespace}/store"
    said = signing_with(key, OF_A_STOPPED_GROUP)
    world.wait_idle()
    for verb, then in (("group open-gate", "open-gate"), ("group close-gate", "close-gate")):
        try_dry_runs(cli, world, name, {verb: said[verb]})
        cli("group", then, name)
    store.activate("v2")
    store.wait("v1A v2C", "Waiting")
    try_dry_runs(cli, world, name, {"group abort": said["group abort"]})
    cli("group", "abort", name)
    store.wait_for_ledger("aborted")
    world.wait_idle()
    try_dry_runs(cli, world, name, {"group retry": said["group retry"]})
    try_dry_runs(cli, world, name, {"group suspend": said["group suspend"]})
    cli("suspend", name, "-r", "incident")
    world.wait_idle()
    try_dry_runs(cli, world, name, {"group resume": said["group resume"]})


def test_abort_says_before_it_moves_live_traffic(cli: Cli, web: App) -> None:
    """Of what is live and not proven yet: on stderr, before anything is asked of the agent."""
    web.promote("v2")
    shown = cli("abort", str(web.key), "--dry-run")
    assert "stops v2" in shown
    assert "live traffic goes back to v1" in shown
    assert web.live_tag() == "v2"
    cli("abort", str(web.key))
    web.wait_live("v1")
