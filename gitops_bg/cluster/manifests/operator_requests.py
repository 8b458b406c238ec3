"""Operators' requests as an annotation of the BlueGreenDeployment: parsed and written. Decides nothing about them.

The annotation is the newest request; those that waited already when it was written stand in it under `BEFORE`. A
release that knows nothing of these reads the newest one.
"""

import json
from collections.abc import Iterator, Sequence

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_json import UNIQUE, read_json
from gitops_bg.core.model.observed import Request
from gitops_bg.spec.codec import from_json, to_json

MOST = 10
"""How many requests can wait at once. The record must keep more ids than that (`record.MOST_ANSWERED`)."""
BEFORE = "before"


def requests_of(annotation: str) -> tuple[Request, ...]:
    """The requests in an annotation, oldest first, without what is none of ours."""
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
    """The text of the annotation for these requests, oldest first; empty for none."""
    if not requests:
        return ""
    *before, newest = map(to_json, requests)
    return json.dumps(newest | ({BEFORE: before} if before else {}), sort_keys=True)
