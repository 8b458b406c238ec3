"""Why a pod does not start, as the kubelet says it: only what does not pass by itself."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_bg.cluster.observation.on_demand import _pod_view

STARTING = {"state": {"waiting": {"reason": "ContainerCreating"}}}
PULL = {"state": {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "web:9"'}}}
CRASH = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}
RUNNING = {"state": {"running": {}}}


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({}, ""),
        ({"containerStatuses": [STARTING, RUNNING]}, ""),
        ({"containerStatuses": [RUNNING, PULL]}, 'ImagePullBackOff: Back-off pulling image "web:9"'),
        ({"containerStatuses": [STARTING], "initContainerStatuses": [CRASH]}, "CrashLoopBackOff"),
        ({"containerStatuses": [{"state": {"waiting": {"reason": "PodInitializing"}}}]}, ""),
    ],
)
def test_why_a_pod_waits(status: dict[str, Any], said: str) -> None:
    metadata = {"name": "web-1", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    assert _pod_view({"metadata": metadata, "spec": {}, "status": status}).waiting == said
