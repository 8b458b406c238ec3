"""What the Job of a measurement looks like, and what its states mean: tables, without a cluster."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from gitops_bg.cluster.manifests.jobs import (
    LONGEST,
    JobState,
    job_manifest,
    job_state,
    phase_before_pods,
    phase_of_job,
)
from gitops_bg.core import names
from gitops_bg.core.errors import Refused
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisStage, MeasurementId, MeasurementRequest, Metric
from gitops_bg.core.model.version import AppKey, ConfigurationRef, Snapshot

APP = AppKey("shop", "web")


def made(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """The manifest for a Job with this container and these fields of its spec."""
    pod = {"containers": [{"name": "check", "image": "check:v1", **(container or {})}]}
    block = {"metadata": {"labels": {"team": "shop"}}, "spec": {"template": {"spec": pod}, **spec}}
    identity = MeasurementId("e1", 3, AnalysisStage.POST, 1, "smoke", 0)
    return job_manifest(APP, "uid", MeasurementRequest(identity, Metric("smoke", "job", json.dumps(block))))


def test_names_differ_where_anything_of_the_measurement_differs() -> None:
    one = MeasurementId("e1", 3, AnalysisStage.PRE, 1, "smoke", 0)
    others = [
        MeasurementId("e2", 3, AnalysisStage.PRE, 1, "smoke", 0),
        MeasurementId("e1", 4, AnalysisStage.PRE, 1, "smoke", 0),
        MeasurementId("e1", 3, AnalysisStage.POST, 1, "smoke", 0),
        MeasurementId("e1", 3, AnalysisStage.PRE, 2, "smoke", 0),
        MeasurementId("e1", 3, AnalysisStage.PRE, 1, "Smoke", 0),
        MeasurementId("e1", 3, AnalysisStage.PRE, 1, "smoke", 1),
    ]
    assert len({names.job_name(APP, each) for each in [one, *others]}) == 7
    assert names.job_name(APP, one) != names.job_name(AppKey("other", "web"), one)


@pytest.mark.parametrize("app", ["a", "a" * 253, "a.b"])
@pytest.mark.parametrize("metric", ["m", "m" * 200, "Latency (p99) – über", "…"])
def test_a_name_is_a_label_value_whatever_app_and_metric_are_called(app: str, metric: str) -> None:
    name = names.job_name(AppKey("shop", app), MeasurementId("e1", 3, AnalysisStage.PRE, 1, metric, 0))
    assert len(name) <= 63
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert name[0].isalnum()


def test_a_job_without_a_deadline_gets_one_and_another_keeps_its_own() -> None:
    assert made()["spec"]["activeDeadlineSeconds"] == LONGEST
    assert made(activeDeadlineSeconds=60)["spec"]["activeDeadlineSeconds"] == 60


def test_a_job_stays_until_it_is_counted() -> None:
    assert "ttlSecondsAfterFinished" not in made(ttlSecondsAfterFinished=0)["spec"]


def test_labels_of_the_author_are_kept() -> None:
    assert made()["metadata"]["labels"]["team"] == "shop"


def test_a_secret_arg_in_an_env_variable_becomes_a_reference() -> None:
    manifest = made({"env": [{"name": "TOKEN", "value": "{{secret:api/token}}"}, {"name": "PLAIN", "value": "x"}]})
    assert manifest["spec"]["template"]["spec"]["containers"][0]["env"] == [
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "api", "key": "token"}}},
        {"name": "PLAIN", "value": "x"},
    ]


@pytest.mark.parametrize(
    "container",
    [{"args": ["--token={{secret:api/token}}"]}, {"env": [{"name": "AUTH", "value": "Bearer {{secret:api/token}}"}]}],
)
def test_a_secret_arg_anywhere_else_is_refused_with_the_remedy(container: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="let the whole value of an env variable be the arg"):
        made(container)


@pytest.mark.parametrize(
    ("condition", "own_deadline", "trouble", "expected"),
    [
        ({}, True, "", AnalysisPhase.RUNNING),
        ({}, True, "ErrImagePull: no such tag", AnalysisPhase.INCONCLUSIVE),
        ({"type": "Complete", "status": "True"}, True, "", AnalysisPhase.SUCCESSFUL),
        ({"type": "Complete", "status": "True"}, True, "ErrImagePull: an older pod", AnalysisPhase.SUCCESSFUL),
        ({"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}, True, "", AnalysisPhase.FAILED),
        ({"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}, True, "", AnalysisPhase.FAILED),
        ({"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}, False, "", AnalysisPhase.ERROR),
        ({"type": "Failed", "status": "False"}, True, "", AnalysisPhase.RUNNING),
        ({"type": "Suspended", "status": "True"}, True, "", AnalysisPhase.RUNNING),
        ({"type": "FailureTarget", "status": "True"}, True, "", AnalysisPhase.RUNNING),
    ],
)
def test_a_state_of_a_job_means(
    condition: dict[str, str], own_deadline: bool, trouble: str, expected: AnalysisPhase
) -> None:
    manifest = made(**({"activeDeadlineSeconds": 60} if own_deadline else {}))
    server = {"uid": "1", "resourceVersion": "1", "creationTimestamp": datetime(2026, 1, 2, tzinfo=UTC).isoformat()}
    body = {
        **manifest,
        "metadata": manifest["metadata"] | server,
        "status": {"conditions": [condition] * bool(condition)},
    }
    phase, message = phase_of_job(job_state(body), trouble)
    assert phase is expected
    assert bool(message) == (expected is not AnalysisPhase.RUNNING)


# --- before the pods of a version (decision 114) ---

SETTINGS = ConfigurationRef("ConfigMap", "web-settings", "v1:77")
SNAPSHOT = Snapshot(
    "v1:3f9c0123456789",
    json.dumps({"spec": {"containers": [{"name": "proxy", "image": "envoy:1"}, {"name": "web", "image": "web:2"}]}}),
    (SETTINGS,),
)


def before_pods(*containers: dict[str, Any], attempt: int = 1) -> dict[str, Any]:
    """The manifest of a Job before the pods of a version."""
    block = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": list(containers)}}}}
    identity = MeasurementId("e1", 3, AnalysisStage.BEFORE_PODS, attempt, "web-expand", 4, 5, SNAPSHOT.digest)
    metric = Metric("web-expand", "job", json.dumps(block))
    return job_manifest(APP, "uid", MeasurementRequest(identity, metric, SNAPSHOT))


def images(job: dict[str, Any]) -> list[str]:
    return [each["image"] for each in job["spec"]["template"]["spec"]["containers"]]


def test_its_name_is_that_of_its_version_and_of_its_try() -> None:
    assert before_pods({"name": "a"})["metadata"]["name"] == "web-expand-3f9c012345"
    assert before_pods({"name": "a"}, attempt=2)["metadata"]["name"] == "web-expand-3f9c012345-2"


def test_its_image_is_the_targets_unless_it_names_another() -> None:
    assert images(before_pods({"name": "web"}, {"name": "migrate"}, {"name": "own", "image": "flyway:11"})) == [
        "web:2",
        "envoy:1",
        "flyway:11",
    ]


def test_its_configuration_is_the_copy_of_the_version() -> None:
    (container,) = before_pods({"name": "web", "envFrom": [{"configMapRef": {"name": "web-settings"}}]})["spec"][
        "template"
    ]["spec"]["containers"]
    assert container["envFrom"] == [{"configMapRef": {"name": names.configuration_name(APP, SETTINGS)}}]


def test_the_end_of_its_log_is_wanted_in_the_status_of_a_pod_that_fails() -> None:
    (container,) = before_pods({"name": "web"})["spec"]["template"]["spec"]["containers"]
    assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_its_pods_are_behind_no_service_of_the_app() -> None:
    labels = before_pods({"name": "web"})["spec"]["template"]["metadata"]["labels"]
    assert names.DIGEST not in labels


def test_a_long_name_is_cut_and_stays_its_own() -> None:
    one, other = (
        MeasurementId("", 1, AnalysisStage.BEFORE_PODS, 12, "m" * 62 + end, 0, 0, SNAPSHOT.digest) for end in "ab"
    )
    made = [names.job_name(APP, each) for each in (one, other)]
    assert len({*made}) == 2
    assert all(len(name) <= 63 and name.endswith("-3f9c012345-12") for name in made)


def job_in(**state: Any) -> JobState:
    meta = {"name": "web-expand-3f9c012345", "namespace": "shop", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return job_state({"metadata": {**meta, "uid": "u", "resourceVersion": "1"}, "status": state})


def ended(type_: str, reason: str = "") -> JobState:
    said = {"type": type_, "status": "True", "reason": reason, "message": "", "lastTransitionTime": ""}
    return job_in(conditions=[said])


@pytest.mark.parametrize(
    ("job", "trouble", "said", "phase", "message"),
    [
        (job_in(), "", "", AnalysisPhase.RUNNING, "runs"),
        (job_in(), "ErrImagePull: no", "", AnalysisPhase.RUNNING, "runs; ErrImagePull: no"),
        (job_in(), "", "retrying", AnalysisPhase.RUNNING, "runs; its log ends with: retrying"),
        (ended("Complete"), "", "", AnalysisPhase.SUCCESSFUL, "is complete"),
        (
            ended("Failed", "DeadlineExceeded"),
            "ErrImagePull: no",
            "",
            AnalysisPhase.FAILED,
            "failed: Deadline",
        ),
        (
            ended("Failed", "BackoffLimitExceeded"),
            "",
            "no such table",
            AnalysisPhase.FAILED,
            "failed: BackoffLimitExceeded; its log ends with: no such table",
        ),
    ],
)
def test_what_its_state_means(job: JobState, trouble: str, said: str, phase: AnalysisPhase, message: str) -> None:
    """Waiting for an image ends with its deadline, which counts as a failure: it is never broken off."""
    found, text = phase_before_pods(job, trouble, said)
    assert found is phase
    assert text.startswith(f"Job web-expand-3f9c012345 {message}")
