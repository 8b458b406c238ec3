"""`gitops-bg move`: an app under another name in a work tree, as a whole or not at all, and what comes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from gitops_bg.core import names
from tests.support.auxiliary_objects import BUDGET, HPA, budget, hpa, live
from tests.support.command_line import Cli
from tests.support.configuration import config_map
from tests.support.scenario import App, Scenario
from tests.support.waiting import eventually

WARM = 600
"""``scaleDownDelaySeconds`` of the app, by default."""


@pytest.fixture
def tree(web: App) -> Path:
    """A clone in which `web` was promoted; it has a budget, an autoscaler, and a ConfigMap of no version."""
    web.strategy["scaleDownDelaySeconds"] = WARM
    web.spec["restartAt"] = "2026-01-01T00:00:00Z"
    web.configure()
    web.push_object("flags.yaml", config_map("flags", beta="on"))
    web.push_object("budget.yaml", budget())
    web.push_object("hpa.yaml", hpa())
    web.promote("v2")
    web.wait_told("promoted")
    web.scenario.pull()
    return web.scenario.remote.clone


def files_below(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.*") if path.is_file()}


def test_the_folder_gets_another_name_and_the_agent_takes_over(cli: Cli, web: App, tree: Path) -> None:
    world, shop = web.scenario, web.scenario.app("shop")
    (tree / "policies").mkdir(exist_ok=True)
    (tree / "policies" / "note.yaml").write_text(f"# about {web.key}\n")
    before = files_below(tree / "apps")
    said = cli.json("move", str(web.key), str(shop.key), "--checkout", str(tree), "--dry-run")
    assert files_below(tree / "apps") == before
    assert (said["written"], said["named"]) == (False, ["policies/note.yaml"])
    named = {"app.yaml", "hpa.yaml", "primary.yaml", "target.yaml"}
    assert said["changed"] == sorted(f"{shop.folder}/{name}" for name in named)

    shown = cli("move", str(web.key), str(shop.key), "--checkout", str(tree))
    assert f"{web.key} serves on" in shown
    assert not (tree / web.folder).exists()
    after = files_below(tree / shop.folder)
    former = {name.rpartition("/")[2] for name in before if f"/{web.name}/" in f"/{name}"}
    assert after.keys() == former >= {"budget.yaml", "flags.yaml", *named}
    assert yaml.safe_load(after["hpa.yaml"])["spec"]["scaleTargetRef"]["name"] == "shop"
    app = yaml.safe_load(after["app.yaml"])
    assert (app["metadata"]["name"], app["spec"]["adopt"]) == ("shop", {"app": "web"})
    assert "restartAt" not in app["spec"]
    assert app["spec"]["strategy"]["blueGreen"]["activeService"] == "web"

    both = f"{shop.key} takes over from web itself: if that is not pushed yet, move web to "
    for to, is_said in (("store", True), (web.name, False)):
        again = cli("move", str(shop.key), f"{world.namespace}/{to}", "--checkout", str(tree), "--dry-run")
        assert (both in " ".join(again.split())) is is_said, "under its former name nothing serves but itself"

    (tree / "policies" / "note.yaml").unlink()
    world.remote.run("add", "--all", "apps")
    world.remote.commit("Rename web")
    world.push()
    shop.wait(lambda: shop.condition("Adopting")["reason"] == "Adopted", "the Service is taken over")

    def whose(kind: str, name: str) -> str:
        return str(live(shop, kind, name)["metadata"]["labels"].get(names.APP))

    beside = (("ConfigMap", "flags"), (BUDGET, "web"), (HPA, "web-primary"))
    shop.wait(lambda: {whose(*each) for each in beside} == {"shop"}, "what is beside it goes along")
    world.wait_idle()
    cli("status", str(shop.key), code=0)
    ends = cli("status", str(web.key), "--no-watch", code=7)
    assert "Progressing: the app's folder has left main; it ends: the app shop" in ends, "its pods are warm for a while"

    def is_over() -> bool:
        world.advance(WARM + 1)
        return world.live(names.PLURAL, "web") is None

    eventually(is_over, what="the former app is gone")
    assert shop.versions()["v2"].available == 2
    assert shop.condition("Conflict")["status"] == "Absent"

    asked = " ".join(cli("release", str(shop.key), code=2).split())
    assert f"{shop.key} has its Services from the app web: to which Deployment? --deployment NAME" in asked
    refused = cli("release", str(shop.key), "--deployment", "old", code=1)
    assert f"Deployment {world.namespace}/old: does not exist" in refused


REFUSED = {
    "another namespace": ({}, "other/shop", "cannot be taken over from other"),
    "a release under way": ({"release": {"deployment": "old"}}, "shop", "spec.release: its live traffic goes back"),
    "a suspension": ({"suspend": {"reason": "x"}}, "shop", "spec.suspend: a suspended app takes nothing over"),
    "a pin": ({"revision": 1}, "shop", "spec.revision: a version is pinned"),
    "a rendered target": (
        {"render": {"kustomize": "overlay"}},
        "shop",
        "spec.render: what it renders has a workload called web, and would have one after the move (call the workload",
    ),
    "a name that is taken": ({}, "web", "is there already"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_moved_as_a_whole_writes_nothing(name: str, cli: Cli, world: Scenario, tmp_path: Path) -> None:
    more, to, said = REFUSED[name]
    web = world.app()
    web.spec |= more
    tree = tmp_path / "tree"
    folder = tree / web.folder
    folder.mkdir(parents=True)
    (tree / "gitops-bg.yaml").write_text(f"apiVersion: {names.API_VERSION}\nkind: Settings\n")
    (folder / "app.yaml").write_text(web.app_yaml())
    (folder / "target.yaml").write_text(web.target_yaml("v1"))
    before = files_below(tree)
    target = to if "/" in to else f"{world.namespace}/{to}"
    shown = " ".join(cli("move", str(web.key), target, "--checkout", str(tree), code=1).split())
    assert said in shown
    assert files_below(tree) == before


def test_an_app_of_which_nothing_was_promoted_is_renamed_by_hand(cli: Cli, world: Scenario, tmp_path: Path) -> None:
    web, tree = world.app(), tmp_path / "tree"
    (tree / web.folder).mkdir(parents=True)
    (tree / web.folder / "app.yaml").write_text(web.app_yaml())
    (tree / web.folder / "target.yaml").write_text(web.target_yaml("v1"))
    shown = cli("move", str(web.key), f"{world.namespace}/shop", "--checkout", str(tree), code=1)
    assert "nothing of it was promoted yet (rename the folder: nothing serves)" in " ".join(shown.split())
    assert "no folder" in cli("move", "shop/nobody", "shop/other", "--checkout", str(tree), code=5)
