"""The record and the visible status of a BlueGreenDeployment: parsed and rendered. Pure; saves nothing.

``status.record`` is the agent's memory, for nobody else to read; the rest is derived from it for kubectl. An older
CustomResourceDefinition drops fields that it does not know: what it keeps is remembered, since every look would write
the dropped ones again, for ever.
"""

import logging
import threading
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.manifests.stored_record import RECORD, packed, unpacked
from gitops_bg.cluster.observation.states import AppState
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_json import PackedJson, reread_json
from gitops_bg.core.foreign_text import read_moment
from gitops_bg.core.model.analysis import Analyses, AnalysisRun, MetricRun
from gitops_bg.core.model.conditions import OF_THE_PHASE, READY, Condition, Phase
from gitops_bg.core.model.decision import Decision, GateResult, NamedInMain, Wait
from gitops_bg.core.model.journal import PullRequest, PullState
from gitops_bg.core.model.record import Record, Rollout
from gitops_bg.core.model.version import AppKey, Stage, Version
from gitops_bg.core.status.alike import FIELDS, RecordUnreadable, while_broken
from gitops_bg.core.status.deadlines import DRAINING
from gitops_bg.spec import status as shown
from gitops_bg.spec.codec import from_json, to_json
from gitops_bg.spec.status import moment_of


def runs_of(record: Record) -> tuple[shown.AnalysisRunStatus, ...]:
    """Return `status.analysisRuns`: the last run of each stage and the remembered ones before, the newest first."""

    def shown_of(run: AnalysisRun) -> shown.AnalysisRunStatus:
        version = record.version(run.digest)
        return shown.AnalysisRunStatus(version=version.number if version else None, **facts_of(run))

    return tuple(map(shown_of, newest_first(record.analyses)))


def newest_first(analyses: Analyses) -> list[AnalysisRun]:
    """Return the last run of each stage, and those before."""
    return sorted((*analyses.runs, *analyses.past), key=_newest_first)


def _newest_first(run: AnalysisRun) -> tuple[int, str, int]:
    return -run.rollout, run.stage, -run.attempt


def facts_of(run: AnalysisRun) -> dict[str, Any]:
    """Return the fields of a run in the status, but for its version."""
    return {
        "stage": str(run.stage),
        "rollout": run.rollout,
        "attempt": run.attempt,
        "phase": str(run.phase),
        "started_at": moment_of(run.started_at),
        "finished_at": moment_of(run.finished_at),
        "labels": dict(run.labels) or None,
        "annotations": dict(run.annotations) or None,
        "metrics": tuple(_metric(one) for one in run.metrics),
    }


def _metric(one: MetricRun) -> shown.MetricStatus:
    last = one.measurements[-1] if one.measurements else None
    return shown.MetricStatus(
        name=one.metric.name,
        phase=str(one.phase),
        count=one.metric.count,
        successful=one.successful,
        failed=one.failed,
        inconclusive=one.inconclusive,
        error=one.error,
        dry_run=one.metric.dry_run or None,
        terminated=one.terminated or None,
        value=(last.value if last else "") or None,
        message=(last.message if last else "") or None,
        measured_at=moment_of(one.last_at),
    )


_REASONS = {
    Phase.ADOPTING: "Adopting",
    Phase.INVALID: "InvalidSpec",
    Phase.SUSPENDED: "Suspended",
    Phase.DEGRADED: "Healthy",
    Phase.SCALED_TO_ZERO: "Healthy",
    Phase.HELD: "OnHold",
}
"""The condition that explains a phase; other phases are explained by a gate, or need no explanation."""

_WORDS = {True: "True", False: "False", None: "Unknown"}

WHILE_COUNTED, WHILE_NOTED = timedelta(seconds=1), timedelta(minutes=1)
"""How long a status may wait where only pods were counted, and where only notes are new."""
_RECORDS_AT_HAND = 256
"""How many records are kept as they were read: those of the apps that are looked at, ten times each on their way."""
_COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")


def load(state: AppState | None) -> Record:
    """Return the record in the status; the empty one where there is none yet.

    Raises `RecordUnreadable` where an agent of another release wrote one that this one cannot read.
    """
    return record_in(state.status.read()) if state is not None else Record()


