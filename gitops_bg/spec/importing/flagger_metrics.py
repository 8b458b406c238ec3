"""The metrics of a Canary: MetricTemplates, builtin metrics and queries become AnalysisTemplates (flagger.md §3.3).

A measurement here is of the pods of one version, which the arg ``hash`` names; Flagger's is of the target's.
"""

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.names import API_VERSION
from gitops_bg.spec.importing.draft import AppDraft
from gitops_bg.spec.importing.manifest import Manifest, Table, imported, left, left_fields
from gitops_bg.spec.yaml.scalars import Path, as_map

METRICS_SERVER = "http://prometheus:9090"
"""Flagger's default of its flag -metrics-server."""
PODS = ".+-{{args.hash}}-.+"
"""A pattern of the names of a version's pods, which hold its digest."""
_FLAGGER_PODS = re.compile(r"\{\{\s*target\s*\}\}-\[0-9a-zA-Z\]\+\(-\[0-9a-zA-Z\]\+\)", re.ASCII)
_VARIABLE = re.compile(r"\{\{(?P<inside>[^{}]*)\}\}")
_OWN = ("name", "namespace", "target", "service", "interval")
_NAME = re.compile(r"variables\.(?P<name>[A-Za-z0-9_-]+)")
_TITLE = re.compile(r"[^a-z0-9]+")

METRIC_TABLE: Table = imported(
    "name", "interval", "threshold", "thresholdRange", "query", "templateRef", "templateVariables"
)
"""Every field of an item of analysis.metrics."""

TABLE: Table = {
    **imported("provider.type", "provider.address", "provider.secretRef", "provider.insecureSkipVerify", "query"),
    **imported("provider.headers"),
    **left(
        "is the region of CloudWatch",
        "write provider.cloudWatch.region into the AnalysisTemplate",
        "provider.region",
        unless=("",),
    ),
}
"""Every field of `spec` of a MetricTemplate."""

_INSTEAD = {
    "cloudwatch": "write an AnalysisTemplate with provider.cloudWatch, and a condition such as "
    "result[0].Values[0] < 0.01, and name it in prePromotionAnalysis",
    "newrelic": "write an AnalysisTemplate with provider.newRelic, and a condition such as result.average < 0.01, and "
    "name it in prePromotionAnalysis",
    "keptn": "call Keptn with a webhook of the type confirm-promotion",
}
_NO_PROVIDER = "write an AnalysisTemplate that asks it with provider.web, a job, or a plugin"

_SUCCESS_RATE = """\
sum(rate(http_request_duration_seconds_count{kubernetes_namespace="{{args.namespace}}", \
kubernetes_pod_name=~"PODS", status!~"5.*"}[{{args.interval}}]))
/
sum(rate(http_request_duration_seconds_count{kubernetes_namespace="{{args.namespace}}", \
kubernetes_pod_name=~"PODS"}[{{args.interval}}]))
* 100
""".replace("PODS", PODS)
_DURATION = """\
1000 * histogram_quantile(0.99, sum by (le) (
  rate(http_request_duration_seconds_bucket{kubernetes_namespace="{{args.namespace}}", \
kubernetes_pod_name=~"PODS"}[{{args.interval}}])
))
""".replace("PODS", PODS)
BUILTIN = {
    "request-success-rate": ("of all requests, the percentage that did not end with a 5xx", _SUCCESS_RATE, "min"),
    "request-duration": ("the 99th percentile of the duration of requests, in milliseconds", _DURATION, "max"),
}
"""Flagger's builtin metrics for the provider kubernetes: what each is, its PromQL, and the side of a legacy
threshold.
"""


