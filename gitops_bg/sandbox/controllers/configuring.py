"""Which pods have the ConfigMaps and Secrets that their containers need, and which wait for them. It must run no pod.

A kubelet retries all the time; here a change of a ConfigMap or Secret triggers the retry. A container keeps the
configuration it started with, whatever happens to the object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from uuid import uuid4

from gitops_bg.sandbox.controllers.environment import Setup, set_up
from gitops_bg.sandbox.controllers.pod_status import State
from gitops_bg.sandbox.http.errors import ApiError
from gitops_bg.sandbox.objects.kinds import CONFIG_MAPS, EVENTS, SECRETS, ResourceKey
from gitops_bg.sandbox.objects.objects import Manifest, key_of, timestamp
from gitops_bg.sandbox.objects.store import ObjectKey
from gitops_bg.sandbox.verbs.writing import Options, Writer

_TABLES = {"ConfigMap": CONFIG_MAPS, "Secret": SECRETS}


@dataclass(eq=False)
class Configuring:
    """Gives containers their configuration."""

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
        self._tell(pod, found, pulled)
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

    def _tell(self, pod: Manifest, found: Setup, pulled: bool) -> None:
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
