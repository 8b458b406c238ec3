"""Counts pods as Argo Rollouts does: the five numbers that its tests assert after every step.

Only waiting for them is offered. A ReplicaSet's status is its controller's, and may be older than what the agent did.
"""

from __future__ import annotations

from typing import NamedTuple

import yaml

from gitops_bg.core import names
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.version import short
from tests.support.cluster.paths import replica_sets
from tests.support.cluster.rawapi import Json
from tests.support.scenario import App


class Counts(NamedTuple):
    """Each from live objects; compares with a plain tuple."""

    desired: int
    """`replicas` of the target in Git."""
    current: int
    """Pods of all versions."""
    updated: int
    """Pods of the version that the target names."""
    ready: int
    """Ready pods of the version that the active Service selects."""
    available: int
    """Available pods of that version."""


def wait_counts(app: App, *expected: int) -> None:
    """Wait until the counts are (desired, current, updated, ready, available)."""
    app.wait(lambda: _equal(_counts(app), expected), f"counts {expected}")


def _counts(app: App) -> Counts:
    remote = app.scenario.remote
    spec = yaml.safe_load(remote.show(remote.branch, f"{app.folder}/target.yaml") or "")["spec"]
    newest, live = short(snapshot_of(spec["template"]).digest), app.selected()
    statuses = _statuses(app)
    return Counts(
        desired=spec["replicas"],
        current=sum(status.get("replicas", 0) for status in statuses.values()),
        updated=statuses.get(newest, {}).get("replicas", 0),
        ready=statuses.get(live, {}).get("readyReplicas", 0),
        available=statuses.get(live, {}).get("availableReplicas", 0),
    )


def _equal(found: Counts, expected: tuple[int, ...]) -> bool:
    assert found == expected
    return True


def _statuses(app: App) -> dict[str, Json]:
    """The status of every ReplicaSet by its short digest."""
    found = app.scenario.cluster.list(replica_sets(app.key.namespace), labelSelector=f"{names.APP}={app.name}")
    return {each["metadata"]["labels"][names.DIGEST]: each.get("status", {}) for each in found}