def record_in(status: Object) -> Record:
    """Return the record in a parsed status; the empty one where there is none that an agent wrote. Raises as `load`."""
    stored = status.get(RECORD)
    return _record_of(stored) if isinstance(stored, str) else Record()


@lru_cache(maxsize=_RECORDS_AT_HAND)
def _record_of(stored: str) -> Record:
    record = unpacked({RECORD: stored})
    try:
        return from_json(Record, record) if record else Record()
    except InvalidInput as error:
        said = f"the record in the status of this app is of a release that this one cannot read: {error}"
        raise RecordUnreadable(said) from error


def status_of(generation: int, live: Object, decision: Decision, now: datetime) -> Object:
    """Return the whole status for ``decision``; equal to ``live``, the present one, where nothing changed.

    ``generation`` is that of the spec; ``now`` becomes the transition time of the conditions that change.
    """
    record = decision.record
    active = record.version(record.routing.traffic)
    coming = [version for version in record.versions if version.stage is Stage.CANDIDATE and not version.retiring]
    candidate = coming[-1] if coming else None
    named, counts = candidate or active, decision.counts
    said = shown.Status(
        observed_generation=generation,
        phase=str(decision.phase),
        message=_message(decision),
        environment=decision.environment or None,
        commit=named.source.commit if named else None,
        target=_named(decision.target),
        primary=_named(decision.primary),
        active=_summary(active),
        preview=_summary(record.version(record.routing.preview)),
        candidate=_summary(candidate),
        desired_replicas=counts.desired,
        replicas=counts.current,
        updated_replicas=counts.updated,
        ready_replicas=counts.ready,
        available_replicas=counts.available,
        rollouts=tuple(map(rollout_of, _last(record.rollouts))),
        analysis_runs=runs_of(record) or None,
        pull_request=pull_request(decision.pull),
        gates=tuple(gate_of(gate) for gate in decision.gates),
        waits=tuple(_wait(wait) for wait in decision.waits),
    )
    handled = _handled(live, decision)
    conditions = list(conditions_with_times(_live_conditions(live), decision.conditions, generation, now))
    answered = {"handledLook": handled} if handled else {}
    return {**said.stored(), **answered, "conditions": conditions, RECORD: _stored(record, live)}


def _stored(record: Record, live: Object) -> str:
    """Return the text that stores a record: that of the ``live`` status, where it stores the same."""
    stored = live.get(RECORD)
    if isinstance(stored, str) and _record_of(stored) == record:
        return stored
    return packed(to_json(record))


def _handled(live: Object, decision: Decision) -> Object | None:
    """Return the answer to who asked for a look; the present one where that was given already: each request has one
    answer.
    """
    before = live.get("handledLook")
    known, new = before if isinstance(before, dict) else None, decision.handled
    if new is None or (known and known.get("request") == new.request):
        return known
    return shown.HandledPollStatus(request=new.request, commit=new.commit, contains=new.contains).stored()


def differs_in_process_view_only(live: Object, status: Object) -> bool:
    """Return whether the two statuses differ only in what the writing process alone sees (``core.status.alike``)."""
    return _in_common(live) == _in_common(status)


def patience(live: Object, status: Object) -> timedelta | None:
    """Return how long a status may wait for the next one, by all that it shows beside the record; None: not at all.

    A moment where pods are counted: they come and go one by one. Longer where only notes are new
    (``core.model.decision``): that endpoints have followed, and that the rollout is complete.
    """
    if _but_for_notes(live) != _but_for_notes(status):
        return None
    return WHILE_NOTED if _counts(live) == _counts(status) else WHILE_COUNTED


def _but_for_notes(status: Object) -> Object:
    waits = [each for each in _objects(status, "waits") if each.get("gate") != DRAINING]
    rollouts = [{**each, "settledAt": None} for each in _objects(status, "rollouts")]
    return {**status, **dict.fromkeys(_COUNTS), "record": None, "waits": waits, "rollouts": rollouts}


