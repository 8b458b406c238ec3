"""What must be so of an explored release group (versions-and-routes.md §6 to §9); a broken promise is raised.

Judged by what users see: who answers each request, by the rules of the Gateway API.
"""

from __future__ import annotations

from functools import lru_cache

from gitops_bg.core.groups.model import (
    GroupState,
    PromotionRejected,
    TransitionStep,
    VersionStage,
    promote,
    rollback,
    version_in,
)
from gitops_bg.core.groups.record import DeleteRoute, GroupAction, GroupDecision, GroupRecord, TransitionKind
from gitops_bg.core.model import observed
from gitops_bg.core.model.analysis import AnalysisStage
from gitops_bg.core.model.auxiliary import claim_of
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.hooks import HookAnswer, HookRun, HookType
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.repo.ledger.ledger_file import LedgerBatch, LedgerDocument
from tests.core.groups.gateway import DENIED, NOBODY, Request, answer
from tests.exploration.groups.passes import FOLDERS
from tests.exploration.groups.world import APP, OTHERS, STRANGER, Cluster, Commit, Routes, content_of
from tests.exploration.moments import NOW
from tests.exploration.world import Violation

ACTIVE = VersionStage.ACTIVE
PATHS = ("/auth", "/cart", "/new")
NAMES = ("", *FOLDERS)
NO_ANSWER = (NOBODY, DENIED)
GATE = "release"
"""The name of the manual gate."""
FINISHED = (Event.PROMOTED, Event.ROLLED_BACK)


def broken(what: str) -> Violation:
    return Violation(what)


@lru_cache(maxsize=200_000)
def answers(routes: Routes) -> dict[tuple[str, str], str]:
    """The member that answers each request, by its path and the version that its header names."""
    ages = {route.name: age for age, route in enumerate(routes)}
    return {
        (path, name): answer(routes, Request(path, {"X-Version": name} if name else {}), ages)
        for path in PATHS
        for name in NAMES
    }


# --- a write ------------------------------------------------------------------------------------------------


def written(action: GroupAction, before: Cluster, after: Cluster, record: GroupRecord) -> None:
    """No write leads requests without a header away from pods that answer, to none (I1)."""
    was, now = answers(before.routes), answers(after.routes)
    for path in PATHS:
        had, has = was[path, ""], now[path, ""]
        if had in before.answering and has not in after.answering:
            if has in NO_ANSWER and had not in OTHERS and not _is_served(path, record):
                continue  # The version that serves does not have it.
            raise broken(
                f"I1: {action}: {path} was answered by {had}, which has pods, and now by {has}, which has none"
            )
    for service, had in before.services:
        has = dict(after.services).get(service, "")
        if had in before.up and has not in after.up and (has or _is_a_service(service, record)):
            raise broken(f"I1: {action}: Service {service} followed {had}, which has pods, and now {has or 'nothing'}")
    _named(before.routes, after.routes, record)


def followed(before: Cluster, after: Cluster) -> None:
    """A Gateway that follows late leads nobody to pods that the agent took away."""
    was, now = answers(before.taken), answers(after.taken)
    for path in PATHS:
        had, has = was[path, ""], now[path, ""]
        if had in before.up and has not in after.answering and has not in (*after.failing, *NO_ANSWER):
            raise broken(f"the Gateway takes what was written, and {path} goes from {had} to {has}, which has no pods")


def taken(action: GroupAction, known: Commit) -> None:
    """Nobody's route is deleted but that of an app whose folder the agent has seen leave main; none while the group is
    suspended.
    """
    if not isinstance(action, DeleteRoute) or not action.owner:
        return
    if action.name != APP or known.has_app or known.suspended:
        raise broken(f"{action}: {'it is suspended' if known.suspended else 'nobody has given these requests up'}")


def _named(before: Routes, after: Routes, record: GroupRecord) -> None:
    """A header that has led to the version that it names leads to no other one."""
    was, now = answers(before), answers(after)
    for (path, name), by in now.items() if was != now else ():
        stage = _states(record)[-1].stage(name) if name and by not in (was[path, name], *NO_ANSWER) else None
        is_kept = stage not in (None, VersionStage.ARCHIVED) and not (stage is ACTIVE and by in OTHERS)
        own = _own(name, record) if is_kept else set()
        if was[path, name] in own and by not in (*own, *NO_ANSWER):
            raise broken(f"a request for {path} that names {name} was answered by {was[path, name]}, and now by {by}")


def _own(name: str, record: GroupRecord) -> set[str]:
    """The members that serve in a version, before a move or after it."""
    return {_member(one) for state in _states(record) for one in state.endpoints if one.version == name}


