"""What keeps a live app from being adopted: every reason at once, with object, field and remedy."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gitops_bg.cli.commands.files.adopt import notes_of, steps_after_push
from gitops_bg.cli.commands.files.adopted_folder import folder_of, origins_of
from gitops_bg.cli.commands.files.adopted_objects import AdoptionChoices, choose, problems_of
from gitops_bg.cluster.observation.on_demand import LivePod, LiveWorkload
from gitops_bg.core import names
from gitops_bg.core.model.spec import ScaleDown
from gitops_bg.core.model.version import AppKey
from tests.support import manifests

WEB = AppKey("shop", "web")
UP = {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}
Json = dict[str, Any]


def deployment(status: Json | None = None, **spec: Any) -> Json:
    made = manifests.deployment("shop")
    made["metadata"]["generation"] = 1
    return {**made, "spec": {**made["spec"], **spec}, "status": UP if status is None else status}


def service(name: str = "web", controller: str = "", **selector: str) -> Json:
    made = manifests.service("shop", name, **(selector or {"app": "web"}))
    return owned(made, controller)


def agreed(name: str) -> Json:
    made = service(name)
    return {**made, "metadata": {**made["metadata"], "annotations": {names.ALL_VERSIONS: "true"}}}


def owned(body: Json, controller: str) -> Json:
    kind, _, name = controller.partition(" ")
    owner = [{"kind": kind, "name": name, "uid": "1", "controller": True}] if controller else []
    return {**body, "metadata": {**body["metadata"], "ownerReferences": owner}}


def pod(owner: str = "Deployment web", **labels: str) -> LivePod:
    return LivePod(f"{owner.rpartition(' ')[2]}-x7k2p", labels or {"app": "web"}, owner)


def scaler(name: str, of: str = "web") -> Json:
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": of}, "maxReplicas": 5}
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec}


def keda(name: str) -> Json:
    return {**scaler(name, of="cart"), "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject"}


def budget(selector: Json) -> Json:
    metadata = {"name": "web", "namespace": "shop"}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata,
        "spec": {"selector": selector},
    }


def live(**changes: Any) -> LiveWorkload:
    return replace(LiveWorkload(deployment(), (service(),), (pod(),)), **changes)


def with_config_map(*, optional: bool = False) -> Json:
    made = deployment()
    reference = {"configMapRef": {"name": "settings", **({"optional": True} if optional else {})}}
    container = {**made["spec"]["template"]["spec"]["containers"][0], "envFrom": [reference]}
    template = {**made["spec"]["template"], "spec": {"containers": [container]}}
    return {**made, "spec": {**made["spec"], "template": template}}


def reasons(found: LiveWorkload, *active: str, preview: str = "") -> list[str]:
    return [str(each) for each in choose(found, AdoptionChoices(WEB, active, preview))[1]]


SOUND = {
    "one Service, one Deployment": (live(), ()),
    "a Service of others beside it": (live(services=(service(), service("cart", app="cart"))), ()),
    "two Services that carry live traffic, both named": (
        live(services=(service(), service("web-admin"))),
        ("web", "web-admin"),
    ),
    "a Service that may have the pods of every version": (live(services=(service(), agreed("web-headless"))), ()),
    "one that may, and carries live traffic": (live(services=(agreed("web"),)), ("web",)),
    "pods of others that no Service of it selects": (live(pods=(pod(), pod("StatefulSet db", app="db"))), ()),
    "an autoscaler of another Deployment": (live(autoscalers=(scaler("web"), scaler("cart", "cart"))), ()),
    "a budget by an expression": (
        live(budgets=(budget({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "x"]}]}),)),
        (),
    ),
    "an optional ConfigMap that there is not": (
        live(deployment=with_config_map(optional=True), config_maps={"settings": None}),
        (),
    ),
    "what an autoscaler of KEDA made of its own": (
        live(autoscalers=(scaler("web"), owned(scaler("keda-hpa-web"), "ScaledObject web"))),
        (),
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_can_be_adopted(name: str) -> None:
    found, active = SOUND[name]
    assert reasons(found, *active) == []


TEMPLATE = deployment()["spec"]["template"]
PREVENTS: dict[str, tuple[LiveWorkload, tuple[str, ...], list[str]]] = {
    "an app of this name": (
        live(app={"kind": "BlueGreenDeployment"}),
        (),
        ["BlueGreenDeployment shop/web: the name is an app already (it was adopted before)"],
    ),
    "something that makes the Deployment": (
        live(deployment=owned(deployment(), "Rollout web")),
        (),
        [
            "Deployment shop/web: metadata.ownerReferences: is controlled by Rollout web, which would change it back",
        ],
    ),
    "no pods": (
        live(deployment=deployment(replicas=0)),
        (),
        ["Deployment shop/web: spec.replicas: has no pod that serves (scale it up first)"],
    ),
    "a pause": (
        live(deployment=deployment(paused=True)),
        (),
        ["Deployment shop/web: spec.paused: is paused (kubectl rollout resume, and wait)"],
    ),
    "a rollout under way": (
        live(deployment=deployment({**UP, "availableReplicas": 1})),
        (),
        [
            "Deployment shop/web: status: a rollout of it is under way: 1 of 2 pods are available "
            "(wait until it is complete)"
        ],
    ),
    "a generation that nobody has looked at": (
        live(deployment=deployment({**UP, "observedGeneration": 0})),
        (),
        [
            "Deployment shop/web: status: a rollout of it is under way: 2 of 2 pods are available "
            "(wait until it is complete)"
        ],
    ),
    "a label of the agent's": (
        live(
            deployment=deployment(
                template={**TEMPLATE, "metadata": {"labels": {"app": "web", "gitops-bg.dev/color": "blue"}}}
            )
        ),
        (),
        ["Deployment shop/web: spec.template.metadata.labels: gitops-bg.dev/color is a label of the agent's"],
    ),
    "no Service": (
        live(services=()),
        (),
        ["Deployment shop/web: no Service selects its pods: there is no traffic to take over (make one first)"],
    ),
    "several Services, whose roles nobody said": (
        live(services=(service(), service("web-metrics"))),
        (),
        [
            f"Service shop/{each}: spec.selector: selects the pods as well, and its role is not clear "
            f"(if it carries live traffic: --active {each}; if it may have the pods of every version: annotate it "
            "gitops-bg.dev/all-versions=true; else change its selector first)"
            for each in ("web", "web-metrics")
        ],
    ),
    "a Service that was not named": (
        live(services=(service(), service("web-metrics"))),
        ("web",),
        [
            "Service shop/web-metrics: spec.selector: selects the pods as well, and its role is not clear "
            "(if it carries live traffic: --active web-metrics; if it may have the pods of every version: annotate it "
            "gitops-bg.dev/all-versions=true; else change its selector first)"
        ],
    ),
    "a name that selects other pods": (
        live(services=(service(), service("cart", app="cart"))),
        ("web", "cart"),
        ["Service shop/cart: does not select the Deployment's pods"],
    ),
    "a Service of a controller": (
        live(services=(service(controller="Canary web"),)),
        (),
        ["Service shop/web: metadata.ownerReferences: is controlled by Canary web, which would change it back"],
    ),
    "a Service with pods of others": (
        live(pods=(pod(), pod("StatefulSet web-db"), LivePod("debug", {"app": "web"}, ""))),
        (),
        ["Service shop/web: spec.selector: selects pods of StatefulSet web-db, pod debug as well (narrow it)"],
    ),
    "a budget for pods of others": (
        live(budgets=(budget({}),), pods=(pod(), pod("Deployment cart", app="cart"))),
        (),
        ["PodDisruptionBudget shop/web: spec.selector: selects pods of Deployment cart as well (narrow it)"],
    ),
    "a Service where the candidate's is to be": (
        live(services=(service(), service("web-preview", app="else"))),
        (),
        [
            "Service shop/web-preview: metadata.name: exists already, and the candidate needs a Service of this name "
            "(choose another name with --preview, or delete it)"
        ],
    ),
    "two autoscalers": (
        live(autoscalers=(scaler("web"), scaler("web-too"))),
        (),
        [
            f"HorizontalPodAutoscaler shop/{each}: spec.scaleTargetRef: several autoscalers scale the Deployment "
            "(keep one)"
            for each in ("web", "web-too")
        ],
    ),
    "an autoscaler where the copy's is to be": (
        live(autoscalers=(scaler("web"), scaler("web-primary", "web-primary"), keda("web-primary"))),
        (),
        [
            "HorizontalPodAutoscaler shop/web-primary: metadata.name: exists already, and the copy of "
            "HorizontalPodAutoscaler web that scales what is live has this name (delete it, or call "
            "HorizontalPodAutoscaler web otherwise)"
        ],
    ),
    "a ConfigMap that there is not": (
        live(deployment=with_config_map(), config_maps={"settings": None}),
        (),
        ["ConfigMap shop/settings: does not exist, and the pods refer to it (make it first)"],
    ),
}


@pytest.mark.parametrize("name", PREVENTS)
def test_cannot_be_adopted(name: str) -> None:
    found, active, expected = PREVENTS[name]
    assert reasons(found, *active) == expected


def test_every_reason_is_said_at_once() -> None:
    found = live(
        deployment=deployment({**UP, "availableReplicas": 0}),
        services=(service(controller="Canary web"), service("web-preview", app="else")),
        pods=(pod("StatefulSet db"),),
        app={},
    )
    assert len(reasons(found)) == 5


def with_image(image: str) -> Json:
    made = deployment()
    container = {**made["spec"]["template"]["spec"]["containers"][0], "image": image}
    return {**made, "spec": {**made["spec"], "template": {**TEMPLATE, "spec": {"containers": [container]}}}}


OTHER_APP = {
    "apps/shop/cart/app.yaml": b"apiVersion: gitops-bg.dev/v1alpha1\nkind: BlueGreenDeployment\n"
    b"metadata: {name: cart, namespace: shop}\nspec: {strategy: {blueGreen: {activeService: web}}}\n",
    "apps/shop/cart/target.yaml": json.dumps(manifests.deployment("shop", "cart")).encode(),
}
IN_THE_FOLDER = {"apps/shop/web/app.yaml": b"a: [", "apps/shop/web/service.yaml": b"b: ["}
UNSOUND: dict[str, tuple[LiveWorkload, dict[str, bytes], list[str]]] = {
    "nothing": (live(), {}, []),
    "a field of the Deployment": (
        live(deployment=with_image("Web:1")),
        {},
        [
            "Deployment shop/web: spec.template.spec.containers[0].image: would be wrong as "
            "apps/shop/web/target.yaml: 'Web:1' is no image reference"
        ],
    ),
    "a field of the second Service": (
        live(services=(service(), {**service("api"), "spec": {"selector": {"app": "web"}, "ports": [{"port": 0}]}})),
        {},
        ["Service shop/api: spec.ports[0].port: would be wrong as apps/shop/web/services.yaml: 0 is too small"],
    ),
    "no Service, of which no more is said": (live(services=()), {}, []),
    "what is said already": (PREVENTS["a label of the agent's"][0], {}, []),
    "another app": (
        live(),
        OTHER_APP,
        ["apps/shop/web/app.yaml, as it would be: spec.strategy.blueGreen.activeService: the Service web belongs to"],
    ),
    "what the folder has already": (live(), IN_THE_FOLDER, []),
    "what was wrong before": (live(), {"apps/shop/x/app.yaml": b"a: ["}, []),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_what_check_would_find_is_said_of_the_live_object_and_once(name: str) -> None:
    found, repository, expected = UNSOUND[name]
    chosen, said = choose(found, AdoptionChoices(WEB, tuple(each["metadata"]["name"] for each in found.services)))
    files = folder_of(chosen, ScaleDown.NEVER)
    problems = [
        str(each) for each in problems_of(chosen, files, origins_of(chosen), repository, said, datetime.now(UTC))
    ]
    assert [each[: len(start)] for each, start in zip(problems, expected, strict=True)] == expected


def test_the_plan_says_what_happens_in_order_and_which_label_is_held_back() -> None:
    chosen, _ = choose(live(services=(service(tier="front", app="web"),)), AdoptionChoices(WEB))
    chosen = replace(chosen, services=(service(tier="front", app="web"),))
    plan = steps_after_push(chosen, ScaleDown.ON_SUCCESS)
    assert "with tier=not-live-yet, so that no live Service selects them" in plan[0]
    assert plan[2].startswith("it takes over web, ")
    assert plan[-1].endswith("it scales Deployment web to 0")


def test_notes_name_tools_policies_secrets_and_the_right() -> None:
    policy = {"kind": "NetworkPolicy", "metadata": {"name": "allow-web"}, "spec": {"podSelector": {}}}
    helm = deployment()
    helm["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "Helm"}
    helm["spec"]["template"]["spec"]["imagePullSecrets"] = [{"name": "registry"}]
    chosen, _ = choose(live(deployment=helm, policies=(policy,)), AdoptionChoices(WEB))
    tools, policies, secrets, right = notes_of(chosen)
    assert tools.startswith("Helm applies Deployment web: take them out there first")
    assert policies.startswith("NetworkPolicy allow-web selects these pods: if it does by app,")
    assert secrets.endswith("registry")
    assert "--clusterrole=gitops-bg-adopt" in right


ARGO_CD, FLUX = {"argocd.argoproj.io/instance": "shop"}, {"kustomize.toolkit.fluxcd.io/name": "shop"}


def marked(body: Json, labels: Json, annotations: Json | None = None) -> Json:
    own = {**(body["metadata"].get("labels") or {}), **labels}
    return {**body, "metadata": {**body["metadata"], "labels": own, "annotations": annotations or {}}}


def test_every_object_that_another_tool_applies_is_named_and_no_file_has_its_mark() -> None:
    tracked = {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/web", "owner": "ada"}
    found = live(
        deployment=marked(with_config_map(), {"team": "web"}, tracked),
        services=(marked(service(), ARGO_CD),),
        autoscalers=(marked(scaler("web"), ARGO_CD, {"argocd.argoproj.io/sync-wave": "1"}),),
        budgets=(
            marked(budget({"matchLabels": {"app": "web"}}), FLUX, {"kustomize.toolkit.fluxcd.io/prune": "disabled"}),
        ),
        config_maps={"settings": marked(manifests.config_map("shop", "settings", a="b"), ARGO_CD)},
    )
    chosen, problems = choose(found, AdoptionChoices(WEB))
    assert problems == ()
    argo_cd, flux, *_ = notes_of(chosen)
    assert argo_cd.startswith(
        "Argo CD applies Deployment web, Service web, HorizontalPodAutoscaler web, ConfigMap settings: take them out"
    )
    assert flux.startswith("Flux applies PodDisruptionBudget web: take them out")
    files = folder_of(chosen, ScaleDown.NEVER)
    assert len(files) == 6
    assert [name for name, text in files.items() if "argocd" in text or "fluxcd" in text] == []
    assert "team: web" in files["target.yaml"]
    assert "owner: ada" in files["target.yaml"]


def test_the_files_say_where_they_came_from_and_no_secret() -> None:
    helm = deployment()
    helm["spec"]["template"]["spec"]["imagePullSecrets"] = [{"name": "registry"}]
    chosen, _ = choose(live(deployment=helm), AdoptionChoices(WEB))
    files = folder_of(chosen, ScaleDown.NEVER)
    assert list(files) == ["app.yaml", "target.yaml", "services.yaml"]
    assert files["target.yaml"].startswith("# From Deployment shop/web; left out: status, managed fields, defaults")
    assert "# Its Secrets stay in the cluster, and are no part of a version: registry.\n" in files["target.yaml"]
    assert "scaleDown: never" in files["app.yaml"]
    assert files["services.yaml"].count("kind: Service") == 2
    assert "selector:" not in files["services.yaml"]
