"""Each backend's documented requests and answers: the other side of every contract test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.servers.backend import Asked, Reply

KEY = "s3cr3t-of-the-shop"

Secrets = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Speaker:
    """One backend. ``block`` makes the block of a template for an address."""

    block: Callable[[str], dict[str, Any]]
    place: tuple[str, str]
    credential: tuple[str, str]
    value: Callable[[float], Any]
    nothing: Mapping[str, Any]
    result: Callable[[float], Any]
    refusal: Reply
    secrets: Secrets = field(default_factory=dict)
    hasty: Mapping[str, Any] = field(default_factory=lambda: {"timeout": 1})
    """What makes the provider wait as short as a template may ask for."""
    errors: Mapping[str, Reply] = field(default_factory=dict)

    def answering(self, data: Any) -> Callable[[Asked], Reply]:
        """Answer only the documented question, from somebody who may ask."""

        def answer(asked: Asked) -> Reply:
            if (asked.method, asked.path) != self.place:
                return Reply({"message": f"no such route {asked.method} {asked.path}"}, 404)
            name, value = self.credential
            if value not in asked.headers.get(name.lower(), ""):
                return self.refusal
            return Reply(data)

        return answer


def vector(*values: str) -> dict[str, Any]:
    result = [
        {"metric": {"pod": f"web-{number}"}, "value": [1435781451.781, each]} for number, each in enumerate(values)
    ]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


def matrix(*series: list[str]) -> dict[str, Any]:
    result = [{"metric": {}, "values": [[1435781430.781, value] for value in values]} for values in series]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}


def scalar(value: str) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": "scalar", "result": [1435781451.781, value]}}


PROMETHEUS = Speaker(
    block=lambda address: {
        "address": address,
        "query": "sum(rate(errors[5m]))",
        "authentication": {"bearer": {"token": "{{secret:metrics/token}}"}},
    },
    secrets={"metrics": {"token": KEY}},
    place=("GET", "/api/v1/query"),
    credential=("Authorization", f"Bearer {KEY}"),
    value=lambda number: vector(str(number)),
    nothing={"an empty vector": vector(), "NaN": vector("NaN"), "NaN among numbers": vector("1", "NaN")},
    result=lambda number: [number],
    refusal=Reply(b"Unauthorized", 401),
    errors={
        "a bad query": Reply({"status": "error", "errorType": "bad_data", "error": "parse error: 1:5"}, 400),
        "a query that takes long": Reply({"status": "error", "errorType": "timeout", "error": "query timed out"}, 503),
        "an error with 200": Reply({"status": "error", "errorType": "internal", "error": "oops"}),
        "a text": Reply({"status": "success", "data": {"resultType": "string", "result": [1, "x"]}}),
        "no data at all": Reply({"status": "success"}),
        "a number that is none": Reply(vector("many")),
    },
)

WEB = Speaker(
    hasty={"timeoutSeconds": 1},
    block=lambda address: {
        "url": f"{address}/measure?of=web",
        "headers": [{"key": "X-Token", "value": "{{secret:metrics/token}}"}],
        "jsonPath": "{$.data.rate}",
    },
    secrets={"metrics": {"token": KEY}},
    place=("GET", "/measure"),
    credential=("X-Token", KEY),
    value=lambda number: {"data": {"rate": number}},
    nothing={"no such field": {"data": {}}, "null": {"data": {"rate": None}}, "a null body": None},
    result=lambda number: number,
    refusal=Reply({"message": "who are you?"}, 403),
    errors={"NaN, which is no JSON": Reply(b'{"data": {"rate": NaN}}')},
)

DATADOG = Speaker(
    hasty={"requestTimeout": "200ms"},
    block=lambda address: {"query": "avg:errors{service:web}", "address": address},
    secrets={"datadog": {"api-key": KEY, "app-key": "app-" + KEY}},
    place=("GET", "/api/v1/query"),
    credential=("DD-API-KEY", KEY),
    value=lambda number: {
        "status": "ok",
        "series": [{"metric": "errors", "pointlist": [[1430311800000.0, 7.0], [1430311860000.0, number]]}],
    },
    nothing={
        "no series": {"status": "ok", "series": []},
        "no points": {"status": "ok", "series": [{"pointlist": []}]},
        "null": {"status": "ok", "series": [{"pointlist": [[1430311800000.0, None]]}]},
    },
    result=lambda number: number,
    refusal=Reply({"errors": ["Forbidden"]}, 403),
    errors={
        "too many questions": Reply({"errors": ["Rate limit of 300 requests in 3600 seconds reached"]}, 429),
        "an error with 200": Reply({"status": "error", "error": "Rule 'scope_expr' didn't match", "series": []}),
        "no series at all": Reply({"status": "ok"}),
    },
)


def scalars(*values: float | None) -> dict[str, Any]:
    groups = {"name": "pod", "type": "group", "values": [[str(number)] for number, _ in enumerate(values)]}
    column = {"name": "query", "type": "number", "values": list(values), "meta": {"unit": None}}
    return {"data": {"type": "scalar_response", "attributes": {"columns": [groups, column]}}}


DATADOG_V2 = Speaker(
    hasty=DATADOG.hasty,
    block=lambda address: {**DATADOG.block(address), "apiVersion": "v2", "aggregator": "avg"},
    secrets=DATADOG.secrets,
    place=("POST", "/api/v2/query/scalar"),
    credential=DATADOG.credential,
    value=scalars,
    nothing={
        "no columns": {"data": {"type": "scalar_response", "attributes": {"columns": []}}},
        "no values": scalars(),
        "null": scalars(None),
        "null among numbers": scalars(1.0, None),
    },
    result=lambda number: number,
    refusal=DATADOG.refusal,
    errors={"an error with 200": Reply({"data": {"attributes": {"columns": []}}, "errors": "unknown metric"})},
)


def results(*values: list[float], status: str = "Complete") -> dict[str, Any]:
    return {
        "MetricDataResults": [
            {
                "Id": f"m{number}",
                "Label": "errors",
                "Timestamps": [1763700000.0 - 60 * minute for minute, _ in enumerate(each)],
                "Values": each,
                "StatusCode": status,
                "Messages": [] if status == "Complete" else [{"Code": "Oops", "Value": "not now"}],
            }
            for number, each in enumerate(values)
        ],
        "Messages": [],
    }


CLOUD_WATCH = Speaker(
    hasty={"timeoutSeconds": 1},
    block=lambda address: {
        "address": address,
        "region": "eu-central-1",
        "secretRef": {"name": "aws"},
        "metricDataQueries": [
            {"id": "rate", "expression": "errors / requests"},
            {
                "id": "errors",
                "metricStat": {
                    "metric": {
                        "namespace": "app",
                        "metricName": "errors",
                        "dimensions": [{"name": "pod", "value": "web"}],
                    },
                    "period": "300",
                    "stat": "Sum",
                },
                "returnData": False,
            },
        ],
    },
    secrets={"aws": {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": KEY}},
    place=("POST", "/"),
    credential=(
        "Authorization",
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261121/eu-central-1/monitoring/aws4_request",
    ),
    value=lambda number: results([number, 7.0]),
    nothing={"no results": results(), "no values": results([]), "one without values": results([1.0], [])},
    result=lambda number: results([number, 7.0])["MetricDataResults"],
    refusal=Reply({"__type": "com.amazon.coral.service#UnrecognizedClientException", "message": "invalid token"}, 400),
    errors={
        "a bad query": Reply({"__type": "ValidationError", "message": "Error in expression 'rate'"}, 400),
        "a result that could not be made": Reply(results([], status="InternalError")),
        "more than one page": Reply({**results([1.0]), "NextToken": "more"}),
        "results that are none": Reply({"MetricDataResults": ["?"]}),
    },
)


def rows(*found: Mapping[str, Any]) -> dict[str, Any]:
    return {"data": {"actor": {"account": {"nrql": {"results": list(found)}}}}}


NEW_RELIC = Speaker(
    block=lambda address: {
        "query": "FROM Transaction SELECT average(x) AS rate",
        "address": f"{address}/graphql",
    },
    secrets={"newrelic": {"personal-api-key": KEY, "account-id": "42"}},
    place=("POST", "/graphql"),
    credential=("Api-Key", KEY),
    value=lambda number: rows({"rate": number}),
    nothing={"no rows": rows(), "an empty row": rows({}), "null": rows({"rate": None})},
    result=lambda number: {"rate": number},
    refusal=Reply({"errors": [{"message": "The API key provided is invalid"}]}, 401),
    errors={
        "an error with 200": Reply({"errors": [{"message": "NRQL Syntax Error"}], "data": {"actor": None}}),
        "no account": Reply({"data": {"actor": {"account": None}}}),
    },
)

GRAPHITE = Speaker(
    block=lambda address: {
        "address": address,
        "query": "target=summarize(\n  errors,\n  '5min')&from=-5min",
        "authentication": {"basic": {"username": "ann", "password": "{{secret:metrics/token}}"}},
    },
    secrets={"metrics": {"token": KEY}},
    place=("GET", "/render"),
    credential=("Authorization", "Basic YW5uOnMzY3IzdC1vZi10aGUtc2hvcA=="),
    value=lambda number: [{"target": "errors", "datapoints": [[number, 1763700000], [None, 1763700060]]}],
    nothing={
        "no series": [],
        "no points": [{"target": "errors", "datapoints": []}],
        "null": [{"target": "errors", "datapoints": [[None, 1763700000]]}],
    },
    result=lambda number: [number],
    refusal=Reply(b"401 Unauthorized", 401),
    errors={
        "a bad target": Reply(b"Invalid target", 400),
        "two series": Reply([{"target": "a", "datapoints": [[1, 1]]}, {"target": "b", "datapoints": [[1, 1]]}]),
        "no list": Reply({"target": "a"}),
        "points that are none": Reply([{"target": "a", "datapoints": [7]}]),
    },
)


def table(*values: str, kind: str = "double") -> bytes:
    lines = [f"#datatype,string,long,dateTime:RFC3339,{kind},string", ",result,table,_time,_value,_field"]
    lines += [f",_result,0,2026-11-21T12:00:00Z,{value},rate" for value in values]
    return "\r\n".join([*lines, "", ""]).encode()


INFLUXDB = Speaker(
    block=lambda address: {"query": 'from(bucket: "b")', "address": address, "org": "shop"},
    secrets={"influxdb": {"authToken": KEY}},
    place=("POST", "/api/v2/query"),
    credential=("Authorization", f"Token {KEY}"),
    value=lambda number: table(str(number)),
    nothing={"no tables": b"\r\n", "no records": table(), "an empty value": table(""), "NaN": table("NaN")},
    result=lambda number: [number],
    refusal=Reply({"code": "unauthorized", "message": "unauthorized access"}, 401),
    errors={
        "a bad query": Reply({"code": "invalid", "message": "compilation failed"}, 400),
        "an error table": Reply(b"#datatype,string,long\r\n,error,reference\r\n,Failed to parse query,897\r\n"),
        "a table of something else": Reply(b",result,table\r\n,_result,0\r\n"),
        "a number that is none": Reply(table("many")),
    },
)

SPEAKERS: dict[str, tuple[str, Speaker]] = {
    "prometheus": ("prometheus", PROMETHEUS),
    "web": ("web", WEB),
    "datadog v1": ("datadog", DATADOG),
    "datadog v2": ("datadog", DATADOG_V2),
    "cloudWatch": ("cloudWatch", CLOUD_WATCH),
    "newRelic": ("newRelic", NEW_RELIC),
    "graphite": ("graphite", GRAPHITE),
    "influxdb": ("influxdb", INFLUXDB),
}
"""By a name for tests: the provider that asks, and who answers."""