@dataclass
class ImportedMetrics:
    """The AnalysisTemplates that metrics become, by name, with what has to be said of each."""

    server: str
    """The address of Prometheus for what names none."""
    given: Mapping[tuple[str, str], Manifest]
    """The MetricTemplates of the files, by namespace and name."""
    secrets: Mapping[tuple[str, str], Manifest]
    known: frozenset[str]
    """The AnalysisTemplates that the repository has."""
    templates: dict[str, tuple[str, dict[str, Any], Manifest]] = field(default_factory=dict)
    """A comment, the template, and where it comes from, by name."""
    _converted: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, canary: Manifest, draft: AppDraft) -> None:
        """Write the metrics of a Canary into its draft."""
        place: Path = ("spec", "analysis", "metrics")
        server = str(canary.spec.get("metricsServer") or self.server)
        metrics = as_map(canary.spec.get("analysis")).get("metrics")
        found = []
        for number, metric in enumerate(metrics if isinstance(metrics, list) else ()):
            draft.listed.extend(left_fields(canary, METRIC_TABLE, (*place, number)))
            name = self._template_of(canary, draft, as_map(metric), (*place, number), server)
            if name:
                found.append(_metric(as_map(metric), name))
        if found:
            draft.spec["analysis"]["metrics"] = found
        if isinstance(metrics, list) and len(found) < len(metrics):
            draft.let_a_person_decide("a metric has no equal; true, once another one measures it")

    def rest(self) -> list[Manifest]:
        """Return the MetricTemplates that no Canary of the files names."""
        return [each for key, each in self.given.items() if key not in self._converted]

    def convert(self, template: Manifest) -> tuple[str, list[Any]]:
        """Return the name of the AnalysisTemplate that a MetricTemplate becomes, and what is left of it; an empty name
        where it becomes none.
        """
        key = (template.namespace, template.name)
        if key in self._converted:
            return self._converted[key], []
        listed = list(left_fields(template, TABLE))
        block, said = self._provider(template)
        listed.extend(said)
        self._converted[key] = template.name if block else ""
        if block:
            comment = f"From {template.origin}, by gitops-bg import."
            self.templates[template.name] = (comment, _analysis_template(template.name, block), template)
        return self._converted[key], listed

    def _template_of(
        self, canary: Manifest, draft: AppDraft, metric: Mapping[str, Any], place: Path, server: str
    ) -> str:
        """Return the AnalysisTemplate of a metric; empty where there is none, which is said then."""
        name, ref = str(metric.get("name", "")), as_map(metric.get("templateRef"))
        if ref:
            key = (str(ref.get("namespace") or canary.namespace), str(ref.get("name", "")))
            if key in self.given:
                made, listed = self.convert(self.given[key])
                draft.listed.extend(listed)
                if not made:
                    message = f"is measured by MetricTemplate {key[1]}, which has no equal, so it is left out"
                    draft.listed.append(canary.problem(place, message, "see what is said of the template"))
                return made
            if key[1] in self.known:
                return key[1]
            message = f"names MetricTemplate {key[0]}/{key[1]}, which is not among the files"
            draft.problems.append(canary.problem((*place, "templateRef"), message, "add its file to the import"))
            return ""
        if metric.get("query"):
            title = f"{draft.app.name}-{_TITLE.sub('-', name.lower()).strip('-')}"
            return self._query(canary, draft, title, str(metric["query"]), (*place, "query"), server)
        if name in BUILTIN:
            return self._builtin(canary, draft, name, place, server)
        message = f"{name} is none of Flagger's builtin metrics, and has neither templateRef nor query"
        draft.problems.append(canary.problem((*place, "name"), message, f"write one of {', '.join(BUILTIN)}"))
        return ""

    def _builtin(self, canary: Manifest, draft: AppDraft, name: str, place: Path, server: str) -> str:
        what, query, _ = BUILTIN[name]
        title = name
        if name not in self.known:
            comment = f"Flagger's builtin metric {name}: {what}."
            made = _analysis_template(name, {"prometheus": {"address": server, "query": query}})
            if self.templates.get(name, (comment, made, canary))[1] != made:  # another Canary asks another Prometheus
                title = f"{draft.app.name}-{name}"
                made = {**made, "metadata": {"name": title}}
            self.templates[title] = (comment, made, canary)
        provider = str(canary.spec.get("provider") or "kubernetes")
        if not provider.startswith(("kubernetes", "gatewayapi")):
            message = f"is measured by http_request_duration_seconds of the app itself, and not by {provider}"
            remedy = f"change the query in analysis/{title}.yaml if the app has no such metric"
            draft.listed.append(canary.problem((*place, "name"), message, remedy))
        return title

    def _query(self, canary: Manifest, draft: AppDraft, title: str, query: str, place: Path, server: str) -> str:
        text, unknown = rendered(query)
        if unknown:
            draft.problems.append(_unknown_variable(canary, place, unknown))
            return ""
        comment = f"From {canary.origin}, by gitops-bg import."
        block = {"prometheus": {"address": server, "query": text}}
        self.templates[title] = (comment, _analysis_template(title, block), canary)
        draft.listed.extend(_asks_for_target(canary, query, place))
        return title

    def _provider(self, template: Manifest) -> tuple[dict[str, Any], list[Any]]:
        """Return the provider of a MetricTemplate in our words, and what has to be said; empty where it has no
        equal.
        """
        provider, place = as_map(template.spec.get("provider")), ("spec", "provider", "type")
        kind = str(provider.get("type") or "prometheus")
        if kind not in ("prometheus", "datadog", "graphite", "influxdb"):
            remedy = _INSTEAD.get(kind, _NO_PROVIDER)
            return {}, [template.problem(place, f"{kind} answers with no number, or is no provider here", remedy)]
        text, unknown = rendered(str(template.spec.get("query") or ""))
        text = text.removeprefix("target=") if kind == "graphite" else text
        if unknown:
            return {}, [_unknown_variable(template, ("spec", "query"), unknown)]
        block: dict[str, Any] = {"address": provider.get("address"), "query": text}
        block |= {"insecure": True} if provider.get("insecureSkipVerify") else {}
        listed = list(_asks_for_target(template, str(template.spec.get("query")), ("spec", "query")))
        if kind == "datadog":
            block["interval"] = "{{args.interval}}"
        if provider.get("headers"):
            block |= self._headers(template, kind, listed)
        more, said = self._credentials(template, kind)
        block = {key: each for key, each in {**block, **more}.items() if each is not None}
        return {kind: block}, [*listed, *said]

    def _headers(self, template: Manifest, kind: str, listed: list[Any]) -> dict[str, Any]:
        headers = as_map(as_map(template.spec.get("provider"))["headers"])
        if kind not in ("prometheus", "graphite"):
            listed.append(
                template.problem(("spec", "provider", "headers"), f"are not sent to {kind}", "leave them out")
            )
            return {}
        lists = {key: each if isinstance(each, list) else [each] for key, each in headers.items()}
        return {"headers": [{"key": key, "value": str(each)} for key, values in lists.items() for each in values]}

    def _credentials(self, template: Manifest, kind: str) -> tuple[dict[str, Any], list[Any]]:
        """Return the fields that name the Secret; of its keys only the names are looked at."""
        name = as_map(as_map(template.spec.get("provider")).get("secretRef")).get("name")
        if not name:
            return {}, []
        place = ("spec", "provider", "secretRef")
        where = f"Secret {name} in the namespace of the app"
        if kind == "datadog":
            message, remedy = f"is {where} here, with other keys", "give it the keys api-key and app-key"
            return {"secretRef": {"name": name}}, [template.problem(place, message, remedy)]
        if kind == "influxdb":
            message, remedy = f"is {where} here, with other keys", "give it the keys authToken, address and org"
            return {"profile": name}, [template.problem(place, message, remedy)]
        secret = self.secrets.get((template.namespace, name))
        keys = {key for part in ("data", "stringData") for key in as_map(secret.value.get(part))} if secret else set()
        by_token = "token" in keys
        said = template.problem(place, f"is {where} here", "make it there, if it is not")
        if not keys & {"token", "username"}:
            message = f"is {where} here; whether it has a token or a username, nobody said"
            remedy = f"look at authentication in analysis/{template.name}.yaml: basic is written, bearer takes a token"
            said = template.problem(place, message, remedy)
        return {"authentication": _BEARER if by_token else _BASIC, _SECRET: name}, [said]