def taken_away(cluster: Cluster, members: frozenset[str]) -> None:
    """Members that a record stops get no requests without a header, by the Gateway's routes or a stable Service."""
    for (path, name), by in answers(cluster.taken).items():
        if by in members and not name:
            raise broken(f"{by} is stopped, and the Gateway leads {path} there")
    for service, by in cluster.services:
        if by in members:
            raise broken(f"{by} is stopped, and Service {service} follows it")


def _is_served(path: str, record: GroupRecord) -> bool:
    """Whether the version that serves has a path, and the one that is to as well."""
    return all(any(path in _paths(_member(one)) for one in _serving(state)) for state in _states(record))


def _is_a_service(service: str, record: GroupRecord) -> bool:
    return all(any(one.service == service for one in _serving(state)) for state in _states(record))


def _serving(state: GroupState) -> list:
    active = state.only(ACTIVE)
    return [one for one in state.endpoints if one.version == active]


@lru_cache(maxsize=50_000)
def _states_of(state: GroupState, target: str, archive: int) -> tuple[GroupState, ...]:
    try:
        is_back = state.stage(target) is VersionStage.LEGACY
        return state, rollback(state, NOW) if is_back else promote(state, target, archive, NOW)
    except PromotionRejected:
        return (state,)


def _states(record: GroupRecord) -> tuple[GroupState, ...]:
    """The state of before a move, and the one of after it."""
    moving = record.transition
    return _states_of(record.state, moving.target, moving.archive_size) if moving else (record.state,)


# --- a record that is saved ---------------------------------------------------------------------------------


def saved(before: GroupRecord, after: GroupRecord, newest: Commit, known: Commit, cluster: Cluster) -> None:
    """What may be decided, by the newest main that a record was decided from."""
    was, now = before.state.only(ACTIVE), after.state.only(ACTIVE)
    fresh = [one for one in after.ledger if one not in before.ledger]
    _are_numbered(before, after, [one.sequence for one in fresh])
    finished = [(f"v{one.from_version}", f"v{one.to_version}") for one in fresh if one.event in FINISHED]
    if finished != ([(was, now)] if was and was != now else []):
        raise broken(f"I4: requests moved from {was} to {now}, and the ledger tells {finished}")
    moving, moved = after.transition, before.transition
    if moving is None:
        return
    if moving.withdrawn:
        is_new = moved is not None and not moved.withdrawn
        if is_new and newest.active == moving.target and moving.withdrawn.startswith("group.yaml asks"):
            raise broken(f"{moving.withdrawn}, and the newest main that was decided from for {newest.active}")
        return
    if moved is None and moving.kind is TransitionKind.PROMOTION and after.held(content_of(known, moving.target)):
        raise broken(f"{moving.target} is on hold, and its promotion begins")
    begins = moved is None or moved.step is not moving.step or bool(moved.withdrawn)
    if moving.kind is TransitionKind.PROMOTION and begins and moving.step is TransitionStep.SWITCH:
        _may_be_promoted(after, moving.target, newest, known)
        _may_move(after, moving.target, cluster)
    if moved is None and moving.kind is TransitionKind.ROLLBACK:
        is_left = after.override is not None and version_in(after.override.to_digest) == moving.target
        if not is_left and newest.active != moving.target:
            raise broken(
                f"it rolls back to {moving.target}, and the newest main that was decided from names {newest.active}"
            )
        if is_left and newest.active != moving.target and after.objection(content_of(known, moving.target)) is not None:
            raise broken(f"it rolls back to {moving.target} by itself, which failed before")


def _are_numbered(before: GroupRecord, after: GroupRecord, numbers: list[int]) -> None:
    """I4: each entry has the next number; but where Git has more than the record knew."""
    last = before.sequence + len(numbers)
    is_right = numbers == list(range(before.sequence + 1, last + 1)) and after.sequence == last
    if not is_right and after.ledger_claimed == before.ledger_claimed:
        raise broken(f"I4: the record gave out {before.sequence} numbers, and the next entries have {numbers}")


def _may_be_promoted(record: GroupRecord, target: str, newest: Commit, known: Commit) -> None:
    if newest.active != target:
        raise broken(f"I3: requests move to {target}, and the newest main that was decided from names {newest.active}")
    if newest.suspended or newest.broken:
        raise broken(f"requests move to {target}, though the group is {'suspended' if newest.suspended else 'invalid'}")
    content = content_of(known, target)
    if record.held(content) is not None:
        raise broken(f"requests move to {target}, which is on hold")
    for run in record.analyses.runs:
        if run.bad and run.stage is AnalysisStage.PRE and run.digest == content:
            raise broken(f"requests move to {target}, which failed its analysis")
    for asked in record.hook_state.runs:
        if asked.hook == GATE and record.hook_state.gate(GATE) is None:
            raise broken(f"requests move to {target}, and the manual gate is closed")


