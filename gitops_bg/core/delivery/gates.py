"""The gates that apps and release groups have alike: of analyses, of policies, and of the commit of a promotion
(policies.md §3, §5, §6).

A gate is asked of a round, about a version by the digest that runs are about. It says whether it is open, why, until
when if that is known, and what a person can do about it; None where nothing is asked for. The lists of gates of apps
(`core.checks.gates`) and of groups (`core.groups.gates`) name these beside their own.

Policies judge an app for itself, a group for each service that moves with it, and never the way back (I6). They also
give it a place in the queue of those that wait for their turn.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import wraps
from typing import TypeVar

from gitops_bg.core.delivery.analyses import JOBS, POST, PRE, SETTLED, awaits_jobs, found, is_busy, measured_now, serves
from gitops_bg.core.delivery.subject import Round, Subject
from gitops_bg.core.delivery.world import W
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, ends_at, id_of
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.policy_facts import Overriding, Peer, RuleVerdict
from gitops_bg.core.model.policy_rules import PoliciesThen, Proof
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import AppOrGroup, Source
from gitops_bg.core.names import job_name

Answer = GateResult | Iterable[GateResult] | None
"""One result; several where several are asked; None where nobody asks."""

AlikeGate = Callable[[Round[Subject], str], Answer]
"""A gate of this file."""

T = TypeVar("T")
V = TypeVar("V")

SKIPPED = "skipped by `promote --full`"

_MEND = "correct the file and push; `gitops-bg check` names every mistake"
_UNREAD = "main, as it was seen last, cannot be read just now"
_READ_AGAIN = "the agent tries again by itself; the condition GitReachable says what keeps it from reading main"
_ACCEPT = "check what was rewritten, then: gitops-bg accept-history"
_OTHERS = "delete it, or give one of the two other paths, hosts or Gateways; then the promotion goes on"


def alike(
    gate: AlikeGate, round_of: Callable[[T], Round[Subject]], digest_of: Callable[[T, V], str]
) -> Callable[[T, V], Answer]:
    """Return a gate of this file as one of an app or a group, about its versions."""

    @wraps(gate)
    def asked(world: T, version: V) -> Answer:
        return gate(round_of(world), digest_of(world, version))

    return asked


def results(chain: Iterable[Callable[[T, V], Answer]], world: T, version: V) -> tuple[GateResult, ...]:
    """Return what a list of gates says of a version, in its order."""
    return tuple(flat(gate(world, version) for gate in chain))


def flat(answers: Iterable[Answer]) -> Iterator[GateResult]:
    """Yield the results of several answers."""
    for answer in answers:
        if isinstance(answer, GateResult):
            yield answer
        elif answer is not None:
            yield from answer


def all_open(gates: Iterable[GateResult]) -> bool:
    """Return whether no gate is shut."""
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


# --- Jobs before the pods of a version (decision 114) ---


def jobs_before_pods(asked: Round[Subject], digest: str) -> GateResult | None:
    """Return how the Jobs before the pods of a version stand; None where there are none, or it served before."""
    if asked.jobs is None or not asked.of.is_new(digest):
        return None
    run = asked.analyses.run(JOBS)
    if not awaits_jobs(asked, digest):
        is_its_own = run is not None and run.digest == digest and run.phase is AnalysisPhase.SUCCESSFUL
        return GateResult(GateKind.JOB, True, found(run) if run is not None and is_its_own else f"{JOBS.called}: done")
    if run is not None and run.digest == digest and run.started_at is not None:
        return _of_jobs(asked, run)
    if asked.jobs.unknown:
        return GateResult(GateKind.JOB, False, f"{JOBS.called}: {asked.jobs.unknown}", remedy=_MEND)
    if run is not None and is_busy(asked, digest):
        other = asked.of.title(run.digest)
        reason = f"{JOBS.called}: begins when that of {other} has ended, which is not broken off"
        return GateResult(GateKind.JOB, False, reason, remedy=logs_of(asked.of.owner(), run))
    return GateResult(GateKind.JOB, False, f"{JOBS.called}: begins when its version may have pods")


def contract(asked: Round[Subject], _: str = "") -> GateResult | None:
    """Return how the contract of the version that serves stands; None where there is none."""
    digest, run = asked.of.serving(), asked.analyses.run(SETTLED)
    if asked.contract is None or not digest:
        return None
    own = run if run is not None and run.digest == digest and run.started_at is not None else None
    if asked.of.is_contracted(digest):
        return GateResult(GateKind.JOB, True, found(own) if own is not None else f"{SETTLED.called}: done")
    if own is not None:
        return _of_jobs(asked, own)
    waits = asked.contract.unknown or asked.of.awaits_contract()
    if not waits and is_busy(asked, ""):
        waits = "until the Jobs that run have ended"
    return GateResult(GateKind.JOB, False, f"{SETTLED.called}: waits {waits}" if waits else f"{SETTLED.called}: begins")


def _of_jobs(asked: Round[Subject], run: AnalysisRun) -> GateResult:
    """Return the gate of Jobs that were started: how far they are, or how they failed."""
    if run.running:
        said = "; ".join(measured_now(asked, run)) or str(run)
        return GateResult(GateKind.JOB, False, f"{run.stage.called}: {said}", remedy=logs_of(asked.of.owner(), run))
    retry = f"gitops-bg retry {asked.key}"
    remedy = f"when its cause is gone, run it anew: {retry}; {logs_of(asked.of.owner(), run)}"
    reason = found(run)
    return GateResult(GateKind.JOB, False, f"{reason}; `{retry}` runs it anew" if run.paused else reason, remedy=remedy)


def logs_of(owner: AppOrGroup, run: AnalysisRun) -> str:
    """Return what to type to read the log of the Job that a run waits for, or that failed; empty where none is."""
    for one in run.metrics:
        if one.phase is not AnalysisPhase.SUCCESSFUL or one.terminated:
            return f"kubectl -n {owner.namespace} logs job/{job_name(owner, id_of(run, '', one))}"
    return ""


# --- analyses: that of a version before its promotion, and that of what serves, which nothing overtakes ---


def pre_promotion(asked: Round[Subject], digest: str) -> GateResult | None:
    """Return what the analysis before promotion says; None where nobody asks for one, or nothing serves yet."""
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
    """Return what the analysis after promotion says of the version that serves so far; None once it is over."""
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
    """Return when the analysis after promotion begins, which has not begun."""
    unknown = asked.after.unknown if asked.after is not None else ""
    if asked.of.goes_back():
        return GateResult(GateKind.ANALYSIS, False, f"{POST.called}: begins anew if traffic does not go back after all")
    reason = unknown or asked.of.awaits_after()
    return GateResult(GateKind.ANALYSIS, False, f"{POST.called}: {reason}", None if unknown else asked.of.arrival())


def _of_run(asked: Round[Subject], run: AnalysisRun) -> GateResult:
    """Return the gate of a run that has begun."""
    if run.running:
        return GateResult(GateKind.ANALYSIS, False, f"{run.stage.called}: {run}", ends_at(run))
    if run.phase is AnalysisPhase.SUCCESSFUL:
        return GateResult(GateKind.ANALYSIS, True, found(run))
    answer = asked.of.answer(run)
    return GateResult(GateKind.ANALYSIS, False, f"{found(run)}; {answer}" if run.paused else found(run), remedy=answer)


CONCURRENCY = "concurrency"
LAST = 2**53
"""The place in the queue of versions that are not merged yet: after all that are."""
PROMOTE_ALONE = "revert it, and promote again by a commit that changes primary.yaml alone"
_MOST_NAMED = 3


# --- gates: one for each shut rule, and one for each open policy; none where no policy is for it ---


def policies(asked: Round[Subject], digest: str) -> Iterator[GateResult]:
    """Yield what all policies say about the promotion of a version; what they say of several services once, with the
    names of these.
    """
    told: dict[GateResult, list[str]] = {}
    for judged in asked.of.judged(digest):
        for result in (*judged.commit, *of_verdicts(judged.verdicts)):
            told.setdefault(result, []).append(judged.service)
    for result, names in told.items():
        yield replace(result, reason=f"{_about(names)}{result.reason}")


def of_commit(then: PoliciesThen | None) -> Iterator[GateResult]:
    """Yield what the promotion's own commit says against the promotion (policies.md §5)."""
    if then is None:
        return
    commit = then.commit[:10]
    if then.unread:
        reason = f"nobody can tell what policies said before {commit or 'the promotion'}: {then.unread}"
        yield GateResult(GateKind.POLICY, False, reason, remedy="wait until the remote answers")
    if then.beside:
        reason = f"{commit} promotes it and {carries(then.beside)}"
        yield GateResult(GateKind.POLICY, False, reason, remedy=PROMOTE_ALONE)
    if then.changed_with_it:
        reason = f"{commit} promotes it and changes its own policy: policies/ is another with it"
        remedy = "revert it, and promote again by a commit that changes nothing in policies/"
        yield GateResult(GateKind.POLICY, False, reason, remedy=remedy)


