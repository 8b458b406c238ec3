"""The DaemonSet of a Canary, whose app has a DaemonSet for each version. Reads nothing.

One by itself is no app: what runs on every node for the node's sake has no live traffic to move.
"""

from collections.abc import Iterator

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.importing.fields import Table, imported, left
from gitops_bg.spec.importing.manifest import Manifest
from gitops_bg.spec.yaml.scalars import as_map

_NOWHERE_OF_FLAGGER = "flagger.app/scale-to-zero"
_SELECTOR = ("spec", "template", "spec", "nodeSelector")

TABLE: Table = {
    **imported("selector", "template", "minReadySeconds", "revisionHistoryLimit"),
    **left(
        "is of pods that are replaced node by node, and here a version comes up whole beside the live one",
        "leave it out",
        "updateStrategy",
        unless=({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}, {}),
    ),
}
"""Every field of `spec` of a DaemonSet; `updateStrategy` unless it is what the API server writes."""


def off_its_nodes(workload: Manifest) -> Iterator[Problem]:
    """Refuse a DaemonSet as Flagger leaves it in the cluster: on no node (flagger.md §1.3)."""
    selector = as_map(as_map(as_map(workload.spec.get("template")).get("spec")).get("nodeSelector"))
    if _NOWHERE_OF_FLAGGER in selector:
        message = "is on no node, as Flagger leaves it in the cluster, and the app would have no pods"
        remedy = "import the manifest from Git, or remove this selector"
        yield workload.problem((*_SELECTOR, _NOWHERE_OF_FLAGGER), message, remedy, at_key=True)
