"""What people are told: the phase, and conditions that ``kubectl wait`` can use. Nothing here decides anything."""

from collections.abc import Iterator

from gitops_bg.core.actions import label
from gitops_bg.core.analysis.judging import has_passed_analysis, plan_of
from gitops_bg.core.analysis.metrics import AnalysisStage, Finding
from gitops_bg.core.analysis.runs import why
from gitops_bg.core.decision import Condition, Gate, Phase
from gitops_bg.core.desired import Missing
from gitops_bg.core.digest import short
from gitops_bg.core.hooks.confirmation import awaits_confirmation, has_passed, said
from gitops_bg.core.hooks.hook import Answer, Hook, HookRun, HookType, satisfied
from gitops_bg.core.lifecycle.accompanying import trouble_of_companions
from gitops_bg.core.lifecycle.restarting import left_to_restart, refused_pods
from gitops_bg.core.lifecycle.sizes import is_scaled_to_zero
from gitops_bg.core.model import Version
from gitops_bg.core.record import Lane
from gitops_bg.core.status.kstatus import kstatus_of
from gitops_bg.core.status.progress import progress_conditions
from gitops_bg.core.status.services import services_in_git
from gitops_bg.core.traffic.gates import gates_to_show
from gitops_bg.core.traffic.onboarding import leaks
from gitops_bg.core.traffic.ports import unservable
from gitops_bg.core.world import World

CLOCK_SYNCHRONIZED = "ClockSynchronized"
GIT_REACHABLE = "GitReachable"
SUSPENDED = "Suspended"
OFFER_WRITABLE, LEDGER_WRITABLE = "OfferWritable", "LedgerWritable"
PUSH_REFUSED = "PushRefused"
"""The reason of these two where the remote does not take the branch; the message is what it says."""
MAIN_REFUSES = "MainRefuses"
"""The reason of the condition GitReachable where main takes no commit of the agent; its message says why."""
HISTORY_REWRITTEN = "HistoryRewritten"
"""The condition that main lacks what was seen of it."""
WRITE_REFUSED = "WriteRefused"
"""The reason of the condition Refused where a write that the app needs was refused; its message says which and why."""

_AT_ZERO = "target.yaml asks for 0 replicas: nothing serves, and nothing is promoted"


def phase_of(world: World) -> Phase:
    """One word for where the app is; the first that fits."""
    return next(phase for phase, fits in _phases(world) if fits)


def _phases(world: World) -> Iterator[tuple[Phase, bool]]:
    coming, candidate = world.moving_to, world.candidate
    yield Phase.INVALID, bool(world.desired.problems)
    yield Phase.SUSPENDED, world.suspended
    yield Phase.ROLLING_BACK, coming is not None and world.lane is Lane.ROLLBACK
    yield Phase.DEGRADED, bool(_degraded(world))
    yield Phase.SCALED_TO_ZERO, is_scaled_to_zero(world)
    yield Phase.DEPLOYING, not world.record.traffic
    yield Phase.WAITING, any(awaits_confirmation(world, one) for one in (coming, candidate) if one)
    yield Phase.PAUSED, _judged(world, Finding.INCONCLUSIVE)
    yield Phase.PROMOTING, coming is not None
    yield Phase.RESTARTING, world.record.restart is not None and world.record.restart.begun
    yield Phase.PROGRESSING, candidate is not None and candidate.available_since is None
    yield Phase.PROGRESSING, _judged(world, Finding.RUNNING)
    yield Phase.PROGRESSING, candidate is not None and not _is_checked(world, candidate)
    yield Phase.DEGRADED, candidate is not None and bool(world.observed.git.offer_refused)
    yield Phase.AWAITING_PROMOTION, candidate is not None
    yield Phase.HELD, bool(world.record.held(world.target_digest)) and world.target_digest != world.record.traffic
    yield Phase.DEGRADED, bool(_unwritten(world))
    yield Phase.HEALTHY, True


def _is_checked(world: World, candidate: Version) -> bool:
    """Whether its analysis and the hooks beside it have let a candidate pass; only then a person is awaited."""
    hooks = (HookType.PRE_ROLLOUT, HookType.ROLLOUT)
    return has_passed_analysis(world, candidate) and has_passed(world, candidate, *hooks)


def _judged(world: World, finding: Finding) -> bool:
    """Whether a run of what serves, or of what is to serve next, stands there."""
    coming = world.moving_to or world.candidate
    concerned = {world.record.traffic, coming.digest if coming else ""}
    return any(run.finding is finding and run.digest in concerned for run in world.record.analysis)


