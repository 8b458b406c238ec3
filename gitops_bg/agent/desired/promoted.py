"""What is to be promoted, as far as people matter: what a reviewed commit would promote, and who wrote it.

An app's version is one; that of a release group is in `agent.groups.promoted`. Decides nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from cachetools import LRUCache

from gitops_bg.agent.desired.provenance import brought_in
from gitops_bg.core.checks.policy_facts import awaits_promotion
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.desired import Desired
from gitops_bg.core.model.policy_facts import CommitFacts
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, Snapshot
from gitops_bg.core.world import resolve
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import PRIMARY_FILE
from gitops_bg.spec.app.primary import read_primary
from gitops_bg.spec.yaml.reader import read_one

_REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class Written:
    """The commits by which it was written."""

    commits: tuple[CommitFacts, ...] | None
    """None: unknown."""
    why: str = ""
    """Why they are unknown."""


class Promoted(Protocol):
    """The next version, whose promotion may wait."""

    @property
    def digest(self) -> str:
        """What identifies its content; empty where nothing is next, or nothing serves yet that rules would protect."""

    @property
    def promotion(self) -> str:
        """The commit of main that promotes it, and waits; empty: none."""

    def digest_at(self, commit: str) -> str | None:
        """What the merge of a commit would promote; None where nobody can read that."""

    def written(self, agent: str) -> Written:
        """Whose work it is; ``agent`` is the address of the agent's own commits, in lower case."""


def written_by(commits: tuple[CommitFacts, ...], agent: str, wrote: Callable[[str], bool], files: str) -> Written:
    """These commits; nobody can tell the authors where one of them that ``wrote`` it is under the agent's address:
    whoever made that could approve it, too. The agent writes only ``files``.
    """
    suspects = (each.commit for each in commits if each.author.email.lower() == agent)
    if forgery := next(filter(wrote, suspects), ""):
        return Written(None, f"{forgery[:10]} is under the agent's address, and the agent writes only {files}")
    return Written(commits)


class AppVersions:
    """The next versions of apps of one repository, whose lock makes it thread-safe."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._snapshots: LRUCache[tuple[AppKey, str], Snapshot] = LRUCache(_REMEMBERED)
        self._brought: LRUCache[tuple[AppKey, str, str], str] = LRUCache(_REMEMBERED)

    def of(self, app: AppKey, desired: Desired, record: Record) -> "AppVersion":
        """Return what an app is to serve next."""
        return AppVersion(self._repository, self, app, desired, record)

    def snapshot(self, app: AppKey, commit: str) -> Snapshot | None:
        """Return what ``primary.yaml`` names at a commit of any branch; None where nobody can read it."""
        if (app, commit) not in self._snapshots:
            try:
                content = self._repository.primary_at(app, commit)
            except GitopsBgError:
                return None
            document, _ = read_one(PRIMARY_FILE, content) if content is not None else (None, ())
            primary = read_primary(document, app)[0] if document else None
            if primary is None:
                return None
            self._snapshots[app, commit] = primary.snapshot
        return self._snapshots[app, commit]

    def brought(self, app: AppKey, after: str, record: Record) -> str:
        """Return the commit that brought the version that serves, in the history of ``after``; empty: none.

        Of several it is the oldest: whoever names too many authors takes approvals away, and gives none.
        """
        serving = record.routing.traffic
        key = (app, serving, after)
        if key not in self._brought:
            self._brought[key] = brought_in(
                self._repository, app, after, lambda snapshot: resolve(record, snapshot) == serving
            )
        return self._brought[key]


@dataclass(frozen=True, slots=True)
class AppVersion:
    """The version of an app that waits for its switch, else the target. See `Promoted`."""

    _repository: Repository
    _versions: AppVersions
    _app: AppKey
    _desired: Desired
    _record: Record

    @property
    def digest(self) -> str:
        """See `Promoted.digest`."""
        serving, named = self._record.routing.traffic, self._named()
        return named if serving and named != serving else ""

    @property
    def promotion(self) -> str:
        """See `Promoted.promotion`."""
        return awaits_promotion(self._desired, self._record)

    def digest_at(self, commit: str) -> str | None:
        """See `Promoted.digest_at`."""
        snapshot = self._versions.snapshot(self._app, commit)
        return resolve(self._record, snapshot) if snapshot is not None else None

    def written(self, agent: str) -> Written:
        """See `Promoted.written`: all changes from the version that serves to this one."""
        try:
            after = self._made_from()
            before = self._served_from(after)
            return self._written(before, after, agent)
        except GitopsBgError as error:
            return Written(None, f"nobody can read the commits by which it was written: {error}")

    def _written(self, before: str, after: str, agent: str) -> Written:
        commits = self._repository.changes.between(self._app, before, after) if before and after else None
        if commits is None:
            missing = f"the commits between {before[:10] or '?'} and {after[:10] or '?'} are not all here"
            return Written(None, f"{missing}; until the next promotion, only a policy with an override lets it pass")
        return written_by(
            commits, agent, partial(self._repository.changes.wrote_content, self._app, before, after), PRIMARY_FILE
        )

    def _named(self) -> str:
        desired = self._desired
        if self.promotion and desired.primary:
            return resolve(self._record, desired.primary.snapshot)
        return self._target()

    def _target(self) -> str:
        target = self._desired.target
        return resolve(self._record, target.snapshot) if target else ""

    def _served_from(self, after: str) -> str:
        """Return the commit that brought what serves. A history that was accepted in place of another has one of its
        own, and a mirror that was cloned since has no other.
        """
        active = self._record.version(self._record.routing.traffic)
        commit = active.source.commit if active else ""
        if not commit or not after or self._repository.mirror.has(commit) or not self._repository.mirror.has(after):
            return commit
        return self._versions.brought(self._app, after, self._record) or commit

    def _made_from(self) -> str:
        """Return the commit that brought it; from the record if possible: ``primary.yaml`` is not trusted."""
        named, desired = self._named(), self._desired
        version = self._record.version(named)
        known = version.source.commit if version is not None else ""
        if known and (self._target() != named or self._repository.mirror.has(known)):
            return known
        if not known and self.promotion and desired.primary:
            return desired.primary.source.commit
        return desired.target.source.commit if desired.target else ""
