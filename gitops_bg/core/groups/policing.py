"""What policies say about the promotion of a group: about every service that moves with it (policies.md §3).

Each service is judged as a version of its app, promoted by the commit of group.yaml. Never on the way back (I6).
"""

from collections.abc import Iterator
from dataclasses import replace

from gitops_bg.core.checks.policies.judge import judge_each
from gitops_bg.core.checks.policies.people import standing
from gitops_bg.core.delivery.policies import of_commit, place_in_queue
from gitops_bg.core.delivery.subject import Judged
from gitops_bg.core.groups.desired import MemberPolicing
from gitops_bg.core.groups.record import GroupMove, TransitionKind
from gitops_bg.core.groups.world import GroupWorld, member_name
from gitops_bg.core.model.policies.facts import Facts, PastMove
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.questions import answered_once


@answered_once
def judged(world: GroupWorld, version: str) -> tuple[Judged, ...]:
    """What policies say about a version, for each of its services that they are for."""
    return tuple(_judged_service(world, version, name, asked) for name, asked in _policed(world, version))


def place(world: GroupWorld, version: str) -> tuple[int, str]:
    """The place of a version in the queue of those that wait for their turn."""
    since = next((each.changed_at for each in world.record.state.versions if each.name == version), world.now)
    merge = next((asked.promotion for _, asked in _policed(world, version)), None)
    return place_in_queue(world.key, merge, since)


def _policed(world: GroupWorld, version: str) -> Iterator[tuple[str, MemberPolicing]]:
    """The services of a version that policies are for, by the name of their app."""
    for place in world.record.state.endpoints:
        name = member_name(place.service, place.initial_version)
        asked = world.desired.policing.get(name) if place.version == version else None
        if asked is not None:
            yield name, asked


def _judged_service(world: GroupWorld, version: str, name: str, asked: MemberPolicing) -> Judged:
    verdicts = judge_each(asked.policing.all_policies, lambda: _facts(world, version, name, asked), world.now)
    return Judged(name, tuple(of_commit(asked.policing.then)), verdicts)


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
        queue=place(world, version),
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
