"""The conditions that apps and release groups have alike, each with the same words, and which part of a status may
differ between two processes that are both right.

Each yields nothing where nothing is wrong (`docs/reference/status.md`). InternalError lasts from the pass that failed
until one that succeeds, beside everything else that is known, and the app is Degraded meanwhile; where there is no
decision, it is written alone.
"""

from collections.abc import Container, Iterator
from dataclasses import replace
from typing import Protocol, TypeVar

from gitops_bg.core.delivery.gates import begins_after
from gitops_bg.core.delivery.subject import Round, Subject
from gitops_bg.core.errors import Exhausted, GitopsBgError, InternalError
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, AnalysisStage, why
from gitops_bg.core.model.conditions import (
    ANALYSIS_PASSED,
    ANY,
    BROKEN,
    CALM,
    GIT_REACHABLE,
    HISTORY_REWRITTEN,
    INTERNAL_ERROR,
    INVALID_SPEC,
    LEDGER_TRUSTED,
    OF_THE_PHASE,
    READY,
    RESUME_IT,
    SOURCE_VERIFIED,
    STALLED,
    STAYS,
    SUSPENDED,
    Condition,
    Meaning,
    Meanings,
    Phase,
    Who,
)
from gitops_bg.core.model.decision import Decision, GateResult, Wait
from gitops_bg.core.model.journal import PullRequest
from gitops_bg.core.model.main import SourceVerification, UnreadReason, VerificationFailure, describe
from gitops_bg.core.model.record import Delivery
from gitops_bg.core.model.version import AppKey, AppOrGroup, SubjectKind

# --- analyses ---


def analysis_passed(asked: Round[Subject], coming: str) -> Iterator[Condition]:
    """Yield how the analysis of the version on its way ended, else the last one; ``coming`` is its digest, empty: none
    is.

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
    """Say that the analysis of what is on its way has not begun, or that of what serves; or empty."""
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
    """Say that main cannot be read, and how old what is known of it is; ``unreachable`` is empty where it can."""
    if unreachable:
        yield Condition(GIT_REACHABLE, False, reason.value, unreachable)


def ledger_trusted(
    record: Delivery, doubt: str, seen: tuple[str, int] | None, kind: SubjectKind
) -> Iterator[Condition]:
    """Yield what in the ledger speaks against the record: that is never believed, and always said.

    ``doubt``: why its file is not believed. ``seen``: the epoch and the number of its last entry; None: nobody looked.
    """
    if doubt:
        yield Condition(LEDGER_TRUSTED, False, "WrittenByOthers", doubt)
    elif record.ledger_claimed:
        said = (
            f"the ledger says that entry {record.ledger_claimed} of this {kind} was told, which this record never gave "
            "out: somebody else wrote there, or the record is one of an earlier backup"
        )
        yield Condition(LEDGER_TRUSTED, False, "Ahead", said)
    elif said := _behind(record, seen, kind):
        yield Condition(LEDGER_TRUSTED, False, "Behind", said)


def _behind(record: Delivery, seen: tuple[str, int] | None, kind: SubjectKind) -> str:
    """Say that the ledger lost what it had. Positions of another epoch cannot be compared."""
    if seen is None or seen[0] not in ("", record.epoch):
        return ""
    sequence, told = seen[1], record.sequence - len(record.ledger)
    if sequence >= told:
        return ""
    if sequence:
        has, cause = f"this {kind}'s entries up to {sequence}, and had them", "somebody set its branch back"
    else:
        has, cause = f"no entry of this {kind}, and had them", "somebody deleted its branch, or it is another one"
    return f"the ledger has {has} up to {told}: {cause}"


def source_verified(verification: SourceVerification | None) -> Iterator[Condition]:
    """Say that a commit of main is not signed by a listed key, or that the list cannot be read; None: no keys are
    given.
    """
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


class RecordUnreadable(InternalError):
    """An agent of another release wrote the record in the status, and this one cannot read it. Only a person may allow
    to forget it.
    """

    reason = "RecordUnreadable"


def internal_error(subject: AppOrGroup, error: GitopsBgError) -> Condition:
    """Return the condition for the error, with what to do about it."""
    what = "bgd" if isinstance(subject, AppKey) else "releasegroup"
    patch = f"""kubectl patch {what} {subject.name} -n {subject.namespace} --subresource=status --type=merge"""
    anew = f"""{patch} -p '{{"status":{{"record":null}}}}'"""
    if isinstance(error, RecordUnreadable):
        said = f"{error}. Run that release, or have it made anew from Git: {anew}"
        return Condition(INTERNAL_ERROR, True, "RecordUnreadable", said)
    if isinstance(error, Exhausted):
        return Condition(INTERNAL_ERROR, True, "InternalError", f"{error}. The agent tries again")
    said = (
        f"{error}. The agent tries again; report it, with the traceback in its log. Where it does not end, have the "
        f"record made anew from Git: {anew}"
    )
    return Condition(INTERNAL_ERROR, True, "InternalError", said)


class Shown(Protocol):
    """What a decision shows, of either kind."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions."""
        ...


