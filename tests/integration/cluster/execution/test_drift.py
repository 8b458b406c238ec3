"""What somebody else changes of each kind of object is repaired, and said field by field, with the manager who did it.

On both clusters, by the ways in which other tools write: an edit, a client-side apply, a server-side apply with force.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from gitops_bg.core.model.actions import (
    ApplyApp,
    ApplyAuxiliaryObject,
    ApplyConfiguration,
    ApplyService,
    ClusterAction,
    PointPreview,
    ScaleReplicaSet,
)
from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.observed import Observed
from gitops_bg.core.model.version import short
from gitops_bg.core.names import configuration_name, replica_set_name
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.manifests.auxiliary import AuxiliaryObjects
from tests.integration.cluster.scene import PASSWORDS, SETTINGS, Scene, create, snapshot
from tests.support.auxiliary_objects import budget, hpa, untracked
from tests.support.cluster.paths import collection
from tests.support.cluster.rawapi import APPLY, MERGE, Json

ONE, TWO = snapshot("v1"), snapshot("v2")
SELECTOR = {"app": "theirs"}


@dataclass(frozen=True)
class Case:
    """Somebody else writes ``change`` into the object; ``said`` is the sentence of the repair."""

    kind: str
    name: str
    repair: ClusterAction
    change: Json
    said: str
    manager: str = "kubectl-edit"
    apply: bool = False
    """Whether by server-side apply with force, as Argo CD and Flux do; else by a merge patch."""


def auxiliary(manifest: Json) -> ApplyAuxiliaryObject:
    return ApplyAuxiliaryObject(AuxiliaryObject(manifest["kind"], manifest["metadata"]["name"]), "it differs")


SECRET = {**untracked("Secret"), "stringData": {"token": "hunter2"}}
OBJECTS = (hpa(), budget(minAvailable="50%"), untracked(level="info"), SECRET)
APP = "web"


def cases(scene: Scene) -> dict[str, Case]:
    own = short(ONE.digest)
    replica_set = replica_set_name(scene.app, 1, ONE.digest)
    settings, passwords = (configuration_name(scene.app, each.ref) for each in (SETTINGS, PASSWORDS))
    service = ApplyService("active", "web", ONE.digest, "it differs")
    preview = PointPreview("web-preview", tuple(sorted(scene.selector(TWO).items())), ONE.digest)
    ours = f"{{gitops-bg.dev/app: {APP}, gitops-bg.dev/digest: {own}}}"
    web = {"name": "web", "image": "theirs:v0"}
    image = {"spec": {"template": {"spec": {"containers": [web]}}}}
    many = [{"name": f"V{number}", "value": "x"} for number in range(5_100)]
    beside = [
        {"name": "web", "command": ["sh"], "env": many, "livenessProbe": {"httpGet": {"path": "/", "port": 80}}},
        {"name": "other", "image": "o"},
    ]
    account = {"serviceAccountName": "root"}
    terms = [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]
    nodes = {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    }
    nodes |= {"nodeSelector": {"disk": "ssd"}}
    more = {"spec": {"template": {"spec": {"containers": beside, **nodes, "hostIPC": True, **account}}}}
    dressed = {"spec": {"template": {"metadata": {"labels": {"tier": "front"}, "annotations": {"their.dev/x": "1"}}}}}
    return {
        "the selector of a Service, by an edit": Case(
            "services", "web", service, {"spec": {"selector": {"gitops-bg.dev/digest": "0123456789"}}},
            f"kubectl-edit changed spec.selector: {{gitops-bg.dev/app: {APP}, gitops-bg.dev/digest: 0123456789}}"
            f" → {ours}",
        ),
        "the selector of a Service, by Flux": Case(
            "services", "web", service, {"spec": {"selector": SELECTOR}},
            "kustomize-controller changed spec.selector: ", "kustomize-controller", apply=True,
        ),
        "that a Service leads to pods that are not ready": Case(
            "services", "web", service, {"spec": {"publishNotReadyAddresses": True}},
            "kubectl-edit changed spec.publishNotReadyAddresses: - true",
        ),
        "that clients stay with a pod": Case(
            "services", "web", service, {"spec": {"sessionAffinity": "ClientIP"}},
            "kubectl-edit changed spec.sessionAffinity: - ClientIP",
        ),
        "the same, by a server-side apply": Case(
            "services", "web", service, {"spec": {"publishNotReadyAddresses": True, "sessionAffinity": "ClientIP"}},
            "mesh changed spec.publishNotReadyAddresses: - true, spec.sessionAffinity: - ClientIP",
            "mesh", apply=True,
        ),
        "that a Service is a name of something else": Case(
            "services", "web", service, {"spec": {"type": "ExternalName", "externalName": "x.example.com"}},
            "kubectl-edit changed spec.externalName: - x.example.com, spec.type: - ExternalName",
        ),
        "a port of a Service": Case(
            "services", "web", service, {"spec": {"ports": [{"name": "http", "port": 8080, "targetPort": 99}]}},
            "argocd-controller changed spec.ports: ", "argocd-controller",
        ),
        "a label that somebody takes away": Case(
            "services", "web", service, {"metadata": {"labels": {"app.kubernetes.io/managed-by": None}}},
            "somebody changed metadata.labels[\"app.kubernetes.io/managed-by\"]: + gitops-bg",
        ),
        "the selector of the preview": Case(
            "services", "web-preview", preview, {"spec": {"selector": scene.selector(TWO)}},
            f"kubectl-edit changed spec.selector: {{gitops-bg.dev/app: {APP}, gitops-bg.dev/digest: "
            f"{short(TWO.digest)}}} → {ours}",
        ),
        "the image of a ReplicaSet": Case(
            "replicasets", replica_set, create(ONE, repair=True), image,
            "kubectl-edit changed spec.template.spec.containers[web].image: theirs:v0 → registry.example/web:v1",
        ),
        "more in the pods of a ReplicaSet, by a server-side apply": Case(
            "replicasets", replica_set, create(ONE, repair=True), more,
            "argocd-controller changed spec.template.spec.", "argocd-controller", apply=True,
        ),
        "more metadata of the pods of a ReplicaSet": Case(
            "replicasets", replica_set, create(ONE, repair=True), dressed,
            'kubectl-edit changed spec.template.metadata.annotations: - {their.dev/x: 1}, '
            "spec.template.metadata.labels.tier: - front",
        ),
        "the size of a ReplicaSet": Case(
            "replicasets", replica_set, ScaleReplicaSet(ONE.digest, 1, 0, 1, "it needs 1"), {"spec": {"replicas": 0}},
            "kubectl-edit changed spec.replicas: 0 → 1",
        ),
        "the spec of the app": Case(
            "bluegreendeployments", APP, ApplyApp(),
            {"spec": {"strategy": {"blueGreen": {"activeService": "theirs"}}}},
            "kubectl-edit changed spec.strategy.blueGreen.activeService: theirs → web",
        ),
        "more in the spec of the app": Case(
            "bluegreendeployments", APP, ApplyApp(), {"spec": {"deletionPolicy": "delete"}},
            "kubectl-edit changed spec.deletionPolicy: - delete",
        ),
        "an autoscaler": Case(
            "horizontalpodautoscalers", OBJECTS[0]["metadata"]["name"], auxiliary(OBJECTS[0]),
            {"spec": {"maxReplicas": 3}}, "kubectl-edit changed spec.maxReplicas: 3 → 99",
        ),
        "how fast an autoscaler acts": Case(
            "horizontalpodautoscalers", OBJECTS[0]["metadata"]["name"], auxiliary(OBJECTS[0]),
            {"spec": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}},
            "kubectl-edit changed spec.behavior: - {",
        ),
        "fewer pods that a budget counts": Case(
            "poddisruptionbudgets", OBJECTS[1]["metadata"]["name"], auxiliary(OBJECTS[1]),
            {"spec": {"selector": {"matchLabels": {"tier": "front"}}}},
            "kubectl-edit changed spec.selector.matchLabels.tier: - front",
        ),
        "a budget": Case(
            "poddisruptionbudgets", OBJECTS[1]["metadata"]["name"], auxiliary(OBJECTS[1]),
            {"spec": {"minAvailable": "0%"}}, "kubectl-edit changed spec.minAvailable: 0% → 50%",
        ),
        "configuration": Case(
            "configmaps", OBJECTS[2]["metadata"]["name"], auxiliary(OBJECTS[2]), {"data": {"level": "secret-level"}},
            "kubectl-edit changed data.level",
        ),
        "a key more in a Secret": Case(
            "secrets", OBJECTS[3]["metadata"]["name"], auxiliary(OBJECTS[3]), {"data": {"more": "aHVudGVyMw=="}},
            "kubectl-edit changed data.more",
        ),
        "the copy of a ConfigMap": Case(
            "configmaps", settings, ApplyConfiguration(SETTINGS.ref, settings, 1, repair=True),
            {"metadata": {"labels": {"gitops-bg.dev/app": "theirs"}}},
            f'kubectl-edit changed metadata.labels["gitops-bg.dev/app"]: theirs → {APP}',
        ),
        "the copy of a Secret": Case(
            "secrets", passwords, ApplyConfiguration(PASSWORDS.ref, passwords, 1, repair=True),
            {"metadata": {"annotations": {"gitops-bg.dev/copy-of": "theirs"}}},
            'kubectl-edit changed metadata.annotations["gitops-bg.dev/copy-of"]: theirs → passwords',
        ),
    }  # fmt: skip


NAMES = (
    "the selector of a Service, by an edit",
    "the selector of a Service, by Flux",
    "that a Service leads to pods that are not ready",
    "that clients stay with a pod",
    "the same, by a server-side apply",
    "that a Service is a name of something else",
    "a port of a Service",
    "a label that somebody takes away",
    "the selector of the preview",
    "the image of a ReplicaSet",
    "more in the pods of a ReplicaSet, by a server-side apply",
    "more metadata of the pods of a ReplicaSet",
    "the size of a ReplicaSet",
    "the spec of the app",
    "more in the spec of the app",
    "an autoscaler",
    "how fast an autoscaler acts",
    "fewer pods that a budget counts",
    "a budget",
    "configuration",
    "a key more in a Secret",
    "the copy of a ConfigMap",
    "the copy of a Secret",
)


def made(scene: Scene) -> AppConfig:
    """An app with an object of each kind; the folder that describes it."""
    scene.serve(ONE)
    scene.do(ApplyService("preview", "web-preview", ONE.digest, "it does not exist"))
    scene.copied(SETTINGS, PASSWORDS)
    given = {AuxiliaryObject(each["kind"], each["metadata"]["name"]): each for each in OBJECTS}
    config = replace(scene.config_with(SETTINGS, PASSWORDS), auxiliary_objects=AuxiliaryObjects(given))
    scene.do(*map(auxiliary, OBJECTS), config=config)
    scene.do(ApplyService("active", "web", ONE.digest, "so that it is known"), config=config)
    return config


def path(scene: Scene, kind: str, name: str) -> str:
    namespace = scene.app.namespace
    if kind in ("horizontalpodautoscalers", "poddisruptionbudgets"):
        group, named = (
            ("autoscaling", "HorizontalPodAutoscaler") if kind.startswith("hor") else ("policy", "PodDisruptionBudget")
        )
        versions = {each["version"] for each in scene.cluster.get(f"/apis/{group}")["versions"]}
        # The oldest knows no behavior of an autoscaler; of the others, v2 is the newest.
        version = "v2" if "v2" in versions else max(versions)
        return f"{collection(f'{group}/{version}', named, namespace)}/{name}"
    api = {"replicasets": "/apis/apps/v1", "bluegreendeployments": "/apis/gitops-bg.dev/v1alpha1"}.get(kind, "/api/v1")
    return f"{api}/namespaces/{namespace}/{kind}/{name}"


def write(scene: Scene, case: Case) -> Any:
    """What the other tool does."""
    at = path(scene, case.kind, case.name)
    live = scene.cluster.get(at)
    head = {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": {"name": case.name}}
    if case.apply:
        return scene.cluster.patch(at, head | case.change, APPLY, fieldManager=case.manager, force="true")
    return scene.cluster.patch(at, case.change, MERGE, fieldManager=case.manager)


def test_what_somebody_changed_is_repaired_and_said_with_object_field_and_manager(scene: Scene) -> None:
    """One app for all kinds: they do not touch each other."""
    config, told = made(scene), cases(scene)
    assert tuple(told) == NAMES
    wrong: list[str] = []
    for name, case in told.items():
        before = content(scene, case)
        write(scene, case)
        result = scene.subject.carry_out(scene.app, config, case.repair)
        drifts = [str(each) for each in result.drifts]
        if not (len(drifts) == 1 and drifts[0].startswith(case.said) and drifts[0] in str(result)):
            wrong.append(f"{name}: {drifts}")
        if content(scene, case) != before:
            wrong.append(f"{name}: {content(scene, case)} instead of {before}")
    assert not wrong, "\n".join(wrong)
    assert not any(word in str(told) for word in ("hunter2",)), "the cases themselves name no secret"


ADDED: dict[str, Callable[[Observed], bool]] = {
    "that a Service leads to pods that are not ready": lambda seen: bool(
        seen.active_service and seen.active_service.drifted
    ),
    "more in the spec of the app": lambda seen: seen.app_drifted,
    "how fast an autoscaler acts": lambda seen: any(each.drifted for each in seen.auxiliary_objects),
}


def test_what_somebody_added_is_seen_and_is_gone_after_one_repair(scene: Scene) -> None:
    config, told = made(scene), cases(scene)
    for name, drifted in ADDED.items():
        assert not drifted(scene.observe(config)), f"{name}: it is as it should be"
        write(scene, told[name])
        scene.until(drifted, config=config)
        scene.do(told[name].repair, config=config)
        scene.until(lambda seen, drifted=drifted: not drifted(seen), config=config)


def test_how_a_service_is_reached_from_outside_is_for_others_to_say(scene: Scene) -> None:
    """A load balancer writes such fields, and taking them out would take it down (docs/decisions/0066)."""
    config = made(scene)
    outside = {"type": "NodePort", "externalIPs": ["192.0.2.1"], "externalTrafficPolicy": "Local"}
    write(scene, Case("services", "web", ApplyService("active", "web", ONE.digest, ""), {"spec": outside}, ""))
    result = scene.subject.carry_out(scene.app, config, ApplyService("active", "web", ONE.digest, "it differs"))
    assert not result.drifts
    assert outside.items() <= scene.cluster.get(path(scene, "services", "web"))["spec"].items()


def content(scene: Scene, case: Case) -> Json:
    """What a repair brings back; the address of a Service that was a name of something else is a new one."""
    live = scene.cluster.get(path(scene, case.kind, case.name))
    live.get("spec", {}).pop("clusterIP", None)
    live.get("spec", {}).pop("clusterIPs", None)
    metadata = {key: live["metadata"].get(key) for key in ("labels", "annotations", "ownerReferences")}
    rest = {key: each for key, each in live.items() if key not in ("metadata", "status")}
    return _without_empties({**rest, "metadata": metadata})


def _without_empties(value: Any) -> Any:
    """A real server leaves out what became empty; the sandbox keeps it."""
    if isinstance(value, dict):
        return {key: kept for key, each in value.items() if (kept := _without_empties(each)) not in ({}, [], None)}
    return [_without_empties(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("look", [lambda _: None, Scene.observe], ids=["at once", "after a look"])
def test_an_object_that_somebody_deleted_is_made_again_and_said(scene: Scene, look: Callable[[Scene], Any]) -> None:
    config = made(scene)
    scene.cluster.delete(path(scene, "services", "web-preview"))
    scene.until(lambda seen: seen.preview_service is None)
    look(scene)
    result = scene.subject.carry_out(
        scene.app, config, ApplyService("preview", "web-preview", ONE.digest, "it does not exist")
    )
    assert [str(each) for each in result.drifts] == ["somebody deleted it"]


def test_what_git_or_the_agent_itself_changes_is_no_drift(scene: Scene) -> None:
    config = made(scene)
    given = {"web": {"metadata": {"labels": {"team": "shop"}}, "spec": {"ports": [{"name": "http", "port": 80}]}}}
    more = replace(config, services=given)
    scene.do(create(TWO, number=2))
    expected = tuple(sorted(scene.selector(ONE).items()))
    own: tuple[ClusterAction, ...] = (
        ApplyService("active", "web", ONE.digest, "Git asks for other ports"),
        PointPreview("web-preview", expected, TWO.digest),
        ScaleReplicaSet(TWO.digest, 2, 1, 2, "it needs 2"),
        ScaleReplicaSet(TWO.digest, 2, 2, 0, "archived"),
        create(TWO, number=2, min_ready_seconds=5, repair=True, replicas=0),
    )
    drifts = [str(each) for action in own for each in scene.subject.carry_out(scene.app, more, action).drifts]
    assert drifts == []
