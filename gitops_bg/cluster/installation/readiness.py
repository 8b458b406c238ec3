"""Whether an installed agent works, and what keeps it from that: from its Deployment, its pods and their logs.

Only reads, and waits for nothing itself.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import APPS, DEPLOYMENTS, PODS, RELEASE_GROUPS, Object
from gitops_bg.cluster.installation.manifests import AGENTS, NAME, SETTINGS_DIGEST
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.foreign_text import lines_of

_SEVERE = ("warning", "error", "critical")
_LOG_LINES = 50
_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")


@dataclass(frozen=True, slots=True)
class Missing:
    """One thing that keeps the agent from working, and the command that mends it; empty where none is known."""

    message: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.message} ({self.remedy})" if self.remedy else self.message


def kinds_served(client: Client) -> bool:
    """Whether the API server serves our kinds; right after they were applied it does not yet."""
    return client.serves(APPS) and client.serves(RELEASE_GROUPS)


def is_ready(client: Client, namespace: str) -> bool:
    """Whether every pod of the agent's newest Deployment is available, and none of an earlier one is left."""
    live = client.get(DEPLOYMENTS, namespace, NAME)
    return live is not None and _is_ready(live)


def is_gone(client: Client, namespace: str) -> bool:
    """Whether no pod of the agent is left."""
    return not client.list(PODS, namespace, AGENTS)


def missing(client: Client, namespace: str) -> tuple[Missing, ...]:
    """What keeps the agent from being ready, as far as it can be told now; empty for pods that are just starting."""
    live = client.get(DEPLOYMENTS, namespace, NAME)
    if live is None:
        return (Missing(f"there is no Deployment {namespace}/{NAME}", "gitops-bg install"),)
    pods = [each for each in client.list(PODS, namespace, AGENTS) if _is_newest(each, live)]
    found = [*_of_deployment(live), *(each for pod in pods for each in _of_pod(client, namespace, pod))]
    return tuple(dict.fromkeys(found))


def _is_ready(deployment: Object) -> bool:
    status, wanted = deployment.get("status") or {}, deployment["spec"].get("replicas", 1)
    counts = {status.get(each, 0) for each in ("replicas", "updatedReplicas", "availableReplicas")}
    return status.get("observedGeneration", 0) >= deployment["metadata"]["generation"] and counts == {wanted}


def _is_newest(pod: Object, deployment: Object) -> bool:
    """Whether a pod is one of the Deployment as it is now: what keeps an earlier one waiting is mended, or moot."""
    template = deployment["spec"]["template"]
    settings = [_annotations(each).get(SETTINGS_DIGEST) for each in (pod, template)]
    images = [[each["image"] for each in spec["containers"]] for spec in (pod["spec"], template["spec"])]
    return "deletionTimestamp" not in pod["metadata"] and settings[0] == settings[1] and images[0] == images[1]


def _annotations(body: Object) -> Mapping[str, str]:
    found: Mapping[str, str] = (body.get("metadata") or {}).get("annotations") or {}
    return found


def _of_deployment(deployment: Object) -> Iterator[Missing]:
    for each in (deployment.get("status") or {}).get("conditions") or []:
        if each["type"] == "ReplicaFailure" and each["status"] == "True":
            yield Missing(f"no pod is created: {each.get('message', '')}")


def _of_pod(client: Client, namespace: str, pod: Object) -> Iterator[Missing]:
    name, status = pod["metadata"]["name"], pod.get("status") or {}
    for each in status.get("conditions") or []:
        if each["type"] == "PodScheduled" and each["status"] == "False":
            yield Missing(f"pod {name} finds no node: {each.get('message', '')}")
    for each in status.get("containerStatuses") or []:
        waiting = (each.get("state") or {}).get("waiting") or {}
        if not each.get("ready"):
            yield from _of_container(client, namespace, name, each, waiting)


def _of_container(
    client: Client, namespace: str, pod: str, container: Mapping[str, Any], waiting: Mapping[str, str]
) -> Iterator[Missing]:
    reason, message = waiting.get("reason", ""), waiting.get("message", "")
    if reason in _IMAGE:
        yield Missing(f"the image {container['image']} cannot be pulled: {message or reason}", _build(container))
    elif reason == "CreateContainerConfigError":
        yield Missing(f"pod {pod} cannot start: {message}", "gitops-bg install --repo URL --cluster NAME")
    elif reason == "CrashLoopBackOff" or (container.get("lastState") or {}).get("terminated"):
        said = _log(client, namespace, pod, previous=True)
        remedy = f"kubectl -n {namespace} logs {pod} --previous"
        yield Missing(f"the agent ended: {said}" if said else "the agent ended again and again", remedy)
    elif not waiting and (said := _log(client, namespace, pod, previous=False)):
        yield Missing(f"the agent says: {said}", f"kubectl -n {namespace} logs {pod}")


def _build(container: Mapping[str, Any]) -> str:
    image = container["image"]
    return f"docker build -f deploy/Dockerfile -t {image} . && docker push {image}; or name another by --image"


def _log(client: Client, namespace: str, pod: str, *, previous: bool) -> str:
    """What the agent complained about last; empty where it did not, or where its log cannot be read."""
    try:
        return last_complaint(client.log(namespace, pod, _LOG_LINES, previous=previous))
    except GitopsBgError:
        return ""


def last_complaint(log: str) -> str:
    r"""The last line of a log that warns of something, or says why the process ends; empty where none does.

    >>> last_complaint('{"level": "warning", "msg": "Git is down"}\n{"level": "info", "msg": "waiting"}\n')
    'Git is down'
    >>> last_complaint("error: this cluster has no BlueGreenDeployments\n")
    'this cluster has no BlueGreenDeployments'
    """
    return next(filter(None, map(_complaint, reversed(lines_of(log)))), "")


def _complaint(line: str) -> str:
    if line.startswith("error: "):
        return line.removeprefix("error: ")
    try:
        entry = read_json(line.encode())
    except (ValueError, json.JSONDecodeError):
        return ""
    severe = isinstance(entry, dict) and entry.get("level") in _SEVERE
    return str(entry.get("msg", "")) if severe else ""
