"""Another writer changes an object of ours again and again: it is named, and repaired ever more rarely.

The other writer is Flux, as in docs/how-to/argo-cd-and-flux.md, by the very apply that it uses: on the server, with
force. Fights with Argo CD, which applies on the client, are in `tests/integration/traffic/test_fights.py`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitops_bg.core import names
from tests.support import manifests
from tests.support.cluster.clusters import TestCluster, Write
from tests.support.cluster.paths import path_of, replica_sets, services
from tests.support.cluster.rawapi import MERGE, Json
from tests.support.scenario import App, scenario
from tests.support.waiting import PATIENCE

FLUX = "kustomize-controller"
"""Its field manager."""


@pytest.fixture
def web(cluster: TestCluster, tmp_path: Path) -> Iterator[App]:
    """The app `web` with v1 live and v2 offered, on both clusters; the agent runs."""
    with scenario(cluster, tmp_path) as world:
        world.start()
        app = world.app().deploy("v1")
        app.push_image("v2")
        app.wait_offered("v2")
        app.wait_preview("v2")
        world.wait_idle()
        yield app


def repository_of_the_other(web: App, name: str, tag: str) -> Json:
    """The Service as the other tool's repository has it: it selects the pods of a tag."""
    ports = [{"name": "http", "port": 8080, "protocol": "TCP"}]
    metadata, selector = {"name": name, "namespace": web.key.namespace}, names.selector(web.key, web.digest(tag))
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"selector": selector, "ports": ports}}


def sync(web: App, manifest: Json) -> None:
    """What the tool does at each of its looks."""
    how = ("apply", "--validate=false", "--server-side", "--force-conflicts")
    arguments = (*how, f"--field-manager={FLUX}", "-f", "-")
    done = web.scenario.cluster.kubectl(*arguments, input=json.dumps(manifest))
    assert done.returncode == 0, done.stderr


def insist(web: App, change: Callable[[], object], is_ours: Callable[[], bool], until: Callable[[], bool]) -> None:
    """Change it whenever the agent has put it back, until the end."""
    deadline = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < deadline, web.status
        if is_ours():
            change()


def is_contested(web: App) -> bool:
    return bool(events(web, "Contested"))


def writes_to(web: App, name: str) -> list[Write]:
    return [each for each in of_the_agent(web) if each.path.endswith(f"/{name}")]


def of_the_agent(web: App) -> list[Write]:
    """Its writes so far, but for Events."""
    theirs = (each for each in web.scenario.writes() if not each.agent.startswith("kubectl"))
    return [each for each in theirs if "/events" not in each.path]


def events(web: App, reason: str) -> list[str]:
    return [each["message"] for each in web.scenario.events() if each["reason"] == reason]


def test_a_tool_that_holds_on_to_the_live_service_is_named_and_slowed_down(web: App) -> None:
    manifest = repository_of_the_other(web, "web", "v2")
    sync(web, manifest)
    insist(
        web,
        lambda: web.scenario.cluster.patch(
            f"{services(web.key.namespace)}/web",
            {"spec": {"selector": manifest["spec"]["selector"]}},
            MERGE,
            fieldManager=FLUX,
        ),
        lambda: web.live_tag() == "v1",
        lambda: is_contested(web),
    )
    (said,) = events(web, "Contested")
    assert said.startswith(f"Service web: {FLUX} changes spec."), said
    assert "spec.selector" in said
    assert "again and again" in said

    before, begun = len(writes_to(web, "web")), time.monotonic()
    changed = [0]

    def change() -> None:
        changed[0] += 1
        sync(web, manifest)

    insist(web, change, lambda: web.live_tag() == "v1", lambda: changed[0] >= 2)
    repairs, passed = len(writes_to(web, "web")) - before, time.monotonic() - begun
    # A repair may be three writes: the ports, the rest, and, before Kubernetes 1.22, the selector.
    assert repairs <= 3 * (passed + 2), "no more than one repair a second"

    web.wait_live("v1")
    web.scenario.wait_idle()
    assert events(web, "Contested") == [said], "it is said once"
    drifts = [each for each in events(web, "ServiceApplied") if f"{FLUX} changed spec.selector" in each]
    assert drifts, "what was changed is said with the field and the manager"


