"""What a request asks for, read from its method and path. It must not carry anything out.

Paths and verbs: kubernetes.io "Kubernetes API Concepts"; apiserver `pkg/endpoints/request/requestinfo.go`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

from gitops_bg.sandbox.http import decoding, protobuf
from gitops_bg.sandbox.http.errors import bad_request, unsupported_media_type
from gitops_bg.sandbox.http.wire import Request

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get", "HEAD": "get"}
APPLY_YAML = "application/apply-patch+yaml"
_OF_NAMESPACES = ("status", "finalize")


@dataclass(frozen=True, slots=True)
class Call:
    """One request to the API; outside of resources `plural` is empty and only `path` says what is wanted."""

    verb: str
    path: str
    group: str = ""
    version: str = ""
    namespace: str = ""
    plural: str = ""
    name: str = ""
    subresource: str = ""
    params: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def resource(self) -> str:
        """Return `plural` or `plural/subresource`, as RBAC rules name it."""
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural

    @property
    def is_write(self) -> bool:
        """Return whether the request may change something (a dry run does not)."""
        return self.verb not in ("get", "list", "watch") and self.params.get("dryRun") != "All"

    @property
    def content_type(self) -> str:
        """Return the media type of the body, without parameters."""
        return self.headers.get("content-type", "application/json").partition(";")[0].strip()

    def document(self) -> Any:
        """Return the body; raise 400 if it is not what its media type says, and 415 for protobuf of a kind that
        `protobuf.py` does not know.
        """
        try:
            if self.content_type == protobuf.MEDIA_TYPE:
                return protobuf.read(self.body)
            if not self.body:
                return {}
            return decoding.read_yaml(self.body) if self.content_type == APPLY_YAML else decoding.read_json(self.body)
        except protobuf.Unreadable as error:
            raise unsupported_media_type(f"{self.content_type}: {error}", ["application/json"]) from error
        except decoding.Unreadable as error:
            raise bad_request(str(error)) from error


def read_call(request: Request) -> Call:
    """Return what a request asks for."""
    path, _, query = request.target.partition("?")
    params = dict(parse_qsl(query, keep_blank_values=True))
    parts = [unquote(part) for part in path.split("/") if part]
    verb = _VERBS.get(request.method, request.method.lower())
    call = Call(verb, path, params=params, headers=request.headers, body=request.body)
    if len(parts) >= 3 and parts[0] == "api":
        return _of_resource(call, ("", parts[1]), parts[2:])
    if len(parts) >= 4 and parts[0] == "apis":
        return _of_resource(call, (parts[1], parts[2]), parts[3:])
    return call


def _of_resource(call: Call, version: tuple[str, str], parts: list[str]) -> Call:
    namespace, verb = "", call.verb
    if parts[0] == "namespaces" and len(parts) > 2 and not (len(parts) == 3 and parts[2] in _OF_NAMESPACES):
        namespace, parts = parts[1], parts[2:]
    plural, name, subresource = (*parts, "", "")[:3]
    if verb == "get" and not name:
        verb = "watch" if call.params.get("watch") in ("1", "true") else "list"
    elif verb == "delete" and not name:
        verb = "deletecollection"
    return Call(
        verb, call.path, *version, namespace, plural, name, subresource,
        call.params, call.headers, call.body,
    )  # fmt: skip
