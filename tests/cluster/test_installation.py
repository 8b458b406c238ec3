"""The objects of an installation, and what keeps an agent from being ready: tables only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gitops_bg.cluster.chart import (
    Installation,
    Watched,
    bindings_of,
    image_of,
    objects_of,
    settings_digest,
    settings_watching,
)
from gitops_bg.cluster.installation import (
    _is_newest,
    _is_ready,
    _of_deployment,
    _of_pod,
    last_complaint,
    removable,
    roles_for_people,
    superseded,
)

DEPLOY = Path(__file__).parents[2] / "deploy"


def kinds(objects: tuple[dict[str, Any], ...]) -> list[str]:
    return [each["kind"] for each in objects]


def test_nothing_is_left_in_the_namespace_of_the_files() -> None:
    objects = objects_of(DEPLOY, Installation(namespace="elsewhere"))
    namespaces = {each["metadata"].get("namespace") for each in objects}
    subjects = {subject["namespace"] for each in objects for subject in each.get("subjects", ())}
    assert namespaces == {None, "elsewhere"}
    assert subjects == {"elsewhere"}
    assert [each["metadata"]["name"] for each in objects if each["kind"] == "Namespace"] == ["elsewhere"]


def bindings(watched: Watched) -> list[tuple[str, str]]:
    """Kind and namespace of each binding of the agent's rights where apps may live."""
    found = bindings_of(DEPLOY, Installation(namespace="elsewhere", watched=watched))
    assert all(each["roleRef"] == {**ROLE, "name": each["metadata"]["name"]} for each in found)
    assert all(each["subjects"] == [{**SUBJECT, "namespace": "elsewhere"}] for each in found)
    return [(each["kind"], each["metadata"].get("namespace", "")) for each in found]


ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole"}
SUBJECT = {"kind": "ServiceAccount", "name": "gitops-bg"}


def test_rights_are_bound_in_each_namespace_or_once_for_all_and_by_default_nowhere() -> None:
    assert bindings(Watched()) == []
    assert bindings(Watched(("shop", "pay"))) == [("RoleBinding", "shop"), ("RoleBinding", "pay")]
    assert bindings(Watched(("shop",), everywhere=True)) == [("ClusterRoleBinding", "")]
    plain = bindings_of(DEPLOY, Installation(watched=Watched(("shop",))))
    assert {each["metadata"]["name"] for each in plain} == {"gitops-bg"}
    by_default = [each for each in objects_of(DEPLOY, Installation()) if each["kind"].endswith("RoleBinding")]
    assert [each["metadata"]["name"] for each in by_default] == ["gitops-bg-lease"]


@pytest.mark.parametrize(
    ("watched", "where"),
    [
        (Watched(("shop", "pay"), impersonated="apps"), ["shop", "shop", "pay", "pay"]),
        (Watched(everywhere=True, impersonated="apps"), ["", ""]),
    ],
)
def test_an_agent_that_acts_as_somebody_else_is_allowed_to_and_told_whom(watched: Watched, where: list[str]) -> None:
    assert [namespace for _, namespace in bindings(watched)] == where
    found = bindings_of(DEPLOY, Installation(watched=watched))
    assert {each["metadata"]["name"] for each in found} == {"gitops-bg", "gitops-bg-impersonator"}
    assert settings_watching({}, watched)["GITOPS_BG_IMPERSONATE_SERVICE_ACCOUNT"] == "apps"


@pytest.mark.parametrize(
    ("before", "wanted", "gone"),
    [
        (None, Watched(("shop",)), [("ClusterRoleBinding", "")]),
        (Watched(("shop", "pay")), Watched(("pay",)), [("ClusterRoleBinding", ""), ("RoleBinding", "shop")]),
        (Watched(("shop",)), Watched(everywhere=True), [("RoleBinding", "shop")]),
        (Watched(everywhere=True), Watched(everywhere=True), []),
        (
            Watched(("shop",), impersonated="apps"),
            Watched(("shop",)),
            [("ClusterRoleBinding", ""), ("ClusterRoleBinding", ""), ("RoleBinding", "shop")],
        ),
    ],
)
def test_what_is_bound_no_longer_goes(before: Watched | None, wanted: Watched, gone: list[tuple[str, str]]) -> None:
    found = superseded(DEPLOY, Installation(watched=wanted), before)
    assert [(each["kind"], each["metadata"].get("namespace", "")) for each in found] == gone


