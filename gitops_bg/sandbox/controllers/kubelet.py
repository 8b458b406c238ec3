"""Scheduler and kubelet: places pods, makes them ready or not, ends them. It must not create any.

What a status looks like in each state: kubernetes.io "Pod Lifecycle".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from gitops_bg.sandbox import selectors
from gitops_bg.sandbox.controllers.behaviours import IMAGE_RULES, Behaviour, ImageRule, behaviour_of
from gitops_bg.sandbox.controllers.loop import Loop
from gitops_bg.sandbox.deleting import Deletion, delete
from gitops_bg.sandbox.errors import ApiError
from gitops_bg.sandbox.kinds import PODS, ResourceKey
from gitops_bg.sandbox.objects import Manifest, dig, is_pod_ready, key_of, labels_of, timestamp
from gitops_bg.sandbox.store import ObjectKey
from gitops_bg.sandbox.watches import DELETED, Change
from gitops_bg.sandbox.writing import Options, Writer

_NODE = "sandbox"


@dataclass(slots=True)
class _Override:
    namespace: str
    selector: selectors.LabelSelector
    ready: bool | None = None
    behaviour: Behaviour | None = None

    def covers(self, pod: Manifest) -> bool:
        return self.namespace == key_of(pod)[0] and selectors.accepts(self.selector, labels_of(pod))


def _selector(given: str | Mapping[str, str]) -> selectors.LabelSelector:
    return selectors.parse_labels(given) if isinstance(given, str) else selectors.from_object({"matchLabels": given})


@dataclass(eq=False)
class Kubelet:
    """Runs the pods.

    `end` tells a pod's containers to stop and returns whether they have; they get `drain_after` seconds
    until `close_idle` closes the connections on which nothing happens.
    """

    writer: Writer
    loop: Loop
    ready_after: float = 0.1
    rules: Sequence[ImageRule] = IMAGE_RULES
    drain_after: float = 1.0
    end: Callable[[ObjectKey], bool] = lambda _: True
    close_idle: Callable[[ObjectKey], None] = lambda _: None
    _ending: dict[ObjectKey, float] = field(default_factory=dict)
    _overrides: list[_Override] = field(default_factory=list)
    _started: dict[ObjectKey, float] = field(default_factory=dict)
    _addresses: Any = field(default_factory=lambda: count(2))

    def set_ready(self, namespace: str, pod_label_selector: str | Mapping[str, str], ready: bool) -> None:
        """Make pods ready or unready now, and those that come later too, whatever their image says."""
        self._override(_Override(namespace, _selector(pod_label_selector), ready=ready))

    def set_behaviour(self, namespace: str, pod_label_selector: str | Mapping[str, str], behaviour: Behaviour) -> None:
        """Let pods behave otherwise than their image says, from now on."""
        self._override(_Override(namespace, _selector(pod_label_selector), behaviour=behaviour))

    def forget_overrides(self) -> None:
        """Let every pod behave as its image says again."""
        self._overrides.clear()
        self._look_at_all()

    def _override(self, override: _Override) -> None:
        same = (override.namespace, override.selector)
        self._overrides = [
            old
            for old in self._overrides
            if (old.namespace, old.selector) != same or (old.ready is None) != (override.ready is None)
        ]
        self._overrides.append(override)
        self._look_at_all()

    def _look_at_all(self) -> None:
        for stored in self.writer.store.all(PODS):
            self.loop.put(self, key_of(stored.obj))

    def behaviour(self, pod: Manifest) -> Behaviour:
        """Return how a pod behaves: its last override, else what the image of its first container says."""
        for override in reversed(self._overrides):
            if override.behaviour is not None and override.covers(pod):
                return override.behaviour
        return behaviour_of(pod["spec"]["containers"][0]["image"], self.rules, self.ready_after)

    def notice(self, resource: ResourceKey, change: Change) -> None:
        """Queue a pod that is new or was told to end."""
        if resource != PODS:
            return
        key = key_of(change.current.obj)
        if change.type == DELETED:
            self._started.pop(key, None)
            self._ending.pop(key, None)
        elif key not in self._started or "deletionTimestamp" in change.current.obj["metadata"]:
            self.loop.put(self, key)

    def drained_now(self, key: ObjectKey) -> None:
        """Say that an ending pod has finished its requests."""
        self.loop.put(self, key)

    def reconcile(self, key: Hashable) -> None:
        """Bring one pod to the state it should be in at this moment."""
        found = self.writer.store.get(PODS, key)  # type: ignore[arg-type]
        if found is None:
            return
        pod = found.obj
        if "deletionTimestamp" in pod["metadata"]:
            self._end(pod)
        elif dig(pod, ("status", "phase")) not in ("Succeeded", "Failed"):
            self._run(pod)

    def _end(self, pod: Manifest) -> None:
        key = key_of(pod)
        if not self.end(key):
            self._drain(key)
            return
        try:
            delete(self.writer.store, self.writer.kinds.of(PODS), *key, Deletion(grace_seconds=0))
        except ApiError as error:
            if error.code != 404:
                raise

    def _drain(self, key: ObjectKey) -> None:
        deadline = self._ending.setdefault(key, time.monotonic() + self.drain_after)
        left = deadline - time.monotonic()
        if left > 0:
            self.loop.put(self, key, after=left)
        else:
            self.close_idle(key)

    def _run(self, pod: Manifest) -> None:
        key, behaviour = key_of(pod), self.behaviour(pod)
        if not pod["spec"].get("nodeName"):
            pod = self._schedule(pod)
        started = self._started.setdefault(key, time.monotonic())
        left = started + behaviour.ready_after - time.monotonic()
        ready = self._is_to_be_ready(pod, behaviour, left)
        if left > 0 and not behaviour.waiting:
            self.loop.put(self, key, after=left)
        waiting = "" if ready or left <= 0 else "ContainerCreating"
        self._report(pod, ready, behaviour.waiting or waiting)

    def _is_to_be_ready(self, pod: Manifest, behaviour: Behaviour, left: float) -> bool:
        for override in reversed(self._overrides):
            if override.ready is not None and override.covers(pod):
                return override.ready
        return left <= 0 and not behaviour.waiting

    def _schedule(self, pod: Manifest) -> Manifest:
        def bind(live: Manifest) -> Manifest:
            return {**live, "spec": {**live["spec"], "nodeName": _NODE}}

        kind = self.writer.kinds.of(PODS)
        return self.writer.modify(kind, *key_of(pod), bind, Options(manager="kube-scheduler")).obj

    def _report(self, pod: Manifest, ready: bool, waiting: str) -> None:
        if is_pod_ready(pod) == ready and dig(pod, ("status", "conditions")) and self._waits_for(pod) == waiting:
            return
        status = _status(pod, ready, "" if ready else waiting)
        status["podIP"] = dig(pod, ("status", "podIP")) or self._address()
        status["podIPs"] = [{"ip": status["podIP"]}]
        self.writer.edit_status(self.writer.kinds.of(PODS), pod, status, "kubelet")

    @staticmethod
    def _waits_for(pod: Manifest) -> str:
        statuses = dig(pod, ("status", "containerStatuses"), [])
        return str(dig(statuses[0]["state"], ("waiting", "reason"), "")) if statuses else ""

    def _address(self) -> str:
        number = next(self._addresses)
        return f"127.{1 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


def _status(pod: Manifest, ready: bool, waiting: str) -> Manifest:
    now = timestamp()
    held = {c["type"]: c for c in dig(pod, ("status", "conditions"), [])}
    wanted = {"PodScheduled": True, "Initialized": True, "ContainersReady": ready, "Ready": ready}
    return {
        "phase": "Pending" if waiting in ("ContainerCreating", "ImagePullBackOff") else "Running",
        "conditions": [_condition(name, value, held.get(name), now) for name, value in wanted.items()],
        "containerStatuses": [_container(c, ready, waiting, now) for c in pod["spec"]["containers"]],
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "startTime": dig(pod, ("status", "startTime"), now),
        "qosClass": dig(pod, ("status", "qosClass"), "BestEffort"),
    }


def _condition(name: str, value: bool, held: Manifest | None, now: str) -> Manifest:
    said = "True" if value else "False"
    since = held["lastTransitionTime"] if held and held["status"] == said else now
    condition: Manifest = {"type": name, "status": said, "lastProbeTime": None, "lastTransitionTime": since}
    if not value:
        condition |= {"reason": "ContainersNotReady", "message": "containers with unready status"}
    return condition


_MESSAGES = {
    "ImagePullBackOff": 'Back-off pulling image "{image}"',
    "CrashLoopBackOff": "back-off 10s restarting failed container={name}",
}


def _container(container: Manifest, ready: bool, waiting: str, now: str) -> Manifest:
    state: Manifest = {"running": {"startedAt": now}}
    if waiting:
        state = {"waiting": {"reason": waiting}}
        if waiting in _MESSAGES:
            state["waiting"]["message"] = _MESSAGES[waiting].format(**container)
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": f"sandbox/{container['image']}",
        "ready": ready,
        "started": not waiting,
        "restartCount": 1 if waiting == "CrashLoopBackOff" else 0,
        "state": state,
        "lastState": {},
    }
