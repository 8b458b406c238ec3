"""Why pods do not start, in the words of the scheduler or the kubelet, and what a person can do: for `explain`.

It reads pods and, if those do not say why, their Events; what we may not read is left out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from gitops_bg.cli.views.pods import Pod, pods_of
from gitops_bg.cluster.api.kinds import EVENTS
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.checks.pods.scheduling import remedy_for
from gitops_bg.core.errors import Refused
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.version import AppKey, ConfigurationRef, Snapshot
from gitops_bg.core.names import configuration_name

_MOUNTING = ("ContainerCreating", "PodInitializing")
"""The reason of a pod whose volumes are missing; only its Events name the cause."""
_ON_THE_WAY = (*_MOUNTING, "Pending", "Running")
_KINDS = {"configmap": "ConfigMap", "secret": "Secret"}
_NO_OBJECT = re.compile(r'(configmap|secret) "([^"]+)" not found')
_NO_KEY = re.compile(r"couldn't find key (\S+) in (ConfigMap|Secret) [^/]+/(\S+)")
_NO_FILE = re.compile(r"references non-existent (config|secret) key: (\S+)")
_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName")

Copies = Mapping[str, ConfigurationRef]
"""The version's ConfigMaps and Secrets, by the names of their copies, which the pods use."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What keeps pods from starting: the same for all of ``pods``, names. ``advice`` is empty where we have none."""

    reason: str
    message: str
    pods: tuple[str, ...]
    advice: str

    def __str__(self) -> str:
        number = f"{len(self.pods)} pod{'s' if len(self.pods) > 1 else ''}"
        said = f"{self.reason}: {self.message}" if self.message else self.reason
        return f"{number}: {said}"


@dataclass(frozen=True, slots=True)
class _About:
    """The app, its folder in Git, and the copies that its pods use."""

    app: AppKey
    folder: str
    copies: Copies


def troubles_of(cluster: Cluster, app: AppKey, snapshot: Snapshot, folder: str) -> tuple[Trouble, ...]:
    """Return what keeps the pods of a version from starting; a pod that is merely starting has no trouble.

    ``folder`` is the app's in Git, named in advice.
    """
    copies = {configuration_name(app, ref): ref for ref in snapshot.configuration}
    pods = [pod for pod in pods_of(cluster, app) if pod.digest == short(snapshot.digest) and not pod.is_ready]
    found = sorted((*_said(cluster, app, pod), pod.name) for pod in pods)
    about = _About(app, folder, copies)
    return tuple(_grouped(about, (each for each in found if each[1] or each[0] not in _ON_THE_WAY)))


def _said(cluster: Cluster, app: AppKey, pod: Pod) -> tuple[str, str]:
    if pod.message or pod.phase not in _MOUNTING:
        return pod.phase, pod.message
    return pod.phase, _unmounted(cluster, app, pod.name)


def _unmounted(cluster: Cluster, app: AppKey, pod: str) -> str:
    """Return the volume that cannot be mounted, from the newest Event about one."""
    about = f"involvedObject.kind=Pod,involvedObject.name={pod},reason=FailedMount"
    try:
        answer = cluster.client.read(f"list events of {pod}", EVENTS.path(app.namespace), {"fieldSelector": about})
    except Refused:
        return ""
    found = sorted(answer.get("items") or [], key=lambda each: each.get("lastTimestamp") or "")
    return str(found[-1].get("message", "")) if found else ""


def _grouped(about: _About, found: Iterable[tuple[str, str, str]]) -> Iterator[Trouble]:
    for (reason, message), pods in groupby(found, key=lambda each: each[:2]):
        names = tuple(name for _, _, name in pods)
        yield Trouble(reason, message, names, _advice(about, reason, message, names[0]))


def _advice(about: _About, reason: str, message: str, pod: str) -> str:
    app, copies = about.app, about.copies
    if match := _NO_OBJECT.search(message):
        return _create(about, _KINDS[match[1]], match[2])
    if match := _NO_KEY.search(message):
        name = copies[match[3]].name if match[3] in copies else match[3]
        return f"give the {match[2]} {name} the key {match[1]}, or correct the reference in the target"
    if match := _NO_FILE.search(message):
        kind = "Secret" if match[1] == "secret" else "ConfigMap"
        return f"give the {kind} of that volume the key {match[2]}, or correct the reference in the target"
    if reason.removeprefix("Init:") in _IMAGE:
        return f"if the image is wrong: gitops-bg set-image {app} CONTAINER=IMAGE"
    if reason.removeprefix("Init:") == "CrashLoopBackOff":
        return f"kubectl --namespace {app.namespace} logs {pod} --previous"
    return remedy_for(message)


def _create(about: _About, kind: str, name: str) -> str:
    """Return the two ways to create a ConfigMap or Secret: as a part of the version, or for other apps also."""
    if name in about.copies:
        return f"it is the copy of {about.copies[name]}, which the agent makes: does it run, and may it?"
    verb = "configmap" if kind == "ConfigMap" else "secret generic"
    file = f"{about.folder}/{kind.lower()}-{name}.yaml"
    return f"commit the {kind} {name} as {file}, or: kubectl --namespace {about.app.namespace} create {verb} {name} …"
