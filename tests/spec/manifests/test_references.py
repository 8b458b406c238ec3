"""Where a pod template refers to ConfigMaps and Secrets: every kind of reference is found, and can be changed."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from gitops_bg.spec.manifests.configuration import CONFIG_MAP, SECRET, TABLE, redirected, references

MAP, HIDDEN = (CONFIG_MAP, "it"), (SECRET, "it")
CONTAINER = {
    "env configMapKeyRef": (
        {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "it", "key": "a"}}}]},
        MAP,
    ),
    "env secretKeyRef": ({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "it", "key": "a"}}}]}, HIDDEN),
    "envFrom configMapRef": ({"envFrom": [{"prefix": "X_", "configMapRef": {"name": "it"}}]}, MAP),
    "envFrom secretRef": ({"envFrom": [{"secretRef": {"name": "it", "optional": True}}]}, HIDDEN),
}
VOLUME = {
    "configMap": ({"configMap": {"name": "it", "items": [{"key": "a", "path": "a"}]}}, MAP),
    "secret": ({"secret": {"secretName": "it"}}, HIDDEN),
    "projected configMap": ({"projected": {"sources": [{"downwardAPI": {}}, {"configMap": {"name": "it"}}]}}, MAP),
    "projected secret": ({"projected": {"sources": [{"secret": {"name": "it"}}]}}, HIDDEN),
    "csi": ({"csi": {"driver": "x", "nodePublishSecretRef": {"name": "it"}}}, HIDDEN),
    "azureFile": ({"azureFile": {"secretName": "it", "shareName": "x"}}, HIDDEN),
    "cephfs": ({"cephfs": {"monitors": ["x"], "secretRef": {"name": "it"}}}, HIDDEN),
    "cinder": ({"cinder": {"volumeID": "x", "secretRef": {"name": "it"}}}, HIDDEN),
    "flexVolume": ({"flexVolume": {"driver": "x", "secretRef": {"name": "it"}}}, HIDDEN),
    "iscsi": ({"iscsi": {"iqn": "x", "secretRef": {"name": "it"}}}, HIDDEN),
    "rbd": ({"rbd": {"image": "x", "secretRef": {"name": "it"}}}, HIDDEN),
    "scaleIO": ({"scaleIO": {"system": "x", "secretRef": {"name": "it"}}}, HIDDEN),
    "storageos": ({"storageos": {"secretRef": {"name": "it"}}}, HIDDEN),
}
REFERENCES: dict[str, tuple[dict[str, Any], tuple[str, str]]] = {
    "imagePullSecrets": ({"imagePullSecrets": [{"name": "it"}]}, HIDDEN),
    **{
        f"{group} {name}": ({group: [{"name": "other"}, {"name": "web", **container}]}, found)
        for group in ("containers", "initContainers")
        for name, (container, found) in CONTAINER.items()
    },
    **{f"volume {name}": ({"volumes": [{"name": "v", **volume}]}, found) for name, (volume, found) in VOLUME.items()},
}


@pytest.mark.parametrize("name", REFERENCES)
def test_every_kind_of_reference_is_found_and_changed(name: str) -> None:
    pod, found = REFERENCES[name]
    before = copy.deepcopy(pod)
    assert references({"spec": pod}) == {found}
    changed = redirected({"spec": pod}, {found: "it-3f9c012345"})
    assert references(changed) == {(found[0], "it-3f9c012345")}
    assert pod == before, "the template itself stays as it is"


def test_the_table_is_covered() -> None:
    assert len(REFERENCES) == len(TABLE)


def test_references_to_other_objects_stay_as_they_are() -> None:
    template = {"spec": {"volumes": [{"configMap": {"name": "theirs"}}, {"secret": {"secretName": "it"}}]}}
    assert redirected(template, {MAP: "it-3f9c012345"}) == template


def test_what_is_no_pod_template_refers_to_nothing() -> None:
    for odd in (None, {}, {"spec": None}, {"spec": {"volumes": {"configMap": 1}, "containers": [None, "x"]}}):
        assert references(odd) == frozenset()
