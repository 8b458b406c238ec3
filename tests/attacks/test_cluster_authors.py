"""What anybody with kubectl can write: it is read correctly, or becomes one app's condition, on both clusters."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from gitops_bg.cluster.manifests.stored_record import packed, unpacked
from gitops_bg.core import names
from tests.attacks.conftest import Siege, besieged
from tests.conftest import ON_EITHER_CLUSTER, shared_cluster
from tests.support.cluster.clusters import TestCluster
from tests.support.cluster.paths import collection
from tests.support.scenario import App

BRACKETS = "[" * 20_000
MAPS = '{"a":' * 2_500 + "1" + "}" * 2_500
TEXTS = {
    "brackets": BRACKETS,
    "closed brackets": "[" * 15_000 + "]" * 15_000,
    "maps": MAPS,
    "infinity": '{"version": 1e999, "weight": Infinity, "digest": "x", "id": "1"}',
    "half a character": r'{"digest": "\ud800", "weight": 5, "id": "\udfff", "verb": "\ud800", "by": "\ud800"}',
    "a number of a thousand digits": "9" * 1_000,
    "other types": '{"labels": [1], "annotations": "x", "former": 3, "pending": {}, "digest": {}, "weight": []}',
    "control characters": "\u2028\u0085\u202e\x1b[31m",
}
ANNOTATIONS = (names.REQUEST, names.RECONCILE, names.SNAPSHOT, names.FULL_DIGEST, names.CONFIGURATION,
               names.ANTI_AFFINITY, names.POD_METADATA)  # fmt: skip
RECORDS = {
    "a text": "garbage",
    "no text": "",
    "a seal alone": f"{'0' * 16}.",
    "no base64": f"{'0' * 16}.!!",
    "nothing packed": f"{'0' * 16}.AAAA",
    "another content than the seal says": f"{'0' * 16}.{packed({'versions': 3}).partition('.')[2]}",
    "no map": packed([1]),  # type: ignore[arg-type]
    "gigabytes": f"{'0' * 16}.{b64encode(zlib.compress(b' ' * 2**25)).decode()}",
}


@pytest.fixture(scope="module", params=ON_EITHER_CLUSTER)
def siege(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Siege]:
    """On the real control plane, or on the sandbox where there is none."""
    with besieged(shared_cluster(request), tmp_path_factory.mktemp("siege")) as made:
        yield made


def _path(app: App, kind: str, name: str = "") -> str:
    api = {"ReplicaSet": "apps/v1", "Service": "v1", names.KIND: names.API_VERSION}[kind]
    return f"{collection(api, kind, app.key.namespace)}/{name or app.name}"


@pytest.mark.parametrize("kind", TEXTS)
def test_annotations_may_hold_anything(kind: str, siege: Siege) -> None:
    """Each annotation of ours, on every object of the app that is ours."""
    cluster, web = siege.world.cluster, siege.web
    _annotate(cluster, web, dict.fromkeys(ANNOTATIONS, TEXTS[kind]))
    siege.bystander_goes_on()
    _annotate(cluster, web, {names.REQUEST: None, names.RECONCILE: None})
    tag = f"after{list(TEXTS).index(kind)}"
    web.push_image(tag)
    web.wait_offered(tag)
    assert web.live_tag() == "v1"
    assert web.condition("InternalError")["status"] == "Absent"


def _annotate(cluster: TestCluster, app: App, annotations: dict[str, str | None]) -> None:
    body = {"metadata": {"annotations": annotations}}
    live = [_path(app, "ReplicaSet", version.name) for version in app.versions().values()]
    for path in (*live, _path(app, names.KIND), _path(app, "Service"), _path(app, "Service", f"{app.name}-preview")):
        cluster.patch(path, body)


@pytest.mark.parametrize("kind", RECORDS)
def test_record_that_is_none_is_made_anew(kind: str, siege: Siege) -> None:
    cluster, web = siege.world.cluster, siege.web
    status = f"{_path(web, names.KIND)}/status"
    cluster.patch(status, {"status": {"record": None}})
    web.wait(lambda: web.status.get("record"), "the record is made anew")
    cluster.patch(status, {"status": {"record": None}})
    cluster.patch(status, {"status": {"record": RECORDS[kind]}})
    siege.bystander_goes_on()
    siege.world.advance(0)
    web.wait(lambda: unpacked(web.status) is not None and web.record.epoch, "the record is made anew")
    web.wait(lambda: web.condition("Available")["status"] == "True", "the app is as it was")
    assert web.condition("InternalError")["status"] == "Absent"
    assert web.live_tag() == "v1"


def test_record_of_a_release_that_nobody_here_can_read_is_left_alone_and_the_command_forgets_it(siege: Siege) -> None:
    cluster, web = siege.world.cluster, siege.web
    status = f"{_path(web, names.KIND)}/status"
    newer = packed({**(unpacked(web.status) or {}), "versions": [{"of": "another release"}]})
    cluster.patch(status, {"status": {"record": None}})
    cluster.patch(status, {"status": {"record": newer}})
    siege.bystander_goes_on()
    condition = web.wait_condition("InternalError")
    assert condition["reason"] == "RecordUnreadable"
    assert f"kubectl patch bgd web -n {web.key.namespace} --subresource=status" in condition["message"]
    assert web.phase() == "Degraded"
    assert web.selected()

    cluster.patch(status, {"status": {"record": None}})
    web.wait(lambda: web.condition("InternalError")["status"] == "Absent", "the condition has gone")
    assert web.live_tag() == "v1"


CONDITIONS: dict[str, Any] = {
    "phase": 5, "message": ["x"], "conditions": [{"type": "Healthy", "status": "Maybe"}], "gates": "x", "waits": 3,
    "active": [1], "rollouts": {"a": 1}, "observedGeneration": "many",
}  # fmt: skip


def test_rest_of_the_status_is_written_anew_where_the_server_lets_nonsense_in(siege: Siege) -> None:
    cluster, web = siege.world.cluster, siege.web
    for key, value in CONDITIONS.items():
        cluster.request("PATCH", f"{_path(web, names.KIND)}/status", {"status": {key: value}})
    siege.bystander_goes_on()
    siege.world.advance(0)
    web.wait(lambda: web.condition("Healthy")["status"] in {"True", "False"}, "the status says what is")


SLICES: dict[str, Any] = {
    "null fields": {"endpoints": [{"addresses": None, "conditions": None, "targetRef": None}], "ports": None},
    "no address": {"endpoints": [{"addresses": []}]},
    "no endpoints": {"endpoints": None},
    "names of five letters": {"endpoints": [{"addresses": ["10.0.0.1"], "targetRef": {"kind": "Pod", "name": "a"}}]},
}


@pytest.mark.parametrize("kind", SLICES)
def test_endpoint_slices_may_hold_nothing_or_nulls(kind: str, siege: Siege) -> None:
    cluster, web = siege.world.cluster, siege.web
    group = cluster.preferred("discovery.k8s.io")
    labels = {names.APP: "web", names.MANAGED_BY: names.MANAGER, "kubernetes.io/service-name": "web"}
    name = f"odd-{list(SLICES).index(kind)}"
    manifest = {"apiVersion": group, "kind": "EndpointSlice", "addressType": "IPv4", **SLICES[kind]}
    manifest["metadata"] = {"name": name, "namespace": web.key.namespace, "labels": labels}
    cluster.request("POST", collection(group, "EndpointSlice", web.key.namespace), manifest)
    siege.bystander_goes_on()
    cluster.request("DELETE", f"{collection(group, 'EndpointSlice', web.key.namespace)}/{name}")


def test_all_of_it_is_outlived_by_a_restart(siege: Siege) -> None:
    _annotate(siege.world.cluster, siege.web, dict.fromkeys(ANNOTATIONS, BRACKETS))
    siege.world.cluster.patch(f"{_path(siege.web, names.KIND)}/status", {"status": {"record": "x"}})
    siege.outlives_a_restart()
    siege.web.wait(lambda: unpacked(siege.web.status) is not None and siege.web.record.epoch, "the record is made anew")
    assert siege.web.live_tag() == "v1"
