"""The Kubernetes API as plain JSON over HTTP: requests and answers, with no model in between.

Tests look at the cluster through this, never through the code under test. Reads a kubeconfig with the official
client's loader; opens one connection pool, closed by `close`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3

from tests.support.waiting import PATIENCE

Json = dict[str, Any]

USER_AGENT = "gitops-bg-tests"  # by which the tests' own requests are told from those of the code under test

JSON = "application/json"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


class ApiError(AssertionError):
    """The API server refused; `status` is the HTTP code, `body` the Status object."""

    def __init__(self, request: str, status: int, body: Json) -> None:
        super().__init__(f"{request}: {status} {body.get('reason')}: {body.get('message')}")
        self.status = status
        self.body = body

    @property
    def reason(self) -> str:
        """The CamelCase reason of the Status object."""
        return str(self.body.get("reason"))


class RawApi:
    """Requests to one API server as one identity. Safe to share between threads."""

    def __init__(self, kubeconfig: Path, user_agent: str = USER_AGENT) -> None:
        from kubernetes.client import Configuration
        from kubernetes.config import load_kube_config

        config = Configuration()
        load_kube_config(config_file=str(kubeconfig), client_configuration=config)
        self.url: str = config.host
        self._headers = {"Accept": JSON, "User-Agent": user_agent}
        for setting in config.auth_settings().values():
            self._headers[setting["key"]] = setting["value"]
        self._pool = urllib3.PoolManager(
            maxsize=32,
            ca_certs=config.ssl_ca_cert,
            cert_file=config.cert_file,
            key_file=config.key_file,
            retries=False,
            timeout=urllib3.Timeout(connect=5, read=60),
        )

    def close(self) -> None:
        """Close every idle connection."""
        self._pool.clear()

    def request(
        self, method: str, path: str, body: Any = None, *, content_type: str = JSON, **query: str
    ) -> tuple[int, Json]:
        """Send one request; returns the HTTP code and the decoded body, whatever they are. Bytes go as they are."""
        response = self._send(method, path, body, content_type, query)
        return response.status, decoded(response.data)

    def warning(self, method: str, path: str, body: Json, **query: str) -> str:
        """Send one request; returns what the server warns of, for people; empty: of nothing."""
        return str(self._send(method, path, body, JSON, query).headers.get("Warning", ""))

    def _send(
        self, method: str, path: str, body: Any, content_type: str, query: Mapping[str, str]
    ) -> urllib3.BaseHTTPResponse:
        return self._pool.request(
            method,
            self.url + target_of(path, query),
            body=body if body is None or isinstance(body, bytes) else json.dumps(body),
            headers={**self._headers, "Content-Type": content_type},
        )

    def ask(self, method: str, path: str, body: Any = None, *, content_type: str = JSON, **query: str) -> Json:
        """Like `request`, but anything but success is an ApiError."""
        status, answer = self.request(method, path, body, content_type=content_type, **query)
        if status >= 400:
            raise ApiError(f"{method} {path}", status, answer)
        return answer

    def get(self, path: str, **query: str) -> Json:
        """GET one object."""
        return self.ask("GET", path, **query)

    def find(self, path: str, **query: str) -> Json | None:
        """GET one object; None where there is none."""
        status, answer = self.request("GET", path, **query)
        if status == 404:
            return None
        if status >= 400:
            raise ApiError(f"GET {path}", status, answer)
        return answer

    def list(self, path: str, **query: str) -> list[Json]:
        """The items of a collection."""
        items: list[Json] = self.ask("GET", path, **query)["items"]
        return items

    def create(self, path: str, body: Json, **query: str) -> Json:
        """POST an object to its collection."""
        return self.ask("POST", path, body, **query)

    def replace(self, path: str, body: Json, **query: str) -> Json:
        """PUT an object."""
        return self.ask("PUT", path, body, **query)

    def patch(self, path: str, body: Any, content_type: str = MERGE, **query: str) -> Json:
        """PATCH an object; `content_type` says in which of the four ways.

        A merge patch without a resourceVersion holds of whatever is there: where the API server gives up because others
        write meanwhile, it is sent again, as a person would.
        """
        locked = content_type != MERGE or bool((body.get("metadata") or {}).get("resourceVersion"))
        for _ in range(0 if locked else 4):
            try:
                return self.ask("PATCH", path, body, content_type=content_type, **query)
            except ApiError as error:
                if error.status != 409:
                    raise
        return self.ask("PATCH", path, body, content_type=content_type, **query)

    def delete(self, path: str, **query: str) -> Json:
        """DELETE an object."""
        return self.ask("DELETE", path, **query)

    @contextmanager
    def watch(self, path: str, *, seconds: float = 2 * PATIENCE, **query: str) -> Iterator[Watch]:
        """Open a watch that ends after `seconds`; iterate over it for its events."""
        asked = {"watch": "true", "timeoutSeconds": str(max(1, round(seconds))), **query}
        response = self._pool.request(
            "GET",
            self.url + target_of(path, asked),
            headers=self._headers,
            preload_content=False,
            timeout=urllib3.Timeout(connect=5, read=seconds + 5),
        )
        try:
            if response.status >= 400:
                raise ApiError(f"WATCH {path}", response.status, json.loads(response.data))
            yield Watch(response)
        finally:
            response.close()
            response.release_conn()


def target_of(path: str, query: Mapping[str, str]) -> str:
    """The path with its query."""
    return path + (("&" if "?" in path else "?") + urlencode(query) if query else "")


def decoded(text: bytes) -> Json:
    """The body of an answer; what is no JSON is its `message`."""
    try:
        return json.loads(text) if text else {}
    except json.JSONDecodeError:
        return {"message": text.decode(errors="replace")}


class Watch:
    """The events of one open watch, as `{type, object}`."""

    def __init__(self, response: urllib3.BaseHTTPResponse) -> None:
        self._response = response
        self._stopped = False

    def __iter__(self) -> Iterator[Json]:
        pending = b""
        for chunk in self._response.stream(None, decode_content=True):
            if self._stopped:
                return  # What comes after the end of TLS is not deciphered.
            *lines, pending = (pending + chunk).split(b"\n")
            yield from (json.loads(line) for line in lines if line)

    def stop(self) -> None:
        """Wake the reader, from another thread; its iteration ends, with or without an HTTPError."""
        self._stopped = True
        with contextlib.suppress(OSError, RuntimeError, ValueError):  # The server has ended it already.
            self._response.shutdown()
