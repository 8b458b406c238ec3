"""From live objects to what the core sees; and what counts as drift. Pure: objects in, views out."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.execution.operator_requests import MOST, annotation_of
from gitops_bg.cluster.manifests.render import app_manifest, replica_set_manifest, service_manifest
from gitops_bg.cluster.observation.additions import AppliedStates
from gitops_bg.cluster.observation.drift import contains, same_quantity
from gitops_bg.cluster.observation.observe import Contents, observe
from gitops_bg.cluster.observation.on_demand import Pods, Selected, adopted_from
from gitops_bg.cluster.observation.project import app_state, replica_set_state, service_state, slice_state
from gitops_bg.cluster.observation.routes import ServiceRoutes, selector_without_us
from gitops_bg.cluster.observation.views import SeenReplicaSets
from gitops_bg.core import names
from gitops_bg.core.model.observed import Observed, OperatorCommand, Request, SelectedPods
from gitops_bg.core.model.record import MOST_ANSWERED, Record
from gitops_bg.core.model.spec import Adoption
from gitops_bg.core.model.version import AppKey, Color, Source, Stage, Version, short
from gitops_bg.core.world import World
from tests.core.engine.adoption.builders import RELEASED as RELEASING
from tests.core.engine.adoption.builders import leaving
from tests.integration.cluster.scene import BODY, config, create, snapshot

APP = AppKey("shop", "web")
UID = "uid-of-web"
ONE = snapshot("v1")
SINCE = datetime(2026, 1, 2, tzinfo=UTC)


def live(manifest: Any, **status: Any) -> Any:
    body = copy.deepcopy(manifest)
    body["metadata"] |= {"uid": UID, "resourceVersion": "1", "generation": 1}
    return {**body, "status": {"observedGeneration": 1, **status}}


def app(**metadata: Any) -> Any:
    body = live(app_manifest(APP, BODY))
    body["metadata"] |= metadata
    return body


def replica_set(**action: Any) -> Any:
    return live(
        replica_set_manifest(APP, UID, names.replica_set_name(APP, 1, ONE.digest), create(ONE, **action)),
        availableReplicas=1,
    )


def service(name: str = "web") -> Any:
    return live(service_manifest(APP, UID, name, ONE.digest, None, ONE.text))


def slice_of(name: str, *ready: bool | None, pods: str = "pod", ports: tuple[str, ...] = ("http",)) -> Any:
    metadata = {"namespace": "shop", "name": f"{name}-{pods}", "uid": "x", "resourceVersion": "1"}
    metadata |= {"labels": {"kubernetes.io/service-name": name}}  # type: ignore[dict-item]
    endpoints = [
        {"addresses": [f"10.0.0.{i}"], "conditions": {"ready": each}, "targetRef": {"uid": f"{pods}-{i}"}}
        for i, each in enumerate(ready)
    ]
    return {"metadata": metadata, "endpoints": endpoints, "ports": [{"name": name, "port": 8080} for name in ports]}


def look(
    *, bgd: Any = None, sets: tuple[Any, ...] = (), services: tuple[Any, ...] = (), slices: tuple[Any, ...] = ()
) -> Observed:
    contents = Contents(
        app_state(bgd or app()),
        SeenReplicaSets(tuple(map(replica_set_state, sets))),
        ServiceRoutes(
            {each["metadata"]["name"]: service_state(each) for each in services}, tuple(map(slice_state, slices))
        ),
    )
    return observe(APP, contents, config(APP), Record())


def test_what_was_rendered_is_ours_and_no_drift() -> None:
    seen = look(sets=(replica_set(),), services=(service(), service("web-preview")))
    (view,) = seen.replica_sets
    assert (view.snapshot, view.available, view.number, view.ours, view.drifted) == (ONE, 1, 1, True, False)
    assert seen.active_service is not None
    assert seen.preview_service is not None
    assert (seen.active_service.digest, seen.active_service.drifted) == (short(ONE.digest), False)
    assert seen.app_uid == UID
    assert not seen.app_drifted


def test_nothing_there_is_an_empty_view() -> None:
    assert observe(APP, Contents(), config(APP), Record()) == Observed()


@pytest.mark.parametrize(
    "tamper",
    [
        lambda body: body["spec"]["template"]["spec"]["containers"][0].update(image="evil"),
        lambda body: body["spec"]["template"]["spec"]["containers"].clear(),
        lambda body: body["spec"]["template"]["metadata"]["labels"].pop("team"),
        lambda body: body["metadata"]["labels"].update({names.COLOR: "green"}),
        lambda body: body["metadata"]["labels"].pop(names.DIGEST),
        lambda body: body["metadata"]["annotations"].pop(names.SNAPSHOT),
        lambda body: body["metadata"]["annotations"].update({names.SNAPSHOT: "{}"}),
        lambda body: body["metadata"]["annotations"].pop(names.FULL_DIGEST),
        lambda body: body["metadata"]["ownerReferences"].clear(),
        lambda body: body["metadata"]["ownerReferences"][0].update(uid="of a former life"),
    ],
)
def test_whatever_somebody_changes_on_a_replica_set_is_drift_and_still_ours(tamper: Any) -> None:
    body = replica_set()
    tamper(body)
    (view,) = look(sets=(body,)).replica_sets
    assert view.drifted
    assert view.ours


def test_a_removed_snapshot_is_an_empty_text() -> None:
    body = replica_set()
    del body["metadata"]["annotations"][names.SNAPSHOT]
    (view,) = look(sets=(body,)).replica_sets
    assert (view.snapshot.digest, view.snapshot.text) == (ONE.digest, "")


def test_another_controller_makes_it_foreign() -> None:
    body = replica_set()
    body["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "other", "uid": "y", "controller": True}
    ]
    (view,) = look(sets=(body,)).replica_sets
    assert not view.ours
    assert view.owner == f"ReplicaSet shop/{view.name} is controlled by Deployment other"


def test_the_status_of_a_template_that_was_not_compared_again_is_kept() -> None:
    body = replica_set()
    first = replica_set_state(body)
    body["status"]["availableReplicas"] = 5
    body["spec"]["template"] = {}  # same generation: cannot be, and is not looked at
    assert replica_set_state(body, first).intact
    body["metadata"]["generation"] = 2
    assert not replica_set_state(body, first).intact


@pytest.mark.parametrize(
    ("selector", "digest"),
    [
        (names.selector(APP, ONE.digest), short(ONE.digest)),
        ({**names.selector(APP, ONE.digest), "more": "1"}, ""),
        ({"app": "web"}, ""),
        ({names.APP: "other", names.DIGEST: "abc"}, ""),
        ({}, ""),
    ],
)
def test_only_exactly_our_selector_carries_a_digest(selector: dict[str, str], digest: str) -> None:
    body = service()
    body["spec"]["selector"] = selector
    seen = look(services=(body,)).active_service
    assert seen is not None
    assert (seen.digest, seen.selector) == (digest, tuple(sorted(selector.items())))


def test_endpoints_count_once_for_each_ready_pod_of_the_right_service() -> None:
    slices = (
        slice_of("web", True, False, None),
        slice_of("web", True),  # the same pod in the other IP family
        slice_of("web-preview", True, pods="other"),
    )
    seen = look(services=(service(),), slices=slices).active_service
    assert seen is not None
    assert seen.ready_endpoints == 2


PER_PORT = {
    "one port that a container has, and one that none has": ([("http",)], 0),
    "both ports lead to the pods": ([("http", "metrics")], 2),
    "each port leads to some of the pods": ([("http", "metrics"), ("http",)], 2),
    "a port leads to some other pods only": ([("http",), ("metrics",)], 2),
    "no port leads anywhere": ([()], 0),
}


@pytest.mark.parametrize("name", PER_PORT)
def test_endpoints_are_those_of_the_worst_port(name: str) -> None:
    slices, ready = PER_PORT[name]
    body = service()
    body["spec"]["ports"] = [{"name": each, "port": place + 1} for place, each in enumerate(("http", "metrics"))]
    made = tuple(slice_of("web", True, True, pods=str(place), ports=ports) for place, ports in enumerate(slices))
    seen = look(services=(body,), slices=made).active_service
    assert seen is not None
    assert seen.ready_endpoints == ready


def test_requests_are_read_from_their_annotation_oldest_first() -> None:
    one, two = (Request(number, OperatorCommand.ROLLBACK, "alice", SINCE, "it burns", 3) for number in "12")
    for requests in ((), (one,), (one, two)):
        assert look(bgd=app(annotations={names.REQUEST: annotation_of(requests)})).requests == requests
    for none in ("{", "{}", "[]", "1"):
        assert look(bgd=app(annotations={names.REQUEST: none})).requests == ()


def test_the_annotation_of_an_older_release_is_one_request_and_such_a_release_reads_the_newest() -> None:
    one, two = (Request(number, OperatorCommand.ABORT, "alice", SINCE) for number in "12")
    alone = '{"id": "1", "verb": "abort", "by": "alice", "at": "2026-01-02T00:00:00Z"}'
    assert look(bgd=app(annotations={names.REQUEST: alone})).requests == (one,)
    assert json.loads(annotation_of((one, two))).items() >= json.loads(annotation_of((two,))).items()


def test_no_more_requests_count_than_the_record_remembers_ids() -> None:
    many = tuple(Request(str(number), OperatorCommand.ABORT, "alice", SINCE) for number in range(MOST + 1))
    assert look(bgd=app(annotations={names.REQUEST: annotation_of(many)})).requests == many[1:]
    assert MOST < MOST_ANSWERED


def test_what_is_no_request_does_not_keep_the_others_from_being_read() -> None:
    text = json.dumps({**json.loads(annotation_of((Request("1", OperatorCommand.ABORT, "a", SINCE),))), "before": [{}]})
    assert [each.id for each in look(bgd=app(annotations={names.REQUEST: text})).requests] == ["1"]


def test_replica_set_of_a_forgotten_version_passes_for_none_that_is_known() -> None:
    """Whatever somebody wrote on it: its pods have the labels of the forgotten one."""
    known = Version(1, ONE, Color.BLUE, Stage.ACTIVE, Source("c0ffee"), 1, datetime(2026, 1, 2, tzinfo=UTC))
    ours, former = replica_set(), replica_set()
    former["metadata"]["name"] = "web-v9-0123456789"
    seen = SeenReplicaSets((replica_set_state(former), replica_set_state(ours)))
    views = observe(APP, Contents(app_state(app()), seen), config(APP), Record(versions=(known,))).replica_sets
    assert [view.snapshot.digest for view in views] == ["0123456789", ONE.digest]


# what somebody made of the name, the annotation full-digest and the annotation snapshot: the digest that it runs
NAMED = names.replica_set_name(APP, 1, ONE.digest)
OF_OTHERS = "v1:" + "ab" * 32
CLAIMED = {
    "nothing": ((NAMED, ONE.digest, ONE.text), ONE.digest),
    "the digest is gone": ((NAMED, "", ONE.text), ONE.digest),
    "the digest is cut short": ((NAMED, short(ONE.digest), ONE.text), ONE.digest),
    "the digest is of no release that is known": ((NAMED, f"x:{short(ONE.digest)}", ONE.text), ONE.digest),
    "the digest is another version's": ((NAMED, OF_OTHERS, ONE.text), ONE.digest),
    "the digest is gone, and the name says nothing": (("web", "", ONE.text), ONE.digest),
    "the name says nothing": (("web", ONE.digest, ONE.text), ONE.digest),
    "the snapshot is another": ((NAMED, ONE.digest, "{}"), ONE.digest),
    "the snapshot is another, and the digest is gone: its pods' alone": ((NAMED, "", "{}"), short(ONE.digest)),
    "the snapshot is no JSON, and the digest is gone: its pods' alone": ((NAMED, "", "{"), short(ONE.digest)),
    "both are gone: its pods' alone": ((NAMED, "", ""), short(ONE.digest)),
}


@pytest.mark.parametrize("name", CLAIMED)
def test_replica_set_of_no_known_version_runs(name: str) -> None:
    """Found so: a record that was begun anew, and main by it, named a version by ten digits."""
    (called, full_digest, snapshot), digest = CLAIMED[name]
    body = replica_set()
    body["metadata"]["name"] = called
    body["metadata"]["annotations"] |= {names.FULL_DIGEST: full_digest, names.SNAPSHOT: snapshot}
    (view,) = look(sets=(body,)).replica_sets
    assert view.snapshot.digest == digest


def test_endpoints_of_another_version_are_told_from_those_of_the_selected_one() -> None:
    def slice_with(*pods: str) -> Any:
        made = slice_of("web", *(True for _ in pods))
        for endpoint, pod in zip(made["endpoints"], pods, strict=True):
            endpoint["targetRef"]["name"] = pod
        return made

    new, old = f"{replica_set()['metadata']['name']}-x2x4z", "web-v1-0123456789-abcde"
    for pods, others in (((new,), False), ((new, old), True), ((old,), True), ((), False), (("",), True)):
        service_view = look(services=(service(),), slices=(slice_with(*pods),)).active_service
        assert service_view is not None
        assert service_view.other_endpoints is others, pods


BACK = {
    "the old pods alone": (("old-1", "old-2"), Selected(others=frozenset({"old-1", "old-2", "old-3"})), False),
    "our own pods still": (("ours-1", "ours-2"), Selected(others=frozenset({"old-1", "old-2"})), True),
    "one of a former app as well": (("old-1", "was-1"), Selected(("was",), frozenset({"old-1"})), True),
    "a pod that is no more": (("old-1",), Selected(), True),
    "none": ((), Selected(trouble="no right"), False),
}


@pytest.mark.parametrize("name", BACK)
def test_endpoints_of_a_service_that_was_handed_back_are_told_by_their_pods(name: str) -> None:
    uids, selected, others = BACK[name]
    body, made = service(), slice_of("web", *(True for _ in uids))
    body["spec"]["selector"] = {"app": "web"}
    for endpoint, uid in zip(made["endpoints"], uids, strict=True):
        endpoint["targetRef"] |= {"uid": uid}
    routes = ServiceRoutes({"web": service_state(body)}, (slice_state(made),), {"web": selected})
    seen = observe(APP, Contents(app_state(app()), routes=routes), config(APP), Record()).active_service
    assert seen is not None
    assert seen.other_endpoints is others
    assert seen.selected == SelectedPods(selected.apps, selected.trouble)


SAY_SO = "give shop/web Services of its own; or, if it is shop/was under another name: write adopt: {app: was} into"
TAKES = "which takes over what leads to one version of it"
FIRST = "counts once main, as it was read, has no folder of shop/was: remove the folder of shop/was, or give shop/web"
FORMER = {
    "its file does not say so": (None, (), f"; {SAY_SO}"),
    "its file says so": ("was", ("was",), f", the former name of shop/web, {TAKES}"),
    "its file says so, and that one is there": ("was", (), f"; adopt: {{app: was}} {FIRST}"),
    "its file says another": ("else", ("else",), f"; {SAY_SO}"),
}


@pytest.mark.parametrize("name", FORMER)
def test_the_advice_about_a_service_of_another_app_where(name: str) -> None:
    was, left, advice = FORMER[name]
    body, given = service(), config(APP)
    body["metadata"]["ownerReferences"][0] |= {"name": "was"}
    assert given.spec is not None
    spec = replace(given.spec, adopt=Adoption(app=was, left=left) if was else None)
    contents = Contents(app_state(app()), routes=ServiceRoutes({"web": service_state(body)}))
    seen = observe(APP, contents, replace(given, spec=spec), Record()).active_service
    assert seen is not None
    assert seen.owner.startswith(f"Service shop/web is controlled by BlueGreenDeployment was{advice}")


WITHOUT_US = {
    "what it had before": (names.selector(APP, ONE.digest), '{"selector": {"app": "old"}}', (("app", "old"),)),
    "what it selects, once it was handed back": ({"app": "web"}, "", (("app", "web"),)),
    "nothing that is known, where it was not taken over": (names.selector(APP, ONE.digest), "", ()),
}


@pytest.mark.parametrize("name", WITHOUT_US)
def test_a_service_without_us_selects(name: str) -> None:
    selector, before, expected = WITHOUT_US[name]
    body = service()
    body["spec"]["selector"] = selector
    body["metadata"]["annotations"] = {names.BEFORE_ADOPTION: before} if before else {}
    assert selector_without_us(service_state(body), APP) == expected


def test_an_app_whose_folder_left_main_is_known_by_its_live_spec() -> None:
    contents = Contents(app_state(app()), routes=ServiceRoutes({"web": service_state(service())}))
    seen = observe(APP, contents, None, Record())
    assert seen.active_service is not None
    assert not seen.app_drifted


def test_what_the_server_made_of_our_apply_is_settled_until_one_of_both_changes() -> None:
    settled = AppliedStates()
    body = replica_set()
    body["spec"]["template"]["spec"]["containers"][0]["image"] = "normalised by the server"
    state = replica_set_state(body)
    settled.add(state, ())
    contents = Contents(app_state(app()), SeenReplicaSets((state,)))
    assert not observe(APP, contents, config(APP), Record(), settled).replica_sets[0].drifted
    body["metadata"]["generation"] = 2
    again = Contents(app_state(app()), SeenReplicaSets((replica_set_state(body),)))
    assert observe(APP, again, config(APP), Record(), settled).replica_sets[0].drifted


def test_long_names_keep_their_label() -> None:
    app = AppKey("shop", "w" * 80)
    manifest = replica_set_manifest(app, UID, "any", create(ONE))
    assert manifest["metadata"]["labels"][names.APP] == names.app_label(app)
    assert replica_set_state(live(manifest)).intact


# Drift.


@pytest.mark.parametrize(
    ("present", "desired", "same"),
    [
        ({"a": 1, "added": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({}, {"a": 1}, False),
        ({}, {"a": "", "b": 0, "c": False, "d": [], "e": {}}, True),
        ({"replicas": 3}, {"replicas": 0}, False),
        ({"paused": True}, {"paused": False}, False),
        ({"args": ["a", "b"]}, {"args": ["a"]}, False),
        ({"args": ["b", "a"]}, {"args": ["a", "b"]}, False),
        ({"containers": [{"name": "x"}, {"name": "web", "i": 1}]}, {"containers": [{"name": "web", "i": 1}]}, True),
        ({"containers": [{"name": "x"}]}, {"containers": [{"name": "web"}]}, False),
        ({"env": [{"name": "A", "value": "2"}]}, {"env": [{"name": "A", "value": "1"}]}, False),
        ({"ports": [{"port": 1, "protocol": "TCP"}]}, {"ports": [{"port": 1}]}, True),
        ({"ports": [{"port": 1, "protocol": "UDP"}]}, {"ports": [{"port": 1, "protocol": "TCP"}]}, False),
        ({"limits": {"cpu": "1"}}, {"limits": {"cpu": 1}}, True),
        ({"limits": {"memory": "1Gi"}}, {"limits": {"memory": "1G"}}, False),
        ({"cpu": "500m"}, {"cpu": "0.5"}, False),
        ({"emptyDir": {"sizeLimit": "1Gi"}}, {"emptyDir": {"sizeLimit": "1024Mi"}}, True),
        ([1, 2], {"a": 1}, False),
        ("abc", ["a", "b", "c"], False),
    ],
)
def test_desired_has_to_be_contained_in_live(present: Any, desired: Any, same: bool) -> None:
    assert contains(present, desired) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("0.5", "500m", True), ("1e3", "1k", True), ("2Ki", "2048", True), ("1", "x", False), ("x", "x", False)],
)
def test_quantities_are_amounts(one: str, other: str, same: bool) -> None:
    assert same_quantity(one, other) is same


BEGUN: dict[str, Any] = {"record": {"release": "older"}}
RETURNS: dict[str, tuple[World, str]] = {
    "its file asks for it": (leaving(spec=RELEASING, desired={}), "old"),
    "its file asks for another one than it began with": (leaving(spec=RELEASING, desired={}, **BEGUN), "old"),
    "its folder is gone": (leaving(), "old"),
    "its folder is gone, and it began with another one": (leaving(**BEGUN), "older"),
    "it began, and its file asks for nothing any more": (leaving(desired={}, **BEGUN), "older"),
}


@pytest.mark.parametrize(("state", "name"), RETURNS.values(), ids=RETURNS)
def test_the_deployment_that_is_looked_at_is_the_one_that_live_traffic_goes_back_to(state: World, name: str) -> None:
    """Else its pods would be waited for without end."""
    assert state.release is not None
    assert state.release.deployment == name
    folder = "apps/shop/web" if state.desired.in_git else ""
    assert adopted_from(replace(config(APP), spec=state.spec, folder=folder), state.record) == name


# --- why a pod is not ready although its containers are ---

ALB, NEG = "target-health.elbv2.k8s.aws/web", "cloud.google.com/load-balancer-neg-ready"


class OnePod:
    """A client that lists one pod."""

    def __init__(self, pod: dict[str, Any]) -> None:
        self._pod = pod

    def list(self, *_: object) -> list[dict[str, Any]]:
        """That pod."""
        return [self._pod]


@pytest.mark.parametrize(
    ("gates", "true", "said"),
    [
        ([], ("ContainersReady", "Ready"), ""),
        ([ALB], ("ContainersReady",), ALB),
        ([ALB], (), ""),
        ([ALB, NEG], ("ContainersReady", ALB), NEG),
        ([ALB], ("ContainersReady", ALB, "Ready"), ""),
    ],
    ids=("none", "one that nobody set", "its containers are not ready", "the second of two", "set"),
)
def test_a_pod_says_which_readiness_gate_it_waits_for(gates: list[str], true: tuple[str, ...], said: str) -> None:
    conditions = [
        {"type": each, "status": "True" if each in true else "False"} for each in ("ContainersReady", "Ready")
    ]
    conditions += [{"type": each, "status": "True"} for each in true if each in (ALB, NEG)]
    pod = {
        "metadata": {"name": "a", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"readinessGates": [{"conditionType": each} for each in gates]},
        "status": {"conditions": conditions},
    }
    (view,) = Pods(cast(Client, OnePod(pod))).views(AppKey("shop", "web"))
    assert view.shut_gate == said
