"""Rules about a target's pods as a whole: how many there are, their volumes and labels, what two versions cannot share.
For `check` only.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.validation import nearest
from gitops_bg.spec.lint.app_folder import AppFolder, error, name_of, note_rule
from gitops_bg.spec.manifests.autoscaling import AUTOSCALERS
from gitops_bg.spec.manifests.target import APPS_KINDS, pod_paths
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.scalars import LARGEST_MODE, as_map, maps, meant_in_octal, texts

# --- the number of pods: replicas, autoscalers, the old version ---


def _replicas(folder: AppFolder) -> Iterator[Problem]:
    scaler = next(folder.of_kind(*AUTOSCALERS), None)
    spec = as_map(folder.target.value.get("spec")) if folder.target else {}
    if folder.target and scaler and spec.get("replicas") is not None:
        message = f"counts for the first version only: {scaler.value['kind']} {name_of(scaler)} sizes the pods"
        yield folder.target.problem(("spec", "replicas"), message, "remove it; minReplicas is what you mean")


def _no_pods(folder: AppFolder) -> Iterator[Problem]:
    scaled = next(folder.of_kind(*AUTOSCALERS), None)
    spec = as_map(folder.target.value.get("spec")) if folder.target else {}
    if folder.target and not scaled and type(spec.get("replicas")) is int and spec["replicas"] == 0:
        message = (
            "takes every pod away from the live version as soon as it is in main: the size is no part of a "
            "version, and waits for no promotion"
        )
        remedy = "write how many pods are to serve; to stop promotions alone, write spec.suspend in app.yaml"
        yield folder.target.problem(("spec", "replicas"), message, remedy)


def _nothing_warm(folder: AppFolder) -> Iterator[Problem]:
    if folder.blue_green.get("scaleDownDelaySeconds") == 0:
        message = "the old version loses its pods without a delay after the switch: going back starts them anew"
        path = ("spec", "strategy", "blueGreen", "scaleDownDelaySeconds")
        yield folder.app.problem(path, message, "keep it warm for some minutes: the default is 600")


SCALING_RULES = (
    note_rule("replicas", "replicas beside an autoscaler.", _replicas),
    note_rule("no-pods", "A target that asks for no pods, which the live version loses at once.", _no_pods),
    note_rule("nothing-warm", "The old version does not stay warm for the way back.", _nothing_warm),
)


# --- volumes, labels, what two versions cannot share ---

_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_KEY = re.compile(rf"(?:[a-z0-9](?:[-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_NAME}")
_VALUE = re.compile(f"(?:{_NAME})?")
_MOUNTS = ("volumeMounts", "volumeDevices")
_IGNORED = {
    "strategy": "two versions run side by side, as spec.strategy of app.yaml says",
    "updateStrategy": "two versions run side by side, as spec.strategy of app.yaml says",
    "paused": "write spec.suspend in app.yaml",
    "revisionHistoryLimit": "write it in spec of app.yaml",
    "progressDeadlineSeconds": "write it in spec of app.yaml",
}
"""The fields of a workload that its own controller would read, which never sees it; and what counts instead."""


def _missing_volume(folder: AppFolder) -> Iterator[Problem]:
    known = _volumes(folder)
    for each in folder.containers():
        for field in _MOUNTS:
            for place, mount in maps(each.body.get(field)):
                name = mount.get("name")
                if isinstance(name, str) and name not in known:
                    guess = nearest(name, known)
                    remedy = f"did you mean {guess}?" if guess else "add it to volumes"
                    yield each.problem((field, place, "name"), f"the pod has no volume {name}", remedy)


def _volume_twice(folder: AppFolder) -> Iterator[Problem]:
    seen: set[str] = set()
    for place, volume in maps(folder.pod.get("volumes")):
        name = volume.get("name")
        if folder.target and isinstance(name, str) and name in seen:
            path = (*folder.pod_path, "volumes", place, "name")
            yield folder.target.problem(path, f"two volumes are called {name}", "rename one")
        seen.add(str(name))


def _volumes(folder: AppFolder) -> list[str]:
    return [str(volume.get("name")) for _, volume in maps(folder.pod.get("volumes"))]


def _modes(folder: AppFolder) -> Iterator[tuple[Path, int]]:
    """The modes of mounted files, with their places in the target."""
    for place, volume in maps(folder.pod.get("volumes")):
        at: Path = (*folder.pod_path, "volumes", place)
        for kind, source in volume.items():
            yield from _modes_in((*at, kind), as_map(source))
            for number, part in maps(as_map(source).get("sources")):
                for inner, body in part.items():
                    yield from _modes_in((*at, kind, "sources", number, inner), as_map(body))


def _modes_in(at: Path, source: Mapping[str, Any]) -> Iterator[tuple[Path, int]]:
    if type(source.get("defaultMode")) is int:
        yield (*at, "defaultMode"), source["defaultMode"]
    for number, item in maps(source.get("items")):
        if type(item.get("mode")) is int:
            yield (*at, "items", number, "mode"), item["mode"]


def _file_mode(folder: AppFolder) -> Iterator[Problem]:
    for path, mode in _modes(folder):
        if folder.target and not 0 <= mode <= LARGEST_MODE:
            meant = meant_in_octal(mode)
            remedy = f"write {meant}, which is 0{meant:o} in octal" if meant else "write at most 511, which is 0777"
            yield folder.target.problem(path, f"{mode} is no mode: a decimal number of at most 511 (0777)", remedy)


def _shared_claim(folder: AppFolder) -> Iterator[Problem]:
    for place, volume in maps(folder.pod.get("volumes")):
        claim = as_map(volume.get("persistentVolumeClaim"))
        if folder.target and claim and claim.get("readOnly") is not True:
            message = f"both versions use the claim {claim.get('claimName')} at once while one replaces the other"
            remedy = "make sure that it is ReadWriteMany and that two versions may write to it, or say readOnly: true"
            yield folder.target.problem((*folder.pod_path, "volumes", place, "persistentVolumeClaim"), message, remedy)


_HOST_NETWORK_REMEDY = "remove it, Services lead to the pods; or have a node for each pod of both versions"


def _host_network(folder: AppFolder) -> Iterator[Problem]:
    if folder.target and folder.pod.get("hostNetwork") is True and not folder.is_daemon_set:
        message = "pods take the ports of their node, where the old version may have them still"
        yield folder.target.problem((*folder.pod_path, "hostNetwork"), message, _HOST_NETWORK_REMEDY)


def _labels(folder: AppFolder) -> Iterator[Problem]:
    if folder.target is None:
        return
    metadata = as_map(folder.template.get("metadata"))
    path = pod_paths(folder.target.value).metadata
    for key, value in texts(metadata.get("labels")):
        if not _VALUE.fullmatch(value):
            message = f"{value!r} is no value of a label"
            remedy = "at most 63 letters, digits, -, _ and ., or write an annotation"
            yield folder.target.problem((*path, "labels", key), message, remedy)
    for field in ("labels", "annotations"):
        for key, _ in texts(metadata.get(field)):
            if not _KEY.fullmatch(key if field == "labels" else key.partition("/")[0].lower() + key[key.find("/") :]):
                remedy = "at most 63 letters, digits, -, _ and ., after a DNS name and / if you like"
                message = f"is no name of {'a label' if field == 'labels' else 'an annotation'}"
                yield folder.target.problem((*path, field, key), message, remedy, at_key=True)


def _ignored_field(folder: AppFolder) -> Iterator[Problem]:
    if folder.target is None or folder.target.value.get("kind") not in (*APPS_KINDS, "Rollout"):
        return
    for field in as_map(folder.target.value.get("spec")):
        if field in _IGNORED:
            yield folder.target.problem(("spec", field), "has no effect in a target", _IGNORED[field], at_key=True)


def _on_every_node(folder: AppFolder) -> Iterator[Problem]:
    if folder.target and folder.is_daemon_set and not any(_ports_on_every_node(folder)):
        message = "two versions have a pod on every node while one replaces the other, and the old one stays warm"
        remedy = "leave room for both, or lower scaleDownDelaySeconds"
        yield folder.target.problem(("kind",), message, remedy)


def _ports_on_every_node(folder: AppFolder) -> Iterator[Problem]:
    if folder.target is None or not folder.is_daemon_set:
        return
    remedy = "remove it; a Service reaches the pods of every node"
    if folder.pod.get("hostNetwork") is True:
        message = "the pods of two versions of a DaemonSet never fit on one node, so no version could ever follow"
        yield folder.target.problem((*folder.pod_path, "hostNetwork"), message, remedy)
    for each in folder.containers():
        for place, port in maps(each.body.get("ports")):
            if port.get("hostPort"):
                message = f"two versions of a DaemonSet want port {port['hostPort']} of every node: none could follow"
                yield each.problem(("ports", place, "hostPort"), message, remedy)


POD_RULES = (
    note_rule("daemon-set-twice", "Two versions of a DaemonSet need room on every node.", _on_every_node),
    error("daemon-set-ports", "Two versions of a DaemonSet want one port of every node.", _ports_on_every_node),
    error("volume-missing", "A container mounts a volume that the pod does not have.", _missing_volume),
    error("volume-twice", "Two volumes of a pod have one name.", _volume_twice),
    error("file-mode", "A mode of mounted files that Kubernetes does not take.", _file_mode),
    note_rule("shared-claim", "Both versions write to one PersistentVolumeClaim.", _shared_claim),
    note_rule("host-network", "Pods of two versions cannot share a node.", _host_network),
    error("label", "A label or annotation that Kubernetes does not take.", _labels),
    note_rule("ignored-field", "A field of the target that nobody reads.", _ignored_field),
)
