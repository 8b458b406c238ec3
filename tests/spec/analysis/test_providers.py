"""The provider blocks of an AnalysisTemplate: what is valid, and the problems with what is not."""

from __future__ import annotations

import pytest

from gitops_bg.spec.analysis.providers import BLOCKS, ProviderFields, seconds_ago
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.expressions import json_path
from gitops_bg.spec.yaml.reader import read


def provider(text: str) -> ProviderFields:
    found, problems = validate(ProviderFields, read("provider.yaml", text.encode()).documents[0])
    assert problems == ()
    assert found is not None
    return found


def complaints(text: str) -> list[str]:
    found, problems = validate(ProviderFields, read("provider.yaml", text.encode()).documents[0])
    assert found is None
    return [str(problem).removeprefix("provider.yaml:") for problem in problems]


WRITTEN = {
    "prometheus": """
prometheus:
  address: https://prometheus.example:9090
  query: up{pod=~"web-{{args.hash}}-.*"}
  timeout: 40
  insecure: true
  caCert: PEM
  headers: [{name: X-Scope-Org-ID, value: tenant_a}]
  authentication: {basic: {username: ann, password: "{{args.password}}"}}
  rangeQuery: {start: 'now() - duration("5m")', end: now, step: 30s}
""",
    "web": """
web:
  url: "http://web-preview.shop/health?service={{args.service}}"
  method: POST
  headers: [{key: Authorization, value: "Bearer {{args.token}}"}]
  jsonBody: {deep: {er: ["{{args.service}}"]}}
  timeoutSeconds: 20
  jsonPath: "{$.data.ok}"
""",
    "job": """
job:
  metadata: {labels: {team: shop}}
  spec: {backoffLimit: 1, template: {spec: {restartPolicy: Never, containers: [{name: smoke, image: curl}]}}}
""",
    "datadog": """
datadog:
  apiVersion: v2
  interval: 10m
  queries: {errors: "sum:errors{*}", all: "sum:requests{*}"}
  formula: errors / all
  aggregator: sum
  secretRef: {name: datadog-eu, namespaced: true}
  address: https://api.datadoghq.eu
""",
    "cloudWatch": """
cloudWatch:
  interval: 30m
  metricDataQueries:
    - {id: rate, expression: errors / requests}
    - id: errors
      metricStat: {metric: {namespace: app, metricName: errors}, period: 300, stat: Sum, unit: Count}
      returnData: false
""",
    "newRelic": "newRelic: {profile: my-secret, query: FROM Transaction SELECT count(*), region: eu}",
    "graphite": "graphite: {address: http://graphite, query: target=sumSeries(a.*)}",
    "influxdb": 'influxdb: {profile: influx, query: "from(bucket: \\"b\\")", org: shop, address: http://influx}',
    "somebody.example/theirs": "plugin: {somebody.example/theirs: {any: [thing]}}",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_is_what_the_provider_is_told(name: str) -> None:
    found = provider(WRITTEN[name])
    assert found.name == name
    written = read("provider.yaml", WRITTEN[name].encode()).documents[0].value
    assert found.block == (written["plugin"][name] if "plugin" in written else written[name])


def test_every_block_but_plugins_has_its_schema_under_its_name() -> None:
    fields = {field.alias or name for name, field in ProviderFields.model_fields.items()}
    assert set(BLOCKS) == fields - {"plugin"}
    assert set(BLOCKS) == {provider(text).name for text in WRITTEN.values()} - {"somebody.example/theirs"}


WRONG = {
    "nothing": ("{}", ["1: must name exactly one provider, not 0 (choose one of prometheus, web"]),
    "two": (
        "web: {url: http://a}\ngraphite: {address: http://a, query: q}",
        ["1: must name exactly one provider, not 2 (choose one of prometheus"],
    ),
    "unknown provider": ("promtheus: {}", ["1: promtheus: there is no such field (did you mean prometheus?)"]),
    "unknown field": (
        "prometheus: {address: http://a, querry: up}",
        ["is required (add query)", "prometheus.querry: there is no such field (did you mean query?)"],
    ),
    "unknown field in a list": (
        "cloudWatch: {metricDataQueries: [{id: a, expresion: x, expression: a}]}",
        ["cloudWatch.metricDataQueries[0].expresion: there is no such field (did you mean expression?)"],
    ),
    "no address": ("web: {url: web-preview/health}", ["web.url: must be an address such as https://"]),
    "password in the address": ("web: {url: 'http://ann:secret@web'}", ["must not hold a user or password"]),
    "body of GET": ("web: {url: http://a, body: x}", ["web.method: GET has no body (write method: POST, or PUT)"]),
    "two bodies": ("web: {url: http://a, method: PUT, body: x, jsonBody: {}}", ["cannot go together with body"]),
    "bad path": ("web: {url: http://a, jsonPath: '{$.a[}'}", ["web.jsonPath: is no JSONPath such as {$.data.ok}: "]),
    "header without name": ("web: {url: http://a, headers: [{value: x}]}", ["exactly one of key and name"]),
    "no timeout": ("web: {url: http://a, timeoutSeconds: 0}", ["0 is too small (write 1 or more)"]),
    "endless timeout": ("prometheus: {address: http://a, query: up, timeout: 3600}", ["3600 is too large"]),
    "bad duration": ("datadog: {query: q, interval: 5 minutes}", ["must be a duration such as 30s, 5m or 1h30m"]),
    "bad moment": (
        "prometheus: {address: http://a, query: up, rangeQuery: {start: yesterday, step: 30s}}",
        ["prometheus.rangeQuery.start: must be a moment such as now or now - 5m"],
    ),
    "two authentications": (
        "prometheus: {address: http://a, query: up, authentication: {bearer: {token: t}, sigv4: {region: eu}}}",
        ["must have one of basic, bearer, oauth2 and sigv4"],
    ),
    "queries without formula": (
        "datadog: {apiVersion: v2, queries: {a: q, b: q}}",
        ["are several, and nothing says what to make of them (add a formula)"],
    ),
    "formula in v1": ("datadog: {query: q, formula: a / b}", ["datadog.formula: is not known to v1"]),
    "a Secret of the agent": (
        "datadog: {query: q, secretRef: {name: datadog, namespaced: false}}",
        ["datadog.secretRef.namespaced: False is not allowed (write True)"],
    ),
    "query that is neither": ("cloudWatch: {metricDataQueries: [{id: a}]}", ["exactly one of expression and"]),
    "bad query id": ("cloudWatch: {metricDataQueries: [{id: A b, expression: x}]}", ["begin with a small letter"]),
    "job without pods": ("job: {spec: {backoffLimit: 1}}", ["job.spec: has no template.spec"]),
    "two plugins": ("plugin: {a: {}, b: {}}", ["plugin: must name exactly one plugin, not 2"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_its_place(name: str) -> None:
    text, expected = WRONG[name]
    said = complaints(text)
    assert len(said) == len(expected)
    assert all(part in line for part, line in zip(expected, said, strict=True)), said


@pytest.mark.parametrize("text", ["{$.a.b}", "$.a.b", "{.a.b}", ".a.b"])
def test_a_json_path_is_read_with_and_without_kubectls_braces(text: str) -> None:
    assert [match.value for match in json_path(text).finditer({"a": {"b": 7}})] == [7]


@pytest.mark.parametrize("text", ["now + 5m", "now -", "5m", "now() - duration(5m", "now - soon"])
def test_a_moment_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        seconds_ago(text)


OPEN = """
prometheus: {address: "{{args.x}}", query: up, timeout: "{{args.x}}", insecure: "{{args.x}}"}
---
web: {url: "http://a/{{args.x}}", method: "{{args.x}}", timeoutSeconds: "{{args.x}}"}
---
datadog: {apiVersion: "{{args.x}}", query: q, interval: "{{args.x}}", secretRef: {name: "{{args.x}}"}}
---
cloudWatch: {metricDataQueries: [{id: a, expression: e, period: "{{args.x}}", returnData: "{{args.x}}"}]}
---
newRelic: {query: q, profile: "{{args.x}}", region: "{{args.x}}", timeout: "{{args.x}}"}
---
graphite: {address: http://a, query: q, timeout: "{{args.x}}"}
---
influxdb: {query: q, profile: "{{args.x}}", timeout: "{{args.x}}"}
"""


@pytest.mark.parametrize("document", read("open.yaml", OPEN.encode()).documents, ids=lambda one: next(iter(one.value)))
def test_args_may_stand_in_every_field_of_a_block(document) -> None:
    """argo-rollouts.md §3: `{{args.x}}` in any metric field, numbers among them."""
    found, problems = validate(ProviderFields, document)
    assert problems == ()
    assert found is not None
    assert found.block == next(iter(document.value.values()))


def test_numbers_and_truth_values_that_were_filled_in_as_text_are_none_any_more() -> None:
    written = 'prometheus: {address: "http://a", query: up, timeout: "40", insecure: "true"}'
    assert provider(written).block == {"address": "http://a", "query": "up", "timeout": 40, "insecure": True}


@pytest.mark.parametrize("filled", ["0", "301", "soon", "-1", "4.5"])
def test_number_that_was_filled_in_is_judged_as_a_number(filled: str) -> None:
    assert complaints(f'web: {{url: "http://a", timeoutSeconds: "{filled}"}}')
