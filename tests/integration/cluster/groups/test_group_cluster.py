"""The live side of a group on both clusters: its object, its HTTPRoutes, and the Services that follow its members."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import ForeignObject
from gitops_bg.cluster.group_cluster import GroupCluster
from gitops_bg.cluster.group_objects import group_labels, read_route
from gitops_bg.cluster.manifests.services import http_route
from gitops_bg.cluster.manifests.stored_record import packed
from gitops_bg.cluster.observation.ownership import Ownership
from gitops_bg.cluster.observation.routes import acceptance, acceptance_of_rules, unresolved
from gitops_bg.core import names
from gitops_bg.core.errors import InvalidInput, WorldChanged
from gitops_bg.core.groups.inputs import ObservedGroup
from gitops_bg.core.groups.model import GroupGateway, TransitionStep
from gitops_bg.core.groups.record import (
    ApplyGroup,
    ApplyRoute,
    DeletedVersion,
    DeleteRoute,
    DeleteService,
    FollowMember,
    GroupDecision,
    GroupRecord,
    Move,
    Transition,
    TransitionKind,
)
from gitops_bg.core.groups.routing import render
from gitops_bg.core.model.auxiliary import (
    Backend,
    Deny,
    ExtensionRef,
    HttpMatch,
    HttpRoute,
    HttpRule,
    ParentRef,
    PathKind,
    as_stored,
)
from gitops_bg.core.model.conditions import Condition, Phase
from gitops_bg.core.model.journal import PullRequest, PullState
from gitops_bg.core.model.version import GroupKey
from tests.core.groups.notation import NOW, group
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.gateway_api import install_gateway_api
from tests.support.cluster.rawapi import JSON_PATCH
from tests.support.waiting import eventually

SPEC: dict[str, Any] = {"active": "v1"}
ROUTES = "/apis/gateway.networking.k8s.io/v1/namespaces/{}/httproutes"
RULE = HttpRule((HttpMatch("/cart"),), Backend("cart-v1", 80))
ROUTE = HttpRoute("store", ("shop.example.com",), (ParentRef("public"),), (RULE,))


@dataclass
class Store:
    """One group in a namespace of its own."""

    cluster: TestCluster
    key: GroupKey
    subject: GroupCluster

    def do(self, *actions: Any) -> None:
        for action in actions:
            eventually(partial(self._done, action), what=str(action))

    def _done(self, action: Any) -> bool:
        """Carry out an action, unless the sandbox's own Gateway wrote to the route meanwhile."""
        try:
            self.subject.carry_out(self.key, SPEC, action)
        except WorldChanged as error:
            if "has been modified" not in str(error):
                raise
            return False
        return True

    def observed(self) -> ObservedGroup:
        return self.subject.observe(self.key, self.subject.seen(self.key), SPEC, {})

    def service(self, name: str, **changes: Any) -> dict[str, Any]:
        """Create the Service of a member, as its app's engine does, with a pod that answers."""
        self.cluster.add_ready_endpoint(self.key.namespace, name)
        spec = {"selector": {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}], **changes}
        body = {"metadata": {"name": name}, "spec": spec}
        return self.cluster.create(f"/api/v1/namespaces/{self.key.namespace}/services", body)

    def live(self, name: str) -> dict[str, Any]:
        return self.cluster.get(f"/api/v1/namespaces/{self.key.namespace}/services/{name}")

    def route(self, name: str = "store") -> dict[str, Any]:
        return self.cluster.get(f"{ROUTES.format(self.key.namespace)}/{name}")


@pytest.fixture
def store(cluster: TestCluster, namespace: str) -> Iterator[Store]:
    cluster.install_our_kind()
    install_gateway_api(cluster)
    client = Client(Access(str(cluster.kubeconfig)))
    yield Store(cluster, GroupKey(namespace, "store"), GroupCluster(client))
    client.close()


