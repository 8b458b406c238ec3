"""Notes: what is new in a record that any look finds again, and that therefore need not be saved at once. Pure.

That the endpoints have followed, and what Git has done, follows from what is there. A note that is lost with the
process is taken again: later, and never earlier. Everything else in a record is a decision, or a moment that nobody
could find again, and is saved before anything follows from it (decision 1).
"""

from dataclasses import replace

from gitops_bg.core.model.record import Record, Rollout, SeenInGit
from gitops_bg.core.model.version import Version


def is_deferrable(saved: Record, record: Record) -> bool:
    """Whether all that is new in ``record`` since it was ``saved`` are notes."""
    return record == saved or _without_notes(saved, record) == saved


def _without_notes(saved: Record, record: Record) -> Record:
    known = {rollout.number: rollout for rollout in saved.rollouts}
    has_entries = record.ledger == saved.ledger[len(saved.ledger) - len(record.ledger) :]
    return replace(
        record,
        ledger=saved.ledger if has_entries else record.ledger,
        git=_git(saved.git, record.git),
        versions=tuple(_version(saved.version(each.digest), each) for each in record.versions),
        rollouts=tuple(_rollout(known.get(each.number), each) for each in record.rollouts),
    )


def _git(saved: SeenInGit, git: SeenInGit) -> SeenInGit:
    """What Git says, without that an offer is gone, and without a main that says the same of the app."""
    main = replace(git.main, commit=saved.main.commit)
    return replace(git, main=main, offered=git.offered or saved.offered)


def _version(saved: Version | None, version: Version) -> Version:
    """A version, without that the endpoints have followed since."""
    return version if saved is None or saved.routed_at else replace(version, routed_at=None)


def _rollout(saved: Rollout | None, rollout: Rollout) -> Rollout:
    return rollout if saved is None or saved.settled_at else replace(rollout, settled_at=None)
