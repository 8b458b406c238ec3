"""Analysis in app.yaml, with the templates: what is measured, and the problems with what cannot be."""

from __future__ import annotations

import json

import pytest

from gitops_bg.core.model.analysis import MeasurementPlan, Metric
from gitops_bg.core.model.spec import Strategy
from gitops_bg.spec.analysis.templates import load_templates
from gitops_bg.spec.app.load import AppConfig, app_config_from_live, load_app
from gitops_bg.spec.app.to_core import TEMPLATES_UNKNOWN
from gitops_bg.spec.expressions import check, is_true
from tests.spec.texts import APP, TARGET, WEB, app_with, source_of

URL = "http://{{args.host}}/errors"


def template(name: str, *spec: str, metrics: str = "") -> str:
    """A template with one metric of its name, or with other metrics, and more lines in its spec."""
    own = f"[{{name: {name}, provider: {{web: {{url: '{URL}'}}}}}}]"
    lines = "".join(f"  {line}\n" for line in (f"metrics: {metrics or own}", *spec))
    head = f"apiVersion: gitops-bg.dev/v1alpha1\nkind: AnalysisTemplate\nmetadata: {{name: {name}}}\nspec:\n"
    return head + lines


HOST = "args: [{name: host}]"
ERRORS = template("errors", HOST)
USE = "prePromotionAnalysis: {templates: [{templateName: errors}], args: [{name: host, value: web}]}"


def load(app: str, *templates: str) -> AppConfig:
    files = {f"analysis/{number}.yaml": text.encode() for number, text in enumerate(templates)}
    return load_app(WEB, {"app.yaml": app.encode(), "target.yaml": TARGET.encode()}, source_of, load_templates(files))


def strategy(app: str, *templates: str) -> Strategy:
    config = load(app, *templates)
    assert config.problems == ()
    assert config.spec is not None
    return config.spec.strategy


def plan(app: str, *templates: str) -> MeasurementPlan:
    found = strategy(app, *templates).pre_promotion_analysis
    assert found is not None
    return found


def complaints(app: str, *templates: str) -> list[str]:
    config = load(app, *templates)
    assert all(problem.line for problem in config.problems)
    if config.spec and config.problems:
        plans = (config.spec.strategy.pre_promotion_analysis, config.spec.strategy.post_promotion_analysis)
        assert any(each and each.unknown for each in plans), "nothing may be promoted without it"
    return [str(problem).removeprefix("apps/shop/web/") for problem in config.problems]


def queries(found: MeasurementPlan) -> list[str]:
    return [json.loads(metric.query)["url"] for metric in found.metrics]


def test_nothing_is_analysed_where_nothing_is_said() -> None:
    for said in ("", "prePromotionAnalysis: {}", "prePromotionAnalysis: {templates: []}", "postPromotionAnalysis: {}"):
        found = strategy(app_with(blue_green=said))
        assert (found.pre_promotion_analysis, found.post_promotion_analysis) == (None, None)


def test_the_defaults_are_those_of_argo_rollouts() -> None:
    (metric,) = plan(app_with(blue_green=USE), ERRORS).metrics
    assert metric == Metric("errors", "web", '{"url":"http://web/errors"}')


