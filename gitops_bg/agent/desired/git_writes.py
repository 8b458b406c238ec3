"""The Git changes of decisions, collected over many apps and groups and written in as few pushes as possible.

Only the last decision about each counts. Nothing here decides; the caller gets the answers of Git.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from time import monotonic
from typing import assert_never

from gitops_bg.agent.desired.releases import release_change
from gitops_bg.agent.reconcile.facts import completed
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InternalError, InvalidInput, guarded
from gitops_bg.core.groups.model import version_number
from gitops_bg.core.groups.record import CommitActive, GroupRecord
from gitops_bg.core.model.actions import (
    CommitPrimary,
    EnterRelease,
    GitAction,
    OfferPromotion,
    PublishLedger,
    WithdrawPromotion,
    WithdrawRelease,
)
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.record import Event, Record
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey, Source, Version
from gitops_bg.core.names import entry_branch
from gitops_bg.repo.git.errors import BranchMoved, PushRefused
from gitops_bg.repo.ledger.ledger_file import LedgerBatch, state_of
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.write.commits import Movement
from gitops_bg.repo.write.promotion import PrimaryChange, PrimaryOutcome, PrimaryResult
from gitops_bg.spec.app.layout import PRIMARY_FILE, group_file
from gitops_bg.spec.app.primary import read_primary, render_primary
from gitops_bg.spec.groups.content import active_in
from gitops_bg.spec.manifests.configuration import Configuration
from gitops_bg.spec.manifests.edit import set_field
from gitops_bg.spec.yaml.reader import read_one

AnyGitAction = GitAction | CommitActive
"""What an app or a release group may want of Git."""


@dataclass(frozen=True, slots=True)
class GitChange:
    """Everything that one decision wants of Git, with what it was derived from."""

    actions: tuple[AnyGitAction, ...]
    record: Record | GroupRecord
    decided_from: str = ""
    """The commit of main that the change was derived from: if the files changed since, nothing is written."""
    contents: tuple[Configuration, ...] = ()
    """The content of the ConfigMaps and Secrets that the named versions use, as far as it is known."""
    seen: str | None = None
    """The head of the promotion branch that the change was derived from, empty where there was none: if the branch has
    another one since, it is neither written nor deleted. None: the one that was fetched last.
    """

    @property
    def only_ledger(self) -> bool:
        """Whether the change is history alone, which may be written a little later, with more of it."""
        return all(isinstance(action, PublishLedger) for action in self.actions)

    @property
    def tells_ledger(self) -> bool:
        """Whether history is part of the change."""
        return any(isinstance(action, PublishLedger) for action in self.actions)


def only_ledger(changes: Mapping[AppOrGroup, GitChange]) -> dict[AppOrGroup, GitChange]:
    """Return the ledger part of the changes: for a main that must not be written to."""
    kept = {
        app: tuple(one for one in change.actions if isinstance(one, PublishLedger)) for app, change in changes.items()
    }
    return {app: replace(change, actions=kept[app]) for app, change in changes.items() if kept[app]}


@dataclass(frozen=True, slots=True)
class Pushed:
    """One part of a batch that the remote accepted: ``kind`` is main, offer or ledger, ``seconds`` the total time."""

    kind: str
    commits: int
    seconds: float


@dataclass(frozen=True, slots=True)
class GitWriteResult:
    """The result of a batch. ``touched``: those whose branches may have changed; look at the remote again."""

    touched: frozenset[AppOrGroup] = frozenset()
    refused: str = ""
    """Why main refused the commits, or empty."""
    taken: frozenset[str] = frozenset()
    """The branches that now are as wanted."""
    failed: Mapping[str, GitopsBgError] = field(default_factory=dict)
    """The error of each other branch; main is among them only where a retry may help."""
    incomplete: Mapping[AppOrGroup, GitopsBgError] = field(default_factory=dict)
    """The error of each app or group whose change lacks a part."""
    pushed: tuple[Pushed, ...] = ()

    @property
    def errors(self) -> tuple[GitopsBgError, ...]:
        """The errors that call for a retry, each once."""
        return tuple(dict.fromkeys((*self.failed.values(), *self.incomplete.values())))


def branch_of(repository: Repository, subject: AppOrGroup, action: AnyGitAction) -> str:
    """Return the branch that an action writes."""
    match action:
        case CommitPrimary() | CommitActive(offered=False) | EnterRelease(offered=False):
            return repository.settings.branch
        case EnterRelease() | WithdrawRelease():
            return entry_branch(action.environment, AppKey(subject.namespace, subject.name))
        case OfferPromotion() | CommitActive() | WithdrawPromotion():
            return repository.branch_of(subject)
        case PublishLedger():
            return repository.settings.state_branch
    assert_never(action)


def write(
    repository: Repository, changes: Mapping[AppOrGroup, GitChange], clock: Callable[[], float] = monotonic
) -> GitWriteResult:
    """Carry out all changes: main first, then the promotion branches, then the ledger. ``clock`` gives seconds.

    A failed part does not keep the others from being written. Every part may be repeated after any failure: where the
    batch hits a bug, each app's change is carried out alone, and only the app that hits it again is ``incomplete``.
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
    repository: Repository, changes: Mapping[AppOrGroup, GitChange], clock: Callable[[], float]
) -> GitWriteResult:
    incomplete: dict[AppOrGroup, GitopsBgError] = {}
    commits = list(_changes(repository, changes, incomplete, offered=False))
    offers = list(_changes(repository, changes, incomplete, offered=True))
    entries, asked = (list(_entries(repository, changes, incomplete, offered=one)) for one in (False, True))
    withdrawn = {who: changes[who].seen for who in _withdrawing(changes)}
    unasked = dict.fromkeys(_unasked(repository, changes))
    batch = dict(_ledger(changes))
    main, ledger = {repository.settings.branch}, {repository.settings.state_branch}
    parts: tuple[tuple[str, object, set[str], Callable[[], int]], ...] = (
        ("main", commits, main, lambda: _committed(repository.promotions.commit(commits))),
        (
            "offer",
            offers,
            {repository.branch_of(change.subject) for change in offers},
            lambda: _committed(repository.promotions.offer(offers)),
        ),
        ("main", entries, main, lambda: _committed(repository.promotions.commit(entries))),
        (
            "offer",
            asked,
            {each.entry.branch for each in asked if each.entry},
            lambda: _committed(repository.promotions.offer(asked)),
        ),
        ("offer", unasked, set(unasked), lambda: _deleted(repository, unasked)),
        ("offer", withdrawn, set(map(repository.branch_of, withdrawn)), lambda: _withdrawn(repository, withdrawn)),
        ("ledger", batch, ledger, lambda: 1 if repository.ledger.publish(batch).commit else 0),
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
    touched = {change.subject for change in (*commits, *offers, *entries, *asked)} | withdrawn.keys()
    touched |= {who for who, change in changes.items() if _withdraws_release(change)}
    taken = tried - failed.keys() - (main if refused else set())
    return GitWriteResult(frozenset(touched), str(refused or ""), frozenset(taken), failed, incomplete, tuple(pushed))


def _carried_out(branches: set[str], part: Callable[[], int]) -> tuple[int, dict[str, GitopsBgError]]:
    """Carry out a part; return the number of commits pushed, and the errors of the branches not written."""
    try:
        return part(), {}
    except PushRefused as error:
        return 0, dict.fromkeys(branches & error.words.keys() or branches, error)
    except BranchMoved as error:
        return 0, dict.fromkeys(error.branches, error)
    except GitopsBgError as error:
        return 0, dict.fromkeys(branches, error)


def _committed(outcomes: Mapping[AppOrGroup, PrimaryOutcome]) -> int:
    return sum(outcome.result is PrimaryResult.COMMITTED for outcome in outcomes.values())


def _withdrawn(repository: Repository, heads: Mapping[AppOrGroup, str | None]) -> int:
    repository.branches.withdraw(heads)
    return 0


def _deleted(repository: Repository, heads: Mapping[str, None]) -> int:
    repository.branches.delete(heads)
    return 0


def _entries(
    repository: Repository,
    changes: Mapping[AppOrGroup, GitChange],
    incomplete: dict[AppOrGroup, GitopsBgError],
    *,
    offered: bool,
) -> Iterator[PrimaryChange[AppOrGroup]]:
    """Yield the releases that come into an environment by a commit, or those ``offered``; as `_changes`."""
    for subject, change in changes.items():
        for action in change.actions:
            if isinstance(subject, AppKey) and isinstance(action, EnterRelease) and action.offered is offered:
                try:
                    yield release_change(repository, subject, action, change.decided_from)
                except GitopsBgError as error:
                    incomplete[subject] = error


def _unasked(repository: Repository, changes: Mapping[AppOrGroup, GitChange]) -> Iterator[str]:
    for subject, change in changes.items():
        for action in change.actions:
            if isinstance(action, WithdrawRelease):
                yield branch_of(repository, subject, action)


def _withdraws_release(change: GitChange) -> bool:
    return any(isinstance(action, WithdrawRelease) for action in change.actions)


def _changes(
    repository: Repository,
    changes: Mapping[AppOrGroup, GitChange],
    incomplete: dict[AppOrGroup, GitopsBgError],
    *,
    offered: bool,
) -> Iterator[PrimaryChange[AppOrGroup]]:
    """Yield the changes of main, or those ``offered`` on branches; one that cannot be written whole is left out, and is
    in ``incomplete``.
    """
    for subject, change in changes.items():
        for action in change.actions:
            try:
                match subject, action:
                    case AppKey(), CommitPrimary() | OfferPromotion():
                        if isinstance(action, OfferPromotion) is offered:
                            yield _of_app(repository, subject, action, change)
                    case GroupKey(), CommitActive() if action.offered is offered:
                        yield _of_group(repository, subject, action, change)
            except GitopsBgError as error:
                incomplete[subject] = error


def _of_group(
    repository: Repository, group: GroupKey, action: CommitActive, change: GitChange
) -> PrimaryChange[GroupKey]:
    """Return the change. Raises ``InvalidInput`` where the file names another version in a folder with a mistake, or
    cannot be edited."""
    path = group_file(group)
    content = repository.text_file(path, change.decided_from)
    if isinstance(content, Problem):
        raise InvalidInput(content)
    named = active_in(content or b"")
    if content is None or named != action.named:
        said = f"names {named or 'no version'}, and the group has a mistake: nobody knows what was meant"
        raise InvalidInput(Problem(path, said, remedy="mend it"))
    movement = Movement(
        subject=group,
        event=Event.ROLLED_BACK,
        from_version=version_number(named) or None,
        to_version=version_number(action.version) or None,
        by=action.by,
        reason=action.reason,
    )
    edited = set_field(content, ("spec", "active"), action.version, path)
    return PrimaryChange(edited, change.decided_from, movement, change.seen)


def _of_app(
    repository: Repository, app: AppKey, action: CommitPrimary | OfferPromotion, change: GitChange
) -> PrimaryChange[AppKey]:
    version = _with_source(repository, app, action.version)
    movement = Movement(
        subject=app,
        event=action.event,
        from_version=action.from_number,
        from_digest=action.from_digest,
        to_version=version.number,
        to_digest=version.digest,
        from_tag=action.from_tag,
        to_tag=version.tag,
        source_commit=version.source.commit,
        rollout=version.rollout,
        by=action.by,
        reason=action.reason,
    )
    contents = completed(repository, app, version, change.contents)
    content = render_primary(app, version, contents, action.services, repository.places.folder(app))
    return PrimaryChange(content.encode(), change.decided_from, movement, change.seen)


def _with_source(repository: Repository, app: AppKey, version: Version) -> Version:
    """Return the version with the commit that brought it, which a record that was lost took along: main's past may have
    it.
    """
    if version.source.commit:
        return version
    return replace(version, source=_promoted_from(repository, app, version.digest) or version.source)


def _promoted_from(repository: Repository, app: AppKey, digest: str) -> Source | None:
    """Return the source that the newest valid ``primary.yaml`` of a digest named; None without one."""
    for content in repository.primaries(app):
        document, _ = read_one(PRIMARY_FILE, content) if digest.encode() in content else (None, ())
        primary, _ = read_primary(document, app) if document else (None, ())
        if primary and primary.snapshot.digest == digest and primary.source.commit:
            return primary.source
    return None


def _withdrawing(changes: Mapping[AppOrGroup, GitChange]) -> Iterator[AppOrGroup]:
    for subject, change in changes.items():
        if any(isinstance(action, WithdrawPromotion) for action in change.actions):
            yield subject


def _ledger(changes: Mapping[AppOrGroup, GitChange]) -> Iterator[tuple[AppOrGroup, LedgerBatch]]:
    for subject, change in changes.items():
        for action in change.actions:
            if isinstance(action, PublishLedger):
                yield subject, LedgerBatch(action.epoch, action.entries, state_of(change.record))
