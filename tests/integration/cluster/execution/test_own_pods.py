"""Terms about own pods on live objects: narrowed in the pods, not in the snapshot, and a repair keeps them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from gitops_bg.core import names
from gitops_bg.core.model.actions import ApplyApp
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.version import Snapshot
from tests.integration.cluster.scene import Scene, create, snapshot
from tests.support.cluster.paths import replica_sets
from tests.support.cluster.rawapi import MERGE

OWN = {"team": "shop"}


def spread_out() -> Snapshot:
    """A version that spreads its pods over zones."""
    template = json.loads(snapshot("v1").text)
    constraint = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    template["spec"]["topologySpreadConstraints"] = [{**constraint, "labelSelector": {"matchLabels": OWN}}]
    return snapshot_of(template)


def counted(scene: Scene, name: str) -> dict[str, Any]:
    """The labels of the pods that the constraint counts."""
    (constraint,) = scene.live("replicasets", name)["spec"]["template"]["spec"]["topologySpreadConstraints"]
    labels: dict[str, Any] = constraint["labelSelector"]["matchLabels"]
    return labels


def test_a_constraint_counts_the_pods_of_its_version_without_drift_and_a_repair_keeps_it_so(scene: Scene) -> None:
    one = spread_out()
    name = names.replica_set_name(scene.app, 1, one.digest)
    scene.do(ApplyApp(), create(one), config=replace(scene.config, selector=OWN))
    assert counted(scene, name) == {**OWN, **scene.selector(one)}
    (view,) = scene.until(lambda seen: seen.replica_sets).replica_sets
    assert (view.snapshot, view.drifted) == (one, False)

    change = {"spec": {"template": {"spec": {"topologySpreadConstraints": None}}}}
    scene.cluster.patch(f"{replica_sets(scene.app.namespace)}/{name}", change, MERGE)
    scene.until(lambda seen: seen.replica_sets[0].drifted)
    scene.do(create(one, repair=True))
    assert counted(scene, name) == {**OWN, **scene.selector(one)}
    scene.until(lambda seen: not seen.replica_sets[0].drifted)


def test_what_an_older_release_made_is_no_drift_and_stays_as_it_is(scene: Scene) -> None:
    one = spread_out()
    name = names.replica_set_name(scene.app, 1, one.digest)
    scene.do(ApplyApp(), create(one), config=replace(scene.config, selector={}))
    assert counted(scene, name) == OWN
    scene.until(lambda seen: seen.replica_sets and not seen.replica_sets[0].drifted)
    scene.do(create(one, repair=True), config=replace(scene.config, selector=OWN))
    assert counted(scene, name) == OWN
