"""What must hold of an app that is adopted from a Deployment, and of its way back (decisions 23 and 65)."""

from gitops_bg.core.model import actions as act
from gitops_bg.core.model.record import Record
from tests.exploration.world import Cluster, Commit, Violation


def written(action: act.Action, before: Cluster, after: Cluster) -> None:
    """What one write may do to the requests of an adopted app."""
    if before.former is None:
        return
    was, now = before.behind, after.behind
    if was and not now:
        raise Violation(f"{action}: the Service has no pods any more, and had {_said(was)}")
    if after.theirs and now.keys() - {""}:
        raise Violation(f"{action}: the Service is somebody else's, and requests reach {_said(now)}")
    fewer = [tag for tag, count in was.items() if now.get(tag, 0) < count]
    moves = isinstance(action, act.SwitchTraffic | act.HandBack | act.RepairSelector)
    if fewer and not moves:
        raise Violation(f"{action}: requests went to {_said(was)}, and now to {_said(now)}")
    if isinstance(action, act.SwitchTraffic) and before.theirs and _count(now) < _count(was):
        raise Violation(f"{action}: {_said(was)} served, and now {_said(now)}")
    if isinstance(action, act.HandBack) and _count(now) < _count(was):
        raise Violation(f"{action}: {_said(was)} served, and the Deployment has {_said(now)}")


def _count(behind: dict[str, int]) -> int:
    return sum(behind.values())


def _said(behind: dict[str, int]) -> str:
    return ", ".join(f"{count} pods of {tag or 'the Deployment'}" for tag, count in sorted(behind.items())) or "none"


def can_be_released(cluster: Cluster) -> bool:
    """Whether the Service remembers what it selected, and the Deployment is there."""
    return cluster.taken_over and cluster.former is not None and not cluster.former.gone


def rests_released(head: Commit, cluster: Cluster, record: Record) -> None:
    """What must be so at rest where app.yaml asks for the release."""
    if not cluster.theirs:
        if can_be_released(cluster):
            raise Violation(f"its release is asked for, and the Service ends at {cluster.active!r}")
        return
    left = [one.tag for one in cluster.sets if one.replicas]
    if left and not head.suspended and cluster.former and cluster.former.replicas:
        raise Violation(f"it was released, and {left} keep their pods")
    if record.routing.traffic and not record.released and cluster.former and not cluster.former.gone:
        raise Violation("the Service was handed back, and the record does not say that it was released")


def rests_adopted(head: Commit, cluster: Cluster, record: Record) -> None:
    """What must be so at rest where nobody asks for the release."""
    if cluster.theirs and head.target and not head.suspended and not record.holds:
        raise Violation(f"the app is to be adopted, and the Service stays with the Deployment: {head.target}")
    if cluster.active and not head.suspended and any(one.worn.labels for one in cluster.sets if one.replicas):
        raise Violation(f"the Service leads to {cluster.active}, and pods carry their stand-ins still: {head.target}")
