"""Release groups with a running agent: from folders in Git to stages, Services and routes, and back by a revert."""

from __future__ import annotations

import pytest
import yaml

from gitops_bg.core.groups.record import MemberState
from gitops_bg.core.model.drift import AT_ONCE
from tests.core.groups.gateway import DENIED, NOBODY
from tests.fixtures.repos.texts import policy
from tests.support.groups import API, Store
from tests.support.scenario import Scenario
from tests.support.waiting import eventually


@pytest.fixture
def store(world: Scenario) -> Store:
    return Store(world)


def test_promotion_moves_all_services_and_its_revert_moves_them_back(store: Store) -> None:
    store.begin()
    assert [store.ask("/cart", each) for each in ("", "v1", "v2")] == ["cart-v1", "cart-v1", "cart-v2"]
    assert [store.ask("/old", each) for each in ("", "v2")] == ["cart-v1", DENIED]
    for service in ("cart", "auth"):
        assert store.selected(service) == store.selected(f"{service}-v1") != {}

    commit = store.activate("v2")
    store.wait("v1L v2A")
    assert [store.ask("/cart", each) for each in ("", "v1", "v2")] == ["cart-v2", "cart-v1", "cart-v2"]
    assert store.selected("cart") == store.selected("cart-v2")
    assert store.selected("auth") == store.selected("auth-v1"), "what v2 does not bring serves on"
    wanted = ["Candidate", "Deployed", "Promoted", "PromotionStarted"]
    eventually(lambda: events(store) == wanted, what="every event is there once")

    store.world.pull()
    store.world.remote.revert(commit)
    store.world.push()
    store.wait("v1A v2C")
    assert store.ask("/cart") == "cart-v1"
    assert store.selected("cart") == store.selected("cart-v1")


def events(store: Store) -> list[str]:
    """The reasons of the Events about the group."""
    found = store.world.cluster.list(f"/api/v1/namespaces/{store.world.namespace}/events")
    return sorted(each["reason"] for each in found if each["involvedObject"]["kind"] == "ReleaseGroup")


def test_a_route_leads_to_the_port_that_its_service_has_until_a_fix_with_another_one_is_promoted(store: Store) -> None:
    store.begin()
    cart = store.world.app("cart-v1")
    cart.folder = f"{store.folder}/v1/cart"
    fixed = store.version("v1", tag="fixed", cart="/cart /old")
    service, target = (f"{cart.folder}/{file}.yaml" for file in ("service", "target"))
    fixed[service] = str(fixed[service]).replace("port: 80", "port: 8080").replace("http", "admin")
    fixed[target] = str(fixed[target]).replace("containerPort: 8080", "containerPort: 9090").replace("http", "admin")

    def led() -> set[int]:
        path = f"/apis/gateway.networking.k8s.io/v1/namespaces/{store.world.namespace}/httproutes/store"
        rules = store.world.cluster.ask("GET", path)["spec"]["rules"]
        return {each["port"] for rule in rules for each in rule["backendRefs"] if each["name"] == "cart-v1"}

    store.world.publish("Fix cart in v1, on another port", fixed)
    eventually(cart.offered, what="the fix is offered")
    store.wait("v1A v2C", "Degraded")
    assert led() == {80}
    cart.merge_offer()
    eventually(lambda: led() == {8080}, what="the route leads to the port that the Service has now")


def test_a_mistake_is_said_with_its_line_and_nothing_moves(store: Store) -> None:
    store.begin()
    store.spec["archiveSize"] = -1
    store.activate("v2")
    eventually(lambda: store.status().get("phase") == "Invalid", what="the mistake is shown")
    assert "group.yaml:" in store.condition("InvalidSpec")["message"]
    assert "-1 is too small (write 0 or more)" in store.condition("InvalidSpec")["message"]
    assert (store.stages(), store.ask("/cart")) == ("v1A v2C", "cart-v1")
    del store.spec["archiveSize"]
    store.activate("v2")
    store.wait("v1L v2A")


