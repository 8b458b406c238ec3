"""OAM's workloads become apps that run as they did: a PodSpecWorkload as it is, a ContainerizedWorkload translated."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spec.importing.texts import SERVICE, app, fields, imported, indented, manifest, value_of

POD = """\
containers:
  - name: web
    image: registry.example/shop/web:1.0.0
    ports: [{name: http, containerPort: 3000}, {name: admin, containerPort: 9000, protocol: TCP}]
"""
POD_SPEC = manifest("PodSpecWorkload", "standard.oam.dev/v1alpha1", f"replicas: 2\npodSpec:\n{indented(POD)}")
BARE = """\
containers:
  - name: web
    image: registry.example/shop/web:1.0.0
    ports: [{name: http, containerPort: 80}, {name: admin, containerPort: 9000}]
"""
CONTAINERIZED = manifest("ContainerizedWorkload", "core.oam.dev/v1alpha2", BARE)
SIZE = "0.yaml:4 spec"
"""What is said of every ContainerizedWorkload: it has no size."""


def target(text: str) -> Any:
    return value_of(imported(text), "apps/shop/web/target.yaml")


def container(more: str) -> dict[str, Any]:
    """The container that one with these fields becomes, without what all have."""
    made: dict[str, Any] = target(CONTAINERIZED + indented(more, 6))["spec"]["template"]["spec"]["containers"][0]
    return {key: each for key, each in made.items() if key not in ("name", "image", "ports")}


def test_a_podspecworkload_becomes_the_target_as_it_is_with_the_service_that_oam_makes() -> None:
    found = imported(POD_SPEC)
    assert found.listed == ()
    assert found.files["apps/shop/web/target.yaml"] == f"# From 0.yaml:1, PodSpecWorkload web.\n{POD_SPEC}"
    assert app(found) == {"strategy": {"blueGreen": {"activeService": "web", "previewService": "web-preview"}}}
    assert value_of(found, "apps/shop/web/services.yaml")["spec"] == {
        "ports": [
            {"name": "http", "port": 8080, "targetPort": 3000},
            {"name": "admin", "protocol": "TCP", "port": 8081, "targetPort": 9000},
        ]
    }


def test_a_service_of_the_files_keeps_its_ports() -> None:
    service = SERVICE.replace("{app: web}", "{component.oam.dev/name: web}")
    found = imported(POD_SPEC, service)
    assert found.listed == ()
    assert value_of(found, "apps/shop/web/services.yaml")["spec"]["ports"][0]["port"] == 80


def test_without_ports_the_services_are_those_that_select_its_pods() -> None:
    text = "".join(line for line in POD_SPEC.splitlines(keepends=True) if "ports:" not in line)
    service = SERVICE.replace("{app: web}", "{component.oam.dev/name: web}")
    service = service.replace("name: web,", "name: front,").replace("targetPort: http", "targetPort: 3000")
    assert app(imported(text, service))["strategy"]["blueGreen"]["activeService"] == "front"


AIMS = {
    "the Deployment that OAM makes": "apiVersion: apps/v1, kind: Deployment",
    "the workload": "apiVersion: standard.oam.dev/v1alpha1, kind: PodSpecWorkload",
}


@pytest.mark.parametrize("aim", AIMS)
def test_an_autoscaler_is_aimed_at_the_target(aim: str) -> None:
    spec = f"scaleTargetRef: {{{AIMS[aim]}, name: web}}\nmaxReplicas: 4\n"
    found = imported(POD_SPEC, manifest("HorizontalPodAutoscaler", "autoscaling/v2", spec))
    assert value_of(found, "apps/shop/web/autoscaler.yaml")["spec"]["scaleTargetRef"] == {
        "apiVersion": "standard.oam.dev/v1alpha1",
        "kind": "PodSpecWorkload",
        "name": "web",
    }


def test_a_containerizedworkload_becomes_a_deployment_with_the_service_of_its_first_port() -> None:
    found = imported(CONTAINERIZED)
    assert fields(found.listed) == [SIZE]
    assert value_of(found, "apps/shop/web/target.yaml") == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [
                        {
                            "name": "web",
                            "image": "registry.example/shop/web:1.0.0",
                            "ports": [{"name": "http", "containerPort": 80}, {"name": "admin", "containerPort": 9000}],
                        }
                    ]
                },
            },
        },
    }
    ports = [{"name": "web", "port": 80, "targetPort": 80}]
    assert value_of(found, "apps/shop/web/services.yaml")["spec"] == {"ports": ports}


def test_its_pods_have_its_labels() -> None:
    text = CONTAINERIZED.replace("namespace: shop", "namespace: shop, labels: {team: a}, annotations: {b: c}")
    assert target(text)["spec"]["template"]["metadata"] == {"labels": {"team": "a"}}
    assert target(text)["spec"]["selector"] == {"matchLabels": {"team": "a"}}


CONTAINERS: dict[str, dict[str, Any]] = {
    "command: [a]\nargs: [b]": {"command": ["a"], "args": ["b"]},
    'resources: {cpu: {required: "0.5"}, memory: {required: 64Mi}}': {
        "resources": {"requests": {"cpu": "0.5", "memory": "64Mi"}}
    },
    'env: [{name: A, value: ""}, {name: B, fromSecret: {name: s, key: k}}]': {
        "env": [
            {"name": "A", "value": ""},
            {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ]
    },
    "readinessProbe: {httpGet: {path: /, port: 80, httpHeaders: [{name: a, value: b}]}, periodSeconds: 2}": {
        "readinessProbe": {
            "httpGet": {"path": "/", "port": 80, "httpHeaders": [{"name": "a", "value": "b"}]},
            "periodSeconds": 2,
        }
    },
    "livenessProbe: {exec: {command: [a]}, failureThreshold: 2}": {
        "livenessProbe": {"exec": {"command": ["a"]}, "failureThreshold": 2}
    },
}


@pytest.mark.parametrize("more", CONTAINERS)
def test_fields_of_a_container(more: str) -> None:
    assert container(more) == CONTAINERS[more]


PODS: dict[str, dict[str, Any]] = {
    "osType: linux\n": {"nodeSelector": {"kubernetes.io/os": "linux"}},
    "arch: arm64\n": {"nodeSelector": {"kubernetes.io/arch": "arm64"}},
    "arch: i386\n": {"nodeSelector": {"kubernetes.io/arch": "386"}},
    "    imagePullSecret: registry\n": {"imagePullSecrets": [{"name": "registry"}]},
}


@pytest.mark.parametrize("more", PODS)
def test_fields_of_the_pods(more: str) -> None:
    pod = target(CONTAINERIZED + indented(more))["spec"]["template"]["spec"]
    del pod["containers"]
    assert pod == PODS[more]


FILES = """\
config:
  - {path: /etc/web/a.yaml, value: "x: 1"}
  - {path: /etc/web-a.yaml, value: "y: 2"}
  - {path: /run/key, fromSecret: {name: tls, key: key.pem}}
