"""What containers get from ConfigMaps and Secrets, and which pods wait because something of it is missing. It must run
no pod.

Rules and words: kubernetes `pkg/kubelet/kubelet_pods.go: makeEnvironmentVariables`,
`pkg/volume/{configmap,secret,projected}`; a volume that no container mounts is not looked at
(`desired_state_of_world_populator.go`). A container keeps the configuration it started with, whatever happens to the
object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from gitops_bg.sandbox.controllers.pod_status import State
from gitops_bg.sandbox.http.errors import ApiError
from gitops_bg.sandbox.objects.kinds import CONFIG_MAPS, EVENTS, SECRETS, ResourceKey
from gitops_bg.sandbox.objects.objects import Manifest, dig, key_of, timestamp
from gitops_bg.sandbox.objects.store import ObjectKey
from gitops_bg.sandbox.verbs.writing import Options, Writer

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
    """Return the object of a reference; None where it is optional and missing."""
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


_TABLES = {"ConfigMap": CONFIG_MAPS, "Secret": SECRETS}


@dataclass(eq=False)
class Configuring:
    """Gives containers their configuration. A kubelet retries all the time; here a change of a ConfigMap or Secret
    triggers the retry.
    """

    writer: Writer
    _given: dict[ObjectKey, Setup] = field(default_factory=dict)
    _told: dict[ObjectKey, Setup] = field(default_factory=dict)

    def state_without(self, pod: Manifest, pulled: bool) -> State | None:
        """Return the state of a pod that has to wait for configuration, and say so in Events; None where it has it.

        `pulled` is whether the images are there: a volume is needed before them, a variable after.
        """
        key = key_of(pod)
        if key in self._given:
            return None
        found = set_up(pod, lambda kind, name: self._find(kind, (key[0], name)))
        if found.unmounted:
            state = State(waiting="ContainerCreating")
        elif found.unset and pulled:
            state = State(unset=found.unset)
        else:
            self._given[key] = found
            self._told.pop(key, None)
            return None
        self._report(pod, found, pulled)
        return state

    def waiting(self, resource: ResourceKey, changed: Manifest) -> Iterator[ObjectKey]:
        """Return the pods that a change of an object may help."""
        if resource in _TABLES.values():
            namespace = key_of(changed)[0]
            yield from [key for key in self._told if key[0] == namespace]

    def variables(self, pod: Manifest) -> Mapping[str, str]:
        """Return the variables of a pod's first container that are no secret, as they were when it started."""
        given = self._given.get(key_of(pod), Setup())
        return given.variables.get(pod["spec"]["containers"][0]["name"], {})

    def forget(self, key: ObjectKey) -> None:
        """Forget a pod that has gone."""
        self._given.pop(key, None)
        self._told.pop(key, None)

    def _find(self, kind: str, key: ObjectKey) -> Manifest | None:
        found = self.writer.store.get(_TABLES[kind], key)
        return found.obj if found else None

    def _report(self, pod: Manifest, found: Setup, pulled: bool) -> None:
        """Report what is missing as Events, each once."""
        before = self._told.get(key_of(pod), Setup())
        self._told[key_of(pod)] = found
        for message in set(found.unmounted) - set(before.unmounted):
            self._record(event(pod, "FailedMount", message))
        if pulled and not found.unmounted:
            for message in set(found.unset.values()) - set(before.unset.values()):
                self._record(event(pod, "Failed", f"Error: {message}"))

    def _record(self, body: Manifest) -> None:
        namespace = body["metadata"]["namespace"]
        try:
            self.writer.create(self.writer.kinds.of(EVENTS), namespace, body, Options(manager="kubelet"))
        except ApiError as error:
            if error.code not in (403, 404):  # the namespace is being deleted, or was
                raise


def event(pod: Manifest, reason: str, message: str) -> Manifest:
    """Return the Event in which a kubelet reports a failure of a pod."""
    metadata, now = pod["metadata"], timestamp()
    about = {key: metadata[key] for key in ("name", "namespace", "uid")}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{metadata['name']}.{uuid4().hex[:16]}", "namespace": metadata["namespace"]},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", **about},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "source": {"component": "kubelet"},
        "count": 1,
        "firstTimestamp": now,
        "lastTimestamp": now,
    }
