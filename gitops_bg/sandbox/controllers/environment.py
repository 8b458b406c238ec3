"""What containers get from ConfigMaps and Secrets, and what of it is missing. It must run nothing and write nothing.

Rules and words: kubernetes `pkg/kubelet/kubelet_pods.go: makeEnvironmentVariables`, `pkg/volume/{configmap,secret,
projected}`; a volume that no container mounts is not looked at (`desired_state_of_world_populator.go`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gitops_bg.sandbox.objects.objects import Manifest, dig

Find = Callable[[str, str], Manifest | None]
"""Returns the object of a kind (`ConfigMap`, `Secret`) with a name, in the namespace of the pod."""

_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_NO_FILE = {"ConfigMap": "configmap references non-existent config key: {}",
            "Secret": "references non-existent secret key: {}"}  # fmt: skip


class Missing(Exception):
    """Something that a container needs is missing; the text is the kubelet's."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What was found for a pod.

    `unmounted` says of each volume that cannot be set up why, `unset` of each container that cannot be created, by
    its name. `variables` are those of each container that are no secret.
    """

    unmounted: tuple[str, ...] = ()
    unset: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def set_up(pod: Manifest, find: Find) -> Setup:
    """Return what the containers of a pod get at present."""
    spec, namespace = pod["spec"], pod["metadata"]["namespace"]
    containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
    unmounted = tuple(_unmounted(spec.get("volumes") or (), containers, find))
    unset, variables = {}, {}
    for container in containers:
        try:
            variables[container["name"]] = dict(_variables(container, namespace, find))
        except Missing as error:
            unset[container["name"]] = str(error)
    return Setup(unmounted, unset, variables)


# --- variables ---


def _variables(container: Manifest, namespace: str, find: Find) -> Iterator[tuple[str, str]]:
    for source in container.get("envFrom") or ():
        for kind, field_name in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
            if source.get(field_name):
                yield from _all_of(kind, source[field_name], source.get("prefix") or "", find)
    for variable in container.get("env") or ():
        if variable.get("valueFrom"):
            yield from _one_of(variable["name"], variable["valueFrom"], namespace, find)
        else:
            yield variable["name"], variable.get("value") or ""


def _all_of(kind: str, reference: Manifest, prefix: str, find: Find) -> Iterator[tuple[str, str]]:
    found = _found(kind, reference.get("name", ""), reference, find)
    for key, value in (found or {}).get("data", {}).items():
        if kind == "ConfigMap" and _VARIABLE.fullmatch(prefix + key):
            yield prefix + key, value


def _one_of(name: str, source: Manifest, namespace: str, find: Find) -> Iterator[tuple[str, str]]:
    for kind, field_name in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
        reference = source.get(field_name) or {}
        found = _found(kind, reference.get("name", ""), reference, find) if reference else None
        if found is None:
            continue
        value = found.get("data", {}).get(reference["key"])
        if value is None and not reference.get("optional"):
            raise Missing(f"couldn't find key {reference['key']} in {kind} {namespace}/{reference['name']}")
        if value is not None and kind == "ConfigMap":
            yield name, value


def _found(kind: str, name: str, reference: Manifest, find: Find) -> Manifest | None:
    """The object of a reference; None where it is optional and missing."""
    found = find(kind, name)
    if found is None and not reference.get("optional"):
        raise Missing(f'{kind.lower()} "{name}" not found')
    return found


# --- volumes ---


def _unmounted(volumes: Sequence[Manifest], containers: Sequence[Manifest], find: Find) -> Iterator[str]:
    mounted = {mount["name"] for container in containers for mount in container.get("volumeMounts") or ()}
    for volume in volumes:
        try:
            if volume["name"] in mounted:
                _check_volume(volume, find)
        except Missing as error:
            yield f'MountVolume.SetUp failed for volume "{volume["name"]}" : {error}'


def _check_volume(volume: Manifest, find: Find) -> None:
    for source in (volume, *dig(volume, ("projected", "sources"), [])):
        if source.get("configMap"):
            _check_files("ConfigMap", source["configMap"].get("name", ""), source["configMap"], find)
        if source.get("secret"):  # a projected source says `name`, a volume `secretName`
            secret = source["secret"]
            _check_files("Secret", secret.get("secretName") or secret.get("name", ""), secret, find)


def _check_files(kind: str, name: str, source: Manifest, find: Find) -> None:
    found = _found(kind, name, source, find) or {}
    there = {*found.get("data", {}), *found.get("binaryData", {})}
    for item in source.get("items") or ():
        if item["key"] not in there and not source.get("optional"):
            raise Missing(_NO_FILE[kind].format(item["key"]))
