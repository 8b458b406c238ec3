"""What policies say about the promotion of a group: about every service that moves with it (policies.md §3).

Each service is judged as a version of its app, promoted by the commit of group.yaml. Never on the way back (I6).
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from gitops_bg.core.checks.policies.facts import place_in_queue
from gitops_bg.core.checks.policies.judge import judge_each
from gitops_bg.core.checks.policies.people import standing
from gitops_bg.core.checks.policies.results import of_commit, of_verdicts
from gitops_bg.core.groups.desired import MemberPolicing
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.groups.record import GroupMove, TransitionKind
from gitops_bg.core.groups.world import GroupWorld, member_name
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.policies.facts import Facts, PastMove, Verdict
from gitops_bg.core.model.version import AppKey

_MOST_NAMED = 3


def policies(world: GroupWorld, version: str) -> Iterator[GateResult]:
    """Yield the results of all policies; those that say the same of several services once, with their names."""
    told: dict[GateResult, list[str]] = {}
    for name, asked in _asked(world, version):
        for result in (*of_commit(asked.policing.then), *of_verdicts(_judged(world, version, name, asked))):
            told.setdefault(result, []).append(name)
    for result, names in told.items():
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        yield replace(result, reason=f"{', '.join(names[:_MOST_NAMED])}{more}: {result.reason}")


def moments(world: GroupWorld) -> tuple[datetime, ...]:
    """Return when time alone changes what a policy says about the version that group.yaml names."""
    if world.record.state.stage(world.spec.active) is not VersionStage.CANDIDATE:
        return ()
    return tuple(result.until for result in policies(world, world.spec.active) if result.until)


def of_promotion(world: GroupWorld, version: str) -> Iterator[GateResult]:
    """What the commit of the promotion says against it."""
    for _, asked in _asked(world, version):
        yield from of_commit(asked.policing.then)


def verdicts(world: GroupWorld, version: str) -> Iterator[Verdict]:
    """What all policies say about the services of a version."""
    for name, asked in _asked(world, version):
        yield from _judged(world, version, name, asked)


def place_of(world: GroupWorld, version: str) -> tuple[int, str]:
    """The place of a version in the queue of those that wait for their turn."""
    since = next((each.changed_at for each in world.record.state.versions if each.name == version), world.now)
    merge = next((asked.promotion for _, asked in _asked(world, version)), None)
    return place_in_queue(world.key, merge, since)


def _asked(world: GroupWorld, version: str) -> Iterator[tuple[str, MemberPolicing]]:
    """The services of a version that policies are for, by the name of their app."""
    for place in world.record.state.endpoints:
        name = member_name(place.service, place.initial_version)
        asked = world.desired.policing.get(name) if place.version == version else None
        if asked is not None:
            yield name, asked


def _judged(world: GroupWorld, version: str, name: str, asked: MemberPolicing) -> tuple[Verdict, ...]:
    return judge_each(asked.policing.all_policies, lambda: _facts(world, version, name, asked), world.now)


def _facts(world: GroupWorld, version: str, name: str, asked: MemberPolicing) -> Facts:
    policing, app, moving = asked.policing, AppKey(world.key.namespace, name), world.record.transition
    commits = {commit.commit: commit for commit in policing.commits}
    return Facts(
        app=app,
        group=world.key,
        to=replace(asked.to, source=commits.get(asked.to.source_commit)),
        serving=asked.serving,
        labels=policing.labels,
        annotations=policing.annotations,
        available_since=asked.available_since,
        promoted=asked.promoted,
        promotion=commits.get(asked.promotion.commit) if asked.promotion is not None else None,
        queue=place_of(world, version),
        has_begun=moving is not None and not moving.goes_back and moving.target == version,
        others=policing.others,
        promotions=_past(world.record.moves, TransitionKind.PROMOTION),
        rollbacks=_past(world.record.moves, TransitionKind.ROLLBACK),
        approvals=standing(policing.approvals),
        authors=policing.authors,
        merger=policing.merger,
        merge=policing.merge,
        unheard=policing.unheard,
    )


def _past(moves: tuple[GroupMove, ...], kind: TransitionKind) -> tuple[PastMove, ...]:
    """Return the moves of a kind, newest first; a rollback is one of the version that it left."""
    return tuple(
        PastMove(each.at, each.target if kind is TransitionKind.PROMOTION else each.source)
        for each in reversed(moves)
        if each.kind is kind
    )