def test_the_group_has_an_object_with_the_spec_of_git(store: Store) -> None:
    assert store.observed().uid == ""
    store.do(ApplyGroup())
    seen = store.observed()
    assert seen.uid
    assert (seen.foreign, seen.drifted) == ("", False)


def test_a_record_comes_back_as_it_was_and_the_older_of_two_decisions_loses(store: Store) -> None:
    store.do(ApplyGroup())
    moving = Transition(TransitionKind.PROMOTION, "v1", "v2", TransitionStep.SWITCH, NOW, NOW, 1)
    state, deleted = group("v1A v2C", "a@v1 a@v2"), (DeletedVersion("v3", "abc"),)
    record = GroupRecord(state=state, transition=moving, leaving=("v0",), left_at=NOW, left=("v0",), deleted=deleted)
    conditions = (Condition("Ready", False, "Promoting", "on its way"),)
    decision = GroupDecision((), record, Phase.PROMOTING, conditions)
    before = store.subject.seen(store.key)
    assert store.subject.save(before, decision, "c1", NOW)
    assert store.subject.seen(store.key).record == record
    assert not store.subject.save(store.subject.seen(store.key), decision, "c1", NOW), "nothing is new"
    pull = PullRequest(7, "https://forge/7", PullState.CLOSED, closed_by="ada")
    assert store.subject.save(store.subject.seen(store.key), decision, "c1", NOW, pull)
    assert store.subject.seen(store.key).pull == pull
    with pytest.raises(WorldChanged):
        store.subject.save(before, replace(decision, phase=Phase.HEALTHY), "c1", NOW)
    listed = store.cluster.kubectl("get", "rg", "-n", store.key.namespace).stdout.splitlines()[1].split()
    assert listed[:3] == ["store", "Promoting", "v1"]


def test_what_only_this_process_sees_is_written_where_nobody_contradicts_it(store: Store) -> None:
    store.do(ApplyGroup())
    decision = GroupDecision((), GroupRecord(epoch="e"), Phase.HEALTHY, (Condition("Ready", True, "Healthy", "v1"),))
    assert store.subject.save(store.subject.seen(store.key), decision, "c1", NOW, may_report=lambda: False), "a record"
    away = replace(decision, conditions=(*decision.conditions, Condition("GitReachable", False, "Unreachable", "away")))
    assert not store.subject.save(store.subject.seen(store.key), away, "c1", NOW, may_report=lambda: False)
    assert store.subject.save(store.subject.seen(store.key), away, "c1", NOW)


def test_a_bug_is_shown_beside_what_is_known_and_needs_no_record(store: Store) -> None:
    store.do(ApplyGroup())
    ready = Condition("Ready", True, "Healthy", "v1 serves")
    store.subject.save(
        store.subject.seen(store.key), GroupDecision((), GroupRecord(epoch="e"), Phase.HEALTHY, (ready,)), "c1", NOW
    )
    path = f"/apis/gitops-bg.dev/v1alpha1/namespaces/{store.key.namespace}/releasegroups/store"
    store.cluster.patch(f"{path}/status", {"status": {"record": "garbage"}})
    bug = Condition("InternalError", True, "InternalError", "a bug")
    assert store.subject.warn(store.key, bug, NOW)
    assert not store.subject.warn(store.key, bug, NOW), "it is no news"
    status = store.cluster.get(path)["status"]
    assert (status["phase"], status["message"], status["record"]) == (
        "Degraded",
        "a bug",
        "garbage",
    )
    shown = {each["type"]: (each["status"], each["message"]) for each in status["conditions"]}
    assert shown == {"Ready": ("False", "a bug"), "Stalled": ("True", "a bug"), "InternalError": ("True", "a bug")}
    assert not store.subject.warn(GroupKey(store.key.namespace, "another"), bug, NOW), "nobody has that one"


