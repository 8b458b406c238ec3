"""The status of a ReleaseGroup: the record, and what people and tools read beside it. Pure; saves nothing."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.groups.decision import GroupDecision
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.codec import from_json, to_json
from gitops_bg.spec.status import moment_of


def load_group_record(body: Object | None) -> GroupRecord:
    """The record in a live ReleaseGroup. Raises `InvalidInput` where somebody damaged it: nothing is guessed."""
    record = ((body or {}).get("status") or {}).get("record")
    if record is None:
        return GroupRecord()
    try:
        return from_json(GroupRecord, record, "status.record")
    except InvalidInput as error:
        name = (body or {}).get("metadata", {}).get("name", "")
        remedy = "kubectl delete releasegroup, to have it made again from Git: routes and Services stay as they are"
        raise InvalidInput(*error.problems, Problem(f"ReleaseGroup {name}", "has no record", remedy=remedy)) from error


def group_status(body: Object, decision: GroupDecision, commit: str, now: datetime) -> dict[str, Any]:
    """The whole status."""
    generation = body["metadata"].get("generation", 0)
    state, moving = decision.record.state, decision.record.transition
    status: dict[str, Any] = {
        "observedGeneration": generation,
        "phase": decision.phase.value,
        "active": state.only(VersionStage.ACTIVE),
        "legacy": state.only(VersionStage.LEGACY),
        "candidates": list(state.at(VersionStage.CANDIDATE)),
        "versions": [
            {
                "name": each.name,
                "stage": each.stage.value,
                "changedAt": moment_of(each.changed_at),
                "services": sorted(
                    member_name(part.service, part.initial_version)
                    for part in state.endpoints
                    if part.version == each.name
                ),
            }
            for each in state.versions
        ],
        "gates": [
            {"kind": gate.kind, "open": gate.open, "reason": gate.reason, "until": moment_of(gate.until)}
            for gate in decision.gates
        ],
        "conditions": list(
            _conditions(((body.get("status") or {}).get("conditions")) or [], decision, generation, now)
        ),
        "commit": commit,
    }
    if moving is not None:
        status["transition"] = {
            "kind": moving.kind.value,
            "from": moving.source,
            "to": moving.target,
            "step": moving.step.value,
            "startedAt": moment_of(moving.started_at),
            "withdrawn": moving.withdrawn,
        }
    said: dict[str, Any] = _without_empty(status)
    return {**said, "record": to_json(decision.record)}


def _conditions(
    live: list[Object], decision: GroupDecision, generation: int, now: datetime
) -> Iterator[dict[str, Any]]:
    before = {each.get("type"): each for each in live}
    for condition in decision.conditions:
        word = _WORDS[condition.status]
        last = before.get(condition.type, {})
        since = last.get("lastTransitionTime") if last.get("status") == word else None
        yield {
            "type": condition.type,
            "status": word,
            "reason": condition.reason,
            "message": condition.message,
            "lastTransitionTime": since or moment_of(now),
            "observedGeneration": generation,
        }


_WORDS = {True: "True", False: "False", None: "Unknown"}


def _without_empty(value: Any) -> Any:
    """Without what says nothing: a status is read by people."""
    if isinstance(value, dict):
        return {key: _without_empty(each) for key, each in value.items() if each not in (None, "", [])}
    return [_without_empty(each) for each in value] if isinstance(value, list) else value
