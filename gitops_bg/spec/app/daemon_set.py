"""What an app whose target is a DaemonSet cannot have (decision 68): one pod on each node leaves nothing to size."""

from collections.abc import Iterable, Iterator
from typing import Any

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.reader import Document

_SCALERS = ("HorizontalPodAutoscaler", "ScaledObject")
_BLUE_GREEN: Path = ("spec", "strategy", "blueGreen")

_FIELDS: dict[Path, str] = {
    ("spec", "adopt"): "only a Deployment can be adopted, by an app whose target is one",
    ("spec", "release"): "live traffic can be handed back only to a Deployment that the app was adopted from",
    ("spec", "autoscalerRef"): "the target is a DaemonSet, which has one pod on each of its nodes: nothing scales it",
    (*_BLUE_GREEN, "antiAffinity"): "the target is a DaemonSet: both versions have a pod on every node",
    (*_BLUE_GREEN, "previewReplicaCount"): "the target is a DaemonSet, which has one pod on each of its nodes",
}
"""By field of app.yaml: why not."""


def check_app(app: Document) -> Iterator[Problem]:
    """Check that app.yaml has no field that means nothing for a DaemonSet."""
    for path, why in _FIELDS.items():
        if _has(app.value, path):
            yield app.problem(path, why, "remove it, or make the target a Deployment", at_key=True)


def check_no_scaler(documents: Iterable[Document]) -> Iterator[Problem]:
    """Check that nothing in the folder wants to scale the target."""
    for document in documents:
        if document.value["kind"] in _SCALERS:
            message = f"nothing scales a DaemonSet, which the target is: this {document.value['kind']} would do nothing"
            yield document.problem(("kind",), message, "remove it, or make the target a Deployment")


def _has(value: Any, path: Path) -> bool:
    for part in path:
        if not isinstance(value, dict) or value.get(part) is None:
            return False
        value = value[part]
    return True