def _objects(status: Object, field: str) -> list[Object]:
    """Return the objects in a list of a status: somebody else may have written there."""
    found = status.get(field)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _counts(status: Object) -> list[object]:
    return [status.get(field) for field in _COUNTS]


def _in_common(status: Object) -> Object:
    return {key: value for key, value in status.items() if key not in FIELDS}


def with_condition(status: Object, generation: int, condition: Condition, now: datetime) -> Object:
    """Return a merge patch that adds one condition to the present ones, and shows by the phase that something is wrong.

    It reads only the conditions of the status, and only valid ones: nothing else may be sound.
    """
    live = _live_conditions(status)
    said = (*while_broken({each["type"] for each in live}, condition), condition)
    *implied, ours = conditions_with_times(live, said, generation, now)
    others = [each for each in live if each["type"] not in (*OF_THE_PHASE, condition.type)]
    return {"phase": str(Phase.DEGRADED), "message": condition.message, "conditions": [*implied, *others, ours]}


def since(state: AppState, kind: str) -> datetime | None:
    """Return since when a condition of the status has its value; None where the status does not say."""
    said = next((each for each in _live_conditions(state.status.read()) if each["type"] == kind), {}).get(
        "lastTransitionTime"
    )
    try:
        return read_moment(said)
    except ValueError:
        return None


def _live_conditions(status: Object) -> list[Object]:
    """Return the valid conditions in a status: somebody else may have written there."""
    found = status.get("conditions")
    return [each for each in found if _is_condition(each)] if isinstance(found, list) else []


def _is_condition(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("type"), str) and isinstance(value.get("status"), str)


def _named(named: NamedInMain | None) -> shown.NamedStatus | None:
    return shown.NamedStatus(digest=named.digest, commit=named.commit) if named else None


def _summary(version: Version | None) -> shown.VersionStatus | None:
    """Return what the printer columns show of a version."""
    if version is None:
        return None
    return shown.VersionStatus(
        version=version.number,
        name=version.name,
        color=str(version.color),
        digest=version.digest,
        commit=version.source.commit,
        image=", ".join(_images(version)),
        release=version.release.name if version.release else None,
    )


def _last(rollouts: tuple[Rollout, ...]) -> Iterator[Rollout]:
    """Yield the rollouts that are under way, and the last that ended; newest first. All others are history's to
    show.
    """
    has_ended = False
    for rollout in reversed(rollouts):
        if rollout.outcome is None or not has_ended:
            yield rollout
        has_ended = has_ended or rollout.outcome is not None


def rollout_of(rollout: Rollout) -> shown.RolloutStatus:
    """Return a rollout for a status: the counterpart of Argo Rollouts' `status.duration` (argo-rollouts.md §4)."""
    return shown.RolloutStatus(
        number=rollout.number,
        version=rollout.version,
        digest=rollout.digest,
        started_at=moment_of(rollout.started_at),
        available_at=moment_of(rollout.available_at),
        promoted_at=moment_of(rollout.promoted_at),
        switched_at=moment_of(rollout.switched_at),
        settled_at=moment_of(rollout.settled_at),
        finished_at=moment_of(rollout.finished_at),
        waiting_since=moment_of(rollout.waiting_since),
        waited_seconds=rollout.waited_seconds,
        commit=rollout.commit or None,
        outcome=str(rollout.outcome) if rollout.outcome else None,
    )


def pull_request(pull: PullRequest | None) -> shown.PullRequestStatus | None:
    """Return what the status shows of a pull request; nothing of a merged one."""
    if pull is None or pull.state is PullState.MERGED:
        return None
    state, by = str(pull.state), pull.closed_by or None
    return shown.PullRequestStatus(number=pull.number, url=pull.url, state=state, closed_by=by)


def pull_in(status: Mapping[str, Any]) -> PullRequest | None:
    """Return the pull request in a status, of an app or a group; the forge has not been asked since."""
    said = status.get("pullRequest")
    if not isinstance(said, dict) or not isinstance(said.get("number"), int) or said.get("state") not in set(PullState):
        return None
    url, by = str(said.get("url") or ""), str(said.get("closedBy") or "")
    return PullRequest(said["number"], url, PullState(said["state"]), closed_by=by)