def carries(files: tuple[str, ...]) -> str:
    """Say which files a commit or a branch has beside the promotion."""
    return f"carries other files: {', '.join(files)}"


def of_verdicts(found: tuple[RuleVerdict, ...]) -> Iterator[GateResult]:
    """Yield what the policies say."""
    shut = {verdict.policy for verdict in found if not verdict.open}
    told: set[str] = set()
    for verdict in found:
        if not verdict.open:
            yield _shut(verdict)
        elif verdict.policy not in shut | told:
            told.add(verdict.policy)
            reasons = dict.fromkeys(each.reason for each in found if each.policy == verdict.policy)
            yield GateResult(GateKind.POLICY, True, f"{verdict.policy}: {'; '.join(reasons)}")


def _shut(verdict: RuleVerdict) -> GateResult:
    reason = f"{verdict.policy}: {verdict.reason}"
    if verdict.overriding:
        by = verdict.overriding
        return GateResult(GateKind.POLICY, True, f"{reason}; overridden by {by.by}: {by.reason}")
    if not verdict.holds:
        return GateResult(GateKind.POLICY, True, f"{reason} (it only warns)", verdict.until)
    return GateResult(GateKind.POLICY, False, reason, verdict.until, verdict.remedy)


def record_overridden_policies(world: W, asked: Round[Subject], digest: str) -> W:
    """Note in the ledger each policy in spite of which traffic moves: who overrode it, and why (policies.md §6)."""
    told: dict[Overriding, list[tuple[str, str]]] = {}
    for judged in asked.of.judged(digest):
        for verdict in judged.verdicts:
            if verdict.overriding:
                told.setdefault(verdict.overriding, []).append((judged.service, verdict.rule))
    for by, overridden in told.items():
        rules = dict.fromkeys(rule for _, rule in overridden)
        signed = ", signed" if by.proof is Proof.SIGNED else ""
        said = f"{_about(service for service, _ in overridden)}{by.policy} ({', '.join(rules)}{signed}): {by.reason}"
        world = world.with_ledger_entry_of(Event.OVERRIDDEN, digest, reason=said, by=by.by, commit=by.commit)
    return world


