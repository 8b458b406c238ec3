"""What is the matter with an app: one table, from the most urgent situation to the calmest; the first counts.

Its row gives the phase, the sentence, and the condition that says who must act (``core.status.meanings``), so that none
of them can say something else than the others. A new situation is one line here. Nothing here decides anything.
"""

from collections.abc import Callable

from gitops_bg.core.checks.adoption import at_rest, is_adopting, is_releasing, never_released, still_missing
from gitops_bg.core.checks.git import why_rewritten
from gitops_bg.core.checks.phase import (
    after_leaving,
    conflict,
    failure,
    ledger_error,
    refusal,
    stays,
    unavailable,
    unreached,
)
from gitops_bg.core.checks.pods import why_stuck
from gitops_bg.core.checks.sizes import is_scaled_to_zero, restart_story
from gitops_bg.core.checks.subject import awaits_confirmation, has_passed_analysis, has_passed_hooks
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.model.analysis import AnalysisPhase, why
from gitops_bg.core.model.conditions import Phase, Situation, Standing, first_that_holds
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.hooks import HookType
from gitops_bg.core.model.main import VerificationFailure, held_since
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

Says = Callable[[World], str]
"""A sentence; empty where the situation does not hold."""

AT_ZERO = "target.yaml asks for 0 replicas: nothing serves, and nothing is promoted"


# --- what may be the matter ---------------------------------------------------------------------------------


def _problems(world: World) -> str:
    return "; ".join(map(str, world.desired.problems))


def _suspension(world: World) -> str:
    suspend = world.spec.suspend
    return f"{suspend.by or 'somebody'}: {suspend.reason}" if world.suspended and suspend else ""


def _goes_back(world: World) -> str:
    coming = world.incoming
    if coming is None or world.switch_kind is not SwitchKind.ROLLBACK:
        return ""
    return f"live traffic goes back to {coming.name}"


def _unverified(world: World) -> str:
    held = world.observed.git.verification.held if world.observed.git.verification else None
    return held_since(world.observed.git) if held and held.doubt is not VerificationFailure.PENDING else ""


def left(world: World) -> str:
    """That the folder of the app has left main, and what becomes of it; empty where main has it."""
    return "" if world.desired.in_git else f"the app's folder has left main; {after_leaving(world)}"


def _orphaned(world: World) -> str:
    return left(world) if stays(world) else ""


def no_target(world: World) -> str:
    """That main has no target of the app, so that nobody can tell what is to be live; or empty."""
    known = world.desired.seen and world.desired.in_git and world.main_counts and world.release is None
    if not known or world.desired.target is not Missing.ABSENT:
        return ""
    active = world.active
    stays = f"{active.name} stays live" if active else "nothing is deployed"
    return f"the app's folder in main has no target: {stays} until it has one"


def _at_zero(world: World) -> str:
    return AT_ZERO if is_scaled_to_zero(world) else ""


def _first(world: World) -> str:
    """What a first version waits for, where nothing serves yet."""
    return "" if world.record.routing.traffic else _coming(world) or "waiting for a first version"


def _first_held(world: World) -> str:
    """That nothing serves, and that the version which would be the first is on hold."""
    return "" if world.record.routing.traffic or _coming(world) else on_hold(world)


def _adopting(world: World) -> str:
    return _first(world) if is_adopting(world) else ""


def _coming(world: World) -> str:
    """That a version is on its way, and what keeps its pods."""
    coming = world.incoming or world.candidate
    if coming is None:
        return ""
    pods = "" if coming.available_since else why_stuck(world, coming)
    return f"{coming.name} waits: {pods}" if pods else f"{coming.name} is on its way"


def _asked(world: World) -> str:
    coming = (world.incoming, world.candidate)
    return _coming(world) if any(awaits_confirmation(world, one) for one in coming if one) else ""


