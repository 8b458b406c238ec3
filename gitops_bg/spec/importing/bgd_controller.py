"""A BlueGreenDeployment of Google's bgd-controller becomes an app (bgd-controller.md §1). Reads nothing."""

from typing import Any

from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.importing.draft import AppDraft, deployment_of, of_other_tools
from gitops_bg.spec.importing.fields import Table, imported, left_fields
from gitops_bg.spec.importing.manifest import Manifest, cleaned
from gitops_bg.spec.yaml.scalars import as_map

APIS = ("controller.google.com/v1alpha1", "demo.google.com/v1")
SERVICE = "bgd-svc"
"""The one Service of a namespace; bgd-controller makes it."""

TABLE: Table = imported("replicas", "podSpec", "template")
"""Every field of `spec`, of both versions of the kind."""


def draft_of(bgd: Manifest) -> AppDraft:
    """The app that a BlueGreenDeployment becomes: it promotes by itself, and has the one Service, 80 to 443."""
    spec = as_map(cleaned(bgd.value).get("spec"))
    pods = as_map(spec.get("template")) or {"spec": spec.get("podSpec") or {}}
    labels = as_map(as_map(pods.get("metadata")).get("labels")) or {"app": bgd.name}
    template = {**pods, "metadata": {**as_map(pods.get("metadata")), "labels": dict(labels)}}
    size = {"replicas": spec["replicas"]} if isinstance(spec.get("replicas"), int) else {}
    workload = {**size, "selector": {"matchLabels": dict(labels)}, "template": template}
    target = deployment_of(bgd.name, bgd.namespace, workload, {})
    draft = AppDraft(AppKey(bgd.namespace, bgd.name), bgd, bgd, target)
    draft.blue_green.update(activeService=SERVICE, autoPromotionEnabled=True)
    draft.comments["autoPromotionEnabled"] = "as bgd-controller does; remove it, and a person decides"
    if not size:
        message = "is not there: bgd-controller makes it 0, and Kubernetes 1"
        draft.listed.append(bgd.problem(("spec", "replicas"), message, "write replicas into target.yaml"))
    if not as_map(template.get("spec")).get("containers"):
        message = "has no containers, so there is nothing to run"
        draft.problems.append(bgd.problem(("spec",), message, "add spec.podSpec.containers"))
    draft.listed.extend(of_other_tools(bgd))
    draft.listed.extend(left_fields(bgd, TABLE))
    return draft


def service_of(draft: AppDraft) -> dict[str, Any]:
    """The Service as bgd-controller makes it (bgd-controller.md §1)."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": draft.app.namespace},
        "spec": {"ports": [{"port": 80, "targetPort": 443, "protocol": "TCP"}]},
    }
