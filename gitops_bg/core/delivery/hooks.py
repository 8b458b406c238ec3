"""The hooks that are asked about a version: which, when, and what their answers mean (flagger.md §3.4).

A hook is asked once those before it have accepted. Too many refusals, or a rollback hook that accepts, end the way of a
version; a backend that does not answer neither promotes nor takes back. No hook is asked about a rollback, and none
blocks one (I6). What follows from an answer is the caller's: an app aborts or goes back, a group stays or goes back.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from gitops_bg.core.delivery.delivery import Deciding, Delivered, Delivery
from gitops_bg.core.delivery.hook_text import answer_text, what_next
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.hooks import (
    Answer,
    Hook,
    HookCall,
    HookRun,
    HookType,
    OpenGate,
    due_at,
    expires_at,
    failure_limit_exceeded,
    has_accepted,
    id_of,
    key_of,
    satisfied,
    take,
)

CONFIRM_ROLLOUT, PRE_ROLLOUT, ROLLOUT = HookType.CONFIRM_ROLLOUT, HookType.PRE_ROLLOUT, HookType.ROLLOUT
CONFIRM_PROMOTION, ROLLBACK = HookType.CONFIRM_PROMOTION, HookType.ROLLBACK

ASKED = (CONFIRM_ROLLOUT, ROLLBACK, PRE_ROLLOUT, ROLLOUT, CONFIRM_PROMOTION)
"""The types that answer a question, in the order in which they are asked; the others only listen."""

ASKS_THE_PREVIEW = (PRE_ROLLOUT, ROLLOUT)
"""The types whose backends test a version through the preview Service: they are asked while that leads to it alone."""

_PHASES = {
    CONFIRM_ROLLOUT: "Waiting",
    PRE_ROLLOUT: "Progressing",
    ROLLOUT: "Progressing",
    CONFIRM_PROMOTION: "Progressing",
}
"""Flagger's name of the phase in which it calls hooks of a type."""

Asked = Delivery[Delivered]


# --- what they have answered ---


def hooks_of(delivery: Asked, *types: HookType) -> Iterator[Hook]:
    """The hooks of these types, in the order of the file."""
    return (hook for hook in delivery.hooks if hook.type in types)


def run_of(delivery: Asked, hook: Hook, digest: str, *, final: bool = False) -> HookRun | None:
    """What a hook has answered for the present try of a version so far."""
    wanted = (hook.name, hook.type, digest, delivery.of.rollout(digest), final)
    runs = (run for run in delivery.runs if (run.hook, run.type, run.digest, run.rollout, run.final) == wanted)
    return next(runs, None)


def has_passed(delivery: Asked, digest: str, *types: HookType) -> bool:
    """Whether every hook of these types has accepted a version."""
    hooks = [hook for hook in hooks_of(delivery, *types) if not is_skipped(delivery, digest, hook.type)]
    runs = ((hook, run_of(delivery, hook, digest)) for hook in hooks)
    return all(run is not None and has_accepted(run, hook) for hook, run in runs)


def is_skipped(delivery: Asked, digest: str, kind: HookType) -> bool:
    """Whether hooks of a type are skipped for a version: the checks are, but not the gates that people open."""
    return kind.counts_refusals and delivery.unchecked == digest


def says_no(hook: Hook, run: HookRun) -> bool:
    """Whether the answers end the way of a version: too many refusals, or a rollback hook that accepts."""
    return failure_limit_exceeded(run, hook) or (hook.type is ROLLBACK and run.answer is Answer.ACCEPTED)


def is_first_refusal(hook: Hook, before: HookRun, after: HookRun) -> bool:
    """Whether a refusal is to be told; later ones are only shown. A rollback hook refuses when all is well."""
    return before.refused == 0 < after.refused and hook.type is not ROLLBACK and not hook.mute_alert


# --- steps: the runs of before, and those of after ---


def heard(delivery: Delivery[Deciding]) -> tuple[tuple[Hook, HookRun, HookRun], ...]:
    """The runs that go on, each before and after what came back. Deadlines are applied, also those that somebody has
    just changed.
    """
    return tuple((hook, run, _heard(delivery, hook, run)) for hook, run in asked_about(delivery))


