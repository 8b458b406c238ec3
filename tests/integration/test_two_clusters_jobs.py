"""Jobs: what the Job controller of a real cluster does with pods that end as their commands say, the sandbox does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support import manifests
from tests.support.cluster.clusters import SandboxCluster, TestCluster
from tests.support.cluster.paths import jobs, pods
from tests.support.cluster.rawapi import MERGE, Json
from tests.support.waiting import PATIENCE, eventually

Check = Callable[[list[Json]], bool]


ANNOUNCING = ("FailureTarget", "SuccessCriteriaMet")
"""What newer releases say while pods still end, and beside the end itself."""


def conditions(job: Json) -> dict[str, str]:
    """The conditions that are true, with their reasons, without those that only announce another one."""
    said = [each for each in job.get("status", {}).get("conditions") or [] if each["type"] not in ANNOUNCING]
    return {each["type"]: each.get("reason", "") for each in said if each["status"] == "True"}


def is_now(condition: str, **counts: int) -> Check:
    """The Job has this condition and reports these numbers; 0 may be left out of a status."""

    def check(found: list[Json]) -> bool:
        status = found[0].get("status", {}) if found else {}
        return condition in conditions(found[0]) and all(status.get(key, 0) == n for key, n in counts.items())

    return check


def is_active(number: int) -> Check:
    return lambda found: bool(found) and found[0].get("status", {}).get("active", 0) == number


def waits_because(reason: str) -> Check:
    def check(found: list[Json]) -> bool:
        states = [each["state"] for pod in found for each in pod.get("status", {}).get("containerStatuses") or []]
        return {state.get("waiting", {}).get("reason") for state in states} == {reason}

    return check


def test_a_job_whose_command_ends_well_completes(cluster: TestCluster, namespace: str) -> None:
    cluster.create(jobs(namespace), manifests.job(namespace))
    (job,) = cluster.watch_until(jobs(namespace), is_now("Complete", succeeded=1, failed=0, active=0))
    assert job["status"]["startTime"]
    assert job["status"]["completionTime"]
    (pod,) = cluster.list(pods(namespace))
    assert pod["status"]["phase"] == "Succeeded"
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_the_pod_of_a_job_is_known_by_its_labels_and_owner(cluster: TestCluster, namespace: str) -> None:
    cluster.create(jobs(namespace), manifests.job(namespace))
    (job,) = cluster.watch_until(jobs(namespace), is_now("Complete"))
    (pod,) = cluster.list(pods(namespace), labelSelector="job-name=check")
    assert pod["metadata"]["labels"]["controller-uid"] == job["metadata"]["uid"]
    assert pod["metadata"]["name"].startswith("check-")
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Job", job["metadata"]["uid"], True)


def test_a_job_gets_its_defaults_and_its_selector(cluster: TestCluster, namespace: str) -> None:
    own = manifests.job(namespace, command=("sleep", "infinity"))
    del own["spec"]["backoffLimit"]
    spec = cluster.create(jobs(namespace), own)["spec"]
    assert (spec["parallelism"], spec["completions"], spec["backoffLimit"]) == (1, 1, 6)
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("command", "exit_code"),
    [(("false",), 1), (("sh", "-c", "exit 3"), 3), (("sh", "-c", "sleep 1 && false"), 1), (("no-such-program",), 127)],
)
def test_a_job_whose_command_ends_badly_fails(
    cluster: TestCluster, namespace: str, command: tuple[str, ...], exit_code: int
) -> None:
    cluster.create(jobs(namespace), manifests.job(namespace, command=command))
    (job,) = cluster.watch_until(jobs(namespace), is_now("Failed", succeeded=0, failed=1, active=0))
    assert conditions(job) == {"Failed": "BackoffLimitExceeded"}
    (pod,) = cluster.list(pods(namespace))
    assert pod["status"]["phase"] == "Failed"
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == exit_code


def test_an_image_that_crashes_fails_its_job_where_no_command_is_given(cluster: TestCluster, namespace: str) -> None:
    own = manifests.job(namespace)
    own["spec"]["template"]["spec"]["containers"] = [{"name": "check", "image": "registry.example/check:crash"}]
    cluster.create(jobs(namespace), own)
    cluster.watch_until(jobs(namespace), is_now("Failed", failed=1))


@pytest.mark.parametrize(
    ("image", "reason"),
    [("registry.example/check:missing", "ImagePullBackOff"), ("registry.example/Check:v1", "InvalidImageName")],
)
def test_a_job_whose_image_cannot_be_had_stays_active(
    cluster: TestCluster, namespace: str, image: str, reason: str
) -> None:
    own = manifests.job(namespace)
    own["spec"]["template"]["spec"]["containers"][0]["image"] = image
    cluster.create(jobs(namespace), own)
    cluster.watch_until(pods(namespace), waits_because(reason))
    (job,) = cluster.watch_until(jobs(namespace), is_active(1))
    assert conditions(job) == {}


def test_a_failed_pod_is_followed_by_another_up_to_the_limit(cluster: TestCluster, namespace: str) -> None:
    cluster.create(jobs(namespace), manifests.job(namespace, command=("false",), backoffLimit=1))
    cluster.watch_until(jobs(namespace), is_now("Failed", failed=2))
    assert len(cluster.list(pods(namespace))) == 2


def test_a_container_is_restarted_in_its_pod_up_to_the_limit(cluster: TestCluster, namespace: str) -> None:
    """And the pod is deleted then. 1.20 may make another beside it: it may read the Job as it was before it failed."""
    own = manifests.job(namespace, command=("false",), backoffLimit=1)
    own["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    before = cluster.get(pods(namespace))["metadata"]["resourceVersion"]
    cluster.create(jobs(namespace), own)
    (job,) = cluster.watch_until(jobs(namespace), is_now("Failed"))
    assert conditions(job) == {"Failed": "BackoffLimitExceeded"}
    with cluster.watch(pods(namespace), seconds=PATIENCE, resourceVersion=before) as events:
        told = ((event["type"], event["object"]["metadata"]["uid"]) for event in events)
        first = next(uid for change, uid in told if change == "ADDED")
        assert ("DELETED", first) in told


def test_a_job_beyond_its_deadline_fails_and_loses_its_pods(cluster: TestCluster, namespace: str) -> None:
    own = manifests.job(namespace, command=("sleep", "infinity"), activeDeadlineSeconds=1)
    cluster.create(jobs(namespace), own)
    (job,) = cluster.watch_until(jobs(namespace), is_now("Failed", active=0))
    assert conditions(job) == {"Failed": "DeadlineExceeded"}
    eventually(lambda: not cluster.list(pods(namespace)), what="its pod is deleted")


def test_pods_run_beside_each_other_until_enough_have_succeeded(cluster: TestCluster, namespace: str) -> None:
    cluster.create(jobs(namespace), manifests.job(namespace, parallelism=2, completions=3))
    cluster.watch_until(jobs(namespace), is_now("Complete", succeeded=3, active=0))
    assert len(cluster.list(pods(namespace))) == 3


def test_a_pod_that_is_deleted_is_made_anew(cluster: TestCluster, namespace: str) -> None:
    """Within the limit: newer releases count it as failed."""
    cluster.create(jobs(namespace), manifests.job(namespace, command=("sleep", "infinity"), backoffLimit=1))
    cluster.watch_until(jobs(namespace), is_active(1))
    (first,) = cluster.list(pods(namespace))
    cluster.delete(f"{pods(namespace)}/{first['metadata']['name']}")

    def others() -> list[str]:
        living = [each for each in cluster.list(pods(namespace)) if "deletionTimestamp" not in each["metadata"]]
        return [each["metadata"]["name"] for each in living if each["metadata"]["uid"] != first["metadata"]["uid"]]

    eventually(others, what="another pod is there")


def test_a_job_goes_when_its_time_after_the_end_is_over(cluster: TestCluster, namespace: str) -> None:
    cluster.create(jobs(namespace), manifests.job(namespace, ttlSecondsAfterFinished=1))
    cluster.watch_until(jobs(namespace), is_now("Complete"))
    eventually(lambda: not cluster.list(jobs(namespace)), what="the Job is gone")
    eventually(lambda: not cluster.list(pods(namespace)), what="its pod is gone")


def test_a_deleted_job_takes_its_pod_along_where_that_is_asked_for(cluster: TestCluster, namespace: str) -> None:
    cluster.create(jobs(namespace), manifests.job(namespace, command=("sleep", "infinity")))
    cluster.watch_until(jobs(namespace), is_active(1))
    cluster.delete(f"{jobs(namespace)}/check", propagationPolicy="Background")
    eventually(lambda: not cluster.list(pods(namespace)), what="its pod is gone")


def test_a_deleted_job_leaves_its_pod_behind_where_nothing_is_said(cluster: TestCluster, namespace: str) -> None:
    cluster.create(jobs(namespace), manifests.job(namespace, command=("sleep", "infinity")))
    cluster.watch_until(jobs(namespace), is_active(1))
    cluster.delete(f"{jobs(namespace)}/check")
    eventually(lambda: not cluster.list(jobs(namespace)), what="the Job is gone")
    (pod,) = cluster.list(pods(namespace))
    assert not pod["metadata"].get("ownerReferences")
    assert "deletionTimestamp" not in pod["metadata"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"template": {"spec": {"restartPolicy": "Always"}}}, "spec.template.spec.restartPolicy"),
        ({"template": {"spec": {"containers": []}}}, "spec.template.spec.containers"),
        ({"backoffLimit": -1}, "spec.backoffLimit"),
        ({"activeDeadlineSeconds": -1}, "spec.activeDeadlineSeconds"),
        ({"parallelism": -1}, "spec.parallelism"),
    ],
)
def test_an_impossible_job_is_a_422_that_names_the_field(
    cluster: TestCluster, namespace: str, change: Json, field: str
) -> None:
    own = manifests.job(namespace)
    if "template" in change:
        own["spec"]["template"]["spec"] |= change["template"]["spec"]
    else:
        own["spec"] |= change
    status, body = cluster.request("POST", jobs(namespace), own)
    assert (status, body["reason"]) == (422, "Invalid")
    assert field in {cause["field"] for cause in body["details"]["causes"]}


def test_a_job_with_a_number_as_text_is_a_400(cluster: TestCluster, namespace: str) -> None:
    assert cluster.request("POST", jobs(namespace), manifests.job(namespace, backoffLimit="3"))[0] == 400


def test_the_template_of_a_job_never_changes(cluster: TestCluster, namespace: str) -> None:
    cluster.create(jobs(namespace), manifests.job(namespace, command=("sleep", "infinity")))
    other = {"spec": {"template": {"spec": {"activeDeadlineSeconds": 9}}}}
    status, body = cluster.request("PATCH", f"{jobs(namespace)}/check", other, content_type=MERGE)
    assert (status, body["details"]["causes"][0]["field"]) == (422, "spec.template")


def test_a_job_of_that_name_is_made_once(cluster: TestCluster, namespace: str) -> None:
    cluster.create(jobs(namespace), manifests.job(namespace))
    status, body = cluster.request("POST", jobs(namespace), manifests.job(namespace))
    assert (status, body["reason"]) == (409, "AlreadyExists")


def test_a_job_whose_name_is_no_label_value_is_a_422(cluster: TestCluster, namespace: str) -> None:
    assert cluster.request("POST", jobs(namespace), manifests.job(namespace, name="c" * 64))[0] == 422


def test_a_suspended_job_has_no_pods_until_it_is_resumed(sandbox_cluster: SandboxCluster) -> None:
    """On the sandbox only: 1.20 does not know the field (alpha in 1.21)."""
    cluster, namespace = sandbox_cluster, sandbox_cluster.namespace()
    cluster.create(jobs(namespace), manifests.job(namespace, command=("sleep", "infinity"), suspend=True))
    (job,) = cluster.watch_until(jobs(namespace), is_now("Suspended"))
    assert "startTime" not in job["status"]
    assert cluster.list(pods(namespace)) == []
    cluster.patch(f"{jobs(namespace)}/check", {"spec": {"suspend": False}})
    (job,) = cluster.watch_until(jobs(namespace), is_active(1))
    assert conditions(job) == {}
    cluster.patch(f"{jobs(namespace)}/check", {"spec": {"suspend": True}})
    cluster.watch_until(jobs(namespace), is_now("Suspended", active=0))
    eventually(lambda: not cluster.list(pods(namespace)), what="its pod is deleted")
    cluster.delete(f"/api/v1/namespaces/{namespace}")


def test_kubectl_creates_waits_for_and_lists_a_job(cluster: TestCluster, namespace: str) -> None:
    where = ("-n", namespace)
    made = cluster.kubectl("create", "job", "check", "--image=registry.example/check:v1", *where, "--", "true")
    assert made.returncode == 0, made.stderr
    waited = cluster.kubectl("wait", "job/check", "--for=condition=Complete", "--timeout=20s", *where)
    assert waited.returncode == 0, waited.stderr
    listed = cluster.kubectl("get", "jobs", *where)
    assert listed.stdout.splitlines()[1].startswith("check ")
    assert "1/1" in listed.stdout