def test_a_restarted_agent_goes_on_and_writes_nothing_at_rest(store: Store) -> None:
    store.begin()
    store.world.settle()
    before = len(store.world.writes())
    store.world.restart()
    store.world.wait_idle()
    assert [each for each in store.world.writes()[before:] if "/events" not in each.path] == []
    store.activate("v2")
    store.wait("v1L v2A")


def test_a_link_in_place_of_a_version_deletes_nothing(store: Store) -> None:
    store.begin()
    folder, remote, cart = f"{store.folder}/v2", store.world.remote, store.world.app("cart-v2")
    cart.folder = f"{folder}/cart"
    cart.wait_primary("v2")  # or the agent would write it into the folder that a link takes the place of
    eventually(lambda: store.ask("/cart", "v2") == "cart-v2", what="requests that name it reach it")
    store.world.pull()
    remote.remove(folder)
    (remote.clone / folder).symlink_to("v1")
    remote.run("add", folder)
    remote.commit("v2 is v1")
    store.world.push()
    eventually(lambda: store.status().get("phase") == "Invalid", what="the group says what is wrong")
    assert f"{folder}: is a symbolic link" in store.condition("Ready")["message"]
    store.world.wait_idle()
    assert store.world.live("bluegreendeployments", "cart-v2") is not None
    assert [store.ask("/cart", each) for each in ("", "v2")] == ["cart-v1", "cart-v2"]


def test_a_member_goes_back_also_while_nobody_can_read_the_record_of_its_group(store: Store) -> None:
    store.begin()
    cart = store.world.app("cart-v1")
    cart.folder = f"{store.folder}/v1/cart"
    store.world.publish("Better", store.version("v1", tag="better", cart="/cart /old", auth="/auth"))
    cart.wait_offered("better")
    commit = cart.merge_offer()
    cart.wait_live("better")
    store.world.stop()
    store.damage_record()
    store.world.start()
    store.world.pull()
    store.world.remote.revert(commit)
    store.world.push()
    cart.wait_live("v1")


def test_clearing_an_old_version_away_leaves_alone_what_still_serves_of_it(store: Store) -> None:
    store.begin()
    auth = store.world.app("auth-v1")
    auth.spec["deletionPolicy"] = "delete"
    own = f"{store.folder}/v1/auth/app.yaml"
    store.world.publish("auth goes with its folder", {own: auth.app_yaml()})
    store.activate("v2")
    store.wait("v1L v2A")
    every = {**store.version("v1", cart="/cart /old", auth="/auth"), own: ""}
    store.world.publish("Clear v1 away", dict.fromkeys(every))
    store.wait("v2A", "Degraded")
    assert "the folder v1/auth left main, but the service serves in v2" in store.condition("Ready")["message"]
    assert (store.ask("/auth"), store.ask("/cart")) == ("auth-v1", "cart-v2")
    assert store.selected("auth") == store.selected("auth-v1") != {}
    eventually(lambda: store.world.live("bluegreendeployments", "cart-v1") is None, what="cart-v1 is gone")
    assert store.world.live("bluegreendeployments", "auth-v1") is not None

    store.world.restart()
    store.world.wait_idle()
    agent = store.world.agent
    assert agent is not None
    assert agent.members.state(auth.key) is MemberState.RUNNING, "a new process knows what it belongs to"
    assert store.world.live("bluegreendeployments", "auth-v1") is not None
    assert store.ask("/auth") == "auth-v1"

    store.spec["removedServices"] = ["auth"]
    store.world.publish("auth may leave", store.group())
    store.wait("v2A")
    eventually(lambda: store.world.live("bluegreendeployments", "auth-v1") is None, what="auth-v1 is gone")
    assert store.ask("/auth") == NOBODY
    eventually(lambda: store.world.live("services", "auth") is None, what="so is its Service")


