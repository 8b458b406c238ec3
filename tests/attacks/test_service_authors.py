"""Services in Git that no cluster accepts: their app reports them, and live traffic stays where it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from gitops_bg.spec.app.check import check_repository
from tests.attacks.conftest import Siege, besieged
from tests.attacks.mistakes.long_files import FILES, FOLDER
from tests.conftest import ON_EITHER_CLUSTER, shared_cluster
from tests.support.cluster.rawapi import Json

PORT = {"name": "http", "port": 80, "targetPort": 8080}
_SOUND = {"ports": [PORT]}


def _ports(*ports: Any) -> dict[str, Any]:
    return {"ports": list(ports)}


TAKEN: dict[str, dict[str, Any]] = {
    "an empty selector": {"selector": {}, **_ports(PORT)},
    "a selector with invalid characters": {"selector": {"a b/c/d\u2028": "!\x01"}, **_ports(PORT)},
    "a selector of other types": {"selector": ["x", 5], **_ports(PORT)},
    "a selector of numbers": {"selector": {"a": 5, "b": None}, **_ports(PORT)},
    "100 ports": _ports(*({"name": f"p{number}", "port": 1000 + number, "targetPort": 8080} for number in range(100))),
}
WRONG: dict[str, tuple[Any, str]] = {
    "ExternalName": (
        {"type": "ExternalName", "externalName": "evil.example", **_SOUND},
        "spec.type: ExternalName",
    ),
    "a type that nobody knows": ({"type": "Teleporter", **_SOUND}, "spec.type: 'Teleporter' is not allowed"),
    "port 0": (_ports({**PORT, "port": 0}), "spec.ports[0].port: 0 is too small"),
    "port 65536": (_ports({**PORT, "port": 65536}), "spec.ports[0].port: 65536 is too large"),
    "a port that is a text": (_ports({**PORT, "port": "80"}), "spec.ports[0].port: expected a whole number"),
    "a port that is true": (_ports({**PORT, "port": True}), "spec.ports[0].port: expected a whole number"),
    "no port": (_ports({"name": "x"}), "port: is required"),
    "a targetPort that is a map": (_ports({**PORT, "targetPort": {"a": 1}}), "spec.ports[0].targetPort"),
    "a targetPort of 100,000": (_ports({**PORT, "targetPort": 100_000}), "spec.ports[0].targetPort"),
    "a protocol that nobody knows": (_ports({**PORT, "protocol": "QUIC\u2028"}), "spec.ports[0].protocol"),
    "two ports of one name": (_ports(PORT, {**PORT, "port": 81}), "http is the name of another port"),
    "two ports of one number": (_ports(PORT, {**PORT, "name": "again"}), "80 (TCP) is another port's number"),
    "two ports without names": (_ports({"port": 80}, {"port": 81}), "spec.ports[1]: has no name"),
    "a name with invalid characters": (_ports({**PORT, "name": "Ht tp\u2028"}), "spec.ports[0].name"),
    "ports that are a map": ({"ports": {"a": 1}}, "spec.ports: expected a list, found a mapping"),
    "a port that is a number": (_ports(80), "spec.ports[0]: expected a mapping"),
    "a spec that is a list": ([], "spec: expected a mapping, found a list"),
}


@pytest.fixture(scope="module", params=ON_EITHER_CLUSTER)
def siege(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Siege]:
    """On the real control plane, or on the sandbox where there is none."""
    with besieged(shared_cluster(request), tmp_path_factory.mktemp("siege")) as made:
        yield made


def _push(siege: Siege, spec: Any) -> None:
    metadata = {"name": "web", "namespace": siege.web.key.namespace}
    siege.web.push_object("service.yaml", {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})


def test_what_has_no_meaning_changes_nothing(siege: Siege) -> None:
    """The agent sets selectors itself, whatever the file says."""
    web = siege.web
    for kind, spec in TAKEN.items():
        _push(siege, spec)
        ports = len(spec["ports"])
        web.wait(lambda ports=ports: len(_live(siege)["ports"]) == ports, f"the ports are as in Git: {kind}")
        siege.bystander_goes_on()
        assert web.live_tag() == "v1"
        assert web.condition("InvalidSpec")["status"] == web.condition("Refused")["status"] == "Absent"


@pytest.mark.parametrize("kind", WRONG)
def test_what_no_cluster_takes_or_has_no_pods_is_a_mistake_with_its_line(kind: str) -> None:
    """As the agent finds it: without the field lists of `check`, which the agent does not have (decision 47)."""
    spec, said = WRONG[kind]
    metadata = {"name": "web", "namespace": "shop"}
    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
    files = {path: data for path, data in FILES.items() if path.startswith(f"{FOLDER}/")}
    files[f"{FOLDER}/service.yaml"] = yaml.safe_dump(wrong).encode()
    found = [each.problem for each in check_repository(files.items()).findings]
    told = [str(each) for each in found if each.file == f"{FOLDER}/service.yaml" and each.line]
    assert any(said in each for each in told), told


@pytest.mark.parametrize(
    "kind", ["ExternalName", "a port that is true", "two ports of one name", "a spec that is a list"]
)
def test_what_no_cluster_takes_or_has_no_pods_is_said_with_its_line_and_nothing_of_it_is_live(
    kind: str, siege: Siege
) -> None:
    """Found: an active Service of type ExternalName was said to be wrong, and written to the cluster all the same."""
    web = siege.web
    spec, said = WRONG[kind]
    _push(siege, _SOUND)
    web.wait_condition("InvalidSpec", "Absent")
    web.wait(lambda: [each["port"] for each in _live(siege)["ports"]] == [PORT["port"]], "the ports are as in Git")
    before = _live(siege)
    _push(siege, spec)
    message = web.wait_condition("InvalidSpec")["message"]
    assert f"{web.folder}/service.yaml:" in message
    assert said in message
    siege.bystander_goes_on()
    assert _live(siege) == before
    assert web.live_tag() == "v1"
    assert web.condition("Refused")["status"] == "Absent"


def _live(siege: Siege) -> Json:
    found = siege.world.live("services", "web")
    assert found is not None
    return dict(found["spec"])
