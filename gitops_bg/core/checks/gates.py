"""The gates of an app, and their chains: what must be open before traffic moves, in the order in which it is checked
(DESIGN §4).

A gate is a function ``(world, version) -> GateResult``. It says whether it is open, why, until when if that is known,
and what a person can do about it; None where the app asks for nothing. Those that release groups have, too, are in
`core.delivery.gates`. The chains at the end say which of them count when, and why. A new gate is one function, and one
line in a chain.

Policies are judged before the agent commits, and again when traffic would move; never for a rollback (I6). Hooks ask
nobody at the first deployment, where nothing serves yet. What stops an app as a whole is shown only while it is shut,
accepts any version, and stops no rollback.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import wraps

from gitops_bg.core.checks.adoption import services_to_take_over
from gitops_bg.core.checks.onboarding import leak_to, until_no_leak
from gitops_bg.core.checks.pods import Stuck, remedy_of, stuck
from gitops_bg.core.checks.release_choice import not_proven_in_wave
from gitops_bg.core.checks.sizes import expires_at, is_scaled_to_zero, needed_to_switch, ready_since, wanted_size
from gitops_bg.core.checks.subject import AppSubject, awaits_confirmation, awaits_jobs, is_closed, round_of
from gitops_bg.core.checks.versions import is_old_tag, leads_back
from gitops_bg.core.delivery.gates import (
    SKIPPED,
    AlikeGate,
    Answer,
    alike,
    all_open,
    carries,
    contract,
    files_valid,
    flat,
    history_kept,
    jobs_before_pods,
    live_verdict,
    live_version_judged,
    live_version_not_being_measured,
    not_on_hold,
    not_suspended,
    policies,
    pre_promotion,
    requests_ours,
    results,
)
from gitops_bg.core.delivery.hooks import hook_gate, hooks_of, is_skipped, run_of
from gitops_bg.core.delivery.subject import Round
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.hooks import Hook, HookType
from gitops_bg.core.model.journal import PullRequest, PullState
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.spec import OnExpire, PromoteVia
from gitops_bg.core.model.version import Version, short
from gitops_bg.core.names import promotion_branch
from gitops_bg.core.world import World


def policies_of_first(world: World, version: Version) -> Iterable[GateResult]:
    """Return what all policies say about the first deployment; nothing where a version serves and only its first commit
    is missing, nor where it is a release group that is promoted.
    """
    is_for_it = not world.record.routing.traffic and not world.desired.in_candidate
    return policies(round_of(world), version.digest) if is_for_it else ()


def offered_alone(world: World, version: Version) -> GateResult | None:
    """Return whether the promotion branch offers the version, and nothing beside it: what people merge is what they
    approve.

    Only shown: nobody but who merges can stop what a branch brings along.
    """
    policing, branch = world.desired.policing, world.observed.git.promotion
    if policing is None or branch is None or branch.digest != version.digest or not policing.beside:
        return None
    remedy = f"take them out of the branch {promotion_branch(world.spec.app, world.spec.environment)}"
    return GateResult(GateKind.POLICY, False, f"its promotion branch {carries(policing.beside)}", remedy=remedy)


def countdown(world: World, version: Version) -> GateResult:
    """Return whether ``autoPromotionSeconds`` have passed; a person who promotes cuts them short."""
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
    """Return whether the agent may promote the version by itself, or who must; and what happens if nobody does in
    time.
    """
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
    spec, branch = world.spec, promotion_branch(world.spec.app, world.spec.environment)
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
    """Return whether a version may have pods."""
    return _each(world, version, HookType.CONFIRM_ROLLOUT)


def pods_checked(world: World, version: Version) -> tuple[GateResult, ...]:
    """Return whether the hooks that check its pods accept: acceptance tests before the analysis, load tests
    beside it.
    """
    return _each(world, version, HookType.PRE_ROLLOUT, HookType.ROLLOUT)


def confirm_promotion(world: World, version: Version) -> tuple[GateResult, ...]:
    """Return whether the agent may write the promotion of a version to Git."""
    return _each(world, version, HookType.CONFIRM_PROMOTION)


def confirm_switch(world: World, version: Version) -> tuple[GateResult, ...]:
    """Return whether the confirm-promotion hooks accept again when traffic would move: the commit may be days old."""
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
    """Return whether the pods that a candidate should have now have been available for ``minReadySeconds``."""
    if is_scaled_to_zero(world):
        return _shut_by_pods(world, _AT_ZERO)
    if version.available_since:
        return _AVAILABLE
    size = wanted_size(world, version)
    if kept := _kept_from_pods(world, version):
        return _shut_by_pods(world, f"its pods come up once {kept}")
    if leaking := _leaking(world, version):
        return leaking
    found = stuck(world, version)
    if version.failure:
        return _shut_by_pods(world, f"{version.failure}: its {size} pods did not become available", found)
    reason = f"waiting for its {size} pods to become available" if size else "no pods of it are wanted now"
    return _shut_by_pods(world, reason, found)


def _kept_from_pods(world: World, version: Version) -> str:
    if awaits_confirmation(world, version):
        return "every confirm-rollout hook has said yes"
    return "its Jobs have succeeded" if awaits_jobs(world, version) else ""


def enough_available(world: World, version: Version) -> GateResult:
    """Return whether as many pods are available as live traffic needs, and no fewer than serve it now (I1)."""
    if leaking := _leaking(world, version):
        return leaking
    needed = needed_to_switch(world, version)
    if world.replica_set(version.digest) and world.available(version.digest) >= needed:
        return _AVAILABLE
    if is_scaled_to_zero(world):
        return _shut_by_pods(world, _AT_ZERO)
    return _shut_by_pods(world, f"waiting for {needed} available pods", stuck(world, version))


def endpoints_ready(world: World, version: Version) -> GateResult:
    """Return whether the preview Service shows that Kubernetes routes to the pods, before live traffic depends
    on it.
    """
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
    """Return a shut gate; ``found`` says what keeps the pods from coming up."""
    app, known = world.spec.app, remedy_of(world, found)
    remedy = known or f"`gitops-bg tree {app}` shows its pods; `kubectl describe` them if they do not come up"
    return GateResult(GateKind.AVAILABILITY, False, f"{reason}; {found.message}" if found else reason, remedy=remedy)


def not_closed(world: World, version: Version) -> GateResult | None:
    """Return that a contract has closed the way to a version; None where it has not."""
    contract, app = world.record.contract, world.spec.app
    if contract is None or not is_closed(world, version):
        return None
    remedy = f"push a version that does without it; if it must be: gitops-bg rollback {app} --to {version.number}"
    return GateResult(GateKind.HOLD, False, f"{version.name} {contract.why}", remedy=f"{remedy} --offline --force")


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


def wave_before(world: World, version: Version) -> GateResult | None:
    """Shut until the clusters of the environment's wave before have proven a version. Nothing serves there of a way
    back, so none is asked for it, also where it leads to a version that this cluster never served (E6).
    """
    environment = world.desired.environment
    if environment is None or not environment.wave_before or leads_back(world, version):
        return None
    lacking = not_proven_in_wave(environment, version.digest)
    app = world.spec.app
    remedy = f"wait; `gitops-bg environments {app}` shows all clusters, and a revert of the promotion moves all at once"
    return GateResult(GateKind.WAVE, not lacking, lacking or "the wave before has proven it", remedy=remedy)


Gate = Callable[[World, Version], Answer]
Chain = tuple[Gate, ...]
AppGate = Callable[[World, Version | None], Answer]
"""A gate of the app as a whole: it is checked even where there is no version."""


def _of_app(gate: AlikeGate) -> AppGate:
    """Return a gate that a release group has, too, about a version of the app."""
    return alike(gate, round_of, lambda _, version: version.digest if version is not None else "")


OF_THE_APP: tuple[AppGate, ...] = (
    _of_app(not_suspended),  # somebody wants nothing to move
    main_is_read,  # before the first look at main, what it wants is unknown
    _of_app(files_valid),  # bad input is never partly applied
    folder_in_main,  # nor is an app moved that main no longer describes
    _of_app(history_kept),  # and a main that moved backwards moves nothing
)

STANDING: Chain = (
    _of_app(not_on_hold),  # what was rolled back is not promoted again until somebody says so
    not_closed,  # nor is what a contract has closed the way to
    *OF_THE_APP,
)

FIRST_DEPLOYMENT: Chain = (
    _of_app(jobs_before_pods),  # what its pods need must be there before them
    candidate_available,  # nothing serves yet: nobody is asked, and nothing is compared
    policies_of_first,  # but rules that hold for every version hold for the first as well
    *STANDING,
)

BEFORE_COMMIT: Chain = (
    confirm_rollout,  # before the version has pods
    _of_app(jobs_before_pods),  # and once it may have some
    _of_app(requests_ours),  # traffic comes by the route of the app
    candidate_available,  # there is something to check
    pods_checked,  # parallel to the analysis, and before it
    _of_app(pre_promotion),  # the measurements of its pods
    _of_app(live_version_judged),  # only one version at a time is on trial with live traffic
    confirm_promotion,  # when all checks have passed, a person is asked
    countdown,  # and has time to object
    *STANDING,
)

BEFORE_OWN_COMMIT: Chain = (
    _of_app(policies),  # whether the agent may promote it now; an offer to people is made regardless
    wave_before,  # an agent of a later wave promotes nothing that the wave before has not tried
)

SHOWN_BEFORE_COMMIT: Chain = (
    *BEFORE_OWN_COMMIT,
    offered_alone,  # what people merge is what they were shown
    approval,  # who promotes it once all of that is open
)


def _where_others_serve(gate: Gate) -> Gate:
    """Return the gate where live traffic is taken over from what somebody else runs. An app that gets another name
    serves already, and has passed its gates.
    """

    @wraps(gate)
    def asked(world: World, version: Version) -> Answer:
        taken_over = services_to_take_over(world) and world.spec.adopt and not world.spec.adopt.app
        return gate(world, version) if taken_over else None

    return asked


BEFORE_SWITCH: Mapping[SwitchKind, Chain] = {
    SwitchKind.FIRST: (
        _of_app(jobs_before_pods),
        enough_available,  # nothing of the app serves: there is nobody to protect
        *map(_where_others_serve, (policies_of_first, *OF_THE_APP)),  # unless somebody else's pods serve it
    ),
    SwitchKind.PROMOTION: (
        enough_available,  # pods for all of the traffic (I1)
        endpoints_ready,  # and Kubernetes routes to them
        _of_app(requests_ours),
        confirm_rollout,  # a person may have written primary.yaml, so every check counts again, whoever wrote it
        _of_app(jobs_before_pods),
        pods_checked,
        _of_app(pre_promotion),
        _of_app(live_version_not_being_measured),  # but a person who merges may overrule a paused analysis
        _of_app(policies),  # time may have passed, and the policies of main may have changed
        confirm_switch,  # asked once more: the commit may be old
        wave_before,  # the clusters of an environment share primary.yaml, and follow it one wave after the other
        *STANDING,  # no pause: the author of primary.yaml has decided
    ),
    SwitchKind.ROLLBACK: (
        enough_available,  # nothing else may stop a rollback (I6)
    ),
}

SWITCH_BEGUN: Chain = (
    enough_available,  # some of several Services have moved: the switch goes on while there are pods to go to
)

AT_REST: tuple[AppGate, ...] = (
    _of_app(live_verdict),  # no version is next: show the verdict on the serving one
    _of_app(contract),  # and what is to follow once no older one can come back
)

HOOKS: tuple[Gate, ...] = (confirm_rollout, pods_checked, confirm_promotion, confirm_switch)
"""The gates that hooks open, or people where the gate is manual."""


@answered_once
def gates_before_commit(world: World, version: Version) -> tuple[GateResult, ...]:
    """Return what the agent waits for before it writes or offers the promotion of a candidate."""
    return results(BEFORE_COMMIT, world, version)


def gates_before_own_commit(world: World, version: Version) -> tuple[GateResult, ...]:
    """Return what the agent waits for in addition before it commits a promotion by itself, without an offer to
    anybody.
    """
    return results(BEFORE_OWN_COMMIT, world, version)


def gates_before_switch(world: World, version: Version) -> tuple[GateResult, ...]:
    """Return what must be open at the moment traffic would move to ``version``."""
    return results(BEFORE_SWITCH[world.switch_kind], world, version)


def gates_of_begun_switch(world: World, version: Version) -> tuple[GateResult, ...]:
    """Return what must be open where some of several Services have already moved to ``version``."""
    return results(SWITCH_BEGUN, world, version)


def gates_before_first(world: World, version: Version) -> tuple[GateResult, ...]:
    """Return what the first version waits for (DESIGN §4.6)."""
    return results(FIRST_DEPLOYMENT, world, version)


def shut_after_commit(world: World, version: Version) -> tuple[GateResult, ...]:
    """Return what still keeps traffic from moving after the commit: every gate but the countdown, which a commit cuts
    short.
    """
    gates = results((*_without(BEFORE_COMMIT, countdown), *BEFORE_OWN_COMMIT), world, version)
    return tuple(gate for gate in gates if not gate.open)


def waits_only_for_hooks(world: World, version: Version) -> bool:
    """Return whether only hooks keep traffic from moving to ``version``."""
    return all_open(results(_without(BEFORE_SWITCH[world.switch_kind], *HOOKS), world, version))


@answered_once
def gates_to_show(world: World) -> tuple[GateResult, ...]:
    """Return the gates of the version that is next: the one traffic is on its way to, else the target's."""
    coming, wanted = world.incoming, world.target_digest
    following = coming or world.record.version(wanted)
    if following is not None and is_closed(world, following):
        return (*flat((not_closed(world, following),)), *results(OF_THE_APP, world, None))  # It waits for nothing else.
    if coming:
        return gates_before_switch(world, coming)
    if wanted != world.record.routing.traffic and world.record.held(wanted):
        return standing_gates(world, wanted)  # It waits for nothing else: not for pods that nobody wants now.
    version = world.record.version(wanted)
    if version is None or wanted == world.record.routing.traffic:
        return results(AT_REST, world, None)
    if world.record.routing.traffic == "":
        return gates_before_first(world, version)
    return (*gates_before_commit(world, version), *results(SHOWN_BEFORE_COMMIT, world, version))


def standing_gates(world: World, digest: str) -> tuple[GateResult, ...]:
    """Return the gates that do not depend on pods, for a digest whose version may be forgotten."""
    held = not_on_hold(round_of(world), digest)
    return (*flat((held,)), *results(OF_THE_APP, world, None))


def _without(chain: Chain, *gates: Gate) -> Chain:
    return tuple(gate for gate in chain if gate not in gates)
