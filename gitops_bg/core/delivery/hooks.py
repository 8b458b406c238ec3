"""The hooks that are asked about a version: which, when, and what their answers mean (flagger.md §3.4).

A hook is asked once those before it have accepted. Too many refusals, or a rollback hook that accepts, end the way of a
version; a backend that does not answer neither promotes nor takes back. No hook is asked about a rollback, and none
blocks one (I6). Knows neither apps nor release groups.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from gitops_bg.core.delivery.subject import AskingSubject, Round, Rounds, Subject, W
from gitops_bg.core.model.analysis import AnalysisStage
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.hooks import (
    Hook,
    HookAnswer,
    HookCall,
    HookResponse,
    HookRun,
    HookType,
    due_at,
    expires_at,
    failure_limit_exceeded,
    has_accepted,
    id_of,
    is_old,
    key_of,
    satisfied,
    with_answer,
)
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.statements import Cause

# --- one answer as parts of a sentence ---

LONGEST_REASON = 300
"""The most characters of a body in one sentence; the condition ``HooksPassed`` and the status have all of it."""


def answer_text(hook: Hook, run: HookRun) -> str:
    """Return what a hook has answered so far, without what comes next."""
    return f"{hook.title}{_count(hook, run)}: {_answer(run)}"


def what_next(
    hook: Hook, run: HookRun, moment: datetime | None, anew: str, now: datetime, resumed_at: datetime | None
) -> str:
    """Return what comes next: when it is asked again, or, where its time is over, what asks ``anew``.

    ``resumed_at``: when the last suspension ended.
    """
    if run.expired:
        what = "did not open" if hook.type.confirms else "gave no answer"
        return f"; it {what} within {hook.deadline} s; {anew}"
    if moment and is_old(run, hook, now):
        return f"; too old to count, asked again since {_clock(moment)}"
    ends = expires_at(run, hook, resumed_at)
    again = f"; asked again at {_clock(moment)}" if moment and run.last_at else ""
    return again + (f", until {_clock(ends)}" if ends and run.answer is not HookAnswer.ACCEPTED else "")


def _count(hook: Hook, run: HookRun) -> str:
    if not hook.type.counts_refusals:
        return ""
    wanted = hook.iterations if hook.type is HookType.ROLLOUT else 1
    return f" ✔{run.accepted} ✖{run.refused} of {wanted}"


def _answer(run: HookRun) -> str:
    if run.answer is None:
        return "no answer yet"
    status = f" ({run.status})" if run.status else ""
    text = " ".join(run.text.split())
    cut = text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}…"
    return f"{run.answer}{status}" + (f": {cut}" if cut else "")


def _clock(moment: datetime) -> str:
    return moment.strftime("%H:%M:%SZ")


CONFIRM_ROLLOUT, PRE_ROLLOUT, ROLLOUT = HookType.CONFIRM_ROLLOUT, HookType.PRE_ROLLOUT, HookType.ROLLOUT
CONFIRM_PROMOTION, ROLLBACK = HookType.CONFIRM_PROMOTION, HookType.ROLLBACK

IN_ORDER = (CONFIRM_ROLLOUT, ROLLBACK, PRE_ROLLOUT, ROLLOUT, CONFIRM_PROMOTION)
"""The types that answer a question, in the order in which they are asked; the others only listen (`messages`)."""

THROUGH_PREVIEW = (PRE_ROLLOUT, ROLLOUT)
"""The types whose backends test a version through the preview Service: they are asked while that leads to it alone."""

_PHASES = {
    CONFIRM_ROLLOUT: "Waiting",
    PRE_ROLLOUT: "Progressing",
    ROLLOUT: "Progressing",
    CONFIRM_PROMOTION: "Progressing",
}
"""Flagger's name of the phase in which it calls hooks of a type."""


class Answered(NamedTuple):
    """A hook, and its run before and after a look."""

    hook: Hook
    before: HookRun
    after: HookRun


# --- what they have answered ---


def hooks_of(asked: Round[Subject], *types: HookType) -> Iterator[Hook]:
    """Return the hooks of these types, in the order of the file."""
    return (hook for hook in asked.hooks if hook.type in types)


def run_of(asked: Round[Subject], hook: Hook, digest: str, *, final: bool = False) -> HookRun | None:
    """Return what a hook has answered for the present try of a version so far."""
    wanted = (hook.name, hook.type, digest, asked.of.rollout(digest), final)
    runs = (run for run in asked.hook_state.runs if (run.hook, run.type, run.digest, run.rollout, run.final) == wanted)
    return next(runs, None)