def test_settings_and_credentials_come_before_the_deployment_that_reads_them() -> None:
    wanted = Installation(settings={"GITOPS_BG_REPO": "https://git.example/x"}, credentials={"token": b"s3cret\n"})
    objects = objects_of(DEPLOY, wanted)
    order = kinds(objects)
    assert order.index("Namespace") < order.index("ConfigMap") < order.index("Secret") < order.index("Deployment")
    assert objects[order.index("ConfigMap")]["data"] == {"GITOPS_BG_REPO": "https://git.example/x"}
    assert objects[order.index("Secret")]["data"] == {"token": "czNjcmV0Cg=="}
    assert "s3cret" not in repr(wanted)


def test_without_settings_nothing_is_made_that_only_the_user_knows() -> None:
    assert {"ConfigMap", "Secret"}.isdisjoint(kinds(objects_of(DEPLOY, Installation())))


def test_other_settings_restart_the_pods_and_the_same_ones_do_not() -> None:
    def pods(**settings: str) -> Any:
        digest = settings_digest(settings)
        objects = objects_of(DEPLOY, Installation(settings=settings, settings_digest=digest))
        return objects[kinds(objects).index("Deployment")]["spec"]["template"]

    assert pods(a="1", b="2") == pods(b="2", a="1")
    assert pods(a="1") != pods(a="2")


@pytest.mark.parametrize(("given", "found"), [("", "gitops-bg:0.1.0"), ("reg.example/bg:7", "reg.example/bg:7")])
def test_one_setting_names_the_image(given: str, found: str) -> None:
    assert image_of(objects_of(DEPLOY, Installation(image=given))) == found


def test_only_the_agent_and_its_rights_are_removed_and_the_agent_first() -> None:
    wanted = Installation(watched=Watched(everywhere=True), settings={"a": "b"}, credentials={"token": b"x"})
    found = kinds(removable(objects_of(DEPLOY, wanted)))
    assert found[:3] == ["Deployment", "Service", "NetworkPolicy"]
    assert {"Namespace", "CustomResourceDefinition", "ConfigMap", "Secret"}.isdisjoint(found)
    assert found.index("ClusterRoleBinding") < found.index("ClusterRole")


def test_the_roles_of_people_go_with_the_kinds_and_not_with_the_agent() -> None:
    objects = objects_of(DEPLOY, Installation())
    people = {each["metadata"]["name"] for each in roles_for_people(objects)}
    assert people == {"gitops-bg-view", "gitops-bg-edit"}
    assert people.isdisjoint(each["metadata"]["name"] for each in removable(objects))


@pytest.mark.parametrize(
    ("image", "settings", "more", "newest"),
    [
        ("bg:2", "new", {}, True),
        ("bg:1", "new", {}, False),
        ("bg:2", "old", {}, False),
        ("bg:2", "new", {"deletionTimestamp": "now"}, False),
    ],
)
def test_only_pods_of_the_newest_deployment_are_asked(
    image: str, settings: str, more: dict[str, str], newest: bool
) -> None:
    def body(image: str, settings: str) -> dict[str, Any]:
        annotations = {"gitops-bg.dev/settings": settings}
        return {"metadata": {"annotations": annotations}, "spec": {"containers": [{"image": image}]}}

    pod = body(image, settings)
    pod["metadata"] |= more
    assert _is_newest(pod, {"spec": {"template": body("bg:2", "new")}}) is newest


# --- what is missing -----------------------------------------------------------------------------------------


class Logs:
    """A client that has the logs of pods, and nothing else."""

    def __init__(self, now: str = "", before: str = "") -> None:
        self.by_previous = {False: now, True: before}

    def log(self, _namespace: str, _pod: str, _lines: int, *, previous: bool) -> str:
        return self.by_previous[previous]


