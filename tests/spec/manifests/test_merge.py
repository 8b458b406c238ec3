"""What an environment has of its own is merged as the API server merges a patch; each part knows where it is from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitops_bg.sandbox.verbs.patches import merge_patch, strategic_merge
from gitops_bg.spec.manifests.merge import json_merged, strategic_merged
from gitops_bg.spec.yaml.layered import Merged
from gitops_bg.spec.yaml.scalars import Path

BASE: dict[str, Any] = yaml.safe_load("""\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {team: shop}}
spec:
  replicas: 1
  template:
    metadata: {labels: {app: web}, annotations: {a: "1", b: "2"}}
    spec:
      volumes:
      - {name: cache, emptyDir: {}}
      - {name: settings, configMap: {name: settings}}
      tolerations: [{key: spot, operator: Exists}]
      containers:
      - name: web
        image: web:1
        args: [--fast]
        env: [{name: A, value: "1"}, {name: B, value: "2"}, {name: C, value: "3"}]
        ports: [{containerPort: 8080, name: http}]
        volumeMounts: [{name: cache, mountPath: /cache}]
      - {name: log, image: log:1}
""")
IN_POD = "spec: {template: {spec: %s}}"
PATCHES = [
    "spec: {replicas: 5}",
    "metadata: {labels: {team: null, tier: web}}",
    "spec: {template: {metadata: {annotations: null}}}",
    "spec: {template: {metadata: {annotations: {$patch: replace, c: '3'}}}}",
    IN_POD % "{containers: [{name: web, image: 'web:2', args: [--slow, -v]}]}",
    IN_POD % "{containers: [{name: web, env: [{name: B, $patch: delete}, {name: C, value: x}, {name: D, value: y}]}]}",
    IN_POD % "{containers: [{name: more, image: 'more:1', env: [{name: A, value: z}]}]}",
    IN_POD % "{containers: [{name: web, resources: {limits: {cpu: '2'}}}, {name: log, image: 'log:2'}]}",
    IN_POD % "{containers: [{name: web, env: [{$patch: replace}, {name: ONLY, value: x}]}]}",
    IN_POD % "{tolerations: [{key: gpu}], volumes: [{name: cache, $patch: delete}, {name: new, emptyDir: {}}]}",
    IN_POD % "{containers: [{name: web, ports: [{containerPort: 9090, name: admin}]}]}",
    IN_POD % "{containers: [{name: web, volumeMounts: [{mountPath: /cache, name: cache, readOnly: true}]}]}",
    IN_POD % "{volumes: [{name: cache, emptyDir: null, configMap: {name: other}}]}",
    IN_POD % "{securityContext: {runAsUser: 1, fsGroup: null, seccompProfile: {type: RuntimeDefault, x: null}}}",
    "{}",
]


def leaves(value: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from leaves(each, (*at, key))
    elif isinstance(value, list) and value:
        for place, each in enumerate(value):
            yield from leaves(each, (*at, place))
    else:
        yield at, value


def found(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def origin(merged: Merged, path: Path) -> tuple[bool, Path]:
    for length in range(len(path), -1, -1):
        if (mark := merged.marks.get(path[:length])) is not None:
            return mark[0], (*mark[1], *path[length:])
    return False, path


@pytest.mark.parametrize("text", PATCHES)
def test_an_overlay_is_merged_as_the_api_server_merges_a_strategic_patch(text: str) -> None:
    patch = yaml.safe_load(text)
    assert strategic_merged(BASE, patch).value == strategic_merge(BASE, patch)


@pytest.mark.parametrize("text", PATCHES)
def test_each_value_is_where_its_mark_says(text: str) -> None:
    patch = yaml.safe_load(text)
    merged = strategic_merged(BASE, patch)
    for path, value in leaves(merged.value):
        is_over, there = origin(merged, path)
        assert found(patch if is_over else BASE, there) == value, path


@pytest.mark.parametrize("text", PATCHES)
def test_neither_side_is_changed(text: str) -> None:
    patch = yaml.safe_load(text)
    before = yaml.safe_load(yaml.safe_dump(BASE)), yaml.safe_load(text)
    strategic_merged(BASE, patch)
    json_merged(BASE, patch)
    assert before == (BASE, patch)


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(0, 9), st.text("ab", max_size=2))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=12,
)
MAPS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


@given(MAPS, MAPS)
def test_app_yaml_is_merged_as_rfc_7386_says_and_each_value_is_where_its_mark_says(
    base: dict[str, Any], over: dict[str, Any]
) -> None:
    merged = json_merged(base, over)
    assert merged.value == merge_patch(base, over)
    for path, value in leaves(merged.value):
        is_over, there = origin(merged, path)
        side = found(over if is_over else base, there)
        assert side == value or (value == {} and isinstance(side, dict)), path
