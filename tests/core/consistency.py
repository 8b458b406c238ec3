"""Refuses impossible worlds: a table must not contain what Kubernetes or the record can never say."""

from collections.abc import Iterator
from datetime import datetime

from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.version import Stage
from gitops_bg.core.world import World


def contradictions(world: World) -> Iterator[str]:
    """Each in a sentence; none in a world that can be."""
    record = world.record
    for view in world.observed.replica_sets:
        if view.available > view.replicas:
            yield f"{view.name} has {view.available} available pods of {view.replicas}"
    for version in record.versions:
        if not version.digest:
            yield f"version {version.number} has no digest"
        if version.stage in (Stage.ACTIVE, Stage.LEGACY) and version.activated_at is None:
            yield f"version {version.number} is {version.stage} and never served"
        if version.stage is Stage.CANDIDATE and version.stabilization:
            yield f"version {version.number} is a candidate on probation"
    for what, found in (
        ("two versions of one number", [version.number for version in record.versions]),
        ("two versions of one digest", [version.digest for version in record.versions]),
        ("two active versions", [1 for version in record.versions if version.stage is Stage.ACTIVE]),
        ("two ReplicaSets of one name", [view.name for view in world.observed.replica_sets]),
    ):
        if len(found) != len(set(found)):
            yield what
    if record.last_version < max((version.number for version in record.versions), default=0):
        yield f"the last version is {record.last_version}, and there is a later one"


def untimely(decision: Decision, now: datetime) -> Iterator[str]:
    """Ends that are told, and at which nobody looks: they would stand in the status when they have long passed."""
    wake = decision.wake_at
    if wake is not None and wake <= now:
        yield f"it is to look again at {wake}, which has passed"
    for wait in decision.waits:
        if wait.until is not None and (wake is None or wake > wait.until):
            yield f"{wait.gate} of version {wait.version} ends at {wait.until}, and nobody looks before {wake}"
