"""What the status of a pod looks like in each state of its life. It must decide nothing.

kubernetes.io "Pod Lifecycle"; kubernetes `pkg/kubelet/status/generate.go`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_bg.sandbox.objects import Manifest, dig, timestamp

_NOT_STARTED = ("ContainerCreating", "ImagePullBackOff", "InvalidImageName")
_MESSAGES = {
    "ImagePullBackOff": 'Back-off pulling image "{image}"',
    "InvalidImageName": 'couldn\'t parse image name "{image}": invalid reference format',
    "CrashLoopBackOff": "back-off 10s restarting failed container={name}",
}


@dataclass(frozen=True, slots=True)
class State:
    """What a kubelet has to report: `waiting` names why the containers do not run, `exits` how each has ended."""

    ready: bool = False
    waiting: str = ""
    restarts: int = 0
    exits: Mapping[str, int] = field(default_factory=dict)

    @property
    def phase(self) -> str:
        """Return the phase of the pod."""
        if self.exits:
            return "Failed" if any(self.exits.values()) else "Succeeded"
        return "Pending" if self.waiting in _NOT_STARTED else "Running"


def status(pod: Manifest, state: State) -> Manifest:
    """Return the status of a pod in a state, without its addresses."""
    now = timestamp()
    held = {c["type"]: c for c in dig(pod, ("status", "conditions"), [])}
    wanted = {"PodScheduled": True, "Initialized": True, "ContainersReady": state.ready, "Ready": state.ready}
    return {
        "phase": state.phase,
        "conditions": [_condition(name, value, held.get(name), now, state) for name, value in wanted.items()],
        "containerStatuses": [_container(c, state, now) for c in pod["spec"]["containers"]],
        "hostIP": "127.0.0.1",
        "hostIPs": [{"ip": "127.0.0.1"}],
        "startTime": dig(pod, ("status", "startTime"), now),
        "qosClass": dig(pod, ("status", "qosClass"), "BestEffort"),
    }


def waits_for(pod: Manifest) -> str:
    """Return the reason why a pod's first container waits, as was reported; empty where it does not."""
    statuses = dig(pod, ("status", "containerStatuses"), [])
    return str(dig(statuses[0]["state"], ("waiting", "reason"), "")) if statuses else ""


def restarts_of(pod: Manifest) -> int:
    """Return how often the containers were restarted, as was reported."""
    statuses = dig(pod, ("status", "containerStatuses"), [])
    return max((int(each["restartCount"]) for each in statuses), default=0)


def _condition(name: str, value: bool, held: Manifest | None, now: str, state: State) -> Manifest:
    said = "True" if value else "False"
    since = held["lastTransitionTime"] if held and held["status"] == said else now
    condition: Manifest = {"type": name, "status": said, "lastProbeTime": None, "lastTransitionTime": since}
    if not value and state.phase == "Succeeded":
        condition |= {"reason": "PodCompleted"}
    elif not value:
        condition |= {"reason": "ContainersNotReady", "message": "containers with unready status"}
    return condition


def _container(container: Manifest, state: State, now: str) -> Manifest:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": f"sandbox/{container['image']}",
        "ready": state.ready,
        "started": not state.waiting and not state.exits,
        "restartCount": state.restarts,
        "state": _container_state(container, state, now),
        "lastState": {},
    }


def _container_state(container: Manifest, state: State, now: str) -> Manifest:
    if state.exits:
        code = state.exits[container["name"]]
        reason = "Error" if code else "Completed"
        return {"terminated": {"exitCode": code, "reason": reason, "startedAt": now, "finishedAt": now}}
    if not state.waiting:
        return {"running": {"startedAt": now}}
    waiting = {"reason": state.waiting}
    if state.waiting in _MESSAGES:
        waiting["message"] = _MESSAGES[state.waiting].format(**container)
    return {"waiting": waiting}
