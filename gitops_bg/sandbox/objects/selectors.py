"""Label and field selectors as the API server reads them. It must not know where objects are kept.

Grammar: apimachinery `pkg/labels/selector.go` and `pkg/fields/selector.go`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gitops_bg.sandbox.http.errors import bad_request
from gitops_bg.sandbox.objects.objects import Manifest, dig

_SET = re.compile(r"^\s*(?P<key>[^\s!=(),]+)\s+(?P<operator>in|notin)\s*\((?P<values>[^)]*)\)\s*$")
_EQUALITY = re.compile(r"^\s*(?P<key>[^\s!=(),]+)\s*(?P<operator>==|=|!=)\s*(?P<value>[^\s,()=!]*)\s*$")
_EXISTS = re.compile(r"^\s*(?P<not>!?)\s*(?P<key>[^\s!=(),]+)\s*$")
_COMMA_OUTSIDE_PARENTHESES = re.compile(r",(?![^(]*\))")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term of a label selector: `key` must (or, negated, must not) have one of `values`."""

    key: str
    values: frozenset[str] | None
    negated: bool = False

    def accepts(self, labels: Mapping[str, str]) -> bool:
        """Return whether `labels` satisfy the term; a missing key satisfies every negated one."""
        found = self.key in labels and (self.values is None or labels[self.key] in self.values)
        return found != self.negated


LabelSelector = tuple[Requirement, ...]


def _requirement(term: str) -> Requirement:
    if match := _SET.match(term):
        values = frozenset(value.strip() for value in match["values"].split(","))
        return Requirement(match["key"], values, match["operator"] == "notin")
    if match := _EQUALITY.match(term):
        return Requirement(match["key"], frozenset([match["value"]]), match["operator"] == "!=")
    if match := _EXISTS.match(term):
        return Requirement(match["key"], None, bool(match["not"]))
    raise bad_request(f"unable to parse requirement: {term!r}")


@lru_cache(maxsize=1024)
def parse_labels(text: str) -> LabelSelector:
    """Parse a `labelSelector` parameter; raise 400 on a syntax error."""
    terms = _COMMA_OUTSIDE_PARENTHESES.split(text) if text.strip() else []
    return tuple(_requirement(term) for term in terms)


def from_object(selector: Manifest | None) -> LabelSelector:
    """Turn a `metav1.LabelSelector` (matchLabels, matchExpressions) into terms."""
    selector = selector or {}
    terms = [Requirement(key, frozenset([value])) for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        operator, values = expression["operator"], frozenset(expression.get("values") or ())
        exists = operator in ("Exists", "DoesNotExist")
        negated = operator in ("NotIn", "DoesNotExist")
        terms.append(Requirement(expression["key"], None if exists else values, negated))
    return tuple(terms)


def accepts(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Return whether `labels` satisfy every term."""
    return all(term.accepts(labels) for term in selector)


def as_text(selector: Manifest | None) -> str:
    """Write a `metav1.LabelSelector` the way `status.selector` of a Scale shows it."""
    selector = selector or {}
    terms = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for expression in selector.get("matchExpressions") or ():
        values = ",".join(sorted(expression.get("values") or ()))
        shapes = {"Exists": "{0}", "DoesNotExist": "!{0}", "In": "{0} in ({1})", "NotIn": "{0} notin ({1})"}
        terms.append(shapes[expression["operator"]].format(expression["key"], values))
    return ",".join(terms)


FieldSelector = tuple[tuple[tuple[str, ...], str, bool], ...]

_EVENT_FIELDS = ("reason", "type", "reportingComponent", "source")
_FIELDS: dict[str, tuple[str, ...]] = {
    "pods": ("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "status.phase", "status.podIP"),
    "events": _EVENT_FIELDS,
    "secrets": ("type",),
    "namespaces": ("status.phase", "name"),
    "services": ("spec.clusterIP", "spec.type"),
    "replicasets": ("status.replicas",),
}


def _supports(plural: str, field: str) -> bool:
    if field in ("metadata.name", "metadata.namespace") or field in _FIELDS.get(plural, ()):
        return True
    return plural == "events" and field.startswith("involvedObject.")


def parse_fields(text: str, plural: str) -> FieldSelector:
    """Parse a `fieldSelector`; raise 400 for a field that the resource does not offer."""
    terms = []
    for term in filter(None, (part.strip() for part in text.split(","))):
        field, operator, value = re.split(r"(!=|==|=)", term, maxsplit=1) if "=" in term else (term, "", "")
        if not operator:
            raise bad_request(f"invalid selector: {term!r}; can't understand {term!r}")
        if not _supports(plural, field):
            raise bad_request(
                f'Unable to find "{plural}" that match field selector: field label not supported: {field}'
            )
        terms.append((tuple(field.split(".")), value, operator == "!="))
    return tuple(terms)


Matcher = Callable[[Manifest], bool]


def matcher(labels: LabelSelector, fields: FieldSelector) -> Matcher | None:
    """Return a test for one object, or None when everything matches."""
    if not labels and not fields:
        return None

    def matches(obj: Manifest) -> bool:
        own: Any = obj["metadata"].get("labels") or {}
        return accepts(labels, own) and all(
            (str(dig(obj, path, "")) == value) != negated for path, value, negated in fields
        )

    return matches
