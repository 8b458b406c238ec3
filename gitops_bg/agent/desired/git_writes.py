"""What decisions want of Git, gathered over many apps and written in as few pushes as can be.

Only the last decision about an app counts. Nothing here decides; what Git answers is told to the caller.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import assert_never

from gitops_bg.agent.reconcile.configuration_content import completed
from gitops_bg.core.errors import GitopsBgError, InternalError, guarded
from gitops_bg.core.model.actions import CommitPrimary, GitAction, OfferPromotion, PublishLedger, WithdrawPromotion
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.repo.git.errors import PushRefused
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.write.ledger_file import LedgerBatch, state_of
from gitops_bg.repo.write.messages import Movement
from gitops_bg.repo.write.promotion import PrimaryChange, PrimaryOutcome, PrimaryResult
from gitops_bg.spec.app.primary import render_primary
from gitops_bg.spec.manifests.configuration import Configuration


@dataclass(frozen=True, slots=True)
class GitChange:
    """All that one decision wants of Git, with what it was derived from."""

    actions: tuple[GitAction, ...]
    record: Record
    decided_from: str
    """The commit of main that it was derived from: where its files were touched since, it is not written."""
    contents: tuple[Configuration, ...] = ()
    """What the ConfigMaps and Secrets hold that the named versions use, as far as it is at hand."""

    @property
    def only_ledger(self) -> bool:
        """Whether nobody waits for it: history may be written a little later, with more of it."""
        return all(isinstance(action, PublishLedger) for action in self.actions)


def only_ledger(changes: Mapping[AppKey, GitChange]) -> dict[AppKey, GitChange]:
    """What of the changes goes to the ledger: for a main that is not to be written to."""
    kept = {
        app: tuple(one for one in change.actions if isinstance(one, PublishLedger)) for app, change in changes.items()
    }
    return {app: replace(change, actions=kept[app]) for app, change in changes.items() if kept[app]}


@dataclass(frozen=True, slots=True)
class Pushed:
    """One part of a batch that the remote took: ``kind`` is main, offer or ledger, ``seconds`` what it took in all."""

    kind: str
    commits: int
    seconds: float


@dataclass(frozen=True, slots=True)
class GitWriteResult:
    """What became of a batch. ``touched``: apps whose branches may be different now; look at the remote again."""

    touched: frozenset[AppKey] = frozenset()
    refused: str = ""
    """Why main took no commit, or empty."""
    taken: frozenset[str] = frozenset()
    """The branches that are as they were wanted."""
    failed: Mapping[str, GitopsBgError] = field(default_factory=dict)
    """Why, of branches that are not; main is among them only where trying again may help."""
    incomplete: Mapping[AppKey, GitopsBgError] = field(default_factory=dict)
    """Why, of apps of whose change a part is not at hand."""
    pushed: tuple[Pushed, ...] = ()

    @property
    def errors(self) -> tuple[GitopsBgError, ...]:
        """All that is to be tried again, once each."""
        return tuple(dict.fromkeys((*self.failed.values(), *self.incomplete.values())))


def branch_of(repository: Repository, app: AppKey, action: GitAction) -> str:
    """The branch that an action writes."""
    match action:
        case CommitPrimary():
            return repository.settings.branch
        case OfferPromotion() | WithdrawPromotion():
            return promotion_branch(app)
        case PublishLedger():
            return repository.settings.state_branch
    assert_never(action)


def write(
    repository: Repository, changes: Mapping[AppKey, GitChange], clock: Callable[[], float] = monotonic
) -> GitWriteResult:
    """Carry out all changes: main first, then the promotion branches, then the ledger. ``clock`` gives seconds.

    A part that fails does not keep the others from being written. Every part may be repeated after any failure; so
    where the batch meets a bug, each app's change is carried out by itself, and one alone is then ``incomplete``.
    """
    try:
        with guarded("writing to Git"):
            return _together(repository, changes, clock)
    except InternalError as error:
        if len(changes) == 1:
            return GitWriteResult(incomplete=dict.fromkeys(changes, error))
    written = [write(repository, {app: change}, clock) for app, change in changes.items()]
    failed = {name: why for each in written for name, why in each.failed.items()}
    return GitWriteResult(
        touched=frozenset(app for each in written for app in each.touched),
        refused=next((each.refused for each in written if each.refused), ""),
        taken=frozenset(name for each in written for name in each.taken) - failed.keys(),
        failed=failed,
        incomplete={app: why for each in written for app, why in each.incomplete.items()},
        pushed=tuple(each for one in written for each in one.pushed),
    )


def _together(
    repository: Repository, changes: Mapping[AppKey, GitChange], clock: Callable[[], float]
) -> GitWriteResult:
    incomplete: dict[AppKey, GitopsBgError] = {}
    commits = list(_changes(repository, changes, CommitPrimary, incomplete))
    offers = list(_changes(repository, changes, OfferPromotion, incomplete))
    withdrawn, batch = _apps(changes, WithdrawPromotion), dict(_ledger(changes))
    main, ledger = {repository.settings.branch}, {repository.settings.state_branch}
    parts: tuple[tuple[str, object, set[str], Callable[[], int]], ...] = (
        ("main", commits, main, lambda: _committed(repository.commit_primaries(commits))),
        (
            "offer",
            offers,
            {promotion_branch(change.app) for change in offers},
            lambda: _committed(repository.offer(offers)),
        ),
        ("offer", withdrawn, set(map(promotion_branch, withdrawn)), lambda: _withdrawn(repository, withdrawn)),
        ("ledger", batch, ledger, lambda: 1 if repository.publish(batch).commit else 0),
    )
    failed: dict[str, GitopsBgError] = {}
    tried: set[str] = set()
    pushed: list[Pushed] = []
    for kind, content, branches, part in parts:
        if content:
            started = clock()
            commits_made, failures = _carried_out(branches, part)
            failed |= failures
            tried |= branches
            if not failures:
                pushed.append(Pushed(kind, commits_made, clock() - started))
    refusal = failed.get(repository.settings.branch)
    refused = failed.pop(repository.settings.branch) if isinstance(refusal, PushRefused) else None
    touched = {change.app for change in (*commits, *offers)} | withdrawn
    taken = tried - failed.keys() - (main if refused else set())
    return GitWriteResult(frozenset(touched), str(refused or ""), frozenset(taken), failed, incomplete, tuple(pushed))


def _carried_out(branches: set[str], part: Callable[[], int]) -> tuple[int, dict[str, GitopsBgError]]:
    """How many commits the part pushed; and why, of those of the branches that it did not write."""
    try:
        return part(), {}
    except PushRefused as error:
        return 0, dict.fromkeys(branches & error.words.keys() or branches, error)
    except GitopsBgError as error:
        return 0, dict.fromkeys(branches, error)


def _committed(outcomes: Mapping[AppKey, PrimaryOutcome]) -> int:
    return sum(outcome.result is PrimaryResult.COMMITTED for outcome in outcomes.values())


def _withdrawn(repository: Repository, apps: set[AppKey]) -> int:
    repository.withdraw(apps)
    return 0


def _changes(
    repository: Repository,
    changes: Mapping[AppKey, GitChange],
    kind: type[CommitPrimary] | type[OfferPromotion],
    incomplete: dict[AppKey, GitopsBgError],
) -> Iterator[PrimaryChange]:
    """The changes of all apps; what cannot be written whole is not written, and is in ``incomplete``."""
    for app, change in changes.items():
        for action in change.actions:
            if isinstance(action, kind):
                try:
                    yield _change(repository, app, action, change)
                except GitopsBgError as error:
                    incomplete[app] = error


def _change(
    repository: Repository, app: AppKey, action: CommitPrimary | OfferPromotion, change: GitChange
) -> PrimaryChange:
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
    contents = completed(repository, app, version, change.contents)
    return PrimaryChange(
        render_primary(app, version, contents, action.services).encode(), change.decided_from, movement
    )


def _apps(changes: Mapping[AppKey, GitChange], kind: type[GitAction]) -> set[AppKey]:
    return {app for app, change in changes.items() if any(isinstance(action, kind) for action in change.actions)}


def _ledger(changes: Mapping[AppKey, GitChange]) -> Iterable[tuple[AppKey, LedgerBatch]]:
    for app, change in changes.items():
        for action in change.actions:
            if isinstance(action, PublishLedger):
                yield app, LedgerBatch(action.epoch, action.entries, state_of(change.record))
