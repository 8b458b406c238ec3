"""New Relic: an NRQL query through NerdGraph.

Documented format: https://docs.newrelic.com/docs/apis/nerdgraph/examples/nerdgraph-nrql-tutorial/. No rows, and a row
of only nulls, are no data.
"""

import json
from collections.abc import Mapping
from typing import Any

from gitops_bg.analysis.provider import Context, NoData, Reading, Value
from gitops_bg.analysis.providers.blocks import read, rows, trust
from gitops_bg.outbound.http import HttpAnswer, HttpRequest, MeasuringFailed
from gitops_bg.spec.analysis import providers

ADDRESSES = {"us": "https://api.newrelic.com/graphql", "eu": "https://api.eu.newrelic.com/graphql"}
_QUESTION = "query($id: Int!, $nrql: Nrql!) { actor { account(id: $id) { nrql(query: $nrql) { results } } } }"


class NewRelicProvider:
    """Queries one account."""

    def measure(self, block: Mapping[str, Any], context: Context) -> Reading:
        """Return one row as a map, several as a list of maps."""
        asked = read(providers.NewRelic, block)
        key = context.secrets.value(asked.profile, "personal-api-key")
        question = {"query": _QUESTION, "variables": {"id": _account(asked, context), "nrql": asked.query}}
        request = HttpRequest(
            _address(asked, context),
            "POST",
            {"Api-Key": key, "Content-Type": "application/json"},
            json.dumps(question).encode(),
            asked.timeout,
            trust(asked),
        )
        return _reading(context.ask(request))


def _account(asked: providers.NewRelic, context: Context) -> int:
    text = context.secrets.setting(asked.profile, "account-id") or ""
    if not text.isdecimal():
        raise MeasuringFailed(f"the key account-id of Secret {asked.profile} must be a number")
    return int(text)


def _address(asked: providers.NewRelic, context: Context) -> str:
    own = asked.address or context.secrets.setting(asked.profile, "base-url-nerdgraph")
    where = (asked.region or context.secrets.setting(asked.profile, "region") or "us").lower()
    if not own and where not in ADDRESSES:
        raise MeasuringFailed(f"New Relic has no region {where}: write us or eu")
    return own or ADDRESSES[where]


def _reading(answer: HttpAnswer) -> Reading:
    data = answer.json()
    errors = data.get("errors") if isinstance(data, dict) else None
    if errors:
        raise MeasuringFailed("New Relic answered with an error", answer.words)
    results = rows(data, "data", "actor", "account", "nrql", "results")
    told = [row for row in results if isinstance(row, dict) and any(value is not None for value in row.values())]
    if not told:
        return NoData("the query has no result")
    return Value(told[0] if len(results) == 1 else results)