def test_a_group_is_ours_whichever_branch_of_the_repository_is_followed(store: Store) -> None:
    """Found so: a group that had left main was left alone after the agent followed another branch."""
    client = Client(Access(str(store.cluster.kubeconfig)))
    main, other, theirs = (
        GroupCluster(client, Ownership(*each))
        for each in (("repo", "prod", "main"), ("repo", "prod", "release"), ("repo", "stage", "main"))
    )
    main.carry_out(store.key, SPEC, ApplyGroup())
    namespaces = [store.key.namespace]
    assert [each.live(namespaces) for each in (main, other, theirs)] == [[store.key], [store.key], []]
    seen = main.seen(store.key)
    assert [each.observe(store.key, seen, SPEC, {}).drifted for each in (main, other)] == [False, True], "it is said so"
    client.close()


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (packed({"state": {"versions": [{"name": "v1"}]}}), "stage is required"),
        (f"{packed({'epoch': 'e'})}x", "is not as an agent wrote it"),
        ("garbage", "is not as an agent wrote it"),
    ],
    ids=["of another release", "edited", "garbage"],
)
def test_a_damaged_record_is_an_error_and_never_an_empty_one(store: Store, record: str, why: str) -> None:
    store.do(ApplyGroup())
    path = f"/apis/gitops-bg.dev/v1alpha1/namespaces/{store.key.namespace}/releasegroups/store/status"
    store.cluster.patch(path, {"status": {"record": record}})
    with pytest.raises(InvalidInput, match=f"(?s){why}.*ReleaseGroup store.*kubectl delete releasegroup"):
        store.subject.seen(store.key)


EXACT = HttpMatch("/cart/x", PathKind.EXACT, (("X-Beta", "yes"), ("X-Version", "v2")), "POST")
RULES = {
    "a prefix": RULE,
    "many matches": HttpRule((EXACT, HttpMatch("/c[ae]rt", PathKind.REGEX)), Backend("cart-v2", 8080), timeout="10s"),
    "a rewritten prefix": HttpRule((HttpMatch("/cart"),), Backend("cart-v1", 80), rewrite="/"),
    "a rewritten path": HttpRule((HttpMatch("/cart", PathKind.EXACT),), Backend("cart-v1", 80), rewrite="/x"),
    "denied by a Service": HttpRule((HttpMatch("/"),), Deny(backend=Backend("deny", 80))),
    "denied by the Gateway": HttpRule((HttpMatch("/"),), Deny(extension=ExtensionRef("e.io", "Filter", "deny"))),
    "denied by nothing": HttpRule((HttpMatch("/"),), Deny()),
}


def without_status(live: dict[str, Any]) -> dict[str, Any]:
    """All of an object but its status, which its Gateway writes at any moment."""
    metadata = {
        key: value for key, value in live["metadata"].items() if key not in ("resourceVersion", "managedFields")
    }
    ours = [each for each in live["metadata"]["managedFields"] if each.get("subresource") != "status"]
    return {**live, "metadata": {**metadata, "managedFields": ours}, "status": None}


@pytest.mark.parametrize("row", RULES)
def test_a_route_is_taken_by_the_api_server_and_reads_back_as_it_was_made(store: Store, row: str) -> None:
    parents = (ParentRef("public", "edge", "https", 443), ParentRef("other"))
    route = HttpRoute("store", ("a.example.com", "*.b.example.com"), parents, (RULES[row],))
    store.do(ApplyGroup(), ApplyRoute(route))
    assert store.observed().routes["store"].route == as_stored(route)
    before = without_status(store.route())
    store.do(ApplyRoute(route))
    assert without_status(store.route()) == before, "the same again changes nothing"


def test_the_largest_routes_are_within_what_the_api_server_takes(store: Store) -> None:
    pods = " ".join(f"t{number}@{name}" for number in range(30) for name in ("v1", "v2"))
    paths = " ".join(f"/p{number}->t{number % 30}@v1" for number in range(300))
    gateway = GroupGateway((ParentRef("public"),), deny=Deny(backend=Backend("deny", 80)))
    routes = render(group("v1A v2C", f"{pods} {paths}"), store.key, gateway)
    store.do(ApplyGroup(), *map(ApplyRoute, routes))
    assert store.observed().routes.keys() == {route.name for route in routes}


