"""The agent's own installation: its objects applied or removed, whether it works, and what keeps it from that, by its
Deployment, its pods and their logs. Waits for nothing itself.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import (
    APPS,
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    NAMESPACES,
    NETWORK_POLICIES,
    PODS,
    RELEASE_GROUPS,
    SECRETS,
    SERVICES,
    Kind,
    Object,
    name_of,
)
from gitops_bg.cluster.chart import (
    AGENTS,
    IMPERSONATED,
    NAME,
    SETTINGS_DIGEST,
    WATCHED,
    Installation,
    Watched,
    bindings_of,
)
from gitops_bg.cluster.execution.writer import entry_of
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, Refused
from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.foreign_text import lines_of
from gitops_bg.core.model.drift import Change, ChangeSetEntry

_RBAC = "rbac.authorization.k8s.io/v1"
CLUSTER_ROLE_BINDINGS = Kind(_RBAC, "ClusterRoleBinding", "clusterrolebindings")
RIGHTS = (
    CLUSTER_ROLE_BINDINGS,
    Kind(_RBAC, "ClusterRole", "clusterroles"),
    Kind(_RBAC, "RoleBinding", "rolebindings"),
    Kind(_RBAC, "Role", "roles"),
    Kind("v1", "ServiceAccount", "serviceaccounts"),
)
_KEPT = (NAMESPACES, DEFINITIONS, CONFIG_MAPS, SECRETS)
"""What outlives the agent: it holds the apps' records, and the user's settings."""
_KINDS = {kind.name: kind for kind in (*_KEPT, DEPLOYMENTS, SERVICES, NETWORK_POLICIES, *RIGHTS)}
_AGGREGATED = "rbac.authorization.k8s.io/aggregate-to-"
_HELM = "meta.helm.sh/release-name"


class InstalledOtherwise(Refused):
    """Another installation of the agent is in this cluster, and this one would take its rights away."""

    reason = "InstalledOtherwise"


def apply(client: Client, objects: Iterable[Object]) -> Iterator[ChangeSetEntry]:
    """Apply objects one by one, by server-side apply, and yield what happened to each. Raises as `Client`.

    A field that somebody else set is taken over, as by ``kubectl apply --server-side --force-conflicts``: the files
    say what an installation is.
    """
    for body in objects:
        kind = _KINDS[body["kind"]]
        live = client.get(kind, *name_of(body))
        yield entry_of(kind, body, _change(body, live, client.apply(kind, body, force=True)))


def _change(body: Object, before: Object | None, after: Object) -> Change:
    """Return what a write did to what ``body`` names: some servers give a definition a new version for the same
    content.
    """
    if before is None:
        return Change.CREATED
    same = all(before.get(key) == after.get(key) for key in body.keys() - {"metadata"})
    return Change.UNCHANGED if same else Change.CONFIGURED


def removable(objects: Iterable[Object]) -> tuple[Object, ...]:
    """Return what is removed with the agent, in that order: its pods, its Service and who reaches it, its rights.

    Without the agent every ReplicaSet and Service stays as it is, and serves. The kinds stay, too: with them all
    records would go. So do the roles by which people see them.
    """
    order = [kind.name for kind in (DEPLOYMENTS, SERVICES, NETWORK_POLICIES, *RIGHTS)]
    found = [each for each in objects if each["kind"] in order and not _is_for_people(each)]
    return tuple(sorted(found, key=lambda each: order.index(each["kind"])))


def definitions(objects: Iterable[Object]) -> tuple[Object, ...]:
    """Return the CustomResourceDefinitions among objects."""
    return tuple(each for each in objects if each["kind"] == DEFINITIONS.name)


def roles_for_people(objects: Iterable[Object]) -> tuple[Object, ...]:
    """Return the roles that add our kinds to `view` and `edit`; they go with the kinds."""
    return tuple(filter(_is_for_people, objects))


def _is_for_people(body: Object) -> bool:
    return any(label.startswith(_AGGREGATED) for label in body["metadata"].get("labels") or {})


def remove(client: Client, objects: Iterable[Object]) -> Iterator[ChangeSetEntry]:
    """Delete those of the objects that exist, one by one, and yield each. Raises as `Client`."""
    for body in objects:
        kind = _KINDS[body["kind"]]
        live = client.get(kind, *name_of(body))
        if live is not None:
            client.delete(kind, *name_of(body), uid=live["metadata"]["uid"])
            yield entry_of(kind, live, Change.DELETED)


def demand_own(client: Client, namespace: str) -> None:
    """Raise `InstalledOtherwise` where helm installed the agent, or where it runs in another namespace."""
    live = client.get(DEPLOYMENTS, namespace, NAME)
    release = (live or {"metadata": {}})["metadata"].get("annotations", {}).get(_HELM)
    if release:
        raise InstalledOtherwise(
            f"helm installed the agent, as release {release}: helm upgrade, or helm uninstall, {release} -n {namespace}"
        )
    for each in client.list(DEPLOYMENTS, "", AGENTS):
        other, name = name_of(each)
        if other != namespace and name == NAME:
            raise InstalledOtherwise(
                f"the agent is installed in namespace {other}, and one cluster has its rights once: "
                f"give --namespace {other}, or first gitops-bg uninstall --namespace {other}"
            )


def settings_of(client: Client, namespace: str) -> Mapping[str, str]:
    """Return the settings of an installed agent; empty where there are none."""
    found: Mapping[str, str] = (client.get(CONFIG_MAPS, namespace, NAME) or {}).get("data") or {}
    return found


def watched_now(client: Client, settings: Mapping[str, str]) -> Watched | None:
    """Return where an installed agent has its rights, by its settings and what is bound; None: nobody said yet."""
    everywhere = client.get(CLUSTER_ROLE_BINDINGS, "", NAME) is not None
    namespaces = tuple(settings.get(WATCHED, "").split())
    return Watched(namespaces, everywhere, settings.get(IMPERSONATED, "")) if everywhere or namespaces else None


def superseded(folder: Path, wanted: Installation, before: Watched | None) -> tuple[Object, ...]:
    """Return the bindings that an agent had before, and is to have no longer."""
    once = before or Watched()
    kept = {_key(each) for each in bindings_of(folder, wanted)}
    scopes = (replace(once, everywhere=True), replace(once, everywhere=False))
    found = (each for scope in scopes for each in bindings_of(folder, replace(wanted, watched=scope)))
    return tuple(each for each in found if _key(each) not in kept)


def _key(body: Object) -> tuple[str, str, str]:
    return str(body["kind"]), *name_of(body)


def apps_of(client: Client) -> list[str]:
    """Return the BlueGreenDeployments and ReleaseGroups of all namespaces, as NAMESPACE/NAME; none without those
    kinds.
    """
    found = (each for kind in (APPS, RELEASE_GROUPS) if client.serves(kind) for each in client.list(kind))
    return sorted("/".join(name_of(each)) for each in found)


_SEVERE = ("warning", "error", "critical")
_LOG_LINES = 50
_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")


@dataclass(frozen=True, slots=True)
class MissingPart:
    """One thing that keeps the agent from working, and the command that mends it; empty where none is known."""

    message: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.message} ({self.remedy})" if self.remedy else self.message


def kinds_served(client: Client) -> bool:
    """Return whether the API server serves our kinds; right after they were applied it does not yet."""
    return client.serves(APPS) and client.serves(RELEASE_GROUPS)


def is_ready(client: Client, namespace: str) -> bool:
    """Return whether every pod of the agent's newest Deployment is available, and none of an earlier one is left."""
    live = client.get(DEPLOYMENTS, namespace, NAME)
    return live is not None and _is_ready(live)