def _may_move(record: GroupRecord, target: str, cluster: Cluster) -> None:
    if cluster.policy:
        raise broken(f"requests move to {target}, and a policy says {cluster.policy}")
    if not cluster.knows_routes:
        raise broken(f"requests move to {target}, and the cluster has no Gateway API")
    own = next((age for age, route in enumerate(cluster.routes) if route.name not in OTHERS), len(cluster.routes))
    brought = {path for one in record.state.endpoints if one.version == target for path in _paths(_member(one))}
    for other in cluster.routes[:own]:
        if taken := brought.intersection(each.path for each in claim_of(other).matches):
            raise broken(f"requests move to {target}, and {other.name} has those for {min(taken)} first")


def answered(before: GroupRecord, after: GroupRecord, known: Commit, requests: tuple[observed.Request, ...]) -> None:
    """What is held stays so until somebody says otherwise; and what somebody aborts is held, or left."""
    is_retried = after.operator.retry > before.operator.retry
    for hold in before.holds:
        version = version_in(hold.digest)
        is_said = version != known.active or hold.digest != content_of(known, version) or is_retried
        if hold not in after.holds and not is_said:
            raise broken(f"{version} was on hold, and is not any more; nobody has said so")
    for request in requests:
        for version in request.about if request.verb is observed.OperatorCommand.ABORT else ():
            is_held = after.held(content_of(known, version)) is not None
            is_on_its_way = version == known.active and after.state.stage(version) is VersionStage.CANDIDATE
            if is_on_its_way and not is_held:
                raise broken(f"somebody aborted {version}, and it is not on hold")
            run = before.analyses.run(AnalysisStage.POST)
            is_judged = run is not None and run.open and version_in(run.digest) == version
            asks_back = run is not None and known.active == run.fallback
            if is_judged and after.state.only(ACTIVE) == version and after.override is None and not asks_back:
                raise broken(f"somebody aborted {version}, which serves on")


def recalled(before: GroupRecord, after: GroupRecord, ledger: LedgerDocument, known: Commit, cluster: Cluster) -> None:
    """What the ledger has on hold stays so where a record is made anew; unless main names it, and it serves, although
    the ledger does not say so: it came to serve since, or nothing serves any more, and main alone is enough.
    """
    if after.unrecalled or not (before.unrecalled or not before.epoch):
        return
    followed = {member.rpartition("-")[2] for _, member in cluster.services}
    for hold in ledger.state.holds:
        version = version_in(hold.digest)
        is_said = version != known.active or hold.digest != content_of(known, version)
        is_found = version == after.state.only(ACTIVE) != ledger.memory.serving
        serves = is_found and (version in followed or not followed)
        if not (is_said or serves) and after.held(hold.digest) is None:
            raise broken(f"{version} was on hold, as the ledger says, and is not any more, since the record was lost")


def told(ledger: LedgerDocument, batch: LedgerBatch, fresh: tuple[LedgerEntry, ...]) -> None:
    """I4: the ledger in Git has every entry, once."""
    numbers = [one.sequence for one in fresh]
    first = ledger.position.sequence + 1 if ledger.position.epoch == batch.epoch else numbers[0] if numbers else 0
    if numbers != list(range(first, first + len(numbers))):
        raise broken(
            f"I4: the ledger in Git ends with {ledger.position.sequence}, and the next that it gets are {numbers}"
        )


# --- at rest --------------------------------------------------------------------------------------------------


def _member(place: object) -> str:
    return f"{place.service}-{place.initial_version}"  # type: ignore[attr-defined]