def pod(**container: Any) -> dict[str, Any]:
    status = {"image": "gitops-bg:0.1.0", "ready": False, **container}
    return {"metadata": {"name": "gitops-bg-x"}, "status": {"containerStatuses": [status]}}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"waiting": {"reason": reason, "message": message}}


BUILD = (
    "docker build -f deploy/Dockerfile -t gitops-bg:0.1.0 . && docker push gitops-bg:0.1.0; or name another by --image"
)
LOG = "kubectl -n ns logs gitops-bg-x"
WARNING = '{"level": "warning", "msg": "Git is down"}\n'
MISSING: list[tuple[dict[str, Any], Logs, list[tuple[str, str]]]] = [
    (pod(ready=True, state={"running": {}}), Logs(), []),
    (pod(state=waiting("ContainerCreating")), Logs(), []),
    (pod(state={"running": {}}), Logs(), []),
    (pod(state={"running": {}}), Logs(now=WARNING), [("the agent says: Git is down", LOG)]),
    (
        pod(state=waiting("ErrImagePull", "not found")),
        Logs(),
        [("the image gitops-bg:0.1.0 cannot be pulled: not found", BUILD)],
    ),
    (
        pod(state=waiting("ImagePullBackOff")),
        Logs(),
        [("the image gitops-bg:0.1.0 cannot be pulled: ImagePullBackOff", BUILD)],
    ),
    (
        pod(state=waiting("CreateContainerConfigError", 'configmap "gitops-bg" not found')),
        Logs(),
        [
            (
                'pod gitops-bg-x cannot start: configmap "gitops-bg" not found',
                "gitops-bg install --repo URL --cluster NAME",
            )
        ],
    ),
    (
        pod(state=waiting("CrashLoopBackOff")),
        Logs(before="error: no rights\n"),
        [("the agent ended: no rights", f"{LOG} --previous")],
    ),
    (
        pod(state={"running": {}}, lastState={"terminated": {"exitCode": 1}}),
        Logs(),
        [("the agent ended again and again", f"{LOG} --previous")],
    ),
    (
        {
            "metadata": {"name": "gitops-bg-x"},
            "status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}]},
        },
        Logs(),
        [("pod gitops-bg-x finds no node: 0/3 nodes", "")],
    ),
]


@pytest.mark.parametrize(("pod", "logs", "missing"), MISSING)
def test_what_keeps_a_pod_from_being_ready(pod: Any, logs: Any, missing: list[tuple[str, str]]) -> None:
    assert [(each.message, each.remedy) for each in _of_pod(logs, "ns", pod)] == missing


def test_refused_pods_are_told_from_the_deployment() -> None:
    conditions = [
        {"type": "Progressing", "status": "False", "message": "not this"},
        {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"},
    ]
    (missing,) = _of_deployment({"status": {"conditions": conditions}})
    assert str(missing) == "no pod is created: exceeded quota"


DONE = {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}


@pytest.mark.parametrize(
    ("status", "ready"),
    [
        (DONE, True),
        ({}, False),
        (DONE | {"observedGeneration": 1}, False),
        (DONE | {"availableReplicas": 0}, False),
        (DONE | {"updatedReplicas": 0}, False),
        (DONE | {"replicas": 2}, False),
    ],
)
def test_a_deployment_is_ready_once_all_its_newest_pods_are_available(status: dict[str, int], ready: bool) -> None:
    assert _is_ready({"metadata": {"generation": 2}, "spec": {"replicas": 1}, "status": status}) is ready


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("", ""),
        ('{"level": "info", "msg": "started"}', ""),
        ('{"level": "error", "msg": "first"}\n{"level": "critical", "msg": "last"}\n', "last"),
        ("error: no kubeconfig\n", "no kubeconfig"),
        ("Traceback:\n[1]\n", ""),
    ],
)
def test_the_last_complaint_of_a_log(log: str, said: str) -> None:
    assert last_complaint(log) == said
