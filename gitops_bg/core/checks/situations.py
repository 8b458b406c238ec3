"""What is the matter with an app: one table, from the most urgent situation to the calmest.

The first row that holds gives the phase and its sentence; each row that holds gives the condition that it names, with
that sentence, so that none of them can say something else than the others. A new situation is one row here, and one in
``core.status.meanings`` that says who must act. Nothing here decides anything.
"""

from collections.abc import Callable

from gitops_bg.core.checks.adoption import at_rest, is_adopting, is_releasing, never_released, still_missing
from gitops_bg.core.checks.auxiliary import requests_claimed_by_others
from gitops_bg.core.checks.git import why_rewritten
from gitops_bg.core.checks.phase import (
    RefusalCause,
    after_leaving,
    cause_of,
    failure,
    foreign_object,
    led_elsewhere,
    ledger_error,
    refusal,
    stays,
    unavailable,
    unreached,
)
from gitops_bg.core.checks.pods import why_stuck
from gitops_bg.core.checks.sizes import is_scaled_to_zero, restart_story
from gitops_bg.core.checks.subject import awaits_confirmation, has_passed_analysis, has_passed_hooks
from gitops_bg.core.delivery.world import answered_once, problems_of, why_suspended
from gitops_bg.core.model.analysis import AnalysisPhase, why
from gitops_bg.core.model.conditions import (
    ANALYSIS_PASSED,
    DIVERGED,
    HISTORY_REWRITTEN,
    INVALID_SPEC,
    ON_HOLD,
    SOURCE_VERIFIED,
    SUSPENDED,
    Phase,
    Situation,
    Standing,
    first_that_holds,
)
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.hooks import HookType
from gitops_bg.core.model.main import VerificationFailure, held_since
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

Says = Callable[[World], str]
"""A sentence; empty where the situation does not hold."""

FOLDER_IN_MAIN, LEAVING = "FolderInMain", "Leaving"
"""The condition of an app whose folder has left main, and its reason where the app ends, as main asked for."""
AT_ZERO = "target.yaml asks for 0 replicas: nothing serves, and nothing is promoted"


# --- what may be the matter ---------------------------------------------------------------------------------


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
    return diverged(world) if override and override.diverged else ""


def _main_away(world: World) -> str:
    return diverged(world) if main_is_away(world) else ""


def _not_released(world: World) -> str:
    """What keeps an app from giving live traffic back for good; or empty."""
    return "; ".join(never_released(world)) if is_releasing(world) else ""


def _releasing(world: World) -> str:
    """That live traffic is to leave the app, and what is missing for that."""
    release = world.release
    if release is None or not is_releasing(world):
        return ""
    return "; ".join((f"live traffic goes back to Deployment {release.deployment}", *still_missing(world)))


def _nothing_serves(world: World) -> str:
    return "" if world.active else "no version was deployed yet"


def _serves(world: World) -> str:
    return f"live traffic goes to {world.active.name}" if world.active else ""


def _well(_: World) -> str:
    return "the target is live and nothing is on its way"


# --- the table ----------------------------------------------------------------------------------------------


def _refused(cause: RefusalCause) -> Says:
    """That a write was refused for this cause."""

    def says(world: World) -> str:
        why = refusal(world)
        return why if why and cause_of(why) is cause else ""

    return says


TROUBLES: tuple[Situation[World], ...] = (
    Situation("Conflict", foreign_object, Phase.DEGRADED, "ForeignObject"),
    Situation("Conflict", lambda world: world.desired.twins, Phase.DEGRADED, "SameShortDigest"),
    Situation("Conflict", requests_claimed_by_others, Phase.DEGRADED, "RequestsTaken"),
    Situation("Refused", _refused(RefusalCause.OBJECT), Phase.DEGRADED, "ObjectInvalid"),
    Situation("Refused", _refused(RefusalCause.POLICY), Phase.DEGRADED, "PolicyDenied"),
    Situation("Refused", _refused(RefusalCause.QUOTA), Phase.DEGRADED, "QuotaExceeded"),
    Situation("Refused", _refused(RefusalCause.OTHER), Phase.DEGRADED, "WriteRefused"),
    Situation("CandidateReady", failure, Phase.DEGRADED),
    Situation("Available", unavailable, Phase.DEGRADED, "NoPodAvailable", status=False),
    Situation("Available", led_elsewhere, None, "LedElsewhere", status=False),
    Situation("Available", unreached, Phase.DEGRADED, "NoEndpoint", status=False),
)
"""What keeps traffic, or a version, from where it is to be."""


