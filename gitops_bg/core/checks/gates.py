"""The gates: every reason to wait before traffic moves, each with its sentence and, where known, its end (DESIGN §4).

Two chains: what must be open before a promotion is written to Git, and what must be open before traffic moves.
The way back has only one gate, availability.
"""

from dataclasses import replace
from datetime import timedelta

from gitops_bg.core.checks.analysis import SKIPPED, is_in_preview, plan_of
from gitops_bg.core.checks.availability import expires_at, ready_since
from gitops_bg.core.checks.draining import arrived_at
from gitops_bg.core.checks.hook_queries import awaits_confirmation, describe, hooks_of, is_skipped, run_of
from gitops_bg.core.checks.onboarding import leak_to
from gitops_bg.core.checks.sizes import is_scaled_to_zero, needed_to_switch, wanted_size
from gitops_bg.core.checks.versions import is_old_tag
from gitops_bg.core.model.analysis_runs import AnalysisRun, ends_at, why
from gitops_bg.core.model.decision import Gate, GateKind
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.hooks import Hook, HookType, satisfied
from gitops_bg.core.model.metrics import AnalysisStage
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.spec import OnExpire, PromoteVia
from gitops_bg.core.model.version import AppKey, Version
from gitops_bg.core.world import World, answered_once

_AT_ZERO = "target.yaml asks for 0 replicas, and 0 of 0 pods prove nothing: set spec.replicas"


@answered_once
def gates_before_commit(world: World, version: Version) -> tuple[Gate, ...]:
    """What the agent waits for before it writes or offers the promotion of a candidate."""
    return (
        *_hooks(world, version, HookType.CONFIRM_ROLLOUT),
        _candidate_available(world, version),
        *_hooks(world, version, HookType.PRE_ROLLOUT, HookType.ROLLOUT),
        *_pre_promotion(world, version),
        *_post_promotion(world, version),
        *_hooks(world, version, HookType.CONFIRM_PROMOTION),
        _countdown(world, version),
        *standing_gates(world, version.digest),
    )


def gates_before_switch(world: World, version: Version) -> tuple[Gate, ...]:
    """What must be open at the moment traffic would move to ``version``."""
    if world.lane is not SwitchKind.PROMOTION:
        return (_enough_available(world, version),)
    return (
        _enough_available(world, version),
        _endpoints_ready(world, version),
        *_hooks(world, version, HookType.CONFIRM_ROLLOUT, HookType.PRE_ROLLOUT, HookType.ROLLOUT),
        *_pre_promotion(world, version),
        *(gate for gate in _post_promotion(world, version) if _is_running(world)),
        *_hooks(world, version, HookType.CONFIRM_PROMOTION, final=True),
        *standing_gates(world, version.digest),
    )


def shut_after_commit(world: World, version: Version) -> tuple[Gate, ...]:
    """What traffic waits for even once a promotion is committed: all but the countdown, which a person cuts short."""
    gates = gates_before_commit(world, version)
    return tuple(gate for gate in gates if not gate.open and gate.kind is not GateKind.PAUSE)


@answered_once
def gates_to_show(world: World) -> tuple[Gate, ...]:
    """The gates of the version that is next: the one traffic is on its way to, else the target's."""
    coming = world.incoming
    if coming:
        return gates_before_switch(world, coming)
    version = world.record.version(world.target_digest)
    if version is None or version.digest == world.record.traffic:
        return _post_promotion(world, None)
    if world.record.traffic == "":
        return (_candidate_available(world, version), *standing_gates(world, version.digest))
    return (*gates_before_commit(world, version), _approval(world, version))


def all_open(gates: tuple[Gate, ...]) -> bool:
    """Whether nothing stands in the way."""
    return all(gate.open for gate in gates)


def _candidate_available(world: World, version: Version) -> Gate:
    size = wanted_size(world, version)
    if version.available_since:
        return Gate(GateKind.AVAILABILITY, True, "its pods are available")
    if awaits_confirmation(world, version):
        return Gate(GateKind.AVAILABILITY, False, "its pods come up once every confirm-rollout hook has said yes")
    if leaking := _leaking(world, version):
        return leaking
    if version.failure:
        return Gate(GateKind.AVAILABILITY, False, f"{version.failure}: its {size} pods did not become available")
    if size == 0:
        why = _AT_ZERO if is_scaled_to_zero(world) else "no pods of it are wanted now"
        return Gate(GateKind.AVAILABILITY, False, why)
    return Gate(GateKind.AVAILABILITY, False, f"waiting for its {size} pods to become available")


