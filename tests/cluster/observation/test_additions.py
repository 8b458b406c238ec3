"""What others added to a live object is told from what the API server filled in, and from what is theirs to say."""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest

from gitops_bg.cluster.manifests.patches import without
from gitops_bg.cluster.observation.additions import additions, additions_to_pods, changed_fields
from gitops_bg.cluster.observation.drift import contains
from gitops_bg.core.names import APP, BEFORE_ADOPTION, FIELD_MANAGER, NOWHERE
from gitops_bg.sandbox.verbs.patches import json_patch

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
    "off the nodes, in the form of older servers": live(
        spec={"nodeSelector": {"zone": "a", NOWHERE: "true"}},
        fields={"f:spec": {"f:nodeSelector": {"f:zone": {}, f"f:{NOWHERE}": {}}}},
    ),
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
    assert additions_to_pods(NOTHING[name], WITH_ACCOUNT) == ()


def test_a_template_with_thousands_of_variables_is_compared_in_one_pass() -> None:
    """All of it is somebody's, as after a restore: an author must not hold up the watch of all apps."""
    names = [{"name": f"V{number}", "value": "1"} for number in range(6_000)]
    wanted = {**WANTED, "spec": {**WANTED["spec"], "containers": [{**WEB, "env": names}]}}
    state = live(container={"env": [*names, {"name": "MORE", "value": "2"}]})
    began = time.process_time()
    (found,) = additions_to_pods(state, wanted)
    assert found.field == "spec.template.spec.containers[web].env[MORE]"
    assert time.process_time() - began < 2, "quadratic, it takes minutes"


def inside(container: dict[str, Any]) -> dict[str, Any]:
    """Fields of the container web."""
    return {"f:spec": {"f:containers": {'k:{"name":"web"}': container}}}


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
    "a probe, which is refused without a port": (
        live(
            container={"livenessProbe": {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, "periodSeconds": 10}},
            fields=inside({"f:livenessProbe": {"f:httpGet": {"f:port": {}, "f:path": {}}}}),
        ),
        ["containers[web].livenessProbe"],
    ),
    "limits, from which requests are filled in": (
        live(
            container={"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}},
            fields=inside({"f:resources": {"f:limits": {"f:cpu": {}}}}),
        ),
        ["containers[web].resources"],
    ),
    "a list and an item of it, by two": (
        {
            **(both := live(spec={"volumes": [{"name": "x", "emptyDir": {}}]})),
            "metadata": {
                "managedFields": [
                    {"manager": "a", "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:volumes": {}}}}}},
                    {
                        "manager": "b",
                        "fieldsV1": {
                            "f:spec": {
                                "f:template": {"f:spec": {"f:volumes": {'k:{"name":"x"}': {".": {}, "f:name": {}}}}}
                            }
                        },
                    },
                ]
            },
        },
        ["volumes", "volumes[x]"],
    ),
}


@pytest.mark.parametrize(("state", "said"), ADDED.values(), ids=ADDED)
def test_what_was_added_is_named_and_gone_after_one_write(state: dict[str, Any], said: list[str]) -> None:
    found = additions_to_pods(state, WANTED)
    assert [each.field.removeprefix("spec.template.spec.").replace("[81]", "[81/TCP]") for each in found] == said
    operations = without(state, found)
    assert len(operations) == 2, "the API server takes 10,000 at most"
    left = json_patch(copy.deepcopy(state), operations)
    assert additions_to_pods(left, WANTED) == ()
    assert contains(left["spec"]["template"], WANTED)


SELECTED = {"selector": {APP: "web"}}
STICKY = {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}}


