"""The record and what people see of it, there and back: the status of a BlueGreenDeployment. Pure; saves nothing.

``status.record`` is the agent's memory, for nobody else to read; the rest is made from it for kubectl.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.observation.states import AppState
from gitops_bg.cluster.reporting.analysis_status import runs_of
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.decision import Condition, Counts, Decision, GateResult, Phase, Wait
from gitops_bg.core.model.record import Record, Rollout
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.core.status.internal_error import STATUS_WHILE_BROKEN, RecordUnreadable
from gitops_bg.core.status.process_view import FIELDS
from gitops_bg.core.text.foreign_json import read_json, reread_json
from gitops_bg.spec.codec import from_json, to_json

_REASONS = {
    Phase.INVALID: "InvalidSpec",
    Phase.SUSPENDED: "Suspended",
    Phase.DEGRADED: "Healthy",
    Phase.SCALED_TO_ZERO: "Healthy",
    Phase.HELD: "OnHold",
}
"""The condition that says why an app is in a phase; in the others it is a gate, or there is nothing to say."""


def load(state: AppState | None) -> Record:
    """The record in the status; the empty one where there is none yet.

    Raises `RecordUnreadable` where somebody else wrote into it what is no record.
    """
    status = reread_json(state.status) if state is not None else {}
    record = status.get("record")
    try:
        return from_json(Record, record) if record else Record()
    except InvalidInput as error:
        raise RecordUnreadable(f"the record in the status of this app cannot be read: {error}") from error


def status_of(state: AppState, decision: Decision, now: datetime) -> Object:
    """The whole status that says ``decision``; equal to the present one where nothing changed.

    ``now`` becomes the time of transition of the conditions that change.
    """
    record = decision.record
    active = record.version(record.routing.traffic)
    coming = [version for version in record.versions if version.stage is Stage.CANDIDATE and not version.retiring]
    candidate = coming[-1] if coming else None
    named = candidate or active
    status: Object = {
        "observedGeneration": state.generation,
        "phase": str(decision.phase),
        "message": _message(decision),
        "commit": named.source.commit if named else None,
        "target": to_json(decision.target) if decision.target else None,
        "primary": to_json(decision.primary) if decision.primary else None,
        "active": _summary(active),
        "preview": _summary(record.version(record.routing.preview)),
        "candidate": _summary(candidate),
        **_counts(decision.counts),
        "rollouts": [_rollout(one) for one in reversed(record.rollouts)],
        "analysisRuns": runs_of(record) or None,
        "conditions": list(_conditions(reread_json(state.status), decision.conditions, state.generation, now)),
        "gates": [_gate(gate) for gate in decision.gates],
        "waits": [_wait(wait) for wait in decision.waits],
        "record": to_json(record),
    }
    return {key: value for key, value in status.items() if value is not None}


def differs_in_process_view_only(live: Object, status: Object) -> bool:
    """Whether the two say the same but for what only the process that writes sees (``core.status.process_view``)."""
    return _in_common(live) == _in_common(status)


def _in_common(status: Object) -> Object:
    return {key: value for key, value in status.items() if key not in FIELDS}


def with_condition(state: AppState, condition: Condition, now: datetime) -> Object:
    """A merge patch that puts one condition beside those there are, and says by the phase that something is wrong.

    It reads nothing of the status but its conditions, and of these only what has their form: nothing else may be sound.
    """
    status = reread_json(state.status)
    found = status.get("conditions")
    others = [each for each in found if _is_condition(each)] if isinstance(found, list) else []
    implied = [replace(condition, type=kind, status=value) for kind, value in STATUS_WHILE_BROKEN.items()]
    known = {each["type"] for each in others}
    said = (condition, *(each for each in implied if each.type in known))
    made = {each["type"]: each for each in _conditions({"conditions": others}, said, state.generation, now)}
    ours = made.pop(condition.type)
    kept = [made.get(each["type"], each) for each in others if each["type"] != condition.type]
    return {"phase": str(Phase.DEGRADED), "message": condition.message, "conditions": [*kept, ours]}


def since(state: AppState, kind: str) -> datetime | None:
    """Since when a condition of the status is as it is; None where it says nothing."""
    found = reread_json(state.status).get("conditions")
    shown = [each for each in found if _is_condition(each)] if isinstance(found, list) else []
    said = next((each.get("lastTransitionTime") for each in shown if each["type"] == kind), None)
    return datetime.fromisoformat(said) if isinstance(said, str) else None


def _is_condition(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("type", "status"))


def _summary(version: Version | None) -> Object | None:
    """What the printer columns show of a version."""
    if version is None:
        return None
    return {
        "version": version.number,
        "color": str(version.color),
        "digest": version.digest,
        "commit": version.source.commit,
        "image": ", ".join(_images(version)),
    }


def _counts(counts: Counts) -> Object:
    """As every workload of Kubernetes has them; `readyReplicas` and `availableReplicas` are those of live traffic."""
    return {
        "desiredReplicas": counts.desired,
        "replicas": counts.current,
        "updatedReplicas": counts.updated,
        "readyReplicas": counts.ready,
        "availableReplicas": counts.available,
    }


def _rollout(rollout: Rollout) -> Object:
    """What `status.duration` is in Argo Rollouts, of the last few rollouts (argo-rollouts.md §4)."""
    moments = {
        "startedAt": rollout.started_at,
        "availableAt": rollout.available_at,
        "promotedAt": rollout.promoted_at,
        "switchedAt": rollout.switched_at,
        "settledAt": rollout.settled_at,
        "finishedAt": rollout.finished_at,
        "waitingSince": rollout.waiting_since,
    }
    shown = {
        "number": rollout.number,
        "version": rollout.version,
        "digest": rollout.digest,
        **{name: _time(moment) for name, moment in moments.items() if moment},
        "waitedSeconds": rollout.waited_seconds,
        "commit": rollout.commit or None,
        "outcome": str(rollout.outcome) if rollout.outcome else None,
    }
    return {key: value for key, value in shown.items() if value is not None}


def _images(version: Version) -> Iterator[str]:
    template = read_json(version.snapshot.text) if version.snapshot.text else {}
    for container in (template.get("spec") or {}).get("containers") or []:
        yield container.get("image", "")


def _message(decision: Decision) -> str:
    """The one sentence beside the phase: of the condition that is its reason, or the first shut gate."""
    conditions = {condition.type: condition.message for condition in decision.conditions}
    why = conditions.get(_REASONS.get(decision.phase, ""), "")
    shut = [gate.reason for gate in decision.gates if not gate.open]
    return why or next(iter([*shut, *conditions.values()]), "")


def _conditions(status: Object, conditions: tuple[Condition, ...], generation: int, now: datetime) -> Iterator[Object]:
    """https://kubernetes.io/docs/reference/using-api/api-concepts/ and metav1.Condition: time of the last flip."""
    before = {each["type"]: each for each in status.get("conditions") or [] if _is_condition(each)}
    for condition in conditions:
        word = {True: "True", False: "False", None: "Unknown"}[condition.status]
        last = before.get(condition.type, {})
        since = last.get("lastTransitionTime") if last.get("status") == word else None
        yield {
            "type": condition.type,
            "status": word,
            "reason": condition.reason,
            "message": condition.message,
            "lastTransitionTime": since or _time(now),
            "observedGeneration": generation,
        }


def _gate(gate: GateResult) -> Object:
    shown = {"kind": str(gate.kind), "open": gate.open, "reason": gate.reason}
    return shown | ({"until": _time(gate.until)} if gate.until else {})


def _wait(wait: Wait) -> Object:
    shown = {"gate": wait.gate, "version": wait.version, "commit": wait.commit, "reason": wait.reason}
    return shown | ({"until": _time(wait.until)} if wait.until else {})


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