def _degraded(world: World) -> str:
    """Why the app is degraded, or empty."""
    return foreign_object(world) or _refusal(world) or _failure(world) or _unavailable(world) or _unreached(world)


def _unwritten(world: World) -> str:
    """What does not reach Git, or empty: no app is Healthy whose history or offer nobody can read."""
    offer, untold = world.observed.git.offer_refused, _untold(world)
    if offer:
        return f"the promotion branch cannot be written: {offer}"
    return f"the ledger cannot be written: {untold}" if untold else ""


def _refusal(world: World) -> str:
    """What cannot be written, or empty."""
    return world.observed.refused or trouble_of_companions(world)


def _failure(world: World) -> str:
    coming = world.moving_to or world.candidate
    return f"{coming.failure}: {_name(coming)} did not become available" if coming and coming.failure else ""


def _unavailable(world: World) -> str:
    active = world.active
    if active is None or world.full_size == 0 or world.available(active.digest) > 0:
        return ""
    return f"no pod of the active {_name(active)} is available"


def _unreached(world: World) -> str:
    """Which Service has a port that leads to no pod though there are some.

    Endpoints follow every change a moment later: alone they say nothing. A name that the version has not is no moment.
    """
    active = world.active
    if active is None or not world.available(active.digest):
        return ""
    views = (view for _, view in world.active_services if view and view.ours and view.digest == short(active.digest))
    for view in views:
        if view.ready_endpoints == 0:
            names = [name for name, _ in unservable(world.snapshot(active).text, view.ports) if isinstance(name, str)]
            if names:
                return f"no container of the active {_name(active)} has the port {names[0]} of Service {view.name}"
    return ""


def foreign_object(world: World) -> str:
    """Whose object stands in the way, and how it is handed over; empty where none does."""
    observed = world.observed
    if observed.app_foreign:
        return observed.app_foreign
    services = (observed.active_service, *observed.more_active_services, observed.preview_service)
    views = (*services, *observed.replica_sets, *observed.configurations)
    whose = (view.owner or f"{view.name} is not ours" for view in views if view and not view.ours)
    first, leak = next(whose, ""), leaks(world)
    return (f"{first}; {leak}" if first and leak else first) or next(
        (view.owner for view in observed.companions if view.owner), ""
    )


def conditions_of(
    world: World, phase: Phase | None = None, gates: tuple[Gate, ...] | None = None
) -> tuple[Condition, ...]:
    """All conditions, always all of them, so that waiting for one never waits for its birth.

    Who has worked out `phase_of` and `gates_to_show` already gives them.
    """
    phase = phase or phase_of(world)
    healthy = _healthy(world, phase)
    return (
        _available(world),
        healthy,
        *kstatus_of(phase, healthy.message),
        *progress_conditions(world, gates_to_show(world) if gates is None else gates),
        _candidate_ready(world),
        _analysis(world),
        _hooks_passed(world),
        _restarting(world),
        _on_hold(world),
        _suspended(world),
        _invalid(world),
        _foreign(world),
        _refused(world),
        _diverged(world),
        services_in_git(world),
        _git_reachable(world),
        _history_rewritten(world),
        _offer_writable(world),
        _ledger_writable(world),
        _clock(world),
    )


def _available(world: World) -> Condition:
    active = world.active
    if active is None:
        return Condition("Available", False, "NothingServes", "no version was deployed yet")
    if _unavailable(world):
        return Condition("Available", False, "NoPodAvailable", _unavailable(world))
    if is_scaled_to_zero(world):
        return Condition("Available", False, "ScaledToZero", _AT_ZERO)
    if _unreached(world):
        return Condition("Available", False, "NoEndpoint", _unreached(world))
    return Condition("Available", True, "Serving", f"live traffic goes to {_name(active)}")


def _healthy(world: World, phase: Phase) -> Condition:
    if phase is Phase.HEALTHY:
        return Condition("Healthy", True, "Healthy", "the target is live and nothing is on its way")
    why = _degraded(world) or (_unwritten(world) if phase is Phase.DEGRADED else "")
    return Condition("Healthy", False, phase.value, why or _story(world))


def _story(world: World) -> str:
    if is_scaled_to_zero(world):
        return _AT_ZERO
    coming = world.moving_to or world.candidate
    if coming:
        return f"{_name(coming)} is on its way"
    if world.record.restart and world.record.restart.begun:
        return _restarting(world).message
    if not world.record.traffic:
        return "waiting for a first version"
    standing = (_invalid(world), _suspended(world), _on_hold(world))
    return next((one.message for one in standing if one.status), _analysis(world).message)


