"""The gates that only an app has: of policies, people, clocks, hooks and pods, and of what stops it as a whole.

Policies are judged before the agent commits, and again when traffic would move; never for a rollback (I6). Hooks ask
nobody at the first deployment, where nothing serves yet. What stops an app as a whole is shown only while it is shut,
accepts any version, and stops no rollback. `checks.gates` has the chains of them. Nothing here decides anything.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from gitops_bg.core.checks.adoption.onboarding import leak_to, until_no_leak
from gitops_bg.core.checks.pods.availability import expires_at, ready_since
from gitops_bg.core.checks.pods.scheduling import Stuck, remedy_of, stuck
from gitops_bg.core.checks.pods.sizes import is_scaled_to_zero, needed_to_switch, wanted_size
from gitops_bg.core.checks.subject import AppSubject, awaits_confirmation, round_of
from gitops_bg.core.checks.versions import is_old_tag
from gitops_bg.core.delivery.gates import SKIPPED
from gitops_bg.core.delivery.hooks import hook_gate, hooks_of, is_skipped, run_of
from gitops_bg.core.delivery.policies import carries, policies
from gitops_bg.core.delivery.subject import Round
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.git.pulls import PullRequest, PullState
from gitops_bg.core.model.hooks import Hook, HookType
from gitops_bg.core.model.spec import OnExpire, PromoteVia
from gitops_bg.core.model.version import Version
from gitops_bg.core.names import promotion_branch
from gitops_bg.core.world import World


def policies_of_first(world: World, version: Version) -> Iterable[GateResult]:
    """What all policies say about the first deployment; nothing where a version serves and only its first commit is
    missing, nor where it is a release group that is promoted.
    """
    is_for_it = not world.record.routing.traffic and not world.desired.in_candidate
    return policies(round_of(world), version.digest) if is_for_it else ()


def offered_alone(world: World, version: Version) -> GateResult | None:
    """Whether the promotion branch offers the version, and nothing beside it: what people merge is what they approve.

    Only shown: nobody but who merges can stop what a branch brings along.
    """
    policing, branch = world.desired.policing, world.observed.git.promotion
    if policing is None or branch is None or branch.digest != version.digest or not policing.beside:
        return None
    remedy = f"take them out of the branch {promotion_branch(world.spec.app)}"
    return GateResult(GateKind.POLICY, False, f"its promotion branch {carries(policing.beside)}", remedy=remedy)


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


def confirm_rollout(world: World, version: Version) -> tuple[GateResult, ...]:
    """Whether a version may have pods."""
    return _each(world, version, HookType.CONFIRM_ROLLOUT)


def pods_checked(world: World, version: Version) -> tuple[GateResult, ...]:
    """Whether the hooks that check its pods accept: acceptance tests before the analysis, load tests beside it."""
    return _each(world, version, HookType.PRE_ROLLOUT, HookType.ROLLOUT)


def confirm_promotion(world: World, version: Version) -> tuple[GateResult, ...]:
    """Whether the agent may write the promotion of a version to Git."""
    return _each(world, version, HookType.CONFIRM_PROMOTION)


def confirm_switch(world: World, version: Version) -> tuple[GateResult, ...]:
    """Whether the confirm-promotion hooks accept again when traffic would move: the commit may be days old."""
    return _each(world, version, HookType.CONFIRM_PROMOTION, final=True)


def _each(world: World, version: Version, *types: HookType, final: bool = False) -> tuple[GateResult, ...]:
    if not world.spec.strategy.hooks or not world.record.routing.traffic:
        return ()
    asked = round_of(world)
    return tuple(_gate(asked, hook, version.digest, final=final) for hook in hooks_of(asked, *types))


def _gate(asked: Round[AppSubject], hook: Hook, digest: str, *, final: bool) -> GateResult:
    if is_skipped(asked, digest, hook.type):
        return GateResult(GateKind.HOOK, True, f"{hook.title}: {SKIPPED}")
    return hook_gate(asked, hook, run_of(asked, hook, digest, final=final))


_AVAILABLE = GateResult(GateKind.AVAILABILITY, True, "its pods are available")
_AT_ZERO = "target.yaml asks for 0 replicas, and 0 of 0 pods prove nothing: set spec.replicas"


def candidate_available(world: World, version: Version) -> GateResult:
    """Whether the pods that a candidate should have now have been available for ``minReadySeconds``."""
    if is_scaled_to_zero(world):
        return _shut_by_pods(world, _AT_ZERO)
    if version.available_since:
        return _AVAILABLE
    size = wanted_size(world, version)
    if awaits_confirmation(world, version):
        return _shut_by_pods(world, "its pods come up once every confirm-rollout hook has said yes")
    if leaking := _leaking(world, version):
        return leaking
    found = stuck(world, version)
    if version.failure:
        return _shut_by_pods(world, f"{version.failure}: its {size} pods did not become available", found)
    reason = f"waiting for its {size} pods to become available" if size else "no pods of it are wanted now"
    return _shut_by_pods(world, reason, found)


def enough_available(world: World, version: Version) -> GateResult:
    """Whether as many pods are available as live traffic needs, and no fewer than serve it now (I1)."""
    if leaking := _leaking(world, version):
        return leaking
    needed = needed_to_switch(world, version)
    if world.replica_set(version.digest) and world.available(version.digest) >= needed:
        return _AVAILABLE
    if is_scaled_to_zero(world):
        return _shut_by_pods(world, _AT_ZERO)
    return _shut_by_pods(world, f"waiting for {needed} available pods", stuck(world, version))


def endpoints_ready(world: World, version: Version) -> GateResult:
    """Whether the preview Service shows that Kubernetes routes to the pods, before live traffic depends on it."""
    service, needed = world.observed.preview_service, needed_to_switch(world, version)
    watched = service is not None and service.digest == short(version.digest)
    if service is None or not watched or service.ready_endpoints >= needed:
        return GateResult(GateKind.ENDPOINTS, True, "its pods are in the endpoints")
    reason = f"waiting for {needed} ready endpoints of Service {service.name}"
    return GateResult(GateKind.ENDPOINTS, False, reason, remedy=f"`gitops-bg tree {world.spec.app}` shows its pods")


def _leaking(world: World, version: Version) -> GateResult | None:
    service = leak_to(world, version)
    if service is None:
        return None
    return _shut_by_pods(world, f"its pods come up once {until_no_leak(world, service)}")


def _shut_by_pods(world: World, reason: str, found: Stuck | None = None) -> GateResult:
    """A shut gate; ``found`` says what keeps the pods from coming up."""
    app, known = world.spec.app, remedy_of(world, found)
    remedy = known or f"`gitops-bg tree {app}` shows its pods; `kubectl describe` them if they do not come up"
    return GateResult(GateKind.AVAILABILITY, False, f"{reason}; {found.message}" if found else reason, remedy=remedy)


_LOOK = "the agent has just started and reads main; where that takes long, `kubectl logs` of the agent says why"
_PUT_BACK = "put the folder back, as by `git revert` of the commit that removed it; it keeps serving meanwhile"


def main_is_read(world: World, _: Version | None) -> GateResult | None:
    """Shut until an agent that has just started has read main."""
    if not world.desired.seen and world.desired.knowledge.counts:
        return GateResult(GateKind.SPEC, False, "nobody has looked at main yet", remedy=_LOOK)
    return None


def folder_in_main(world: World, _: Version | None) -> GateResult | None:
    """Shut where the folder of the app has left main: the app stays as it is (DESIGN §4.11)."""
    if not world.desired.in_git:
        return GateResult(GateKind.SPEC, False, "the app's folder has left main", remedy=_PUT_BACK)
    return None
