"""Prometheus and every backend with its HTTP API: instant and range queries.

Documented format: https://prometheus.io/docs/prometheus/latest/querying/api/ (expression queries). An empty vector, NaN
and a range without points are no data.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from gitops_bg.analysis.provider import Context, NoData, Reading, Value
from gitops_bg.analysis.providers.authentication import authenticated
from gitops_bg.analysis.providers.blocks import at, headers, number, present, read, rows, trust
from gitops_bg.core.foreign_text import seconds_of
from gitops_bg.outbound.http import HttpAnswer, HttpRequest, MeasuringFailed
from gitops_bg.spec.analysis import providers


class PrometheusProvider:
    """Queries ``/api/v1/query``, or ``/api/v1/query_range``."""

    def measure(self, block: Mapping[str, Any], context: Context) -> Reading:
        """Return a vector as a list of numbers, a scalar as a number, a matrix as a list of lists."""
        asked = read(providers.Prometheus, block)
        url = f"{asked.address.rstrip('/')}/api/v1/{_question(asked, context)}"
        request = HttpRequest(url, headers=headers(asked.headers), timeout=asked.timeout, trust=trust(asked))
        data = _data(context.ask(authenticated(request, asked.authentication, context)))
        kind = at(data, "resultType")
        if not isinstance(kind, str) or kind not in _READERS:
            raise MeasuringFailed(
                "Prometheus answered with none of what is read: a vector, a scalar, a range", str(kind)
            )
        return _READERS[kind](data)


def _question(asked: providers.Prometheus, context: Context) -> str:
    window = asked.range_query
    if window is None:
        return f"query?{_encoded({'query': asked.query, 'time': context.now.timestamp()})}"
    now = context.now.timestamp()
    start, end = (now - providers.seconds_ago(text) for text in (window.start, window.end))
    step = seconds_of(window.step)
    return f"query_range?{_encoded({'query': asked.query, 'start': start, 'end': end, 'step': step})}"


def _encoded(parameters: Mapping[str, Any]) -> str:
    """Encode blanks as %20: AWS takes a plus literally when it checks a signature."""
    return urlencode(parameters, quote_via=quote)


def _data(answer: HttpAnswer) -> Any:
    """Return the data of a successful response; an error envelope is reported whatever the HTTP status."""
    if answer.status in (400, 422, 503):
        _raise_its_error(answer)
    envelope = answer.json()
    if at(envelope, "status") != "success":
        _raise_its_error(answer)
    return at(envelope, "data")


def _raise_its_error(answer: HttpAnswer) -> None:
    envelope = replace(answer, status=200).json()
    if isinstance(envelope, dict) and envelope.get("status") == "error":
        raise MeasuringFailed("Prometheus answered with an error", answer.words)


def _vector(data: Any) -> Reading:
    values = [number(at(sample, "value", 1)) for sample in rows(data, "result")]
    if not values:
        return NoData("the vector is empty")
    return NoData("the vector has NaN in it") if any(map(math.isnan, values)) else Value(values)


def _scalar(data: Any) -> Reading:
    value = number(at(data, "result", 1))
    return NoData("the scalar is NaN") if math.isnan(value) else Value(value)


def _matrix(data: Any) -> Reading:
    series = [present([at(point, 1) for point in rows(one, "values")]) for one in rows(data, "result")]
    if not series:
        return NoData("the range has no series")
    return Value(series) if all(series) else NoData("the range has a series without points")


_READERS = {"vector": _vector, "scalar": _scalar, "matrix": _matrix}