def _heard(delivery: Asked, hook: Hook, run: HookRun) -> HookRun:
    called = delivery.responses.get(id_of(run, delivery.epoch))
    if called is not None and not says_no(hook, run):
        run = take(run, hook, called)
    ends = expires_at(run, hook, delivery.resumed_at)
    return replace(run, expired=ends is not None and delivery.now >= ends)


def begun(delivery: Delivery[Deciding]) -> tuple[HookRun, ...]:
    """The runs with those that begin: each hook is asked as soon as those before it have accepted."""
    new = []
    for digest, kind in _to_ask(delivery):
        final = kind is CONFIRM_PROMOTION and delivery.promoted == digest
        for hook in hooks_of(delivery, kind):
            if run_of(delivery, hook, digest, final=final) is None and _may_begin(delivery, digest, kind):
                new.append(HookRun(hook.name, kind, digest, delivery.of.rollout(digest), delivery.now, final))
    return (*delivery.runs, *new)


def opened_by_hand(delivery: Asked) -> tuple[tuple[Hook, HookRun, HookRun], ...]:
    """The runs of manual gates, each before and after what people did to it."""
    return tuple((hook, run, _by_hand(delivery, run)) for hook, run in asked_about(delivery) if hook.manual)


def _by_hand(delivery: Asked, run: HookRun) -> HookRun:
    is_open = _open_gate(delivery, run.hook) is not None
    since = delivery.now if run.answer is Answer.ACCEPTED and not is_open else run.since
    answer = Answer.ACCEPTED if is_open else Answer.REFUSED
    return replace(run, answer=answer, accepted=max(run.accepted, int(is_open)), since=since)


def _open_gate(delivery: Asked, name: str) -> OpenGate | None:
    return next((gate for gate in delivery.open_gates if gate.name == name), None)


def counting(delivery: Delivery[Deciding]) -> tuple[HookRun, ...]:
    """The runs without those about something else, and of hooks that left the file; the last ones stay to be shown."""
    known = {(hook.name, hook.type): hook for hook in delivery.hooks}
    asked = ((known.get((run.hook, run.type)), run) for run in delivery.runs)
    return tuple(run for hook, run in asked if hook is not None and _counts(delivery, hook, run))


def _counts(delivery: Delivery[Deciding], hook: Hook, run: HookRun) -> bool:
    if run.type in ASKS_THE_PREVIEW and not has_accepted(run, hook) and not delivery.of.is_shown(run.digest):
        return False  # Another version answers now: it is asked anew, once that is over.
    return delivery.of.counts(run)


def changed(runs: tuple[HookRun, ...], heard: tuple[tuple[Hook, HookRun, HookRun], ...]) -> tuple[HookRun, ...]:
    """Put runs after what came back in the place of those before."""
    after = {before: after for _, before, after in heard}
    return tuple(after.get(run, run) for run in runs)


def _to_ask(delivery: Delivery[Deciding]) -> Iterator[tuple[str, HookType]]:
    """What hooks are asked about: what serves while it is judged, and what is on its way unless that is paused."""
    for digest in delivery.digests:
        if delivery.of.is_judged_live(digest):
            yield digest, ROLLBACK
        elif delivery.of.goes_forward(digest) and not delivery.paused:
            yield from ((digest, kind) for kind in ASKED)


def _may_begin(delivery: Delivery[Deciding], digest: str, kind: HookType) -> bool:
    if kind in (CONFIRM_ROLLOUT, ROLLBACK):
        return True
    if not delivery.of.is_ready(digest) or is_skipped(delivery, digest, kind):
        return False
    if kind in ASKS_THE_PREVIEW:
        before = () if kind is PRE_ROLLOUT else (PRE_ROLLOUT,)
        return delivery.of.is_in_preview(digest) and has_passed(delivery, digest, *before)
    if delivery.promoted == digest:
        return delivery.of.waits_only_for_hooks()
    return has_passed(delivery, digest, PRE_ROLLOUT, ROLLOUT) and delivery.of.has_passed_analysis(digest)


