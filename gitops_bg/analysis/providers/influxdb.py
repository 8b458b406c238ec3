"""InfluxDB 2: a Flux query with a response in annotated CSV.

Documented format: https://docs.influxdata.com/influxdb/v2/reference/syntax/annotated-csv/, with its error table. No
records, and only empty values, are no data.
"""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from gitops_bg.analysis.provider import Context, NoData, Reading, Value
from gitops_bg.analysis.providers.blocks import number, read, trust
from gitops_bg.outbound.http import HttpRequest, MeasuringFailed
from gitops_bg.spec.analysis import providers

_DIALECT = {"header": True, "delimiter": ",", "annotations": ["datatype"]}
_CSV = ("text/csv", "application/csv")
_NUMBERS = ("double", "long", "unsignedLong")


class InfluxdbProvider:
    """Queries ``/api/v2/query``."""

    def measure(self, block: Mapping[str, Any], context: Context) -> Reading:
        """Return the ``_value`` of every record."""
        asked = read(providers.Influxdb, block)
        token = context.secrets.value(asked.profile, "authToken")
        address, org = (_given(asked, name, context) for name in ("address", "org"))
        question = {"query": asked.query, "type": "flux", "dialect": _DIALECT}
        request = HttpRequest(
            f"{address.rstrip('/')}/api/v2/query?{urlencode({'org': org})}",
            "POST",
            {"Authorization": f"Token {token}", "Content-Type": "application/json", "Accept": "application/csv"},
            json.dumps(question).encode(),
            asked.timeout,
            trust(asked),
        )
        answer = context.ask(request)
        answer.require_success()
        try:
            values = list(_values(answer.body.decode("utf-8", "replace"), answer.kind in _CSV))
        except csv.Error as error:
            raise MeasuringFailed(f"InfluxDB answered what is no CSV: {error}") from error
        return Value(values) if values else NoData("the query has no record with a value")


def _given(asked: providers.Influxdb, name: str, context: Context) -> str:
    found = getattr(asked, name) or context.secrets.setting(asked.profile, name)
    if not found:
        raise MeasuringFailed(f"no {name}: write it into the template, or into Secret {asked.profile}")
    return str(found)


def _values(text: str, quotable: bool) -> Iterator[Any]:
    """Yield the values of all tables; each begins with its annotations and its header. Errors are told where
    ``quotable``.
    """
    kinds: list[str] = []
    header: list[str] | None = None
    for row in csv.reader(io.StringIO(text, newline="")):
        if not row:
            header = None
        elif row[0] == "#datatype":
            kinds, header = row, None
        elif row[0].startswith("#"):
            continue
        elif header is None:
            header = _header(row)
        else:
            yield from _value(header, kinds, row, quotable)


def _header(row: list[str]) -> list[str]:
    if "_value" not in row and "error" not in row:
        raise MeasuringFailed("InfluxDB answered with a table that has no _value")
    return row


def _value(header: list[str], kinds: list[str], row: list[str], quotable: bool) -> Iterator[Any]:
    fields = dict(zip(header, row, strict=False))
    if "error" in fields and "_value" not in fields:
        raise MeasuringFailed("InfluxDB answered with an error", fields["error"] if quotable else "")
    written, kind = fields.get("_value", ""), dict(zip(header, kinds, strict=False)).get("_value", "")
    if kind == "boolean" and written:
        yield written == "true"
    elif written and (kind in _NUMBERS or not kind):
        value = number(written)
        yield from () if math.isnan(value) else (value,)
    elif written:
        yield written
