"""What docs/reference/kubernetes.md says of native sidecars, unknown fields, rules in CEL and Jobs that delete
themselves: on the release of Kubernetes that the tests run on, whichever it is.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support import manifests
from tests.support.analysis import analysed, made, measured, publish_templates, runs
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.control_plane import HOW_TO_GET_THEM, assets, release
from tests.support.cluster.paths import jobs
from tests.support.cluster.rawapi import Json
from tests.support.scenario import App, Scenario
from tests.support.waiting import eventually

pytestmark = pytest.mark.control_plane

SIDECARS, FIELD_VALIDATION, CEL, ADMISSION_POLICIES, GONE_BY_THEMSELVES = 29, 25, 25, 30, 21
"""Since which minor release of Kubernetes each is on by default."""
GROUP = "releases.example.com"
ADMISSION = "admissionregistration.k8s.io/v1"


@pytest.fixture
def minor(control_plane_cluster: ControlPlaneCluster) -> int:
    return control_plane_cluster.minor


# Native sidecars.

SIDECAR = {"name": "proxy", "image": "registry.example/proxy:v1", "restartPolicy": "Always"}


def test_a_version_with_a_native_sidecar_goes_live_where_the_release_has_them_and_is_refused_before(
    web: App, minor: int
) -> None:
    """And the agent takes what the API server makes of it for no change of somebody else: it writes nothing more."""
    world = web.scenario
    web.template["spec"] = {**web.pod_template("v2")["spec"], "initContainers": [SIDECAR]}
    if minor < SIDECARS:
        web.push_image("v2")
        refused = web.wait_condition("Refused")
        assert "restartPolicy: field not declared in schema" in refused["message"]
        assert web.live_tag() == "v1"
        return
    web.promote("v2")
    (container,) = web.replica_set(web.digest("v2"))["spec"]["template"]["spec"]["initContainers"]
    assert container["restartPolicy"] == "Always"
    world.wait_idle()
    before = len(world.writes())
    world.wake()
    world.wait_idle()
    assert [each for each in world.writes()[before:] if "/replicasets" in each.path] == []


# Fields that no kind has.


def strange(namespace: str) -> Json:
    return {**manifests.config_map(namespace), "stray": True}


def test_an_unknown_field_is_refused_where_the_client_asks_for_it_and_the_release_can(
    world: Scenario, minor: int
) -> None:
    cluster, path = world.cluster, f"/api/v1/namespaces/{world.namespace}/configmaps"
    status, body = cluster.request("POST", path, strange(world.namespace), fieldValidation="Strict")
    if minor >= FIELD_VALIDATION:
        assert (status, body["reason"]) == (400, "BadRequest")
        assert 'unknown field "stray"' in body["message"]
    else:
        assert (status, "stray" in body) == (201, False)


def test_an_unknown_field_is_dropped_with_a_warning_where_the_client_asks_for_nothing(
    world: Scenario, minor: int
) -> None:
    path = f"/api/v1/namespaces/{world.namespace}/configmaps"
    said = world.cluster.warning("POST", path, strange(world.namespace))
    assert ('unknown field \\"stray\\"' in said) == (minor >= FIELD_VALIDATION), said
    assert "stray" not in world.cluster.get(f"{path}/one")


def test_an_unknown_field_of_a_version_is_refused_to_the_agent_on_every_release(web: App) -> None:
    """It writes by server-side apply, which drops nothing; `check` names the line before."""
    web.template["spec"] = {**web.pod_template("v2")["spec"], "stray": True}
    web.push_image("v2")
    refused = web.wait_condition("Refused")
    assert ".spec.template.spec.stray: field not declared in schema" in refused["message"]
    assert web.live_tag() == "v1"


# Rules in CEL.


def test_a_rule_in_cel_of_a_foreign_definition_is_run_where_the_release_can(world: Scenario, minor: int) -> None:
    cluster = world.cluster
    definition = manifests.custom_resource_definition("Ruled", GROUP)
    rule = {"rule": "self.least <= self.most", "message": "the least is more than the most"}
    numbers = {"least": {"type": "integer"}, "most": {"type": "integer"}}
    spec = {"type": "object", "properties": numbers, "x-kubernetes-validations": [rule]}
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"] = {"spec": spec}
    cluster.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)  # 1.20 takes it by no apply.
    path = f"/apis/{GROUP}/v1/namespaces/{world.namespace}/ruleds"
    eventually(lambda: cluster.request("GET", path)[0] == 200, what="the kind is served")
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Ruled", "metadata": {"name": "one"}, "spec": {"least": 2, "most": 1}}
    status, answer = cluster.request("POST", path, body)
    if minor >= CEL:
        assert (status, answer["reason"]) == (422, "Invalid")
        assert "the least is more than the most" in answer["message"]
    else:
        assert status == 201


@contextlib.contextmanager
def admission_policy(world: Scenario) -> Iterator[None]:
    """A ValidatingAdmissionPolicy that takes no ReplicaSet of the namespace without the label `team`."""
    cluster, name = world.cluster, f"teams-{uuid.uuid4().hex[:8]}"
    rules = [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["replicasets"]}]
    validation = {"expression": "has(object.spec.template.metadata.labels.team)", "message": "say whose team it is"}
    bodies: dict[str, Json] = {
        "validatingadmissionpolicies": {
            "kind": "ValidatingAdmissionPolicy",
            "spec": {"matchConstraints": {"resourceRules": rules}, "validations": [validation]},
        },
        "validatingadmissionpolicybindings": {
            "kind": "ValidatingAdmissionPolicyBinding",
            "spec": {
                "policyName": name,
                "validationActions": ["Deny"],
                "matchResources": {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": world.namespace}}
                },
            },
        },
    }
    try:
        for plural, body in bodies.items():
            cluster.create(f"/apis/{ADMISSION}/{plural}", {"apiVersion": ADMISSION, "metadata": {"name": name}, **body})
        eventually(lambda: _is_refused(world), what="the policy is in force")
        yield
    finally:
        for plural in reversed(bodies):
            cluster.request("DELETE", f"/apis/{ADMISSION}/{plural}/{name}")


def _is_refused(world: Scenario) -> bool:
    """Whether a dry run of a ReplicaSet that nobody labelled is denied."""
    body = manifests.replica_set(world.namespace, "probe")
    path = f"/apis/apps/v1/namespaces/{world.namespace}/replicasets"
    return world.cluster.request("POST", path, body, dryRun="All")[0] == 422


def test_an_admission_policy_in_cel_holds_back_a_version_until_its_file_follows_it(web: App, minor: int) -> None:
    if minor < ADMISSION_POLICIES:
        assert web.scenario.cluster.find(f"/apis/{ADMISSION}/validatingadmissionpolicies") is None
        return
    with admission_policy(web.scenario):
        web.push_image("v2")
        refused = web.wait_condition("Refused")
        assert refused["reason"] == "PolicyDenied"
        assert "say whose team it is" in refused["message"]
        assert web.live_tag() == "v1"
        labels = {"app": "web", "team": "shop"}
        web.template["metadata"] = {"labels": labels}
        web.push_image("v3")
        web.wait_preview("v3")
        web.wait_condition("Refused", "Absent")


# Jobs that delete themselves.


def test_a_job_deletes_itself_where_the_release_is_shipped_with_it(tmp_path: Path) -> None:
    binaries = assets()
    if binaries is None:
        pytest.skip(HOW_TO_GET_THEM)
    with ControlPlaneCluster.run(binaries, tmp_path, with_gates=False) as cluster:
        namespace = cluster.namespace()
        spec = cluster.create(jobs(namespace), manifests.job(namespace, ttlSecondsAfterFinished=0))["spec"]
        assert spec.get("ttlSecondsAfterFinished") == (0 if release(binaries) >= (1, GONE_BY_THEMSELVES) else None)


def test_the_job_of_an_analysis_is_counted_and_kept_although_its_template_would_delete_it(
    world: Scenario,
) -> None:
    """The agent keeps it as long as its run is remembered (docs/features/analysis.md)."""
    publish_templates(world)
    world.start()
    web = world.app().deploy("v1")
    template = yaml.safe_load(world.remote.read("analysis/sleep-pre.yaml"))
    (metric,) = template["spec"]["metrics"]
    metric["provider"]["job"]["spec"]["ttlSecondsAfterFinished"] = 0
    world.publish("Its Job is to delete itself", {"analysis/sleep-pre.yaml": yaml.safe_dump(template)})
    analysed(web, "prePromotionAnalysis", duration="1")
    web.strategy["autoPromotionEnabled"] = True
    web.configure()
    web.push_image("v2")
    web.wait(lambda: runs(web) == ["2.pre.1"], "its Job is there")
    assert [each["spec"].get("ttlSecondsAfterFinished") for each in world.cluster.list(jobs(world.namespace))] == [None]
    web.wait_live("v2")
    world.wait_idle()
    assert (made(web), measured(web)) == (1, ["2.pre.1.sleep-job.0"])
