"""The text of alerts: rows of the table of events, filled in (flagger.md §3.7)."""

from gitops_bg.core.model.events import EVENTS, sentence_of
from gitops_bg.core.model.hooks import Alert, OutboxMessage
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.version import SubjectKind
from gitops_bg.core.world import World


def sentence(world: World, entry: LedgerEntry) -> str:
    """A ledger entry as one sentence that stands alone, with what to do next, unless its reason already says that."""
    app = world.spec.app
    remedy = EVENTS[entry.event].remedy.format(app=app)
    then = remedy if remedy not in entry.reason else ""
    return f"{app}: {sentence_of(entry, SubjectKind.APP)}" + (f"; {then}" if then else "")


def subject_of(entry: LedgerEntry) -> str:
    """The digest that an alert is about: after a rollback, the one that traffic left."""
    left = entry.from_digest if entry.event is Event.ROLLED_BACK else ""
    return left or entry.to_digest or entry.from_digest


def alert_of(world: World, told: OutboxMessage) -> Alert:
    """What chats get of a message."""
    return Alert(told.severity, told.message, told.at, facts_of(world, told), links_of(world, told))


def facts_of(world: World, told: OutboxMessage) -> tuple[tuple[str, str], ...]:
    """The facts beside the sentence, by title; for a forgotten version only its digest."""
    version = world.record.version(told.checksum)
    source = version.source if version else None
    every = (
        ("App", str(world.spec.app)),
        ("Version", f"v{version.number}" if version else ""),
        ("Digest", told.checksum),
        ("Commit", source.commit if source else ""),
        ("Author", source.author if source else ""),
        ("Explain", f"gitops-bg explain {world.spec.app}"),
    )
    return tuple((title, value) for title, value in every if value)


def links_of(world: World, told: OutboxMessage) -> tuple[tuple[str, str], ...]:
    """The pages of a message, by title: the pull request, where it offers the version that the message is about."""
    pull = world.observed.git.pull
    if pull is None or not pull.url or not told.checksum or not pull.offer.startswith(f"{told.checksum}@"):
        return ()
    return ((f"Pull request #{pull.number}", pull.url),)