"""


def test_each_file_stands_at_its_path_and_those_of_the_workload_are_part_of_a_version() -> None:
    found = imported(CONTAINERIZED + indented(FILES, 6))
    assert fields(found.listed) == [SIZE]
    config = value_of(found, "apps/shop/web/configuration.yaml")
    assert (config["metadata"]["name"], config["data"]) == (
        "web-web",
        {"etc-web-a.yaml": "x: 1", "etc-web-a.yaml-1": "y: 2"},
    )
    pod = value_of(found, "apps/shop/web/target.yaml")["spec"]["template"]["spec"]
    assert pod["containers"][0]["volumeMounts"] == [
        {"name": "files-web", "mountPath": "/etc/web/a.yaml", "subPath": "etc-web-a.yaml"},
        {"name": "files-web", "mountPath": "/etc/web-a.yaml", "subPath": "etc-web-a.yaml-1"},
        {"name": "secret-web-2", "mountPath": "/run/key"},
    ]
    assert pod["volumes"] == [
        {"name": "files-web", "configMap": {"name": "web-web"}},
        {"name": "secret-web-2", "secret": {"secretName": "tls", "items": [{"key": "key.pem", "path": "key.pem"}]}},
    ]


def test_a_volume_that_ends_with_its_pod_is_an_emptydir() -> None:
    disk = "disk: {required: 1Gi, ephemeral: true}, accessMode: RO, sharingPolicy: Exclusive"
    found = imported(CONTAINERIZED + indented(f"resources: {{volumes: [{{name: tmp, mountPath: /tmp, {disk}}}]}}", 6))
    assert fields(found.listed) == [SIZE]
    pod = value_of(found, "apps/shop/web/target.yaml")["spec"]["template"]["spec"]
    assert pod["volumes"] == [{"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}}]
    assert pod["containers"][0]["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp", "readOnly": True}]


def test_storage_that_outlives_its_pods_is_listed_and_the_app_waits_for_it() -> None:
    volume = "{name: data, mountPath: /data, sharingPolicy: Shared, disk: {required: 1Gi}}"
    found = imported(CONTAINERIZED + indented(f"resources: {{volumes: [{volume}]}}", 6))
    assert fields(found.listed) == [
        SIZE,
        "0.yaml:9 spec.containers[0].resources.volumes[0]",
        "0.yaml:9 spec.containers[0].resources.volumes[0].sharingPolicy",
    ]
    assert app(found)["suspend"]["reason"].startswith("a volume of the ContainerizedWorkload has no equal")
    assert "volumes" not in value_of(found, "apps/shop/web/target.yaml")["spec"]["template"]["spec"]


LEFT = {
    "resources: {gpu: {required: 1}}": "spec.containers[0].resources.gpu",
    "resources: {extended: [{name: a.example.com/v1, required: 1}]}": "spec.containers[0].resources.extended",
    "tty: true": "spec.containers[0].tty",
}


@pytest.mark.parametrize("more", LEFT)
def test_what_has_no_equal_is_listed(more: str) -> None:
    found = imported(CONTAINERIZED + indented(more, 6))
    assert fields(found.listed) == [SIZE, f"0.yaml:9 {LEFT[more]}"]


COMPONENT = """\
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: web, namespace: shop}
spec:
  workload:
"""


def component(text: str) -> str:
    """A Component that holds the workload, without a name."""
    return COMPONENT + indented(text.replace("metadata: {name: web, namespace: shop}\n", ""), 4)


@pytest.mark.parametrize("text", [POD_SPEC, CONTAINERIZED], ids=["PodSpecWorkload", "ContainerizedWorkload"])
def test_the_workload_of_a_component_is_imported_under_its_name(text: str) -> None:
    alone, held = imported(text), imported(component(text))
    assert held.files.keys() == alone.files.keys()
    for path in held.files:
        assert value_of(held, path) == value_of(alone, path)


def test_parameters_of_a_component_and_what_fills_them_in_are_listed() -> None:
    parameters = "  parameters: [{name: image, fieldPaths: [spec.podSpec]}]\n"
    configuration = manifest("ApplicationConfiguration", "core.oam.dev/v1alpha2", "components: []\n")
    found = imported(component(POD_SPEC) + parameters, configuration)
    assert fields(found.listed) == ["0.yaml:15 spec.parameters[0]", "1.yaml:2 kind"]


PROBES = "livenessProbe: {exec: {command: [a]}, tcpSocket: {port: 80}}"
WRONG = {
    CONTAINERIZED.replace(indented(BARE), "  osType: linux\n"): "0.yaml:4: spec: has no containers, so there is",
    CONTAINERIZED + indented(PROBES, 6): "0.yaml:9: spec.containers[0].livenessProbe: asks in 2 ways (exec, tcpSocket)",
    CONTAINERIZED + indented("config: [{path: /a}]", 6): "0.yaml:9: spec.containers[0].config[0]: is no file: it has",
    CONTAINERIZED + indented("env: [A]", 6): "0.yaml:9: spec.containers[0].env[0]: says nothing that is known here",
    CONTAINERIZED + indented("env: A", 6): "0.yaml:9: spec.containers[0].env: is no list (write a list)",
    COMPONENT + "    {apiVersion: v1, kind: Pod}\n": "0.yaml:5: spec.workload: Component web holds no workload that",
    POD_SPEC.replace("v1alpha1", "v1"): "0.yaml:1: would be wrong as apps/shop/web/target.yaml: apiVersion: a PodSpec",
}


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_what_keeps_a_workload_of_oam_from_being_whole(text: str) -> None:
    found = imported(text)
    assert found.files == {}
    assert [str(each)[: len(WRONG[text])] for each in found.problems] == [WRONG[text]]