def _about(services: Iterable[str]) -> str:
    """Return the names of services, each once, before what is said of them; empty of an app."""
    names = list(dict.fromkeys(filter(None, services)))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}: " if names else ""


def moments(asked: Round[Subject], digest: str) -> Iterator[datetime]:
    """Yield when time alone changes what a policy says about a version."""
    for judged in asked.of.judged(digest):
        yield from (verdict.until for verdict in judged.verdicts if verdict.until)


def with_place(asked: Round[Subject], seen: Peer, digest: str, gates: Iterable[GateResult]) -> Peer:
    """Return a peer with its place in the queue, where a version waits for its turn and nothing else: what also waits
    for pods delays no other. ``gates`` are all that stand before the version.
    """
    judged = asked.of.judged(digest)
    others = [gate for gate in gates if gate.kind != GateKind.POLICY]
    others += (gate for each in judged for gate in each.commit)
    shut = {verdict.rule for each in judged for verdict in each.verdicts if verdict.holds}
    return replace(seen, queued=asked.of.place(digest)) if shut == {CONCURRENCY} and all_open(others) else seen


def place_in_queue(who: AppOrGroup, merge: Source | None, since: datetime) -> tuple[int, str]:
    """Return the place of an app or a group that waits ``since``: the position of its merge in main; lower is first."""
    if merge is not None and merge.landed is not None:
        return merge.landed, str(who)
    return LAST, f"{since.isoformat()} {who}"
