"""What is an error of `check` a real API server refuses, too; and it takes what `check` only notes."""

from __future__ import annotations

import pytest

from gitops_bg.spec.lint.app_folder import LintSeverity
from gitops_bg.spec.lint.rules import FOLDER_RULES
from gitops_bg.spec.yaml.reader import read
from tests.spec.lint.folder import changed
from tests.spec.lint.test_rules import ROWS
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.cluster.paths import path_of
from tests.support.cluster.rawapi import Json

APPLY = "application/apply-patch+yaml"
NOT_THE_API_SERVER_S = {"image-reference", "probe-port"}
"""What only the kubelet of a node refuses, once there are pods."""
NOBODY_S = {"daemon-set-ports"}
"""What is no mistake of one object: the pods of two of them find no node."""
TOO_NEW = {"prestop-sleep"}
"""Of a field that the oldest supported release does not have."""
ERRORS = {rule.name for rule in FOLDER_RULES if rule.severity is LintSeverity.ERROR}


@pytest.mark.control_plane
def test_the_api_server_refuses_what_is_an_error_and_takes_what_is_a_note(
    control_plane_cluster: ControlPlaneCluster,
) -> None:
    """Applied as the agent does it, by the server's own merge; nothing is kept."""
    cluster = control_plane_cluster
    namespace = cluster.namespace()
    answers = {}
    for rule, file, change, said in ROWS:
        if file == "target.yaml" and rule not in NOT_THE_API_SERVER_S | TOO_NEW | NOBODY_S:
            answers[f"{rule}: {said}"] = max(_answer(cluster, namespace, each) for each in _objects(file, change))
    assert len({name.partition(":")[0] for name in answers} & ERRORS) >= 10
    wrong = [name for name, status in answers.items() if (status >= 400) != (name.partition(":")[0] in ERRORS)]
    assert wrong == []


def _objects(file: str, change: tuple[str, str]) -> list[Json]:
    return [each.value for each in read(file, changed(file, change)[file].encode()).documents]


def _answer(cluster: ControlPlaneCluster, namespace: str, manifest: Json) -> int:
    body = {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}
    asked = {"fieldManager": "gitops-bg", "force": "true", "dryRun": "All"}
    status, _ = cluster.request("PATCH", path_of(body), body, content_type=APPLY, **asked)
    return status