def test_everything_that_can_be_written() -> None:
    metrics = """
    - name: errors
      interval: 1m30s
      initialDelay: '{{args.delay}}'
      count: '{{args.count}}'
      successCondition: result < {{args.limit}}
      failureCondition: result > 0.5
      failureLimit: 1
      inconclusiveLimit: 2
      consecutiveErrorLimit: 3
      consecutiveSuccessLimit: 2
      provider:
        prometheus:
          address: http://prometheus
          query: sum(errors{hash="{{args.hash}}", old="{{args.old}}", team="{{ args.team }}"})
          authentication: {bearer: {token: '{{args.token}}'}}"""
    text = template(
        "errors",
        "args: [{name: delay, value: 5s}, {name: count}, {name: limit, value: '0.1'}, {name: hash}, {name: old},"
        " {name: team}, {name: token, valueFrom: {secretKeyRef: {name: grafana.creds, key: to-ken}}}]",
        metrics=metrics,
    )
    use = (
        "postPromotionAnalysis: {templates: [{templateName: errors, clusterScope: true}], args: ["
        "{name: count, value: '4'}, {name: limit, value: '0.2'}, {name: unknown, value: dropped},"
        " {name: hash, valueFrom: {podTemplateHashValue: Latest}},"
        " {name: old, valueFrom: {podTemplateHashValue: Stable}},"
        " {name: team, valueFrom: {fieldRef: {fieldPath: metadata.name}}}],"
        " dryRun: [{metricName: err}], measurementRetention: [{metricName: .*, limit: 20}],"
        " analysisRunMetadata: {labels: {team: blue}, annotations: {a: b}}}"
    )
    found = strategy(app_with(blue_green=use), text).post_promotion_analysis
    assert found is not None
    (metric,) = found.metrics
    query = 'sum(errors{hash="{{podTemplateHash.Latest}}", old="{{podTemplateHash.Stable}}", team="web"})'
    assert json.loads(metric.query) == {
        "address": "http://prometheus",
        "query": query,
        "authentication": {"bearer": {"token": "{{secret:grafana.creds/to-ken}}"}},
    }
    assert metric == Metric(
        name="errors",
        provider="prometheus",
        query=metric.query,
        success="result < 0.2",
        failure="result > 0.5",
        interval=90,
        initial_delay=5,
        count=4,
        failure_limit=1,
        inconclusive_limit=2,
        consecutive_error_limit=3,
        consecutive_success_limit=2,
        dry_run=True,
        retention=20,
    )
    assert (found.labels, found.annotations) == ((("team", "blue"),), (("a", "b"),))


def test_nested_templates_belong_to_the_one_that_names_them() -> None:
    outer = template("errors", HOST, "templates: [{templateName: inner}, {templateName: errors}]")
    inner = template("inner", "args: [{name: host, value: default}]", "templates: [{templateName: errors}]")
    assert queries(plan(app_with(blue_green=USE), outer, inner)) == ["http://web/errors", "http://web/errors"]
    config = load(app_with(blue_green=USE), outer, inner)
    assert config.templates == {"errors", "inner"}


def test_a_template_of_another_namespace_is_not_for_us() -> None:
    foreign = ERRORS.replace("{name: errors}", "{name: errors, namespace: pay}", 1)
    assert complaints(app_with(blue_green=USE), foreign) == [
        "app.yaml:8: spec.strategy.blueGreen.prePromotionAnalysis.templates[0].templateName: AnalysisTemplate errors "
        "is for the namespace pay only (remove the namespace from its metadata, or use another)"
    ]
    assert plan(app_with(blue_green=USE), foreign.replace("pay", "shop"))


TEMPLATES = "app.yaml:8: spec.strategy.blueGreen.prePromotionAnalysis.templates"
ARGS = "app.yaml:8: spec.strategy.blueGreen.prePromotionAnalysis.args"
BLOCK = "app.yaml:8: spec.strategy.blueGreen.prePromotionAnalysis"


def use(*templates: str, args: str = "[{name: host, value: web}]", more: str = "") -> str:
    named = ", ".join(f"{{templateName: {name}}}" for name in templates)
    return app_with(blue_green=f"prePromotionAnalysis: {{templates: [{named}], args: {args}{more}}}")


