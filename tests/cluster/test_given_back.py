"""What a Service gets back of its labels and annotations when it is handed back, and what an orphan keeps."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_bg.cluster.manifests.adoption import (
    MOST_BYTES,
    Before,
    before_in,
    before_of,
    given_back,
    routing_given_back,
)
from gitops_bg.core import names

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
OURS = {names.MANAGED_BY: names.MANAGER, names.APP: "web"}


def live(labels: dict[str, str], *written_by_us: str, by: str = names.FIELD_MANAGER) -> dict[str, Any]:
    """A Service, and the labels that a manager wrote."""
    fields = {"f:metadata": {"f:labels": {f"f:{key}": {} for key in written_by_us}}}
    return {
        "metadata": {"labels": labels, "managedFields": [{"manager": by, "fieldsV1": fields}, {"manager": "kubectl"}]}
    }


GIVEN_BACK = {
    "what the agent added goes": (live({"team": "shop", "new": "1"}, "new"), {"team": "shop"}, {"team": "shop"}),
    "what the agent changed is as before": (live({"team": "cart"}, "team"), {"team": "shop"}, {"team": "shop"}),
    "what others changed stays": (live({"team": "cart"}), {"team": "shop"}, {"team": "cart"}),
    "what others added stays": (live({"new": "1"}, "new", by="kubectl"), {}, {"new": "1"}),
    "what others removed stays away": (live({}), {"team": "shop"}, {}),
    "our own marks go": (live(OURS, *OURS), {}, {}),
    "our own marks go, whoever is said to have written them": (live(OURS), {}, {}),
    "the manager of before": (live(OURS, *OURS), {names.MANAGED_BY: "Helm"}, {names.MANAGED_BY: "Helm"}),
    "a mark that it had before is none of its own": (live(OURS, *OURS), {names.APP: "cart"}, {}),
    "where nobody knows what was before, only marks go": (live({**OURS, "new": "1"}, "new"), None, {"new": "1"}),
    "labels that are not there": ({"metadata": {}}, {"team": "shop"}, {}),
}


@pytest.mark.parametrize("name", GIVEN_BACK)
def test_given_back(name: str) -> None:
    service, before, after = GIVEN_BACK[name]
    assert given_back(service, "labels", before) == after


STICKY = {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}}}
"""Clients stay with a pod; the API server fills in for how long."""
FOR_A_MINUTE = {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}}}
ROUTING: dict[str, tuple[dict[str, Any], tuple[str, ...], dict[str, Any] | None, dict[str, Any]]] = {
    # what it says now, what of that we wrote, what it said before, what changes
    "as it was": (STICKY, ("sessionAffinity",), {"sessionAffinity": "ClientIP"}, {}),
    "what the agent added goes, with what was filled in": (
        STICKY, ("sessionAffinity",), {}, {"sessionAffinity": None}),
    "for how long, which went with it": (
        {}, ("sessionAffinity",), {**STICKY, **FOR_A_MINUTE}, {"sessionAffinity": "ClientIP", **FOR_A_MINUTE}),
    "what the agent changed is as before": (
        {"internalTrafficPolicy": "Cluster"}, ("internalTrafficPolicy",), {"internalTrafficPolicy": "Local"},
        {"internalTrafficPolicy": "Local"}),
    "what others changed stays": ({"internalTrafficPolicy": "Cluster"}, (), {"internalTrafficPolicy": "Local"}, {}),
    "what others added stays": ({"publishNotReadyAddresses": True}, (), {}, {}),
    "where nobody knows what was before, all stays": (STICKY, ("sessionAffinity",), None, {}),
}  # fmt: skip


@pytest.mark.parametrize(("now", "by_us", "before", "changed"), ROUTING.values(), ids=ROUTING)
def test_which_pods_get_requests_is_given_back(
    now: dict[str, Any], by_us: tuple[str, ...], before: dict[str, Any] | None, changed: dict[str, Any]
) -> None:
    entry = {"manager": names.FIELD_MANAGER, "fieldsV1": {"f:spec": {f"f:{name}": {} for name in by_us}}}
    handed_back = {"metadata": {"managedFields": [entry]}, "spec": now}
    assert routing_given_back(handed_back, Before(routing=before)) == changed


def service(**metadata: Any) -> dict[str, Any]:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}], "type": "ClusterIP", "internalTrafficPolicy": "Local"}
    return {"metadata": metadata, "spec": spec}


def read_back(written: dict[str, Any]) -> Any:
    return before_in({names.BEFORE_ADOPTION: before_of(written)})


def test_all_that_counts_is_kept() -> None:
    kept = read_back(service(labels={"team": "shop"}, annotations={"doc": "x", LAST_APPLIED: "{}"}))
    assert (kept.selector, kept.ports) == ((("app", "web"),), ({"port": 80},))
    assert (kept.labels, kept.annotations) == ({"team": "shop"}, {"doc": "x"})
    assert kept.routing == {"internalTrafficPolicy": "Local"}
    assert (read_back(service()).labels, read_back(service()).annotations) == ({}, {})


def test_what_is_too_long_to_be_kept_twice_leaves_selector_ports_and_manager() -> None:
    kept = read_back(service(labels={names.MANAGED_BY: "Helm"}, annotations={"long": "x" * MOST_BYTES}))
    assert (kept.selector, kept.labels, kept.annotations) == ((("app", "web"),), None, None)
    assert kept.managed_by == "Helm"
    assert read_back(service(annotations={"long": "x" * MOST_BYTES})).managed_by == ""


OLDER = {
    "with a manager": ('{"managedBy": "Helm", "ports": [], "selector": {"app": "web"}}', "Helm"),
    "without": ('{"ports": [], "selector": {"app": "web"}}', ""),
}


@pytest.mark.parametrize("name", OLDER)
def test_what_an_older_release_kept_is_understood(name: str) -> None:
    text, manager = OLDER[name]
    kept = before_in({names.BEFORE_ADOPTION: text})
    assert (kept.selector, kept.labels, kept.annotations) == ((("app", "web"),), None, None)
    assert kept.managed_by == manager
    assert kept.routing is None, "unlike one that said nothing of it"