def _candidate_ready(world: World) -> Condition:
    candidate = world.candidate
    if candidate is None:
        return Condition("CandidateReady", False, "NoCandidate", "the target is live, or on hold")
    if candidate.available_since:
        return Condition("CandidateReady", True, "Available", f"{_name(candidate)} is available")
    return Condition("CandidateReady", False, candidate.failure or "Progressing", f"{_name(candidate)} comes up")


def _hooks_passed(world: World) -> Condition:
    """What the hooks of the last rollout say, the first that stands in the way with all of its body."""
    runs = _last_answers(world)
    if not runs:
        return Condition("HooksPassed", True, "NothingAsked", "no hook was asked about what is on its way")
    shut = [(hook, run) for hook, run in runs if not _lets_through(hook, run) and run.digest != world.record.traffic]
    for hook, run in shut:
        return Condition("HooksPassed", False, _standing_of(run), _in_full(world, hook, run))
    passed = [said(world, hook, run) for hook, run in runs if _lets_through(hook, run)]
    return Condition("HooksPassed", True, "Passed", "; ".join(passed) or "traffic has moved")


def _last_answers(world: World) -> list[tuple[Hook, HookRun]]:
    """What each hook says; where it was asked again when traffic would move, what it says then."""
    hooks = {(hook.name, hook.type): hook for hook in world.spec.strategy.hooks}
    runs = [(hooks[key], run) for run in world.record.hooks if (key := (run.hook, run.type)) in hooks]
    again = {run.hook for _, run in runs if run.final}
    return [(hook, run) for hook, run in runs if run.final or run.hook not in again]


def _lets_through(hook: Hook, run: HookRun) -> bool:
    return hook.type is HookType.ROLLBACK or satisfied(run, hook)


def _standing_of(run: HookRun) -> str:
    if run.expired:
        return "Expired"
    return {None: "Asked", Answer.UNANSWERED: "Unanswered"}.get(run.answer, "Refused")


def _in_full(world: World, hook: Hook, run: HookRun) -> str:
    sentence = said(world, hook, run)
    return sentence if run.text in sentence else f"{sentence}\n{run.text}"


def _analysis(world: World) -> Condition:
    """The run of what is on its way, else the last there was."""
    run = max(world.record.analysis, key=lambda one: (one.rollout, one.stage is AnalysisStage.POST), default=None)
    coming = world.moving_to or world.candidate
    if coming and world.record.in_full == coming.digest:
        return Condition("AnalysisPassed", False, "Skipped", f"{_name(coming)} is promoted without analysis")
    is_asked_for = bool(world.record.traffic) and plan_of(world, AnalysisStage.PRE) is not None
    if coming and is_asked_for and (run is None or run.rollout < coming.rollout):
        said = f"{AnalysisStage.PRE.called} of {_name(coming)} has not begun"
        return Condition("AnalysisPassed", False, "NotBegun", said)
    version = world.record.version(run.digest) if run else None
    if run is None or version is None:
        return Condition("AnalysisPassed", False, "NoAnalysis", "nothing was analysed")
    said = f"{run.stage.called} of {_name(version)}: {run if run.running else why(run)}"
    return Condition("AnalysisPassed", run.finding is Finding.SUCCESSFUL, run.finding.value, said)


def _restarting(world: World) -> Condition:
    restart = world.record.restart
    if restart is None:
        return Condition("Restarting", False, "NoRestart", "no restart is asked for")
    older = f"older than {restart.at:%Y-%m-%dT%H:%M:%SZ}"
    if not restart.begun:
        return Condition("Restarting", False, "Scheduled", f"pods {older} are restarted at that time")
    if world.observed.pods_refused:
        return Condition("Restarting", True, "PodsUnreadable", world.observed.pods_refused)
    left, staying = left_to_restart(world), refused_pods(world)
    if staying:
        why = f"{', '.join(staying)} stay: a PodDisruptionBudget may refuse their eviction, which is asked for again"
        return Condition("Restarting", True, "EvictionRefused", why)
    many = "pods" if left is None else f"{left} pods"
    return Condition("Restarting", True, "Restarting", f"{many} {older} are being restarted")


