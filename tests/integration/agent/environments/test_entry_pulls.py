"""A release that people are to let in has a pull request: it says what comes in, merging it lets that in, closing it
keeps it out.
"""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest

from gitops_bg.agent.forge_thread import ForgeConnection
from gitops_bg.forge.port import CheckState, Pull
from gitops_bg.spec.environments.release import read_release, release_document, release_of
from gitops_bg.spec.yaml.reader import read_one
from tests.integration.agent.environments.conftest import MakeFleet
from tests.integration.agent.forge.test_pull_requests import SETTINGS, ForgeOfRemote
from tests.support.agent.fleet import DEV, Fleet, fleet_of
from tests.support.cluster.clusters import SandboxCluster
from tests.support.forges.gitea import Gitea
from tests.support.forges.remote import GiteaRemote

PROD = "- {name: prod, clusters: [prod-1], after: {proven: 2h}, enter: pullRequest, autoPromotionEnabled: true}\n"


def begun(make_fleet: MakeFleet, monkeypatch: pytest.MonkeyPatch) -> tuple[Fleet, ForgeOfRemote]:
    """v1 serves in dev, and is proven there."""
    forge = ForgeOfRemote()
    monkeypatch.setattr(
        "gitops_bg.agent.agent.connect_with", lambda *_: lambda wanted: ForgeConnection(forge, lambda: None)
    )
    fleet = make_fleet(("dev-1", "prod-1"), DEV + PROD)
    forge.remote = fleet.remote
    fleet.first.scenario.publish("settings", {"gitops-bg.yaml": SETTINGS})
    fleet.wait_live("dev-1", "v1")
    fleet.look(2)
    fleet.soak("dev-1", 7400)
    return fleet, forge


def opened(fleet: Fleet, forge: ForgeOfRemote, tag: str) -> Pull:
    def found() -> list[Pull]:
        branch = fleet.branch("prod")
        return [each for each in forge.opened if each.branch == branch and f"let {tag} (" in each.title]

    fleet.until(found, f"a pull request for {tag}")
    return found()[0]


