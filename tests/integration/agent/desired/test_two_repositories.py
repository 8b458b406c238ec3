"""Two agents that follow different repositories, or different clusters of one, and meet in a namespace."""

from pathlib import Path

import pytest

from gitops_bg.core import names
from tests.support.agent.agents import agent_settings, running
from tests.support.git.remote import GitRemote
from tests.support.scenario import App
from tests.support.waiting import eventually


def _annotations(web: App) -> dict[str, str]:
    return dict(web.object()["metadata"].get("annotations") or {})


@pytest.mark.parametrize("what", ["repository", "cluster"])
def test_an_app_that_follows_another_repository_is_a_conflict_and_left_alone(
    web: App, tmp_path: Path, what: str
) -> None:
    world = web.scenario
    other = GitRemote(tmp_path / "other")
    other.write(f"{web.folder}/app.yaml", web.app_yaml())
    other.write(f"{web.folder}/target.yaml", web.target_yaml("v9"))
    other.commit("the same app, elsewhere")
    other.push()
    url = other.url if what == "repository" else world.remote.url
    settings = agent_settings(tmp_path / "second", url, world.cluster.kubeconfig, namespaces=(world.namespace,))
    if what == "cluster":
        object.__setattr__(settings.repository, "cluster", "elsewhere")
    world.settle()
    before = web.status["record"]

    with running(settings) as second:
        second.wake("a test")
        web.wait(lambda: web.condition("Conflict")["status"] == "True", "the condition says so")
        said = web.condition("Conflict")
        eventually(lambda: second.queue.idle, what="the second agent rests")

    assert said["reason"] == "ClaimedTwice"
    assert "kubectl annotate bgd web" in said["message"]
    assert (web.live_tag(), web.status["record"]) == ("v1", before)
    assert _annotations(web)[names.CLUSTER] == "test"
    events = [event["message"] for event in world.events() if event["reason"] == "Conflict"]
    assert "to hand it over" in events[0]
    assert other.head("gitops-bg/state/test") is None


def test_an_app_of_the_code_of_before_is_adopted(web: App) -> None:
    world = web.scenario
    world.stop()
    path = f"/apis/{names.API_VERSION}/namespaces/{world.namespace}/{names.PLURAL}/{web.name}"
    gone = {names.REPOSITORY: None, names.CLUSTER: None}
    world.cluster.patch(path, {"metadata": {"annotations": gone}})
    world.start()
    web.wait(lambda: _annotations(web).get(names.CLUSTER) == "test", "it says whom it follows")
    assert web.live_tag() == "v1"
