"""Autoscalers, PodDisruptionBudgets and untracked configuration of an app's folder: the result for each."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gitops_bg.core.model.auxiliary import Autoscaler, AuxiliaryObject
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.check import notes_of
from gitops_bg.spec.app.load import AppConfig, load_app
from gitops_bg.spec.yaml.reader import read
from tests.spec.texts import APP, TARGET, WEB, app_with, source_of

AIM = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}"


def hpa(*lines: str, name: str = "web", aim: str = AIM, version: str = "autoscaling/v2") -> str:
    more = "".join(f"  {line}\n" for line in (aim, *lines))
    return f"apiVersion: {version}\nkind: HorizontalPodAutoscaler\nmetadata: {{name: {name}}}\nspec:\n{more}"


def scaled_object(*lines: str, annotations: str = "{}", query: str = 'sum(rate(http{app="web"}[1m]))') -> str:
    return (
        "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n"
        f"metadata: {{name: web, annotations: {annotations}}}\n"
        "spec:\n  scaleTargetRef: {name: web}\n"
        + "".join(f"  {line}\n" for line in lines)
        + "  triggers:\n    - type: prometheus\n      name: load\n      metadata:\n"
        + f"        query: '{query}'\n        threshold: \"5\"\n"
    )


def budget(spec: str, version: str = "policy/v1") -> str:
    return f"apiVersion: {version}\nkind: PodDisruptionBudget\nmetadata: {{name: web}}\nspec: {spec}\n"


def config_map(name: str = "flags", annotations: str = "{}") -> str:
    head = f"metadata: {{name: {name}, annotations: {annotations}}}"
    return f"apiVersion: v1\nkind: ConfigMap\n{head}\ndata: {{level: info}}\n"


def load(app: str = APP, target: str = TARGET, **files: str | Problem) -> AppConfig:
    contents = {"app": app, "target": target, **files}
    encoded = {f"{name}.yaml": text.encode() if isinstance(text, str) else text for name, text in contents.items()}
    return load_app(WEB, encoded, source_of)


def complaints(config: AppConfig) -> list[str]:
    return [str(problem).removeprefix("apps/shop/web/") for problem in config.problems]


def the_copy(config: AppConfig) -> Any:
    """The manifest of the autoscaler's copy."""
    assert config.problems == ()
    assert config.auxiliary_objects.autoscaler is not None
    return config.auxiliary_objects.manifests[config.auxiliary_objects.autoscaler.copy]


def copy_named(kind: str, minimum: int, maximum: int, name: str = "web-primary") -> Autoscaler:
    return Autoscaler(AuxiliaryObject(kind, name), minimum, maximum)


