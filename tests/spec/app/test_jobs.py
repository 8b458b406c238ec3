"""``spec.jobs``: the Jobs that app.yaml names are read; each mistake is told with its place and what would be right."""

from __future__ import annotations

import pytest

from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.model.analysis import MeasurementPlan
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.load import AppConfig, load_app
from tests.spec.texts import SOUND_SERVICE, SOUND_TARGET, WEB, app_with, source_of

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: web-expand, namespace: shop, labels: {team: shop}}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: migrate, command: [./migrate, expand]}]
"""
ONE = app_with("jobs: {beforePods: [expand.yaml]}")
FROM_SETTINGS = "envFrom: [{configMapRef: {name: web-settings}}]"
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-settings}\ndata: {a: b}\n"


def load(app: str = ONE, **files: str | Problem) -> AppConfig:
    texts: dict[str, str | Problem] = {"app": app, "target": SOUND_TARGET, "service": SOUND_SERVICE, **files}
    return load_app(
        WEB,
        {f"{name}.yaml": text.encode() if isinstance(text, str) else text for name, text in texts.items()},
        source_of,
    )


def complaints(config: AppConfig) -> list[str]:
    return [str(problem).removeprefix("apps/shop/web/") for problem in config.problems]


def plan(config: AppConfig) -> MeasurementPlan:
    assert config.spec is not None
    assert config.spec.before_pods is not None
    return config.spec.before_pods


def test_a_job_is_a_measurement_that_no_error_ends() -> None:
    config = load(expand=JOB)
    assert complaints(config) == []
    (metric,) = plan(config).metrics
    assert (metric.name, metric.provider, metric.count, metric.failure_limit) == ("web-expand", "job", 1, 0)
    assert metric.consecutive_error_limit == -1
    assert read_json(metric.query)["metadata"] == {"labels": {"team": "shop"}}
    assert config.jobs == ("expand.yaml",)


def test_several_run_in_the_order_of_the_list() -> None:
    other = JOB.replace("web-expand", "web-seeds")
    config = load(app_with("jobs: {beforePods: [expand.yaml, seeds.yaml]}"), expand=JOB, seeds=other)
    assert complaints(config) == []
    assert [metric.name for metric in plan(config).metrics] == ["web-expand", "web-seeds"]


def test_an_app_without_jobs_has_no_plan() -> None:
    config = load(app_with())
    assert config.spec is not None
    assert (config.spec.before_pods, config.spec.after_settled) == (None, None)


def test_contracts_are_read_alike_and_no_job_is_both() -> None:
    contract = JOB.replace("web-expand", "web-contract")
    both = load(
        app_with("jobs: {beforePods: [expand.yaml], afterSettled: [contract.yaml]}"), expand=JOB, contract=contract
    )
    assert complaints(both) == []
    assert both.spec is not None
    assert both.spec.after_settled is not None
    assert [metric.name for metric in both.spec.after_settled.metrics] == ["web-contract"]
    assert [metric.name for metric in plan(both).metrics] == ["web-expand"]
    assert complaints(load(app_with("jobs: {beforePods: [expand.yaml], afterSettled: [expand.yaml]}"), expand=JOB)) == [
        "app.yaml:8: spec.jobs.afterSettled[0]: expand.yaml is named twice (name a file of its own for each Job)"
    ]
    broken = load(app_with("jobs: {afterSettled: [contract.yaml]}"))
    assert broken.spec is not None
    assert broken.spec.after_settled is not None
    assert broken.spec.after_settled.unknown


REFUSED = {
    "no such file": (
        {},
        "app.yaml:8: spec.jobs.beforePods[0]: expand.yaml is not in the folder (add it to apps/shop/web, with a Job)",
    ),
    "another suffix": (
        {"Expand": JOB},
        "app.yaml:8: spec.jobs.beforePods[0]: expand.yaml is not in the folder (rename Expand.yaml to expand.yaml)",
    ),
    "no Job": (
        {"expand": SETTINGS},
        "expand.yaml:2: kind: ConfigMap is no Job (write kind: Job, or name another file)",
    ),
    "another version of Job": (
        {"expand": JOB.replace("batch/v1", "batch/v2")},
        "expand.yaml:1: apiVersion: a Job is of batch/v1, found batch/v2 (write apiVersion: batch/v1)",
    ),
    "several documents": (
        {"expand": f"{JOB}---\n{JOB}"},
        "expand.yaml:11: 2 documents",
    ),
    "another namespace": (
        {"expand": JOB.replace("namespace: shop", "namespace: shoe")},
        "expand.yaml:3: metadata.namespace: shoe is not",
    ),
    "a selector": (
        {"expand": JOB.replace("backoffLimit: 0", "selector: {matchLabels: {a: b}}")},
        "expand.yaml:5: spec.selector: is Kubernetes' own to make",
    ),
    "a selector by hand": (
        {"expand": JOB.replace("backoffLimit: 0", "manualSelector: true")},
        "expand.yaml:5: spec.manualSelector: lets a Job take pods of another one (remove it)",
    ),
    "a time to live": (
        {"expand": JOB.replace("backoffLimit: 0", "ttlSecondsAfterFinished: 0")},
        "expand.yaml:5: spec.ttlSecondsAfterFinished: would delete the Job before somebody reads its log, and, should "
        "the agent's record be lost, run it again (remove it: the Job goes when its version is forgotten)",
    ),
    "suspended": (
        {"expand": JOB.replace("backoffLimit: 0", "suspend: true")},
        "expand.yaml:5: spec.suspend: keeps it from ever running, and so every version from its pods (remove it)",
    ),
    "no restartPolicy": (
        {"expand": JOB.replace("      restartPolicy: Never\n", "")},
        "expand.yaml:7: spec.template.spec.restartPolicy: is required in a Job (write restartPolicy: Never)",
    ),
    "a restartPolicy of other pods": (
        {"expand": JOB.replace("Never", "Always")},
        "expand.yaml:8: spec.template.spec.restartPolicy: Always is not possible in a Job (write restartPolicy: Never)",
    ),
    "no container": (
        {"expand": JOB.replace("[{name: migrate, command: [./migrate, expand]}]", "[]")},
        "expand.yaml:9: spec.template.spec.containers: must not be empty",
    ),
    "a name too long": (
        {"expand": JOB.replace("web-expand", "w" * 64)},
        "expand.yaml:3: metadata.name: ",
    ),
    "no YAML": ({"expand": "a: [1"}, "expand.yaml:"),
    "a file that Git cannot give": (
        {"expand": Problem("apps/shop/web/expand.yaml", "is a symbolic link")},
        "expand.yaml: is a symbolic link",
    ),
    "configuration that is no part of the version": (
        {
            "expand": JOB.replace(
                "[./migrate, expand]", "[./migrate], envFrom: [{configMapRef: {name: web-settings}}]"
            ),
            "settings": SETTINGS,
        },
        "expand.yaml:7: spec.template.spec: it refers to ConfigMap web-settings, which is no part of the version: the "
        "target does not refer to it",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_with_file_line_and_remedy(name: str) -> None:
    files, said = REFUSED[name]
    config = load(**files)
    assert complaints(config)[0].startswith(said)
    assert len(complaints(config)) == 1 + (name == "another suffix")
    assert "settings" in files or plan(config).unknown


def test_the_target_is_no_job() -> None:
    config = load(app_with("jobs: {beforePods: [target.yaml]}"))
    assert complaints(config) == [
        "app.yaml:8: spec.jobs.beforePods[0]: target.yaml is the target (name a file of its own for each Job)"
    ]


def test_no_job_is_named_twice_and_no_two_have_one_name() -> None:
    twice = load(app_with("jobs: {beforePods: [expand.yaml, expand.yaml]}"), expand=JOB)
    assert complaints(twice) == [
        "app.yaml:8: spec.jobs.beforePods[1]: expand.yaml is named twice (name a file of its own for each Job)"
    ]
    alike = load(app_with("jobs: {beforePods: [expand.yaml, other.yaml]}"), expand=JOB, other=JOB)
    assert complaints(alike) == [
        "other.yaml:3: metadata.name: the Job of expand.yaml is called web-expand, too (rename one of the two)"
    ]


def test_a_job_that_app_yaml_does_not_name_has_a_remedy() -> None:
    (said,) = complaints(load(app_with(), expand=JOB))
    assert said.startswith(
        "expand.yaml:2: kind: Job is not supported here (before the pods of each version it runs as "
    )


def test_configuration_of_the_version_is_its_own() -> None:
    target = SOUND_TARGET.replace("image:", f"{FROM_SETTINGS}\n          image:")
    job = JOB.replace("[./migrate, expand]", f"[./migrate], {FROM_SETTINGS}")
    assert complaints(load(target=target, settings=SETTINGS, expand=job)) == []
