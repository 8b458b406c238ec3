"""What deploy/monitoring asks Prometheus: its rules, the dashboard's queries, and the series that each selects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import promql_parser
import yaml
from prometheus_client.registry import CollectorRegistry

MONITORING = Path(__file__).parents[2] / "deploy" / "monitoring"
TARGET_LABELS = {"instance", "job", "pod", "container", "endpoint", "namespace"}
"""The labels that Prometheus itself adds to what it scrapes."""
_RESULT_LABELS = re.compile(r"\$labels\.(\w+)")


def rules() -> list[dict[str, Any]]:
    """Every alert of the PrometheusRule."""
    body = yaml.safe_load((MONITORING / "rules.yaml").read_text())
    return [rule for group in body["spec"]["groups"] for rule in group["rules"]]


def rule_groups() -> dict[str, Any]:
    """The groups as Prometheus reads them from a file."""
    return {"groups": yaml.safe_load((MONITORING / "rules.yaml").read_text())["spec"]["groups"]}


def dashboard() -> dict[str, Any]:
    """The model of the dashboard."""
    return dict(json.loads((MONITORING / "dashboard.json").read_text()))


def dashboard_queries() -> list[str]:
    """Every query of the dashboard, with a value for each variable of Grafana."""
    model = dashboard()
    asked = [target["expr"] for panel in model["panels"] for target in panel.get("targets", ())]
    asked += [each["expr"] for each in model["annotations"]["list"]]
    return [_filled(query) for query in asked]


def _filled(query: str) -> str:
    for variable, value in {"$__rate_interval": "1m", "$__range": "6h", "$namespace": ".*", "$name": ".*"}.items():
        query = query.replace(variable, value)
    return query


def selectors(query: str) -> Iterator[tuple[str, set[str]]]:
    """The series that a query selects by name, each with the labels that it matches. Raises ``ValueError``."""
    for part in parts(promql_parser.parse(query)):
        if isinstance(part, promql_parser.VectorSelector):
            yield part.name, {matcher.name for matcher in part.matchers.matchers}


def matched_values(query: str) -> Iterator[tuple[str, str, set[str]]]:
    """The series, the label and the alternatives of each matcher that demands a value."""
    for part in parts(promql_parser.parse(query)):
        if isinstance(part, promql_parser.VectorSelector):
            for matcher in part.matchers.matchers:
                if matcher.value != ".*":
                    yield part.name, matcher.name, set(matcher.value.split("|"))


def named_labels(query: str) -> set[str]:
    """The labels by which a query groups or joins."""
    found: set[str] = set()
    for part in parts(promql_parser.parse(query)):
        modifier = getattr(part, "modifier", None)
        grouping = getattr(modifier, "matching", modifier) if modifier is not None else None
        found |= set(getattr(grouping, "labels", ()) or ())
    return found


def parts(expression: promql_parser.Expr) -> Iterator[promql_parser.Expr]:
    """An expression and all that is in it."""
    yield expression
    for name in ("lhs", "rhs", "expr", "vector_selector"):
        inner = getattr(expression, name, None)
        if isinstance(inner, promql_parser.Expr):
            yield from parts(inner)
    for argument in getattr(expression, "args", ()) or ():
        yield from parts(argument)


def exported(registry: CollectorRegistry) -> dict[str, set[str]]:
    """The labels of each series that has a sample."""
    found: dict[str, set[str]] = {}
    for family in registry.collect():
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def unknown(queries: Iterable[str], known: Mapping[str, set[str]]) -> list[str]:
    """What queries use and no agent exports: series, and labels of series."""
    found: list[str] = []
    for query in queries:
        of_all: set[str] = set(TARGET_LABELS)
        for name, labels in selectors(query):
            of_all |= known.get(name, set())
            if name not in known:
                found.append(f"{name} in {query}")
            elif more := labels - known[name] - TARGET_LABELS:
                found.append(f"{name}{sorted(more)} in {query}")
        if more := named_labels(query) - of_all:
            found.append(f"{sorted(more)} in {query}")
    return found


def labels_in_text(rule: Mapping[str, Any]) -> set[str]:
    """The labels that the texts of a rule show."""
    return set(_RESULT_LABELS.findall(" ".join(rule["annotations"].values())))
