"""What is read off a live pod: why it is not ready although its containers are."""

from typing import Any, cast

import pytest

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.observation.on_demand.pods import Pods
from gitops_bg.core.model.version import AppKey

ALB, NEG = "target-health.elbv2.k8s.aws/web", "cloud.google.com/load-balancer-neg-ready"


class OnePod:
    """A client that lists one pod."""

    def __init__(self, pod: dict[str, Any]) -> None:
        self._pod = pod

    def list(self, *_: object) -> list[dict[str, Any]]:
        """That pod."""
        return [self._pod]


@pytest.mark.parametrize(
    ("gates", "true", "said"),
    [
        ([], ("ContainersReady", "Ready"), ""),
        ([ALB], ("ContainersReady",), ALB),
        ([ALB], (), ""),
        ([ALB, NEG], ("ContainersReady", ALB), NEG),
        ([ALB], ("ContainersReady", ALB, "Ready"), ""),
    ],
    ids=("none", "one that nobody set", "its containers are not ready", "the second of two", "set"),
)
def test_a_pod_says_which_readiness_gate_it_waits_for(gates: list[str], true: tuple[str, ...], said: str) -> None:
    conditions = [
        {"type": each, "status": "True" if each in true else "False"} for each in ("ContainersReady", "Ready")
    ]
    conditions += [{"type": each, "status": "True"} for each in true if each in (ALB, NEG)]
    pod = {
        "metadata": {"name": "a", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"readinessGates": [{"conditionType": each} for each in gates]},
        "status": {"conditions": conditions},
    }
    (view,) = Pods(cast(Client, OnePod(pod))).views(AppKey("shop", "web"))
    assert view.shut_gate == said