def _on_hold(world: World) -> Condition:
    hold = world.record.held(world.target_digest)
    if hold is None:
        return Condition("OnHold", False, "NoHold", "the target is not on hold")
    return Condition("OnHold", True, "Hold", f"{hold.reason}; `gitops-bg resume {world.spec.app}` lifts the hold")


def _suspended(world: World) -> Condition:
    suspend = world.spec.suspend
    if not world.suspended or suspend is None:
        return Condition(SUSPENDED, False, "NotSuspended", "the app is not suspended")
    return Condition(SUSPENDED, True, "Suspended", f"{suspend.by or 'somebody'}: {suspend.reason}")


def _invalid(world: World) -> Condition:
    if not world.desired.problems:
        return Condition("InvalidSpec", False, "Valid", "every file of the app is valid")
    return Condition("InvalidSpec", True, "InvalidSpec", "; ".join(map(str, world.desired.problems)))


def _foreign(world: World) -> Condition:
    whose = foreign_object(world)
    if not whose and world.observed.app_claimed:
        return Condition("Conflict", True, "ClaimedTwice", world.observed.app_claimed)
    return Condition(
        "Conflict", bool(whose), "ForeignObject" if whose else "NoConflict", whose or "no object is foreign"
    )


def _refused(world: World) -> Condition:
    why = _refusal(world)
    return Condition("Refused", bool(why), WRITE_REFUSED if why else "NoRefusal", why or "no write was refused")


def _diverged(world: World) -> Condition:
    override = world.record.override
    if override is None:
        return Condition("Diverged", False, "InGit", "primary.yaml says where live traffic goes")
    reason = "MainRefusesCommit" if override.diverged else "CommitPending"
    return Condition("Diverged", True, reason, f"live traffic was rolled back before Git: {override.reason}")


def _offer_writable(world: World) -> Condition:
    """Said about an app that has something to offer, or to withdraw."""
    why = world.observed.git.offer_refused
    if why:
        return Condition(OFFER_WRITABLE, False, PUSH_REFUSED, why)
    return Condition(OFFER_WRITABLE, True, "Writable", "the remote takes the promotion branch")


def _ledger_writable(world: World) -> Condition:
    """Said about an app that has something to tell: all others are left in peace."""
    why = _untold(world)
    if why:
        return Condition(LEDGER_WRITABLE, False, PUSH_REFUSED, why)
    return Condition(LEDGER_WRITABLE, True, "Writable", "the remote takes the ledger")


def _clock(world: World) -> Condition:
    """By how much is a metric: a message that changes each second would be a write each second."""
    skew = world.observed.clock_skew
    if not skew:
        return Condition(CLOCK_SYNCHRONIZED, True, "Synchronized", "the clocks of the agent and of the cluster agree")
    reason = "ApiServerAhead" if skew > 0 else "ApiServerBehind"
    message = f"the API server's clock is some seconds or more {'ahead of' if skew > 0 else 'behind'} the agent's"
    return Condition(CLOCK_SYNCHRONIZED, False, reason, message)


def _untold(world: World) -> str:
    """Why the app's history does not reach Git, or empty."""
    return world.observed.git.ledger_refused if world.record.ledger else ""


def _has_to_commit(world: World) -> bool:
    """Whether it matters to the app that main refuses: all others are left in peace when main is asked again."""
    return bool(world.candidate or world.record.override) or world.desired.primary is Missing.ABSENT


def _git_reachable(world: World) -> Condition:
    why = world.observed.git.unreachable
    if why:
        return Condition(GIT_REACHABLE, False, "Unreachable", why)
    refused = world.observed.git.main_refused
    if refused and _has_to_commit(world):
        return Condition(GIT_REACHABLE, True, MAIN_REFUSES, refused)
    if not world.desired.in_git:
        return Condition(GIT_REACHABLE, True, "Orphaned", "the app's folder has left main; it keeps serving")
    return Condition(GIT_REACHABLE, True, "Reachable", "the remote answers")


def _history_rewritten(world: World) -> Condition:
    lost = world.record.lost or world.desired.history_rewritten
    if not lost:
        return Condition("HistoryRewritten", False, "HistoryKept", "main contains all that was seen of it")
    what = f"main no longer contains {lost[:10]}, which was seen before: nothing that main says now moves traffic"
    remedy = "push the former history back, or accept the new one: `gitops-bg accept-history`"
    return Condition("HistoryRewritten", True, "MainMovedBackwards", f"{what}; {remedy}")


def _name(version: Version) -> str:
    return label(version.number, version.digest)