def _judged(phase: AnalysisPhase) -> Says:
    """Whether an analysis run of the serving version, or of the one to serve next, is in ``phase``."""

    def says(world: World) -> str:
        coming = world.incoming or world.candidate
        concerned = {world.record.routing.traffic, coming.digest if coming else ""}
        runs = [run for run in world.record.analyses.runs if run.phase is phase and run.digest in concerned]
        if not runs:
            return ""
        judged = world.record.version(runs[0].digest)
        of = f" of {judged.name}" if judged else ""
        return f"{runs[0].stage.called}{of}: {runs[0] if runs[0].running else why(runs[0])}"

    return says


def _promoting(world: World) -> str:
    return _coming(world) if world.incoming else ""


def _restarting(world: World) -> str:
    restart = world.record.operator.restart
    return restart_story(world, restart) if restart is not None and restart.begun else ""


def _comes_up(world: World) -> str:
    candidate = world.candidate
    return _coming(world) if candidate is not None and candidate.available_since is None else ""


def _unchecked(world: World) -> str:
    candidate = world.candidate
    return _coming(world) if candidate is not None and not _is_checked(world, candidate) else ""


def _is_checked(world: World, candidate: Version) -> bool:
    """Whether a candidate has passed its analysis and the hooks beside it; only then does it wait for a person."""
    hooks = (HookType.PRE_ROLLOUT, HookType.ROLLOUT)
    return has_passed_analysis(world, candidate) and has_passed_hooks(world, candidate, *hooks)


def _not_offered(world: World) -> str:
    """That a candidate cannot be offered."""
    return no_offer(world) if world.candidate else ""


def no_offer(world: World) -> str:
    """That the promotion branch cannot be written, and why; or empty."""
    offer = world.observed.git.offer_refused
    return f"the promotion branch cannot be written: {offer}" if offer else ""


def _no_ledger(world: World) -> str:
    ledger = ledger_error(world)
    return f"the ledger cannot be written: {ledger}" if ledger else ""


def _offered(world: World) -> str:
    return _coming(world) if world.candidate else ""


def on_hold(world: World) -> str:
    """Why the target is on hold, and what lifts that; or empty."""
    hold = world.record.held(world.target_digest)
    return f"{hold.why}; `gitops-bg resume {world.spec.app}` lifts the hold" if hold else ""


def _held(world: World) -> str:
    return on_hold(world) if world.target_digest != world.record.routing.traffic else ""


def diverged(world: World) -> str:
    """That live traffic went back, and main does not say so yet; or empty."""
    override = world.record.override
    return f"live traffic was rolled back before Git: {override.reason}" if override else ""


def main_is_away(world: World) -> bool:
    """Whether nothing can be written to main now: the remote does not answer, or what main says does not count."""
    git = world.observed.git
    return bool(git.unreachable or held_since(git)) or bool(world.desired.history_rewritten)


def _refused_by_main(world: World) -> str:
    override = world.record.override
    return diverged(world) if override and (override.diverged or main_is_away(world)) else ""


def _leaving(world: World) -> str:
    return left(world)


def _not_released(world: World) -> str:
    """What keeps an app from giving live traffic back for good; or empty."""
    return "; ".join(never_released(world)) if is_releasing(world) else ""


def _releasing(world: World) -> str:
    """That live traffic is to leave the app, and what is missing for that."""
    release = world.release
    if release is None or not is_releasing(world):
        return ""
    return "; ".join((f"live traffic goes back to Deployment {release.deployment}", *still_missing(world)))


def _well(_: World) -> str:
    return "the target is live and nothing is on its way"


# --- the table ----------------------------------------------------------------------------------------------

TROUBLES: tuple[tuple[str, Says], ...] = (
    ("Conflict", conflict),
    ("Refused", refusal),
    ("CandidateReady", failure),
    ("Available", unavailable),
    ("Available", unreached),
)
"""What keeps traffic, or a version, from where it is to be: each with the condition that says who must act."""


def _while_going_back(says: Says) -> Says:
    return lambda world: says(world) if _goes_back(world) else ""


