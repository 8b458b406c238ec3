"""What an API server sends in another shape than it promises is an error of the connection, not a bug of the agent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitops_bg.cluster.api.client import items_of, next_of, read_event
from gitops_bg.cluster.api.errors import is_failed_test, refusal
from gitops_bg.cluster.api.watch import Pace
from gitops_bg.core.errors import GitopsBgError, Transient

IDENTITY = {"name": "web", "uid": "u", "resourceVersion": "7"}


@pytest.mark.parametrize("line", [[1], 7, "x", None, {}, {"type": 1, "object": {}}, {"type": "ADDED", "object": []}])
def test_a_line_that_is_no_event_is_said(line: Any) -> None:
    with pytest.raises(Transient, match="a line that is no event"):
        read_event(json.dumps(line).encode())


@pytest.mark.parametrize(
    ("kind", "lacks"),
    [("ADDED", "name"), ("MODIFIED", "resourceVersion"), ("DELETED", "uid"), ("BOOKMARK", "resourceVersion")],
)
@pytest.mark.parametrize("value", [None, 7, []])
def test_an_event_of_an_object_without_its_identity_is_said(kind: str, lacks: str, value: Any) -> None:
    line = json.dumps({"type": kind, "object": {"metadata": IDENTITY | {lacks: value}}}).encode()
    with pytest.raises(Transient, match=rf"without metadata\.{lacks}"):
        read_event(line)


def test_an_event_with_what_its_kind_needs_is_read() -> None:
    for kind, needs in {
        "ADDED": "name resourceVersion",
        "DELETED": " ".join(IDENTITY),
        "BOOKMARK": "resourceVersion",
    }.items():
        body = {"metadata": {name: IDENTITY[name] for name in needs.split()}}
        assert read_event(json.dumps({"type": kind, "object": body}).encode()) == (kind, body)


@pytest.mark.parametrize("items", [7, "x", {"a": 1}, [None], [{"metadata": []}]])
def test_a_list_of_anything_else_is_said(items: Any) -> None:
    with pytest.raises(Transient):
        items_of({"items": items})


@pytest.mark.parametrize("metadata", [[1], "x", {"continue": 7}])
def test_a_list_that_cannot_be_continued_is_said(metadata: Any) -> None:
    with pytest.raises(Transient, match="cannot be continued"):
        next_of({"metadata": metadata})


@pytest.mark.parametrize(
    ("after", "seconds"), [("7", 7.0), ("inf", 3600.0), ("1e9", 3600.0), ("-1", 0.0), ("nan", None)]
)
def test_a_server_is_not_waited_for_without_an_end(after: str, seconds: float | None) -> None:
    error = refusal("list pods", 503, {"Retry-After": after}, b"")
    assert isinstance(error, GitopsBgError)
    assert getattr(error, "retry_after", None) == seconds
    assert Pace().pause(1, error) <= 3600


@pytest.mark.parametrize("details", [[7], "x", 7, None])
def test_details_of_another_shape_count_as_none(details: Any) -> None:
    body = json.dumps({"details": details, "reason": "Invalid", "message": "no"}).encode()
    assert str(refusal("patch it", 422, {}, body, "/apis/gitops-bg.dev/v1alpha1/x")) == "patch it: 422 Invalid: no"
    assert is_failed_test(422, body)
