"""What the status of a pod looks like in each state of its life. It must decide nothing.

kubernetes.io "Pod Lifecycle"; kubernetes `pkg/kubelet/status/generate.go`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_bg.sandbox.controllers.behaviours import last_words
from gitops_bg.sandbox.objects.objects import Manifest, dig, is_pod_ready, timestamp

NOT_CONFIGURED = "CreateContainerConfigError"
_INITIALIZING = "PodInitializing"
_NOT_STARTED = ("ContainerCreating", "ImagePullBackOff", "InvalidImageName")
_MESSAGES = {
    "ImagePullBackOff": 'Back-off pulling image "{image}"',
    "InvalidImageName": 'couldn\'t parse image name "{image}": invalid reference format',
    "CrashLoopBackOff": "back-off 10s restarting failed container={name}",
}


@dataclass(frozen=True, slots=True)
class State:
    """What a kubelet has to report.

    `waiting` names why the containers do not run, `unset` says by their names which have no configuration and why,
    `exits` how each has ended.
    """

    ready: bool = False
    waiting: str = ""
    restarts: int = 0
    exits: Mapping[str, int] = field(default_factory=dict)
    unset: Mapping[str, str] = field(default_factory=dict)

    @property
    def phase(self) -> str:
        """Return the phase of the pod."""
        if self.exits:
            return "Failed" if any(self.exits.values()) else "Succeeded"
        return "Pending" if self.unset or self.waiting in _NOT_STARTED else "Running"


def status(pod: Manifest, state: State) -> Manifest:
    """Return the status of a pod in a state, without its addresses."""
    now = timestamp()
    held = {c["type"]: c for c in dig(pod, ("status", "conditions"), [])}
    initialized = not _uninitialized(pod, state)
    wanted = {
        "PodScheduled": True,
        "Initialized": initialized,
        "ContainersReady": state.ready,
        "Ready": state.ready,
    }
    return {
        "phase": state.phase,
        "conditions": [_condition(name, value, held.get(name), now, state) for name, value in wanted.items()],
        **_init_containers(pod, state, now),
        "containerStatuses": [_container(c, state, now, initialized) for c in pod["spec"]["containers"]],
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "startTime": dig(pod, ("status", "startTime"), now),
        "qosClass": dig(pod, ("status", "qosClass"), "BestEffort"),
    }


def unscheduled(pod: Manifest, reason: str) -> Manifest:
    """Return the status of a pod that has no node, as the scheduler writes it."""
    now = timestamp()
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": reason}
    return {
        "phase": "Pending",
        "conditions": [{**condition, "lastProbeTime": None, "lastTransitionTime": now}],
        "qosClass": dig(pod, ("status", "qosClass"), "BestEffort"),
    }


def reported(pod: Manifest) -> State:
    """Return what was last reported of a pod that has not ended."""
    statuses = dig(pod, ("status", "containerStatuses"), [])
    waiting = _reason(statuses[0]) if statuses else ""
    every = [*dig(pod, ("status", "initContainerStatuses"), []), *statuses]
    unset = {each["name"]: each["state"]["waiting"]["message"] for each in every if _reason(each) == NOT_CONFIGURED}
    if waiting == _INITIALIZING and not unset:
        waiting = "ContainerCreating"
    elif waiting in (_INITIALIZING, NOT_CONFIGURED):
        waiting = ""
    return State(is_pod_ready(pod), waiting, restarts_of(pod), unset=unset)


def _reason(container: Manifest) -> str:
    """Return why a container waits, as was reported; empty where it does not."""
    return str(dig(container, ("state", "waiting", "reason"), ""))


def restarts_of(pod: Manifest) -> int:
    """Return how often the containers were restarted, as was reported."""
    statuses = dig(pod, ("status", "containerStatuses"), [])
    return max((int(each["restartCount"]) for each in statuses), default=0)


def _uninitialized(pod: Manifest, state: State) -> list[str]:
    """Return the init containers that have not done their work."""
    names = [each["name"] for each in pod["spec"].get("initContainers") or ()]
    if state.waiting == "ContainerCreating":
        return names
    return next((names[place:] for place, name in enumerate(names) if name in state.unset), [])


def _init_containers(pod: Manifest, state: State, now: str) -> Manifest:
    """Init containers have completed, except those that wait for configuration, and those after one that does."""
    containers = pod["spec"].get("initContainers") or ()
    if not containers:
        return {}
    unfinished = _uninitialized(pod, state)
    return {"initContainerStatuses": [_init_container(each, state, now, unfinished) for each in containers]}


def _init_container(container: Manifest, state: State, now: str, unfinished: list[str]) -> Manifest:
    name = container["name"]
    done = name not in unfinished
    if name in state.unset and not done:
        said = _waiting(container, NOT_CONFIGURED, state)
    elif not done:
        said = _waiting(container, _INITIALIZING, state)
    elif container.get("restartPolicy") == "Always":
        said = {"running": {"startedAt": now}}
    else:
        said = _ended(0, now)
    return {**_common(container), "ready": done, "started": "running" in said, "restartCount": 0, "state": said}


def _condition(name: str, value: bool, held: Manifest | None, now: str, state: State) -> Manifest:
    said = "True" if value else "False"
    since = held["lastTransitionTime"] if held and held["status"] == said else now
    condition: Manifest = {"type": name, "status": said, "lastProbeTime": None, "lastTransitionTime": since}
    if value:
        return condition
    if state.phase == "Succeeded":
        condition |= {"reason": "PodCompleted"}
    elif name == "Initialized":
        condition |= {"reason": "ContainersNotInitialized", "message": "containers with incomplete status"}
    else:
        condition |= {"reason": "ContainersNotReady", "message": "containers with unready status"}
    return condition


def _container(container: Manifest, state: State, now: str, initialized: bool) -> Manifest:
    said = _container_state(container, state, now) if initialized else _waiting(container, _INITIALIZING, state)
    return {
        **_common(container),
        "ready": state.ready,
        "started": "running" in said,
        "restartCount": state.restarts,
        "state": said,
    }


def _common(container: Manifest) -> Manifest:
    image = container["image"]
    return {"name": container["name"], "image": image, "imageID": f"sandbox/{image}", "lastState": {}}


def _container_state(container: Manifest, state: State, now: str) -> Manifest:
    if state.exits:
        return _ended(state.exits[container["name"]], now, container)
    if container["name"] in state.unset:
        return _waiting(container, NOT_CONFIGURED, state)
    if state.waiting:
        return _waiting(container, state.waiting, state)
    return {"running": {"startedAt": now}}


def _ended(code: int, now: str, container: Manifest | None = None) -> Manifest:
    reason = "Error" if code else "Completed"
    words = last_words(container, code) if container else {}
    return {"terminated": {"exitCode": code, "reason": reason, "startedAt": now, "finishedAt": now, **words}}


def _waiting(container: Manifest, reason: str, state: State) -> Manifest:
    waiting = {"reason": reason}
    if reason == NOT_CONFIGURED:
        waiting["message"] = state.unset[container["name"]]
    elif reason in _MESSAGES:
        waiting["message"] = _MESSAGES[reason].format(**container)
    return {"waiting": waiting}
