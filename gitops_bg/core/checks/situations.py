"""What is the matter with an app: one table, from the most urgent situation to the calmest.

The first row that holds gives the phase and its sentence; each row that holds gives the condition that it names, with
that sentence, so that none of them can say something else than the others, and says who must act. A new situation is
one row: here, or in ``core.status.conditions`` where it changes no phase. Nothing here decides anything.
"""

from collections.abc import Callable

from gitops_bg.core.checks.adoption import (
    at_rest,
    has_arrived,
    is_adopting,
    is_releasing,
    never_released,
    selecting,
    still_missing,
)
from gitops_bg.core.checks.auxiliary import requests_claimed_by_others
from gitops_bg.core.checks.git import why_rewritten
from gitops_bg.core.checks.phase import (
    GO_BACK,
    HELD,
    MERGE,
    NOTHING_SERVES,
    PHASES,
    TREE,
    UNTIL_WRITTEN,
    RefusalCause,
    at_zero,
    cause_of,
    diverged,
    failure,
    foreign_object,
    led_elsewhere,
    left,
    main_away,
    no_ledger,
    no_offer,
    no_target,
    orphaned,
    refusal,
    refused_by_main,
    unavailable,
    unreached,
)
from gitops_bg.core.checks.pods import why_stuck
from gitops_bg.core.checks.sizes import restart_story
from gitops_bg.core.checks.subject import awaits_confirmation, has_passed_analysis, has_passed_hooks, is_closed
from gitops_bg.core.delivery.world import answered_once, problems_of, why_suspended
from gitops_bg.core.model.analysis import AnalysisPhase, why
from gitops_bg.core.model.conditions import (
    ANALYSIS_PASSED,
    CALM,
    DIVERGED,
    HISTORY_REWRITTEN,
    INVALID_SPEC,
    ON_HOLD,
    SOURCE_VERIFIED,
    STAYS,
    SUSPENDED,
    Phase,
    Situation,
    Standing,
    Who,
    first_that_holds,
)
from gitops_bg.core.model.hooks import HookType
from gitops_bg.core.model.main import VerificationFailure, held_since
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

Says = Callable[[World], str]
"""A sentence; empty where the situation does not hold."""

FOLDER_IN_MAIN, LEAVING = "FolderInMain", "Leaving"
"""The condition of an app whose folder has left main, and its reason where the app ends, as main asked for."""


# --- what may be the matter ---------------------------------------------------------------------------------


def _goes_back(world: World) -> str:
    coming = world.incoming
    if coming is None or world.switch_kind is not SwitchKind.ROLLBACK:
        return ""
    return f"live traffic goes back to {coming.name}"


def _unverified(world: World) -> str:
    held = world.observed.git.verification.held if world.observed.git.verification else None
    return held_since(world.observed.git) if held and held.doubt is not VerificationFailure.PENDING else ""


def _first(world: World) -> str:
    """Return what a first version waits for, where nothing serves yet."""
    return "" if world.record.routing.traffic else _coming(world) or "waiting for a first version"


def _first_held(world: World) -> str:
    """Say that nothing serves, and that the version which would be the first is on hold."""
    return "" if world.record.routing.traffic or _coming(world) else on_hold(world)


def _adopting(world: World) -> str:
    return _first(world) if is_adopting(world) else ""


def _coming(world: World) -> str:
    """Say that a version is on its way, and what keeps its pods."""
    coming = world.incoming or world.candidate
    if coming is None:
        return ""
    pods = "" if coming.available_since else why_stuck(world, coming)
    return f"{coming.name} waits: {pods}" if pods else f"{coming.name} is on its way"


def _asked(world: World) -> str:
    coming = (world.incoming, world.candidate)
    return _coming(world) if any(awaits_confirmation(world, one) for one in coming if one) else ""


def _judged(phase: AnalysisPhase) -> Says:
    """Return whether an analysis run of the serving version, or of the one to serve next, is in ``phase``."""

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
    """Return whether a candidate has passed its analysis and the hooks beside it; only then does it wait for a
    person.
    """
    hooks = (HookType.PRE_ROLLOUT, HookType.ROLLOUT)
    return has_passed_analysis(world, candidate) and has_passed_hooks(world, candidate, *hooks)


