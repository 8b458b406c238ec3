"""An operator's request as an annotation of the BlueGreenDeployment: parsed and written. Decides nothing about it."""

import json

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.observed import Request
from gitops_bg.core.text.foreign_json import UNIQUE, read_json
from gitops_bg.spec.codec import from_json, to_json


def request_of(annotation: str) -> Request | None:
    """The request in an annotation; None where there is none, or it is not one of ours."""
    if not annotation:
        return None
    try:
        return from_json(Request, read_json(annotation, UNIQUE))
    except (ValueError, InvalidInput):
        return None


def annotation_of(request: Request) -> str:
    """The text of the annotation for a request."""
    return json.dumps(to_json(request), sort_keys=True)
