"""A real agent, a real Gitea, Git over HTTP: pull requests as people use them (decision 31)."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.repos.texts import policy
from tests.support.cluster.clusters import SandboxCluster
from tests.support.forges.gitea import Gitea
from tests.support.forges.remote import GiteaRemote
from tests.support.scenario import App, scenario
from tests.support.waiting import eventually

pytestmark = pytest.mark.real_forge

SETTINGS = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: Settings
forge: {type: gitea, labels: [promotion], reviewers: [ben], assignees: [ana]}
"""


POLICY = policy("two-pairs-of-eyes", "- approvals: {count: 1}", "- separation: {between: [author, merger]}")
PEOPLE = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: People
people:
- {name: ada, emails: [ada@example.com], forge: {gitea: 3}}
"""
"""Who pushes images has the account `ana`: the third that is made, after the admin's and the agent's."""


@pytest.fixture
def remote(real_forge: Gitea, tmp_path: Path) -> GiteaRemote:
    return GiteaRemote(tmp_path / "remote", real_forge)


@pytest.fixture
def web(sandbox_cluster: SandboxCluster, remote: GiteaRemote, tmp_path: Path) -> Iterator[App]:
    """The app `web`, its v1 live; the agent may write main."""
    with scenario(sandbox_cluster, tmp_path / "agent", remote=remote, **remote.agent_settings()) as story:
        story.publish("settings", {"gitops-bg.yaml": SETTINGS})
        story.start()
        yield story.app().deploy("v1")


def opened(web: App, remote: GiteaRemote, tag: str) -> dict[str, Any]:
    """The pull request that offers a tag, once its status is green."""
    web.wait_offered(tag)

    def found() -> dict[str, Any] | None:
        pulls = [each for each in remote.pulls() if f"→ {tag} [test]" in each["title"]]
        is_green = pulls and remote.status(pulls[0]["head"]["sha"]) == "success"
        return pulls[0] if is_green else None

    pull = eventually(found, what="a pull request with a green status")
    assert pull is not None
    return pull


def test_when_green_the_agent_merges_it_past_a_main_that_it_may_not_push_to(web: App, remote: GiteaRemote) -> None:
    remote.protect()
    web.spec["promotion"] = {"merge": "whenGreen"}
    web.configure()
    web.push_image("v2")
    web.wait_live("v2")
    eventually(lambda: not remote.pulls(), what="it is merged")
    pull = remote.call("GET", f"/pulls/{remote.pulls('closed')[0]['number']}")
    assert (pull["merged"], pull["merged_by"]["login"]) == (True, "agent")
    web.wait(lambda: not web.offered(), "the branch is withdrawn")
    assert "**Withdrawn:**" not in remote.pulls("closed")[0]["body"]


def approve(web: App, remote: GiteaRemote, user: str) -> None:
    """What the branch holds now, once Gitea shows it."""
    head = remote.head(web.promotion_branch)
    eventually(lambda: [each["head"]["sha"] for each in remote.pulls()] == [head], what="Gitea shows the push")
    (pull,) = remote.pulls()
    body = {"event": "APPROVED", "commit_id": head}
    remote.call("POST", f"/pulls/{pull['number']}/reviews", body, user=user)


def gate(web: App) -> str:
    gates = web.status.get("gates", [])
    return "; ".join(each["reason"] for each in gates if each["kind"] == "policy" and not each["open"])


def only_pull(remote: GiteaRemote) -> dict[str, Any]:
    eventually(lambda: len(remote.pulls()) == 1, what="there is one pull request")
    return remote.pulls()[0]


def wait_gate(web: App, said: str) -> None:
    def looked() -> bool:
        web.scenario.wake()
        return said in gate(web)

    web.wait(looked, f"the policy says {said!r}, not {gate(web)!r}")


def test_an_approval_by_the_forge_opens_the_gate_and_reaches_the_ledger(web: App, remote: GiteaRemote) -> None:
    """Whoever presses the button, squashed: main says what was merged."""
    web.scenario.publish("Two pairs of eyes", {"policies/eyes.yaml": POLICY, "policies/people.yaml": PEOPLE})
    web.push_image("v2")
    web.wait_offered("v2")
    wait_gate(web, "0 of 1 approvals")
    asked = lambda: [each["login"] for each in only_pull(remote)["requested_reviewers"] or ()]  # noqa: E731
    eventually(lambda: asked() == ["ben"], what="somebody is asked to review it")
    approve(web, remote, "ben")
    web.wait(lambda: not gate(web) or web.scenario.wake(), "it is approved")
    web.push_image("v3")
    web.wait_offered("v3")
    wait_gate(web, "0 of 1 approvals; ben (gitea 4) approved other content")

    approve(web, remote, "ben")
    web.wait(lambda: not gate(web) or web.scenario.wake(), "it is approved")
    web.scenario.advance(31)  # A body is not edited more often.
    web.scenario.wake()
    pull = opened(web, remote, "v3")
    eventually(lambda: "1 of 1 approvals" in only_pull(remote)["body"], what="its text says so")
    pull = only_pull(remote)
    assert "1 of 1 approvals: ben (gitea 4)" in unescape(pull["body"])
    assert web.live_tag() == "v1"
    assert pull["title"] == f"{web.key}: v1 → v3 [test]"
    assert [each["name"] for each in pull["labels"]] == ["promotion"]
    assert [each["login"] for each in pull["assignees"]] == ["ana"]
    assert pull["user"]["login"] == "agent"
    web.wait(lambda: web.status.get("pullRequest", {}).get("url") == pull["html_url"], "the status names it")
    remote.merge(pull["number"], "squash", user="ben")
    web.scenario.wake()
    web.wait_live("v3")
    web.wait(lambda: not web.offered(), "the branch is withdrawn")
    web.wait(lambda: "pullRequest" not in web.status, "it is over")
    assert [each["number"] for each in remote.pulls("all")] == [pull["number"]], "no other one was opened meanwhile"
    assert web.record.holds == ()
    web.wait_told("merged")
    (entry,) = (each for each in web.ledger() if each["Event"] == "merged")
    assert (entry["Approved-By"], entry["By"]) == ("ben (gitea 4)", "ben (gitea 4)")

    web.push_image("v4")
    web.wait_offered("v4")
    approve(web, remote, "ana")
    wait_gate(web, "0 of 1 approvals; ada is an author")
    remote.merge(only_pull(remote)["number"], user="ben")
    web.scenario.wake()
    web.wait_primary("v4")
    web.scenario.wait_idle()
    wait_gate(web, "0 of 1 approvals; ada is an author")
    assert web.live_tag() == "v3", "merged without an approval, it waits"