def test_a_group_that_somebody_deletes_while_no_agent_runs_keeps_what_serves_without_a_folder(store: Store) -> None:
    store.begin()
    store.activate("v2")
    store.wait("v1L v2A")
    auth = store.world.app("auth-v1")
    folder = store.version("v1", auth="/auth")
    store.world.publish("Clear auth of v1 away", dict.fromkeys(folder))
    store.wait("v1L v2A", "Degraded")
    store.world.stop()
    store.delete()
    store.world.start()
    assert store.world.agent is not None
    store.look()
    eventually(lambda: store.status().get("phase") == "Degraded", what="the group says what is wrong")
    assert "put v1/auth/ back, or name auth under removedServices" in store.condition("Ready")["message"]
    store.world.wait_idle()
    assert store.world.agent.members.state(auth.key) is not MemberState.DELETED
    assert store.world.live("bluegreendeployments", "auth-v1") is not None
    assert (store.ask("/auth"), store.selected("auth")) == ("auth-v1", store.selected("auth-v1"))

    store.world.publish("Put auth back", folder)
    store.wait("v1L v2A")
    assert [store.ask(path) for path in ("/auth", "/cart")] == ["auth-v1", "cart-v2"]


FREEZE = {
    "policies/freeze.yaml": policy("freeze", '- windows: {deny: [{start: "2020-01-01", reason: INC-4711}]}')
    + "  override: {by: [ada]}\n",
    "policies/people.yaml": f"apiVersion: {API}\nkind: People\npeople: [{{name: ada, emails: [ada@example.com]}}]\n",
}


def test_a_candidate_comes_up_in_a_freeze_and_is_promoted_by_the_commit_that_overrides_it(store: Store) -> None:
    store.begin()
    store.world.publish("Freeze", FREEZE)
    store.world.publish("v3", store.version("v3", cart="/cart"))
    store.wait("v1A v2C v3C")
    eventually(lambda: store.selected("cart-v3") != {}, what="cart-v3 answers")
    assert store.ask("/cart", "v3") == "cart-v3"
    store.activate("v2")
    store.wait("v1A v2C v3C", "Waiting")

    def shut() -> list[tuple[str, str]]:
        return [(each["kind"], each["reason"].partition(": shut")[0]) for each in store.shut_gates()]

    eventually(lambda: shut() == [("policy", "cart-v2: freeze: INC-4711")], what="only the freeze is in its way")
    assert store.ask("/cart") == "cart-v1"
    store.spec["active"] = "v3"
    store.world.publish("Promote v3\n\nBg-Override: freeze\nBg-Reason: INC-4712 needs it", store.group())
    store.wait("v1L v3A")
    store.activate("v1")
    store.wait("v1A v3C")
    assert store.ask("/cart") == "cart-v1", "the way back passes the freeze"

    files = store.version("v4", cart="/cart")
    cart = store.world.app("cart-v4")
    text = yaml.safe_load(cart.app_yaml())
    text["spec"]["strategy"]["blueGreen"] = {"activeServices": ["cart-v4", "public"]}
    store.world.publish("v4", files | {f"{store.folder}/v4/cart/app.yaml": yaml.safe_dump(text)})
    eventually(lambda: "INC-4711" in str(cart.status), what="what has another live Service waits, and says for what")
    assert store.world.live("services", "public") is None


def test_who_drops_a_policy_and_edits_group_yaml_again_is_judged_by_what_held_at_the_promotion(store: Store) -> None:
    store.begin()
    denied = {"policies/images.yaml": policy("images", '- images: {allow: ["elsewhere/*"]}')}
    store.world.publish("Images", denied)
    store.activate("v2")

    def shut() -> bool:
        return any("is none of elsewhere/*" in each["reason"] for each in store.shut_gates())

    eventually(shut, what="the policy is in its way")
    store.world.publish("Drop it", dict.fromkeys(denied))
    store.spec["archiveSize"] = 2
    store.activate("v2")
    store.world.wait_idle()
    assert shut()
    store.activate("v1")
    eventually(lambda: not shut(), what="main names v1, and the agent has seen it")
    store.activate("v2")
    store.wait("v1L v2A")