def has_passed(asked: Round[Subject], digest: str, *types: HookType) -> bool:
    """Return whether every hook of these types has accepted a version."""
    hooks = [hook for hook in hooks_of(asked, *types) if not is_skipped(asked, digest, hook.type)]
    runs = ((hook, run_of(asked, hook, digest)) for hook in hooks)
    return all(run is not None and has_accepted(run, hook) for hook, run in runs)


def is_skipped(asked: Round[Subject], digest: str, kind: HookType) -> bool:
    """Return whether hooks of a type are skipped for a version: the checks are, but not the gates that people open."""
    return kind.counts_refusals and asked.is_in_full(digest)


def says_no(hook: Hook, run: HookRun) -> bool:
    """Return whether the answers end the way of a version: too many refusals, or a rollback hook that accepts."""
    return failure_limit_exceeded(run, hook) or (hook.type is ROLLBACK and run.answer is HookAnswer.ACCEPTED)


def is_first_refusal(answered: Answered) -> bool:
    """Return whether a refusal is to be told: the first one, later ones are only shown. A rollback hook refuses when
    all is well.
    """
    hook, before, after = answered
    return before.refused == 0 < after.refused and hook.type is not ROLLBACK and not hook.mute_alert


def _is_over(asked: Round[Subject], hook: Hook, run: HookRun) -> bool:
    """Return whether a hook that says no is asked no more. About the version that serves it is asked until that is
    left.
    """
    return says_no(hook, run) and not asked.of.is_judged_live(run.digest)


# --- steps ---


def process_hook_results(world: W, rounds: Rounds[W]) -> W:
    """Read the answers of hooks, and act on them; a gate that somebody has just closed lets nothing through."""
    if not rounds(world).hook_state.runs:
        return world
    world = _ask_people(_without_stale(world, rounds), rounds)
    asked = rounds(world)
    answered = answered_by(asked, asked.calls)
    world = _with_answers(world, answered, rounds)
    for each in answered:
        world = _record_refusals(world, each, rounds)
    for hook, _, run in answered:
        world = _refuse(world, hook, run, rounds) if says_no(hook, run) else world
    return world


def begin_hooks(world: W, rounds: Rounds[W]) -> W:
    """Begin to ask the hooks that are due, now that it is known which versions can be asked, and are on their way.

    One version after the other: each try has its own number.
    """
    world = _without_stale(world, rounds)
    asked = rounds(world)
    for digest in asked.of.versions() if asked.hooks else ():
        world = _with_runs(world, begun(rounds(world), digest), rounds)
    return _ask_people(world, rounds)


def _without_stale(world: W, rounds: Rounds[W]) -> W:
    asked = rounds(world)
    return _with_runs(world, kept(asked), rounds) if asked.hook_state.runs else world


def _ask_people(world: W, rounds: Rounds[W]) -> W:
    """Answer for manual gates according to what somebody did to them; the ledger has each that waits for people."""
    answered = opened_by_hand(rounds(world))
    world = _with_answers(world, answered, rounds)
    for hook, _, run in filter(is_first_wait, answered):
        asked = rounds(world)
        world = asked.of.with_ledger_entry(Event.HOOK_REFUSED, run.digest, answered_text(asked, hook, run))
    return world


def _with_answers(world: W, answered: tuple[Answered, ...], rounds: Rounds[W]) -> W:
    changed = {each.before: each.after for each in answered}
    return _with_runs(world, tuple(changed.get(run, run) for run in rounds(world).hook_state.runs), rounds)


def _with_runs(world: W, runs: tuple[HookRun, ...], rounds: Rounds[W]) -> W:
    asked = rounds(world)
    return world if runs == asked.hook_state.runs else asked.of.with_part(replace(asked.hook_state, runs=runs))


def _record_refusals(world: W, each: Answered, rounds: Rounds[W]) -> W:
    """Note the first refusal, and a deadline that has passed, in the ledger."""
    hook, before, after = each
    asked = rounds(world)
    if is_first_refusal(each):
        world = asked.of.with_ledger_entry(Event.HOOK_REFUSED, after.digest, answered_text(asked, hook, after))
    if after.expired and not before.expired:
        asked = rounds(world)
        world = asked.of.with_ledger_entry(Event.HOOK_EXPIRED, after.digest, describe(asked, hook, after))
    return world