def test_rules_that_are_gone_are_gone_live(store: Store) -> None:
    two = replace(ROUTE, rules=(RULE, HttpRule((HttpMatch("/old"),), Backend("cart-v1", 80))))
    store.do(ApplyGroup(), ApplyRoute(two), ApplyRoute(ROUTE))
    assert store.observed().routes["store"].route == ROUTE
    store.do(DeleteRoute("store"))
    assert store.observed().routes == {}


def test_what_somebody_adds_to_a_route_is_seen(store: Store) -> None:
    store.do(ApplyGroup(), ApplyRoute(ROUTE))
    other = {"op": "add", "path": "/spec/rules/0/backendRefs/-", "value": {"name": "other", "port": 80, "weight": 1}}
    path = f"{ROUTES.format(store.key.namespace)}/store"
    store.cluster.ask("PATCH", path, [other], content_type="application/json-patch+json")
    assert store.observed().routes["store"].route is None
    store.do(ApplyRoute(ROUTE))
    assert store.observed().routes["store"].route is not None


def test_a_route_of_somebody_else_is_left_alone(store: Store) -> None:
    store.do(ApplyGroup())
    body = http_route(store.key.namespace, {"app.kubernetes.io/managed-by": "Helm"}, ROUTE)
    store.cluster.create(ROUTES.format(store.key.namespace), body)
    with pytest.raises(ForeignObject, match="managed by Helm; to hand it over, label it"):
        store.do(ApplyRoute(ROUTE))


ACCEPTED = [
    ([], None),
    ([("Accepted", "True", 2), ("ResolvedRefs", "True", 2)], True),
    ([("Accepted", "True", 1), ("ResolvedRefs", "True", 1)], False),
    ([("Accepted", "True", 2), ("ResolvedRefs", "False", 2)], False),
    ([("Accepted", "True", 2)], False),
]


@pytest.mark.parametrize(("conditions", "taken"), ACCEPTED)
def test_a_route_counts_as_taken_when_its_gateway_says_so_of_this_generation(
    conditions: list[tuple[str, str, int]], taken: bool | None
) -> None:
    said = [
        {"type": name, "status": status, "observedGeneration": generation, "reason": "R", "message": "m"}
        for name, status, generation in conditions
    ]
    body = http_route("shop", {}, ROUTE)
    body["metadata"]["generation"] = 2
    body["status"] = {"parents": [{"parentRef": {"name": "public"}, "conditions": said}] if said else []}
    assert acceptance(body)[0] is taken


BACKENDS = {
    "every backend is there": ("True", 2, (True, "", "")),
    "one is not": ("False", 2, (True, "", "R: m")),
    "nobody knows yet": ("Unknown", 2, (False, "a Gateway has not taken its last change yet", "")),
    "one was not": ("False", 1, (False, "a Gateway has not taken its last change yet", "")),
}


@pytest.mark.parametrize(("status", "generation", "expected"), BACKENDS.values(), ids=BACKENDS)
def test_a_backend_that_is_not_there_is_said_apart_from_what_a_gateway_does_not_take(
    status: str, generation: int, expected: tuple[bool | None, str, str]
) -> None:
    said = [
        {"type": "Accepted", "status": "True", "observedGeneration": 2},
        {"type": "ResolvedRefs", "status": status, "observedGeneration": generation, "reason": "R", "message": "m"},
    ]
    body = http_route("shop", {}, ROUTE)
    body["metadata"]["generation"] = 2
    body["status"] = {"parents": [{"parentRef": {"name": "public"}, "conditions": said}]}
    assert (*acceptance_of_rules(body), unresolved(body)) == expected


TAKEN, REFUSED, LATE = ("True", 2), ("False", 2), ("True", 1)