_SECRET = "from"  # noqa: S105 (a key of a block until its template is written)
_BEARER = {"bearer": {"token": "{{args.token}}"}}
_BASIC = {"basic": {"username": "{{args.username}}", "password": "{{args.password}}"}}


def rendered(query: str) -> tuple[str, str]:
    """Return a query with Flagger's variables as args, and the first one that has no equal.

    >>> rendered('up{ns="{{ namespace }}",code="{{ variables.code }}"}[{{interval}}]')
    ('up{ns="{{args.namespace}}",code="{{args.code}}"}[{{args.interval}}]', '')
    >>> rendered('up{pod=~"{{ target }}-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)"}')
    ('up{pod=~".+-{{args.hash}}-.+"}', '')
    >>> rendered("{{ ingress }}")[1]
    'ingress'
    """
    lines = [line.rstrip() for line in query.strip("\n").split("\n")]
    text = _FLAGGER_PODS.sub(lambda _: PODS, "\n".join(lines) + ("\n" if len(lines) > 1 else ""))
    names = [_name_in(found) for found in _VARIABLE.finditer(query)]
    unknown = next((name for name in names if name not in _OWN and not _NAME.fullmatch(name)), "")
    return _VARIABLE.sub(_as_arg, text), unknown


def _name_in(found: re.Match[str]) -> str:
    return found["inside"].strip(" \t\n-")


