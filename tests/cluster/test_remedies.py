"""What an API server refuses names the command that mends it: tables of real answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitops_bg.cluster.api.errors import Forbidden, KindMissing, NamespaceMissing, NotFound, is_absent, refusal

APPS = "/apis/gitops-bg.dev/v1alpha1/bluegreendeployments"
GROUPS = "/apis/gitops-bg.dev/v1alpha1/namespaces/shop/releasegroups/store"
PLAIN = b"404 page not found\n"


def answer(code: int, reason: str, message: str, **details: str) -> bytes:
    return json.dumps({"reason": reason, "message": message, "details": details, "code": code}).encode()


NO_RESOURCE = answer(404, "NotFound", "the server could not find the requested resource")
NO_OBJECT = answer(404, "NotFound", 'releasegroups "store" not found', name="store", kind="releasegroups")
NO_NAMESPACE = answer(404, "NotFound", 'namespaces "shop" not found', name="shop", kind="namespaces")


@pytest.mark.parametrize(
    ("path", "data", "kind", "said"),
    [
        (APPS, PLAIN, KindMissing, "this cluster has no kind BlueGreenDeployment: gitops-bg install"),
        (APPS, NO_RESOURCE, KindMissing, "this cluster has no kind BlueGreenDeployment: gitops-bg install"),
        (GROUPS, PLAIN, KindMissing, "this cluster has no kind ReleaseGroup: gitops-bg install"),
        (GROUPS, NO_NAMESPACE, NamespaceMissing, "namespace shop does not exist: kubectl create namespace shop"),
        ("/api/v1/namespaces/shop/services/web", NO_NAMESPACE, NamespaceMissing, "namespace shop does not exist"),
        ("/apis/gateway.networking.k8s.io/v1/httproutes", PLAIN, NotFound, "look: 404 : 404 page not found"),
        ("/api/v1/pods/x/log", NO_RESOURCE, NotFound, "look: 404 NotFound: the server could not find"),
    ],
)
def test_what_is_not_there_is_named_with_the_command(path: str, data: bytes, kind: type, said: str) -> None:
    error = refusal("look", 404, {}, data, path)
    assert type(error) is kind
    assert str(error).startswith(said)


@pytest.mark.parametrize(("data", "absent"), [(NO_OBJECT, True), (NO_RESOURCE, False), (PLAIN, False)])
def test_only_an_object_is_absent_and_never_a_kind(data: bytes, absent: bool) -> None:
    assert is_absent(404, data, GROUPS) is absent


def forbidden(user: str, verb: str, resource: str, group: str = "gitops-bg.dev", namespace: str = "shop") -> str:
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    message = f'x is forbidden: User "{user}" cannot {verb} resource "{resource}" in API group "{group}" {where}'
    error = refusal("look", 403, {}, answer(403, "Forbidden", message))
    assert type(error) is Forbidden
    return str(error)


AGENT = "system:serviceaccount:gitops-bg:gitops-bg"
PEOPLE: list[tuple[tuple[Any, ...], str]] = [
    (
        ("ida", "list", "bluegreendeployments"),
        "ida cannot list bluegreendeployments.gitops-bg.dev in namespace shop: "
        "kubectl -n shop create rolebinding ida-view --clusterrole=view --user=ida",
    ),
    (
        ("ida", "list", "pods", "", ""),
        "ida cannot list pods in all namespaces: "
        "kubectl create clusterrolebinding ida-view --clusterrole=view --user=ida",
    ),
    (
        ("Ida@x.example", "patch", "bluegreendeployments"),
        "Ida@x.example cannot patch bluegreendeployments.gitops-bg.dev in namespace shop: "
        "kubectl -n shop create rolebinding ida-x.example-edit --clusterrole=edit --user=Ida@x.example",
    ),
    (
        ("system:serviceaccount:ci:bot", "get", "services", ""),
        "system:serviceaccount:ci:bot cannot get services in namespace shop: "
        "kubectl -n shop create rolebinding bot-view --clusterrole=view --serviceaccount=ci:bot",
    ),
    (
        (AGENT, "update", "bluegreendeployments/status"),
        f"{AGENT} cannot update bluegreendeployments/status.gitops-bg.dev in namespace shop: "
        "gitops-bg install --namespace gitops-bg",
    ),
    (
        (AGENT, "list", "replicasets", "apps", ""),
        f"{AGENT} cannot list replicasets.apps in all namespaces: "
        "gitops-bg install --namespace gitops-bg --watch-all-namespaces",
    ),
    (
        (AGENT, "patch", "pods", ""),
        f"{AGENT} cannot patch pods in namespace shop: kubectl -n shop create rolebinding gitops-bg-app-pods "
        "--clusterrole=gitops-bg-app-pods --serviceaccount=gitops-bg:gitops-bg",
    ),
    (
        (AGENT, "impersonate", "serviceaccounts", ""),
        f"{AGENT} cannot impersonate serviceaccounts in namespace shop: kubectl -n shop create rolebinding "
        "gitops-bg-impersonator --clusterrole=gitops-bg-impersonator --serviceaccount=gitops-bg:gitops-bg",
    ),
    (
        (AGENT, "impersonate-on:serviceaccount:get", "replicasets", "apps"),
        f"{AGENT} cannot impersonate serviceaccounts in namespace shop: kubectl -n shop create rolebinding "
        "gitops-bg-impersonator --clusterrole=gitops-bg-impersonator --serviceaccount=gitops-bg:gitops-bg",
    ),
    ((AGENT, "list", "secrets", ""), "look: 403 Forbidden: x is forbidden: User"),
    (("ida", "create", "clusterroles", "rbac.authorization.k8s.io", ""), "look: 403 Forbidden: x is forbidden: User"),
]


@pytest.mark.parametrize(("refused", "said"), PEOPLE)
def test_a_missing_right_is_named_with_the_command(refused: tuple[Any, ...], said: str) -> None:
    told = forbidden(*refused)
    assert told.startswith(said)
    assert told == said or said.endswith("User")


def test_a_quota_is_told_in_the_words_of_the_server() -> None:
    error = refusal("create Pod", 403, {}, answer(403, "Forbidden", "exceeded quota: small"))
    assert str(error) == "create Pod: 403 Forbidden: exceeded quota: small"