REF = "autoscalerRef: {kind: HorizontalPodAutoscaler, name: web"
KEDA_REF = "autoscalerRef: {kind: ScaledObject, name: web"
PAUSED = "{autoscaling.keda.sh/paused-replicas: "
BOUNDS = {
    "as in Git": ((APP, hpa("minReplicas: 2", "maxReplicas: 9")), ("HorizontalPodAutoscaler", 2, 9)),
    "one pod at least, where an HPA does not say": ((APP, hpa("maxReplicas: 9")), ("HorizontalPodAutoscaler", 1, 9)),
    "primaryScalerReplicas": (
        (app_with(f"{REF}, primaryScalerReplicas: {{minReplicas: 3, maxReplicas: 5}}}}"), hpa("maxReplicas: 9")),
        ("HorizontalPodAutoscaler", 3, 5),
    ),
    "one of the two of primaryScalerReplicas": (
        (app_with(f"{REF}, primaryScalerReplicas: {{maxReplicas: 5}}}}"), hpa("minReplicas: 2", "maxReplicas: 9")),
        ("HorizontalPodAutoscaler", 2, 5),
    ),
    "KEDA's defaults": ((APP, scaled_object()), ("ScaledObject", 0, 100)),
    "KEDA's idleReplicaCount": (
        (APP, scaled_object("minReplicaCount: 2", "idleReplicaCount: 0")),
        ("ScaledObject", 0, 100),
    ),
    "paused: the pods of the pause": (
        (APP, scaled_object("minReplicaCount: 2", annotations=f'{PAUSED}"0"}}')),
        ("ScaledObject", 0, 0),
    ),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_of_the_live_version(name: str) -> None:
    (app, scaler), expected = BOUNDS[name]
    assert load(app, scaler=scaler).auxiliary_objects.autoscaler == copy_named(*expected)


def test_the_copy_is_what_git_says_under_another_name() -> None:
    behaviour = "behavior: {scaleDown: {stabilizationWindowSeconds: 60}}"
    metrics = "metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]"
    text = hpa("minReplicas: 2", "maxReplicas: 9", behaviour, metrics)
    made, written = the_copy(load(scaler=text)), yaml.safe_load(text)
    assert made == {**written, "metadata": {"name": "web-primary"}}


def test_the_copy_has_the_bounds_of_its_own() -> None:
    app = app_with(f"{REF}, primaryScalerReplicas: {{minReplicas: 3, maxReplicas: 5}}}}")
    made = the_copy(load(app, scaler=hpa("maxReplicas: 9")))
    assert (made["spec"]["minReplicas"], made["spec"]["maxReplicas"]) == (3, 5)


def test_a_long_name_is_cut_and_hashed() -> None:
    long = "w" * 60
    (auxiliary_object,) = load(scaler=hpa("maxReplicas: 9", name=long)).auxiliary_objects.manifests
    assert len(auxiliary_object.name) == 63
    assert auxiliary_object.name.startswith("w" * 50)


QUERIES = {
    "as it is": (APP, 'sum(rate(http{app="web"}[1m]))', 'sum(rate(http{app="web"}[1m]))'),
    "Flagger's Service of the canary is the one that carries live traffic": (
        APP.replace("activeService: web", "activeService: web-live"),
        'sum(rate(http{service="web-canary"}[1m]))',
        'sum(rate(http{service="web-live"}[1m]))',
    ),
    "not a name that only begins like it": (APP, 'up{pod=~"web-canary-.*"}', 'up{pod=~"web-canary-.*"}'),
    "primaryScalerQueries by the name of the trigger": (
        app_with(f"{KEDA_REF}, primaryScalerQueries: {{load: up}}}}"),
        'sum(rate(http{service="web-canary"}[1m]))',
        "up",
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_query_of_the_copy(name: str) -> None:
    app, query, expected = QUERIES[name]
    (trigger,) = the_copy(load(app, scaler=scaled_object(query=query)))["spec"]["triggers"]
    assert trigger["metadata"] == {"query": expected, "threshold": "5"}


def test_a_pause_reaches_the_copy_and_the_hpa_of_keda_has_a_name_of_its_own() -> None:
    named = "advanced: {horizontalPodAutoscalerConfig: {name: web-hpa}}"
    made = the_copy(load(scaler=scaled_object(named, annotations=f'{PAUSED}"3"}}')))
    assert made["metadata"]["annotations"] == {"autoscaling.keda.sh/paused-replicas": "3"}
    assert made["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["name"] == "web-hpa-primary"


WRONG_SCALERS = {
    "another target": (
        APP,
        hpa("maxReplicas: 9", aim="scaleTargetRef: {kind: Deployment, name: wbe}"),
        "scaler.yaml:5: spec.scaleTargetRef: names Deployment wbe, and the target of this folder is Deployment web "
        "(write kind: Deployment and name: web, or move the file elsewhere)",
    ),
    "no target": (
        APP,
        hpa("maxReplicas: 9", aim="metrics: []"),
        "scaler.yaml:4: spec.scaleTargetRef: is required (add scaleTargetRef)",
    ),
    "bounds that contradict each other": (
        APP,
        hpa("minReplicas: 5", "maxReplicas: 3"),
        "scaler.yaml:6: spec.minReplicas: 5 is more than maxReplicas (3) (lower it, or raise maxReplicas)",
    ),
    "bounds of the copy that contradict each other": (
        app_with(f"{REF}, primaryScalerReplicas: {{minReplicas: 12}}}}"),
        hpa("maxReplicas: 9"),
        "app.yaml:8: spec.autoscalerRef.primaryScalerReplicas: the copy would have at least 12 pods and at most 9 "
        "(lower minReplicas, or raise maxReplicas)",
    ),
    "one that is not there": (
        app_with("autoscalerRef: {kind: ScaledObject, name: wbe}"),
        scaled_object(),
        "app.yaml:8: spec.autoscalerRef.name: there is no ScaledObject wbe in the folder "
        "(add it to apps/shop/web, or name another)",
    ),
    "a version that there is not": (
        app_with(f"{REF}, apiVersion: autoscaling/v3}}"),
        hpa("maxReplicas: 9"),
        "app.yaml:8: spec.autoscalerRef.apiVersion: autoscaling/v3 is no version of HorizontalPodAutoscaler "
        "(write autoscaling/v2 or autoscaling/v1 or autoscaling/v2beta2)",
    ),
    "a query for no trigger": (
        app_with(f"{KEDA_REF}, primaryScalerQueries: {{laod: up}}}}"),
        scaled_object(),
        "app.yaml:8: spec.autoscalerRef.primaryScalerQueries.laod: ScaledObject web has no trigger laod with a query "
        "(its triggers: load)",
    ),
    "a pause at no number": (
        APP,
        scaled_object(annotations=f'{PAUSED}"none"}}'),
        'scaler.yaml:3: metadata.annotations["autoscaling.keda.sh/paused-replicas"]: none is not a number of pods '
        '(write a quoted whole number, such as "0")',
    ),
}


@pytest.mark.parametrize("name", WRONG_SCALERS)
def test_an_autoscaler_that_is_wrong(name: str) -> None:
    app, scaler, complaint = WRONG_SCALERS[name]
    config = load(app, scaler=scaler)
    assert complaints(config) == [complaint]
    assert (config.auxiliary_objects.autoscaler, config.auxiliary_objects.whole) == (None, False)


def test_two_autoscalers_are_an_error_of_the_second() -> None:
    config = load(first=hpa("maxReplicas: 9"), second=scaled_object())
    assert complaints(config) == [
        "second.yaml:3: metadata.name: the folder has another autoscaler, HorizontalPodAutoscaler web in first.yaml "
        "(keep one, or name one as spec.autoscalerRef in app.yaml)"
    ]
    assert config.auxiliary_objects.manifests == {}


def test_of_two_autoscalers_app_yaml_may_name_one() -> None:
    app = app_with("autoscalerRef: {kind: ScaledObject, name: web}")
    config = load(app, first=hpa("maxReplicas: 9"), second=scaled_object())
    assert the_copy(config)["kind"] == "ScaledObject"
    app_document, other = (read("first.yaml", text.encode()).documents[0] for text in (app, hpa("maxReplicas: 9")))
    assert (
        "first.yaml:3: metadata.name: HorizontalPodAutoscaler web is only checked: autoscalerRef in app.yaml names "
        "another (remove it)"
    ) in map(str, notes_of(config, app_document, [other]))


# --- budgets ---

BUDGETS = {
    "labels of the template": (budget("{selector: {matchLabels: {app: web}}, maxUnavailable: 1}"), []),
    "our label of the app": (budget("{selector: {matchLabels: {gitops-bg.dev/app: web}}}"), []),
    "an expression": (budget("{selector: {matchExpressions: [{key: app, operator: In, values: [web, api]}]}}"), []),
    "the color, which differs from version to version": (
        budget("{selector: {matchLabels: {app: web, gitops-bg.dev/color: blue}}}"),
        [],
    ),
    "all pods of the namespace": (budget("{selector: {}}"), []),
    "another app's pods": (
        budget("{selector: {matchLabels: {app: wbe}}}"),
        [
            "budget.yaml:4: spec.selector.matchLabels.app: selects no pod of this app: the target's template has "
            "app: web (select by labels of the target's template)"
        ],
    ),
    "a label that is not there": (
        budget("{selector: {matchExpressions: [{key: tier, operator: Exists}]}}"),
        [
            "budget.yaml:4: spec.selector.matchExpressions[0]: selects no pod of this app: the target's template has "
            "no tier (select by labels of the target's template)"
        ],
    ),
    "no selector": (
        budget("{minAvailable: 1}"),
        ["budget.yaml:4: spec.selector: selects no pods (write matchLabels with labels of the target's template)"],
    ),
    "two limits, of which Kubernetes takes one": (
        budget("{selector: {matchLabels: {app: web}}, minAvailable: 1, maxUnavailable: 1}"),
        ["budget.yaml:4: spec.maxUnavailable: is there beside minAvailable (keep one of the two)"],
    ),
    "an empty selector, which means nothing in v1beta1": (
        budget("{selector: {}}", "policy/v1beta1"),
        ["budget.yaml:4: spec.selector: selects no pods (write matchLabels with labels of the target's template)"],
    ),
}


@pytest.mark.parametrize("name", BUDGETS)
def test_budget(name: str) -> None:
    text, expected = BUDGETS[name]
    config = load(budget=text)
    assert complaints(config) == expected
    assert list(config.auxiliary_objects.manifests) == (
        [] if expected else [AuxiliaryObject("PodDisruptionBudget", "web")]
    )


def test_a_budget_may_select_by_what_pods_carry_while_they_are_live() -> None:
    app = app_with(blue_green="activeMetadata: {labels: {role: live}}")
    config = load(app, budget=budget("{selector: {matchLabels: {role: live}}, minAvailable: 2}"))
    assert config.problems == ()


# --- configuration ---

USED = TARGET + "          envFrom: [{configMapRef: {name: flags}}]\n"
CONFIGURATION = {
    "one that the template refers to is part of the version": (USED, "{}", False),
    "one that is marked not to be": (USED, '{gitops-bg.dev/config-tracking: "disabled"}', True),
    "one that is marked for Flagger": (USED, '{flagger.app/config-tracking: "disable"}', True),
    "one that no template refers to": (TARGET, "{}", True),
}


@pytest.mark.parametrize("name", CONFIGURATION)
def test_configuration_that_is_no_part_of_a_version(name: str) -> None:
    target, annotations, is_auxiliary_object = CONFIGURATION[name]
    config = load(target=target, flags=config_map(annotations=annotations))
    assert (AuxiliaryObject("ConfigMap", "flags") in config.auxiliary_objects.manifests) is is_auxiliary_object


_OFF = "annotations: {gitops-bg.dev/config-tracking: disabled}"
BROKEN_CONFIGURATION = {
    "no base64": (
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db, {_OFF}}}\ndata: {{pin: 'hunter2!'}}\n",
        "broken.yaml:4: data.pin: is not base64 (write the text under stringData)",
    ),
    "encrypted by SOPS": (
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db, {_OFF}}}\nsops: {{mac: x}}\n",
        "broken.yaml:4: sops: an object encrypted by SOPS cannot be used",
    ),
    "a misspelt annotation": (
        config_map(annotations="{gitops-bg.dev/config-tracking: disbled}"),
        "broken.yaml:3: metadata.annotations[\"gitops-bg.dev/config-tracking\"]: 'disbled' is not allowed "
        "(write disabled, or remove it)",
    ),
}


