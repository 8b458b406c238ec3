"""Who said what about a version, in the order in which it counts: one list, and what follows from it. Pure data.

A statement is about a version, by its digest. It refuses the version (no promotion until somebody says so), answers a
refusal, or wants live traffic there although main does not say so. Nothing that follows is stored; each answer is a
fold over the list:

- *On hold* is a version that was refused last: no answer has followed.
- *Bad* is one that was refused for a cause which speaks against the version itself. An answer lets it be promoted
  again, through every gate; that it was bad stays true, and no rollback that the agent chooses leads to it.
- Once live traffic has come to a version, nothing that was said before speaks against it any more (`without`).
- *The override* is what was wanted last: an emergency, until main follows, or names something else.

*What main said before anybody could react is no answer* (decision 17): a statement of the agent or of an operator has
no place on main's line until a look at main has begun after it. Until then it awaits that look, and whatever main shows
counts as older. `looked` ends the wait, of all statements alike.

What no answer follows from is forgotten at once (`said`), so that each version leaves three statements at most.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.journal import AwaitsPoll, PollCount


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
    WANTED = "wanted"
    """Live traffic is to go to it, and main does not say so yet (DESIGN §4.5)."""


ANSWERS = frozenset({Says.CLEARED, Says.NAMED, Says.PASSED_OVER})
"""What answers a refusal."""


class Cause(StrEnum):
    """Why a version was refused, or left for another one that is wanted."""

    ROLLED_BACK = "rolled-back"
    """A person moved traffic away from the digest: a revert, `rollback`."""
    ABORTED = "aborted"
    ANALYSIS_FAILED = "analysis-failed"
    HOOK_REFUSED = "hook-refused"
    JOB_FAILED = "job-failed"
    """A Job before its pods failed (``spec.jobs.beforePods``)."""
    PODS_FAILED = "pods-failed"
    """Its pods failed after the switch (``core.transitions.verdicts``)."""
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
    """The commit of main that said it. What is wanted so is answered by whatever changes ``primary.yaml`` later."""
    awaits: AwaitsPoll | None = None
    """Set where Git did not say it, until main has been looked at since."""
    sequence: int = 0
    """The ledger entry that tells of it; 0 until it has one. Of what is wanted: that main refuses it."""
    instead_of: str = ""
    """Of what is wanted: what ``primary.yaml`` named then, as far as anybody had seen; of a group, what requests leave.
    """
    main_named: str = ""
    """Of what is wanted in a group: the version that main named then."""


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
    awaits: AwaitsPoll | None = None
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


@dataclass(frozen=True, slots=True)
class Override:
    """Traffic goes where Git does not say yet: an emergency, until Git follows (DESIGN §4.5)."""

    from_digest: str
    """What ``primary.yaml`` named when it was made, as far as anybody had seen; of a group, what requests leave."""
    to_digest: str
    reason: str
    by: str
    at: datetime
    cause: Cause = Cause.ROLLED_BACK
    """The cause of the hold that the version left by traffic gets."""
    awaits: AwaitsPoll | None = None
    """Set until main has been looked at after it was made; until then main cannot answer it."""
    commit: str = ""
    """The commit of main that asked for it: whatever changes ``primary.yaml`` later answers it."""
    main_named: str = ""
    """Of a group: the version that main named then."""
    diverged: bool = False
    """Main refused the commit; the promotion branch offers it, and the ledger says so."""


@dataclass(frozen=True, slots=True)
class Contract:
    """The version from which on what a database has lost is not needed (decision 114).

    Closes the way back to every version that was promoted before this one, from the moment its Jobs may run."""

    digest: str
    """The version; it and later ones are still allowed."""
    name: str
    """Its name for people, also once the record has forgotten it."""
    at: datetime

    @property
    def why(self) -> str:
        """Why an older version may not come back, as a sentence without its subject."""
        since = f"{self.at:%Y-%m-%d}"
        return f"is older than the contract of {self.name}, whose Jobs may have removed what it needs since {since}"


MOST_ANSWERED_REFUSALS = 100
"""Of how many versions that are not on hold any more a record remembers that they were bad."""


def held(statements: Statements, digest: str) -> Hold | None:
    """Return the hold in force on a version, or None."""
    about = _about(statements, digest)
    return _hold(about[-1]) if about and about[-1].says is Says.REFUSED else None


def objection(statements: Statements, digest: str) -> Hold | None:
    """Return what speaks against a version: the hold on it, or an answered one that says it was bad; else None."""
    lifted: Says | None = None
    for one in reversed(_about(statements, digest)):
        if one.says is not Says.REFUSED:
            lifted = lifted or one.says
        elif lifted is None or one.cause.is_bad:
            return _hold(one, lifted)
    return None


def holds(statements: Statements) -> tuple[Hold, ...]:
    """Return the holds in force, oldest first."""
    last = _last(statements)
    return tuple(_hold(one) for one in statements if one.says is Says.REFUSED and last[one.digest] is one)


def past_holds(statements: Statements) -> tuple[Hold, ...]:
    """Return the answered refusals that say a version was bad, in the order of the answers."""
    bad = {one.digest: one for one in statements if one.says is Says.REFUSED and one.cause.is_bad}
    answers = (one for one in statements if one.says in ANSWERS and one.digest in bad)
    return tuple(_hold(bad[one.digest], one.says) for one in answers)


def override(statements: Statements) -> Override | None:
    """Return where traffic is to go instead of where main says, or None."""
    for one in reversed(statements):
        if one.says is Says.WANTED:
            return Override(
                from_digest=one.instead_of,
                to_digest=one.digest,
                reason=one.reason,
                by=one.by,
                at=one.at,
                cause=one.cause,
                awaits=one.awaits,
                commit=one.commit,
                main_named=one.main_named,
                diverged=one.sequence > 0,
            )
    return None


def with_statement(statements: Statements, new: Statement) -> Statements:
    """Return the list with one more statement, without those that nothing follows from any more.

    What is wanted takes the place of what was wanted before. An answer to a refusal that does not speak against the
    version itself leaves nothing: both are over. The oldest answered refusals are forgotten beyond
    `MOST_ANSWERED_REFUSALS`; the ledger has them.
    """
    if new.says is Says.WANTED:
        return (*unwanted(statements), new)
    about = [replace(one, awaits=None) if one.awaits else one for one in _about(statements, new.digest)]
    return _bounded((*without(statements, new.digest), *_telling([*about, new])))


def without(statements: Statements, digest: str) -> Statements:
    """Return the list without what speaks against a version."""
    return tuple(one for one in statements if one.digest != digest or one.says is Says.WANTED)


def unwanted(statements: Statements) -> Statements:
    """Return the list without what is wanted: main follows, or has answered."""
    return tuple(one for one in statements if one.says is not Says.WANTED)


def refused_by_main(statements: Statements, sequence: int) -> Statements:
    """Return the list where the ledger's entry of this number says that main refuses what is wanted."""
    return tuple(replace(one, sequence=sequence) if one.says is Says.WANTED else one for one in statements)


