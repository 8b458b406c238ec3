"""Members of a release group on the sandbox: each version of a service is an app, and they are live side by side."""

from __future__ import annotations

import yaml

from gitops_bg.core import names
from tests.support.scenario import App, Scenario
from tests.support.waiting import eventually

GROUP = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: ReleaseGroup
metadata: {{name: store, namespace: {namespace}}}
spec: {{active: v1}}
"""


def member(world: Scenario, version: str) -> App:
    """The service cart in one version; its target and its Service have the same names in all of them."""
    app = world.app(f"cart-{version}")
    app.folder = f"groups/{world.namespace}/store/{version}/cart"
    return app


def folder(app: App, tag: str) -> dict[str, str]:
    """What people write: no app.yaml, and nothing that says which version it is."""
    written = yaml.safe_load(app.target_yaml(tag))
    written["metadata"]["name"] = "cart"
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "cart"}, "spec": {"ports": [{"port": 80}]}}
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "cart"},
        "spec": {"minAvailable": 1, "selector": {}},
    }
    files = {"target.yaml": written, "service.yaml": service, "budget.yaml": budget}
    return {f"{app.folder}/{name}": yaml.safe_dump(each) for name, each in files.items()}


def deploy(world: Scenario, *apps: App) -> None:
    """Push the group with these members, and wait until each is live, in Git and told."""
    group = {f"groups/{world.namespace}/store/group.yaml": GROUP.format(namespace=world.namespace)}
    world.publish("The store", {**group, **{path: text for app in apps for path, text in folder(app, "v1").items()}})
    for app in apps:
        app.wait_live("v1")
        app.wait_primary("v1")
        app.wait_told()


def test_two_versions_of_a_service_are_live_side_by_side_and_a_fix_is_a_rollout_within_one(world: Scenario) -> None:
    world.start()
    one, two = member(world, "v1"), member(world, "v2")
    deploy(world, one, two)
    for app in (one, two):
        service = world.live("services", app.name)
        assert service is not None
        assert service["spec"]["selector"][names.APP] == app.name
        assert world.remote.show("main", f"{app.folder}/primary.yaml")
        budget = world.cluster.find(f"/apis/policy/v1/namespaces/{world.namespace}/poddisruptionbudgets/{app.name}")
        assert budget is not None
        assert budget["spec"]["selector"]["matchLabels"] == {names.APP: app.name}
    cart = eventually(lambda: world.live("services", "cart"), what="the group's own Service")
    assert cart["spec"]["selector"][names.APP] == "cart-v1"
    assert names.APP not in cart["metadata"]["labels"], "it belongs to the group, and to no app"
    assert world.remote.show("main", f"apps/{world.namespace}/cart-v1/primary.yaml") is None

    versions = {each.digest for each in one.versions().values()}
    world.publish("Routes", {f"{one.folder}/routes.yaml": "routes: []\n"})
    world.settle()
    assert {each.digest for each in one.versions().values()} == versions, "a change of its routes makes no version"
    assert not one.offered()
    assert one.condition("InvalidSpec")["status"] == "Absent"

    before = two.object()["status"]["record"], two.selected()
    path = f"{one.folder}/target.yaml"
    world.publish("Fix v1", {path: folder(one, "fixed")[path]})
    one.wait_offered("fixed")
    assert one.live_tag() == "v1", "nothing goes live unasked"
    one.merge_offer()
    one.wait_live("fixed")
    one.wait_told("promoted")
    assert one.primary_digest() == one.digest("fixed")
    assert (two.object()["status"]["record"], two.selected()) == before


def test_an_app_in_two_places_stays_as_it_is(world: Scenario) -> None:
    world.start()
    one = member(world, "v1")
    deploy(world, one)
    other = world.app("cart-v1")
    other.add("v2")
    assert f"{one.folder}" in one.wait_condition("InvalidSpec")["message"]
    world.wait_idle()
    assert (one.live_tag(), set(one.versions())) == ("v1", {"v1"})