WRONG: dict[str, tuple[str, list[str], list[str]]] = {
    "a template that is not there": (
        use("errors", "latency"),
        [ERRORS],
        [f"{TEMPLATES}[1].templateName: there is no AnalysisTemplate latency in analysis/ (add it; known: errors)"],
    ),
    "a nested template that is not there": (
        use("errors"),
        [template("errors", HOST, "templates: [{templateName: x}]")],
        [
            "analysis/0.yaml:7: spec.templates[0].templateName: there is no AnalysisTemplate x in analysis/ "
            "(add it; known: errors)"
        ],
    ),
    "a template that is broken": (
        use("errors"),
        [ERRORS + "  zzz: 1\n"],
        ["analysis/0.yaml:7: spec.zzz: there is no such field (known here: args, dryRun, measurementRetention, "
         "metrics, templates)"],
    ),
    "a metric name twice": (
        use("errors", "more"),
        [ERRORS, template("more", metrics="[{name: errors, provider: {web: {url: 'http://a'}}}]")],
        [f"{TEMPLATES}[1].templateName: the metric errors of AnalysisTemplate more is there already "
         "(rename one of the metrics)"],
    ),
    "two defaults of one arg": (
        use("errors", "more"),
        [template("errors", "args: [{name: host, value: a}]"), template("more", "args: [{name: host, value: b}]")],
        [f"{TEMPLATES}[1].templateName: the arg host of AnalysisTemplate more has another default than before "
         "(rename one of the args, or give both one default)"],
    ),
    "an arg without a value": (
        use("errors", args="[{name: hosts, value: web}]"),
        [ERRORS],
        [f'{ARGS}: the arg host has no value (add {{name: host, value: "…"}})'],
    ),
    "no args at all": (
        app_with(blue_green="prePromotionAnalysis: {templates: [{templateName: errors}]}"),
        [ERRORS],
        [f'{ARGS}: the arg host has no value (add {{name: host, value: "…"}})'],
    ),
    "an arg that gives no value": (
        use("errors", args="[{name: host}]"),
        [ERRORS],
        [f"{ARGS}[0]: gives host no value (add value, or valueFrom)"],
    ),
    "braces around no arg, where a number is to be": (
        use("errors"),
        [template("errors", HOST, metrics="[{name: errors, interval: '{{ x }}', count: 2, provider: {web: {url: http://x}}}]")],
        ["analysis/0.yaml:5: spec.metrics[0].interval: '{{ x }}' names no arg (write {{args.NAME}})"],
    ),
    "an arg that nobody declares": (
        use("errors", args="[]"),
        [template("errors")],
        ["analysis/0.yaml:5: spec.metrics[0]: asks for an arg host that no template declares "
         "(add {name: host} to the args of the template)"],
    ),
    "a field that is not there": (
        use("errors", args="[{name: host, valueFrom: {fieldRef: {fieldPath: metadata.labels.team}}}]"),
        [ERRORS],
        [f"{ARGS}[0]: the arg host: app.yaml has no field metadata.labels.team (name a field that is there)"],
    ),
    "a field that is a mapping": (
        use("errors", args="[{name: host, valueFrom: {fieldRef: {fieldPath: spec.strategy}}}]"),
        [ERRORS],
        [f"{ARGS}[0]: the arg host: the field spec.strategy of app.yaml is not one text, number or truth value "
         "(name a field that is there)"],
    ),
    "a field path that is none": (
        use("errors", args="[{name: host, valueFrom: {fieldRef: {fieldPath: 'metadata/name'}}}]"),
        [ERRORS],
        [f"{ARGS}[0]: the arg host: 'metadata/name' is no path such as metadata.labels['team'] "
         "(name a field that is there)"],
    ),
    "an arg that makes a metric wrong": (
        use("errors", args="[{name: times, value: many}]"),
        [template("errors", "args: [{name: times}]",
                  metrics="[{name: e, interval: 5, count: '{{args.times}}', provider: {web: {url: 'http://a'}}}]")],
        [f"{ARGS}: with these args the metric e of AnalysisTemplate errors is wrong: count: must be a whole number "
         "from 0 to 2147483647, or -1 for no limit"],
    ),
    "an arg that makes a condition wrong": (
        use("errors", args="[{name: times, value: '<'}]"),
        [template("errors", "args: [{name: times}]",
                  metrics="[{name: e, successCondition: 'x {{args.times}} 1', provider: {web: {url: 'http://a'}}}]")],
        [f"{ARGS}: with these args the metric e of AnalysisTemplate errors is wrong: successCondition: is no CEL: "
         "x is unknown; known here: result (write a condition such as result < 0.05)"],
    ),
    "a secret in a condition": (
        use("errors", args="[{name: times, valueFrom: {secretKeyRef: {name: a, key: b}}}]"),
        [template("errors", "args: [{name: times}]",
                  metrics="[{name: e, successCondition: 'result == \"{{args.times}}\"', "
                  "provider: {web: {url: 'http://a'}}}]")],
        ["analysis/0.yaml:5: spec.metrics[0]: uses a secret outside of provider (use it in the provider only)"],
    ),
    "a dry run of nothing": (
        use("errors", more=", dryRun: [{metricName: latency}]"),
        [ERRORS],
        [f"{BLOCK}.dryRun[0].metricName: 'latency' finds none of the metrics (known: errors)"],
    ),
    "a retention of nothing": (
        use("errors"),
        [template("errors", HOST, "measurementRetention: [{metricName: x, limit: 3}]")],
        ["analysis/0.yaml:7: spec.measurementRetention[0].metricName: 'x' finds none of the metrics (known: errors)"],
    ),
    "an unknown field": (
        app_with(blue_green="prePromotionAnalysis: {template: []}"),
        [],
        [f"{BLOCK}.template: there is no such field (did you mean templates?)"],
    ),
    "an unknown field in an item": (
        app_with(blue_green="prePromotionAnalysis: {templates: [{templateNam: a}]}"),
        [],
        [f"{TEMPLATES}[0].templateName: is required (add templateName)",
         f"{TEMPLATES}[0].templateNam: there is no such field (did you mean templateName?)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_are_said_with_file_line_and_remedy(mistake: str) -> None:
    app, templates, said = WRONG[mistake]
    assert complaints(app, *templates) == said


def test_an_app_depends_on_the_templates_it_names_also_where_they_are_missing() -> None:
    assert load(use("errors", "latency"), ERRORS).templates == {"errors", "latency"}
    assert load(APP, ERRORS).templates == frozenset()


def test_a_mistake_leaves_the_rest_of_the_app_usable() -> None:
    config = load(use("latency"))
    assert config.spec is not None
    assert config.target is not None
    plan = config.spec.strategy.pre_promotion_analysis
    assert plan is not None
    assert plan.unknown == str(config.problems[0])


def test_without_git_the_plans_are_asked_for_and_unknown() -> None:
    body = load(use("errors"), ERRORS).body
    config = app_config_from_live(WEB, {"spec": body})
    assert config.spec is not None
    assert config.problems == ()
    assert config.spec.strategy.pre_promotion_analysis == MeasurementPlan(unknown=TEMPLATES_UNKNOWN)
    assert config.spec.strategy.post_promotion_analysis is None


# --- Flagger ---

RATE = template("rate", "args: [{name: service}, {name: namespace}, {name: interval}, {name: code, value: '200'}]",
                metrics="[{name: whatever, successCondition: result < 1, provider: {web: {url: "
                "'http://{{args.service}}.{{args.namespace}}/{{args.interval}}/{{args.code}}'}}}]")  # fmt: skip


def flagger(metric: str, head: str = "interval: 30s, threshold: 3, iterations: 10") -> str:
    return app_with(f"analysis: {{{head}, metrics: [{metric}]}}")


def test_flaggers_analysis_is_read_as_the_same_thing() -> None:
    asked = "{name: success-rate, templateRef: {name: rate, namespace: x}, thresholdRange: {min: 99}, interval: 2m, "
    (metric,) = plan(flagger(asked + "templateVariables: {code: '5..'}}"), RATE).metrics
    assert metric == Metric(
        name="success-rate",
        provider="web",
        query='{"url":"http://web.shop/2m/5.."}',
        success="",
        failure="type(result) == list ? result.exists(each, type(each) == list ? "
        "each.exists(point, point < 99.0) : each < 99.0) : result < 99.0",
        interval=30,
        count=10,
        failure_limit=2,
    )


def test_flaggers_defaults_and_the_templates_own_conditions() -> None:
    app = app_with("analysis: {metrics: [{name: a, templateRef: {name: rate}}, {name: b, templateRef: {name: rate}}]}")
    first, second = plan(app, RATE).metrics
    assert (first.name, second.name) == ("a", "b")
    assert (first.interval, first.count, first.failure_limit, first.success) == (60, 10, 0, "result < 1")
    assert first.query == '{"url":"http://web.shop/1m/200"}'
    assert load(app, RATE).templates == {"rate"}


RANGES = [
    ("{min: 99}", 98.9, True),
    ("{min: 99}", 99, False),
    ("{min: 99}", [99.5, 98], True),
    ("{min: 99}", [99.5], False),
    ("{max: 500}", 500.0, False),
    ("{max: 500}", 501, True),
    ("{min: 1, max: 2}", [1, 2], False),
    ("{min: 1, max: 2}", 0, True),
    ("{min: 1, max: 2}", [1, 3], True),
    ("{min: 1, max: 2}", [[1, 2], [2]], False),
    ("{min: 1, max: 2}", [[1, 2], [3]], True),
]


@pytest.mark.parametrize(("written", "result", "bad"), RANGES)
def test_a_threshold_range_fails_outside(written: str, result: float | list[float], bad: bool) -> None:
    app = flagger(f"{{name: a, templateRef: {{name: rate}}, thresholdRange: {written}}}")
    (metric,) = plan(app, RATE).metrics
    check(metric.failure, ["result"])
    assert is_true(metric.failure, {"result": result}) is bad


FLAGGER_WRONG = {
    "both ways to say it": (
        app_with("analysis: {metrics: []}", blue_green=USE),
        "app.yaml:9: spec.analysis: says the same as strategy.blueGreen.prePromotionAnalysis (keep one of the two)",
    ),
    "a threshold beyond reach": (
        flagger("{name: a, templateRef: {name: rate}}", "threshold: 11, iterations: 10"),
        "app.yaml:8: spec.analysis.threshold: 11 is more than iterations (10), so nothing could fail "
        "(write 10 or less)",
    ),
    "no interval": (
        flagger("{name: a, templateRef: {name: rate}}", "interval: 0"),
        "app.yaml:8: spec.analysis.interval: is 0, but there are several iterations (write 30s)",
    ),
    "a metric name twice": (
        flagger("{name: a, templateRef: {name: rate}}, {name: a, templateRef: {name: rate}}"),
        "app.yaml:8: spec.analysis.metrics[1].name: there are two metrics called a (rename one of them)",
    ),
    "a template that is not there": (
        flagger("{name: a, templateRef: {name: latency}}"),
        "app.yaml:8: spec.analysis.metrics[0].templateRef: there is no AnalysisTemplate latency in analysis/ "
        "(add it; known: bare, rate, two)",
    ),
    "a template with several metrics": (
        flagger("{name: a, templateRef: {name: two}}"),
        "app.yaml:8: spec.analysis.metrics[0].templateRef: AnalysisTemplate two has 2 metrics where one is "
        "expected (name a template with one metric)",
    ),
    "a variable without a value": (
        flagger("{name: a, templateRef: {name: bare}}"),
        'app.yaml:8: spec.analysis.metrics[0].templateVariables: the arg host has no value (add host: "…")',
    ),
    "a builtin metric of Flagger": (
        flagger("{name: request-success-rate, thresholdRange: {min: 99}}"),
        "app.yaml:8: spec.analysis.metrics[0].templateRef: is required (add templateRef)",
    ),
}
TWO = template("two", metrics="[{name: a, provider: {web: {url: 'http://a'}}}, "
               "{name: b, provider: {web: {url: 'http://b'}}}]")  # fmt: skip


@pytest.mark.parametrize("mistake", FLAGGER_WRONG)
def test_mistakes_in_flaggers_words(mistake: str) -> None:
    app, said = FLAGGER_WRONG[mistake]
    assert complaints(app, RATE, TWO, template("bare", HOST)) == [said]


EVERYWHERE = """
    - name: errors
      interval: '{{args.interval}}'
      initialDelay: '{{args.delay}}'
      count: '{{args.count}}'
      failureLimit: '{{args.count}}'
      inconclusiveLimit: '{{args.count}}'
      consecutiveErrorLimit: '{{args.none}}'
      thresholdRange: {min: '{{args.none}}', max: '{{args.count}}'}
      provider: {web: {url: http://a, timeoutSeconds: '{{args.count}}'}}"""


def test_args_may_stand_in_every_field_of_a_metric() -> None:
    declared = (
        "args: [{name: interval, value: 30s}, {name: delay, value: '5'}, {name: count, value: '7'},"
        " {name: none, value: '-1'}]"
    )
    use = "prePromotionAnalysis: {templates: [{templateName: errors}]}"
    (metric,) = plan(app_with(blue_green=use), template("errors", declared, metrics=EVERYWHERE)).metrics
    assert (metric.interval, metric.initial_delay, metric.count) == (30, 5, 7)
    assert (metric.failure_limit, metric.inconclusive_limit, metric.consecutive_error_limit) == (7, 7, -1)
    assert json.loads(metric.query)["timeoutSeconds"] == 7
    assert [is_true(metric.failure, {"result": value}) for value in (-2, -1, 7, 8)] == [True, False, False, True]


def test_arg_that_makes_a_metric_endless_is_refused() -> None:
    metrics = "[{name: errors, interval: '{{args.x}}', provider: {web: {url: http://a}}}]"
    use = "prePromotionAnalysis: {templates: [{templateName: errors}], args: [{name: x, value: 30s}]}"
    (said,) = complaints(app_with(blue_green=use), template("errors", "args: [{name: x}]", metrics=metrics))
    assert "interval: without count never ends" in said


def test_metrics_that_args_give_one_name_are_refused() -> None:
    metrics = (
        "[{name: '{{args.x}}', provider: {web: {url: http://a}}}, {name: errors, provider: {web: {url: http://b}}}]"
    )
    use = "prePromotionAnalysis: {templates: [{templateName: errors}], args: [{name: x, value: errors}]}"
    (said,) = complaints(app_with(blue_green=use), template("errors", "args: [{name: x}]", metrics=metrics))
    assert "there are two metrics called errors" in said


def test_arg_that_is_given_twice_is_refused() -> None:
    use = (
        "prePromotionAnalysis: {templates: [{templateName: errors}],"
        " args: [{name: host, value: a}, {name: host, value: b}]}"
    )
    (said,) = complaints(app_with(blue_green=use), ERRORS)
    assert "there are two args called host" in said


def test_limits_of_the_history_stand_beside_either_analysis() -> None:
    limits = "analysis: {successfulRunHistoryLimit: 2, unsuccessfulRunHistoryLimit: 0}"
    for app in (app_with(limits), app_with(limits, blue_green=USE)):
        spec = load(app, ERRORS).spec
        assert spec is not None
        assert (spec.successful_run_history_limit, spec.unsuccessful_run_history_limit) == (2, 0)
    default = load(app_with()).spec
    assert default is not None
    assert (default.successful_run_history_limit, default.unsuccessful_run_history_limit) == (5, 5)
    assert complaints(app_with("analysis: {successfulRunHistoryLimit: 51}"))
    assert complaints(app_with("analysis: {unsuccessfulRunHistoryLimit: -1}"))


def test_what_no_object_of_a_cluster_could_hold_is_refused() -> None:
    many = ", ".join(f"{{name: m{number}, provider: {{web: {{url: http://a}}}}}}" for number in range(6))
    kept = "measurementRetention: [{metricName: m, limit: 100}]"
    use = f"prePromotionAnalysis: {{templates: [{{templateName: errors}}], {kept}}}"
    (said,) = complaints(app_with(blue_green=use), template("errors", metrics=f"[{many}]"))
    assert "600 measurements would be remembered at a time; a status holds 500" in said
    big = template(
        "errors", metrics=f"[{{name: m, provider: {{web: {{url: http://a, body: {'x' * 120_000}, method: POST}}}}}}]"
    )
    (said,) = complaints(app_with(blue_green=USE), big)
    assert "have more than 100,000 characters" in said