PARENTS = {
    "both have taken it": ({"public": TAKEN, "inner": TAKEN}, True),
    "one has said nothing": ({"public": TAKEN}, None),
    "one refuses it, the other has said nothing": ({"inner": REFUSED}, False),
    "one is behind": ({"public": TAKEN, "inner": LATE}, False),
    "a former one refuses it": ({"public": TAKEN, "inner": TAKEN, "former": REFUSED}, True),
    "only a former one has said something": ({"former": TAKEN}, None),
}


@pytest.mark.parametrize(("parents", "taken"), PARENTS.values(), ids=PARENTS)
def test_of_several_gateways_those_that_the_route_names_count(
    parents: dict[str, tuple[str, int]], taken: bool | None
) -> None:
    def said(status: str, generation: int) -> list[dict[str, object]]:
        return [
            {"type": name, "status": status, "observedGeneration": generation} for name in ("Accepted", "ResolvedRefs")
        ]

    body = http_route("shop", {}, replace(ROUTE, parents=(ParentRef("public"), ParentRef("inner", "edge"))))
    body["metadata"]["generation"] = 2
    spaces = {"public": {}, "inner": {"namespace": "edge"}, "former": {"namespace": "shop"}}
    body["status"] = {
        "parents": [
            {"parentRef": {"name": name, **spaces[name]}, "conditions": said(*each)} for name, each in parents.items()
        ]
    }
    assert acceptance(body)[0] is taken


def test_what_an_uninstalled_controller_said_last_holds_nothing_up() -> None:
    def said(controller: str, generation: int) -> dict[str, object]:
        conditions = [
            {"type": name, "status": "True", "observedGeneration": generation} for name in ("Accepted", "ResolvedRefs")
        ]
        return {"parentRef": {"name": "public"}, "controllerName": controller, "conditions": conditions}

    body = http_route("shop", {}, ROUTE)
    body["metadata"]["generation"] = 5
    body["status"] = {"parents": [said("example.com/old", 2), said("example.com/new", 5)]}
    assert acceptance(body) == (True, "")
    body["status"] = {"parents": [said("example.com/old", 2)]}
    assert acceptance(body)[0] is False


def test_a_stable_service_follows_a_member_in_one_write_and_nothing_else_of_it_changes(store: Store) -> None:
    store.service("cart-v1")
    store.service("cart-v2", selector={"app": "cart-v2", "digest": "x"}, ports=[{"port": 81}])
    store.do(ApplyGroup(), FollowMember("cart", "cart-v1"))
    assert store.observed().services["cart"].member == "cart-v1"
    before = store.live("cart")
    store.do(FollowMember("cart", "cart-v2", "cart-v1"))
    after = store.live("cart")
    assert after["spec"]["selector"] == {"app": "cart-v2", "digest": "x"}
    assert [port["port"] for port in after["spec"]["ports"]] == [81]
    assert after["spec"]["clusterIP"] == before["spec"]["clusterIP"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert store.observed().services["cart"].member == "cart-v2"
    assert set(group_labels(store.key).items()) <= set(after["metadata"]["labels"].items())


def test_a_stable_service_keeps_clients_with_a_pod_as_the_service_of_its_member_does(store: Store) -> None:
    """What Netcracker calls hash policies: they belong to the version, and go with it (B9, row 9)."""
    sticky = {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 600}}}
    store.service("cart-v1")
    store.service("cart-v2", **sticky)
    store.do(ApplyGroup())
    for member, before in (("cart-v1", ""), ("cart-v2", "cart-v1"), ("cart-v1", "cart-v2")):
        store.do(FollowMember("cart", member, before))
        live, wanted = store.live("cart")["spec"], store.live(member)["spec"]
        for field in sticky:
            assert live.get(field) == wanted.get(field)
        assert store.observed().services["cart"].member == member
    store.cluster.patch(f"/api/v1/namespaces/{store.key.namespace}/services/cart", {"spec": sticky})
    assert store.observed().services["cart"].member == "", "somebody changed it: that is drift"
    store.do(FollowMember("cart", "cart-v1", "cart-v1"))
    assert not store.live("cart")["spec"].keys() & {"sessionAffinityConfig"}
    assert store.observed().services["cart"].member == "cart-v1"


