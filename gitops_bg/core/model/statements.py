"""Who said what about a version, in the order in which it counts: one list, and what follows from it. Pure data.

A statement is about a version, by its digest. It refuses the version (no promotion until somebody says so), or answers
a refusal. Nothing that follows is stored; each answer is a fold over the list:

- *On hold* is a version that was refused last: no answer has followed.
- *Bad* is one that was refused for a cause which speaks against the version itself. An answer lets it be promoted
  again, through every gate; that it was bad stays true, and no rollback that the agent chooses leads to it.
- Once live traffic has come to a version, nothing that was said before speaks against it any more (`without`).

*What main said before anybody could react is no answer* (decision 17): a statement of the agent or of an operator has
no place on main's line until a look at main has begun after it. Until then it awaits that look, and whatever main shows
counts as older. `looked` ends the wait, of all statements alike.

What no answer follows from is forgotten at once (`said`), so that each version leaves three statements at most.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.model.git.looks import Awaited, Looks


class Says(StrEnum):
    """What a statement says of a version."""

    REFUSED = "refused"
    """It is not to be promoted until somebody says so."""
    CLEARED = "cleared"
    """Somebody let it be promoted again: `resume`, `retry`, a revert of the revert."""
    NAMED = "named"
    """Main names it again: a promotion, through every gate."""
    PASSED_OVER = "passed-over"
    """The target named a newer version. Nobody cleared this one: if it is named again, it is on hold again."""


class Cause(StrEnum):
    """Why a version was refused."""

    ROLLED_BACK = "rolled-back"
    """A person moved traffic away from the digest: a revert, `rollback`."""
    ABORTED = "aborted"
    ANALYSIS_FAILED = "analysis-failed"
    HOOK_REFUSED = "hook-refused"
    PODS_FAILED = "pods-failed"
    """Its pods failed after the switch (``core.transitions.traffic.stabilization``)."""
    LATE = "late"
    """Its pods did not become available in time (``progressDeadlineAbort``)."""
    EXPIRED = "expired"
    """Nobody promoted it in time (``expireAfterSeconds``)."""
    TAKEN_BACK = "taken-back"
    """Somebody reverted its promotion in Git before traffic moved."""
    CLOSED = "closed"
    """Somebody closed the pull request that offered it."""
    UNKNOWN = "unknown"
    """The ledger says one that this release does not know."""

    @property
    def is_bad(self) -> bool:
        """Whether the cause speaks against the version itself, and not only against promoting it at that time."""
        return self not in (Cause.EXPIRED, Cause.TAKEN_BACK, Cause.CLOSED)


@dataclass(frozen=True, slots=True)
class Statement:
    """What somebody said about a version: Git, where it has a commit; else a person or a hook, ``by`` name; else the
    agent.
    """

    digest: str
    says: Says
    at: datetime
    cause: Cause = Cause.UNKNOWN
    reason: str = ""
    by: str = ""
    commit: str = ""
    """The commit of main that said it."""
    awaits: Awaited | None = None
    """Set where Git did not say it, until main has been looked at since."""
    sequence: int = 0
    """The ledger entry that tells of it; 0 until it has one."""


Statements = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Hold:
    """What speaks against a version: the refusal, and how it was answered."""

    digest: str
    reason: str
    since: datetime
    cause: Cause = Cause.UNKNOWN
    lifted: Says | None = None
    """None while the hold is in force."""
    awaits: Awaited | None = None
    sequence: int = 0

    @property
    def why(self) -> str:
        """Why it is on hold, for people: what happened, and the reason that its author gave.

        >>> Hold("v1:3f", 'Revert "web 2"', datetime(2026, 1, 1), Cause.ROLLED_BACK).why
        'rolled back: Revert "web 2"'
        """
        happened = _HAPPENED.get(self.cause, "")
        said = not happened or self.reason.lower().startswith(happened.split()[0])
        return self.reason if said else f"{happened}: {self.reason}"


_HAPPENED = {
    Cause.ROLLED_BACK: "rolled back",
    Cause.ABORTED: "aborted",
    Cause.TAKEN_BACK: "promotion taken back",
    Cause.CLOSED: "pull request closed",
}
"""What happened, for causes whose reason is somebody's own words: the subject of a commit, an option."""

MOST_ANSWERED_REFUSALS = 100
"""Of how many versions that are not on hold any more a record remembers that they were bad."""