def _not_offered(world: World) -> str:
    """Say that a candidate cannot be offered."""
    return no_offer(world) if world.candidate else ""


def _offered(world: World) -> str:
    return _coming(world) if world.candidate else ""


def on_hold(world: World) -> str:
    """Return why the target is on hold, and what lifts that; or empty."""
    hold = world.record.held(world.target_digest)
    return f"{hold.why}; `gitops-bg resume {world.spec.app}` lifts the hold" if hold else ""


def _closed(world: World) -> str:
    """Say that what the target names is older than a contract; or empty."""
    return _why_closed(world, world.candidate)


def _closed_in_main(world: World) -> str:
    """Say the same of what ``primary.yaml`` names."""
    return _why_closed(world, world.incoming)


def _why_closed(world: World, version: Version | None) -> str:
    contract = world.record.contract
    return f"{version.name} {contract.why}" if version and contract and is_closed(world, version) else ""


def _held(world: World) -> str:
    return on_hold(world) if world.target_digest != world.record.routing.traffic else ""


def _not_released(world: World) -> str:
    """Return what keeps an app from giving live traffic back for good; or empty."""
    return "; ".join(never_released(world)) if is_releasing(world) else ""


def _waits_for_pods(world: World) -> str:
    """Say that live traffic is to leave the app, and what is missing for that; or empty."""
    missing = still_missing(world) if is_releasing(world) else ()
    return "; ".join((_to_the_deployment(world), *missing)) if missing else ""


def _hands_back(world: World) -> str:
    """Return how far the Services are on their way back to the Deployment; or empty."""
    if not is_releasing(world):
        return ""
    if has_arrived(world):
        return f"{_to_the_deployment(world)}: it is there"
    views = (view for _, view in world.active_services if view is not None)
    others = "; ".join(filter(None, (selecting(world, view, "selects") for view in views)))
    return f"{_to_the_deployment(world)}: {others or 'the endpoints of the Services follow'}"


def _to_the_deployment(world: World) -> str:
    return f"live traffic goes back to Deployment {world.release.deployment}" if world.release else ""


def _released(world: World) -> str:
    """Say that live traffic is back at the Deployment; or empty."""
    release = world.release
    if release is None or is_releasing(world):
        return ""
    rest = "the app's folder may go" if world.desired.in_git else "what is left of the app goes"
    return f"live traffic goes to Deployment {release.deployment}; {rest}"


def _nothing_serves(world: World) -> str:
    return "" if world.active else "no version was deployed yet"


def _serves(world: World) -> str:
    return f"live traffic goes to {world.active.name}" if world.active else ""


def _well(_: World) -> str:
    return "the target is live and nothing is on its way"


# --- the table ----------------------------------------------------------------------------------------------


def _refused(cause: RefusalCause) -> Says:
    """Say that a write was refused for this cause."""

    def says(world: World) -> str:
        why = refusal(world)
        return why if why and cause_of(why) is cause else ""

    return says