def rests(
    head: Commit,
    cluster: Cluster,
    record: GroupRecord,
    ledger: LedgerDocument,
    answer: GroupDecision,
    *,
    is_routed: bool,
) -> None:
    """What must be true of a group at rest whose Gateway takes all, and whose pods are well; ``is_routed``: requests
    from outside reach it.
    """
    if not record.state.versions and answer.phase is Phase.DEGRADED:
        return  # The record is lost, and main does not have what serves: nothing is changed, and that is said.
    at = ledger.position
    if at.epoch == record.epoch and at.sequence != record.sequence:
        raise broken(f"I4: {record.sequence} entries were made, and the ledger in Git ends with {at.sequence}")
    if record.ledger:
        raise broken(f"I4: the ledger in Git has every entry, and the record keeps {len(record.ledger)} of them")
    active = record.state.only(ACTIVE)
    if not cluster.exists or not record.state.versions:
        raise broken("at rest there is nothing")
    if record.transition is not None:
        raise broken(f"it rests in the middle of a move to {record.transition.target}")
    serving = {one.service: _member(one) for one in _serving(record.state)}
    if dict(cluster.services) != serving:
        raise broken(
            f"all or none: {active} is active with {serving}, and the Services follow {dict(cluster.services)}"
        )
    if is_routed and cluster.knows_routes:
        _leads_where_it_serves(head, active, serving, cluster, record, answer)
    _is_what_main_says(head, active, record, answer, cluster)


def _leads_where_it_serves(
    head: Commit, active: str, serving: dict[str, str], cluster: Cluster, record: GroupRecord, answer: GroupDecision
) -> None:
    seen, others = answers(cluster.taken), _before(head, cluster)
    for by in serving.values():
        for path in _paths(by):
            if seen[path, ""] not in (by, *others):
                raise broken(
                    f"all or none: {active} is active, and {path} is answered by {seen[path, '']} instead of {by}"
                )
            if seen[path, ""] != by and answer.phase is Phase.HEALTHY:
                raise broken(f"{seen[path, '']} answers {path} instead of {by}, and the status says {answer.phase}")
    for one in record.state.versions:
        for path in PATHS if one.stage is not VersionStage.ARCHIVED else ():
            _leads_to_what_it_names(record, seen, path, one.name, others)


def _before(head: Commit, cluster: Cluster) -> tuple[str, ...]:
    """The routes of others that keep their requests from a group: those of an owner that left main give them up, unless
    the group is suspended, or somebody else would have them.
    """
    there = {each.name for each in cluster.routes}
    stays = STRANGER in there or head.has_app or head.suspended
    return tuple(name for name in OTHERS if name in there and (name == STRANGER or stays))


def _speaks_against(run: HookRun) -> bool:
    return bool(run.accepted if run.type is HookType.ROLLBACK else run.refused or run.answer is HookAnswer.REFUSED)


def _leads_to_what_it_names(
    record: GroupRecord, seen: dict[tuple[str, str], str], path: str, name: str, others: tuple[str, ...]
) -> None:
    """A header reaches the version that it names, or what that one leaves to the version that serves; no other."""
    by = seen[path, name]
    own = {one.service: _member(one) for one in record.state.endpoints if one.version == name}
    left = {one.service: _member(one) for one in _serving(record.state) if one.service not in own}
    has = {to for to in own.values() if path in _paths(to)}
    is_served = record.state.stage(name) is ACTIVE  # By the rules of those who name no version.
    if by not in {*(has or {*left.values(), *NO_ANSWER}), *(others if is_served or not has else ())}:
        raise broken(f"a request for {path} that names {name} is answered by {by}")


def _paths(member: str) -> list[str]:
    service, _, name = member.rpartition("-")
    return (FOLDERS[name][service] or "").split()


def _is_what_main_says(head: Commit, active: str, record: GroupRecord, answer: GroupDecision, cluster: Cluster) -> None:
    """The one rule: what ``group.yaml`` names serves, unless something spoke against it; and what was found bad does
    not serve, where there is a way back.
    """
    bad = {version_in(run.digest) for run in record.analyses.runs if run.bad or run.paused}
    held = {version_in(hold.digest) for hold in record.holds}
    for run in record.analyses.runs:
        if run.bad and run.stage is AnalysisStage.POST and active == version_in(run.digest):
            raise broken(f"{active} failed its analysis after the promotion, and serves on")
    if active == head.active:
        return
    if answer.phase is Phase.HEALTHY:
        raise broken(f"group.yaml names {head.active}, {active} serves, and the status says {answer.phase}")
    is_possible = record.state.stage(head.active) in (VersionStage.CANDIDATE, VersionStage.LEGACY)
    asked = record.hook_state.runs
    refusing = (run for run in asked if _speaks_against(run))
    spoken = head.active in bad | held | {version_in(run.digest) for run in refusing} or record.override is not None
    is_promoted = record.state.stage(head.active) is VersionStage.CANDIDATE
    stops = cluster.policy or not cluster.knows_routes or _before(head, cluster)
    if is_possible and not spoken and not head.suspended and not head.broken and not (is_promoted and stops):
        raise broken(
            f"the one rule: group.yaml names {head.active}, and {active} serves, though nothing speaks against it"
        )
