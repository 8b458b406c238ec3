"""The messages of commits: a subject for people, a reason, trailers for machines. No foreign text can forge
a trailer.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.actions import label, titled
from gitops_bg.core.model.events import EVENTS
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.version import Subject, SubjectKind

Of = TypeVar("Of", bound=Subject)
About_co = TypeVar("About_co", bound=Subject, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement(Generic[About_co]):
    """One event of an app or a release group, or a request for one, as commits describe it."""

    subject: About_co
    event: Event
    from_version: int | None = None
    from_digest: str = ""
    to_version: int | None = None
    to_digest: str = ""
    from_tag: str = ""
    to_tag: str = ""
    """The image tags that tell the two versions apart, for the subject; empty: the digests do."""
    source_commit: str = ""
    """The commit that brought the template."""
    commit: str = ""
    """The commit of main that asked for it."""
    rollout: int = 0
    by: str = ""
    reason: str = ""
    approved_by: tuple[str, ...] = ()
    """Who approved it, a trailer each."""
    overrides: tuple[str, ...] = ()
    """The policies in spite of which it is requested (policies.md §6)."""


MARK = "Bg-Ledger"
"""The trailer of every commit of a ledger, with its cluster: nothing else that the agent signs has it, and none of
another cluster's ledger has this one.
"""
_OF = {SubjectKind.APP: "Bg-App", SubjectKind.GROUP: "Bg-Group"}
_MOST_IN_SUBJECT = 3
_LONGEST_TITLE = 72
"""Of a batch, without the cluster: `git log --oneline` and the pages of forges show about as much."""


def of_entry(subject: Of, entry: LedgerEntry) -> Movement[Of]:
    """A ledger entry as a movement."""
    return Movement(
        subject=subject,
        event=entry.event,
        from_version=entry.from_version,
        from_digest=entry.from_digest,
        to_version=entry.to_version,
        to_digest=entry.to_digest,
        from_tag=entry.from_tag,
        to_tag=entry.to_tag,
        source_commit=entry.source_commit,
        commit=entry.commit,
        rollout=entry.rollout,
        by=entry.by,
        reason=entry.reason,
        approved_by=entry.approved_by,
    )


def asking(movement: Movement[Of], cluster: str, changes: Sequence[object] = ()) -> str:
    """The message of a commit that changes ``primary.yaml`` or ``group.yaml``: it asks, traffic follows.

    ``changes`` of configuration get a line each.
    """
    return _message(movement, EVENTS[movement.event].asks or EVENTS[movement.event].verb, cluster, changes)


def ledger_message(movements: Sequence[Movement[Of]], cluster: str, anew: Sequence[object] = ()) -> str:
    """The message of a ledger commit: one event, or several, each with its own line and block of trailers.

    ``anew`` lists, a line each, the files that somebody had damaged.
    """
    damaged = "\n".join(f"Written anew: {one_line(str(each))}" for each in anew)
    if len(movements) == 1:
        return _message(movements[0], EVENTS[movements[0].event].verb, cluster, said=damaged) + mark(cluster)
    if not movements:
        return "\n\n".join(filter(None, [f"state [{one_line(cluster)}]", damaged, mark(cluster)]))
    subject = f"{_many(movements)} [{one_line(cluster)}]"
    lines = [f"{each.subject.namespace}/{_sentence(each, EVENTS[each.event].verb)}" for each in movements]
    blocks = [line for movement in movements for line in trailers(movement)]
    return "\n\n".join(filter(None, [subject, "\n".join(lines), damaged, "\n".join(blocks)])) + "\n" + mark(cluster)


def mark(cluster: str) -> str:
    """The last trailer of a commit of a ledger."""
    return f"{MARK}: {one_line(cluster)}\n"


def _many(movements: Sequence[Movement[Of]]) -> str:
    """All sentences where they are few and about one, so that `git log --oneline` shows them; else their number and
    the names, as many as fit in a title.
    """
    about = list(dict.fromkeys(movement.subject for movement in movements))
    if len(about) > 1 or len(movements) > _MOST_IN_SUBJECT:
        return title_of_batch(len(movements), about)
    first, *others = (_sentence(movement, EVENTS[movement.event].verb) for movement in movements)
    return ", ".join([first, *(other.removeprefix(f"{movements[0].subject.name}: ") for other in others)])


def title_of_batch(events: int, subjects: Sequence[Subject]) -> str:
    """How many events, and of which apps or groups: as many names as fit in a title, at least one.

    >>> from gitops_bg.core.model.version import AppKey
    >>> title_of_batch(3, [AppKey("shop", "web"), AppKey("shop", "api")])
    '3 events of web, api'
    """
    counts = Counter(subject.name for subject in subjects)
    names = [subject.name if counts[subject.name] == 1 else str(subject) for subject in subjects]
    most = min(len(names), _LONGEST_TITLE)  # thousands of apps may move in one commit
    titles = [_title(events, names[:shown], len(names) - shown) for shown in range(most, 0, -1)]
    return next((title for title in titles if len(title) <= _LONGEST_TITLE), titles[-1])


def _title(events: int, names: Sequence[str], more: int) -> str:
    return f"{events} events of {', '.join(names)}" + (f" and {more} more" if more else "")


def trailers(movement: Movement[Of]) -> list[str]:
    """The trailers of one movement; the block begins with what it is about, and every value is one line."""
    values: list[tuple[str, str]] = [
        (_OF[movement.subject.kind], str(movement.subject)),
        ("Bg-Event", movement.event),
        ("Bg-From", _version(movement.from_version, movement.from_digest)),
        ("Bg-To", _version(movement.to_version, movement.to_digest)),
        ("Bg-Source-Commit", movement.source_commit),
        ("Bg-Commit", movement.commit),
        ("Bg-Rollout", str(movement.rollout) if movement.rollout else ""),
        ("Bg-By", movement.by),
        *(("Bg-Approved-By", each) for each in movement.approved_by),
        ("Bg-Reason", movement.reason),
        ("Bg-Override", ", ".join(movement.overrides)),
    ]
    return [f"{name}: {text}" for name, value in values if (text := one_line(value))]


def _message(movement: Movement[Of], verb: str, cluster: str, changes: Sequence[object] = (), said: str = "") -> str:
    where = f" [{one_line(cluster)}]" if cluster else ""
    parts = [f"{_sentence(movement, verb)}{where}"]
    reason = one_line(movement.reason)
    if reason:
        # "Reason:" keeps the text from the start of a line, where it could pass for a revert's marker.
        parts.append(f"Reason: {reason}")
    if changes:
        parts.append("\n".join(["Configuration:", *(f"- {one_line(str(change))}" for change in changes)]))
    if said:
        parts.append(said)
    return "\n\n".join([*parts, "\n".join(trailers(movement))]) + "\n"


def _sentence(movement: Movement[Of], verb: str) -> str:
    return f"{movement.subject.name}: {verb} {_span(movement)}".rstrip()


def _span(movement: Movement[Of]) -> str:
    """From which version to which, by their image tags where these tell them apart; empty without any version."""
    origin, old = _short(movement.from_version, movement.from_digest), one_line(movement.from_tag)
    goal, new = _short(movement.to_version, movement.to_digest), one_line(movement.to_tag)
    if origin and goal:
        shown = label(movement.to_version, movement.to_digest)
        return f"{old} → {new} ({origin} → {goal})" if old and new else f"{origin} → {shown}"
    if goal:
        return titled(movement.to_version, movement.to_digest, new)
    return f"{old} ({origin})" if old else origin


def _short(version: int | None, digest: str) -> str:
    return f"v{version}" if version else label(None, digest)


def _version(version: int | None, digest: str) -> str:
    return " ".join(filter(None, (f"v{version}" if version else "", digest)))
