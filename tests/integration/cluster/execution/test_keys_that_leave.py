"""A key that leaves a file of Git leaves the live object, whatever was written to the object in between."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from gitops_bg.core.model.actions import ApplyApp
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.record import Record
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.app.models import AppFields
from tests.conformance.examples import documents
from tests.integration.cluster.keys import differing, keys, without
from tests.integration.cluster.scene import Scene
from tests.support.cluster.rawapi import JSON_PATCH, MERGE


def is_valid(body: dict[str, Any]) -> bool:
    """Whether such a file is one that the agent would apply."""
    try:
        AppFields.model_validate(body)
    except ValidationError:
        return False
    return True


def said(scene: Scene, body: dict[str, Any]) -> AppConfig:
    return replace(scene.config, body=body)


def live(scene: Scene) -> dict[str, Any]:
    spec: dict[str, Any] = scene.live("bluegreendeployments", "web")["spec"]
    return spec


def keep_house(scene: Scene, epoch: str) -> None:
    """What the agent writes between two pushes: its status."""
    assert scene.subject.save(scene.app, Decision((), Record(epoch=epoch), Phase.HEALTHY), datetime.now(UTC))


@pytest.mark.parametrize("number", range(len(documents("app"))))
def test_every_optional_key_of_app_yaml_can_go(scene: Scene, number: int) -> None:
    body = documents("app")[number]
    for place, path in enumerate(keys(body)):
        if not is_valid(without(body, path)):
            continue
        scene.do(ApplyApp(), config=said(scene, body))
        keep_house(scene, f"e{place}")
        scene.do(ApplyApp(), config=said(scene, without(body, path)))
        assert differing(live(scene), without(body, path)) == [], path
        assert not scene.observe(said(scene, without(body, path))).app_drifted, path


def test_a_key_that_says_nothing_or_no_can_go(scene: Scene) -> None:
    body = documents("app")[0]
    odd = body | {"progressDeadlineSeconds": 0, "revisionHistoryLimit": 0}
    odd["strategy"] = {"blueGreen": {**body["strategy"]["blueGreen"], "autoPromotionEnabled": False}}
    scene.do(ApplyApp(), config=said(scene, odd))
    assert scene.observe(said(scene, body)).app_drifted
    scene.do(ApplyApp(), config=said(scene, body))
    assert differing(live(scene), body) == []


def test_what_nobody_owns_or_somebody_else_added_goes_with_the_next_apply(scene: Scene) -> None:
    """A backup restores an object without its field managers; people edit what is live."""
    body = {"target": "target.yaml", "strategy": {"blueGreen": {"activeService": "web"}}}
    path = f"/apis/gitops-bg.dev/v1alpha1/namespaces/{scene.app.namespace}/bluegreendeployments/web"
    scene.do(ApplyApp(), config=said(scene, body | {"suspend": {"reason": "a drill"}}))
    scene.cluster.patch(path, [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}], JSON_PATCH)
    scene.cluster.patch(path, {"spec": {"paused": True, "strategy": {"blueGreen": {"previewReplicas": 1}}}}, MERGE)
    assert live(scene) != body
    scene.do(ApplyApp(), config=said(scene, body))
    assert differing(live(scene), body) == []