TROUBLES: tuple[Situation[World], ...] = (
    Situation("Conflict", foreign_object, Phase.DEGRADED, "ForeignObject").means(
        "stays as it is: the agent writes nothing over what is not its own",
        Who.PLATFORM,
        "hand the object over, or rename it, as the message says",
    ),
    Situation("Conflict", lambda world: world.desired.twins, Phase.DEGRADED, "SameShortDigest").means(
        "stays where it is: two versions could not be told apart",
        Who.AUTHOR,
        "change anything in the pod template of target.yaml, such as an annotation, and push",
    ),
    Situation("Conflict", requests_claimed_by_others, Phase.DEGRADED, "RequestsTaken").means(
        "by the route goes to the owner that is named; by Services, it stays",
        Who.OPERATOR,
        "delete the older route, or give one of the two other hosts; where it stays although its owner left main, the "
        "message says why",
    ),
    Situation("Refused", _refused(RefusalCause.OBJECT), Phase.DEGRADED, "ObjectInvalid").means(
        UNTIL_WRITTEN, Who.AUTHOR, "correct the field that the API server names, and push", "gitops-bg check"
    ),
    Situation("Refused", _refused(RefusalCause.POLICY), Phase.DEGRADED, "PolicyDenied").means(
        UNTIL_WRITTEN,
        Who.AUTHOR,
        "change what the policy of the cluster names; who runs the cluster knows what it wants",
    ),
    Situation("Refused", _refused(RefusalCause.QUOTA), Phase.DEGRADED, "QuotaExceeded").means(
        UNTIL_WRITTEN,
        Who.OPERATOR,
        "make room: ask for less, delete what is not needed, or have the quota raised",
        "kubectl get resourcequotas -A",
    ),
    Situation("Refused", _refused(RefusalCause.OTHER), Phase.DEGRADED, "WriteRefused").means(
        UNTIL_WRITTEN, Who.PLATFORM, "mend what the API server names: a right, an object"
    ),
    Situation("CandidateReady", failure, Phase.DEGRADED),
    Situation("Available", unavailable, Phase.DEGRADED, "NoPodAvailable", status=False).means(
        "fails: no pod of the live version is available", Who.OPERATOR, "mend its pods, or go back", GO_BACK
    ),
    Situation("Available", led_elsewhere, None, "LedElsewhere", status=False).means(
        "goes elsewhere, or nowhere, through the Service that is named",
        Who.OPERATOR,
        "wait: it is led back at once; where that is refused, mend what the condition Refused names",
    ),
    Situation("Available", unreached, Phase.DEGRADED, "NoEndpoint", status=False).means(
        "fails: a port of the Service leads to no pod",
        Who.AUTHOR,
        "correct the targetPort of the Service that is named, or go back",
        GO_BACK,
    ),
)
"""What keeps traffic, or a version, from where it is to be."""


def _while_going_back(row: Situation[World]) -> Situation[World]:
    """Return the row of a trouble while live traffic goes back, which is the phase."""
    return Situation(row.condition, lambda world: row.says(world) if _goes_back(world) else "", Phase.ROLLING_BACK)


