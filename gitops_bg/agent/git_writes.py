"""What decisions want of Git, gathered over many apps and written in as few pushes as can be.

Only the last decision about an app counts. Nothing here decides; what Git answers is told to the caller.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitops_bg.agent.contents import completed
from gitops_bg.core.actions import CommitPrimary, GitAction, OfferPromotion, PublishLedger, WithdrawPromotion
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model import AppKey
from gitops_bg.core.record import Record
from gitops_bg.repo.errors import PushRefused
from gitops_bg.repo.ledger_file import LedgerBatch, state_of
from gitops_bg.repo.messages import Movement
from gitops_bg.repo.promotion import PrimaryChange
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.configuration import Configuration
from gitops_bg.spec.primary import render_primary


@dataclass(frozen=True, slots=True)
class Wish:
    """All that one decision wants of Git, with what it was derived from."""

    actions: tuple[GitAction, ...]
    record: Record
    primary_blob: str | None
    """The blob of main's ``primary.yaml`` at the time; None where there was none."""
    contents: tuple[Configuration, ...] = ()
    """What the ConfigMaps and Secrets hold that the named versions use, as far as it is at hand."""

    @property
    def only_ledger(self) -> bool:
        """Whether nobody waits for it: history may be written a little later, with more of it."""
        return all(isinstance(action, PublishLedger) for action in self.actions)


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a batch. ``touched``: apps whose branches may be different now; look at the remote again.

    ``refused`` is why main took no commit; ``errors`` are of parts that are to be tried again.
    """

    touched: frozenset[AppKey] = frozenset()
    refused: str = ""
    errors: tuple[GitopsBgError, ...] = ()


def write(repository: Repository, wishes: Mapping[AppKey, Wish]) -> Written:
    """Carry out all wishes: main first, then the promotion branches, then the ledger.

    A part that fails does not keep the others from being written. Every part may be repeated after any failure.
    """
    errors: list[GitopsBgError] = []
    commits = list(_changes(repository, wishes, CommitPrimary, errors))
    offers = list(_changes(repository, wishes, OfferPromotion, errors))
    withdrawn, batch = _apps(wishes, WithdrawPromotion), dict(_ledger(wishes))
    refused = ""
    if commits:
        try:
            repository.commit_primaries(commits)
        except PushRefused as error:
            refused = str(error)
        except GitopsBgError as error:
            errors.append(error)
    parts: tuple[tuple[object, Callable[[], object]], ...] = (
        (offers, lambda: repository.offer(offers)),
        (withdrawn, lambda: repository.withdraw(withdrawn)),
        (batch, lambda: repository.publish(batch)),
    )
    for content, part in parts:
        if content:
            errors.extend(_failure(part))
    touched = {change.app for change in (*commits, *offers)} | withdrawn
    return Written(frozenset(touched), refused, tuple(errors))


def _failure(part: Callable[[], object]) -> Iterator[GitopsBgError]:
    try:
        part()
    except GitopsBgError as error:
        yield error


def _changes(
    repository: Repository,
    wishes: Mapping[AppKey, Wish],
    kind: type[CommitPrimary] | type[OfferPromotion],
    errors: list[GitopsBgError],
) -> Iterator[PrimaryChange]:
    """The changes of all apps; what cannot be written whole is not written, and is among the errors."""
    for app, wish in wishes.items():
        for action in wish.actions:
            if isinstance(action, kind):
                try:
                    yield _change(repository, app, action, wish)
                except GitopsBgError as error:
                    errors.append(error)


def _change(repository: Repository, app: AppKey, action: CommitPrimary | OfferPromotion, wish: Wish) -> PrimaryChange:
    version = action.version
    movement = Movement(
        app=app,
        event=action.event,
        from_version=action.from_number,
        from_digest=action.from_digest,
        to_version=version.number,
        to_digest=version.digest,
        source_commit=version.source.commit,
        rollout=version.rollout,
        by=action.by,
        reason=action.reason,
    )
    contents = completed(repository, app, version, wish.contents)
    return PrimaryChange(render_primary(app, version, contents).encode(), wish.primary_blob, movement)


def _apps(wishes: Mapping[AppKey, Wish], kind: type[GitAction]) -> set[AppKey]:
    return {app for app, wish in wishes.items() if any(isinstance(action, kind) for action in wish.actions)}


def _ledger(wishes: Mapping[AppKey, Wish]) -> Iterable[tuple[AppKey, LedgerBatch]]:
    for app, wish in wishes.items():
        for action in wish.actions:
            if isinstance(action, PublishLedger):
                yield app, LedgerBatch(action.epoch, action.entries, state_of(wish.record))