S = TypeVar("S", bound=Shown)


def broken(decision: S, why: Condition) -> S:
    """Return the decision as the status shows it where ``why`` keeps the agent from carrying it out."""
    shown = {each.type: each for each in decision.conditions}
    others = (each for kind, each in shown.items() if kind not in OF_THE_PHASE)
    told = (*while_broken(shown, why), *others, why)
    return replace(decision, phase=Phase.DEGRADED, conditions=told)  # type: ignore[type-var]


def while_broken(shown: Container[str], why: Condition) -> Iterator[Condition]:
    """Yield what takes the place of the conditions of the phase (`OF_THE_PHASE`) while ``why`` keeps the agent from
    doing anything; ``shown``: the types that are there already.
    """
    if "Healthy" in shown:
        yield replace(why, type="Healthy", status=False)
    yield replace(why, type=READY, status=False)
    yield replace(why, type=STALLED, status=True)


# --- what they mean ---


def of_both(read_again: str) -> Meanings:
    """Return what the conditions mean that both have; the command ``read_again`` has Git read again."""
    as_known = "stays as it is: what is pushed or merged has no effect"
    doubted = Meaning(
        "is not affected: the record counts, and not the ledger",
        Who.REMOTE,
        "let nobody but the agent push gitops-bg/state/*; its next commit there writes the file again",
        "gitops-bg history {app}",
    )
    return {
        (INVALID_SPEC, "InvalidSpec"): BROKEN,
        (INTERNAL_ERROR, "InternalError"): Meaning(
            "stays as it is: the agent does nothing about it",
            Who.PLATFORM,
            "report the bug; where it does not end, run the command in the message: the record is made anew",
            read_again,
        ),
        (INTERNAL_ERROR, "RecordUnreadable"): Meaning(
            "stays as it is: the agent does nothing about it",
            Who.PLATFORM,
            "run the release that wrote the record, or the command in the message, which makes it anew",
            read_again,
        ),
        (ANALYSIS_PASSED, "Successful"): CALM,
        (ANALYSIS_PASSED, "Skipped"): CALM,
        (ANALYSIS_PASSED, "NotBegun"): Meaning(STAYS, Who.NOBODY, "wait: it begins by itself"),
        (ANALYSIS_PASSED, "Running"): Meaning(STAYS, Who.NOBODY, "wait: an analysis measures"),
        (LEDGER_TRUSTED, "WrittenByOthers"): doubted,
        (LEDGER_TRUSTED, "Ahead"): doubted,
        (LEDGER_TRUSTED, "Behind"): doubted,
        (GIT_REACHABLE, "Unreachable"): Meaning(as_known, Who.REMOTE, "bring the remote back", read_again),
        (GIT_REACHABLE, "AuthenticationFailed"): Meaning(
            as_known,
            Who.PLATFORM,
            "give the agent credentials that may read the repository; it reads their file anew at each poll",
            read_again,
        ),
        (GIT_REACHABLE, "BranchMissing"): Meaning(
            as_known, Who.REMOTE, "push back the branch that is named, or have the agent follow another one", read_again
        ),
        (SUSPENDED, "Suspended"): RESUME_IT,
        (HISTORY_REWRITTEN, "MainMovedBackwards"): Meaning(
            "stays where it is: main moves nothing, forward or back",
            Who.REMOTE,
            "push the former history back; or, if it was meant, accept the new one",
            "gitops-bg accept-history",
        ),
        (SOURCE_VERIFIED, "KeysUnreadable"): Meaning(
            "is not affected: the keys that were read last still count",
            Who.OPERATOR,
            "mend the file of keys that the agent was given; it is read again",
            read_again,
        ),
        (SOURCE_VERIFIED, "NotCheckedYet"): Meaning(
            STAYS, Who.NOBODY, "wait: the signatures of many new commits are being checked"
        ),
        (SOURCE_VERIFIED, "RecordsUnknown"): Meaning(
            STAYS, Who.OPERATOR, "let the agent read all namespaces of its apps; its log says which it cannot"
        ),
        (SOURCE_VERIFIED, ANY): Meaning(
            "stays as it is; what main says since then is not read",
            Who.COMMITTER,
            "sign the commit and push again; or vouch for it by a signed merge",
            "git log --first-parent --format='%h %G? %an %s'",
        ),
    }


# --- what may differ ---

FIELDS = ("phase", "message", "conditions", "gates", "waits", "pullRequest")
"""The fields of a status that belong to this view."""

ProcessView = tuple[Phase, tuple[Condition, ...], tuple[GateResult, ...], tuple[Wait, ...], PullRequest | None]


def process_view_of(decision: Decision) -> ProcessView:
    """Return the view that a decision contains."""
    return (decision.phase, decision.conditions, decision.gates, decision.waits, decision.pull)
