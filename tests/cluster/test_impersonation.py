"""Whose rights a request uses: a table of paths."""

from __future__ import annotations

import pytest

from gitops_bg.cluster.api.connection import impersonation

SHOP = "/namespaces/shop"
OURS = f"/apis/gitops-bg.dev/v1alpha1{SHOP}"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"/api/v1{SHOP}/services/web"),
        ("GET", f"/api/v1{SHOP}/secrets/passwords"),
        ("POST", f"/apis/batch/v1{SHOP}/jobs"),
        ("POST", f"/api/v1{SHOP}/pods/web-1/eviction"),
        ("PATCH", f"/apis/gateway.networking.k8s.io/v1{SHOP}/httproutes/web"),
        ("DELETE", f"/apis/apps/v1{SHOP}/replicasets/web-v1"),
    ],
)
def test_what_a_namespace_asks_for_is_done_as_its_own_account(method: str, path: str) -> None:
    assert impersonation("apps", method, path) == {"Impersonate-User": "system:serviceaccount:shop:apps"}
    assert impersonation("", method, path) == {}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/apis/apps/v1/replicasets"),
        ("GET", f"/apis/apps/v1{SHOP}/replicasets"),
        ("GET", f"/api/v1{SHOP}"),
        ("GET", "/apis/apps/v1"),
        ("PATCH", f"{OURS}/bluegreendeployments/web"),
        ("PUT", f"{OURS}/releasegroups/store/status"),
        ("POST", f"/api/v1{SHOP}/events"),
        ("PUT", f"/apis/coordination.k8s.io/v1{SHOP}/leases/agents"),
    ],
)
def test_lists_records_events_and_leases_are_the_agents_own(method: str, path: str) -> None:
    assert impersonation("apps", method, path) == {}


@pytest.mark.parametrize(
    "path",
    [
        f"/api/v1{SHOP}/",
        f"/api/v1{SHOP}/services/",
        f"/api/v1{SHOP}//passwords",
        "/api/v1/namespaces//secrets/passwords",
        "/api/v1/namespaces/",
        f"/clusters/one/api/v1{SHOP}/secrets/passwords",
        f"/apis/apps{SHOP}/replicasets/web",
    ],
)
def test_a_path_of_some_namespace_that_cannot_be_told_is_no_request_with_the_agents_own_rights(path: str) -> None:
    with pytest.raises(ValueError, match=r"whose rights GET .* needs cannot be told"):
        impersonation("apps", "GET", path)