@pytest.mark.parametrize("name", BROKEN_CONFIGURATION)
def test_broken_configuration_that_is_no_part_of_a_version_is_an_error_as_well(name: str) -> None:
    text, complaint = BROKEN_CONFIGURATION[name]
    config = load(broken=text)
    assert [each[: len(complaint)] for each in complaints(config)] == [complaint]
    assert not config.auxiliary_objects.manifests
    assert not config.auxiliary_objects.whole  # What the cluster has of it stays.
    assert config.target is not None


def test_where_the_target_is_broken_nothing_becomes_an_auxiliary_object_that_may_be_part_of_it() -> None:
    marked = config_map("marked", '{gitops-bg.dev/config-tracking: "disabled"}')
    config = load(target="a: [1", flags=config_map(), marked=marked)
    assert list(config.auxiliary_objects.manifests) == [AuxiliaryObject("ConfigMap", "marked")]
    assert not config.auxiliary_objects.whole


# --- what is known of a folder that is broken ---


@pytest.mark.parametrize("broken", ["app", "target", "more"])
def test_nothing_has_left_a_folder_that_cannot_be_read_whole(broken: str) -> None:
    files = {"scaler": hpa("maxReplicas: 9"), broken: "a: [1"}
    config = load(**files)
    assert not config.auxiliary_objects.whole
    assert (config.auxiliary_objects.autoscaler is None) is (broken == "app"), "app.yaml may name another one"


def test_folders_without_auxiliary_objects_share_that_they_have_none() -> None:
    assert load().auxiliary_objects is load().auxiliary_objects
