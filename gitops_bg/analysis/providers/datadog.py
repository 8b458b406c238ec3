"""Datadog: a query of API v1, or a scalar of queries and a formula of v2.

Documented format: https://docs.datadoghq.com/api/latest/metrics/ (query timeseries points; query scalar data).
No series, no point and null are no data.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from gitops_bg.analysis.provider import Context, NoData, Reading, Value
from gitops_bg.analysis.providers.blocks import at, present, read, rows, trust
from gitops_bg.core.foreign_text import seconds_of
from gitops_bg.outbound.http import HttpAnswer, HttpRequest, MeasuringFailed
from gitops_bg.spec.analysis import providers

ADDRESS = "https://api.datadoghq.com"


class DatadogProvider:
    """Queries ``/api/v1/query``, or ``/api/v2/query/scalar``."""

    def measure(self, block: Mapping[str, Any], context: Context) -> Reading:
        """Return one number; several where v2 groups."""
        asked = read(providers.Datadog, block)
        secret, secrets = asked.secret_ref.name, context.secrets
        keys = {
            "DD-API-KEY": secrets.value(secret, "api-key"),
            "DD-APPLICATION-KEY": secrets.value(secret, "app-key"),
        }
        address = (asked.address or secrets.setting(secret, "address") or ADDRESS).rstrip("/")
        return _v2(asked, address, keys, context) if asked.api_version == "v2" else _v1(asked, address, keys, context)


def _v1(asked: providers.Datadog, address: str, keys: dict[str, str], context: Context) -> Reading:
    until = int(context.now.timestamp())
    since = until - int(seconds_of(asked.interval))
    url = f"{address}/api/v1/query?" + urlencode({"query": asked.query, "from": since, "to": until})
    request = HttpRequest(url, headers=keys, timeout=seconds_of(asked.request_timeout), trust=trust(asked))
    data = _data(context.ask(request), "error")
    series = rows(data, "series")
    points = present([at(point, 1) for point in rows(series, 0, "pointlist")]) if series else []
    return Value(points[-1]) if points else NoData("no series has a point")


def _v2(asked: providers.Datadog, address: str, keys: dict[str, str], context: Context) -> Reading:
    body = json.dumps(_question(asked, context)).encode()
    sent = keys | {"Content-Type": "application/json"}
    url, seconds = f"{address}/api/v2/query/scalar", seconds_of(asked.request_timeout)
    data = _data(context.ask(HttpRequest(url, "POST", sent, body, seconds, trust(asked))), "errors")
    columns = rows(data, "data", "attributes", "columns")
    numbers = next((rows(column, "values") for column in columns if at(column, "type") == "number"), [])
    values = present(numbers)
    if not values or len(values) < len(numbers):
        return NoData("a value is missing" if values else "there is no value")
    return Value(values[0] if len(values) == 1 else values)


def _question(asked: providers.Datadog, context: Context) -> dict[str, Any]:
    until = int(context.now.timestamp() * 1000)
    queries = asked.queries or {"query": asked.query or ""}
    attributes = {
        "from": until - int(seconds_of(asked.interval) * 1000),
        "to": until,
        "queries": [
            {"aggregator": asked.aggregator or "last", "data_source": "metrics", "name": name, "query": query}
            for name, query in queries.items()
        ],
        "formulas": [{"formula": asked.formula or next(iter(queries))}],
    }
    return {"data": {"type": "scalar_request", "attributes": attributes}}


def _data(answer: HttpAnswer, errors: str) -> Any:
    """Return the body, where it names no errors in this field."""
    data = answer.json()
    if isinstance(data, dict) and data.get(errors):
        raise MeasuringFailed("Datadog answered with an error", answer.words)
    return data
