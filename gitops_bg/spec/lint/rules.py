"""All rules of `check` about an app's folder, in the order of the documentation.

Those about containers are in `containers`. Here are those about a target's pods as a whole (how many there are, their
volumes and labels, what two versions cannot share), and about what lies beside the target: Services, ConfigMaps and
Secrets, and what other tools left in them.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gitops_bg.core.checks.ports import NONE, container_ports, derived_ports
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.layout import DEFAULT_TARGET_FILE, member_of
from gitops_bg.spec.importing.tools import Mark, marks_in_file
from gitops_bg.spec.lint.app_folder import (
    FIELD,
    NO_EFFECT,
    PROBLEM,
    REFUSED_ADDRESS,
    STALE,
    AppFolder,
    Finding,
    FolderRule,
    LintSeverity,
    Rule,
    error,
    name_of,
    near,
    note_rule,
)
from gitops_bg.spec.lint.containers import CONTAINER_RULES, PROBE_RULES
from gitops_bg.spec.manifests.autoscaling import AUTOSCALERS
from gitops_bg.spec.manifests.configuration import CONFIG_MAP, SECRET, Named, references
from gitops_bg.spec.manifests.target import APPS_KINDS, pod_paths
from gitops_bg.spec.yaml.reader import first_of
from gitops_bg.spec.yaml.scalars import LARGEST_MODE, Body, Path, as_map, maps, meant_in_octal, nearest, texts

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
    """Yield the modes of mounted files, with their places in the target."""
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


def _target_port(folder: AppFolder) -> Iterator[Problem]:
    """Yield a number that no container declares; of a name that none declares, the agent says it too
    (`service_ports`).
    """
    declared = container_ports(json.dumps(folder.template))
    if not declared:
        return
    for service in folder.services():
        for place, port in maps(as_map(service.value.get("spec")).get("ports")):
            field = "targetPort" if port.get("targetPort") is not None else "port"
            number, protocol = port.get(field), port.get("protocol") or "TCP"
            if isinstance(number, int) and (number, protocol) not in declared:
                known = sorted((str(each) for each, of in declared if of == protocol), key=str.isdecimal)
                message = f"no container of {_target_file(folder)} declares the {protocol} port {number}"
                write = f"write targetPort: {' or '.join(known)}, or " if known else ""
                remedy = f"{write}declare containerPort {number}"
                yield service.problem(("spec", "ports", place, field), message, remedy)


def _target_file(folder: AppFolder) -> str:
    return folder.target.file.rpartition("/")[2] if folder.target else DEFAULT_TARGET_FILE


def _selector(folder: AppFolder) -> Iterator[Problem]:
    labels = dict(texts(as_map(folder.template.get("metadata")).get("labels")))
    for service in folder.services():
        written = as_map(service.value.get("spec")).get("selector")
        if as_map(written):
            strange = [f"{key}: {value}" for key, value in as_map(written).items() if labels.get(key) != value]
            also = f"; no pod of the target has {strange[0]} either" if strange and labels else ""
            message = f"has no effect: the agent sets the selector to one version{also}"
            yield service.problem(("spec", "selector"), message, "remove it", at_key=True)


def _similar_service(folder: AppFolder) -> Iterator[Problem]:
    fields = folder.named_services()
    named = {name for name, _, _ in fields}
    unnamed = {name_of(each) for each in folder.of_kind("Service")} - named
    for name, path, carries in fields:
        guess = near(name, unnamed) if name not in folder.config.services else ""
        if guess and not member_of(folder.config.folder):
            message = f"the folder has no Service {name} for {carries}, but one called {guess}, which nobody names"
            yield folder.app.problem(path, message, f"did you mean {guess}?")


def _node_port_twice(folder: AppFolder) -> Iterator[Problem]:
    seen: dict[object, str] = {}
    for service in folder.of_kind("Service"):
        for place, port in maps(as_map(service.value.get("spec")).get("ports")):
            key = (port.get("nodePort"), port.get("protocol") or "TCP")
            if port.get("nodePort") and seen.setdefault(key, name_of(service)) != name_of(service):
                message = f"{port['nodePort']} is taken by the Service {seen[key]} already"
                yield service.problem(("spec", "ports", place, "nodePort"), message, "write another one, or remove it")


def _without_ports(folder: AppFolder) -> Iterator[Problem]:
    """Yield a Service that the agent would have to make of the pods' ports, and there are none (`render`)."""
    for name, path, carries in _unmade(folder):
        if not _is_needed(folder, name):
            message = f"Service {name} ({carries}) is not in Git, and no container declares a port to make it of"
            remedy = f"declare a containerPort, or add a manifest of Service {name} to the folder"
            yield folder.app.problem(path, message, remedy)


def _never_live(folder: AppFolder) -> Iterator[Problem]:
    """Yield the same of live traffic, which then has no way to any version."""
    for name, path, _ in _unmade(folder):
        if _is_needed(folder, name):
            message = f"no version could ever go live: Service {name} says no port, and no container declares one"
            remedy = (
                "declare a containerPort, or write the Service with its ports; a worker that nobody calls has no live "
                "traffic to switch: leave it a Deployment, applied as before"
            )
            yield folder.app.problem(path, message, remedy)


def _is_needed(folder: AppFolder, name: str) -> bool:
    """Return whether a Service carries live traffic, and none in the cluster may take its place."""
    spec = folder.config.spec
    return spec is not None and spec.adopt is None and name in spec.strategy.active_services


