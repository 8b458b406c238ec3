"""Graphite: one series of the render API.

Documented format: https://graphite.readthedocs.io/en/latest/render_api.html (format=json). No series and only nulls are
no data; nulls among numbers are gaps, as the newest point often is.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from gitops_bg.analysis.provider import Context, NoData, Reading, Value
from gitops_bg.analysis.providers.authentication import authenticated
from gitops_bg.analysis.providers.blocks import at, headers, present, read, rows, trust
from gitops_bg.outbound.http import HttpRequest, MeasuringFailed
from gitops_bg.spec.analysis import providers


class GraphiteProvider:
    """Queries ``/render``."""

    def measure(self, block: Mapping[str, Any], context: Context) -> Reading:
        """Return the numbers of the series, oldest first."""
        asked = read(providers.Graphite, block)
        url = f"{asked.address.rstrip('/')}/render?{_question(asked.query)}"
        request = HttpRequest(url, headers=headers(asked.headers), timeout=asked.timeout, trust=trust(asked))
        series = context.ask(authenticated(request, asked.authentication, context)).json()
        if not isinstance(series, list):
            raise MeasuringFailed("Graphite answered without a list of series")
        if not series:
            return NoData("there is no series")
        if len(series) > 1:
            raise MeasuringFailed(
                f"Graphite answered with {len(series)} series; make one of them, by sumSeries or such"
            )
        values = present([at(point, 0) for point in rows(series, 0, "datapoints")])
        return Value(values) if values else NoData("the series has no point")


def _question(query: str) -> str:
    """Return the query ``target=…&from=-5min`` as written, on any number of lines; the format is ours."""
    written = parse_qsl(" ".join(query.split()), keep_blank_values=True)
    return urlencode([(key, value) for key, value in written if key != "format"] + [("format", "json")])