def _enough_available(world: World, version: Version) -> Gate:
    if leaking := _leaking(world, version):
        return leaking
    needed = needed_to_switch(world)
    if world.replica_set(version.digest) and world.available(version.digest) >= needed:
        return Gate(GateKind.AVAILABILITY, True, "its pods are available")
    if is_scaled_to_zero(world):
        return Gate(GateKind.AVAILABILITY, False, _AT_ZERO)
    return Gate(GateKind.AVAILABILITY, False, f"waiting for {needed} available pods")


def _leaking(world: World, version: Version) -> Gate | None:
    service = leak_to(world, version)
    if service is None:
        return None
    return Gate(
        GateKind.AVAILABILITY, False, f"its pods come up once Service {service.name} is ours and selects one version"
    )


def _endpoints_ready(world: World, version: Version) -> Gate:
    """The preview Service shows whether Kubernetes really routes to the pods, before live traffic has to."""
    service, needed = world.observed.preview_service, needed_to_switch(world)
    watched = service is not None and service.digest == short(version.digest)
    if service is None or not watched or service.ready_endpoints >= needed:
        return Gate(GateKind.ENDPOINTS, True, "its pods are in the endpoints")
    return Gate(GateKind.ENDPOINTS, False, f"waiting for {needed} ready endpoints of Service {service.name}")


def _hooks(world: World, version: Version, *types: HookType, final: bool = False) -> tuple[Gate, ...]:
    """What hooks say; nothing where nothing serves yet, as nobody is asked then."""
    if not world.record.traffic:
        return ()
    return tuple(_hook(world, version, hook, final=final) for hook in hooks_of(world, *types))


def _hook(world: World, version: Version, hook: Hook, *, final: bool) -> Gate:
    kind = GateKind.MANUAL if hook.manual else GateKind.HOOK
    if is_skipped(world, version, hook.type):
        return Gate(kind, True, f"{hook.title}: {SKIPPED}")
    run = run_of(world, hook, version, final=final)
    return Gate(kind, run is not None and satisfied(run, hook), describe(world, hook, run))


def _pre_promotion(world: World, version: Version) -> tuple[Gate, ...]:
    """What its analysis before promotion says; nothing where none is asked for, or nothing serves yet."""
    plan, run = plan_of(world, AnalysisStage.PRE), world.record.run(AnalysisStage.PRE)
    if plan is None or not world.record.traffic:
        return ()
    if world.record.in_full == version.digest:
        return (Gate(GateKind.ANALYSIS, True, f"{AnalysisStage.PRE.called}: {SKIPPED}"),)
    if run and run.started_at and (run.digest, run.rollout) == (version.digest, version.rollout):
        return (_analysis(run, world.spec.app),)
    begins = plan.unknown or _begins(world, version)
    return (Gate(GateKind.ANALYSIS, False, f"{AnalysisStage.PRE.called}: {begins}"),)


def _begins(world: World, version: Version) -> str:
    if version.available_since is None:
        return "begins when its pods are available"
    if is_in_preview(world, version):
        return "begins now"
    return f"begins when Service {world.spec.strategy.preview_service} reaches exactly its pods"


def _post_promotion(world: World, version: Version | None) -> tuple[Gate, ...]:
    """Nothing takes the place of a version that is still being judged; None: only to be shown."""
    run = world.record.run(AnalysisStage.POST)
    if run is None or not (run.running or run.paused) or run.digest != world.record.traffic:
        return ()
    gate = _analysis(run, world.spec.app) if run.started_at else _not_begun(world, run)
    if version is None:
        return (gate,)
    if world.record.in_full == version.digest:
        return ()
    return (Gate(GateKind.ANALYSIS, False, f"of what serves now: {gate.reason}", gate.until),)


def _not_begun(world: World, run: AnalysisRun) -> Gate:
    plan, title = plan_of(world, run.stage), run.stage.called
    unknown = plan.unknown if plan else ""
    reason = unknown or f"begins when the endpoints have followed Service {world.spec.strategy.active_service}"
    return Gate(GateKind.ANALYSIS, False, f"{title}: {reason}", None if unknown else arrived_at(world))


def _is_running(world: World) -> bool:
    """A person who merges the next version while the last one is paused has decided; one who is early has not."""
    run = world.record.run(AnalysisStage.POST)
    return run is not None and run.running


