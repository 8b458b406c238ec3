"""A Canary becomes an app that is tested and promoted as with Flagger; what it cannot do is said, with its place."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spec.importing.texts import CANARY, DEPLOYMENT, SERVICE, app, fields, imported, manifest, value_of

API = "flagger.app/v1beta1"


def canary(*lines: str, analysis: str = "", service: str = "") -> str:
    text = CANARY.replace("threshold: 2}", f"threshold: 2{analysis}}}").replace(
        "targetPort: http}", f"targetPort: http{service}}}"
    )
    return text + "".join(f"  {line}\n" for line in lines)


def metric(text: str) -> str:
    return canary(analysis=f", metrics: [{text}]")


def test_a_canary_becomes_an_app_with_its_deployment_and_the_service_that_flagger_makes() -> None:
    found = imported(DEPLOYMENT, CANARY)
    assert found.listed == ()
    assert app(found) == {
        "strategy": {
            "blueGreen": {"activeService": "web", "previewService": "web-canary", "autoPromotionEnabled": True}
        },
        "analysis": {"interval": "30s", "iterations": 5, "threshold": 2},
        "progressDeadlineAbort": True,
    }
    assert found.files["apps/shop/web/target.yaml"] == f"# From 0.yaml:1, Deployment web.\n{DEPLOYMENT}"
    assert value_of(found, "apps/shop/web/services.yaml") == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
    }


def test_an_existing_service_keeps_all_but_its_ports() -> None:
    theirs = SERVICE.replace("{name: web,", "{name: web, labels: {team: web},").replace("port: 80", "port: 8000")
    found = imported(DEPLOYMENT, CANARY, theirs)
    service = value_of(found, "apps/shop/web/services.yaml")
    assert service["metadata"]["labels"] == {"team": "web"}
    assert service["spec"] == {"ports": [{"name": "http", "port": 80, "targetPort": "http"}]}


WANTED = (
    ", headless: true, trafficDistribution: PreferClose, apex: {labels: {team: web}, annotations: {a: b}},"
    " canary: {labels: {role: new}}"
)
OF_THEIRS = {
    "nothing of it": ("", "", ["headless", "trafficDistribution", "apex.labels", "apex.annotations"]),
    "some of it": ("labels: {team: web, more: x}", "clusterIP: None", ["trafficDistribution", "apex.annotations"]),
    "other values": (
        "labels: {team: shop}, annotations: {a: b}",
        "trafficDistribution: PreferSameNode",
        ["headless", "trafficDistribution", "apex.labels"],
    ),
    "all of it": (
        "labels: {team: web}, annotations: {a: b}",
        "{clusterIP: None, trafficDistribution: PreferClose}",
        [],
    ),
}


@pytest.mark.parametrize("name", OF_THEIRS)
def test_what_a_canary_says_of_a_service_that_is_there_already_is_listed_where_it_has_it_not(name: str) -> None:
    metadata, spec, said = OF_THEIRS[name]
    theirs = SERVICE.replace("{name: web,", f"{{name: web, {metadata}," if metadata else "{name: web,")
    theirs += "".join(f"  {line}\n" for line in spec.strip("{}").split(", ") if line)
    found = imported(DEPLOYMENT, canary(service=WANTED), theirs)
    assert not found.problems
    assert sorted(each.field for each in found.listed) == sorted(f"spec.service.{each}" for each in said)
    assert "role: new" in found.files["apps/shop/web/services.yaml"]


def test_what_a_canary_says_of_its_preview_service_is_listed_too() -> None:
    theirs = SERVICE.replace("name: web,", "name: web-canary,")
    found = imported(DEPLOYMENT, canary(service=", headless: true, canary: {annotations: {a: b}}"), theirs)
    assert [str(each) for each in found.listed] == [
        "1.yaml:6: spec.service.headless: is not what the Service web-canary has (write clusterIP: None into its file)",
        "1.yaml:6: spec.service.canary.annotations: is not what the Service web-canary has "
        "(write annotations into its file)",
    ]


SERVICES: dict[str, Any] = {
    ", portName: grpc, appProtocol: kubernetes.io/h2c": {
        "ports": [{"name": "grpc", "port": 80, "targetPort": "http", "appProtocol": "kubernetes.io/h2c"}]
    },
    ", headless: true": {"clusterIP": "None", "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
    ", trafficDistribution: PreferClose": {
        "trafficDistribution": "PreferClose",
        "ports": [{"name": "http", "port": 80, "targetPort": "http"}],
    },
    ", portDiscovery: true": {
        "ports": [
            {"name": "http", "port": 80, "targetPort": "http"},
            {"name": "admin", "port": 9000, "targetPort": "admin"},
            {"name": "tcp-web-2", "port": 9001, "targetPort": 9001},
        ]
    },
}


@pytest.mark.parametrize("service", SERVICES)
def test_services_are_those_that_flagger_makes(service: str) -> None:
    more = "{name: http, containerPort: 8080}, {name: admin, containerPort: 9000}, {containerPort: 9001}"
    deployment = DEPLOYMENT.replace("{name: http, containerPort: 8080}", more)
    found = imported(deployment, canary(service=service))
    assert value_of(found, "apps/shop/web/services.yaml")["spec"] == SERVICES[service]


def test_a_preview_service_with_metadata_of_its_own_is_written() -> None:
    found = imported(
        DEPLOYMENT, canary(service=", name: shop-web, canary: {labels: {a: b}}, primary: {labels: {a: c}}")
    )
    assert found.files["apps/shop/web/services.yaml"].count("kind: Service") == 2
    assert "name: shop-web-canary\n" in found.files["apps/shop/web/services.yaml"]
    assert [each.field for each in found.listed] == ["spec.service.primary"]


def test_gateways_become_routes() -> None:
    refs = ", hosts: [shop.example.com, '*'], gatewayRefs: [{name: public, namespace: gateways, kind: Gateway}]"
    found = imported(DEPLOYMENT, canary("provider: gatewayapi:v1", service=refs))
    assert app(found)["strategy"]["blueGreen"]["routes"] == {
        "parentRefs": [{"name": "public", "namespace": "gateways"}],
        "hosts": ["shop.example.com"],
    }


HOOK = "{webhooks: [{name: more, url: 'http://more', type: confirm-traffic-increase}]}"
ANALYSES: dict[str, dict[str, Any]] = {
    "{}": {"interval": "60s"},
    "{interval: 1m, threshold: 3}": {"interval": "1m", "threshold": 3},
    "{iterations: 2, threshold: 10}": {"interval": "60s", "iterations": 2, "threshold": 2},
    "{stepWeight: 10, maxWeight: 50}": {"interval": "60s", "iterations": 5},
    "{stepWeight: 30}": {"interval": "60s", "iterations": 4},
    "{stepWeights: [1, 10, 80]}": {"interval": "60s", "iterations": 3},
    "{webhooks: [{name: load, url: 'http://load'}]}": {
        "interval": "60s",
        "webhooks": [{"name": "load", "url": "http://load"}],
    },
    HOOK: {"interval": "60s"},
}
LISTED = {
    "{iterations: 2, threshold: 10}": ["spec.analysis.threshold"],
    "{stepWeight: 10, maxWeight: 50}": ["spec.analysis.stepWeight", "spec.analysis.maxWeight"],
    "{stepWeight: 30}": ["spec.analysis.stepWeight"],
    "{stepWeights: [1, 10, 80]}": ["spec.analysis.stepWeights"],
    HOOK: ["spec.analysis.webhooks[0].type"],
}


@pytest.mark.parametrize("analysis", ANALYSES)
def test_the_analysis_keeps_its_words(analysis: str) -> None:
    found = imported(DEPLOYMENT, CANARY.replace("{interval: 30s, iterations: 5, threshold: 2}", analysis))
    assert app(found)["analysis"] == ANALYSES[analysis]
    assert [each.field for each in found.listed] == LISTED.get(analysis, [])


PROVIDER = manifest("AlertProvider", API, "type: slack\naddress: https://hooks.example.com/x\n", name="on-call")


def test_alerts_and_their_providers_are_unchanged() -> None:
    found = imported(
        DEPLOYMENT,
        canary(analysis=", alerts: [{name: on-call, severity: error, providerRef: {name: on-call}}]"),
        PROVIDER,
    )
    assert found.files["alerts/on-call.yaml"] == f"# From 2.yaml:1, AlertProvider on-call.\n{PROVIDER}"
    assert app(found)["analysis"]["alerts"] == [
        {"name": "on-call", "severity": "error", "providerRef": {"name": "on-call"}}
    ]


def test_alerts_without_their_provider_are_no_whole_import() -> None:
    found = imported(DEPLOYMENT, canary(analysis=", alerts: [{name: on-call, providerRef: {name: on-call}}]"))
    assert found.files == {}
    assert "there is no AlertProvider on-call" in found.problems[0].message


FIELDS: dict[str, dict[str, Any]] = {
    "progressDeadlineSeconds: 60": {"progressDeadlineSeconds": 60},
    "suspend: true": {"suspend": {"reason": "spec.suspend of the Canary web"}},
    "revertOnDeletion: false": {},
    "revertOnDeletion: true": {
        "deletionPolicy": "revertToTarget",
        "adopt": {"deployment": "web", "scaleDown": "progressively"},
    },
}


@pytest.mark.parametrize("line", FIELDS)
def test_fields_beside_the_analysis(line: str) -> None:
    plain, found = app(imported(DEPLOYMENT, CANARY)), imported(DEPLOYMENT, canary(line))
    assert {key: each for key, each in app(found).items() if plain.get(key) != each} == FIELDS[line]
    assert found.listed == ()


SCALER = manifest(
    "HorizontalPodAutoscaler",
    "autoscaling/v2",
    "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\nminReplicas: 2\nmaxReplicas: 4\n",
)
REF = "autoscalerRef: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, name: web}"


def test_the_autoscaler_comes_along() -> None:
    found = imported(DEPLOYMENT, canary(REF), SCALER)
    assert app(found)["autoscalerRef"]["name"] == "web"
    assert found.files["apps/shop/web/autoscaler.yaml"] == f"# From 2.yaml:1, HorizontalPodAutoscaler web.\n{SCALER}"


def test_what_flagger_made_in_the_cluster_goes_with_the_canary() -> None:
    primary = DEPLOYMENT.replace("name: web, namespace", "name: web-primary, namespace").replace(
        "app: web", "app: web-primary"
    )
    apex = SERVICE.replace("app: web", "app: web-primary")
    copies = [
        apex,
        SERVICE.replace("name: web,", "name: web-canary,"),
        apex.replace("name: web,", "name: web-primary,"),
    ]
    found = imported(DEPLOYMENT, CANARY, primary, *copies)
    assert [str(each) for each in found.apps] == ["shop/web"]
    assert [each.message for each in found.listed] == ["is what Flagger made of web, and goes with the Canary"] * 2
    assert found.files["apps/shop/web/services.yaml"].count("kind: Service") == 2


DAEMON_SET = DEPLOYMENT.replace("Deployment", "DaemonSet").replace("  replicas: 3\n", "")
ON_NODES = CANARY.replace("kind: Deployment", "kind: DaemonSet")


def test_a_canary_of_a_daemon_set_becomes_an_app_with_one_for_each_version() -> None:
    found = imported(DAEMON_SET, ON_NODES, DAEMON_SET.replace("name: web,", "name: web-primary,"))
    assert found.problems == ()
    assert found.files["apps/shop/web/target.yaml"] == f"# From 0.yaml:1, DaemonSet web.\n{DAEMON_SET}"
    assert [each.message for each in found.listed] == ["is what Flagger made of web, and goes with the Canary"]


OFF = "nodeSelector: {flagger.app/scale-to-zero: 'true'}"
OF_A_DAEMON_SET = {
    "off its nodes": (
        DAEMON_SET.replace("      containers:", f"      {OFF}\n      containers:"),
        ON_NODES,
        '0.yaml:9: spec.template.spec.nodeSelector["flagger.app/scale-to-zero"]: is on no node, as Flagger leaves it',
    ),
    "reverted on deletion": (
        DAEMON_SET,
        ON_NODES + "  revertOnDeletion: true\n",
        "1.yaml:8: spec.revertOnDeletion: gives live traffic back to a Deployment, and the target is a DaemonSet",
    ),
    "replaced in another way": (
        DAEMON_SET + "  updateStrategy: {type: OnDelete}\n",
        ON_NODES,
        "0.yaml:14: spec.updateStrategy: is of pods that are replaced node by node, and here a version comes up",
    ),
    "without a Canary": (DAEMON_SET, "", "0.yaml:2: kind: DaemonSet web is left out (apply it as before)"),
}


@pytest.mark.parametrize(("daemon_set", "canary", "said"), OF_A_DAEMON_SET.values(), ids=OF_A_DAEMON_SET)
def test_what_a_daemon_set_cannot_have_is_said(daemon_set: str, canary: str, said: str) -> None:
    found = imported(daemon_set, canary) if canary else imported(daemon_set)
    assert [said in str(each) for each in (*found.problems, *found.listed)].count(True) == 1, found


def scaled(query: str, more: str = "", name: str = "rate") -> str:
    """A ScaledObject of the target with one trigger."""
    trigger = f"{{type: prometheus, name: {name}, metadata: {{serverAddress: http://p, query: '{query}'}}}}"
    spec = f"scaleTargetRef: {{name: web}}\ntriggers:\n  - {trigger}\n"
    return manifest("ScaledObject", "keda.sh/v1alpha1", spec, more=more)


KEDA_REF = "autoscalerRef: {kind: ScaledObject, name: web%s}"
OWN_QUERY = ", primaryScalerQueries: {rate: %s}"
QUERIES: dict[str, tuple[str, str, list[str]]] = {
    "the target, whose labels the pods have": ('r{app="web"}', "", []),
    "the Service of the candidate, which becomes the active one": ('r{svc="web-canary"}', "", []),
    "the copy": (
        'r{app="web-primary"}',
        "",
        ["2.yaml:7: spec.triggers[0].metadata.query: asks for web-primary, and nothing is called so here"],
    ),
    "the copy, where another query takes its place": ('r{app="web-primary"}', OWN_QUERY % "'r'", []),
    "the copy, in its own query": (
        "r",
        OWN_QUERY % "'r{app=\"web-primary\"}'",
        ["1.yaml:8: spec.autoscalerRef.primaryScalerQueries.rate: asks for web-primary, and nothing is called so here"],
    ),
    "the candidate, in its own query, which is taken word for word": (
        "r",
        OWN_QUERY % "'r{app=\"web-canary\"}'",
        ["1.yaml:8: spec.autoscalerRef.primaryScalerQueries.rate: asks for web-canary, and nothing is called so here"],
    ),
    "something that is called longer": ('r{app="web-primary-2",b="my-web-primary"}', "", []),
}


@pytest.mark.parametrize("asks_for", QUERIES)
def test_a_query_of_an_autoscaler_that_names_a_copy_of_flagger_is_listed(asks_for: str) -> None:
    query, ref, said = QUERIES[asks_for]
    found = imported(DEPLOYMENT, canary(KEDA_REF % ref), scaled(query))
    assert found.problems == ()
    assert [str(each)[: len(start)] for each, start in zip(found.listed, said, strict=True)] == said
    assert query in value_of(found, "apps/shop/web/autoscaler.yaml")["spec"]["triggers"][0]["metadata"]["query"]


def test_the_pause_in_which_flagger_keeps_the_autoscaler_of_the_target_does_not_come_along() -> None:
    paused = ', annotations: {autoscaling.keda.sh/paused-replicas: "%s", owner: ada}'
    found = imported(DEPLOYMENT, canary(KEDA_REF % ""), scaled("r", paused % 0))
    assert fields(found.listed) == ['2.yaml:3 metadata.annotations["autoscaling.keda.sh/paused-replicas"]']
    assert value_of(found, "apps/shop/web/autoscaler.yaml")["metadata"]["annotations"] == {"owner": "ada"}
    meant = imported(DEPLOYMENT, canary(KEDA_REF % ""), scaled("r", paused % 3))
    assert meant.listed == ()
    assert "autoscaling.keda.sh/paused-replicas" in meant.files["apps/shop/web/autoscaler.yaml"]


HOSTS = {
    ", hosts: [a.example]": ["1.yaml:6 spec.service.hosts"],
    ', hosts: ["*"]': [],
    ", hosts: [a.example], gatewayRefs: [{name: public}]": [],
}


@pytest.mark.parametrize("service", HOSTS)
def test_hosts_of_what_is_no_gateway_are_listed(service: str) -> None:
    assert fields(imported(DEPLOYMENT, canary(service=service)).listed) == HOSTS[service]


OF_COPIES = {
    ", webhooks: [{name: a, url: http://t, metadata: {cmd: curl web-primary.shop}}]": "webhooks[0]",
    ", webhooks: [{name: a, url: 'http://web-primary/'}]": "webhooks[0]",
    ", webhooks: [{name: a, url: 'http://web-canary/'}]": "",
    ", metrics: [{name: a, query: 'up{service=\"web-primary\"}'}]": "metrics[0].query",
}


@pytest.mark.parametrize("analysis", OF_COPIES)
def test_a_hook_or_a_metric_that_names_a_copy_of_flagger_is_listed(analysis: str) -> None:
    found = imported(DEPLOYMENT, canary(analysis=analysis))
    place = OF_COPIES[analysis]
    assert [each.field for each in found.listed] == ([f"spec.analysis.{place}"] if place else [])


WRONG = {
    "kind: Service, name: web": "spec.targetRef.kind: is a Service, and only a Deployment or DaemonSet can be imported",
    "kind: DaemonSet, name: web": "spec.targetRef.name: there is no DaemonSet shop/web among the files",
    "kind: Deployment, name: wep": "spec.targetRef.name: there is no Deployment shop/wep among the files",
}


@pytest.mark.parametrize("ref", WRONG)
def test_a_canary_without_its_target_is_no_whole_import(ref: str) -> None:
    found = imported(DEPLOYMENT, CANARY.replace("kind: Deployment, name: web", ref))
    assert found.files == {}
    assert [WRONG[ref] in str(each) for each in found.problems] == [True]


def test_a_target_that_flagger_has_scaled_to_zero_is_no_whole_import() -> None:
    found = imported(DEPLOYMENT.replace("replicas: 3", "replicas: 0"), CANARY)
    assert [str(each)[:50] for each in found.problems] == ["0.yaml:5: spec.replicas: is 0, as Flagger leaves i"]


def test_a_canary_without_its_autoscaler_is_no_whole_import() -> None:
    (problem,) = imported(DEPLOYMENT, canary(REF)).problems
    assert str(problem) == (
        "1.yaml:8: spec.autoscalerRef: the files have no HorizontalPodAutoscaler web (add its file to the import)"
    )


# --- metrics ---


def template(provider: str, query: str = "up", name: str = "errors") -> str:
    return manifest("MetricTemplate", API, f"provider: {{{provider}}}\nquery: |\n  {query}\n", name=name)


def test_builtin_metrics_are_ready_templates_that_measure_the_pods_of_one_version() -> None:
    found = imported(
        DEPLOYMENT,
        canary(
            "metricsServer: http://prometheus.monitoring:9090",
            analysis=", metrics: [{name: request-success-rate, thresholdRange: {min: 99}, interval: 1m}, "
            "{name: request-duration, threshold: 500}]",
        ),
    )
    assert found.listed == ()
    assert app(found)["analysis"]["metrics"] == [
        {
            "name": "request-success-rate",
            "templateRef": {"name": "request-success-rate"},
            "thresholdRange": {"min": 99},
            "interval": "1m",
        },
        {"name": "request-duration", "templateRef": {"name": "request-duration"}, "thresholdRange": {"max": 500}},
    ]
    rate = value_of(found, "analysis/request-success-rate.yaml")["spec"]
    assert {"name": "hash", "valueFrom": {"podTemplateHashValue": "Latest"}} in rate["args"]
    prometheus = rate["metrics"][0]["provider"]["prometheus"]
    assert prometheus["address"] == "http://prometheus.monitoring:9090"
    assert prometheus["query"].count('kubernetes_pod_name=~".+-{{args.hash}}-.+"') == 2
    assert "1000 * histogram_quantile(0.99" in found.files["analysis/request-duration.yaml"]


def test_two_canaries_share_a_builtin_metric_unless_they_ask_different_servers() -> None:
    metrics = ", metrics: [{name: request-duration, thresholdRange: {max: 500}}]"
    other = [text.replace("name: web", "name: api") for text in (DEPLOYMENT, canary(analysis=metrics))]
    found = imported(DEPLOYMENT, canary(analysis=metrics), *other)
    assert [path for path in found.files if path.startswith("analysis/")] == ["analysis/request-duration.yaml"]
    found = imported(DEPLOYMENT, canary("metricsServer: http://other:9090", analysis=metrics), *other)
    assert [path for path in found.files if path.startswith("analysis/")] == [
        "analysis/request-duration.yaml",
        "analysis/api-request-duration.yaml",
    ]
    assert found.problems == ()


def test_a_builtin_metric_of_a_mesh_says_what_is_measured_instead() -> None:
    metrics = ", metrics: [{name: request-duration, thresholdRange: {max: 500}}]"
    listed = imported(DEPLOYMENT, canary("provider: istio", analysis=metrics)).listed
    assert [each.field for each in listed] == ["spec.analysis.metrics[0].name", "spec.provider"]


def test_a_metric_template_becomes_an_analysis_template_with_args() -> None:
    query = 'errors{ns="{{ namespace }}",code="{{ variables.code }}"}[{{interval}}]'
    found = imported(
        DEPLOYMENT,
        metric(
            "{name: few errors, templateRef: {name: errors, namespace: shop}, thresholdRange: {max: 1}, "
            "templateVariables: {code: 5..}}"
        ),
        template("type: prometheus, address: 'http://prometheus:9090', insecureSkipVerify: true", query),
    )
    assert app(found)["analysis"]["metrics"] == [
        {
            "name": "few errors",
            "templateRef": {"name": "errors"},
            "thresholdRange": {"max": 1},
            "templateVariables": {"code": "5.."},
        }
    ]
    assert (
        found.files["analysis/errors.yaml"]
        == """\