def held(statements: Statements, digest: str) -> Hold | None:
    """The hold in force on a version, or None."""
    for one in reversed(statements):
        if one.digest == digest:
            return _hold(one) if one.says is Says.REFUSED else None
    return None


def objection(statements: Statements, digest: str) -> Hold | None:
    """What speaks against a version: the hold on it, or an answered one that says it was bad; else None."""
    lifted: Says | None = None
    for one in reversed(statements):
        if one.digest != digest:
            continue
        if one.says is not Says.REFUSED:
            lifted = lifted or one.says
        elif lifted is None or one.cause.is_bad:
            return _hold(one, lifted)
    return None


def holds(statements: Statements) -> tuple[Hold, ...]:
    """The holds in force, oldest first."""
    last = {one.digest: one for one in statements}
    return tuple(_hold(one) for one in statements if one.says is Says.REFUSED and last[one.digest] is one)


def past_holds(statements: Statements) -> tuple[Hold, ...]:
    """The answered refusals that say a version was bad, in the order of the answers."""
    answers = [one for one in statements if one.says is not Says.REFUSED]
    refusals = {one.digest: one for one in statements if one.says is Says.REFUSED and one.cause.is_bad}
    return tuple(_hold(refusals[one.digest], one.says) for one in answers)


def said(statements: Statements, new: Statement) -> Statements:
    """The list with one more statement, without those of its version that nothing follows from any more.

    An answer to a refusal that does not speak against the version itself leaves nothing: both are over. The oldest
    answered refusals are forgotten beyond `MOST_ANSWERED_REFUSALS`; the ledger has them.
    """
    others = tuple(one for one in statements if one.digest != new.digest)
    about = [one for one in statements if one.digest == new.digest]
    if new.says is Says.REFUSED:
        return (*others, *_telling([*about, new]))
    about = [replace(one, awaits=None) if one.awaits else one for one in about]
    return _bounded((*others, *_telling([*about, new])))


def without(statements: Statements, digest: str) -> Statements:
    """The list without what speaks against a version."""
    return tuple(one for one in statements if one.digest != digest)


def looked(statements: Statements, looks: Looks) -> Statements:
    """The list once main has been looked at: what awaited that look awaits it no more. Where another process made the
    statement it is unknown when that one looked, so the next look of this one counts.
    """
    return tuple(
        replace(one, awaits=None if one.awaits.is_over(looks) else one.awaits.noted(looks)) if one.awaits else one
        for one in statements
    )


def _telling(about: list[Statement]) -> Iterator[Statement]:
    """Of the statements about one version those that an answer follows from: the last refusal that speaks against it
    with the last answer since, and a refusal in force.
    """
    bad = max((place for place, one in enumerate(about) if one.says is Says.REFUSED and one.cause.is_bad), default=None)
    answered = max((place for place, one in enumerate(about) if one.says is not Says.REFUSED), default=-1)
    for place, one in enumerate(about):
        is_answer = bad is not None and place == answered and bad < place
        if place == bad or is_answer or (place == len(about) - 1 and one.says is Says.REFUSED):
            yield one


def _bounded(statements: Statements) -> Statements:
    last = {one.digest: one for one in statements}
    answered = [one.digest for one in statements if last[one.digest] is one and one.says is not Says.REFUSED]
    spare = set(answered[:-MOST_ANSWERED_REFUSALS])
    return tuple(one for one in statements if one.digest not in spare) if spare else statements


def _hold(refusal: Statement, lifted: Says | None = None) -> Hold:
    return Hold(refusal.digest, refusal.reason, refusal.at, refusal.cause, lifted, refusal.awaits, refusal.sequence)


def restated(statements: Statements, digest: str, awaits: Awaited) -> Statements:
    """The list in which the hold on a version is said once more: what main shows at the next look answers it not."""
    last = max((place for place, one in enumerate(statements) if one.digest == digest), default=-1)
    return tuple(
        replace(one, awaits=awaits) if place == last and one.says is Says.REFUSED else one
        for place, one in enumerate(statements)
    )


def preceded(statements: Statements, by: Iterable[Statement]) -> Statements:
    """The list after what was said before, as the ledger has it, of versions that the list says nothing about."""
    known = {one.digest for one in statements}
    before: Statements = ()
    for one in by:
        before = before if one.digest in known else said(before, one)
    return (*before, *statements)
