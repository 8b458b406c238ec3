"""The API server: a request comes in, an answer goes out. It must hold no rule of any kind of object.

Requests are read in `calls.py`, faults met in `faults.py`, objects read and written in `reading.py`,
`writing.py` and `deleting.py`; this file only joins them and words the answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any

from gitops_bg.sandbox.faults import ConnectionLost, Faults
from gitops_bg.sandbox.http import decoding, discovery, tables
from gitops_bg.sandbox.http.calls import APPLY_YAML, Call, read_call
from gitops_bg.sandbox.http.errors import (
    ApiError,
    bad_request,
    cause,
    invalid,
    method_not_allowed,
    no_such_path,
    required,
    unsupported_media_type,
)
from gitops_bg.sandbox.http.requests import Requests
from gitops_bg.sandbox.http.watches import WatchEvent
from gitops_bg.sandbox.http.wire import Connection, Request, Response
from gitops_bg.sandbox.objects.kinds import Kinds, ServedKind
from gitops_bg.sandbox.objects.objects import Manifest, Stored, to_json
from gitops_bg.sandbox.objects.store import Store
from gitops_bg.sandbox.verbs import deleting, patches, reading
from gitops_bg.sandbox.verbs.eviction import evict
from gitops_bg.sandbox.verbs.patches import strategic_merge
from gitops_bg.sandbox.verbs.writing import Options, Writer

_APPLY = (APPLY_YAML, "application/apply-patch+cbor")
_PATCHES: dict[str, Callable[[Any, Any], Any]] = {
    "application/json-patch+json": patches.json_patch,
    "application/merge-patch+json": patches.merge_patch,
    "application/strategic-merge-patch+json": strategic_merge,
}


@dataclass
class ApiServer:
    """Answers HTTP requests from the store."""

    store: Store
    kinds: Kinds
    writer: Writer
    faults: Faults
    requests: Requests

    def serve(self, connection: Connection) -> None:
        """Answer the requests of one connection until it ends."""
        while (request := connection.read()) is not None:
            response = self.answer(request)
            if response is not None:
                response.headers["Date"] = formatdate(time.time() + self.faults.clock_ahead, usegmt=True)
            if response is None or not connection.send(response, request):
                return

    def answer(self, request: Request) -> Response | None:
        """Return the answer to a request; None when a fault cuts the connection."""
        call = read_call(request)
        try:
            self.faults.meet(call)
            response = self._handle(call)
            self.requests.log(call, response.status)
            self.faults.leave(call)
        except ConnectionLost:
            self.requests.log(call, 0)
            return None
        except ApiError as error:
            self.requests.log(call, error.code)
            return _refused(error)
        return response

    def _handle(self, call: Call) -> Response:
        if not call.plural:
            return self._handle_non_resource(call)
        if not self.kinds.has_version(call.group, call.version):
            return Response(404, b"404 page not found\n", "text/plain; charset=utf-8")
        kind = self.kinds.at(call.group, call.version, call.plural)
        if kind is None or (call.subresource and not reading.served(kind, call.subresource)):
            raise no_such_path()
        if kind.namespaced and not call.namespace and call.verb not in ("list", "watch"):
            raise method_not_allowed()
        handle = getattr(self, f"_{call.verb}", None)
        if handle is None:
            raise method_not_allowed()
        response: Response = handle(kind, call)
        return response

    def _handle_non_resource(self, call: Call) -> Response:
        if call.path in ("/healthz", "/readyz", "/livez"):
            return Response(200, b"ok", "text/plain; charset=utf-8")
        return Response(200, to_json(discovery.answer(self.kinds, call.path)))

    def _get(self, kind: ServedKind, call: Call) -> Response:
        stored = reading.get(self.store, kind, call.namespace, call.name)
        if call.subresource == "scale":
            return Response(200, to_json(reading.scale_of(kind, stored.obj)))
        if call.subresource == "log":
            return Response(200, b"the sandbox keeps no logs\n", "text/plain")
        return self._object(kind, call, stored)

    def _list(self, kind: ServedKind, call: Call) -> Response:
        page = reading.list_page(self.store, kind, call)
        if _wants_table(call):
            objects = [stored.obj for stored in page.items]
            return Response(200, to_json(tables.table(kind, objects, page.metadata(), _include(call))))
        return Response(200, reading.list_json(kind, page))

    def _watch(self, kind: ServedKind, call: Call) -> Response:
        try:
            watch = reading.open_watch(self.store, kind, call)
        except ApiError as error:
            if error.code != 410:
                raise
            return Response(200, stream=iter([reading.error_line(error)]))
        encode = _row_encoder(kind, call) if _wants_table(call) else _change_encoder(kind)
        return Response(200, stream=reading.watch_lines(self.store, kind, call, watch, encode))

    def _create(self, kind: ServedKind, call: Call) -> Response:
        body = call.document()
        if call.subresource:
            return self._create_subresource(kind, call, body)
        if call.name:
            raise method_not_allowed()
        stored = self.writer.create(kind, call.namespace, body, self._options(call))
        return self._object(kind, call, stored, 201)

    def _create_subresource(self, kind: ServedKind, call: Call, body: Manifest) -> Response:
        if call.subresource == "binding":
            self.writer.modify(
                kind, call.namespace, call.name, lambda pod: reading.bound(pod, body), self._options(call)
            )
        elif call.subresource == "eviction":
            evict(self.writer, kind, call.namespace, call.name, body)
        else:
            raise method_not_allowed()
        return Response(201, to_json(_success()))

    def _update(self, kind: ServedKind, call: Call) -> Response:
        body, options = call.document(), self._options(call)
        if not isinstance(body, dict):
            raise bad_request("the object provided is unrecognized")
        if call.subresource == "scale":
            return self._scale(kind, call, lambda _: body)
        stored, created = self.writer.update(kind, call.namespace, call.name, body, options)
        return self._object(kind, call, stored, 201 if created else 200)

    def _scale(self, kind: ServedKind, call: Call, edit: Callable[[Manifest], Manifest]) -> Response:
        stored = self.writer.modify(
            kind, call.namespace, call.name,
            lambda obj: reading.scaled(kind, obj, edit(reading.scale_of(kind, obj))),
            self._options(call),
        )  # fmt: skip
        return Response(200, to_json(reading.scale_of(kind, stored.obj)))

    def _patch(self, kind: ServedKind, call: Call) -> Response:
        patch, options = call.document(), self._options(call)
        if call.content_type in _APPLY:
            _check_apply(call)
            stored, created = self.writer.apply(kind, call.namespace, call.name, patch, options)
            return self._object(kind, call, stored, 201 if created else 200)
        edit = _edit(kind, call, patch)
        if call.subresource == "scale":
            return self._scale(kind, call, edit)
        return self._object(kind, call, self.writer.modify(kind, call.namespace, call.name, edit, options))

    def _delete(self, kind: ServedKind, call: Call) -> Response:
        deletion = deleting.Deletion.read(call.document(), call.params)
        stored, gone = deleting.delete(self.store, kind, call.namespace, call.name, deletion)
        if not gone or kind.plural in ("pods", "serviceaccounts"):
            return self._object(kind, call, stored)
        details = {"name": call.name, "group": kind.group, "kind": kind.plural, "uid": stored.obj["metadata"]["uid"]}
        return Response(200, to_json(_success({key: value for key, value in details.items() if value})))

    def _deletecollection(self, kind: ServedKind, call: Call) -> Response:
        deletion = deleting.Deletion.read(call.document(), call.params)
        page = reading.list_page(self.store, kind, call)
        for stored in page.items:
            metadata = stored.obj["metadata"]
            try:
                deleting.delete(self.store, kind, metadata.get("namespace", ""), metadata["name"], deletion)
            except ApiError as error:
                if error.code != 404:
                    raise
        return Response(200, reading.list_json(kind, page))

    def _object(self, kind: ServedKind, call: Call, stored: Stored, status: int = 200) -> Response:
        if _wants_table(call):
            metadata = {"resourceVersion": stored.obj["metadata"].get("resourceVersion", "")}
            return Response(status, to_json(tables.table(kind, [stored.obj], metadata, _include(call))))
        return Response(status, reading.encoder(kind)(stored))

    @staticmethod
    def _options(call: Call) -> Options:
        params = call.params
        if params.get("dryRun") not in (None, "All"):
            why = cause("dryRun", f'Unsupported value: "{params["dryRun"]}": supported values: "All"')
            raise invalid("meta.k8s.io", "PatchOptions", "", [why])
        agent = call.headers.get("user-agent", "unknown").partition("/")[0]
        return Options(
            manager=params.get("fieldManager") or agent,
            dry_run="dryRun" in params,
            strict=params.get("fieldValidation") == "Strict",
            force=params.get("force") == "true",
            applies=call.verb == "patch" and call.content_type in _APPLY,
            subresource=call.subresource if call.subresource in ("status", "scale") else "",
        )


def _edit(kind: ServedKind, call: Call, patch: Any) -> Callable[[Manifest], Manifest]:
    merge = _PATCHES.get(call.content_type)
    if merge is None or (kind.is_custom and merge is strategic_merge):
        raise unsupported_media_type(call.content_type, [*_PATCHES, *_APPLY])
    if merge is not patches.json_patch and not isinstance(patch, dict):
        raise bad_request("json: cannot unmarshal array into Go value of type map[string]interface {}")

    def edit(obj: Manifest) -> Manifest:
        try:
            result: Manifest = merge(obj, patch)
        except patches.PatchError as error:
            raise ApiError(
                422, "Invalid", "the server rejected our request due to an error in our request", {}
            ) from error
        except patches.PatchSyntaxError as error:
            raise bad_request(f"json: {error}") from error
        if call.subresource != "scale":
            _check_patched(kind, obj, result)
        return result

    return edit


def _check_patched(kind: ServedKind, old: Manifest, new: Manifest) -> None:
    """Raise 422 where a patch makes what Go cannot decode, or another uid: a body of that kind were a 400 or 409."""
    name, metadata = old["metadata"]["name"], new.get("metadata") or {}
    why = "" if kind.is_custom else decoding.complaint(kind, new)
    if why:
        raise invalid("", "", "", [cause("patch", f"Invalid value: {why}")])
    if metadata.get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
        wrong = cause("metadata.uid", f'Invalid value: "{metadata["uid"]}": field is immutable')
        raise invalid(kind.group, kind.kind, name, [wrong])


def _check_apply(call: Call) -> None:
    if not call.params.get("fieldManager"):
        why = required("fieldManager", "is required for apply patch")
        raise invalid("meta.k8s.io", "PatchOptions", "", [why])


def _success(details: Manifest | None = None) -> Manifest:
    body: Manifest = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return {**body, "details": details} if details else body


def _refused(error: ApiError) -> Response:
    response = Response(error.code, to_json(error.status()))
    after = (error.details or {}).get("retryAfterSeconds")
    if after is not None:
        response.headers["Retry-After"] = str(after)
    return response


def _wants_table(call: Call) -> bool:
    return "as=Table" in call.headers.get("accept", "") and not call.subresource


def _include(call: Call) -> str:
    return call.params.get("includeObject", "Metadata")


def _change_encoder(kind: ServedKind) -> Callable[[WatchEvent], bytes]:
    encode = reading.encoder(kind)
    return lambda change: encode(change.current)


def _row_encoder(kind: ServedKind, call: Call) -> Callable[[WatchEvent], bytes]:
    def encode(change: WatchEvent) -> bytes:
        obj = change.current.obj
        metadata = {"resourceVersion": obj["metadata"]["resourceVersion"]}
        return to_json(tables.table(kind, [obj], metadata, _include(call)))

    return encode