# From 2.yaml:1, MetricTemplate errors, by gitops-bg import.
apiVersion: gitops-bg.dev/v1alpha1
kind: AnalysisTemplate
metadata:
  name: errors
spec:
  args:
    - name: code
    - name: interval
    - name: namespace
  metrics:
    - name: errors
      provider:
        prometheus:
          address: http://prometheus:9090
          query: "errors{ns=\\"{{args.namespace}}\\",code=\\"{{args.code}}\\"}[{{args.interval}}]"
          insecure: true
"""
    )


PROVIDERS: dict[str, Any] = {
    "type: datadog, address: 'https://api.datadoghq.eu', secretRef: {name: keys}": {
        "datadog": {
            "address": "https://api.datadoghq.eu",
            "query": "up",
            "interval": "{{args.interval}}",
            "secretRef": {"name": "keys"},
        }
    },
    "type: graphite, address: 'http://graphite'": {"graphite": {"address": "http://graphite", "query": "up"}},
    "type: influxdb, address: 'http://influx', secretRef: {name: influx}": {
        "influxdb": {"address": "http://influx", "query": "up", "profile": "influx"}
    },
    "address: 'http://prometheus', headers: {X-Scope-OrgID: [shop]}": {
        "prometheus": {
            "address": "http://prometheus",
            "query": "up",
            "headers": [{"key": "X-Scope-OrgID", "value": "shop"}],
        }
    },
}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_providers_of_metric_templates(provider: str) -> None:
    found = imported(template(provider))
    spec = value_of(found, "analysis/errors.yaml")["spec"]
    assert spec["metrics"][0]["provider"] == PROVIDERS[provider]


SECRETS = {
    "data: {token: c2VjcmV0}": ({"bearer": {"token": "{{args.token}}"}}, ["token"]),
    "stringData: {username: ada, password: secret}": (
        {"basic": {"username": "{{args.username}}", "password": "{{args.password}}"}},
        ["password", "username"],
    ),
}


@pytest.mark.parametrize("content", SECRETS)
def test_the_keys_of_a_secret_say_how_to_authenticate_and_its_values_are_nowhere(content: str) -> None:
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: keys, namespace: shop}}\n{content}\n"
    found = imported(template("address: 'http://prometheus', secretRef: {name: keys}"), secret)
    authentication, args = SECRETS[content]
    spec = value_of(found, "analysis/errors.yaml")["spec"]
    assert spec["metrics"][0]["provider"]["prometheus"]["authentication"] == authentication
    assert [(each["name"], each["valueFrom"]["secretKeyRef"]) for each in spec["args"]] == [
        (name, {"name": "keys", "key": name}) for name in args
    ]
    said = "".join([*found.files.values(), *map(str, found.listed)])
    assert "c2VjcmV0" not in said
    assert "secret\n" not in said


NO_EQUAL = ["cloudwatch", "newrelic", "stackdriver", "dynatrace", "keptn", "splunk", "externalmetrics"]


@pytest.mark.parametrize("kind", NO_EQUAL)
def test_a_provider_without_an_equal_is_listed_and_so_is_the_metric(kind: str) -> None:
    metrics = "{name: errors, templateRef: {name: errors}, thresholdRange: {max: 1}}"
    found = imported(DEPLOYMENT, metric(metrics), template(f"type: {kind}, address: 'http://a'"))
    assert "metrics" not in app(found)["analysis"]
    assert app(found)["strategy"]["blueGreen"]["autoPromotionEnabled"] is False  # nothing goes live unmeasured
    assert fields(found.listed) == ["1.yaml:7 spec.analysis.metrics[0]", "2.yaml:5 spec.provider.type"]


METRICS = {
    "{name: latency}": "spec.analysis.metrics[0].name: latency is none of Flagger's builtin metrics",
    "{name: a, templateRef: {name: gone}}": "spec.analysis.metrics[0].templateRef: names MetricTemplate shop/gone",
    "{name: a, query: 'up{a=\"{{ ingress }}\"}'}": "spec.analysis.metrics[0].query: holds {{ingress}}",
}


@pytest.mark.parametrize("text", METRICS)
def test_a_metric_that_nothing_measures_is_no_whole_import(text: str) -> None:
    found = imported(DEPLOYMENT, metric(text))
    assert found.files == {}
    assert [METRICS[text] in str(each) for each in found.problems] == [True]


def test_a_query_in_the_canary_becomes_a_template_of_the_app() -> None:
    query = "{name: Slow requests, query: 'slow{ns=\"{{ namespace }}\"}', threshold: 5}"
    found = imported(DEPLOYMENT, metric(query))
    assert app(found)["analysis"]["metrics"] == [
        {"name": "Slow requests", "templateRef": {"name": "web-slow-requests"}, "thresholdRange": {"max": 5}}
    ]
    assert 'slow{ns=\\"{{args.namespace}}\\"}' in found.files["analysis/web-slow-requests.yaml"]


def test_a_query_that_asks_for_the_target_by_name_is_said() -> None:
    found = imported(template("address: 'http://prometheus'", 'up{deployment="{{ target }}"}'))
    assert [each.field for each in found.listed] == ["spec.query"]
    found = imported(template("address: 'http://prometheus'", 'up{pod=~"{{ target }}-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)"}'))
    assert found.listed == ()
    assert ".+-{{args.hash}}-.+" in found.files["analysis/errors.yaml"]


def test_the_port_of_a_route_is_the_one_of_the_canary_where_more_are_discovered() -> None:
    more = DEPLOYMENT.replace("containerPort: 8080}]", "containerPort: 8080}, {name: metrics, containerPort: 9090}]")
    route = "port: 80, targetPort: http, portDiscovery: true, gatewayRefs: [{name: public}]"
    found = imported(CANARY.replace("port: 80, targetPort: http", route), more)
    assert found.problems == ()
    routes = app(found)["strategy"]["blueGreen"]["routes"]
    assert routes == {"parentRefs": [{"name": "public"}], "port": 80}