def _refuse(world: W, hook: Hook, run: HookRun, rounds: Rounds[W]) -> W:
    """Hold the version on its way that a hook says no to, or go back from the one that serves."""
    asked = rounds(world)
    reason, by = answered_text(asked, hook, run), hook.title if hook.type is ROLLBACK else ""
    if asked.of.goes_forward(run.digest):
        return asked.of.stop(run.digest, Cause.HOOK_REFUSED, reason, by)
    live = asked.analyses.run(AnalysisStage.POST)
    back = asked.of.way_back(live) if live is not None and asked.of.is_judged_live(run.digest) else ""
    return asked.of.go_back(back, Cause.HOOK_REFUSED, reason, by) if back else world


# --- the runs before, and those after ---


def answered_by(asked: Round[Subject], responses: Iterable[HookResponse]) -> tuple[Answered, ...]:
    """Return the runs that go on, with what came back. Deadlines are applied, also those that somebody has just
    changed.
    """
    by_id = {one.id: one for one in responses}
    return tuple(Answered(hook, run, _with_response(asked, hook, run, by_id)) for hook, run in asked_about(asked))


def _with_response(asked: Round[Subject], hook: Hook, run: HookRun, responses: Mapping[str, HookResponse]) -> HookRun:
    called = responses.get(id_of(run, asked.epoch))
    if called is not None and not _is_over(asked, hook, run):
        run = with_answer(run, hook, called)
    ends = expires_at(run, hook, asked.resumed_at)
    return replace(run, expired=ends is not None and asked.now >= ends)


def begun(asked: Round[AskingSubject], digest: str) -> tuple[HookRun, ...]:
    """Return the runs with those that begin about a version: each hook is asked as soon as those before it have
    accepted.
    """
    new, final = [], asked.incoming == digest
    for kind in _kinds(asked, digest):
        of_switch = final and kind is CONFIRM_PROMOTION
        for hook in hooks_of(asked, kind):
            if run_of(asked, hook, digest, final=of_switch) is None and _may_begin(asked, digest, kind):
                new.append(HookRun(hook.name, kind, digest, asked.of.rollout(digest), asked.now, of_switch))
    return (*asked.hook_state.runs, *new)


def _kinds(asked: Round[Subject], digest: str) -> tuple[HookType, ...]:
    """Return what is asked: whether to go back from what serves, while it is judged; and all of what is on its way,
    unless that is frozen.
    """
    if asked.of.is_judged_live(digest):
        return (ROLLBACK,)
    return IN_ORDER if asked.of.goes_forward(digest) and not asked.frozen else ()


def _may_begin(asked: Round[AskingSubject], digest: str, kind: HookType) -> bool:
    if kind in (CONFIRM_ROLLOUT, ROLLBACK):
        return True
    if not asked.of.is_ready(digest) or is_skipped(asked, digest, kind):
        return False
    if kind in THROUGH_PREVIEW:
        before = () if kind is PRE_ROLLOUT else (PRE_ROLLOUT,)
        return asked.of.is_in_preview(digest) and has_passed(asked, digest, *before)
    if asked.incoming == digest:
        return asked.of.waits_only_for_hooks()
    return has_passed(asked, digest, PRE_ROLLOUT, ROLLOUT) and asked.has_passed_analysis(digest)


def opened_by_hand(asked: Round[Subject]) -> tuple[Answered, ...]:
    """Return the runs of manual gates, with what people did to them."""
    return tuple(Answered(hook, run, _by_hand(asked, run)) for hook, run in asked_about(asked) if hook.manual)


def is_first_wait(answered: Answered) -> bool:
    """Return whether it is to be told that a manual gate waits for people: once for each try."""
    hook, before, after = answered
    return before.answer is None and not after.accepted and not hook.mute_alert


def _by_hand(asked: Round[Subject], run: HookRun) -> HookRun:
    is_open = asked.hook_state.gate(run.hook) is not None
    since = asked.now if run.answer is HookAnswer.ACCEPTED and not is_open else run.since
    answer = HookAnswer.ACCEPTED if is_open else HookAnswer.REFUSED
    return replace(run, answer=answer, accepted=max(run.accepted, int(is_open)), since=since)


def kept(asked: Round[AskingSubject]) -> tuple[HookRun, ...]:
    """Return the runs without those about something else, and of hooks that left the file; the last ones stay to be
    shown.
    """
    known = {(hook.name, hook.type): hook for hook in asked.hooks}
    runs = ((known.get((run.hook, run.type)), run) for run in asked.hook_state.runs)
    return tuple(run for hook, run in runs if hook is not None and _counts(asked, hook, run))


