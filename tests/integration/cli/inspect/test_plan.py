"""`plan`: what the agent would do, from the cluster or from a file, and that asking changes nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from gitops_bg.cli.session import live_session
from tests.integration.cli.conftest import Cli, with_candidate
from tests.support.auxiliary_objects import hpa, publish
from tests.support.scenario import App, Scenario


@pytest.fixture
def waiting(web: App) -> App:
    """v2 waits for somebody to merge its promotion."""
    return with_candidate(web)


def test_plan_changes_nothing_and_from_a_file_needs_no_cluster(cli: Cli, waiting: App, tmp_path: Path) -> None:
    world = waiting.scenario
    world.stop()
    waiting.push_image("v3")
    heads, writes = world.remote.branches(), world.writes()
    shown = cli("plan", str(waiting.key))
    assert "create the green ReplicaSet of v3" in shown
    assert world.remote.branches() == heads
    assert world.writes() == writes

    file = tmp_path / "observed.json"
    live = cli.json("plan", str(waiting.key), "--dump-observed", str(file))
    cli.env["GITOPS_BG_KUBECONFIG"] = str(tmp_path / "nowhere")
    from_file = cli.json("plan", str(waiting.key), "--observed", str(file))
    said = [[action["sentence"] for action in plan["apps"][0]["actions"]] for plan in (live, from_file)]
    assert said[0] == said[1] != []


def test_plan_of_a_new_app_says_what_would_be_deployed(cli: Cli, world: Scenario) -> None:
    world.cluster.get("/version")
    app = world.app()
    app.add("v1")
    answer = cli.json("plan", str(app.key))
    [plan] = answer["apps"]
    assert [action["action"] for action in plan["actions"]][:2] == ["ApplyApp", "CreateReplicaSet"]
    assert world.writes() == []


def test_plan_of_a_work_tree_says_what_a_push_would_do_and_leaves_the_clone_as_it_is(cli: Cli, web: App) -> None:
    world = web.scenario
    api = world.app("api").deploy("v1")
    world.stop()
    clone, heads, writes = world.remote.clone, world.remote.branches(), world.writes()
    file = clone / web.folder / "target.yaml"
    file.write_text(file.read_text().replace("web:v1", "web:v2"))
    (clone / api.folder / "note.txt").write_text("not committed, and no manifest")
    before = world.remote.run("status", "--porcelain", "--untracked-files=all")
    here = ("--worktree", str(clone), "-n", world.namespace)  # Other tests' apps may still be on their way out.
    shown = cli("plan", *here)
    assert "create the green ReplicaSet of v2" in shown
    assert "1 app would change" in shown
    answer = cli.json("plan", *here)
    assert [each["app"] for each in answer["apps"]] == [str(web.key)]
    assert (answer["from"], answer["unchanged"]) == (heads["main"], 1)
    assert world.remote.run("status", "--porcelain", "--untracked-files=all") == before
    assert (world.remote.branches(), world.writes()) == (heads, writes)


def test_the_work_tree_that_one_is_in_needs_no_name(
    cli: Cli, web: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And what main came to have is planned: an autoscaler, and at last a mistake, which is shown."""
    web.scenario.stop()
    assert "is no clone of the repository" in cli("plan", "--worktree", str(tmp_path), code=2)
    clone = web.scenario.remote.clone
    file = clone / web.folder / "target.yaml"
    file.write_text(file.read_text().replace("web:v1", "web:v2"))
    with monkeypatch.context() as here:
        here.chdir(clone)
        assert [each["app"] for each in cli.json("plan", "--worktree")["apps"]] == [str(web.key)]
        assert "create the green ReplicaSet of v2" in cli("plan", "--worktree")
    web.scenario.remote.run("checkout", "--quiet", ".")

    publish(web, "hpa", hpa())
    (line,) = (each for each in cli("plan", str(web.key)).splitlines() if "Horizontal" in each)
    assert line.strip().startswith("1. apply HorizontalPodAutoscaler web-primary -> v1 (")
    assert line.endswith("it does not exist")
    web.scenario.publish("oops", {f"{web.folder}/target.yaml": "kind: [\n"})
    assert "target.yaml" in cli("plan", str(web.key))
    assert cli.json("plan", str(web.key))["apps"][0]["phase"] == "Invalid"


def test_plan_of_a_branch_says_what_its_merge_would_do(cli: Cli, web: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Main has gone on since the branch left it: the merge has both."""
    world = web.scenario
    world.stop()
    remote, target = world.remote, f"{web.folder}/target.yaml"
    remote.pull()
    monkeypatch.chdir(remote.clone)
    text = remote.read(target)
    remote.checkout("proposed", new=True)
    remote.write(target, text.replace("web:v1", "web:v2"))
    remote.commit("v2")
    remote.checkout("main")
    world.publish("Meanwhile", {"README.md": "x"})
    assert "create the green ReplicaSet of v2" in cli("plan", "--to", "proposed")
    assert "0 apps would change" in cli("plan", "--from", "proposed", "--to", "proposed")
    assert "0 apps would change" in cli("plan", "--to", "main")
    assert "knows nowhere" in cli("plan", "--to", "nowhere", code=5)
    assert "--from needs --to" in cli("plan", "--from", "main", code=2)
    world.publish("v3", {target: text.replace("web:v1", "web:v3")})
    shown = " ".join(cli("plan", "--to", "proposed", code=1).split())
    assert "cannot be merged into" in shown
    assert "target.yaml" in shown


def test_time_that_passes_between_two_looks_is_no_change(
    cli: Cli, world: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found so: a plan of a worktree without a change listed an app whose pause ran out between its two looks."""
    app = world.app()
    app.strategy |= {"autoPromotionEnabled": True, "autoPromotionSeconds": 3600}
    world.start()
    app.deploy("v1")
    app.push_image("v2")
    app.wait(lambda: any(each["kind"] == "pause" for each in app.status.get("gates", ())), "its pause runs")
    world.stop()
    begun, looks = datetime.now(UTC), count(1)

    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return begun + timedelta(minutes=20 * next(looks))

    monkeypatch.setattr(live_session, "datetime", Clock)
    told = cli.json("plan", "--worktree", str(world.remote.clone), "-n", world.namespace)
    assert (told["apps"], told["unchanged"]) == ([], 1)
