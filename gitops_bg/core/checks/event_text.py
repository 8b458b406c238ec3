"""What people are alerted to, how grave it is, and in which words (flagger.md §3.7)."""

from dataclasses import dataclass

from gitops_bg.core.model.actions import label
from gitops_bg.core.model.hooks import OutboxMessage, Severity
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.world import World

INFO, WARN, ERROR = Severity


SHORT_COMMIT = 10


@dataclass(frozen=True, slots=True)
class EventText:
    """How an event is said: {to} and {origin} are versions, {app} is the app. ``next`` is what people can do."""

    severity: Severity
    what: str
    next: str = ""


RETRY = "`gitops-bg retry {app}` tries it again"


EXPLAIN = "`gitops-bg explain {app}` says more"


NOTICES = {
    Event.DEPLOYED: EventText(INFO, "{to} is live, the first version"),
    Event.CANDIDATE: EventText(INFO, "new version {to} comes up, live traffic is untouched"),
    Event.PROMOTED: EventText(INFO, "{to} is live"),
    Event.ROLLED_BACK: EventText(ERROR, "live traffic went back from {origin} to {to}", RETRY),
    Event.SUPERSEDED: EventText(INFO, "{origin} gave way to {to}"),
    Event.CANCELLED: EventText(INFO, "{origin} was cancelled"),
    Event.RESTARTED: EventText(INFO, "the pods of {to} were restarted"),
    Event.RESTART_CANCELLED: EventText(INFO, "the restart was cancelled"),
    Event.ANALYSED: EventText(INFO, "{to} passed its analysis"),
    Event.SKIPPED: EventText(INFO, "{to} goes on without its checks"),
    Event.PAUSED: EventText(WARN, "{to} waits for somebody to decide", "`gitops-bg promote {app}` measures anew"),
    Event.ABORTED: EventText(ERROR, "{to} was aborted", RETRY),
    Event.RETRIED: EventText(INFO, "{to} is tried again"),
    Event.FAILED: EventText(ERROR, "{to} failed", EXPLAIN),
    Event.RECOVERED: EventText(INFO, "{to} recovered"),
    Event.HELD: EventText(INFO, "{to} is on hold", "`gitops-bg resume {app}` lifts the hold"),
    Event.HOLD_LIFTED: EventText(INFO, "the hold on {to} was lifted"),
    Event.SUSPENDED: EventText(INFO, "the app is suspended", "`gitops-bg resume {app}` ends it"),
    Event.RESUMED: EventText(INFO, "the suspension is over"),
    Event.INVALID: EventText(ERROR, "its files are invalid, the last good state keeps serving", "`gitops-bg check`"),
    Event.VALID: EventText(INFO, "its files are valid again"),
    Event.DIVERGED: EventText(WARN, "live traffic and main differ", "merge the promotion branch"),
    Event.CONVERGED: EventText(INFO, "live traffic and main agree again"),
    Event.ORPHANED: EventText(WARN, "its folder is gone"),
    Event.ADOPTED: EventText(INFO, "its folder is back"),
    Event.DELETED: EventText(WARN, "the app is deleted, as its deletionPolicy says"),
    Event.HOOK_REFUSED: EventText(WARN, "{to} does not go on yet"),
    Event.HOOK_EXPIRED: EventText(ERROR, "{to} is stuck"),
    Event.HOOK_UNDELIVERED: EventText(WARN, "a hook or an alert was not delivered"),
    Event.GATE_OPENED: EventText(INFO, "a gate was opened"),
    Event.GATE_CLOSED: EventText(INFO, "a gate was closed"),
    Event.HISTORY_REWRITTEN: EventText(ERROR, "main moved backwards", "`gitops-bg accept-history` goes on"),
    Event.HISTORY_ACCEPTED: EventText(INFO, "the rewritten history was accepted"),
}
"""Every event; docs/alerts.md has the same table."""


BY_HAND = (Event.ABORTED, Event.ROLLED_BACK)
"""Failures, unless somebody asked for them: then a warning, as Flagger's manual rollback."""


def severity_of(entry: LedgerEntry) -> Severity:
    """How grave a ledger entry is."""
    return WARN if entry.event in BY_HAND and entry.by else NOTICES[entry.event].severity


def sentence(world: World, entry: LedgerEntry) -> str:
    """A ledger entry for people who see nothing else: app, versions, commit, person, reason, and what to do next.

    What a reason says already is not said twice.
    """
    notice, app = NOTICES[entry.event], world.spec.app
    origin = label(entry.from_version, entry.from_digest) if entry.from_digest else "the version before"
    what = notice.what.format(to=_named(entry), origin=origin)
    by = f" (by {entry.by.partition(' <')[0]})" if entry.by else ""
    because = f": {entry.reason}" if entry.reason else ""
    then = notice.next.format(app=app) if notice.next.format(app=app) not in entry.reason else ""
    return f"{app}: {what}{by}{because}" + (f"; {then}" if then else "")


def _named(entry: LedgerEntry) -> str:
    if not entry.to_digest:
        return "the app"
    return label(entry.to_version, entry.to_digest) + of_commit(entry.source_commit)


def subject_of(entry: LedgerEntry) -> str:
    """The digest that an alert is about: after a rollback the one that was left."""
    left = entry.from_digest if entry.event is Event.ROLLED_BACK else ""
    return left or entry.to_digest or entry.from_digest


def facts_of(world: World, told: OutboxMessage) -> tuple[tuple[str, str], ...]:
    """What is shown beside the sentence, by title; of a version that is forgotten only its digest."""
    version = world.record.version(told.checksum)
    source = version.source if version else None
    every = (
        ("App", str(world.spec.app)),
        ("Version", f"v{version.number}" if version else ""),
        ("Digest", told.checksum),
        ("Commit", source.commit if source else ""),
        ("Author", source.author if source else ""),
    )
    return tuple((title, value) for title, value in every if value)


def of_commit(commit: str) -> str:
    """The end of a sentence that names a commit, or empty."""
    return f" of commit {commit[:SHORT_COMMIT]}" if commit else ""
