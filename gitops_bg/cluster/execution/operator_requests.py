"""Requests of operators, in an annotation of the live object: parsed, and written beside those of others that nobody
has answered yet, so that none of them is lost.

The annotation is the newest request; those that waited already when it was written stand in it under `BEFORE`. A
release that knows nothing of these reads the newest one. The object is read before a write, and its ``resourceVersion``
is the lock. What the record has answered goes.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from gitops_bg.cluster.api.errors import NotFound
from gitops_bg.cluster.api.kinds import Kind, Object
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.subject import is_too_late
from gitops_bg.core.errors import InvalidInput, Refused, WorldChanged
from gitops_bg.core.foreign_json import UNIQUE, read_json
from gitops_bg.core.model.observed import Request
from gitops_bg.core.model.record import OperatorState
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.spec.codec import from_json, to_json

_ATTEMPTS = 20
MOST = 10
"""How many requests can wait at once. The record must keep more ids than that (`record.MOST_ANSWERED`)."""


BEFORE = "before"

Requests = tuple[Request, ...]


def requests_at(body: Object | None) -> Requests:
    """Return the requests at a live object, oldest first, answered or not."""
    annotations = ((body or {}).get("metadata") or {}).get("annotations") or {}
    return requests_of(annotations.get(names.REQUEST, ""))


@dataclass(frozen=True, slots=True)
class OperatorRequests:
    """The requests at the objects of a kind: of apps, or of release groups."""

    kind: Kind
    get: Callable[[Kind, str, str], Object | None]
    """Reads an object in its present state."""
    patch: Callable[[Kind, str, str, Object], object]
    """Merge-patches it."""
    answered: Callable[[Object], OperatorState]
    """What the record in an object has answered."""

    def add(self, subject: AppOrGroup, request: Request) -> None:
        """Write a request, once. Raises `NotFound`, `Refused` where too many wait, `Transient`."""

        def added(waiting: Requests) -> Requests:
            if len(waiting) >= MOST:
                raise Refused(f"{subject}: {MOST} requests wait for an agent already; none of them has answered them")
            return (*waiting, request)

        self._change(subject, request, added)

    def withdraw(self, subject: AppOrGroup, request: Request) -> None:
        """Take a request back that nobody has answered yet. Raises `NotFound`, `Refused`, `Transient`."""
        self._change(subject, request, lambda waiting: waiting)

    def _change(self, subject: AppOrGroup, request: Request, change: Callable[[Requests], Requests]) -> None:
        """Write what ``change`` makes of the other requests that wait; nothing where this one is answered."""
        for _ in range(_ATTEMPTS - 1):
            with suppress(WorldChanged):  # the agent saved its record, or somebody asked for something, too
                return self._change_once(subject, request, change)
        return self._change_once(subject, request, change)

    def _change_once(self, subject: AppOrGroup, request: Request, change: Callable[[Requests], Requests]) -> None:
        found = self.get(self.kind, subject.namespace, subject.name)
        if found is None:
            raise NotFound(f"{self.kind.called(subject.namespace, subject.name)} does not exist in this cluster")
        operator = self.answered(found)
        waiting = tuple(each for each in requests_at(found) if not operator.has_answered(each.id))
        others = tuple(each for each in waiting if each.id != request.id and not is_too_late(each, request.at))
        wanted = change(others)
        if operator.has_answered(request.id) or wanted == waiting:
            return
        metadata = {
            "resourceVersion": found["metadata"]["resourceVersion"],
            "annotations": {names.REQUEST: annotation_of(wanted) or None},
        }
        self.patch(self.kind, subject.namespace, subject.name, {"metadata": metadata})


def requests_of(annotation: str) -> tuple[Request, ...]:
    """Return the requests in an annotation, oldest first, without what is none of ours."""
    if not annotation:
        return ()
    try:
        newest = read_json(annotation, UNIQUE)
    except ValueError:
        return ()
    before = newest.get(BEFORE) if isinstance(newest, dict) else None
    each = [*(before if isinstance(before, list) else ()), newest]
    return tuple(request for one in each[-MOST:] for request in _parsed(one))


def _parsed(one: object) -> Iterator[Request]:
    try:
        yield from_json(Request, one)
    except (ValueError, InvalidInput):
        return


def annotation_of(requests: Sequence[Request]) -> str:
    """Return the text of the annotation for these requests, oldest first; empty for none."""
    if not requests:
        return ""
    *before, newest = map(to_json, requests)
    return json.dumps(newest | ({BEFORE: before} if before else {}), sort_keys=True)
