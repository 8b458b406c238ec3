"""Gates that a clock or a person opens: the pause before a promotion by the agent, and the approval by people."""

from dataclasses import replace
from datetime import timedelta

from gitops_bg.core.checks.pods.availability import expires_at, ready_since
from gitops_bg.core.checks.versions import is_old_tag
from gitops_bg.core.delivery.gates import SKIPPED
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.git.pulls import PullRequest, PullState
from gitops_bg.core.model.spec import OnExpire, PromoteVia
from gitops_bg.core.model.version import Version
from gitops_bg.core.names import promotion_branch
from gitops_bg.core.world import World


def countdown(world: World, version: Version) -> GateResult:
    """Whether ``autoPromotionSeconds`` have passed; a person who promotes cuts them short."""
    seconds = world.spec.strategy.auto_promotion_seconds
    if not world.spec.strategy.auto_promotion_enabled or not seconds:
        return GateResult(GateKind.PAUSE, True, "no pause asked for")
    if world.record.operator.promotes_in_full(version.rollout):
        return GateResult(GateKind.PAUSE, True, SKIPPED)
    remedy = f"wait, or do not: gitops-bg promote {world.spec.app}"
    since = ready_since(world, version)
    if since is None:
        awaited = "its pods are available" if version.available_since is None else "its analysis has ended"
        return GateResult(GateKind.PAUSE, False, f"the pause of {seconds} s begins when {awaited}", remedy=remedy)
    until = since + timedelta(seconds=seconds)
    return GateResult(GateKind.PAUSE, world.now >= until, f"autoPromotionSeconds: {seconds}", until, remedy)


def approval(world: World, version: Version) -> GateResult:
    """Whether the agent may promote the version by itself, or who must; and what happens if nobody does in time."""
    answer, until = _asked_for(world, version), expires_at(world, version)
    promises_more = world.spec.strategy.on_expire is OnExpire.PROMOTE and is_old_tag(world, version)
    if answer.open or until is None or promises_more:
        return answer
    end = "promoted by itself" if world.spec.strategy.on_expire is OnExpire.PROMOTE else "aborted"
    reason = f"{answer.reason}; {end} when its time is up (expireAfterSeconds)"
    return replace(answer, reason=reason, until=until)


def _asked_for(world: World, version: Version) -> GateResult:
    strategy = world.spec.strategy
    if strategy.auto_promotion_enabled and is_old_tag(world, version):
        return _shut(world, "it served before, and is never promoted by itself: merge the promotion branch")
    if strategy.auto_promotion_enabled and not world.observed.git.main_refused:
        return GateResult(GateKind.APPROVAL, True, "autoPromotionEnabled: the agent commits the promotion")
    if strategy.auto_promotion_enabled:
        refused = world.observed.git.main_refused
        return _shut(world, f"main refuses the agent's commit ({refused}): merge the promotion branch")
    return _shut(world, _who_merges(world))


def _who_merges(world: World) -> str:
    if world.spec.promote_via is PromoteVia.COMMIT:
        return f"waiting for `gitops-bg promote {world.spec.app}`"
    pull = _open_pull(world)
    draft = "; its pull request is marked as a draft by people" if pull is not None and pull.draft else ""
    if not world.spec.merge_when_green:
        return f"waiting for the promotion branch to be merged{draft}"
    if draft:
        return f"the agent merges no draft{draft}"
    return "the agent merges its pull request as soon as the forge takes it"


def _open_pull(world: World) -> PullRequest | None:
    pull = world.observed.git.pull
    return pull if pull is not None and pull.state is PullState.OPEN else None


def _shut(world: World, reason: str) -> GateResult:
    return GateResult(GateKind.APPROVAL, False, reason, remedy=_who_promotes(world))


def _who_promotes(world: World) -> str:
    spec, branch = world.spec, promotion_branch(world.spec.app)
    promote = f"gitops-bg promote {spec.app}"
    if spec.promote_via is PromoteVia.COMMIT and not spec.strategy.auto_promotion_enabled:
        return promote
    pull = _open_pull(world)
    if pull is not None and pull.url:
        ready = f"mark {pull.url} as ready and merge it" if pull.draft else f"merge {pull.url}"
        return f"{ready}, or: {promote}"
    if world.observed.git.promotion is None:
        return f"the agent offers it on {branch} once nothing else stands in the way"
    return f"merge the branch {branch}, or: {promote}"
