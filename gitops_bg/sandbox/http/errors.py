"""Refusals of the API server as `Status` bodies. It must decide nothing: it only words a refusal.

Codes, reasons and details follow apimachinery `pkg/api/errors/errors.go`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from gitops_bg.sandbox.objects.objects import Manifest


class ApiError(Exception):
    """A refused request; `status()` is the body the real server would send."""

    def __init__(self, code: int, reason: str, message: str, details: Manifest | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def status(self) -> Manifest:
        """Return the `metav1.Status` body."""
        body: Manifest = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        body["message"] = self.message
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


def cause(field: str, message: str, reason: str = "FieldValueInvalid") -> Manifest:
    """Return one `StatusCause`: which field, and what is wrong with it."""
    return {"reason": reason, "message": message, "field": field}


def required(field: str, message: str = "") -> Manifest:
    """Return the cause for a missing field."""
    return cause(field, f"Required value{': ' + message if message else ''}", "FieldValueRequired")


def wrong(field: str, value: object, why: str) -> Manifest:
    """Return the cause for a value that breaks a rule."""
    return cause(field, f"Invalid value: {json.dumps(value, separators=(',', ':'))}: {why}")


def _details(resource: str, name: str) -> Manifest:
    plural, _, group = resource.partition(".")
    details: Manifest = {"name": name, "group": group, "kind": plural}
    return {key: value for key, value in details.items() if value}


def not_found(resource: str, name: str) -> ApiError:
    """Return 404: there is no such object; `resource` is `plural.group`."""
    return ApiError(404, "NotFound", f'{resource} "{name}" not found', _details(resource, name))


def no_such_path() -> ApiError:
    """Return 404: the server has no such resource type at all."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(resource: str, name: str) -> ApiError:
    """Return 409: a create met an object of that name."""
    return ApiError(409, "AlreadyExists", f'{resource} "{name}" already exists', _details(resource, name))


STALE = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(resource: str, name: str, why: str = STALE) -> ApiError:
    """Return 409: the writer's picture of the object is old, or a precondition does not hold."""
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return ApiError(409, "Conflict", message, _details(resource, name))


def apply_conflict(causes: Sequence[Manifest]) -> ApiError:
    """Return 409: fields of a server-side apply belong to another manager."""
    fields = ", ".join(f"{c['message']}: {c['field']}" for c in causes)
    number = f"{len(causes)} conflict{'s' if len(causes) > 1 else ''}"
    return ApiError(409, "Conflict", f"Apply failed with {number}: {fields}", {"causes": list(causes)})


def invalid(group: str, kind: str, name: str, causes: Sequence[Manifest]) -> ApiError:
    """Return 422: the object breaks rules of its kind, one cause each."""
    qualified = f"{kind}.{group}" if group else kind
    said = [f"{c['field']}: {c['message']}" if c["field"] else c["message"] for c in causes]
    text = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    details: Manifest = {"name": name, "group": group, "kind": kind, "causes": list(causes)}
    details = {key: value for key, value in details.items() if value}
    return ApiError(422, "Invalid", f'{qualified} "{name}" is invalid: {text}', details)


def bad_request(message: str) -> ApiError:
    """Return 400: the request itself cannot be understood."""
    return ApiError(400, "BadRequest", message)


def forbidden(resource: str, name: str, why: str) -> ApiError:
    """Return 403: known user, not allowed."""
    label = f'{resource} "{name}" is forbidden: ' if name else f"{resource} is forbidden: "
    return ApiError(403, "Forbidden", label + why, _details(resource, name))


def expired(message: str) -> ApiError:
    """Return 410: the resourceVersion or continue token is older than what the server remembers."""
    return ApiError(410, "Expired", message)


def method_not_allowed() -> ApiError:
    """Return 405: the resource has no such verb."""
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def unsupported_media_type(content_type: str, supported: Sequence[str]) -> ApiError:
    """Return 415: a body or patch format that the server does not read."""
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(supported)}"
    return ApiError(415, "UnsupportedMediaType", message, {"causes": [cause("", content_type)]})