def _delete(web: App) -> Callable[[], object]:
    return lambda: web.scenario.cluster.delete(f"{services(web.key.namespace)}/web-preview")


def _size(web: App) -> Callable[[], object]:
    path = f"{replica_sets(web.key.namespace)}/{_candidate(web)}"
    return lambda: web.scenario.cluster.patch(path, {"spec": {"replicas": 7}}, MERGE, fieldManager="kubectl-patch")


def _candidate(web: App) -> str:
    return str(web.replica_set(web.digest("v2"))["metadata"]["name"])


OTHERS: dict[str, tuple[Callable[[App], Callable[[], object]], str, str]] = {
    "a deletion": (_delete, "web-preview", "Service web-preview: somebody deletes it"),
    "the size of a candidate": (_size, "", "kubectl-patch changes spec.replicas"),
}


@pytest.mark.parametrize(("how", "name", "said"), OTHERS.values(), ids=OTHERS)
def test_what_no_live_traffic_depends_on_waits_ever_longer(
    web: App, how: Callable[[App], Callable[[], object]], name: str, said: str
) -> None:
    change, name = how(web), name or _candidate(web)
    for number in range(1, 5):
        before = len(writes_to(web, name))
        change()
        web.wait(lambda before=before: len(writes_to(web, name)) > before, f"repair {number} is made at once")
        web.scenario.wait_idle()
    before = len(writes_to(web, name))
    change()
    web.scenario.advance(5)
    web.wait(lambda: len(writes_to(web, name)) > before, "the pause is over")
    web.wait(lambda: any(said in each for each in events(web, "Contested")), "the fight is named")
    web.scenario.wait_idle()
    before = len(writes_to(web, name))
    change()
    web.scenario.advance(5)
    web.scenario.wait_idle()
    assert len(writes_to(web, name)) == before, "the next pause is twice as long"
    web.scenario.advance(120)
    web.wait(lambda: len(writes_to(web, name)) > before, "it is over as well")
    assert web.live_tag() == "v1"


def test_there_is_peace_with_a_tool_that_leaves_alone_what_the_recipe_says(web: App) -> None:
    """The other tool still applies what it may: annotations and labels of its own, without selector and ports."""
    metadata = {"name": "web", "namespace": web.key.namespace, "annotations": {"team": "shop"}}
    rest = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    sync(web, rest)
    web.scenario.wait_idle()
    before = len(of_the_agent(web))
    for team in range(6):
        metadata["annotations"] = {"team": f"shop-{team}"}
        sync(web, rest)
    web.scenario.wait_idle()
    assert of_the_agent(web)[before:] == [], events(web, "ServiceApplied")
    found = web.scenario.live("services", "web")
    assert found is not None
    assert found["metadata"]["annotations"]["team"] == "shop-5"
    assert events(web, "Contested") == []
    assert web.live_tag() == "v1"


def _replace_by_force(web: App, manifest: Json) -> None:
    """Delete it and make it anew; again, if the agent was quicker."""
    path, status = path_of(manifest), 0
    while status != 201:
        web.scenario.cluster.delete(path)
        status, _ = web.scenario.cluster.request("POST", path.rpartition("/")[0], manifest)


def test_a_tool_that_replaces_the_live_service_by_force_has_it_with_the_promoted_version_alone(web: App) -> None:
    """Argo CD with `Replace=true` and `Force=true` deletes it and makes its own, which selects whatever carries a label
    of the app: nobody writes over it, and no pod that nobody promoted is behind it.
    """
    theirs = manifests.service(web.key.namespace, "web", app="web")
    for _ in range(2):
        _replace_by_force(web, theirs)
        said = web.wait_condition("Conflict")["message"]
        web.wait(lambda: web.versions()["v2"].replicas == 0, "the candidate has no pods")
        assert "the selector app=web of Service web" in said
        assert web.versions()["v1"].available == 2
        found = web.scenario.live("services", "web")
        assert found is not None
        assert found["spec"]["selector"] == {"app": "web"}
        done = web.scenario.cluster.kubectl(*said.partition("kubectl ")[2].partition(";")[0].split())
        assert done.returncode == 0, done.stderr
        web.wait_live("v1")
        web.wait_preview("v2")
        web.wait(lambda: web.versions()["v2"].available == 2, "the candidate has its pods again")
