"""Amazon CloudWatch: GetMetricData, in the JSON protocol of the AWS SDKs (service model of CloudWatch, awsJson1_0).

A result without values is no data; a failed result is an error.
"""

import json
from collections.abc import Mapping
from typing import Any

from gitops_bg.analysis.provider import Context, NoData, Reading, Value
from gitops_bg.analysis.providers.aws_credentials import from_secret, of_the_agent, region
from gitops_bg.analysis.providers.aws_signing import Scope, signed
from gitops_bg.analysis.providers.blocks import at, present, read, rows, trust
from gitops_bg.outbound.errors import MeasuringFailed
from gitops_bg.outbound.http import Answer, Request
from gitops_bg.outbound.quoting import is_json
from gitops_bg.spec.analysis import providers
from gitops_bg.spec.app.durations import seconds_of

_SERVICE = "monitoring"
_HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Target": "GraniteServiceVersion20100801.GetMetricData",
}
_BROKEN = ("InternalError", "Forbidden")


class CloudWatch:
    """Sends all queries of the block at once."""

    def measure(self, block: Mapping[str, Any], context: Context) -> Reading:
        """The MetricDataResults from CloudWatch, newest value first."""
        asked = read(providers.CloudWatch, block)
        where = region(asked.region)
        url = asked.address or f"https://{_SERVICE}.{where}.amazonaws.com"
        url = url if url.count("/") > 2 else f"{url}/"
        body = json.dumps(_question(asked, context)).encode()
        secret = asked.secret_ref
        credentials = from_secret(secret.name, context) if secret else of_the_agent(where, context)
        sent = signed("POST", url, _HEADERS, body, Scope(where, _SERVICE, context.now), credentials)
        return _reading(context.ask(Request(url, "POST", sent, body, asked.timeout_seconds, trust(asked))))


def _question(asked: providers.CloudWatch, context: Context) -> dict[str, Any]:
    until = int(context.now.timestamp())
    queries = [query.model_dump(by_alias=True, exclude_none=True) for query in asked.metric_data_queries]
    return {
        "StartTime": until - int(seconds_of(asked.interval)),
        "EndTime": until,
        "MetricDataQueries": [_capitalized(query) for query in queries],
    }


def _capitalized(value: Any) -> Any:
    """The fields with AWS's names; a period may be a text."""
    if isinstance(value, dict):
        return {
            key[0].upper() + key[1:]: int(item) if key == "period" else _capitalized(item)
            for key, item in value.items()
        }
    return [_capitalized(item) for item in value] if isinstance(value, list) else value


def _reading(answer: Answer) -> Reading:
    data = answer.json()
    results = rows(data, "MetricDataResults")
    for result in results:
        status = at(result, "StatusCode")
        if status in _BROKEN:
            messages = rows(result, "Messages") if result.get("Messages") else []
            said = "; ".join(str(at(message, "Value")) for message in messages)
            words = f"{result.get('Id')}: {said}" if is_json(answer.kind) else ""
            raise MeasuringFailed(f"CloudWatch answered {status}", words)
    if data.get("NextToken"):
        raise MeasuringFailed("CloudWatch has more values than one answer holds: ask for less, or for longer periods")
    empty = next((result for result in results if not present(rows(result, "Values"))), None)
    if not results or empty:
        return NoData(f"{at(empty, 'Id')} has no values" if empty else "there are no results")
    return Value(results)
