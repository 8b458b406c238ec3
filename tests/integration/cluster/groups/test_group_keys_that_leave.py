"""A key that leaves group.yaml leaves the live ReleaseGroup, whatever was written to it in between."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.group_cluster import GroupCluster
from gitops_bg.core.groups.record import ApplyGroup, GroupDecision, GroupRecord
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.version import GroupKey
from gitops_bg.spec.groups.models import GroupFields
from tests.integration.cluster.keys import differing, keys, without
from tests.support.cluster.clusters import TestCluster

ANALYSIS = {
    "templates": [{"templateName": "success-rate", "clusterScope": False}],
    "args": [{"name": "percent", "value": "99"}],
    "dryRun": [{"metricName": "success-rate"}],
}
HOOK = {"name": "gate", "type": "confirm-promotion", "url": "https://gate.example.com/", "timeout": "10s"}
BODIES: Mapping[str, dict[str, Any]] = {
    "a service that denies": {
        "active": "v1",
        "archiveSize": 3,
        "versionHeader": "X-Store",
        "gateway": {"parentRefs": [{"name": "public"}]},
        "hosts": ["shop.example.com"],
        "denyMode": "denyService",
        "denyService": {"name": "deny", "port": 8080},
        "removedServices": ["auth"],
        "suspend": {"reason": "a holiday", "by": "ada", "until": "2026-12-27T08:00:00Z"},
        "retry": {"digest": f"v1-{'3f' * 10}", "number": 1, "by": "ada", "after": 7},
        "prePromotionAnalysis": ANALYSIS,
        "postPromotionAnalysis": ANALYSIS,
        "webhooks": [{**HOOK, "metadata": {"team": "shop"}}],
        "progressDeadlineSeconds": 60,
    },
    "an object that denies": {
        "active": "v1",
        "denyMode": "extension",
        "denyExtension": {"group": "example.com", "kind": "Filter", "name": "deny"},
    },
    "values that say nothing or no": {
        "active": "v1",
        "archiveSize": 0,
        "deletionPolicy": "keep",
        "prePromotionAnalysis": {"templates": [{"templateName": "one", "clusterScope": False}]},
    },
}


def is_valid(body: dict[str, Any]) -> bool:
    try:
        GroupFields.model_validate(body)
    except ValidationError:
        return False
    return True


def test_every_field_of_group_yaml_is_among_these() -> None:
    named = {key for body in BODIES.values() for key in body}
    assert {field.alias for field in GroupFields.model_fields.values()} == named
    assert all(map(is_valid, BODIES.values()))


@pytest.mark.parametrize("name", BODIES)
def test_every_optional_key_of_group_yaml_can_go(cluster: TestCluster, namespace: str, name: str) -> None:
    cluster.install_our_kind()
    client, group, body = Client(Access(str(cluster.kubeconfig))), GroupKey(namespace, "store"), BODIES[name]
    subject = GroupCluster(client)
    live = f"/apis/gitops-bg.dev/v1alpha1/namespaces/{namespace}/releasegroups/store"
    shorter = {".".join(path): without(body, path) for path in keys(body)} | {"all": {"active": "v1"}}
    valid = {path: less for path, less in shorter.items() if is_valid(less)}
    for number, (path, less) in enumerate(valid.items()):
        subject.carry_out(group, body, ApplyGroup())
        decision = GroupDecision((), GroupRecord(rollout=number + 1), Phase.HEALTHY)
        assert subject.save(subject.seen(group), decision, "c1", datetime.now(UTC))
        assert subject.observe(group, subject.seen(group), less, {}).drifted, path
        subject.carry_out(group, less, ApplyGroup())
        assert differing(cluster.get(live)["spec"], less) == [], path
        assert not subject.observe(group, subject.seen(group), less, {}).drifted, path
    client.close()