def _analysis(run: AnalysisRun, app: AppKey) -> Gate:
    title = run.stage.called
    if run.running:
        return Gate(GateKind.ANALYSIS, False, f"{title}: {run}", ends_at(run))
    if run.paused:
        reason = f"{title} inconclusive: {why(run)}; `gitops-bg promote {app}` measures anew"
        return Gate(GateKind.ANALYSIS, False, reason)
    return Gate(GateKind.ANALYSIS, not run.bad, f"{title} {run.finding.lower()}: {why(run)}")


def _countdown(world: World, version: Version) -> Gate:
    seconds = world.spec.strategy.auto_promotion_seconds
    if not world.spec.strategy.auto_promotion_enabled or not seconds:
        return Gate(GateKind.PAUSE, True, "no pause asked for")
    if world.record.in_full == version.digest:
        return Gate(GateKind.PAUSE, True, SKIPPED)
    since = ready_since(world, version)
    if since is None:
        awaited = "its pods are available" if version.available_since is None else "its analysis has ended"
        return Gate(GateKind.PAUSE, False, f"the pause of {seconds} s begins when {awaited}")
    until = since + timedelta(seconds=seconds)
    return Gate(GateKind.PAUSE, world.now >= until, f"autoPromotionSeconds: {seconds}", until)


def standing_gates(world: World, digest: str) -> tuple[Gate, ...]:
    """Those that have nothing to do with the pods; shown only while they are shut."""
    spec, desired = world.spec, world.desired
    hold = world.record.held(digest)
    shut = []
    if hold:
        shut.append(Gate(GateKind.HOLD, False, f"on hold: {hold.reason}; `gitops-bg resume {spec.app}` lifts it"))
    if world.suspended and spec.suspend:
        by = f" by {spec.suspend.by}" if spec.suspend.by else ""
        shut.append(Gate(GateKind.SUSPENSION, False, f"suspended{by}: {spec.suspend.reason}", spec.suspend.until))
    if not desired.seen and desired.knowledge.counts:
        shut.append(Gate(GateKind.SPEC, False, "nobody has looked at main yet"))
    if desired.problems:
        shut.append(Gate(GateKind.SPEC, False, str(desired.problems[0])))
    if not desired.in_git:
        shut.append(Gate(GateKind.SPEC, False, "the app's folder has left main"))
    if desired.history_rewritten:
        lost = (world.record.lost or desired.history_rewritten)[:10]
        why = f"main was rewritten: {lost} is gone; `gitops-bg accept-history` goes on"
        shut.append(Gate(GateKind.HISTORY, False, why))
    elif not desired.knowledge.counts:
        shut.append(Gate(GateKind.HISTORY, False, "main, as it was seen last, cannot be read just now"))
    return tuple(shut)


def _approval(world: World, version: Version) -> Gate:
    gate, until = _asked_for(world, version), expires_at(world, version)
    promises_more = world.spec.strategy.on_expire is OnExpire.PROMOTE and is_old_tag(world, version)
    if gate.open or until is None or promises_more or world.record.held(version.digest):
        return gate
    end = "promoted by itself" if world.spec.strategy.on_expire is OnExpire.PROMOTE else "aborted"
    return replace(gate, reason=f"{gate.reason}; {end} when its time is up (expireAfterSeconds)", until=until)


def _asked_for(world: World, version: Version) -> Gate:
    strategy = world.spec.strategy
    if world.record.held(version.digest):
        return Gate(GateKind.APPROVAL, False, "nothing is offered while it is on hold")
    if strategy.auto_promotion_enabled and is_old_tag(world, version):
        reason = "it served before, and is never promoted by itself: merge the promotion branch"
        return Gate(GateKind.APPROVAL, False, reason)
    if strategy.auto_promotion_enabled and not world.observed.git.main_refused:
        return Gate(GateKind.APPROVAL, True, "autoPromotionEnabled: the agent commits the promotion")
    if strategy.auto_promotion_enabled:
        reason = f"main refuses the agent's commit ({world.observed.git.main_refused}): merge the promotion branch"
        return Gate(GateKind.APPROVAL, False, reason)
    if world.spec.promote_via is PromoteVia.COMMIT:
        return Gate(GateKind.APPROVAL, False, f"waiting for `gitops-bg promote {world.spec.app}`")
    return Gate(GateKind.APPROVAL, False, "waiting for the promotion branch to be merged")
