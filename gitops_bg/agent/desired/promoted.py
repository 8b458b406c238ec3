"""The version that an app is to have, beside what its target says: the one that ``spec.revision`` names, from the
record or from main's past, and what a reviewed commit would promote, with who wrote it, for policies about people.

What ``spec.revision`` names takes the target's place before anything is decided, so that it passes every gate as any
other change of the target does. What nobody knows is a mistake of ``app.yaml``: there is no target then, and nothing is
scaled. The next version of a release group is in `agent.groups.policy_inputs`.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Protocol

from cachetools import LRUCache

from gitops_bg.agent.desired.provenance import brought_in
from gitops_bg.agent.runtime.cpu import cpu_limited
from gitops_bg.core.checks.policy_facts import awaits_promotion
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.desired import Desired, Primary, Target
from gitops_bg.core.model.policy_facts import CommitFacts
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import Revision
from gitops_bg.core.model.version import AppKey, Snapshot, Source
from gitops_bg.core.world import resolve
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import PRIMARY_FILE
from gitops_bg.spec.app.load import AppConfig, load_app
from gitops_bg.spec.app.primary import configuration_in, read_primary
from gitops_bg.spec.manifests.configuration import Configuration
from gitops_bg.spec.yaml.reader import read_one

_REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class WrittenBy:
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
        """Return what the merge of a commit would promote; None where nobody can read that."""

    def written(self, agent: str) -> WrittenBy:
        """Return whose work it is; ``agent`` is the address of the agent's own commits, in lower case."""


def written_by(commits: tuple[CommitFacts, ...], agent: str, wrote: Callable[[str], bool], files: str) -> WrittenBy:
    """Return who these commits are by; nobody can tell where one of them that ``wrote`` it is under the agent's
    address: whoever made that could approve it, too. The agent writes only ``files``.
    """
    suspects = (each.commit for each in commits if each.author.email.lower() == agent)
    if forgery := next(filter(wrote, suspects), ""):
        return WrittenBy(None, f"{forgery[:10]} is under the agent's address, and the agent writes only {files}")
    return WrittenBy(commits)


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

    def written(self, agent: str) -> WrittenBy:
        """See `Promoted.written`: all changes from the version that serves to this one."""
        try:
            after = self._made_from()
            before = self._served_from(after)
            return self._written(before, after, agent)
        except GitopsBgError as error:
            return WrittenBy(None, f"nobody can read the commits by which it was written: {error}")

    def _written(self, before: str, after: str, agent: str) -> WrittenBy:
        commits = self._repository.changes.between(self._app, before, after) if before and after else None
        if commits is None:
            missing = f"the commits between {before[:10] or '?'} and {after[:10] or '?'} are not all here"
            return WrittenBy(None, f"{missing}; until the next promotion, only a policy with an override lets it pass")
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


Found = tuple[Snapshot, tuple[Configuration, ...]]
"""A version, and the content of its ConfigMaps and Secrets as far as Git has it."""


class Revisions:
    """Looks revisions up in one repository. Thread-safe."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._lock = Lock()
        self._known: LRUCache[tuple[AppKey, Revision, str], Found | str] = LRUCache(_REMEMBERED)

    def pinned(self, app: AppKey, config: AppConfig, record: Record, commit: str) -> AppConfig:
        """Return the description at ``commit`` of main with the version that it pins as its target, or with a problem.

        Raises the errors of a repository that cannot be read at present.
        """
        revision = config.spec.revision if config.spec else None
        if revision is None or config.target is None or config.pin is None:
            return config
        found = self._found(app, revision, record, config.primary, commit)
        if isinstance(found, str):
            unknown = replace(config.pin.unknown, message=f"{found}, so the target is left as it is")
            return replace(config, target=None, problems=(*config.problems, unknown))
        snapshot, contents = found
        target = Target(snapshot, config.target.replicas, config.pin.by, pinned=True)
        waiting = config.target if config.target.snapshot.digest != snapshot.digest else None
        contents = (*config.configuration, *contents)
        return replace(config, target=target, held_back=waiting, configuration=contents)

    def _found(
        self, app: AppKey, revision: Revision, record: Record, primary: Primary | None, head: str
    ) -> Found | str:
        """Return the version, or why there is none."""
        named = (each for each in reversed(record.versions) if _is_named(revision, each.number, each.digest))
        here = next((each.snapshot for each in named if each.snapshot.text), None)
        if here is None:
            return self._past(app, revision, primary, head)
        past = self._past(app, Revision(digest=here.digest), primary, head) if here.configuration else ""
        return here, () if isinstance(past, str) else past[1]

    def _past(self, app: AppKey, revision: Revision, primary: Primary | None, head: str) -> Found | str:
        """Return what main's history has, or why it has it not: of a commit asked once for each head of main, of a
        version once for each ``primary.yaml``, so that other apps' commits cost nothing.
        """
        key = (app, revision, head if revision.commit else primary.snapshot.digest if primary else "")
        with self._lock:
            if key in self._known:
                return self._known[key]
        by_commit = revision.commit
        found = self._of_commit(app, by_commit, head) if by_commit else self._promoted(app, revision, head)
        with self._lock:
            self._known[key] = found
        return found

    def _promoted(self, app: AppKey, revision: Revision, head: str) -> Found | str:
        """Return a version that ``primary.yaml`` ever named, the newest first."""
        for content in self._repository.primaries(app, head):
            document, _ = read_one(PRIMARY_FILE, content)
            primary = read_primary(document, app)[0] if document else None
            if primary and _is_named(revision, primary.version, primary.snapshot.digest):
                return primary.snapshot, tuple(configuration_in(content, app))
        return f"there is no version {revision} of this app"

    def _of_commit(self, app: AppKey, commit: str, head: str) -> Found | str:
        """Return the target that the folder had at a commit of main."""
        if not self._repository.mirror.is_ancestor(commit, head):
            return f"main has no commit {commit[:10]}"
        folder = self._repository.places.folder(app)
        files = {name: file.content for name, file in self._repository.files_of([app], commit)[app].items()}
        home = self._repository.homes([app], commit).get(app)
        config = cpu_limited(
            f"reading {folder} at {commit[:10]}", lambda: load_app(app, files, _nobody, folder=folder, home=home)
        )
        if config.target is None:
            return f"at commit {commit[:10]}: {next(map(str, config.problems), f'there is no {folder}')}"
        return config.target.snapshot, tuple(config.configuration)


def _nobody(*_names: str) -> Source:
    return Source("")


def _is_named(revision: Revision, number: int, digest: str) -> bool:
    if revision.digest:
        return digest.startswith(revision.digest)
    return bool(revision.number) and number == revision.number
