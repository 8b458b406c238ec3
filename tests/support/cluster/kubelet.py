"""Plays the scheduler and the kubelet on a control plane that has neither.

Each pod is bound to a node that takes it and gets the status that its images ask for: a tag with `bad` or `missing`
cannot be pulled, one with `crash` crashes, all others get ready after `ready_after` seconds. Pods of Jobs end as
their commands say. Pods that are being deleted are gone at once. What does not get through, because a connection breaks
or another controller writes meanwhile, is tried again. Runs nothing, but for the servers of the pods that it is given.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import math
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import urllib3

from gitops_bg.sandbox.controllers import pod_status
from gitops_bg.sandbox.controllers.behaviours import IMAGE_RULES, Behaviour, behaviour_of, endings_of, last_words
from gitops_bg.sandbox.controllers.configuring import Setup, event, set_up
from gitops_bg.sandbox.controllers.kubelet import Placement, is_choosy, node_manifest, place
from gitops_bg.sandbox.controllers.pod_status import State
from tests.support.cluster.paths import events, path_in, pods
from tests.support.cluster.pod_servers import PodServers
from tests.support.cluster.rawapi import APPLY, JSON, MERGE, STRATEGIC, ApiError, Json, RawApi, Watch

_NODES = ("node-1", "node-2", "node-3", "node-4")
_ALL_PODS = "/api/v1/pods"
_WATCH_SECONDS = 600
_AGAIN_SECONDS = 0.2  # after which what could not be done yet is tried again
RESTART_SECONDS = 10.0  # before the second restart of a container and the later ones


class _Conflict(Exception):
    """Another writer was faster."""


class Kubelet:
    """The nodes of a cluster. Use as a context manager; it works on threads of its own meanwhile."""

    def __init__(self, kubeconfig: Path, ready_after: float = 0.0, servers: PodServers | None = None) -> None:
        self.ready_after = ready_after  # seconds from a pod's creation to its being ready; may be changed
        self._servers = servers
        self.api = RawApi(kubeconfig, user_agent="kubelet")
        self._started: set[str] = set()
        self._forced: dict[str, bool] = {}
        self._addresses = itertools.count(1)
        self._turns = itertools.count()
        self._scheduling = threading.Lock()
        self._stopping = threading.Event()
        self._watch: Watch | None = None
        self._timer = _Timer()
        self._workers = ThreadPoolExecutor(4, thread_name_prefix="kubelet")
        self._watcher = threading.Thread(target=self._follow, name="kubelet-watch", daemon=True)

    def __enter__(self) -> Self:
        for name in _NODES:
            node = f"/api/v1/nodes/{name}"
            self.api.patch(node, node_manifest(name), APPLY, fieldManager="kubelet", force="true")
            self.api.patch(node, {"spec": {"taints": None}}, MERGE)  # a new node is tainted until it is ready
        self._timer.start()
        self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        while self._watcher.is_alive():  # the watch may be between two connections
            watch = self._watch
            if watch is not None:
                with contextlib.suppress(Exception):
                    watch.stop()
            self._watcher.join(timeout=0.05)
        self._timer.stop()
        self._workers.shutdown(cancel_futures=True)
        if self._servers is not None:
            self._servers.stop()
        self.api.close()

    def set_ready(self, namespace: str, selector: Mapping[str, str], ready: bool) -> int:
        """Make the pods with these labels ready or unready from now on; returns how many there were."""
        labels = ",".join(f"{key}={value}" for key, value in selector.items())
        found = self.api.list(pods(namespace), labelSelector=labels)
        for pod in found:
            self._forced[pod["metadata"]["uid"]] = ready
            if "status" in pod and pod["status"].get("podIP"):
                self._report(pod, running(pod, ready, pod["status"]["podIP"]))
        return len(found)

    def _follow(self) -> None:
        while not self._stopping.is_set():
            with contextlib.suppress(urllib3.exceptions.HTTPError, ApiError, OSError):
                answer = self.api.get(_ALL_PODS)
                for pod in answer["items"]:
                    self._look_at(pod)
                self._follow_from(answer["metadata"]["resourceVersion"])

    def _follow_from(self, version: str) -> None:
        with self.api.watch(_ALL_PODS, seconds=_WATCH_SECONDS, resourceVersion=version) as watch:
            self._watch = watch
            for event in watch:
                if self._stopping.is_set() or event["type"] == "ERROR":
                    return
                if event["type"] != "DELETED":
                    self._look_at(event["object"])

    def _look_at(self, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        if "deletionTimestamp" in pod["metadata"]:
            self._submit(lambda: self._kill(pod))
        elif uid not in self._started:
            self._started.add(uid)
            self._submit(lambda: self._start(pod))

    def _submit(self, work: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # after shutdown
            self._workers.submit(self._persist, work).add_done_callback(_raise_unexpected)

    def _persist(self, work: Callable[[], None]) -> None:
        """Do it, again where it did not get through: no event of the watch would ask for it another time."""
        try:
            work()
        except (urllib3.exceptions.HTTPError, _Conflict):
            if not self._stopping.is_set():
                self._later(work)

    def _later(self, work: Callable[[], None], seconds: float = _AGAIN_SECONDS) -> None:
        self._timer.after(seconds, lambda: self._submit(work))

    def _start(self, pod: Json, told: str = "") -> None:
        """Run a pod on a node; where none takes it, say so, and try again as long as it is there."""
        placement = Placement(pod["spec"].get("nodeName", "")) if pod["spec"].get("nodeName") else self._schedule(pod)
        if placement.node:
            self._configure(pod, self._next_address(), Setup())
            return
        if placement.reason != told:
            self._report(pod, pod_status.unscheduled(pod, placement.reason))
        if self._is_there(pod):
            self._later(lambda: self._start(pod, placement.reason))

    def _schedule(self, pod: Json) -> Placement:
        with self._scheduling:  # what a pod takes of its node counts for the next one
            there = self.api.list(_ALL_PODS) if is_choosy(pod) else ()
            placement = place(pod, [node_manifest(name) for name in _NODES], there, next(self._turns))
            if placement.node:
                self._bind(pod, placement.node)
        return placement

    def _bind(self, pod: Json, node: str) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        metadata = {"name": pod["metadata"]["name"]}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        self._tolerant("POST", f"{_path(pod)}/binding", binding)

    def _configure(self, pod: Json, address: str, before: Setup) -> None:
        """Start its containers once what they need of ConfigMaps and Secrets is there; `before` is what was told."""
        found = set_up(pod, lambda kind, name: self.api.find(path_in(pod["metadata"]["namespace"], kind, name)))
        if not (found.unmounted or found.unset):
            self._run(pod, address)
            return
        if found != before:
            self._report(pod, unconfigured(pod, found, address))
            self._tell(pod, found)
        if self._is_there(pod):
            self._later(lambda: self._configure(pod, address, found))

    def _tell(self, pod: Json, found: Setup) -> None:
        for message in found.unmounted:
            self._tolerant("POST", events(pod["metadata"]["namespace"]), event(pod, "FailedMount", message))
        for message in () if found.unmounted else found.unset.values():
            self._tolerant("POST", events(pod["metadata"]["namespace"]), event(pod, "Failed", f"Error: {message}"))

    def _run(self, pod: Json, address: str) -> None:
        serves = pod["spec"]["restartPolicy"] == "Always"
        behaviour = behaviour_of_pod(pod)
        trouble = behaviour.waiting if serves else behaviour.unpulled
        if trouble:
            self._report(pod, waiting(pod, trouble, address))
        elif not serves:
            self._work(pod, address, restarts=0)
        else:
            self._serve(pod, address)

    def _serve(self, pod: Json, address: str) -> None:
        if self._servers is not None:
            self._servers.start(pod, address)
        if self.ready_after > 0:
            self._report(pod, running(pod, ready=False, address=address))
            self._later(lambda: self._get_ready(pod, address), self.ready_after)
        else:
            self._get_ready(pod, address)

    def _get_ready(self, pod: Json, address: str) -> None:
        self._report(pod, running(pod, self._forced.get(pod["metadata"]["uid"], True), address))

    def _work(self, pod: Json, address: str, restarts: int) -> None:
        """Run the pod of a Job until its commands have ended."""
        endings = endings_of(pod, behaviour_of_pod(pod).exit_code)
        seconds = self.ready_after + max(each.after for each in endings.values())
        exits = {name: each.exit_code for name, each in endings.items()}
        self._report(pod, running(pod, True, address, restarts))
        if not math.isinf(seconds):
            self._later(lambda: self._finish(pod, address, exits, restarts), seconds)

    def _finish(self, pod: Json, address: str, exits: Mapping[str, int], restarts: int) -> None:
        if pod["spec"]["restartPolicy"] == "Never" or not any(exits.values()):
            self._report(pod, finished(pod, exits, address, restarts))
            return
        wait = RESTART_SECONDS if restarts else 0.0
        if self._report(pod, waiting(pod, "CrashLoopBackOff", address, restarts + 1)):
            self._later(lambda: self._work(pod, address, restarts + 1), wait)

    def _kill(self, pod: Json) -> None:
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        self._insist("DELETE", pod, _path(pod), options)
        if self._servers is not None:
            self._servers.end(pod)

    def _is_there(self, pod: Json) -> bool:
        """Whether this very pod still exists, not another one of its name."""
        return (self.api.find(_path(pod)) or {}).get("metadata", {}).get("uid") == pod["metadata"]["uid"]

    def _report(self, pod: Json, status: Json) -> bool:
        """Write the status; False where the pod is gone."""
        body = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        return self._insist("PATCH", pod, f"{_path(pod)}/status", body, STRATEGIC)

    def _insist(self, method: str, pod: Json, path: str, body: Json, content_type: str = JSON) -> bool:
        """Send it, and have it sent again where it lost against another writer; False where the pod is gone."""
        status = self._tolerant(method, path, body, content_type)
        if status == 409 and self._is_there(pod):
            raise _Conflict
        return status < 400

    def _tolerant(self, method: str, path: str, body: Json, content_type: str = JSON) -> int:
        """Send it; a pod that is gone meanwhile, is another one of the same name or is going, is not our business.

        Returns the HTTP code.
        """
        status, answer = self.api.request(method, path, body, content_type=content_type)
        namespace_goes = status == 403 and "being terminated" in answer.get("message", "")
        if status >= 400 and status not in {404, 409} and not namespace_goes:
            raise ApiError(f"{method} {path}", status, answer)
        return status

    def _next_address(self) -> str:
        # Not 127.x: the API server refuses loopback addresses in Endpoints and EndpointSlices.
        number = next(self._addresses)
        return f"10.{64 + (number >> 16)}.{(number >> 8) & 255}.{number & 255}"


def behaviour_of_pod(pod: Json) -> Behaviour:
    """How a pod behaves, by the first of its images that is peculiar: the table of the sandbox holds here too."""
    found = [behaviour_of(each["image"], IMAGE_RULES, 0.0) for each in pod["spec"]["containers"]]
    return next((each for each in found if each != Behaviour(ready_after=0.0)), found[0])


def running(pod: Json, ready: bool, address: str, restarts: int = 0) -> Json:
    """The status of a pod that runs, ready or not."""
    state = {"running": {"startedAt": _now()}}
    containers = [_container(each, ready, state, restarts) for each in pod["spec"]["containers"]]
    return _status("Running", ready, address, containers)


def unconfigured(pod: Json, found: Setup, address: str) -> Json:
    """The status of a pod that waits for ConfigMaps or Secrets: as the sandbox has it, with an address of ours."""
    state = State(waiting="ContainerCreating") if found.unmounted else State(unset=found.unset)
    return pod_status.status(pod, state) | {"podIP": address, "podIPs": [{"ip": address}]}


def finished(pod: Json, exits: Mapping[str, int], address: str, restarts: int) -> Json:
    """The status of a pod whose containers have ended with these codes, by their names."""
    containers = [
        _container(each, False, _ended(exits[each["name"]], each), restarts) for each in pod["spec"]["containers"]
    ]
    return _status("Failed" if any(exits.values()) else "Succeeded", False, address, containers)


def _ended(code: int, container: Json) -> Json:
    now, reason, words = _now(), "Error" if code else "Completed", last_words(container, code)
    return {"terminated": {"exitCode": code, "reason": reason, "startedAt": now, "finishedAt": now, **words}}


def waiting(pod: Json, reason: str, address: str, restarts: int = 3) -> Json:
    """The status of a pod whose containers do not come up."""
    state = {"waiting": {"reason": reason, "message": f"{reason}: by the convention of the tests"}}
    crashed = reason == "CrashLoopBackOff"
    containers = [_container(each, False, state, restarts if crashed else 0) for each in pod["spec"]["containers"]]
    if crashed:
        for each in containers:
            each |= {"lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}}
    return _status("Running" if crashed else "Pending", False, address, containers)


def _container(container: Json, ready: bool, state: Json, restarts: int) -> Json:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": ready,
        "started": ready,
        "restartCount": restarts,
        "state": state,
    }


def _status(phase: str, ready: bool, address: str, containers: list[Json]) -> Json:
    now, word = _now(), "True" if ready else "False"
    return {
        "phase": phase,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": now,
        "containerStatuses": containers,
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": now},
            {"type": "Initialized", "status": "True", "lastTransitionTime": now},
            {"type": "ContainersReady", "status": word, "lastTransitionTime": now},
            {"type": "Ready", "status": word, "lastTransitionTime": now},
        ],
    }


def _path(pod: Json) -> str:
    return f"{pods(pod['metadata']['namespace'])}/{pod['metadata']['name']}"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _raise_unexpected(done: Future[None]) -> None:
    error = None if done.cancelled() else done.exception()
    if error is not None:
        raise error  # concurrent.futures logs it


class _Timer:
    """Runs small callables at their time, on one thread."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="kubelet-timer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def after(self, seconds: float, work: Callable[[], None]) -> None:
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._order), work))
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._stopped and (not self._due or self._due[0][0] > time.monotonic()):
                    self._changed.wait(self._due[0][0] - time.monotonic() if self._due else None)
                if self._stopped:
                    return
                work = heapq.heappop(self._due)[2]
            work()