def _images(version: Version) -> Iterator[str]:
    template = reread_json(version.snapshot.text) if version.snapshot.text else {}
    for container in (template.get("spec") or {}).get("containers") or []:
        yield container.get("image", "")


def _message(decision: Decision) -> str:
    """Return the one sentence beside the phase: of the condition that explains it, the first shut gate, or what Ready
    says.
    """
    conditions = {condition.type: condition.message for condition in decision.conditions}
    why = conditions.get(_REASONS.get(decision.phase, ""), "")
    shut = [gate.reason for gate in decision.gates if not gate.open]
    lacking = [conditions[READY]] if decision.phase is not Phase.HEALTHY and READY in conditions else []
    return why or next(iter([*shut, *lacking, *conditions.values()]), "")


def conditions_with_times(
    live: list[Object], conditions: tuple[Condition, ...], generation: int, now: datetime
) -> Iterator[Object]:
    """Return conditions as a status stores them (metav1.Condition), each with the time when its status last changed.
    As JSON at once: every look makes all of them.
    """
    before, at_once = {each["type"]: each for each in live}, moment_of(now)
    for condition in conditions:
        word = _WORDS[condition.status]
        last = before.get(condition.type, {})
        since = last.get("lastTransitionTime") if last.get("status") == word else None
        yield {
            "type": condition.type,
            "status": word,
            "reason": condition.reason,
            "message": condition.message,
            "lastTransitionTime": since if isinstance(since, str) else at_once,
            "observedGeneration": generation,
        }


def gate_of(gate: GateResult) -> shown.Gate:
    """Return a gate for a status."""
    return shown.Gate(kind=str(gate.kind), open=gate.open, reason=gate.reason, until=moment_of(gate.until))


def _wait(wait: Wait) -> shown.WaitStatus:
    return shown.WaitStatus(gate=wait.gate, version=wait.version, reason=wait.reason, until=moment_of(wait.until))


_LOG = logging.getLogger(__name__)


class PrunedStatus:
    """Remembers, for each app, the last status that came back changed. Each app has one thread at a time."""

    def __init__(self) -> None:
        self._cut: dict[AppKey, tuple[Object, Object]] = {}
        self._told: set[str] = set()

    def says(self, app: AppKey, live: Object, status: Object) -> bool:
        """Return whether ``live`` is everything that the API server keeps of ``status``."""
        return live == status or self._cut.get(app) == (status, live)

    def came_back(self, app: AppKey, status: Object, answer: Object) -> None:
        """Note how a status came back; log dropped fields once."""
        if status == answer:
            self._cut.pop(app, None)
            return
        self._cut[app] = (status, answer)
        dropped = set(_lost("status", status, answer)) - self._told
        if dropped:
            self._told |= dropped
            _LOG.warning(
                "%s: the API server does not keep %s: the CustomResourceDefinition is not that of this agent; "
                "kubectl apply -f deploy/crd.yaml",
                app,
                ", ".join(sorted(dropped)),
            )


def _lost(path: str, sent: object, kept: object) -> Iterator[str]:
    """Yield the fields in ``sent`` that ``kept`` lacks or changed; of a dropped subtree, its root."""
    if isinstance(sent, dict) and isinstance(kept, dict):
        for name, value in sent.items():
            yield from _lost(f"{path}.{name}", value, kept[name]) if name in kept else (f"{path}.{name}",)
    elif isinstance(sent, list) and isinstance(kept, list) and len(sent) == len(kept):
        for one, other in zip(sent, kept, strict=True):
            yield from _lost(f"{path}[]", one, other)
    elif sent != kept:
        yield path


class LastStatus(threading.local):
    """One for each thread, so that it holds few."""

    def __init__(self) -> None:
        self._packed: PackedJson | None = None
        self._status: Object = {}

    def of(self, state: AppState) -> Object:
        """Return the status of an app. Whoever gets it changes nothing in it: the next one gets the same."""
        if state.status is not self._packed:
            self._packed, self._status = state.status, state.status.read()
        return self._status
