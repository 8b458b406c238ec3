"""The conditions that apps and release groups have alike, each with the same words.

Each yields nothing where nothing is wrong (`docs/reference/status.md`).
"""

from collections.abc import Iterator

from gitops_bg.core.checks.git.main import why_rewritten
from gitops_bg.core.checks.git.unverified import describe
from gitops_bg.core.checks.ledger import set_back, unknown_entry
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
from gitops_bg.core.model.git.main import SourceVerification, UnreadReason, VerificationFailure
from gitops_bg.core.model.record import Delivery
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.version import SubjectKind

# --- what people wrote ---


def invalid_spec(problems: tuple[Problem, ...]) -> Iterator[Condition]:
    """That its files have mistakes."""
    if problems:
        yield Condition(INVALID_SPEC, True, "InvalidSpec", "; ".join(map(str, problems)))


def suspended(suspension: Suspension | None) -> Iterator[Condition]:
    """That somebody has suspended it; ``suspension`` is the one that is in force."""
    if suspension is not None:
        yield Condition(SUSPENDED, True, "Suspended", why_suspended(suspension))


def why_suspended(suspension: Suspension | None) -> str:
    """Who has suspended it, and why; empty where nobody has."""
    return f"{suspension.by or 'somebody'}: {suspension.reason}" if suspension is not None else ""


def on_hold(reason: str) -> Iterator[Condition]:
    """That what is asked for is not promoted until somebody says so; ``reason`` is empty where nothing holds it."""
    if reason:
        yield Condition(ON_HOLD, True, "Hold", reason)


# --- analyses ---


def analysis_passed(asked: Round[Subject], coming: str) -> Iterator[Condition]:
    """How the analysis of the version on its way ended, else the last one; ``coming`` is its digest, empty: none is.

    Nothing where nothing was analysed, and nothing is to be.
    """
    run = asked.analyses.newest()
    if coming and asked.is_in_full(coming):
        said = f"{asked.of.title(coming)} is promoted without analysis"
        yield Condition(ANALYSIS_PASSED, False, "Skipped", said)
    elif begins := _not_begun(asked, coming, run):
        yield Condition(ANALYSIS_PASSED, False, "NotBegun", begins)
    elif run is not None and (title := asked.of.title(run.digest)):
        said = f"{run.stage.called} of {title}: {run if run.running else why(run)}"
        yield Condition(ANALYSIS_PASSED, run.phase is AnalysisPhase.SUCCESSFUL, run.phase.value, said)


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


def git_reachable(unreachable: str, reason: UnreadReason) -> Iterator[Condition]:
    """That main cannot be read, and how old what is known of it is; ``unreachable`` is empty where it can."""
    if unreachable:
        yield Condition(GIT_REACHABLE, False, reason.value, unreachable)


def history_rewritten(lost: str) -> Iterator[Condition]:
    """That main does not contain all that was seen of it; ``lost`` is the commit that it lacks, or empty."""
    if lost:
        yield Condition(HISTORY_REWRITTEN, True, "MainMovedBackwards", why_rewritten(lost))


def ledger_trusted(
    record: Delivery, doubt: str, seen: tuple[str, int] | None, kind: SubjectKind
) -> Iterator[Condition]:
    """What in the ledger speaks against the record: that is never believed, and always said.

    ``doubt``: why its file is not believed. ``seen``: the epoch and the number of its last entry; None: nobody looked.
    """
    if doubt:
        yield Condition(LEDGER_TRUSTED, False, "WrittenByOthers", doubt)
    elif said := unknown_entry(record.ledger_claimed, kind):
        yield Condition(LEDGER_TRUSTED, False, "Ahead", said)
    elif said := _behind(record, seen, kind):
        yield Condition(LEDGER_TRUSTED, False, "Behind", said)


def _behind(record: Delivery, seen: tuple[str, int] | None, kind: SubjectKind) -> str:
    """That the ledger lost what it had. Positions of another epoch cannot be compared."""
    if seen is None or seen[0] not in ("", record.epoch):
        return ""
    return set_back(seen[1], record.sequence - len(record.ledger), kind)


def source_verified(verification: SourceVerification | None) -> Iterator[Condition]:
    """That a commit of main is not signed by a listed key, or that the list cannot be read; None: no keys are given."""
    held, trouble = (verification.held, verification.keys_trouble) if verification is not None else (None, "")
    if held is None:
        if trouble:
            yield Condition(SOURCE_VERIFIED, True, "KeysUnreadable", trouble)
        return
    message = "; ".join(filter(None, [describe(held), trouble]))
    if held.doubt is VerificationFailure.PENDING:
        yield Condition(SOURCE_VERIFIED, False, "NotCheckedYet", message)
    elif held.doubt is VerificationFailure.RECORDS_UNKNOWN:
        yield Condition(SOURCE_VERIFIED, False, "RecordsUnknown", message)
    else:
        yield Condition(SOURCE_VERIFIED, False, held.doubt.value, message)