SITUATIONS: tuple[Situation[World], ...] = (
    Situation(INVALID_SPEC, problems_of, Phase.INVALID, "InvalidSpec"),
    Situation(SUSPENDED, why_suspended, Phase.SUSPENDED, "Suspended"),
    *(_while_going_back(row) for row in TROUBLES if row.phase is not None),
    Situation("Healthy", _goes_back, Phase.ROLLING_BACK),
    *TROUBLES,
    Situation(HISTORY_REWRITTEN, lambda world: why_rewritten(world.lost), Phase.DEGRADED, "MainMovedBackwards"),
    Situation(SOURCE_VERIFIED, _unverified, Phase.DEGRADED),
    Situation(FOLDER_IN_MAIN, orphaned, Phase.DEGRADED, "Orphaned", status=False).means(
        STAYS, Who.AUTHOR, "bring the folder back; or, to delete the app, set deletionPolicy first", "git revert COMMIT"
    ),
    Situation(INVALID_SPEC, no_target, Phase.INVALID, "NoTarget").means(
        STAYS, Who.AUTHOR, "push the target: target.yaml, or what spec.target of app.yaml names", "gitops-bg check"
    ),
    Situation("Available", at_rest, Phase.SCALED_TO_ZERO, "Released", status=False, meaning=CALM),  # See Released.
    Situation("Available", at_zero, Phase.SCALED_TO_ZERO, "ScaledToZero", status=False).means(
        "fails: target.yaml asks for 0 replicas", Who.AUTHOR, "set spec.replicas of target.yaml, and push", TREE
    ),
    Situation(ON_HOLD, _first_held, Phase.HELD),
    Situation("Adopting", _adopting, Phase.ADOPTING),
    Situation("Available", _first, Phase.DEPLOYING),
    Situation("HooksPassed", _asked, Phase.WAITING),
    Situation(ANALYSIS_PASSED, _judged(AnalysisPhase.INCONCLUSIVE), Phase.PAUSED),
    Situation(ON_HOLD, _closed_in_main, Phase.DEGRADED, "ContractOfMain").means(
        "stays with the live version",
        Who.PROMOTER,
        "have primary.yaml name the live version again, as by `git revert` of what changed it",
    ),
    Situation(ON_HOLD, _closed, Phase.HELD, "Contract").means(
        "stays with the live version",
        Who.AUTHOR,
        "push a version that does without what the contract removed",
    ),
    Situation("Progressing", _promoting, Phase.PROMOTING),
    Situation("Restarting", _restarting, Phase.RESTARTING),
    Situation("CandidateReady", _comes_up, Phase.PROGRESSING),
    Situation(ANALYSIS_PASSED, _judged(AnalysisPhase.RUNNING), Phase.PROGRESSING),
    Situation("Progressing", _unchecked, Phase.PROGRESSING),
    Situation("OfferWritable", _not_offered, Phase.DEGRADED),
    Situation("Healthy", _offered, Phase.AWAITING_PROMOTION),
    Situation(ON_HOLD, _held, Phase.HELD),
    Situation(ON_HOLD, on_hold, reason="Hold", meaning=HELD),
    Situation(DIVERGED, refused_by_main, Phase.DEGRADED, "MainRefusesCommit").means(
        "goes where the rollback sent it; primary.yaml does not say so",
        Who.PROMOTER,
        "merge the promotion branch, or let the agent push to main",
        MERGE,
    ),
    Situation(DIVERGED, main_away, Phase.DEGRADED, "MainAway").means(
        "goes where the rollback sent it; primary.yaml does not say so yet",
        Who.REMOTE,
        "bring main back, as the other conditions say: the commit follows then",
    ),
    Situation(DIVERGED, diverged, Phase.ROLLING_BACK, "CommitPending").means(
        "goes where the rollback sent it; primary.yaml does not say so yet", Who.NOBODY, "wait: the commit follows"
    ),
    Situation("OfferWritable", no_offer, Phase.DEGRADED),
    Situation("LedgerWritable", no_ledger, Phase.DEGRADED),
    Situation(FOLDER_IN_MAIN, left, Phase.PROGRESSING, LEAVING, status=False).means(
        "goes where the message says", Who.NOBODY, "wait: the app ends, as main asks for", TREE
    ),
    Situation("Released", _not_released, Phase.DEGRADED, "Conflict", status=False).means(
        STAYS, Who.PLATFORM, "mend what the message names, or remove spec.release"
    ),
    Situation("Released", _waits_for_pods, Phase.PROGRESSING, "WaitingForPods", status=False).means(
        STAYS,
        Who.NOBODY,
        "wait: the Deployment's pods come up, or pods of another app that the Services would select go",
    ),
    Situation("Released", _hands_back, Phase.PROGRESSING, "HandingBack", status=False).means(
        "moves to the Deployment's pods", Who.NOBODY, "wait: the Services follow"
    ),
    Situation("Released", _released, None, "Released").means(
        "goes to the Deployment's pods",
        Who.AUTHOR,
        "delete the app's folder; or remove spec.release, and the app is adopted anew",
    ),
    Situation("Available", _nothing_serves, None, "NothingServes", status=False, meaning=NOTHING_SERVES),
    Situation("Available", _serves, None, "Serving", meaning=CALM),
    Situation("", _well, Phase.HEALTHY),
)


@answered_once
def standing_of(world: World) -> Standing:
    """Return what is the matter with the app: the first situation that holds."""
    return first_that_holds(SITUATIONS, world)


def phase_of(world: World) -> Phase:
    """Return the phase of the app: that of the first situation that holds."""
    return standing_of(world).phase


def flagger_phase(world: World) -> str:
    """Return the phase of the app in Flagger's words; its first version is ``Initialized``, not promoted."""
    phase, active = phase_of(world), world.active
    if phase is Phase.HEALTHY and active and active.number == 1:
        return "Initialized"
    return PHASES[phase].flagger
