"""AnalysisTemplates: what is valid in analysis/, and the problems with what is not, with line and remedy."""

from __future__ import annotations

import pytest

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.analysis.templates import Library, load_templates

HEAD = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: AnalysisTemplate
metadata: {name: errors}
spec:
"""
METRICS = """\
  metrics:
    - name: errors
      provider: {web: {url: http://web-preview/errors}}
"""


def library(*texts: str | Problem) -> Library:
    """The library of files analysis/0.yaml, analysis/1.yaml and so on."""
    files = {f"analysis/{number}.yaml": text for number, text in enumerate(texts)}
    return load_templates({path: text.encode() if isinstance(text, str) else text for path, text in files.items()})


def complaints(*texts: str | Problem) -> list[str]:
    return [str(problem).removeprefix("analysis/0.yaml:") for problem in library(*texts).all_problems()]


def with_metric(*lines: str) -> str:
    return HEAD + METRICS + "".join(f"      {line}\n" for line in lines)


GOOD = [
    (),
    ("interval: 30s", "count: 5", "initialDelay: 1m30s"),
    ("interval: 30", "count: '5'", "failureLimit: -1"),
    ("interval: '{{args.interval}}'", "count: '{{args.count}}'", "failureLimit: '{{args.limit}}'"),
    ("interval: 1m", "count: 5", "failureLimit: 3", "consecutiveSuccessLimit: 2", "inconclusiveLimit: 5"),
    ("successCondition: result[0] < 0.05", "failureCondition: result[0] >= 0.1"),
    ("successCondition: result < {{args.limit}}",),
    ("successCondition: result != '{{podTemplateHash.Stable}}'",),
    ("thresholdRange: {min: 99, max: 100.5}",),
]


@pytest.mark.parametrize("lines", GOOD, ids=" ".join)
def test_good_metrics(lines: tuple[str, ...]) -> None:
    assert complaints(with_metric(*lines)) == []


WRONG = {
    ("zzz: 1",): "8: spec.metrics[0].zzz: there is no such field (known here: consecutiveErrorLimit, "
    "consecutiveSuccessLimit, count, failureCondition, failureLimit, inconclusiveLimit, initialDelay, interval, name, "
    "provider, successCondition, thresholdRange)",
    ("succesCondition: result < 1",): "8: spec.metrics[0].succesCondition: there is no such field "
    "(did you mean successCondition?)",
    ("interval: 5 minutes", "count: 2"): "8: spec.metrics[0].interval: must be a duration such as 30s, 5m or 1h30m, "
    "or a number of seconds",
    ("interval: -1",): "8: spec.metrics[0].interval: must be a duration such as 30s, 5m or 1h30m, "
    "or a number of seconds",
    ("initialDelay: later",): "8: spec.metrics[0].initialDelay: must be a duration such as 30s, 5m or 1h30m, "
    "or a number of seconds",
    ("interval: 30s",): "8: spec.metrics[0].interval: without count never ends, and blue-green needs a verdict "
    "(add count: 5)",
    ("count: 3",): "8: spec.metrics[0].count: 3 measurements need the time between them (add interval: 30s)",
    ("count: 0",): "8: spec.metrics[0].count: 0 is too small (write 1 or more)",
    ("count: many",): "8: spec.metrics[0].count: must be a whole number from 0 to 2147483647, or -1 for no limit",
    (
        "failureLimit: -2",
    ): "8: spec.metrics[0].failureLimit: must be a whole number from 0 to 2147483647, or -1 for no limit",
    ("failureLimit: 2",): "8: spec.metrics[0].failureLimit: the count 1 is less than failureLimit (2) "
    "(raise count, or lower the limits)",
    ("interval: 1s", "count: 4", "failureLimit: 2", "consecutiveSuccessLimit: 3"): "9: spec.metrics[0].count: "
    "the count 4 is less than failureLimit + consecutiveSuccessLimit (5) (raise count, or lower the limits)",
    ("interval: 1s", "count: 4", "inconclusiveLimit: 5"): "10: spec.metrics[0].inconclusiveLimit: "
    "5 is more than the count (4) (write 4 or less)",
    ("successCondition: result <",): "8: spec.metrics[0].successCondition: is no CEL: 1:9: Syntax error: mismatched "
    "input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
    "STRING, BYTES, IDENTIFIER} (write a condition such as result < 0.05)",
    ("failureCondition: results > 1",): "8: spec.metrics[0].failureCondition: is no CEL: results is unknown; "
    "known here: result (write a condition such as result < 0.05)",
    ("successCondition: len(result) > 1",): "8: spec.metrics[0].successCondition: is no CEL: there is no function len; "
    "write size(result) (write a condition such as result < 0.05)",
    ("thresholdRange: {}",): "8: spec.metrics[0].thresholdRange: has neither min nor max (add one of them)",
    ("thresholdRange: {min: 2, max: 1}",): "8: spec.metrics[0].thresholdRange.min: 2 is more than max (1) "
    "(exchange the two)",
    ("thresholdRange: {min: 2}", "successCondition: result > 2"): "8: spec.metrics[0].thresholdRange: "
    "cannot go together with a condition (keep one of the two)",
}


@pytest.mark.parametrize("lines", WRONG, ids=" ".join)
def test_wrong_metrics(lines: tuple[str, ...]) -> None:
    assert complaints(with_metric(*lines)) == [WRONG[lines]]


PROVIDERS = {
    "{}": "7: spec.metrics[0].provider: must name exactly one provider, not 0",
    "{webs: {}}": "7: spec.metrics[0].provider.webs: there is no such field (did you mean web?)",
    "{web: {url: http://a, uri: b}}": "7: spec.metrics[0].provider.web.uri: there is no such field (did you mean url?)",
    "{web: {url: http://a}, job: {spec: {template: {spec: {}}}}}": "7: spec.metrics[0].provider: "
    "must name exactly one provider, not 2",
}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_unknown_providers(provider: str) -> None:
    (said,) = complaints(HEAD + METRICS.replace("{web: {url: http://web-preview/errors}}", provider))
    assert said.startswith(PROVIDERS[provider])


SPECS = {
    "  args: []\n": "4: spec: has neither metrics nor templates (add metrics)",
    METRICS + "    - name: errors\n      provider: {web: {url: http://a}}\n": "8: spec.metrics[1].name: "
    "there are two metrics called errors (rename one of them)",
    METRICS + "  args: [{name: a}, {name: a}]\n": "8: spec.args[1].name: there are two args called a "
    "(rename one of them)",
    METRICS + "  args: [{name: a b}]\n": "8: spec.args[0].name: 'a b' is not allowed (use letters, digits, - and _)",
    METRICS + "  args: [{name: a, value: 5}]\n": '8: spec.args[0].value: expected text, found a number (quote it: "5")',
    METRICS + "  args: [{name: a, value: b, valueFrom: {podTemplateHashValue: Latest}}]\n": "8: spec.args[0]: "
    "has value and valueFrom (keep one of them)",
    METRICS + "  args: [{name: a, valueFrom: {}}]\n": "8: spec.args[0].valueFrom: must have exactly one of "
    "podTemplateHashValue, fieldRef and secretKeyRef (write podTemplateHashValue: Latest)",
    METRICS + "  args: [{name: a, valueFrom: {secretKeyRef: {name: A_b, key: x}}}]\n": "8: "
    "spec.args[0].valueFrom.secretKeyRef.name: 'A_b' is not allowed (use small letters, digits, - and .)",
    METRICS + "  dryRun: [{metricName: '['}]\n": "8: spec.dryRun[0].metricName: '[' is no regular expression "
    "(RE2's syntax) "
    '(write the name of a metric, or ".*" for all)',
    METRICS + "  measurementRetention: [{metricName: errors, limit: 0}]\n": "8: spec.measurementRetention[0].limit: "
    "0 is too small (write 1 or more)",
}


@pytest.mark.parametrize("spec", SPECS)
def test_wrong_specs(spec: str) -> None:
    assert complaints(HEAD + spec) == [SPECS[spec]]


def test_files_hold_any_number_of_templates_and_nothing_else() -> None:
    two = with_metric() + "---\n" + with_metric().replace("name: errors", "name: latency")
    assert set(library(two).items) == {"errors", "latency"}
    assert complaints("kind: ConfigMap\n")[0].startswith("1: apiVersion: is required")
    assert complaints(with_metric().replace("AnalysisTemplate", "MetricTemplate")) == [
        "2: kind: 'MetricTemplate' is not allowed (write AnalysisTemplate)"
    ]
    assert complaints("a: [") != []
    assert complaints("- a\n") != []
    assert complaints(Problem("analysis/0.yaml", "is a symbolic link")) == [" is a symbolic link"]


def test_a_name_may_be_there_only_once_and_then_nobody_knows_which_is_meant() -> None:
    found = library(with_metric(), with_metric())
    assert [str(problem) for problem in found.all_problems()] == [
        "analysis/1.yaml:3: metadata.name: there is an AnalysisTemplate errors in analysis/0.yaml already "
        "(rename one of the two)"
    ]
    assert found.items["errors"].spec is None


def test_a_broken_template_is_known_by_its_name() -> None:
    found = library(with_metric("count: 0"), with_metric().replace("name: errors", "name: latency"))
    assert found.items["errors"].spec is None
    assert found.items["errors"].problems
    assert found.items["latency"].problems == ()


ARGO = with_metric("successCondition: result[0] < 0.05").replace("gitops-bg.dev", "argoproj.io")
CLUSTER = ARGO.replace("kind: Ana", "kind: ClusterAna")


@pytest.mark.parametrize("text", [ARGO, CLUSTER, ARGO.replace("name: errors}", "name: errors, namespace: shop}")])
def test_templates_of_argo_rollouts_are_read_as_they_are(text: str) -> None:
    item = library(text).items["errors"]
    assert item.problems == ()
    assert item.namespace == ("shop" if "shop" in text else None)
    assert item.spec
    assert item.spec.metrics
    assert item.spec.metrics[0].success_condition == "result[0] < 0.05"


OF_ARGO = {
    CLUSTER.replace("argoproj.io", "gitops-bg.dev"): "1: apiVersion: 'gitops-bg.dev/v1alpha1' is not allowed "
    "(write argoproj.io/v1alpha1)",
    CLUSTER.replace("name: errors}", "name: errors, namespace: shop}"): "3: metadata.namespace: "
    "there is no such field (did you mean name?)",
    ARGO.replace("0] < 0.05", "-1] < 0.05"): "8: spec.metrics[0].successCondition: counts an index from the end, "
    "which CEL finds nothing at (write result[size(result) - 1])",
    CLUSTER.replace("result[0] <", "result.a / result.b <"): "8: spec.metrics[0].successCondition: divides: of whole "
    "numbers CEL drops the rest, so 3 / 4 is 0 (write double(…) around what is divided)",
    ARGO.replace("result[0] < 0.05", "result[0] < 0.05 and true"): "8: spec.metrics[0].successCondition: is no CEL: "
    "and is of expr-lang, the language of Argo Rollouts: write && (write a condition such as result < 0.05)",
}


@pytest.mark.parametrize("text", OF_ARGO, ids=OF_ARGO.values())
def test_what_argo_rollouts_means_otherwise_is_a_problem_with_its_remedy(text: str) -> None:
    assert complaints(text) == [OF_ARGO[text]]


def test_a_template_of_ours_says_what_cel_says() -> None:
    assert complaints(with_metric("successCondition: result.a / result.b < 5")) == []


def test_a_template_of_each_kind_may_not_have_the_same_name() -> None:
    (said,) = map(str, library(ARGO, CLUSTER).all_problems())
    assert "there is an AnalysisTemplate errors in analysis/0.yaml already" in said


OF_ARGO_ALONE = {
    "{wavefront: {address: a, query: b}}": "7: spec.metrics[0].provider.wavefront: is a provider that only Argo "
    "Rollouts has (ask the backend with provider.web, run a job, or write a plugin)",
    "{prometheus: {address: http://a, query: b, authentication: {sigv4: {region: a, roleArn: b}}}}": "7: "
    "spec.metrics[0].provider.prometheus.authentication.sigv4.roleArn: is not read: requests are signed with the "
    "agent's own AWS credentials (give the agent a role that may query (an IAM role of its ServiceAccount), and remove "
    "it)",
    "{web: {url: http://a, authentication: {basic: {username: a, password: b}, basicAuth: {username: a, "
    "password: b}}}}": "7: spec.metrics[0].provider.web.authentication: must have one of basic, bearer, oauth2 and "
    "sigv4 (remove the others)",
    "{web: {url: http://a, authentication: {basicAuth: {username: a, password: b}}}}": "",
}


@pytest.mark.parametrize("provider", OF_ARGO_ALONE)
def test_providers_of_argo_rollouts(provider: str) -> None:
    said = complaints(HEAD + METRICS.replace("{web: {url: http://web-preview/errors}}", provider))
    assert said == [OF_ARGO_ALONE[provider]] * bool(OF_ARGO_ALONE[provider])


CHANGES = {
    "nothing": (with_metric(), set()),
    "a comment": ("# why\n" + with_metric(), set()),
    "a metric": (with_metric("count: 1"), {"errors"}),
    "its name": (with_metric().replace("name: errors}", "name: latency}"), {"errors", "latency"}),
    "it breaks": (with_metric("count: 0"), {"errors"}),
    "it goes": ("", {"errors"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_only_templates_that_say_something_else_are_different(change: str) -> None:
    text, names = CHANGES[change]
    assert library(with_metric()).changed(library(text)) == names
    assert library(text).changed(library(with_metric())) == names
