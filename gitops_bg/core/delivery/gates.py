"""The gates that apps and release groups have alike. Nothing here decides anything.

A gate is asked of a round, about a version by the digest that runs are about. It says whether it is open, why, until
when if that is known, and what a person can do about it; None where nothing is asked for. The lists of gates of apps
(`core.checks.gates`) and of groups (`core.groups.gates`) name these beside their own.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import TypeVar

from gitops_bg.core.delivery.analyses import POST, PRE, found, serves
from gitops_bg.core.delivery.subject import Round, Subject
from gitops_bg.core.model.analysis.metrics import AnalysisPhase
from gitops_bg.core.model.analysis.runs import AnalysisRun, ends_at
from gitops_bg.core.model.decision import GateKind, GateResult

Answer = GateResult | Iterable[GateResult] | None
"""One result; several where several are asked; None where nobody asks."""

AlikeGate = Callable[[Round[Subject], str], Answer]
"""A gate of this file."""

W = TypeVar("W")
V = TypeVar("V")

SKIPPED = "skipped by `promote --full`"

_MEND = "correct the file and push; `gitops-bg check` names every mistake"
_UNREAD = "main, as it was seen last, cannot be read just now"
_READ_AGAIN = "the agent tries again by itself; the condition GitReachable says what keeps it from reading main"
_ACCEPT = "check what was rewritten, then: gitops-bg accept-history"
_OTHERS = "delete it, or give one of the two other paths, hosts or Gateways; then the promotion goes on"


# --- lists of gates ---


def alike(
    gate: AlikeGate, round_of: Callable[[W], Round[Subject]], digest_of: Callable[[W, V], str]
) -> Callable[[W, V], Answer]:
    """A gate of this file as one of an app or a group, about its versions."""

    @wraps(gate)
    def asked(world: W, version: V) -> Answer:
        return gate(round_of(world), digest_of(world, version))

    return asked


def results(chain: Iterable[Callable[[W, V], Answer]], world: W, version: V) -> tuple[GateResult, ...]:
    """What a list of gates says of a version, in its order."""
    return tuple(flat(gate(world, version) for gate in chain))


def flat(answers: Iterable[Answer]) -> Iterator[GateResult]:
    """The results of several answers."""
    for answer in answers:
        if isinstance(answer, GateResult):
            yield answer
        elif answer is not None:
            yield from answer


def all_open(gates: Iterable[GateResult]) -> bool:
    """Whether no gate is shut."""
    return all(gate.open for gate in gates)


# --- what stops it as a whole: shown only while it does, and never in the way of a rollback ---


def not_suspended(asked: Round[Subject], _: str) -> GateResult | None:
    """Shut by ``suspend``, which stops everything except rollbacks (DESIGN §4.10)."""
    suspension = asked.suspension
    if suspension is None:
        return None
    by = f" by {suspension.by}" if suspension.by else ""
    remedy = f"when it is over: {asked.of.resume()}"
    return GateResult(GateKind.SUSPENSION, False, f"suspended{by}: {suspension.reason}", suspension.until, remedy)


def files_valid(asked: Round[Subject], _: str) -> GateResult | None:
    """Shut by a broken file: what serves stays, and keeps serving."""
    return GateResult(GateKind.SPEC, False, str(asked.problems[0]), remedy=_MEND) if asked.problems else None


def history_kept(asked: Round[Subject], _: str) -> GateResult | None:
    """Shut where main moved backwards or cannot be read: it moves nothing (decision 17)."""
    if asked.main.lost:
        reason = f"main was rewritten: {asked.lost[:10]} is gone; `gitops-bg accept-history` goes on"
        return GateResult(GateKind.HISTORY, False, reason, remedy=_ACCEPT)
    if not asked.main.counts:
        return GateResult(GateKind.HISTORY, False, _UNREAD, remedy=_READ_AGAIN)
    return None


def not_on_hold(asked: Round[Subject], digest: str) -> GateResult | None:
    """Shut where a person or a check put this version on hold (DESIGN §4.9); it may be forgotten by now."""
    hold = asked.of.hold(digest)
    if hold is None:
        return None
    return GateResult(GateKind.HOLD, False, f"on hold: {hold.why}", remedy=asked.of.lift(hold))


def requests_ours(asked: Round[Subject], digest: str) -> GateResult | None:
    """Shut where somebody else's route has the requests first: a promotion would move nothing for users."""
    rival = asked.of.rival(digest)
    return GateResult(GateKind.ENDPOINTS, False, rival, remedy=_OTHERS) if rival else None


# --- analyses: that of a version before its promotion, and that of what serves, which nothing overtakes ---


def pre_promotion(asked: Round[Subject], digest: str) -> GateResult | None:
    """What the analysis before promotion says; None where nobody asks for one, or nothing serves yet."""
    if asked.before is None or not asked.serving:
        return None
    if asked.is_in_full(digest):
        return GateResult(GateKind.ANALYSIS, True, f"{PRE.called}: {SKIPPED}")
    run = asked.analysis_of(digest)
    if run is not None and run.started_at is not None:
        return _of_run(asked, run)
    begins = asked.before.unknown or asked.of.awaits_before(digest)
    return GateResult(GateKind.ANALYSIS, False, f"{PRE.called}: {begins}")


def live_verdict(asked: Round[Subject], _: str = "") -> GateResult | None:
    """What the analysis after promotion says of the version that serves so far; None once it is over."""
    run = asked.analyses.run(POST)
    if run is None or not run.open or not serves(asked, run):
        return None
    return _of_run(asked, run) if run.started_at is not None else begins_after(asked)


def live_version_judged(asked: Round[Subject], digest: str) -> GateResult | None:
    """Keep the version that serves until its analysis is over."""
    verdict = live_verdict(asked)
    if verdict is None or asked.is_in_full(digest):
        return None
    return GateResult(GateKind.ANALYSIS, False, f"of what serves now: {verdict.reason}", verdict.until)


def live_version_not_being_measured(asked: Round[Subject], digest: str) -> GateResult | None:
    """Keep the version that serves, against a promotion in Git, while its analysis runs.

    A paused analysis does not: a person who merges while it is paused has seen it.
    """
    run = asked.analyses.run(POST)
    return live_version_judged(asked, digest) if run is not None and run.running else None


def begins_after(asked: Round[Subject]) -> GateResult:
    """When the analysis after promotion begins, which has not begun."""
    unknown = asked.after.unknown if asked.after is not None else ""
    if asked.of.goes_back():
        return GateResult(GateKind.ANALYSIS, False, f"{POST.called}: begins anew if traffic does not go back after all")
    reason = unknown or asked.of.awaits_after()
    return GateResult(GateKind.ANALYSIS, False, f"{POST.called}: {reason}", None if unknown else asked.of.arrival())


def _of_run(asked: Round[Subject], run: AnalysisRun) -> GateResult:
    """The gate of a run that has begun."""
    if run.running:
        return GateResult(GateKind.ANALYSIS, False, f"{run.stage.called}: {run}", ends_at(run))
    if run.phase is AnalysisPhase.SUCCESSFUL:
        return GateResult(GateKind.ANALYSIS, True, found(run))
    answer = asked.of.answer(run)
    return GateResult(GateKind.ANALYSIS, False, f"{found(run)}; {answer}" if run.paused else found(run), remedy=answer)
