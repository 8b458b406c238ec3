"""The status of a ReleaseGroup: the record, and what people and tools read beside it. Pure; saves nothing."""

from datetime import datetime
from functools import partial
from typing import Any

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.manifests.stored_record import packed, unpacked
from gitops_bg.cluster.reporting.analysis_status import facts_of, newest_first
from gitops_bg.cluster.reporting.status import conditions_with_times, gate_of, pull_request
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.groups.model import GroupState, GroupVersion, VersionStage
from gitops_bg.core.groups.record import GroupDecision, GroupMove, GroupRecord, Transition
from gitops_bg.core.groups.subject import version_of
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.analysis import AnalysisRun
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.journal import PullRequest
from gitops_bg.spec.codec import from_json, to_json
from gitops_bg.spec.groups import status as shown
from gitops_bg.spec.status import moment_of


def load_group_record(body: Object | None) -> GroupRecord:
    """The record in a live ReleaseGroup. Raises `InvalidInput` for one that somebody edited, or that this release
    cannot read: nothing is guessed.
    """
    live = body or {}
    record = unpacked(live.get("status") or {})
    if record is None:
        raise _without_record(live, Problem("status.record", "is not as an agent wrote it"))
    try:
        return from_json(GroupRecord, record, "status.record")
    except InvalidInput as error:
        raise _without_record(live, *error.problems) from error


def _without_record(live: Object, *problems: Problem) -> InvalidInput:
    remedy = (
        "put back the folders of services that only serve on, then kubectl delete releasegroup: it is made again "
        "from Git, and routes and Services stay as they are"
    )
    name = live.get("metadata", {}).get("name", "")
    return InvalidInput(*problems, Problem(f"ReleaseGroup {name}", "has no record", remedy=remedy))


def group_status(
    body: Object, decision: GroupDecision, commit: str, now: datetime, pull: PullRequest | None = None
) -> dict[str, Any]:
    """The whole status; ``pull`` is the pull request of the group's branch."""
    generation = body["metadata"].get("generation", 0)
    state = decision.record.state
    before = body.get("status") or {}
    said = shown.GroupStatus(
        observed_generation=generation,
        phase=decision.phase.value,
        message=next((each.message for each in decision.conditions), None),
        commit=commit or None,
        active=state.only(VersionStage.ACTIVE) or None,
        legacy=state.only(VersionStage.LEGACY) or None,
        candidates=state.at(VersionStage.CANDIDATE) or None,
        versions=tuple(map(partial(_version, state), state.versions)) or None,
        transition=_transition(decision.record.transition),
        gates=tuple(map(gate_of, decision.gates)) or None,
        pull_request=pull_request(pull),
        analysis_runs=tuple(map(_run, newest_first(decision.record.analyses))) or None,
        history=tuple(map(_move, reversed(decision.record.moves))) or None,
        record=packed(to_json(decision.record), before),
    ).stored()
    conditions = conditions_with_times(before.get("conditions") or [], decision.conditions, generation, now)
    return {**said, "conditions": list(conditions)}


def _version(state: GroupState, version: GroupVersion) -> shown.GroupVersionStatus:
    serving = (each for each in state.endpoints if each.version == version.name)
    services = tuple(sorted(member_name(each.service, each.initial_version) for each in serving))
    changed = moment_of(version.changed_at)
    return shown.GroupVersionStatus(name=version.name, stage=version.stage, changed_at=changed, services=services)


def _move(move: GroupMove) -> shown.GroupMoveStatus:
    return shown.GroupMoveStatus(
        kind=move.kind.value,
        source=move.source,
        target=move.target,
        at=moment_of(move.at),
        commit=move.commit or None,
        reason=move.reason or None,
    )


def _run(run: AnalysisRun) -> shown.GroupAnalysisRun:
    return shown.GroupAnalysisRun(version=version_of(run), **facts_of(run))


def _transition(moving: Transition | None) -> shown.GroupTransitionStatus | None:
    if moving is None:
        return None
    return shown.GroupTransitionStatus(
        kind=moving.kind.value,
        source=moving.source,
        target=moving.target,
        step=moving.step.value,
        started_at=moment_of(moving.started_at),
        withdrawn=moving.withdrawn or None,
    )