def _as_arg(found: re.Match[str]) -> str:
    name = _name_in(found).removeprefix("variables.").removeprefix("args.")
    return f"{{{{args.{name}}}}}"


def _unknown_variable(manifest: Manifest, place: Path, name: str) -> Any:
    message = f"holds {{{{{name}}}}}, which nothing fills in here"
    return manifest.problem(place, message, f"known: {', '.join(_OWN)} and variables.NAME")


def _asks_for_target(manifest: Manifest, query: str, place: Path) -> list[Any]:
    """Say where a query asks for the target by its name: no live workload has that here."""
    if not any(_name_in(each) == "target" for each in _VARIABLE.finditer(_FLAGGER_PODS.sub("", query))):
        return []
    message = "asks for the target by its name, and the pods here are those of a ReplicaSet, <app>-v<number>-<digest>"
    return [manifest.problem(place, message, f'ask for their names, as in pod=~"{PODS}"')]


def _analysis_template(name: str, provider: dict[str, Any]) -> dict[str, Any]:
    """Return the AnalysisTemplate with one metric; its args are those that the query names."""
    ((kind, block),) = provider.items()
    secret = block.pop(_SECRET, None)
    text = str(block)
    args = sorted(set(re.findall(r"\{\{args\.([A-Za-z0-9_-]+)\}\}", text)), key=lambda each: (each == "hash", each))
    return {
        "apiVersion": API_VERSION,
        "kind": "AnalysisTemplate",
        "metadata": {"name": name},
        "spec": {
            **({"args": [_arg(each, secret) for each in args]} if args else {}),
            "metrics": [{"name": name, "provider": {kind: block}}],
        },
    }


def _arg(name: str, secret: str | None) -> dict[str, Any]:
    if name == "hash":
        return {"name": name, "valueFrom": {"podTemplateHashValue": "Latest"}}
    if secret and name in ("token", "username", "password"):
        return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": name}}}
    return {"name": name}


def _metric(metric: Mapping[str, Any], template: str) -> dict[str, Any]:
    """Return a metric of a Canary in app.yaml."""
    made: dict[str, Any] = {"name": metric.get("name"), "templateRef": {"name": template}}
    good = metric.get("thresholdRange")
    if good is None and metric.get("threshold") is not None:
        builtin = BUILTIN.get(str(metric.get("name")))
        side = builtin[2] if builtin and not metric.get("query") else "max"
        good = {side: metric["threshold"]}
    if good is not None:
        made["thresholdRange"] = dict(as_map(good))
    for key in ("interval", "templateVariables"):
        if metric.get(key):
            made[key] = metric[key]
    return made