# --- whom to call, and when ---


def asked_about(delivery: Asked) -> Iterator[tuple[Hook, HookRun]]:
    """The runs that go on: a suspension stops those that lead forward, never those that may lead back."""
    hooks = {(hook.name, hook.type): hook for hook in delivery.hooks}
    for run in delivery.runs:
        hook = hooks.get((run.hook, run.type))
        if hook is not None and _goes_on(delivery, run):
            yield hook, run


def _goes_on(delivery: Asked, run: HookRun) -> bool:
    if run.type is ROLLBACK:
        return delivery.of.goes_forward(run.digest) or delivery.of.is_judged_live(run.digest)
    is_answered = run.type is CONFIRM_PROMOTION and not run.final and delivery.promoted == run.digest
    if is_answered or is_skipped(delivery, run.digest, run.type):
        return False
    if run.type in ASKS_THE_PREVIEW and not delivery.of.is_shown(run.digest):
        return False
    return delivery.of.goes_forward(run.digest) and not delivery.paused


def next_call(delivery: Asked, hook: Hook, run: HookRun) -> datetime | None:
    """When a hook is called next; a rollout hook is called as long as the analysis beside it runs."""
    beside = delivery.measured
    is_measured = beside is not None and (beside.digest, beside.rollout) == (run.digest, run.rollout)
    return due_at(run, hook, goes_on=hook.type is ROLLOUT and is_measured)


def moments(delivery: Asked) -> Iterator[datetime]:
    """When a call becomes due, or the deadline of a hook ends."""
    for hook, run in asked_about(delivery):
        ends = None if run.expired else expires_at(run, hook, delivery.resumed_at)
        if not says_no(hook, run):
            yield from filter(None, (next_call(delivery, hook, run), ends))


def due(delivery: Asked) -> Iterator[tuple[Hook, HookRun]]:
    """The hooks to call now."""
    for hook, run in asked_about(delivery):
        moment = None if says_no(hook, run) else next_call(delivery, hook, run)
        if moment is not None and moment <= delivery.now:
            yield hook, run


def call_of(
    delivery: Asked, hook: Hook, run: HookRun, phase: str, metadata: tuple[tuple[str, str], ...] = ()
) -> HookCall:
    """The call of a hook; ``phase`` is what rollback hooks are told, in Flagger's words."""
    named = "Promoting" if run.final else _PHASES.get(run.type, phase)
    return HookCall(id_of(run, delivery.epoch), key_of(run, delivery.epoch), hook, named, run.digest, metadata)


# --- what they say ---


def hook_gate(delivery: Asked, hook: Hook, digest: str, *, final: bool = False) -> GateResult:
    """The gate of a hook between a version and traffic, or its pods."""
    kind = GateKind.MANUAL if hook.manual else GateKind.HOOK
    run = run_of(delivery, hook, digest, final=final)
    is_open = run is not None and satisfied(run, hook, delivery.now) and not says_no(hook, run)
    return GateResult(kind, is_open, describe(delivery, hook, run))


def describe(delivery: Asked, hook: Hook, run: HookRun | None) -> str:
    """The state of a hook, as one sentence."""
    if run is None:
        return f"{hook.title}: not asked yet"
    if hook.manual or says_no(hook, run):
        return answered(delivery, hook, run)
    moment, anew = next_call(delivery, hook, run), delivery.of.anew(run.digest)
    return answered(delivery, hook, run) + what_next(hook, run, moment, anew, delivery.now, delivery.resumed_at)


def answered(delivery: Asked, hook: Hook, run: HookRun) -> str:
    """What a hook has answered, without what comes next, for the record."""
    if not hook.manual:
        return answer_text(hook, run)
    opened = _open_gate(delivery, hook.name)
    if opened is None:
        return f"manual gate {hook.name} is closed; `gitops-bg gate open {delivery.key} {hook.name}` opens it"
    because = f": {opened.reason}" if opened.reason else ""
    return f"manual gate {hook.name} was opened by {opened.by}{because}"