def test_a_protocol_that_the_port_of_a_member_says_comes_to_the_stable_service_and_goes(store: Store) -> None:
    port: dict[str, Any] = {"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}
    store.service("cart-v1", ports=[port])
    store.do(ApplyGroup(), FollowMember("cart", "cart-v1"))
    member = f"/api/v1/namespaces/{store.key.namespace}/services/cart-v1"
    for ports in ([port | {"appProtocol": "kubernetes.io/h2c"}], [port]):
        store.cluster.patch(member, [{"op": "add", "path": "/spec/ports", "value": ports}], JSON_PATCH)
        assert store.observed().services["cart"].member == ""
        store.do(FollowMember("cart", "cart-v1", "cart-v1"))
        assert store.live("cart")["spec"]["ports"] == ports
        assert store.observed().services["cart"].member == "cart-v1"


def test_a_member_that_moved_on_is_not_followed_any_more(store: Store) -> None:
    store.service("cart-v1")
    store.do(ApplyGroup(), FollowMember("cart", "cart-v1"))
    store.cluster.patch(
        f"/api/v1/namespaces/{store.key.namespace}/services/cart-v1", {"spec": {"selector": {"app": "newer"}}}
    )
    assert store.observed().services["cart"].member == ""
    store.do(FollowMember("cart", "cart-v1", "cart-v1"))
    assert store.live("cart")["spec"]["selector"] == {"app": "newer"}


def test_a_service_that_follows_another_member_than_expected_is_not_moved(store: Store) -> None:
    store.service("cart-v1")
    store.service("cart-v2")
    store.do(ApplyGroup(), FollowMember("cart", "cart-v1"))
    with pytest.raises(WorldChanged, match="does not follow cart-v3 any more"):
        store.do(FollowMember("cart", "cart-v2", "cart-v3"))
    store.do(DeleteService("cart"))
    assert store.observed().services == {}


MOVES = ApplyRoute(ROUTE, frozenset({Move(frozenset({"cart-v1"}), frozenset({"cart-v2"}))}))


@pytest.mark.parametrize("action", [FollowMember("cart", "cart-v2", "cart-v1"), MOVES], ids=str)
def test_no_request_leaves_pods_for_a_member_whose_pods_failed_since_it_was_decided(store: Store, action: Any) -> None:
    """I1, read live: what a watch tells of pods is late (pitfalls.md)."""
    store.service("cart-v1")
    store.service("cart-v2")
    store.do(ApplyGroup(), FollowMember("cart", "cart-v1"))

    def ready(member: str, *, is_ready: bool) -> None:
        path = f"{store.cluster.endpoint_slices(store.key.namespace)}/{member}-by-hand"
        endpoint = {"addresses": ["10.0.0.1"], "conditions": {"ready": is_ready}}
        store.cluster.patch(path, {"endpoints": [endpoint]})

    ready("cart-v2", is_ready=False)
    with pytest.raises(WorldChanged, match="cart-v2 has no pod that answers, and cart-v1 has"):
        store.do(action)
    assert (store.observed().services["cart"].member, store.observed().routes) == ("cart-v1", {})
    ready("cart-v1", is_ready=False)
    store.do(action)  # Nothing is lost where nobody answers.
    assert store.observed().services["cart"].member == "cart-v2" or store.observed().routes


def test_a_service_of_somebody_else_is_left_alone(store: Store) -> None:
    store.service("cart")
    store.service("cart-v1")
    store.do(ApplyGroup())
    with pytest.raises(ForeignObject, match="made by somebody else"):
        store.do(FollowMember("cart", "cart-v1"))
    with pytest.raises(ForeignObject):
        store.do(DeleteService("cart"))


def test_a_service_that_labels_hand_over_keeps_what_it_said_of_its_pods_and_takes_nothing_more(store: Store) -> None:
    store.service("cart-v1")
    store.do(ApplyGroup())
    store.service("cart", publishNotReadyAddresses=True)
    path = f"/api/v1/namespaces/{store.key.namespace}/services/cart"
    store.cluster.patch(path, {"metadata": {"labels": group_labels(store.key)}})
    # The Service of the member is ours by now, or soon: it selects a version.
    ours = {"selector": {names.APP: "cart-v1"}}
    store.cluster.patch(f"/api/v1/namespaces/{store.key.namespace}/services/cart-v1", {"spec": ours})
    store.do(FollowMember("cart", "cart-v1"))
    assert store.observed().services["cart"].member == "cart-v1"
    assert store.live("cart")["spec"]["publishNotReadyAddresses"] is True
    store.do(FollowMember("cart", "cart-v1", "cart-v1"))
    assert store.live("cart")["spec"]["publishNotReadyAddresses"] is True


def test_what_somebody_changed_is_repaired_and_said_once_and_a_promotion_is_no_change_of_somebody(store: Store) -> None:
    store.service("cart-v1")
    store.service("cart-v2", selector={"app": "cart-v2"})

    def do(action: Any) -> str:
        """What an action repaired."""
        return "; ".join(map(str, store.subject.carry_out(store.key, SPEC, action).drifts))

    assert [do(ApplyGroup()), do(FollowMember("cart", "cart-v1"))] == ["", ""]
    assert do(FollowMember("cart", "cart-v2", "cart-v1")) == ""
    at = f"/apis/gitops-bg.dev/v1alpha1/namespaces/{store.key.namespace}/releasegroups/store"
    service = f"/api/v1/namespaces/{store.key.namespace}/services/cart"
    again = FollowMember("cart", "cart-v2", "cart-v2")
    for path, change, action, said in (
        (at, {"spec": {"active": "v9"}}, ApplyGroup(), "kubectl-edit changed spec.active: v9 → v1"),
        (at, {"spec": {"archiveSize": 3}}, ApplyGroup(), "kubectl-edit changed spec.archiveSize: - 3"),
        (service, {"spec": {"selector": {"app": "x"}}}, again, "kubectl-edit changed spec.selector: {app: x} → {"),
        (service, {"spec": {"sessionAffinity": "ClientIP"}}, again, "kubectl-edit changed spec.sessionAffinity: "),
        (service, {"spec": {"type": "NodePort"}}, again, ""),
    ):
        store.cluster.patch(path, change, fieldManager="kubectl-edit")
        found = do(action)
        assert found.startswith(said) if said else not found
        assert not do(action)
    store.cluster.delete(service)
    assert do(FollowMember("cart", "cart-v2")) == "somebody deleted it"
    do(DeleteService("cart"))
    assert do(FollowMember("cart", "cart-v2")) == ""


def test_a_route_that_says_what_no_agent_writes_is_not_read() -> None:
    body = http_route("shop", {}, ROUTE)
    assert read_route(body) == ROUTE
    assert read_route({**body, "spec": {**body["spec"], "useDefaultGateways": "All"}}) is None


@pytest.mark.parametrize("kind", [PathKind.PREFIX, PathKind.EXACT])
def test_a_route_that_rewrites_another_part_of_the_path_says_something_else(kind: PathKind) -> None:
    def rewriting(matched: PathKind) -> dict[str, Any]:
        rule = HttpRule((HttpMatch("/cart", matched),), Backend("cart-v1", 80), rewrite="/shop")
        return http_route("shop", {}, replace(ROUTE, rules=(rule,)))

    (other,) = {PathKind.PREFIX, PathKind.EXACT} - {kind}
    body = rewriting(kind)
    assert read_route(body) is not None
    body["spec"]["rules"][0]["filters"] = rewriting(other)["spec"]["rules"][0]["filters"]
    assert read_route(body) is None
