"""Any web service that responds with JSON: the whole body, or what a JSONPath finds in it.

A null body, and a path that finds nothing or null, are no data; an empty list or text is a value.
"""

import json
from collections.abc import Mapping
from typing import Any

from gitops_bg.analysis.provider import Context, NoData, Reading, Value
from gitops_bg.analysis.providers.authentication import authenticated
from gitops_bg.analysis.providers.blocks import headers, read, trust
from gitops_bg.outbound.http import HttpRequest
from gitops_bg.spec.analysis import providers
from gitops_bg.spec.expressions import json_path


class WebProvider:
    """Sends one GET, POST or PUT."""

    def measure(self, block: Mapping[str, Any], context: Context) -> Reading:
        """Return the one value that the path finds, or a list of several."""
        asked = read(providers.Web, block)
        request = HttpRequest(
            asked.url, asked.method, _headers(asked), _body(asked), float(asked.timeout_seconds), trust(asked)
        )
        data = context.ask(authenticated(request, asked.authentication, context)).json()
        if asked.json_path is None:
            return NoData("the body is null") if data is None else Value(data)
        found = [match.value for match in json_path(asked.json_path).finditer(data)]
        if not found or found == [None]:
            return NoData(f"{asked.json_path} finds {'null' if found else 'nothing'} in the body")
        return Value(found[0] if len(found) == 1 else found)


def _headers(asked: providers.Web) -> dict[str, str]:
    kind = {"Content-Type": "application/json"} if asked.json_body is not None else {}
    return headers(asked.headers) | kind


def _body(asked: providers.Web) -> bytes | None:
    if asked.json_body is not None:
        return json.dumps(asked.json_body).encode()
    return asked.body.encode() if asked.body is not None else None
