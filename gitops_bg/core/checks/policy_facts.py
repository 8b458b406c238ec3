"""Builds, from a world and a version, the facts that policies are judged by; and says what else must be read for them.

The core requests facts only if a policy asks for them: an app without policies costs nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from gitops_bg.core.checks.policy_judge import asks_for_messages, judge_each
from gitops_bg.core.checks.policy_people import standing
from gitops_bg.core.delivery.gates import PROMOTE_ALONE, of_commit, place_in_queue
from gitops_bg.core.delivery.holds import can_roll_back_to
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.environments.proven import Former, KnownRelease
from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.desired import Desired
from gitops_bg.core.model.policy_facts import CommitFacts, PastMove, PolicyFacts, PolicyInput, RuleVerdict, VersionFacts
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import OnExpire
from gitops_bg.core.model.statements import Cause
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World, resolve

VERSION_LABEL = "app.kubernetes.io/version"
_WENT_BACK = (Cause.ROLLED_BACK, Cause.ABORTED, Cause.ANALYSIS_FAILED, Cause.HOOK_REFUSED, Cause.PODS_FAILED)
_NOTHING = PolicyInput()


def awaits_promotion(desired: Desired, record: Record) -> str:
    """Return the commit of main that promotes what traffic waits to move to; empty without one, and for a rollback."""
    primary = desired.primary
    if not primary or not record.routing.traffic or record.override:
        return ""
    digest = resolve(record, primary.snapshot)
    if digest == record.routing.traffic:
        return ""
    version = record.version(digest)
    return "" if version is not None and can_roll_back_to(record, version) else primary.changed_by.commit


def commits_asked_about(desired: Desired, record: Record, policing: PolicyInput) -> tuple[str, ...]:
    """Return the commits whose messages and authors rules ask for: of the target, and of the waiting promotion."""
    policies, promotion = policing.all_policies, awaits_promotion(desired, record)
    asked: list[str] = []
    if promotion and (asks_for_messages(policies) or any(each.override for each in policies)):
        asked.append(promotion)
    if asks_for_messages(policies):
        if promotion and desired.primary:
            asked.append(desired.primary.source.commit)
        if desired.target and resolve(record, desired.target.snapshot) != record.routing.traffic:
            asked.append(desired.target.source.commit)
    return tuple(dict.fromkeys(filter(None, asked)))


@answered_once
def verdicts(world: World, version: Version) -> tuple[RuleVerdict, ...]:
    """Return the verdicts of all policies on a version: the present ones, and those at its promotion if that waits."""
    policing = world.desired.policing
    if policing is None:
        return ()
    return judge_each(policing.all_policies, lambda: facts_of(world, version), world.now)


def gates_of_commit(world: World, version: Version) -> Iterator[GateResult]:
    """Yield what the commit of the promotion says against it; and that the branch which was merged held more than the
    promotion when it was seen last, however it was merged.
    """
    then = world.desired.policing.then if world.desired.policing else None
    yield from of_commit(then)
    if then is not None and not then.beside and world.record.git.beside == version.digest:
        reason = f"its promotion branch held other files when {then.commit[:10]} promoted it"
        yield GateResult(GateKind.POLICY, False, reason, remedy=PROMOTE_ALONE)


@answered_once
def facts_of(world: World, version: Version) -> PolicyFacts:
    """Return all facts that rules may ask for about a version of the app."""
    policing = world.desired.policing or _NOTHING
    commits = {commit.commit: commit for commit in policing.commits}
    primary, active = world.desired.primary, world.active
    promoted = primary if primary and world.primary_digest == version.digest else None
    return PolicyFacts(
        app=world.spec.app,
        to=_version(world, version, commits),
        serving=_version(world, active, commits) if active else None,
        labels=policing.labels,
        annotations=policing.annotations,
        available_since=version.available_since,
        promoted=promoted is not None,
        promotion=commits.get(promoted.changed_by.commit) if promoted else None,
        queue=place_of(world, version),
        others=policing.others,
        promotions=_promotions(world.record),
        rollbacks=_rollbacks(world.record),
        approvals=standing(policing.approvals),
        authors=policing.authors,
        merger=policing.merger,
        merge=policing.merge,
        promoted_by_agent=_is_promoted_by_agent(world),
        unheard=policing.unheard,
        environment=policing.environment,
        release=_release(version),
        formers=_formers(world),
        entry=policing.entry if _is_of_target(world, version) else None,
        served=policing.served,
    )


def _release(version: Version) -> KnownRelease | None:
    release = version.release
    return KnownRelease(release, release.commit) if release is not None else None


def _formers(world: World) -> tuple[Former, ...]:
    environment = world.desired.environment
    return (*environment.formers, *environment.asked) if environment is not None else ()


def _is_of_target(world: World, version: Version) -> bool:
    """Return whether a version is of the release that came in last."""
    release = world.target.release if world.target else None
    return release is not None and release == version.release


def _is_promoted_by_agent(world: World) -> bool:
    """Return whether no person would merge it; nobody merges a first deployment."""
    strategy, is_first = world.spec.strategy, not world.record.routing.traffic
    by_itself = strategy.auto_promotion_enabled or strategy.on_expire is OnExpire.PROMOTE
    return is_first or by_itself or world.spec.merge_when_green


def place_of(world: World, version: Version) -> tuple[int, str]:
    """Return the place of a version in the queue."""
    primary = world.desired.primary
    merge = primary.changed_by if primary and world.primary_digest == version.digest else None
    return place_in_queue(world.spec.app, merge, version.rollout_started_at)


def _version(world: World, version: Version, commits: Mapping[str, CommitFacts]) -> VersionFacts:
    text, source = world.snapshot(version).text, version.source.commit
    images, label = described_by(text) if text else (None, "")
    return VersionFacts(version.digest, version.number, label, images, commits.get(source), source)


@lru_cache(maxsize=256)
def described_by(text: str) -> tuple[tuple[str, ...] | None, str]:
    """Return the images and the version label of a pod template. They never change."""
    template: Any = read_json(text)
    spec = template.get("spec") or {}
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    images = tuple(str(each.get("image") or "") for each in containers)
    labels = (template.get("metadata") or {}).get("labels") or {}
    return images, str(labels.get(VERSION_LABEL) or _tag(images))


def _tag(images: tuple[str, ...]) -> str:
    name, at, digest = images[0].partition("@") if images else ("", "", "")
    _, colon, tag = name.rpartition(":")
    return tag if colon and "/" not in tag else (digest if at else "")


def _promotions(record: Record) -> tuple[PastMove, ...]:
    moved = [PastMove(each.switched_at, each.digest) for each in record.rollouts if each.switched_at]
    return _newest_first(moved)


def _rollbacks(record: Record) -> tuple[PastMove, ...]:
    """Return the rollbacks. Each left a hold on the former version, known as bad until it serves again
    (decision 16).
    """
    holds = (*record.holds, *record.past_holds)
    served = set(record.routing.activations)
    return _newest_first(
        PastMove(each.since, each.digest, each.reason)
        for each in holds
        if each.cause in _WENT_BACK and each.digest in served
    )


def _newest_first(moves: Iterable[PastMove]) -> tuple[PastMove, ...]:
    return tuple(sorted(moves, key=lambda move: move.at, reverse=True))
