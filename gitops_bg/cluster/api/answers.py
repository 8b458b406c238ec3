"""The least that the API server promises of what it sends: another shape is an error of the connection, not a bug.

What stands between may answer in its place: a proxy, or a server of an aggregated API.
"""

from typing import Any

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core.errors import Transient
from gitops_bg.core.foreign_json import NotJson, read_objects

BOOKMARK, DELETED, ERROR = "BOOKMARK", "DELETED", "ERROR"
_OF_A_BOOKMARK = ("resourceVersion",)
_OF_A_CHANGE = ("resourceVersion", "name")
_OF_A_DELETION = ("resourceVersion", "name", "uid")
"""What must be known of the object of an event."""


def read_event(line: bytes) -> tuple[str, Object]:
    """Return the type and the object of an event of a watch. Raises `Transient`.

    >>> read_event(b'{"type": "ERROR", "object": {"code": 410}}')
    ('ERROR', {'code': 410})
    """
    try:
        event = read_objects(line)
    except NotJson as error:
        raise Transient(f"the watch sent a line that is not JSON: {error}") from error
    kind, body = (event.get("type"), event.get("object")) if isinstance(event, dict) else (None, None)
    if not isinstance(kind, str) or not isinstance(body, dict):
        raise Transient("the watch sent a line that is no event")
    if kind != ERROR:
        for name in {BOOKMARK: _OF_A_BOOKMARK, DELETED: _OF_A_DELETION}.get(kind, _OF_A_CHANGE):
            _identity(body, name)
    return kind, body


def items_of(page: Object) -> list[Object]:
    """Return the objects of a page of a list. Raises `Transient`.

    >>> items_of({"items": None})
    []
    """
    items = page.get("items") or []
    if not isinstance(items, list):
        raise Transient("the API server sent a list without items")
    for item in items:
        _identity(item, "name")  # the rest is read object by object: a bad one hides none beside it
    return items


def next_of(page: Object) -> str:
    """Return the token that continues a list; empty at its end. Raises `Transient`."""
    metadata = page.get("metadata") or {}
    token = (metadata.get("continue") or "") if isinstance(metadata, dict) else None
    if not isinstance(token, str):
        raise Transient("the API server sent a list that cannot be continued")
    return token


def version_of(body: Object) -> str:
    """Return the ``resourceVersion`` of an object or a list. Raises `Transient`.

    >>> version_of({"metadata": {"resourceVersion": "7"}})
    '7'
    """
    return _identity(body, "resourceVersion")


def _identity(body: Any, name: str) -> str:
    metadata = body.get("metadata") if isinstance(body, dict) else None
    value = metadata.get(name) if isinstance(metadata, dict) else None
    if not isinstance(value, str):
        raise Transient(f"the API server sent an object without metadata.{name}")
    return value
