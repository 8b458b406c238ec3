"""What others added to the pods of a version is told from what the API server filled in."""

from __future__ import annotations

import time
from typing import Any

import pytest

from gitops_bg.cluster.manifests.patches import without
from gitops_bg.cluster.observation.changed_fields import additions
from gitops_bg.core.names import FIELD_MANAGER, NOWHERE

WEB = {"name": "web", "image": "web:1", "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "1"}]}
WANTED = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [WEB], "nodeSelector": {"zone": "a"}}}
FILLED: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}, "creationTimestamp": None},
    "spec": {
        "containers": [
            {
                **WEB,
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "imagePullPolicy": "IfNotPresent",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "nodeSelector": {"zone": "a"},
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    },
}
"""As the API server keeps it."""


def owned(value: Any, key: str = "") -> Any:
    """The set of fields of somebody who wrote all of it."""
    if isinstance(value, dict) and key != "nodeSelector":
        return {f"f:{name}": owned(each, name) for name, each in value.items()}
    if isinstance(value, list) and key in ("containers", "env"):
        return {f'k:{{"name":"{each["name"]}"}}': {".": {}, **owned(each)} for each in value}
    if isinstance(value, list) and key == "ports":
        return {f'k:{{"containerPort":{each["containerPort"]},"protocol":"TCP"}}': owned(each) for each in value}
    return {}


def live(*, manager: str = "velero", fields: Any = None, spec: Any = None, container: Any = None) -> dict[str, Any]:
    changed = {**FILLED["spec"], "containers": [FILLED["spec"]["containers"][0] | (container or {})], **(spec or {})}
    template = {**FILLED, "spec": changed}
    said = {"f:spec": {"f:template": owned(template) if fields is None else fields}}
    entry = {"manager": manager, "operation": "Update", "fieldsV1": said}
    return {"metadata": {"resourceVersion": "7", "managedFields": [entry]}, "spec": {"template": template}}


NOTHING = {
    "it is ours": live(manager=FIELD_MANAGER, spec={"hostNetwork": True}),
    "restored from a backup, with all that was filled in": live(),
    "nobody says who wrote it": {"metadata": {}, "spec": {"template": FILLED}},
    "the name of the account by its old field": live(spec={"serviceAccountName": "x", "serviceAccount": "x"}),
    "off the nodes": live(spec={"nodeSelector": {"zone": "a", NOWHERE: "true"}}),
    "a field that has gone since": live(fields={"f:spec": {"f:hostPID": {}}}),
    "an item that has gone since": live(fields={"f:spec": {"f:containers": {'k:{"name":"x"}': {".": {}}}}}),
    "a key that is none": live(fields={"f:spec": {"f:containers": {"k:nonsense": {}, "k:7": {}, "i:0": {}}}}),
    "a value of a set": live(fields={"f:spec": {"f:containers": {'v:"x"': {}}}}),
    "false, and nothing": live(spec={"hostNetwork": False, "tolerations": [], "priority": 0}),
}
"""A wanted template with this account is another one; its own test is below."""
WITH_ACCOUNT = {**WANTED, "spec": {**WANTED["spec"], "serviceAccountName": "x"}}


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_was_added(name: str) -> None:
    assert additions(NOTHING[name], WITH_ACCOUNT) == ()


def test_a_template_with_thousands_of_variables_is_compared_in_one_pass() -> None:
    """All of it is somebody's, as after a restore: an author must not hold up the watch of all apps."""
    names = [{"name": f"V{number}", "value": "1"} for number in range(6_000)]
    wanted = {**WANTED, "spec": {**WANTED["spec"], "containers": [{**WEB, "env": names}]}}
    state = live(container={"env": [*names, {"name": "MORE", "value": "2"}]})
    began = time.process_time()
    (found,) = additions(state, wanted)
    assert found.field == "spec.template.spec.containers[web].env[MORE]"
    assert time.process_time() - began < 2, "quadratic, it takes minutes"


OTHER = {"name": "other", "image": "other:1"}
ADDED = {
    "a container": (live(spec={"containers": [*FILLED["spec"]["containers"], OTHER]}), ["containers[other]"]),
    "a command": (live(container={"command": ["sh"]}), ["containers[web].command"]),
    "a variable": (live(container={"env": [*WEB["env"], {"name": "B", "value": "2"}]}), ["containers[web].env[B]"]),
    "a port": (
        live(container={"ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 81}]}),
        ["containers[web].ports[81/TCP]"],
    ),
    "a node selector, kept as a whole": (
        live(spec={"nodeSelector": {"zone": "a", "disk": "ssd"}}),
        ["nodeSelector.disk"],
    ),
    "another account": (
        live(spec={"serviceAccountName": "root", "serviceAccount": "root"}),
        ["serviceAccount", "serviceAccountName"],
    ),
    "another account, of whose old field nobody says who wrote it": (
        live(
            spec={"serviceAccountName": "root", "serviceAccount": "root"},
            fields={"f:spec": {"f:serviceAccountName": {}}},
        ),
        ["serviceAccount", "serviceAccountName"],
    ),
    "something else than is filled in": (live(spec={"dnsPolicy": "Default"}), ["dnsPolicy"]),
    "no time to end, where some is filled in": (
        live(spec={"terminationGracePeriodSeconds": 0}),
        ["terminationGracePeriodSeconds"],
    ),
    "no token, where there is one otherwise": (
        live(spec={"automountServiceAccountToken": False}),
        ["automountServiceAccountToken"],
    ),
    "a container that is started again and again, which is filled in for pods only": (
        live(container={"restartPolicy": "Always"}),
        ["containers[web].restartPolicy"],
    ),
    "several": (live(spec={"hostPID": True, "hostIPC": True}), ["hostIPC", "hostPID"]),
}


@pytest.mark.parametrize(("state", "said"), ADDED.values(), ids=ADDED)
def test_what_was_added_is_named_and_removed_from_the_last_on(state: dict[str, Any], said: list[str]) -> None:
    found = additions(state, WANTED)
    assert [each.field.removeprefix("spec.template.spec.").replace("[81]", "[81/TCP]") for each in found] == said
    operations = without(state, found)
    assert [each["op"] for each in operations] == ["test", "remove"] * len(said)
    removed = [each["path"] for each in operations if each["op"] == "remove"]
    assert removed == sorted(removed, reverse=True)
