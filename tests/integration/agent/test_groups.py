"""Release groups with a running agent: from folders in Git to stages, Services and routes, and back by a revert."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gitops_bg.cluster.groups.routes import read_route
from tests.core.groups.gateway import DENIED, Request, answer
from tests.support.cluster.gateway_api import install_gateway_api
from tests.support.scenario import Scenario
from tests.support.waiting import eventually

API = "gitops-bg.dev/v1alpha1"


class Store:
    """The group `store` of a namespace, as its users write it and see it."""

    def __init__(self, world: Scenario) -> None:
        self.world = world
        self.folder = f"groups/{world.namespace}/store"
        self.spec: dict[str, Any] = {"active": "v1", "gateway": {"parentRefs": [{"name": "public"}]}}

    def group(self) -> dict[str, str | None]:
        metadata = {"name": "store", "namespace": self.world.namespace}
        body = {"apiVersion": API, "kind": "ReleaseGroup", "metadata": metadata, "spec": self.spec}
        return {f"{self.folder}/group.yaml": yaml.safe_dump(body)}

    def version(self, name: str, *, tag: str = "", **services: str) -> dict[str, str | None]:
        """The folder of a version: services with their paths."""
        files: dict[str, str | None] = {}
        for service, paths in services.items():
            app = self.world.app(f"{service}-{name}")
            target = yaml.safe_load(app.target_yaml(tag or name))
            target["metadata"]["name"] = service
            live = {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": service},
                "spec": {"ports": [{"port": 80}]},
            }
            routes = [{"path": {"prefix": path}} for path in paths.split()]
            written = {
                "target.yaml": target,
                "service.yaml": live,
                "routes.yaml": {"apiVersion": API, "kind": "ServiceRoutes", "routes": routes},
            }
            files |= {f"{self.folder}/{name}/{service}/{file}": yaml.safe_dump(each) for file, each in written.items()}
        return files

    def activate(self, version: str) -> str:
        self.spec["active"] = version
        return self.world.publish(f"store: {version}", self.group())

    def status(self) -> dict[str, Any]:
        path = f"/apis/{API}/namespaces/{self.world.namespace}/releasegroups/store"
        found = self.world.cluster.find(path) or {}
        status: dict[str, Any] = found.get("status") or {}
        return status

    def stages(self) -> str:
        return " ".join(f"{each['name']}{each['stage'][0]}" for each in self.status().get("versions", ()))

    def wait(self, stages: str, phase: str = "Healthy") -> None:
        def is_so() -> bool:
            assert (self.stages(), self.status().get("phase")) == (stages, phase), self.status()
            return True

        eventually(is_so, what=f"{stages} {phase}")

    def condition(self, kind: str) -> dict[str, Any]:
        found: dict[str, Any] = next(each for each in self.status()["conditions"] if each["type"] == kind)
        return found

    def ask(self, path: str, version: str = "") -> str:
        """Which member answers by the live HTTPRoutes."""
        listed = self.world.cluster.list(
            f"/apis/gateway.networking.k8s.io/v1/namespaces/{self.world.namespace}/httproutes"
        )
        routes = [route for body in listed if (route := read_route(body)) is not None]
        found = answer(routes, Request(path, {"X-Version": version} if version else {}))
        return DENIED if found == "gitops-bg-deny" else found

    def selected(self, service: str) -> dict[str, str]:
        live = self.world.live("services", service)
        return dict(live["spec"]["selector"]) if live else {}


@pytest.fixture
def store(world: Scenario) -> Store:
    install_gateway_api(world.cluster)
    world.remote.write("gitops-bg.yaml", f"apiVersion: {API}\nkind: Settings\n")
    return Store(world)


def begin(store: Store) -> None:
    """Two versions of cart, auth of the first one only; v1 serves."""
    store.world.start()
    first, second = store.version("v1", cart="/cart /old", auth="/auth"), store.version("v2", cart="/cart /new")
    store.world.publish("The store", {**store.group(), **first, **second})
    store.wait("v1A v2C")


def test_a_group_comes_up_with_its_services_and_its_routes(store: Store) -> None:
    begin(store)
    assert [store.ask("/cart", each) for each in ("", "v1", "v2")] == ["cart-v1", "cart-v1", "cart-v2"]
    assert [store.ask("/old", each) for each in ("", "v2")] == ["cart-v1", DENIED]
    for service in ("cart", "auth"):
        assert store.selected(service) == store.selected(f"{service}-v1") != {}


def test_promotion_moves_all_services_and_its_revert_moves_them_back(store: Store) -> None:
    begin(store)
    commit = store.activate("v2")
    store.wait("v1L v2A")
    assert [store.ask("/cart", each) for each in ("", "v1", "v2")] == ["cart-v2", "cart-v1", "cart-v2"]
    assert store.selected("cart") == store.selected("cart-v2")
    assert store.selected("auth") == store.selected("auth-v1"), "what v2 does not bring serves on"

    store.world.pull()
    store.world.remote.revert(commit)
    store.world.push()
    store.wait("v1A v2C")
    assert store.ask("/cart") == "cart-v1"
    assert store.selected("cart") == store.selected("cart-v1")


def test_one_member_that_does_not_come_up_keeps_the_group_where_it_is(store: Store) -> None:
    begin(store)
    bad = store.version("v3", tag="bad-image", cart="/cart")
    store.spec["active"] = "v3"
    store.world.publish("v3", {**store.group(), **bad})
    store.wait("v1A v2C v3C", "Waiting")
    (gate,) = [each for each in store.status()["gates"] if not each["open"]]
    assert gate["kind"] == "availability"
    assert "cart-v3" in gate["reason"]
    assert store.ask("/cart") == "cart-v1"


def test_a_fix_within_the_active_version_is_followed_by_its_service(store: Store) -> None:
    begin(store)
    before = store.selected("cart")
    cart = store.world.app("cart-v1")
    cart.folder = f"{store.folder}/v1/cart"
    fixed = store.version("v1", tag="fixed", cart="/cart /old")
    path = f"{cart.folder}/target.yaml"
    store.world.publish("Fix cart in v1", {path: fixed[path]})
    cart.wait_offered("fixed")
    cart.merge_offer()
    cart.wait_live("fixed")
    eventually(lambda: store.selected("cart") == store.selected("cart-v1") != before, what="cart follows")


def test_a_deleted_candidate_has_no_pods_and_comes_back_when_its_folder_changes(store: Store) -> None:
    begin(store)
    store.world.publish("v3", store.version("v3", cart="/cart"))
    store.wait("v1A v2C v3C")
    store.activate("v2")
    store.wait("v1L v2A")
    eventually(lambda: store.world.live("bluegreendeployments", "cart-v3") is None, what="cart-v3 is gone")
    store.world.publish("v3 again", store.version("v3", tag="better", cart="/cart"))
    store.wait("v1L v2A v3C")
    assert store.ask("/cart", "v3") == "cart-v3"


def test_a_mistake_is_said_with_its_line_and_nothing_moves(store: Store) -> None:
    begin(store)
    store.spec["archiveSize"] = -1
    store.activate("v2")
    eventually(lambda: store.status().get("phase") == "Invalid", what="the mistake is shown")
    assert "group.yaml:" in store.condition("SpecValid")["message"]
    assert "-1 is too small (write 0 or more)" in store.condition("SpecValid")["message"]
    assert (store.stages(), store.ask("/cart")) == ("v1A v2C", "cart-v1")
    del store.spec["archiveSize"]
    store.activate("v2")
    store.wait("v1L v2A")


def test_a_restarted_agent_goes_on_and_writes_nothing_at_rest(store: Store) -> None:
    begin(store)
    store.world.wait_idle()
    before = len(store.world.writes())
    store.world.restart()
    store.world.wait_idle()
    eventually(lambda: store.world.agent is not None and store.world.agent.groups.idle, what="groups are idle")
    assert [each for each in store.world.writes()[before:] if "/events" not in each.path] == []
    store.activate("v2")
    store.wait("v1L v2A")


def test_a_route_and_a_service_that_somebody_deletes_are_made_again(store: Store) -> None:
    begin(store)
    namespace = store.world.namespace
    store.world.cluster.request("DELETE", f"/apis/gateway.networking.k8s.io/v1/namespaces/{namespace}/httproutes/store")
    store.world.cluster.request("DELETE", f"/api/v1/namespaces/{namespace}/services/cart")
    assert store.world.agent is not None
    store.world.agent.groups.main_was_read()
    eventually(lambda: store.ask("/cart") == "cart-v1", what="the route is there")
    eventually(lambda: store.selected("cart") == store.selected("cart-v1"), what="the Service is there")