def after_poll(statements: Statements, looks: PollCount) -> Statements:
    """Return the list once main has been looked at: what awaited that look awaits it no more. Where another process
    made the statement it is unknown when that one looked, so the next look of this one counts.
    """
    return tuple(
        replace(one, awaits=None if one.awaits.is_over(looks) else one.awaits.stamped(looks)) if one.awaits else one
        for one in statements
    )


def restated(statements: Statements, digest: str, awaits: AwaitsPoll) -> Statements:
    """Return the list in which the hold on a version is said once more: what the next look at main shows is no
    answer.
    """
    last = _last(statements).get(digest)
    return tuple(replace(one, awaits=awaits) if one is last and one.says is Says.REFUSED else one for one in statements)


def preceded(statements: Statements, by: Iterable[Statement]) -> Statements:
    """Return the list after what was said before, as the ledger has it, of versions that the list says nothing
    about.
    """
    known = _last(statements)
    before: Statements = ()
    for one in by:
        before = before if one.digest in known else with_statement(before, one)
    return (*before, *statements)


def _about(statements: Statements, digest: str) -> list[Statement]:
    """Return what was said against a version, and in answer to that."""
    return [one for one in statements if one.digest == digest and one.says is not Says.WANTED]


def _last(statements: Statements) -> dict[str, Statement]:
    """Return the last of these, by version."""
    return {one.digest: one for one in statements if one.says is not Says.WANTED}


def _telling(about: list[Statement]) -> list[Statement]:
    """Return the statements about one version that an answer follows from: the last refusal that speaks against it
    with the last answer since, and a refusal in force.
    """
    kept: list[Statement] = []
    for one in about:
        bad = [each for each in kept if _is_bad(each)]
        if one.says is not Says.REFUSED:
            kept = [*bad, one] if bad else []
        elif one.cause.is_bad:
            kept = [one]
        else:
            kept = [*bad, *(each for each in kept if each.says is not Says.REFUSED), one]
    return kept


def _is_bad(statement: Statement) -> bool:
    return statement.says is Says.REFUSED and statement.cause.is_bad


def _bounded(statements: Statements) -> Statements:
    answered = [digest for digest, one in _last(statements).items() if one.says in ANSWERS]
    spare = set(answered[:-MOST_ANSWERED_REFUSALS])
    return tuple(one for one in statements if one.says is Says.WANTED or one.digest not in spare)


def _hold(refusal: Statement, lifted: Says | None = None) -> Hold:
    return Hold(refusal.digest, refusal.reason, refusal.at, refusal.cause, lifted, refusal.awaits, refusal.sequence)
