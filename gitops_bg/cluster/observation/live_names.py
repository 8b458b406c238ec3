"""The names of the ReplicaSets that run an app's versions: the one place that turns a version into a name.

A ReplicaSet keeps the name that it was created with, also when its app is renamed, so the name is looked up by digest.
"""

from gitops_bg.cluster.api.kinds import WORKLOADS
from gitops_bg.cluster.observation.ownership import owner_of
from gitops_bg.cluster.observation.reader import Reader
from gitops_bg.cluster.observation.replica_set_views import runs
from gitops_bg.core import names
from gitops_bg.core.model.version import AppKey, WorkloadKind


def workload_of(reader: Reader, app: AppKey, digest: str) -> WorkloadKind:
    """What runs a version: what the live object is."""
    found = (each.workload for each in reader.replica_sets(app) if runs(app, each, digest))
    return next(found, WorkloadKind.REPLICA_SET)


def live_name(reader: Reader, app: AppKey, number: int, digest: str) -> str:
    """The name of the ReplicaSet of a version: of ours that exists, else the one that it is created with.

    One that is being deleted counts last, as for the core (``checks.versions.live_name``).
    """
    found = (each for each in reader.replica_sets(app) if runs(app, each, digest))
    ours = [each.meta for each in found if not owner_of(WORKLOADS[each.workload], each.meta, app)]
    first = min(ours, key=lambda meta: meta.deleting, default=None)
    return first.name if first else names.replica_set_name(app, number, digest)