SITUATIONS: tuple[Situation[World], ...] = (
    Situation(Phase.INVALID, "InvalidSpec", _problems),
    Situation(Phase.SUSPENDED, "Suspended", _suspension),
    *(Situation(Phase.ROLLING_BACK, kind, _while_going_back(says)) for kind, says in TROUBLES),
    Situation(Phase.ROLLING_BACK, "Healthy", _goes_back),
    *(Situation(Phase.DEGRADED, kind, says) for kind, says in TROUBLES),
    Situation(Phase.DEGRADED, "HistoryRewritten", lambda world: why_rewritten(world.lost)),
    Situation(Phase.DEGRADED, "SourceVerified", _unverified),
    Situation(Phase.DEGRADED, "FolderInMain", _orphaned),
    Situation(Phase.INVALID, "InvalidSpec", no_target),
    Situation(Phase.SCALED_TO_ZERO, "Released", at_rest),
    Situation(Phase.SCALED_TO_ZERO, "Available", _at_zero),
    Situation(Phase.HELD, "OnHold", _first_held),
    Situation(Phase.ADOPTING, "Adopting", _adopting),
    Situation(Phase.DEPLOYING, "Available", _first),
    Situation(Phase.WAITING, "HooksPassed", _asked),
    Situation(Phase.PAUSED, "AnalysisPassed", _judged(AnalysisPhase.INCONCLUSIVE)),
    Situation(Phase.PROMOTING, "Progressing", _promoting),
    Situation(Phase.RESTARTING, "Restarting", _restarting),
    Situation(Phase.PROGRESSING, "CandidateReady", _comes_up),
    Situation(Phase.PROGRESSING, "AnalysisPassed", _judged(AnalysisPhase.RUNNING)),
    Situation(Phase.PROGRESSING, "Progressing", _unchecked),
    Situation(Phase.DEGRADED, "OfferWritable", _not_offered),
    Situation(Phase.AWAITING_PROMOTION, "Healthy", _offered),
    Situation(Phase.HELD, "OnHold", _held),
    Situation(Phase.DEGRADED, "Diverged", _refused_by_main),
    Situation(Phase.ROLLING_BACK, "Diverged", diverged),
    Situation(Phase.DEGRADED, "OfferWritable", no_offer),
    Situation(Phase.DEGRADED, "LedgerWritable", _no_ledger),
    Situation(Phase.PROGRESSING, "FolderInMain", _leaving),
    Situation(Phase.DEGRADED, "Released", _not_released),
    Situation(Phase.PROGRESSING, "Released", _releasing),
    Situation(Phase.HEALTHY, "", _well),
)


@answered_once
def standing_of(world: World) -> Standing:
    """What is the matter with the app: the first situation that holds."""
    return first_that_holds(SITUATIONS, world)


def phase_of(world: World) -> Phase:
    """The phase of the app: that of the first situation that holds."""
    return standing_of(world).phase


# --- in the words of others ---------------------------------------------------------------------------------

FLAGGER_PHASES = {
    Phase.ADOPTING: "Initializing",
    Phase.DEPLOYING: "Initializing",
    Phase.WAITING: "Waiting",
    Phase.PROGRESSING: "Progressing",
    Phase.PAUSED: "Progressing",
    Phase.DEGRADED: "Progressing",
    Phase.SCALED_TO_ZERO: "Waiting",
    Phase.AWAITING_PROMOTION: "WaitingPromotion",
    Phase.PROMOTING: "Promoting",
    Phase.ROLLING_BACK: "Failed",
    Phase.HELD: "Failed",
    Phase.INVALID: "Failed",
    Phase.SUSPENDED: "Waiting",
    Phase.RESTARTING: "Succeeded",
    Phase.HEALTHY: "Succeeded",
}
"""Our phases in Flagger's words (flagger.md §3.1)."""


def flagger_phase(world: World) -> str:
    """The phase of the app in Flagger's words; its first version is ``Initialized``, not promoted."""
    phase, active = phase_of(world), world.active
    if phase is Phase.HEALTHY and active and active.number == 1:
        return "Initialized"
    return FLAGGER_PHASES[phase]