def test_merging_its_pull_request_lets_a_release_in(make_fleet: MakeFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet, forge = begun(make_fleet, monkeypatch)
    pull = opened(fleet, forge, "v1")
    assert pull.title == f"{fleet.first.key}: let v1 (r1) into prod [prod-1]"
    assert "| <code>dev</code> | <code>dev&#45;1</code> | <code>r1</code> |" in pull.body
    assert "r1 is proven since" in unescape(pull.body)
    fleet.remote.merge(pull.branch)
    fleet.wait_live("prod-1", "v1")
    fleet.until(lambda: not forge.opened, "the pull request is over")

    fleet.first.push_image("v2")
    fleet.wait_live("dev-1", "v2")
    fleet.look(2)
    fleet.soak("dev-1", 7400)
    pull = opened(fleet, forge, "v2")
    body = unescape(pull.body)
    assert "What changes in the release" in body
    assert "What changes in prod, with its overlay" in body
    assert fleet.apps["prod-1"].live_tag() == "v1"


def pushed(fleet: Fleet, branch: str, files: dict[str, str | None]) -> tuple[str | None, str]:
    """Somebody puts these files on the branch by hand. What its status is found by."""
    fleet.remote.pull()
    fleet.remote.checkout("mallory", new=True)
    fleet.remote.stage(files)
    fleet.remote.commit("A harmless fix")
    fleet.remote.run("push", "--quiet", "--force", "origin", f"mallory:{branch}")
    fleet.remote.checkout("main")
    return fleet.remote.head(branch), "gitops-bg/prod-1"


def test_what_a_person_pushed_waits_for_what_a_policy_asks_as_well(
    make_fleet: MakeFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, forge = begun(make_fleet, monkeypatch)
    pull = opened(fleet, forge, "v1")
    path = f"{fleet.first.folder}/prod/release.yaml"
    written = fleet.remote.run("show", f"{pull.branch}:{path}", cwd=fleet.remote.bare)
    rule = "spec: {match: {environments: [prod]}, rules: [{after: {from: [dev], proven: 9h}}]}"
    text = f"apiVersion: gitops-bg.dev/v1alpha1\nkind: PromotionPolicy\nmetadata: {{name: calm}}\n{rule}\n"
    fleet.first.scenario.publish("Nine hours in dev", {"policies/calm.yaml": text})
    fleet.until(lambda: not fleet.remote.head(pull.branch), "the agent asks for it no more")
    told = pushed(fleet, pull.branch, {path: written})
    fleet.until(lambda: forge.statuses.get(told), "a status")
    assert forge.statuses[told][-1].state is CheckState.PENDING


WRONG = {
    "a release that nobody ever made": (
        {},
        "no environment ever had this release, and commit {commit} brought another base",
    ),
    "a release that is there, and another file": (
        {"policies/freeze.yaml": "# nothing any more\n"},
        "the branch carries other files: policies/freeze.yaml",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_somebody_pushed_to_its_branch_is_not_to_be_merged(
    wrong: str, make_fleet: MakeFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found: the agent opened a pull request for it, whose status was: every gate is open, merge this."""
    beside, said = WRONG[wrong]
    fleet, forge = begun(make_fleet, monkeypatch)
    pull = opened(fleet, forge, "v1")
    path = f"{fleet.first.folder}/prod/release.yaml"
    written = fleet.remote.run("show", f"{pull.branch}:{path}", cwd=fleet.remote.bare)
    made = read_release(read_one(path, written.encode())[0], fleet.first.key)[0]  # type: ignore[arg-type]
    assert made is not None
    if not beside:
        target = json.loads(json.dumps(made.target).replace(":v1", ":v666"))
        made = release_of(target, made.configuration, made.snapshot.source, 12)
        written = release_document(fleet.first.key, made, path)
    told = pushed(fleet, pull.branch, {path: written, **beside})
    fleet.until(lambda: forge.statuses.get(told), "a status")
    status = forge.statuses[told][-1]
    assert status.state is CheckState.FAILURE
    assert status.description == said.format(commit=made.id.commit[:10])


def test_closing_it_keeps_the_release_out_until_a_newer_one_or_until_it_is_reopened(
    make_fleet: MakeFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, forge = begun(make_fleet, monkeypatch)
    pull, prod = opened(fleet, forge, "v1"), fleet.apps["prod-1"]
    forge.closes(pull.number)

    def refused() -> list[str]:
        prod.scenario.agent.forge.poll_soon()  # type: ignore[union-attr]
        return [each.why for each in prod.record.git.refused]

    fleet.until(refused, "the release is refused")
    assert refused() == [f"ada closed pull request #{pull.number}; reopening it lifts this"]
    fleet.look(3)
    assert forge.opened == []
    assert fleet.remote.head(pull.branch), "it can be reopened"
    forge.reopens(pull.number)
    fleet.until(lambda: not refused(), "it is refused no more")
    forge.closes(pull.number)
    fleet.until(refused, "the release is refused again")

    fleet.first.push_image("v2")
    fleet.wait_live("dev-1", "v2")
    fleet.look(2)
    fleet.soak("dev-1", 7400)
    newer = opened(fleet, forge, "v2")
    assert newer.number != pull.number


@pytest.mark.real_forge
def test_at_a_real_forge_people_close_reopen_and_merge_it(
    sandbox_cluster: SandboxCluster, real_forge: Gitea, tmp_path: Path
) -> None:
    remote = GiteaRemote(tmp_path / "remote", real_forge)
    at = (remote, remote.agent_settings())
    with fleet_of(sandbox_cluster, tmp_path, ("dev-1", "prod-1"), DEV + PROD, at) as fleet:
        prod = fleet.apps["prod-1"]
        fleet.first.scenario.publish("settings", {"gitops-bg.yaml": SETTINGS})
        fleet.wait_live("dev-1", "v1")
        fleet.look(2)
        fleet.soak("dev-1", 7400)

        def seen() -> None:
            prod.scenario.agent.forge.poll_soon()  # type: ignore[union-attr]

        def is_green() -> bool:
            return [remote.status(each["head"]["sha"]) for each in remote.pulls()] == ["success"]

        fleet.until(is_green, "its pull request, with a status")
        (pull,) = remote.pulls()
        number = f"/pulls/{pull['number']}"
        assert pull["title"] == f"{prod.key}: let v1 (r1) into prod [prod-1]"
        remote.call("PATCH", number, {"state": "closed"}, user="ben")
        fleet.until(lambda: seen() or prod.record.git.refused, "it is refused")
        assert [each.why for each in prod.record.git.refused] == [
            f"ben closed pull request #{pull['number']}; reopening it lifts this"
        ]
        remote.call("PATCH", number, {"state": "open"}, user="ben")
        fleet.until(lambda: not (seen() or prod.record.git.refused), "it is refused no more")
        remote.merge(pull["number"], "squash", user="ben")
        fleet.wait_live("prod-1", "v1")
        fleet.until(lambda: remote.head(fleet.branch("prod")) is None, "the branch is withdrawn")
        assert [each["number"] for each in remote.pulls("all")] == [pull["number"]]
