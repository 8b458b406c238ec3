"""The conditions that apps and release groups have alike, each with the same words."""

from gitops_bg.core.checks.git.main import why_rewritten
from gitops_bg.core.checks.git.unverified import describe
from gitops_bg.core.checks.ledger import never_told, set_back
from gitops_bg.core.delivery.gates import begins_after
from gitops_bg.core.delivery.subject import Round, Subject
from gitops_bg.core.model.analysis.metrics import AnalysisPhase, AnalysisStage
from gitops_bg.core.model.analysis.runs import AnalysisRun, why
from gitops_bg.core.model.conditions import (
    ANALYSIS_PASSED,
    GIT_REACHABLE,
    HISTORY_REWRITTEN,
    INVALID_SPEC,
    LEDGER_TRUSTED,
    ON_HOLD,
    SOURCE_VERIFIED,
    SUSPENDED,
    Condition,
)
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.git.main import Doubt, SourceVerification, UnreadReason
from gitops_bg.core.model.record import Delivery
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import SubjectKind

# --- what people wrote ---


def invalid_spec(problems: tuple[Problem, ...]) -> Condition:
    """Whether its files have mistakes."""
    if problems:
        return Condition(INVALID_SPEC, True, "InvalidSpec", "; ".join(map(str, problems)))
    return Condition(INVALID_SPEC, False, "Valid", "every file is valid")


def suspended(suspension: Suspension | None) -> Condition:
    """Whether somebody has suspended it; ``suspension`` is the one that is in force."""
    if suspension is None:
        return Condition(SUSPENDED, False, "NotSuspended", "nobody has suspended it")
    return Condition(SUSPENDED, True, "Suspended", why_suspended(suspension))


def why_suspended(suspension: Suspension | None) -> str:
    """Who has suspended it, and why; empty where nobody has."""
    return f"{suspension.by or 'somebody'}: {suspension.reason}" if suspension is not None else ""


def on_hold(reason: str) -> Condition:
    """Whether what is asked for is not promoted until somebody says so; ``reason`` is empty where nothing holds it."""
    if reason:
        return Condition(ON_HOLD, True, "Hold", reason)
    return Condition(ON_HOLD, False, "NoHold", "what is asked for is not on hold")


# --- analyses ---


def analysis_passed(asked: Round[Subject], coming: str) -> Condition:
    """How the analysis of the version on its way ended, else the last one; ``coming`` is its digest, empty: none is."""
    if coming and asked.is_in_full(coming):
        said = f"{asked.of.title(coming)} is promoted without analysis"
        return Condition(ANALYSIS_PASSED, False, "Skipped", said)
    run = asked.analyses.newest()
    if begins := _not_begun(asked, coming, run):
        return Condition(ANALYSIS_PASSED, False, "NotBegun", begins)
    title = asked.of.title(run.digest) if run is not None else ""
    if run is None or not title:
        return Condition(ANALYSIS_PASSED, False, "NoAnalysis", "nothing was analysed")
    said = f"{run.stage.called} of {title}: {run if run.running else why(run)}"
    return Condition(ANALYSIS_PASSED, run.phase is AnalysisPhase.SUCCESSFUL, run.phase.value, said)


def _not_begun(asked: Round[Subject], coming: str, run: AnalysisRun | None) -> str:
    """That the analysis of what is on its way has not begun, or that of what serves; or empty."""
    is_asked_for = bool(coming and asked.serving) and asked.before is not None
    if is_asked_for and (run is None or run.rollout < asked.of.rollout(coming)):
        return f"{AnalysisStage.PRE.called} of {asked.of.title(coming)} has not begun"
    if run is None or run.started_at is not None or run.stage is AnalysisStage.PRE:
        return ""
    begins = begins_after(asked)
    said = f"{run.stage.called} of {asked.of.title(run.digest)}{begins.reason.removeprefix(run.stage.called)}"
    is_to_come = begins.until is not None and begins.until > asked.now
    return f"{said}, and at {begins.until:%Y-%m-%d %H:%M} UTC all the same" if is_to_come else said


# --- Git ---


def git_reachable(unreachable: str, reason: UnreadReason) -> Condition:
    """Whether main can be read, and how old what is known of it is; ``unreachable`` is empty where it can."""
    if unreachable:
        return Condition(GIT_REACHABLE, False, reason.value, unreachable)
    return Condition(GIT_REACHABLE, True, "Reachable", "the remote answers")


def history_rewritten(lost: str) -> Condition:
    """Whether main contains all that was seen of it; ``lost`` is the commit that it lacks, or empty."""
    if lost:
        return Condition(HISTORY_REWRITTEN, True, "MainMovedBackwards", why_rewritten(lost))
    return Condition(HISTORY_REWRITTEN, False, "HistoryKept", "main contains all that was seen of it")


def ledger_trusted(record: Delivery, doubt: str, seen: tuple[str, int] | None, kind: SubjectKind) -> Condition:
    """Whether anything in the ledger speaks against the record: that is never believed, and always said.

    ``doubt``: why its file is not believed. ``seen``: the epoch and the number of its last entry; None: nobody looked.
    """
    if doubt:
        return Condition(LEDGER_TRUSTED, False, "WrittenByOthers", doubt)
    if said := never_told(record.ledger_claimed, kind):
        return Condition(LEDGER_TRUSTED, False, "Ahead", said)
    if said := _behind(record, seen, kind):
        return Condition(LEDGER_TRUSTED, False, "Behind", said)
    return Condition(LEDGER_TRUSTED, True, "Trusted", "the ledger says nothing against the record")


def _behind(record: Delivery, seen: tuple[str, int] | None, kind: SubjectKind) -> str:
    """That the ledger lost what it had. Positions of another epoch cannot be compared."""
    if seen is None or seen[0] not in ("", record.epoch):
        return ""
    return set_back(seen[1], record.sequence - len(record.ledger), kind)


def source_verified(verification: SourceVerification | None) -> tuple[Condition, ...]:
    """One condition of an app or a group, or none: without keys, the status shows nothing new."""
    if verification is None:
        return ()
    trouble = verification.keys_trouble
    if held := verification.held:
        message = "; ".join(filter(None, [describe(held), trouble]))
        if held.doubt is Doubt.PENDING:
            return (Condition(SOURCE_VERIFIED, False, "NotCheckedYet", message),)
        if held.doubt is Doubt.RECORDS_UNKNOWN:
            return (Condition(SOURCE_VERIFIED, False, "RecordsUnknown", message),)
        return (Condition(SOURCE_VERIFIED, False, held.doubt.value, message),)
    if trouble:
        return (Condition(SOURCE_VERIFIED, True, "KeysUnreadable", trouble),)
    return (Condition(SOURCE_VERIFIED, True, "Verified", "each commit that main got is signed by a listed key"),)