def _counts(asked: Round[AskingSubject], hook: Hook, run: HookRun) -> bool:
    if run.type in THROUGH_PREVIEW and not has_accepted(run, hook) and not asked.of.is_shown(run.digest):
        return False  # Another version answers now: it is asked anew, once that is over.
    return asked.of.counts(run)


# --- whom to call, and when ---


def asked_about(asked: Round[Subject]) -> Iterator[tuple[Hook, HookRun]]:
    """Yield the runs that go on: a suspension stops those that lead forward, never those that may lead back."""
    hooks = {(hook.name, hook.type): hook for hook in asked.hooks}
    for run in asked.hook_state.runs:
        hook = hooks.get((run.hook, run.type))
        if hook is not None and _goes_on(asked, run):
            yield hook, run


def _goes_on(asked: Round[Subject], run: HookRun) -> bool:
    if run.type is ROLLBACK:
        return asked.of.goes_forward(run.digest) or asked.of.is_judged_live(run.digest)
    is_asked_again = run.type is CONFIRM_PROMOTION and not run.final and asked.incoming == run.digest
    if is_asked_again or is_skipped(asked, run.digest, run.type):
        return False
    if run.type in THROUGH_PREVIEW and not asked.of.is_shown(run.digest):
        return False
    return asked.of.goes_forward(run.digest) and not asked.frozen


def next_call(asked: Round[Subject], hook: Hook, run: HookRun) -> datetime | None:
    """Return when a hook is called next; a rollout hook is called as long as the analysis beside it runs."""
    beside = asked.analyses.run(AnalysisStage.PRE)
    is_measured = beside is not None and beside.running and (beside.digest, beside.rollout) == (run.digest, run.rollout)
    return due_at(run, hook, goes_on=hook.type is ROLLOUT and is_measured)


def moments(asked: Round[Subject]) -> Iterator[datetime]:
    """Yield when a call becomes due, or the deadline of a hook ends."""
    for hook, run in asked_about(asked):
        ends = None if run.expired else expires_at(run, hook, asked.resumed_at)
        if not _is_over(asked, hook, run):
            yield from filter(None, (next_call(asked, hook, run), ends))


def due(asked: Round[Subject]) -> Iterator[tuple[Hook, HookRun]]:
    """Yield the hooks to call now."""
    for hook, run in asked_about(asked):
        moment = None if _is_over(asked, hook, run) else next_call(asked, hook, run)
        if moment is not None and moment <= asked.now:
            yield hook, run


def calls_due(asked: Round[Subject], phase: str) -> tuple[HookCall, ...]:
    """Return the calls to make now; ``phase`` is what rollback hooks are told, in Flagger's words."""
    return tuple(_call(asked, hook, run, phase) for hook, run in due(asked))


def _call(asked: Round[Subject], hook: Hook, run: HookRun, phase: str) -> HookCall:
    named, metadata = "Promoting" if run.final else _PHASES.get(run.type, phase), asked.of.metadata(run)
    return HookCall(id_of(run, asked.epoch), key_of(run, asked.epoch), hook, named, run.digest, metadata)


# --- what they say ---


def hook_gate(asked: Round[Subject], hook: Hook, run: HookRun | None) -> GateResult:
    """Return the gate of a hook between a version and traffic, or its pods, by its run."""
    kind = GateKind.MANUAL if hook.manual else GateKind.HOOK
    is_open = run is not None and satisfied(run, hook, asked.now) and not says_no(hook, run)
    return GateResult(kind, is_open, describe(asked, hook, run))


def describe(asked: Round[Subject], hook: Hook, run: HookRun | None) -> str:
    """Return the state of a hook, as one sentence."""
    if run is None:
        return f"{hook.title}: not asked yet"
    if hook.manual or _is_over(asked, hook, run):
        return answered_text(asked, hook, run)
    moment, anew = next_call(asked, hook, run), asked.of.retry_hint(run.digest)
    return answered_text(asked, hook, run) + what_next(hook, run, moment, anew, asked.now, asked.resumed_at)


def answered_text(asked: Round[Subject], hook: Hook, run: HookRun) -> str:
    """Return what a hook has answered, without what comes next, for the record."""
    if not hook.manual:
        return answer_text(hook, run)
    opened = asked.hook_state.gate(hook.name)
    if opened is None:
        return f"manual gate {hook.name} is closed; `gitops-bg gate open {asked.key} {hook.name}` opens it"
    because = f": {opened.reason}" if opened.reason else ""
    return f"manual gate {hook.name} was opened by {opened.by}{because}"