def test_a_group_names_the_owner_of_a_route_of_its_name_and_its_services_come_up_all_the_same(store: Store) -> None:
    cluster, namespace = store.world.cluster, store.world.namespace
    metadata = {"name": "store", "namespace": namespace}
    body = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": metadata}
    cluster.apply({**body, "spec": {"parentRefs": [{"name": "other"}]}})
    store.world.start()
    store.world.publish("The store", {**store.group(), **store.version("v1", cart="/cart")})
    eventually(lambda: store.selected("cart") != {}, what="the Service is there")
    eventually(
        lambda: "store: it is made by somebody else" in store.condition("RoutesAccepted")["message"], what="it is said"
    )
    found = cluster.find(f"/apis/gateway.networking.k8s.io/v1/namespaces/{namespace}/httproutes/store")
    assert found is not None
    assert [each["name"] for each in found["spec"]["parentRefs"]] == ["other"]


def test_a_version_whose_service_has_the_name_of_somebody_elses_is_not_promoted(store: Store) -> None:
    """Found so: nobody looked at the Service before traffic had moved, and it went back after the deadline."""
    store.begin()
    metadata = {"name": "search", "namespace": store.world.namespace}
    spec = {"selector": {"app": "search"}, "ports": [{"port": 80}]}
    store.world.cluster.apply({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
    store.world.publish("Search", store.version("v2", search="/search"))
    store.activate("v2")
    eventually(
        lambda: "Service search: it is made by somebody else" in str(store.shut_gates()), what="the gate names it"
    )
    assert (store.stages(), store.ask("/cart")) == ("v1A v2C", "cart-v1")


def test_a_group_that_somebody_deletes_stays_where_it_is_though_its_version_got_a_service_late(store: Store) -> None:
    """Found so: its version counted as never promoted, and live traffic went back to the one before. Without a Gateway
    the ledger says which one serves.
    """
    del store.spec["gateway"]
    store.begin()
    store.activate("v2")
    store.wait("v1L v2A")
    store.world.publish("Late", store.version("v2", auth="/auth"))
    eventually(lambda: "bring auth with the next version" in str(store.status()), what="it is said")
    store.delete()
    path = f"{store.folder}/group.yaml"
    store.world.publish("A look", {path: f"{store.group()[path]}# looked at\n"})
    store.wait("v1L v2A", "Degraded")
    assert store.selected("auth")["gitops-bg.dev/app"] == "auth-v1"
    assert store.selected("cart")["gitops-bg.dev/app"] == "cart-v2"


def test_what_somebody_deletes_or_changes_is_made_again_and_that_is_said(store: Store) -> None:
    store.begin()
    namespace = store.world.namespace
    store.world.cluster.request("DELETE", f"/apis/gateway.networking.k8s.io/v1/namespaces/{namespace}/httproutes/store")
    store.world.cluster.request("DELETE", f"/api/v1/namespaces/{namespace}/services/cart")
    assert store.world.agent is not None
    store.look()
    eventually(lambda: store.ask("/cart") == "cart-v1", what="the route is there")
    eventually(lambda: store.selected("cart") == store.selected("cart-v1"), what="the Service is there")
    told = lambda: sorted(each["message"] for each in store.world.events() if each["reason"] == "Repaired")  # noqa: E731
    eventually(lambda: len(told()) == 2, what="both are said")
    assert all("somebody deleted it" in each for each in told()), told()

    path = f"/api/v1/namespaces/{namespace}/services/cart"
    for _ in range(AT_ONCE + 3):
        store.world.cluster.patch(path, {"spec": {"selector": {"app": "theirs"}}}, fieldManager="kubectl-edit")
        store.look()
        eventually(lambda: store.selected("cart") == store.selected("cart-v1"), what="the Service is repaired")
    cluster = store.world.agent.cluster
    eventually(lambda: cluster.events.idle, what="all Events are written")
    changed = "kubectl-edit changed spec.selector"
    (repaired,) = (each for each in store.world.events() if changed in each["message"])
    told_before = 1  # that it was deleted
    assert (repaired["reason"], repaired["count"]) == ("Repaired", AT_ONCE - told_before), "it is not said each time"
    (fight,) = (each for each in store.world.events() if each["reason"] == "Contested")
    says = "Service cart: kubectl-edit changes spec.selector again and again; "
    assert (fight["type"], fight["message"].startswith(says), fight["count"]) == ("Warning", True, 1)


def test_a_candidate_whose_folder_is_removed_is_gone_and_the_active_version_stays_whatever_happens_to_its_folder(
    store: Store,
) -> None:
    store.begin()
    store.world.publish("Delete v2", dict.fromkeys(store.version("v2", cart="/cart")))
    store.wait("v1A")
    eventually(lambda: store.world.live("bluegreendeployments", "cart-v2") is None, what="cart-v2 is gone")
    cart = store.world.app("cart-v1")
    cart.spec["deletionPolicy"] = "delete"
    own = {
        f"{store.folder}/v1/cart/app.yaml": cart.app_yaml().replace("activeService: cart-v1", "activeService: cart-v1")
    }
    store.world.publish("Delete with the folder", own)
    store.world.wait_idle()
    every = {**store.version("v1", cart="/cart", auth="/auth"), **dict.fromkeys(own)}
    store.world.publish("A mistake", dict.fromkeys(every))
    eventually(lambda: store.status().get("phase") == "Invalid", what="active names no version any more")
    store.world.wait_idle()
    assert store.selected("cart") == store.selected("cart-v1") != {}
    assert store.ask("/cart") == "cart-v1"


def test_a_second_group_with_the_same_service_takes_nothing_from_the_one_that_has_it(store: Store) -> None:
    """Not from a new agent either, which reads both at once."""
    store.begin()
    other = Store(store.world, "aaa")
    store.world.stop()
    store.world.publish("Another", {**other.group(), **other.version("v1", tag="bad-image", cart="/basket")})
    store.world.restart()
    eventually(lambda: other.status().get("phase") == "Invalid", what="the second one says so")
    said = f"is the app {store.world.namespace}/cart-v1, which {store.folder}/v1/cart has already"
    assert said in other.condition("InvalidSpec")["message"]
    store.activate("v2")
    store.wait("v1L v2A")
    assert (store.ask("/cart"), store.ask("/cart", "v1")) == ("cart-v2", "cart-v1")


def test_a_second_group_takes_nothing_from_the_one_whose_files_nobody_can_read(store: Store) -> None:
    """Found so: an app whose files nobody can read was nobody's, and the second group led requests to its pods."""
    store.begin()
    cart = store.world.app("cart-v1")
    cart.folder = f"{store.folder}/v1/cart"
    cart.wait_primary("v1")
    store.world.pull()
    remote, folder, other = store.world.remote, f"{store.folder}/v1", Store(store.world, "aaa")
    remote.remove(folder)
    (remote.clone / folder).symlink_to("v2")
    remote.run("add", folder)
    remote.commit("v1 is v2")
    store.world.publish("Another", {**other.group(), **other.version("v1", tag="bad-image", cart="/basket")})
    eventually(lambda: other.status().get("phase") == "Invalid", what="the second one says so")
    said = f"is the app {store.world.namespace}/cart-v1, which {store.folder}/v1/cart has already"
    assert said in other.condition("InvalidSpec")["message"]
    store.world.wait_idle()
    assert (store.ask("/cart"), store.ask("/basket")) == ("cart-v1", "404")
