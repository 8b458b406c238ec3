"""The promotions that the ledger tells of, with what Git still knows of each. Reads only."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from gitops_bg.core.checks.policies.facts import described_by
from gitops_bg.core.checks.policies.replay import PastPromotion
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.policies.facts import CommitFacts, Facts, PastMove, VersionFacts
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.version import AppKey, Source
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.load import AppConfig, load_app

_BACK = (Event.ROLLED_BACK, Event.ABORTED)


def past_promotions(repository: Repository, app: AppKey, since: datetime) -> Iterator[PastPromotion]:
    """Those of an app since a moment, oldest first."""
    entries = [each.entry for each in reversed(repository.history(app))]
    for place, entry in enumerate(entries):
        if entry.event is Event.PROMOTED and entry.at >= since:
            yield PastPromotion(entry.at, entry.commit, _facts(repository, app, entry, entries[:place]))


def _facts(repository: Repository, app: AppKey, entry: LedgerEntry, before: Sequence[LedgerEntry]) -> Facts:
    commits = _commits(repository, entry)
    config = _config(repository, app, entry.commit)
    primary = config.primary if config else None
    text = primary.snapshot.text if primary and primary.snapshot.digest == entry.to_digest else ""
    images, label = described_by(text) if text else (None, "")
    return Facts(
        app=app,
        to=VersionFacts(
            entry.to_digest, entry.to_version or 0, label, images, commits.get(entry.source_commit), entry.source_commit
        ),
        serving=VersionFacts(entry.from_digest, entry.from_version or 0),
        labels=config.labels if config else (),
        annotations=config.annotations if config else (),
        promoted=True,
        promotion=commits.get(entry.commit),
        promotions=_moves(before, Event.PROMOTED),
        rollbacks=_moves(before, *_BACK),
    )


def _commits(repository: Repository, entry: LedgerEntry) -> dict[str, CommitFacts]:
    return dict(repository.commit_facts(filter(None, (entry.commit, entry.source_commit))))


def _config(repository: Repository, app: AppKey, commit: str) -> AppConfig | None:
    """The app as main had it when it was promoted; None where that cannot be read any more."""
    try:
        if not commit or not repository.contains(commit):
            return None
        return load_app(app, repository.files(app, commit), lambda *_: Source(commit))
    except GitopsBgError:
        return None


def _moves(entries: Sequence[LedgerEntry], *events: Event) -> tuple[PastMove, ...]:
    """Newest first."""
    return tuple(PastMove(each.at, each.to_digest, each.reason) for each in reversed(entries) if each.event in events)