def is_gone(client: Client, namespace: str) -> bool:
    """Return whether no pod of the agent is left."""
    return not client.list(PODS, namespace, AGENTS)


def missing(client: Client, namespace: str) -> tuple[MissingPart, ...]:
    """Return what keeps the agent from being ready, as far as it can be told now; empty for pods that are just
    starting.
    """
    live = client.get(DEPLOYMENTS, namespace, NAME)
    if live is None:
        return (MissingPart(f"there is no Deployment {namespace}/{NAME}", "gitops-bg install"),)
    pods = [each for each in client.list(PODS, namespace, AGENTS) if _is_newest(each, live)]
    found = [*_of_deployment(live), *(each for pod in pods for each in _of_pod(client, namespace, pod))]
    return tuple(dict.fromkeys(found))


def _is_ready(deployment: Object) -> bool:
    status, wanted = deployment.get("status") or {}, deployment["spec"].get("replicas", 1)
    counts = {status.get(each, 0) for each in ("replicas", "updatedReplicas", "availableReplicas")}
    return status.get("observedGeneration", 0) >= deployment["metadata"]["generation"] and counts == {wanted}


def _is_newest(pod: Object, deployment: Object) -> bool:
    """Return whether a pod is one of the Deployment as it is now: what keeps an earlier one waiting is mended, or
    moot.
    """
    template = deployment["spec"]["template"]
    settings = [_annotations(each).get(SETTINGS_DIGEST) for each in (pod, template)]
    images = [[each["image"] for each in spec["containers"]] for spec in (pod["spec"], template["spec"])]
    return "deletionTimestamp" not in pod["metadata"] and settings[0] == settings[1] and images[0] == images[1]