def _while_going_back(row: Situation[World]) -> Situation[World]:
    """A trouble while live traffic goes back: that is the phase."""
    return Situation(row.condition, lambda world: row.says(world) if _goes_back(world) else "", Phase.ROLLING_BACK)


SITUATIONS: tuple[Situation[World], ...] = (
    Situation(INVALID_SPEC, problems_of, Phase.INVALID, "InvalidSpec"),
    Situation(SUSPENDED, why_suspended, Phase.SUSPENDED, "Suspended"),
    *(_while_going_back(row) for row in TROUBLES if row.phase is not None),
    Situation("Healthy", _goes_back, Phase.ROLLING_BACK),
    *TROUBLES,
    Situation(HISTORY_REWRITTEN, lambda world: why_rewritten(world.lost), Phase.DEGRADED, "MainMovedBackwards"),
    Situation(SOURCE_VERIFIED, _unverified, Phase.DEGRADED),
    Situation(FOLDER_IN_MAIN, _orphaned, Phase.DEGRADED, "Orphaned", status=False),
    Situation(INVALID_SPEC, no_target, Phase.INVALID, "NoTarget"),
    Situation("Available", at_rest, Phase.SCALED_TO_ZERO, "Released", status=False),
    Situation("Available", _at_zero, Phase.SCALED_TO_ZERO, "ScaledToZero", status=False),
    Situation(ON_HOLD, _first_held, Phase.HELD),
    Situation("Adopting", _adopting, Phase.ADOPTING),
    Situation("Available", _first, Phase.DEPLOYING),
    Situation("HooksPassed", _asked, Phase.WAITING),
    Situation(ANALYSIS_PASSED, _judged(AnalysisPhase.INCONCLUSIVE), Phase.PAUSED),
    Situation("Progressing", _promoting, Phase.PROMOTING),
    Situation("Restarting", _restarting, Phase.RESTARTING),
    Situation("CandidateReady", _comes_up, Phase.PROGRESSING),
    Situation(ANALYSIS_PASSED, _judged(AnalysisPhase.RUNNING), Phase.PROGRESSING),
    Situation("Progressing", _unchecked, Phase.PROGRESSING),
    Situation("OfferWritable", _not_offered, Phase.DEGRADED),
    Situation("Healthy", _offered, Phase.AWAITING_PROMOTION),
    Situation(ON_HOLD, _held, Phase.HELD),
    Situation(ON_HOLD, on_hold, reason="Hold"),
    Situation(DIVERGED, _refused_by_main, Phase.DEGRADED, "MainRefusesCommit"),
    Situation(DIVERGED, _main_away, Phase.DEGRADED, "MainAway"),
    Situation(DIVERGED, diverged, Phase.ROLLING_BACK, "CommitPending"),
    Situation("OfferWritable", no_offer, Phase.DEGRADED),
    Situation("LedgerWritable", _no_ledger, Phase.DEGRADED),
    Situation(FOLDER_IN_MAIN, left, Phase.PROGRESSING, LEAVING, status=False),
    Situation("Released", _not_released, Phase.DEGRADED),
    Situation("Released", _releasing, Phase.PROGRESSING),
    Situation("Available", _nothing_serves, None, "NothingServes", status=False),
    Situation("Available", _serves, None, "Serving"),
    Situation("", _well, Phase.HEALTHY),
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
