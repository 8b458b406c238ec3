"""What people are alerted to, how grave it is, and in which words (flagger.md §3.7). Queues nothing: `telling` does.

One table says it of every ledger entry; that people are waited for is in no ledger entry, and read off the gates.
"""

from dataclasses import dataclass, replace

from gitops_bg.core.actions import label
from gitops_bg.core.decision import GateKind, Phase
from gitops_bg.core.hooks.hook import Delivery, Severity
from gitops_bg.core.record import Event, LedgerEntry
from gitops_bg.core.status.conditions import phase_of
from gitops_bg.core.traffic.gates import gates_to_show
from gitops_bg.core.world import World

INFO, WARN, ERROR = Severity

SHORT_COMMIT = 10


@dataclass(frozen=True, slots=True)
class Notice:
    """How an event is said: {to} and {origin} are versions, {app} is the app. ``next`` is what people can do."""

    severity: Severity
    what: str
    next: str = ""


RETRY = "`gitops-bg retry {app}` tries it again"
EXPLAIN = "`gitops-bg explain {app}` says more"

NOTICES = {
    Event.DEPLOYED: Notice(INFO, "{to} is live, the first version"),
    Event.CANDIDATE: Notice(INFO, "new version {to} comes up, live traffic is untouched"),
    Event.PROMOTED: Notice(INFO, "{to} is live"),
    Event.ROLLED_BACK: Notice(ERROR, "live traffic went back from {origin} to {to}", RETRY),
    Event.SUPERSEDED: Notice(INFO, "{origin} gave way to {to}"),
    Event.CANCELLED: Notice(INFO, "{origin} was cancelled"),
    Event.RESTARTED: Notice(INFO, "the pods of {to} were restarted"),
    Event.RESTART_CANCELLED: Notice(INFO, "the restart was cancelled"),
    Event.ANALYSED: Notice(INFO, "{to} passed its analysis"),
    Event.SKIPPED: Notice(INFO, "{to} goes on without its checks"),
    Event.PAUSED: Notice(WARN, "{to} waits for somebody to decide", "`gitops-bg promote {app}` measures anew"),
    Event.ABORTED: Notice(ERROR, "{to} was aborted", RETRY),
    Event.RETRIED: Notice(INFO, "{to} is tried again"),
    Event.FAILED: Notice(ERROR, "{to} failed", EXPLAIN),
    Event.RECOVERED: Notice(INFO, "{to} recovered"),
    Event.HELD: Notice(INFO, "{to} is on hold", "`gitops-bg resume {app}` lifts the hold"),
    Event.HOLD_LIFTED: Notice(INFO, "the hold on {to} was lifted"),
    Event.SUSPENDED: Notice(INFO, "the app is suspended", "`gitops-bg resume {app}` ends it"),
    Event.RESUMED: Notice(INFO, "the suspension is over"),
    Event.INVALID: Notice(ERROR, "its files are invalid, the last good state keeps serving", "`gitops-bg check`"),
    Event.VALID: Notice(INFO, "its files are valid again"),
    Event.DIVERGED: Notice(WARN, "live traffic and main differ", "merge the promotion branch"),
    Event.CONVERGED: Notice(INFO, "live traffic and main agree again"),
    Event.ORPHANED: Notice(WARN, "its folder is gone"),
    Event.ADOPTED: Notice(INFO, "its folder is back"),
    Event.DELETED: Notice(WARN, "the app is deleted, as its deletionPolicy says"),
    Event.HOOK_REFUSED: Notice(WARN, "{to} does not go on yet"),
    Event.HOOK_EXPIRED: Notice(ERROR, "{to} is stuck"),
    Event.HOOK_UNDELIVERED: Notice(WARN, "a hook or an alert was not delivered"),
    Event.GATE_OPENED: Notice(INFO, "a gate was opened"),
    Event.GATE_CLOSED: Notice(INFO, "a gate was closed"),
    Event.HISTORY_REWRITTEN: Notice(ERROR, "main moved backwards", "`gitops-bg accept-history` goes on"),
    Event.HISTORY_ACCEPTED: Notice(INFO, "the rewritten history was accepted"),
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
    return label(entry.to_version, entry.to_digest) + _of_commit(entry.source_commit)


def subject_of(entry: LedgerEntry) -> str:
    """The digest that an alert is about: after a rollback the one that was left."""
    left = entry.from_digest if entry.event is Event.ROLLED_BACK else ""
    return left or entry.to_digest or entry.from_digest


def facts_of(world: World, told: Delivery) -> tuple[tuple[str, str], ...]:
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


# --- whom we wait for ---


def note_awaited(world: World) -> tuple[World, str, str]:
    """For which digest a person is waited for, and what to say: once for a rollout, however often it comes and goes.

    A gate that is asked says so itself, with an event (`HOOK_REFUSED`).
    """
    coming = world.candidate
    if coming is None or coming.rollout == world.record.alerted or phase_of(world) is not Phase.AWAITING_PROMOTION:
        return world, "", ""
    shut = [gate for gate in gates_to_show(world) if not gate.open]
    if [gate.kind for gate in shut] != [GateKind.APPROVAL]:
        return world, "", ""
    world = world.with_record(replace(world.record, alerted=coming.rollout))
    commit = _of_commit(coming.source.commit)
    text = f"{world.spec.app}: {label(coming.number, coming.digest)}{commit} waits for approval: {shut[0].reason}"
    return world, coming.digest, text


def _of_commit(commit: str) -> str:
    return f" of commit {commit[:SHORT_COMMIT]}" if commit else ""
