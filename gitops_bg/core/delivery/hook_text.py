"""What a hook has answered, and what comes next, as parts of a sentence. Knows neither apps nor release groups."""

from datetime import datetime

from gitops_bg.core.model.hooks import Answer, Hook, HookRun, HookType, expires_at, is_old

LONGEST_REASON = 300
"""The most characters of a body in one sentence; the condition ``HooksPassed`` and the status have all of it."""


def answer_text(hook: Hook, run: HookRun) -> str:
    """What a hook has answered so far, without what comes next."""
    return f"{hook.title}{_count(hook, run)}: {_answer(run)}"


def what_next(
    hook: Hook, run: HookRun, moment: datetime | None, anew: str, now: datetime, resumed_at: datetime | None
) -> str:
    """What comes next: when it is asked again, or, where its time is over, what asks ``anew``.

    ``resumed_at``: when the last suspension ended.
    """
    if run.expired:
        what = "did not open" if hook.type.confirms else "gave no answer"
        return f"; it {what} within {hook.deadline} s; {anew}"
    if moment and is_old(run, hook, now):
        return f"; too old to count, asked again since {_clock(moment)}"
    ends = expires_at(run, hook, resumed_at)
    again = f"; asked again at {_clock(moment)}" if moment and run.last_at else ""
    return again + (f", until {_clock(ends)}" if ends and run.answer is not Answer.ACCEPTED else "")


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
