"""Patches, server-side apply and selectors, each by tables of small cases."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_bg.sandbox.controllers.loop import LabelIndex, SelectorIndex
from gitops_bg.sandbox.http.errors import ApiError
from gitops_bg.sandbox.http.tables import lookup
from gitops_bg.sandbox.objects import fields, selectors
from gitops_bg.sandbox.objects.fields import BUILTIN_ROOT
from gitops_bg.sandbox.verbs.managers import Manager, apply, track_update
from gitops_bg.sandbox.verbs.patches import PatchError, json_patch, merge_patch, strategic_merge

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        # RFC 7386, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch_does_what_the_rfc_says(document: Json, patch: Json, result: Json) -> None:
    assert merge_patch(document, patch) == result


@pytest.mark.parametrize(
    ("operations", "result"),
    [
        ([{"op": "add", "path": "/b", "value": 2}], {"a": [1, 2], "m": {"x/y": 1}, "b": 2}),
        ([{"op": "add", "path": "/a/1", "value": 9}], {"a": [1, 9, 2], "m": {"x/y": 1}}),
        ([{"op": "add", "path": "/a/-", "value": 9}], {"a": [1, 2, 9], "m": {"x/y": 1}}),
        ([{"op": "remove", "path": "/a/0"}], {"a": [2], "m": {"x/y": 1}}),
        ([{"op": "replace", "path": "/m/x~1y", "value": 5}], {"a": [1, 2], "m": {"x/y": 5}}),
        ([{"op": "move", "from": "/a", "path": "/b"}], {"m": {"x/y": 1}, "b": [1, 2]}),
        ([{"op": "copy", "from": "/a/0", "path": "/c"}], {"a": [1, 2], "m": {"x/y": 1}, "c": 1}),
        ([{"op": "test", "path": "/gone", "value": None}], {"a": [1, 2], "m": {"x/y": 1}}),
    ],
)
def test_a_json_patch_does_what_the_rfc_says(operations: list[Json], result: Json) -> None:
    assert json_patch({"a": [1, 2], "m": {"x/y": 1}}, operations) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 1},
        {"op": "remove", "path": "/gone"},
        {"op": "replace", "path": "/gone", "value": 1},
        {"op": "add", "path": "/gone/deeper", "value": 1},
        {"op": "add", "path": "/a/7", "value": 1},
        {"op": "fly", "path": "/a"},
    ],
)
def test_a_json_patch_that_does_not_fit_is_refused_whole(operation: Json) -> None:
    document = {"a": [1]}
    with pytest.raises(PatchError):
        json_patch(document, [{"op": "add", "path": "/b", "value": 1}, operation])
    assert document == {"a": [1]}


def pod(*containers: Json) -> Json:
    return {"spec": {"containers": list(containers)}}


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        (pod({"name": "b", "image": "2"}), pod({"name": "a", "image": "1"}, {"name": "b", "image": "2"})),
        (pod({"name": "a", "env": []}), pod({"name": "a", "image": "1", "env": []})),
        (pod({"$patch": "delete", "name": "a"}), pod()),
        (pod({"$patch": "replace"}, {"name": "z"}), pod({"name": "z"})),
        ({"spec": {"$patch": "replace", "x": 1}}, {"spec": {"x": 1}}),
        ({"spec": {"$retainKeys": ["x"], "x": 1}}, {"spec": {"x": 1}}),
        (
            {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": [{"name": "b"}]}},
            pod({"name": "b"}, {"name": "a", "image": "1"}),
        ),
    ],
)
def test_a_strategic_patch_merges_lists_by_key_and_obeys_directives(patch: Json, result: Json) -> None:
    assert strategic_merge(pod({"name": "a", "image": "1"}), patch) == result


@pytest.mark.parametrize(
    ("text", "labels", "accepted"),
    [
        ("a=1", {"a": "1"}, True),
        ("a==1", {"a": "2"}, False),
        ("a!=1", {}, True),
        ("a", {"a": ""}, True),
        ("!a", {"a": ""}, False),
        ("a in (1, 2)", {"a": "2"}, True),
        ("a notin (1,2),b", {"b": "x"}, True),
        ("a notin (1,2)", {"a": "1"}, False),
        ("demo.dev/a=x-1,b!=2", {"demo.dev/a": "x-1"}, True),
        ("", {}, True),
    ],
)
def test_label_selectors_are_read_as_the_server_reads_them(text: str, labels: dict[str, str], accepted: bool) -> None:
    assert selectors.accepts(selectors.parse_labels(text), labels) == accepted


def test_a_selector_that_is_none_is_a_400() -> None:
    with pytest.raises(ApiError) as refusal:
        selectors.parse_labels("a in 1")
    assert refusal.value.code == 400


@pytest.mark.parametrize(
    ("left", "right", "rest"),
    [
        ({"f:a": {}}, {"f:a": {}}, {}),
        ({"f:a": {}, "f:b": {}}, {"f:a": {}}, {"f:b": {}}),
        ({"f:a": {"f:x": {}, "f:y": {}}}, {"f:a": {"f:x": {}}}, {"f:a": {"f:y": {}}}),
        ({"f:a": {".": {}, "f:x": {}}}, {"f:a": {"f:x": {}}}, {"f:a": {}}),
        ({"f:a": {"f:x": {}}}, {"f:a": {}}, {"f:a": {"f:x": {}}}),
    ],
)
def test_field_sets_are_subtracted_member_by_member(left: Json, right: Json, rest: Json) -> None:
    assert fields.without(left, right) == rest
    assert fields.union(rest, {}) == rest


def applied(live: Json, intent: Json, manager: str, force: bool = False) -> Json:
    meta = {"metadata": {**intent.get("metadata", {})}}
    return apply(live, {**intent, **meta}, BUILTIN_ROOT, Manager(manager, "Apply", "v1"), force)


def test_an_apply_owns_list_items_by_key_and_takes_back_only_its_own() -> None:
    first = applied({"metadata": {}}, pod({"name": "a", "image": "1"}), "one")
    both = applied(first, pod({"name": "b", "image": "2"}), "two")
    assert [c["name"] for c in both["spec"]["containers"]] == ["a", "b"]
    left = applied(both, {"spec": {}}, "one")
    assert left["spec"]["containers"] == [{"name": "b", "image": "2"}]


def test_an_update_takes_the_field_from_who_applied_it() -> None:
    old = applied({"metadata": {}}, {"data": {"a": "1", "b": "1"}}, "one")
    new = {"metadata": {}, "data": {"a": "2", "b": "1"}}
    track_update(old, new, BUILTIN_ROOT, Manager("editor", "Update", "v1"))
    owned = {entry["manager"]: entry["fieldsV1"] for entry in new["metadata"]["managedFields"]}
    assert owned == {"one": {"f:data": {"f:b": {}}}, "editor": {"f:data": {"f:a": {}}}}


def test_a_removed_field_belongs_to_nobody() -> None:
    old = applied({"metadata": {}}, {"data": {"a": "1", "b": "1"}}, "one")
    new = {"metadata": {}, "data": {"b": "1"}}
    track_update(old, new, BUILTIN_ROOT, Manager("editor", "Update", "v1"))
    assert [entry["fieldsV1"] for entry in new["metadata"]["managedFields"]] == [{"f:data": {"f:b": {}}}]


def test_a_service_selector_is_one_value() -> None:
    live = applied({"metadata": {}}, {"spec": {"selector": {"a": "1", "b": "2"}}}, "one")
    assert applied(live, {"spec": {"selector": {"c": "3"}}}, "one")["spec"] == {"selector": {"c": "3"}}


def test_an_index_finds_objects_by_label_and_selectors_by_object() -> None:
    labels, index = LabelIndex(), SelectorIndex()
    labels.add("shop", "p", {"app": "web", "version": "1"})
    index.add("shop", "web", {"app": "web"})
    index.add("shop", "web-1", {"app": "web", "version": "1"})
    index.add("shop", "nothing", {})
    assert labels.select("shop", {"app": "web", "version": "1"}) == {"p"}
    assert labels.select("shop", {"app": "web", "version": "2"}) == set()
    assert labels.select("shop", {}) == set()
    assert index.matching("shop", {"app": "web", "version": "1"}) == {"web", "web-1"}
    index.discard("shop", "web")
    assert index.matching("shop", {"app": "web", "version": "2"}) == set()
    assert index.matching("other", {"app": "web", "version": "1"}) == set()


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.color", "blue"),
        ('.status.conditions[?(@.type=="Ready")].status', "True"),
        (".status.conditions[0].type", "Synced"),
        (".metadata.labels['a.b/c']", "x"),
        (".spec.missing.deeper", None),
    ],
)
def test_printer_columns_follow_simple_json_paths(path: str, found: str | None) -> None:
    obj = {
        "metadata": {"labels": {"a.b/c": "x"}},
        "spec": {"color": "blue"},
        "status": {"conditions": [{"type": "Synced"}, {"type": "Ready", "status": "True"}]},
    }
    assert lookup(obj, path) == found
