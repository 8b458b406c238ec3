"""The Job controller: as many pods as it takes until enough have succeeded or too many failed. It must run none.

Rules: kubernetes `pkg/controller/job/job_controller.go`, and `pkg/controller/ttlafterfinished` for the end. Left out,
because nothing here uses it: indexed completion, pod failure policies, success policies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass

from gitops_bg.sandbox.controllers.loop import Loop
from gitops_bg.sandbox.controllers.pod_status import restarts_of
from gitops_bg.sandbox.http.errors import ApiError
from gitops_bg.sandbox.http.watches import DELETED, WatchEvent
from gitops_bg.sandbox.objects.kinds import JOBS, PODS, ResourceKey
from gitops_bg.sandbox.objects.objects import (
    Manifest,
    age_of,
    controller_of,
    copy_of,
    dig,
    is_pod_ready,
    key_of,
    timestamp,
)
from gitops_bg.sandbox.objects.store import ObjectKey
from gitops_bg.sandbox.verbs.deleting import Deletion, delete
from gitops_bg.sandbox.verbs.writing import Options, Writer

_MANAGER = "kube-controller-manager"
_LONGEST_BACKOFF = 360.0
_FAILURES = {
    "BackoffLimitExceeded": "Job has reached the specified backoff limit",
    "DeadlineExceeded": "Job was active longer than specified deadline",
}


@dataclass(frozen=True, slots=True)
class _Tally:
    """The pods of a Job: the living ones, and how many ended each way, including deleted ones."""

    living: tuple[Manifest, ...]
    succeeded: int
    failed: int


class Jobs:
    """Creates and deletes the pods of Jobs; `backoff` is how many seconds the first failed pod delays the next one."""

    def __init__(self, writer: Writer, loop: Loop, backoff: float = 10.0) -> None:
        self._writer = writer
        self._store = writer.store
        self._loop = loop
        self._backoff = backoff
        self._names: dict[str, ObjectKey] = {}
        self._pods: defaultdict[str, dict[ObjectKey, str]] = defaultdict(dict)
        """By the uid of the Job: the key of every pod it had, with the phase in which it ended (empty: not yet)."""

    def notice(self, resource: ResourceKey, change: WatchEvent) -> None:
        """Queue the Job that changed, or whose pod changed."""
        obj = change.current.obj
        if resource == JOBS:
            self._notice_job(change)
        elif resource == PODS and (owner := controller_of(obj)) and owner["kind"] == "Job":
            self._notice_pod(owner["uid"], change)

    def _notice_job(self, change: WatchEvent) -> None:
        obj = change.current.obj
        uid = obj["metadata"]["uid"]
        if change.type == DELETED:
            self._names.pop(uid, None)
            self._pods.pop(uid, None)
        else:
            self._names[uid] = key_of(obj)
            self._loop.put(self, key_of(obj))

    def _notice_pod(self, uid: str, change: WatchEvent) -> None:
        pods, key = self._pods[uid], key_of(change.current.obj)
        phase = str(dig(change.current.obj, ("status", "phase"), ""))
        if phase in ("Succeeded", "Failed"):
            pods[key] = phase
        elif change.type == DELETED:
            pods.pop(key, None)
        else:
            pods.setdefault(key, "")
        if uid in self._names:
            self._loop.put(self, self._names[uid])

    def reconcile(self, key: Hashable) -> None:
        """Bring one Job closer to its end; delete it when its time after that is over."""
        found = self._store.get(JOBS, key)  # type: ignore[arg-type]
        if found is None or "deletionTimestamp" in found.obj["metadata"]:
            return
        if _is_finished(found.obj):
            self._clean_up(found.obj)
        elif found.obj["spec"].get("suspend"):
            self._suspend(found.obj)
        else:
            self._work(found.obj)

    def _work(self, job: Manifest) -> None:
        """Check the results of the pods; finish the Job or go on."""
        status = self._started(job)
        tally = self._tally(job)
        counts = {"succeeded": tally.succeeded, "failed": tally.failed}
        reason = self._failure({**job, "status": status}, tally)
        if reason:
            self._end_pods(tally)
            counts["failed"] += len(tally.living)
            self._report(job, {**status, "conditions": _with(status, "Failed", reason)}, counts)
        elif _is_complete(job, tally):
            ended = {"completionTime": timestamp(), "conditions": _with(status, "Complete")}
            self._report(job, {**status, **ended}, counts)
        else:
            living = self._scale(job, tally)
            ready = sum(map(is_pod_ready, tally.living))
            self._report(job, status, {**counts, "active": living, "ready": ready})

    def _started(self, job: Manifest) -> Manifest:
        """Return the status with its start; the end of a suspension restarts the clock."""
        status = dict(job.get("status") or {})
        suspended = any(c["type"] == "Suspended" and c["status"] == "True" for c in status.get("conditions") or ())
        if suspended:
            status["conditions"] = _with(status, "Suspended", "JobResumed", said="False")
        if suspended or "startTime" not in status:
            status["startTime"] = timestamp()
        return status

    def _tally(self, job: Manifest) -> _Tally:
        with self._store.lock:
            pods = dict(self._pods[job["metadata"]["uid"]])
            found = [self._store.get(PODS, key) for key, ended in pods.items() if not ended]
        living = tuple(pod.obj for pod in found if pod and "deletionTimestamp" not in pod.obj["metadata"])
        ends = list(pods.values())
        return _Tally(living, ends.count("Succeeded"), ends.count("Failed"))

    def _failure(self, job: Manifest, tally: _Tally) -> str:
        """Return the reason why a Job has failed; empty where it has not."""
        spec, limit = job["spec"], job["spec"]["backoffLimit"]
        restarts = sum(map(restarts_of, tally.living))
        if tally.failed > limit or restarts >= max(limit, 1):
            return "BackoffLimitExceeded"
        deadline = spec.get("activeDeadlineSeconds")
        if deadline is None:
            return ""
        left = deadline - age_of(job["status"]["startTime"])
        if left > 0:
            self._loop.put(self, key_of(job), after=left)
        return "" if left > 0 else "DeadlineExceeded"

    def _scale(self, job: Manifest, tally: _Tally) -> int:
        """Create missing pods, delete surplus ones; return how many live then."""
        wanted, living = _wanted(job, tally), len(tally.living)
        for pod in tally.living[wanted:]:
            self._delete(pod)
        if living < wanted and self._may_retry(job, tally):
            for _ in range(wanted - living):
                self._create(job)
            return wanted
        return min(wanted, living)

    def _may_retry(self, job: Manifest, tally: _Tally) -> bool:
        """Return whether the wait after the last failure is over; if not, schedule a check."""
        if not tally.failed:
            return True
        wait = min(self._backoff * 2.0 ** (tally.failed - 1), _LONGEST_BACKOFF)
        left = wait - min(map(age_of, self._ends_of_failures(job)), default=wait)
        if left > 0:
            self._loop.put(self, key_of(job), after=left)
        return left <= 0

    def _ends_of_failures(self, job: Manifest) -> list[str]:
        failed = [key for key, phase in self._pods[job["metadata"]["uid"]].items() if phase == "Failed"]
        pods = [stored.obj for key in failed if (stored := self._store.get(PODS, key))]
        statuses = [dig(pod, ("status", "containerStatuses"), []) for pod in pods]
        return [str(dig(one, ("state", "terminated", "finishedAt"), timestamp())) for each in statuses for one in each]

    def _create(self, job: Manifest) -> None:
        template, owner = job["spec"]["template"], job["metadata"]
        metadata = {k: copy_of(v) for k, v in (template.get("metadata") or {}).items() if k != "creationTimestamp"}
        metadata["generateName"] = f"{owner['name']}-"
        reference = {"apiVersion": "batch/v1", "kind": "Job", "name": owner["name"], "uid": owner["uid"]}
        metadata["ownerReferences"] = [{**reference, "controller": True, "blockOwnerDeletion": True}]
        body = {"metadata": metadata, "spec": copy_of(template["spec"])}
        self._writer.create(self._writer.kinds.of(PODS), owner["namespace"], body, Options(manager=_MANAGER))

    def _delete(self, obj: Manifest, resource: ResourceKey = PODS, propagation: str = "") -> None:
        try:
            delete(self._store, self._writer.kinds.of(resource), *key_of(obj), Deletion(propagation=propagation))
        except ApiError as error:
            if error.code != 404:
                raise

    def _end_pods(self, tally: _Tally) -> None:
        for pod in tally.living:
            self._delete(pod)

    def _suspend(self, job: Manifest) -> None:
        tally, status = self._tally(job), dict(job.get("status") or {})
        self._end_pods(tally)
        status.pop("startTime", None)
        status["conditions"] = _with(status, "Suspended", "JobSuspended")
        self._report(job, status, {"succeeded": tally.succeeded, "failed": tally.failed})

    def _report(self, job: Manifest, status: Manifest, counts: dict[str, int]) -> None:
        kept = {key: value for key, value in status.items() if key not in ("active", "ready", "succeeded", "failed")}
        wanted = kept | {name: number for name, number in counts.items() if number}
        if wanted != job.get("status"):
            self._writer.edit_status(self._writer.kinds.of(JOBS), job, wanted, _MANAGER)

    def _clean_up(self, job: Manifest) -> None:
        limit = job["spec"].get("ttlSecondsAfterFinished")
        if limit is None:
            return
        left = limit - min(age_of(each["lastTransitionTime"]) for each in job["status"]["conditions"])
        if left > 0:
            self._loop.put(self, key_of(job), after=left)
        else:
            self._delete(job, JOBS, "Foreground")


def _is_finished(job: Manifest) -> bool:
    conditions = dig(job, ("status", "conditions"), [])
    return any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in conditions)


def _is_complete(job: Manifest, tally: _Tally) -> bool:
    wanted = job["spec"].get("completions")
    if wanted is None:
        return tally.succeeded > 0 and not tally.living
    return bool(tally.succeeded >= wanted)


def _wanted(job: Manifest, tally: _Tally) -> int:
    """Return how many pods are to live now; without `completions` the first success ends the need for more."""
    spec = job["spec"]
    if spec.get("completions") is None:
        return len(tally.living) if tally.succeeded else int(spec["parallelism"])
    return max(0, min(int(spec["parallelism"]), int(spec["completions"]) - tally.succeeded))


def _with(status: Manifest, kind: str, reason: str = "", said: str = "True") -> list[Manifest]:
    """Return the conditions with this one set, and since when, unless it was set already."""
    held = [c for c in status.get("conditions") or [] if (c["type"], c["status"]) == (kind, said)]
    if held:
        return list(status["conditions"])
    now = timestamp()
    condition: Manifest = {"type": kind, "status": said, "lastProbeTime": now, "lastTransitionTime": now}
    if reason:
        condition |= {"reason": reason, "message": _FAILURES.get(reason, reason)}
    return [*(c for c in status.get("conditions") or [] if c["type"] != kind), condition]