def _unmade(folder: AppFolder) -> Iterator[tuple[str, Path, str]]:
    """Yield the Services of which neither a manifest nor a container says a port."""
    if folder.config.primary or not any(folder.containers()) or derived_ports(json.dumps(folder.template)):
        return
    headless = {
        name for name, each in folder.config.services.items() if as_map(each.get("spec")).get("clusterIP") == "None"
    }
    known = {each.service: each.ports for each in folder.config.ports if each.ports != NONE or each.service in headless}
    yield from (each for each in folder.named_services() if not known.get(each[0]))


SERVICE_RULES = (
    note_rule("target-port", "A Service leads to a port that no container declares.", _target_port),
    note_rule("service-selector", "A selector that the agent replaces.", _selector),
    note_rule("service-name", "app.yaml names a Service nearly as one of the folder.", _similar_service),
    error("node-port-twice", "Two Services want the same port of every node.", _node_port_twice),
    note_rule("service-without-ports", "A Service that the agent cannot make.", _without_ports),
    error("never-live", "No version can ever go live: a Service for live traffic has no port.", _never_live),
)


_ENV = {"configMapKeyRef": (CONFIG_MAP, "name"), "secretKeyRef": (SECRET, "name")}
_ENV_FROM = {"configMapRef": (CONFIG_MAP, "name"), "secretRef": (SECRET, "name")}
_VOLUME = {"configMap": (CONFIG_MAP, "name"), "secret": (SECRET, "secretName")}
_SOURCE = {"configMap": (CONFIG_MAP, "name"), "secret": (SECRET, "name")}


def _near_miss(folder: AppFolder) -> Iterator[Problem]:
    objects = {(each.value["kind"], name_of(each)) for each in folder.of_kind(CONFIG_MAP, SECRET)}
    used = references(folder.template)
    for (kind, name), path in _uses(folder):
        if (kind, name) in objects or folder.target is None:
            continue
        other = SECRET if kind == CONFIG_MAP else CONFIG_MAP
        guess = near(name, (its for of, its in objects if of == kind and (of, its) not in used))
        if guess:
            message = f"the folder has no {kind} {name}, but one called {guess}, which nothing refers to"
            yield folder.target.problem(path, message, f"did you mean {guess}?")
        elif (other, name) in objects and (other, name) not in used:
            message = f"the folder has no {kind} {name}; its {name} is a {other}"
            yield folder.target.problem(path, message, f"refer to a {other}, or add the {kind}")


def _uses(folder: AppFolder) -> Iterator[tuple[Named, Path]]:
    """Yield what the target refers to, each with the place of the name."""
    for each in folder.containers():
        for place, env in maps(each.body.get("env")):
            yield from _named(as_map(env.get("valueFrom")), (*each.path, "env", place, "valueFrom"), _ENV)
        for place, source in maps(each.body.get("envFrom")):
            yield from _named(source, (*each.path, "envFrom", place), _ENV_FROM)
    for place, volume in maps(folder.pod.get("volumes")):
        path = (*folder.pod_path, "volumes", place)
        yield from _named(volume, path, _VOLUME)
        for number, source in maps(as_map(volume.get("projected")).get("sources")):
            yield from _named(source, (*path, "projected", "sources", number), _SOURCE)


def _named(body: Body, path: Path, fields: Mapping[str, tuple[str, str]]) -> Iterator[tuple[Named, Path]]:
    for field, (kind, key) in fields.items():
        name = as_map(body.get(field)).get(key)
        if isinstance(name, str):
            yield (kind, name), (*path, field, key)


CONFIGURATION_RULES = (
    note_rule(
        "configuration-name", "The target refers to an object nearly as one of the folder is called.", _near_miss
    ),
)


def _tool_mark(folder: AppFolder) -> Iterator[Problem]:
    """Yield the marks on what is applied with its metadata: not on the target, of which only the pods' come to be."""
    for document in folder.others:
        for mark in marks_in_file(as_map(document.value.get("metadata"))):
            remedy = f"remove it, once {mark.tool} applies the object no more: docs/how-to/argo-cd-and-flux.md"
            yield document.problem(("metadata", mark.field, mark.key), _meaning(mark), remedy, at_key=True)


def _meaning(mark: Mark) -> str:
    if not mark.tracks:
        return f"tells {mark.tool} what to do with an object that the agent applies"
    what = ", and it deletes what is not in its own Git" if mark.tool == "Argo CD" else ""
    return f"is how {mark.tool} knows its objects{what}: this one is the agent's"


OTHER_TOOLS_RULES = (note_rule("tool-mark", "What another tool left on an object that the agent applies.", _tool_mark),)


FOLDER_RULES: tuple[FolderRule, ...] = (
    *CONTAINER_RULES,
    *PROBE_RULES,
    *POD_RULES,
    *CONFIGURATION_RULES,
    *SERVICE_RULES,
    *SCALING_RULES,
    *OTHER_TOOLS_RULES,
)

RULES: tuple[Rule, ...] = (PROBLEM, FIELD, STALE, *FOLDER_RULES, REFUSED_ADDRESS, NO_EFFECT)
"""Every rule of `check`: those about a folder, and what the loaders and the linter of fields find."""


def findings(folder: AppFolder, *severities: LintSeverity) -> Iterator[Finding]:
    """Yield what the rules of these severities find."""
    for rule in FOLDER_RULES:
        if rule.severity in severities:
            yield from (Finding(rule, problem) for problem in first_of(rule.find(folder)))
