"""`antiAffinity` on live objects: in the pods, not in the snapshot, no drift, and not lost in a repair."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitops_bg.cluster.manifests import pod_templates
from gitops_bg.core import names
from gitops_bg.core.model.actions import ApplyApp
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.version import AntiAffinityTerm
from tests.integration.cluster.scene import Scene, create, snapshot
from tests.support.cluster.paths import replica_sets
from tests.support.cluster.rawapi import MERGE

OWN = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize("text", ["", "x", "{}", "[]", "null", '{"digest": "v1:3f"}', '{"digest": "a", "weight": "b"}'])
def test_annotation_that_says_nothing_keeps_nothing_apart(text: str) -> None:
    assert pod_templates.read_anti_affinity(text) is None


@pytest.mark.parametrize("term", [AntiAffinityTerm("v1:3f9c"), AntiAffinityTerm("v1:3f9c", 1)])
def test_annotation_comes_back_as_it_was_written(term: AntiAffinityTerm) -> None:
    assert pod_templates.read_anti_affinity(pod_templates.written_anti_affinity(term)) == term


def own_term(required: bool) -> dict[str, Any]:
    field = REQUIRED if required else PREFERRED
    return {"podAntiAffinity": {field: [OWN if required else {"weight": 1, "podAffinityTerm": OWN}]}}


@pytest.mark.parametrize("weight", [None, 9], ids=["required", "preferred"])
@pytest.mark.parametrize("with_own", [True, False], ids=["beside its own rule", "alone"])
def test_new_pods_keep_off_the_live_ones_without_drift_and_a_repair_keeps_it_so(
    scene: Scene, weight: int | None, with_own: bool
) -> None:
    one = snapshot("v1")
    template = json.loads(snapshot("v2").text)
    if with_own:
        template["spec"]["affinity"] = own_term(weight is None)
    two = snapshot_of(template)
    scene.do(ApplyApp(), create(two, anti_affinity=AntiAffinityTerm(one.digest, weight)))
    name = names.replica_set_name(scene.app, 1, two.digest)

    def rules() -> list[dict[str, Any]]:
        affinity_rules = scene.live("replicasets", name)["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]
        found: list[dict[str, Any]] = affinity_rules[REQUIRED if weight is None else PREFERRED]
        return found

    *own, added = rules()
    term = added if weight is None else added["podAffinityTerm"]
    assert len(own) == (1 if with_own else 0)
    assert term["labelSelector"]["matchLabels"] == scene.selector(one)
    assert term["topologyKey"] == "kubernetes.io/hostname"
    assert added.get("weight") == weight
    (view,) = scene.until(lambda seen: seen.replica_sets).replica_sets
    assert (view.snapshot, view.drifted) == (two, False)

    change = {"spec": {"template": {"spec": {"affinity": None}}}}
    scene.cluster.patch(f"{replica_sets(scene.app.namespace)}/{name}", change, MERGE)
    scene.until(lambda seen: seen.replica_sets[0].drifted)
    scene.do(create(two, repair=True))

    assert rules() == [*own, added]
    scene.until(lambda seen: not seen.replica_sets[0].drifted)