def _annotations(body: Object) -> Mapping[str, str]:
    found: Mapping[str, str] = (body.get("metadata") or {}).get("annotations") or {}
    return found


def _of_deployment(deployment: Object) -> Iterator[MissingPart]:
    for each in (deployment.get("status") or {}).get("conditions") or []:
        if each["type"] == "ReplicaFailure" and each["status"] == "True":
            yield MissingPart(f"no pod is created: {each.get('message', '')}")


def _of_pod(client: Client, namespace: str, pod: Object) -> Iterator[MissingPart]:
    name, status = pod["metadata"]["name"], pod.get("status") or {}
    for each in status.get("conditions") or []:
        if each["type"] == "PodScheduled" and each["status"] == "False":
            yield MissingPart(f"pod {name} finds no node: {each.get('message', '')}")
    for each in status.get("containerStatuses") or []:
        waiting = (each.get("state") or {}).get("waiting") or {}
        if not each.get("ready"):
            yield from _of_container(client, namespace, name, each, waiting)


def _of_container(
    client: Client, namespace: str, pod: str, container: Mapping[str, Any], waiting: Mapping[str, str]
) -> Iterator[MissingPart]:
    reason, message = waiting.get("reason", ""), waiting.get("message", "")
    if reason in _IMAGE:
        yield MissingPart(f"the image {container['image']} cannot be pulled: {message or reason}", _build(container))
    elif reason == "CreateContainerConfigError":
        yield MissingPart(f"pod {pod} cannot start: {message}", "gitops-bg install --repo URL --cluster NAME")
    elif reason == "CrashLoopBackOff" or (container.get("lastState") or {}).get("terminated"):
        said = _log(client, namespace, pod, previous=True)
        remedy = f"kubectl -n {namespace} logs {pod} --previous"
        yield MissingPart(f"the agent ended: {said}" if said else "the agent ended again and again", remedy)
    elif not waiting and (said := _log(client, namespace, pod, previous=False)):
        yield MissingPart(f"the agent says: {said}", f"kubectl -n {namespace} logs {pod}")


def _build(container: Mapping[str, Any]) -> str:
    image = container["image"]
    return f"docker build -f deploy/Dockerfile -t {image} . && docker push {image}; or name another by --image"


def _log(client: Client, namespace: str, pod: str, *, previous: bool) -> str:
    """Return what the agent complained about last; empty where it did not, or where its log cannot be read."""
    try:
        return last_complaint(client.log(namespace, pod, _LOG_LINES, previous=previous))
    except GitopsBgError:
        return ""


def last_complaint(log: str) -> str:
    r"""Return the last line of a log that warns of something, or says why the process ends; empty where none does.

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