def service(by: str, before: str = "", **spec: Any) -> dict[str, Any]:
    """A live Service all of whose spec somebody wrote; ``before`` is the note of what it had when it was taken over."""
    entry = {"manager": by, "fieldsV1": {"f:spec": {f"f:{name}": {} for name in spec}}}
    annotations = {BEFORE_ADOPTION: before} if before else {}
    filled = {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"}
    said = {**SELECTED, **filled, **spec}
    return {"metadata": {"managedFields": [entry], "annotations": annotations}, "spec": said}


SERVICES = {
    "nothing, of what is filled in": (service("velero", sessionAffinity="None", internalTrafficPolicy="Cluster"), []),
    "nothing of ours": (service(FIELD_MANAGER, publishNotReadyAddresses=True), []),
    "pods that are not ready": (service("mesh", publishNotReadyAddresses=True), ["publishNotReadyAddresses"]),
    "that clients stay, with what the API server fills in and drops for it": (
        service("mesh", **STICKY),
        ["sessionAffinity"],
    ),
    "for how long they stay": (
        service("mesh", sessionAffinityConfig={"clientIP": {"timeoutSeconds": 60}}),
        ["sessionAffinityConfig"],
    ),
    "nothing that Git says": (service("mesh", trafficDistribution="PreferClose"), []),
    "nothing of how it is reached": (service("cloud", type="LoadBalancer", loadBalancerSourceRanges=["::/0"]), []),
    "that it is a name of something else": (
        service("mesh", type="ExternalName", externalName="x.example.com"),
        ["externalName", "type"],
    ),
    "nothing that it had before": (
        service("kubectl", '{"routing": {"publishNotReadyAddresses": true}}', publishNotReadyAddresses=True),
        [],
    ),
    "what came since it was taken over": (
        service("kubectl", '{"routing": {}}', publishNotReadyAddresses=True),
        ["publishNotReadyAddresses"],
    ),
    "nothing that it has while it is only just ours by its labels": (
        service("kubectl", publishNotReadyAddresses=True, selector={"app": "web"}),
        [],
    ),
    "nothing where nobody noted what it had before": (service("kubectl", "{}", publishNotReadyAddresses=True), []),
}


@pytest.mark.parametrize(("live_service", "said"), SERVICES.values(), ids=SERVICES)
def test_what_was_added_to_a_service(live_service: dict[str, Any], said: list[str]) -> None:
    found = additions(live_service, {"kind": "Service", "spec": {"trafficDistribution": "PreferClose"}})
    assert [each.field for each in found] == [f"spec.{name}" for name in said]


def test_a_type_that_git_says_is_said_once() -> None:
    led_away = service("mesh", type="ExternalName", externalName="x.example.com")
    found = changed_fields(led_away, {"kind": "Service", "metadata": {}, "spec": {"type": "NodePort", **SELECTED}})
    assert [each.change.text for each in found] == [
        "spec.type: ExternalName → NodePort",
        "spec.externalName: - x.example.com",
    ]


def autoscaler(**spec: Any) -> dict[str, Any]:
    return {"kind": "HorizontalPodAutoscaler", "metadata": {}, "spec": {"maxReplicas": 9, **spec}}


FAST = {"scaleDown": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max"}}
SLOW = {"stabilizationWindowSeconds": 60}
DOUBLE, FOUR = ({"type": kind, "value": value, "periodSeconds": 15} for kind, value in (("Percent", 100), ("Pods", 4)))
ACTS = {
    "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [FOUR, DOUBLE]},
    "scaleDown": {**SLOW, "selectPolicy": "Max", "policies": [DOUBLE]},
}
CPU = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
RESTORED = {"metrics": [{"type": "Resource", "resource": CPU}], "targetCPUUtilizationPercentage": 80}
COPIES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    # what Git says, what is live, what was added
    "a field is taken out with all that was filled in below it": ({}, {"behavior": FAST}, ["spec.behavior"]),
    "below a field of Git only what is more": (
        {"behavior": {"scaleDown": {"selectPolicy": "Max"}}},
        {"behavior": FAST},
        ["spec.behavior.scaleDown.stabilizationWindowSeconds"],
    ),
    "below a field that is kept as a whole": (
        {"selector": {"matchLabels": {"app": "web"}}},
        {"selector": {"matchLabels": {"app": "web", "tier": "front"}}},
        ["spec.selector.matchLabels.tier"],
    ),
    "what is filled in anyway": ({}, {"minReplicas": 1, **RESTORED}, []),
    "what is filled in for how fast it acts": ({"behavior": {"scaleDown": SLOW}}, {"behavior": ACTS}, []),
    "the same number in another place": (
        {"autoscalerRef": {"primaryScalerReplicas": {}}},
        {"autoscalerRef": {"primaryScalerReplicas": {"minReplicas": 1}}},
        ["spec.autoscalerRef.primaryScalerReplicas.minReplicas"],
    ),
    "a bound": ({}, {"minReplicas": 3}, ["spec.minReplicas"]),
}


@pytest.mark.parametrize(("git", "more", "said"), COPIES.values(), ids=COPIES)
def test_what_was_added_to_the_copy_of_an_autoscaler_or_a_budget(
    git: dict[str, Any], more: dict[str, Any], said: list[str]
) -> None:
    fields = owned(more)
    state = {**autoscaler(**more), "metadata": {"managedFields": [{"manager": "k", "fieldsV1": {"f:spec": fields}}]}}
    assert [each.field for each in additions(state, autoscaler(**git))] == said


def test_routes_and_what_has_no_spec_are_compared_as_a_whole() -> None:
    assert additions({"metadata": {}}, {"kind": "ConfigMap", "metadata": {}}) == ()
    state = {"metadata": {"managedFields": [{"manager": "k", "fieldsV1": {"f:spec": {"f:x": {}}}}]}, "spec": {"x": 1}}
    assert additions(state, {"kind": "HTTPRoute", "spec": {}}) == ()
