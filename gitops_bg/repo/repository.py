"""Git, as the agent and the command line see it: one remote, by its parts.

What a part answers by itself is asked of the part: ``repository.ledger.publish(batch)``,
``repository.edits.commit(edits, message)``, ``repository.commits.facts(ids)``. What is here needs several of them, or
the head of main: what moved (``poll``), and what is at a commit, by default at the head of the last poll, who made it,
and who let it into main.

It starts no thread and decides nothing. One lock, which the parts share, makes every call safe from any thread; one
process owns the directory. Every error is of the tree in ``core.errors``, without secrets in it.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from types import TracebackType

from gitops_bg.core.environments.model import Environments
from gitops_bg.core.environments.proven import KnownRelease
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey, PullSubject, ReleaseId, Source
from gitops_bg.repo.git.errors import MirrorBroken
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import lines, parts, text
from gitops_bg.repo.ledger.ledger import Ledger, LedgerHistory, Ledgers
from gitops_bg.repo.ledger.own_commits import OwnCommits
from gitops_bg.repo.ledger.policy_log import PolicyLog
from gitops_bg.repo.ledger.state_branch import StateBranch
from gitops_bg.repo.read.app_index import AppIndex, groups_at
from gitops_bg.repo.read.changes import Trees, WalkedMain
from gitops_bg.repo.read.commits import Around, Changes, CommitReader, ExtraFiles
from gitops_bg.repo.read.environment import EnvironmentAt, EnvironmentReader
from gitops_bg.repo.read.files import Blobs, File, Files, TreeEntry
from gitops_bg.repo.read.history import (
    CachedProvenance,
    Details,
    Enough,
    FileChange,
    MainJournal,
    Primaries,
    Removals,
    changes_of,
    oldest,
)
from gitops_bg.repo.read.main_verifier import KeyFiles, MainVerifier, VerifiedBefore
from gitops_bg.repo.read.mainline import Mainline
from gitops_bg.repo.read.polling import Poll, Poller
from gitops_bg.repo.read.promotion_branches import ConcernedBranches, PromotionBranches
from gitops_bg.repo.read.reverts import NearChanges, RevertCandidate, RevertedNames, Reverts
from gitops_bg.repo.read.signatures import Signatures
from gitops_bg.repo.settings import RepositorySettings, is_app
from gitops_bg.repo.write.commits import Committer, OwnKey
from gitops_bg.repo.write.main_branch import Edits
from gitops_bg.repo.write.promotion import (
    GroupBranches,
    Promotions,
    SharedBranches,
)
from gitops_bg.repo.write.push import Pusher
from gitops_bg.spec.app.layout import APPS_FOLDER, ENVIRONMENTS_FILE, PRIMARY_FILE, SETTINGS_FILE, Places, group_folder
from gitops_bg.spec.app.settings import default_settings, read_settings
from gitops_bg.spec.environments.home import Home

_MOST_BEFORE = 20
"""How many former contents of a broken file are tried."""
_HURRIED = 4
"""How many times more packs there may be while something else waits."""


def _now() -> datetime:
    return datetime.now(UTC)


class Repository:
    """One remote. A context manager; close it at the end.

    ``clock`` dates the agent's commits, ``sleep`` waits between attempts to push. Raises ``InvalidInput`` for a refused
    URL, or keys that cannot be used, ``MirrorInUse``, ``DiskProblem``; ``poll`` is the first call that contacts the
    remote.
    """

    def __init__(
        self,
        settings: RepositorySettings,
        *,
        clock: Callable[[], datetime] = _now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.settings = settings
        keys = KeyFiles(settings.verification) if settings.verification is not None else None
        self._unnamed = False
        self.mirror = mirror = Mirror(settings)
        self.lock = mirror.lock
        self._trees = trees = Trees(mirror)
        self._environments = environments = EnvironmentReader(
            trees, settings, self._environments_file, _EnvironmentsBefore(self)
        )
        self._index = AppIndex(mirror, trees, partial(oldest, mirror, trees), environments.at)
        self._details = details = Details(mirror)
        near = NearChanges(mirror, trees)
        self._sources, self._landings = (CachedProvenance(mirror, near, details, landings=one) for one in (False, True))
        self.commits = CommitReader(mirror)
        self._beside = ExtraFiles(mirror, trees, self._index)
        self.changes = Changes(mirror, self.commits, self._index)
        self._removals = Removals(mirror)
        self._mainline = Mainline(mirror)
        self._reverts = Reverts(mirror, near, self._mainline)
        self.signatures = Signatures(mirror)
        verifier = self._main_verifier(keys, details, clock) if keys is not None else None
        self._verifier = verifier
        walked = WalkedMain()
        sources = (self._sources, self._landings)
        self.poller = poller = Poller(mirror, trees, self._index, sources, walked, self._mainline, verifier)
        concerned = ConcernedBranches(mirror, trees, self._index)
        mirror.admits = lambda names, head: concerned.among(names, poller.believes(head) if head else "")
        mirror.doubt_of = poller.doubt_of
        self._blobs = blobs = Blobs(mirror)
        self._files = Files(trees, blobs, self._index)
        self.offers = PromotionBranches(mirror, trees, blobs, self._files, self._index)
        self._committer = committer = Committer(mirror, clock)
        pusher = Pusher(mirror, sleep)
        pusher.pushed = poller.compare_again
        self.branches = SharedBranches(mirror, pusher, self._index)
        self.promotions = Promotions(mirror, trees, self._files, committer, pusher, self.offers, self._index)
        self.edits = Edits(mirror, self._files, committer, pusher)
        self.group_branches = GroupBranches(mirror, trees, self.edits, committer, self.branches)
        key = OwnKey(committer, verifier, settings) if verifier is not None else None

        def state_branch_of(cluster: str) -> StateBranch:
            own = OwnCommits(mirror, committer, verifier, key, cluster)
            return StateBranch(mirror, trees, blobs, committer, pusher, own)

        self.state_branch = branch = state_branch_of(settings.cluster)
        self.ledger = Ledger(branch, blobs)
        self.ledgers = Ledgers(mirror, details, lambda cluster: Ledger(state_branch_of(cluster), blobs))
        self._primaries = Primaries(mirror, blobs, self._index)
        self._journal = MainJournal(mirror, trees, self._files, details, self._mainline, walked)
        self.history = LedgerHistory(mirror, blobs, branch)
        self.policy_log = PolicyLog(mirror, trees, self._files, self._mainline, details, branch)
        if key is not None:
            self._demand_own_signature(key)

    def _main_verifier(self, keys: KeyFiles, details: Details, clock: Callable[[], datetime]) -> MainVerifier:
        def author_of(commit: str) -> str:
            return details.of([commit])[commit].author

        return MainVerifier(self.mirror, keys, author_of, self.signatures, clock)

    def _demand_own_signature(self, key: OwnKey) -> None:
        """Refuse to begin where the agent's own commits would not be verified: it could write to main only once."""
        try:
            key.demand()
        except BaseException:
            self.mirror.close()
            raise

    def remember(self, verified_before: Callable[[], VerifiedBefore]) -> None:
        """Have it asked what was verified before, at the first poll, and where the mirror has lost what was read."""
        if self._verifier is not None:
            self._verifier.verified_before = verified_before

    def __enter__(self) -> "Repository":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the directory."""
        with self.lock:
            self.mirror.close()

    def tidy(self, *, hurried: bool = False) -> bool:
        """Join the small packs of the mirror where there are many, or, ``hurried``, very many; return whether it did.

        Costs next to nothing where there are few.
        """
        if not self.mirror.untidy(_HURRIED if hurried else 1):
            return False
        with self.lock:
            self.mirror.tidy()
        return True

    # What moved.

    def poll(self) -> Poll:
        """Look at the remote once; a damaged mirror is cloned again on the way.

        Raises ``BranchMissing``, ``AuthenticationFailed``, ``RemoteUnreachable``, ``DiskProblem``, ``MainNotVerified``.
        """
        with self.lock:
            if self.lock.suspect:
                self._rebuild()
            try:
                poll = self.poller.poll()
            except MirrorBroken:
                self._rebuild()
                poll = self.poller.poll()
            self._keep_agent(poll)
            return poll

    def _keep_agent(self, poll: Poll) -> None:
        """Note who the agent is by the settings of main, for whoever reads its ledger or commits in its name. A main
        that was rewritten, and settings that cannot be read, say nothing new.
        """
        self._unnamed = self._unnamed or poll.settings_changed
        if not self._unnamed or poll.rewritten:
            return
        try:
            content = self.settings_file()
        except BaseException:
            self.poller.repeat()
            raise
        settings, _ = read_settings(content) if isinstance(content, bytes) else (None, ())
        author = (settings or default_settings()).commit_author if settings or content is None else None
        if author is not None:
            self._committer.agent_is(author.name, author.email)
        self._unnamed = False

    @property
    def head(self) -> str:
        """The head of main as last reported. Raises ``RemoteMoved`` before the first poll."""
        with self.lock:
            return self.poller.head()

    def contains(self, commit: str) -> bool:
        """Return whether main contains a commit; False for an unknown one."""
        with self.lock:
            return self.mirror.is_ancestor(commit, self.poller.head())

    def lost(self, commits: Iterable[str]) -> frozenset[str]:
        """Return the commits that main does not contain; for many at once (after a restart)."""
        with self.lock:
            left = set(commits) - {self.poller.head()}
            if left:
                left -= set(map(text, lines(self.mirror.local("rev-list", self.poller.head()))))
            return frozenset(left)

    # What is at a commit.

    def apps(self, commit: str = "") -> Mapping[AppKey, str]:
        """Return every app of main with the id of its folder: equal ids mean equal files."""
        with self.lock:
            return self._index.at(commit or self.poller.head())

    @property
    def places(self) -> Places:
        """The folders of all apps, as of the commit of main that was last looked at."""
        with self.lock:
            return self._index.places

    @property
    def environment(self) -> EnvironmentAt:
        """The environment that main is read for, as of the commit that was last looked at."""
        with self.lock:
            return self._index.environment

    def environments_in_force(self) -> tuple[Environments, tuple[Problem, ...]]:
        """Return the environments of main, whichever is meant, and why they are not those of its file, where so."""
        with self.lock:
            return self._environments.in_force(self.poller.head())

    def placed(self, release: ReleaseId) -> KnownRelease:
        """Return a release with its place in main; without one where main lacks the commit that brought it."""
        is_there = bool(release.commit) and self.contains(release.commit)
        return KnownRelease(release, release.commit, self.source_of(release.commit).landed if is_there else None)

    def folders_in(self, app: AppKey, commit: str = "") -> frozenset[str]:
        """Return the names of the folders in that of an app."""
        with self.lock:
            return self._files.inner([app], commit or self.poller.head())[app]

    @property
    def ways(self) -> frozenset[frozenset[str]]:
        """The environments that an app is in, of every app that was read so far: each combination once."""
        with self.lock:
            return self._files.ways

    def inner_folders(self, commit: str = "") -> Mapping[AppKey, frozenset[str]]:
        """Return the names of the folders in that of each app below ``apps/``, whichever environment is meant."""
        with self.lock:
            node = self._trees.at(commit or self.poller.head(), [APPS_FOLDER]).get(APPS_FOLDER)
            spaces = [each for each in self._trees.listed([node.folder]) if each[2].folder] if node else []
            named = {(tree.folder, space) for _, space, tree in spaces}
            inside = [each for each in self._trees.listed({tree for tree, _ in named}) if each[2].folder]
            folders: defaultdict[str, set[str]] = defaultdict(set)
            for folder, name, tree in self._trees.listed({tree.folder for _, _, tree in inside}):
                if tree.folder:
                    folders[folder].add(name)
            return {
                AppKey(space, name): frozenset(folders[tree.folder])
                for above, space in named
                for folder, name, tree in inside
                if folder == above and is_app(space, name)
            }

    def apps_touched_by(self, commit: str) -> frozenset[AppKey]:
        """Return the apps below ``apps/`` whose folder a commit changed, compared with its first parent."""
        with self.lock:
            walk = ("diff-tree", "--no-commit-id", "--name-only", "--root", "-m", "--first-parent", "-r", "-z", commit)
            paths = [path.split("/") for path in map(text, parts(self.mirror.local(*walk, "--")))]
            found = (AppKey(path[1], path[2]) for path in paths if len(path) > 3 and path[0] == APPS_FOLDER)
            return frozenset(app for app in found if is_app(app.namespace, app.name))

    def homes(self, apps: Iterable[AppKey], commit: str = "") -> Mapping[AppKey, Home]:
        """Return the environment of apps, with the folders that theirs have at a commit; those in none are left out."""
        with self.lock:
            at = self._index.environment
            divided = [app for app in apps if self._index.places.environment_of(app)]
            if at.environment is None:
                return {}
            inner = self._files.inner(divided, commit or self.poller.head())
            return {app: Home(at.environment, at.environments, inner[app]) for app in divided}

    def _environments_file(self, commit: str) -> bytes | Problem | None:
        file = self._files.at(ENVIRONMENTS_FILE, commit, lenient=True)
        return file.content if file is not None else None

    def entries_of(self, apps: Iterable[AppKey], commit: str = "") -> Mapping[AppKey, Mapping[str, TreeEntry]]:
        """Return the files of apps by name, unread, with blob ids by which parses can be cached."""
        with self.lock:
            return self._files.entries(apps, commit or self.poller.head())

    def read(self, entries: Iterable[TreeEntry]) -> Mapping[str, File]:
        """Return the contents of entries, by path."""
        with self.lock:
            return self._files.read(entries)

    def files_of(self, apps: Iterable[AppKey], commit: str = "") -> Mapping[AppKey, Mapping[str, File]]:
        """Return all YAML files of apps by name; missing blobs are fetched in one exchange."""
        with self.lock:
            return self._files.of(apps, commit or self.poller.head())

    def files(self, app: AppKey, commit: str = "") -> Mapping[str, bytes | Problem]:
        """Return the files of one app by name; a Problem in place of a file that must not be read."""
        return {name: file.content for name, file in self.files_of([app], commit)[app].items()}

    def settings_file(self, commit: str = "") -> bytes | Problem | None:
        """Return ``gitops-bg.yaml``, or None."""
        return self.text_file(SETTINGS_FILE, commit)

    def groups(self, commit: str = "") -> Mapping[GroupKey, str]:
        """Return the release groups of main, the folders two levels below ``groups/``, with the object ids of the
        folders.
        """
        with self.lock:
            return groups_at(self._trees, commit or self.poller.head())

    def files_below(self, folder: str, commit: str = "") -> Mapping[str, File]:
        """Return all YAML files below another folder of the repository (``analysis``, ``policies``, ``groups``), by
        path.
        """
        with self.lock:
            return self._files.below(folder, commit or self.poller.head(), lenient=True)

    def changes_below(self, folder: str, most: int = 20) -> Sequence[str]:
        """Return the commits of main's line that changed something below a folder, newest first, up to ``most``."""
        with self.lock:
            steps = self._mainline.steps(self.poller.head())
            return list(islice(changes_of(self.mirror, steps, folder), most))

    def removed_files(self, app: AppKey) -> frozenset[str]:
        """Return the names of the files that ever left an app's folder, as main was read last; also of those that are
        back.
        """
        with self.lock:
            return self._removals.of(self._index.places.folder(app), self.poller.head())

    def landing_of(self, commit: str) -> str:
        """Return the commit of main's own line that merged another one; empty where main does not have it."""
        with self.lock:
            return self._mainline.landing(commit, self.poller.head())

    def primary_at(self, app: AppKey, commit: str) -> bytes | None:
        """Return ``primary.yaml`` at any commit in the mirror, of any branch; None where it cannot be read."""
        with self.lock:
            file = self._files.at(self.path_of(app, PRIMARY_FILE), commit) if self.mirror.has(commit) else None
            return file.content if file is not None and isinstance(file.content, bytes) else None

    def around(self, commit: str, paths: tuple[str, ...]) -> Around:
        """Return what main was before a commit, and the ids at these paths before it and with it. Of a commit that is
        not of main's own line, its first parent.
        """
        with self.lock:
            before = self._mainline.before(commit, self.poller.head())
            return self.commits.around(commit, paths, before or "")

    def around_unless_pulled(self, commit: str, paths: tuple[str, ...]) -> Around | None:
        """Do as `around`, should a commit not be the pull that only its subject says it is; None where more is
        known.
        """
        with self.lock:
            before = self._mainline.unless_pulled(commit, self.poller.head())
            return self.commits.around(commit, paths, before) if before else None

    def extra_files_of_offer(self, app: AppKey, head: str) -> tuple[str, ...]:
        """Return files that an app's promotion branch would bring to main beside its ``primary.yaml``; a few of
        them.
        """
        with self.lock:
            return self._beside.on_branch(app, head, self.poller.head())

    def extra_files(self, own: Container[str], head: str) -> tuple[str, ...]:
        """Return files that a branch would bring to main beside its ``own``; a few of them."""
        with self.lock:
            return self._beside.besides(own, head, self.poller.head())

    def extra_files_of_promotion(self, app: AppKey, commit: str) -> tuple[str, ...]:
        """Return files that a commit of main brought beside any ``primary.yaml``, where it merges the app's promotion
        branch.

        A few of them; none where it was written by hand.
        """
        with self.lock:
            return self._beside.in_promotion(app, commit, self.around(commit, ()).parent)

    def misplaced(self, commit: str = "") -> tuple[Problem, ...]:
        """Return the entries under ``apps/`` and ``groups/`` that cannot be apps: bad names, links, stray files."""
        with self.lock:
            return self._index.misplaced(commit or self.poller.head())

    def sources(self, files: Iterable[tuple[AppKey, str]], commit: str = "") -> Mapping[tuple[AppKey, str], Source]:
        """Return the commit that made the present content of each file; one walk for all. Absent files are left out."""
        return {file: made for file, (made, _) in self.origins(files, commit).items()}

    def landings(self, files: Iterable[tuple[AppKey, str]], commit: str = "") -> Mapping[tuple[AppKey, str], Source]:
        """Return the commit that brought the present content of each file into main: the author of a merge
        approved it.
        """
        return {file: let_in for file, (_, let_in) in self.origins(files, commit).items()}

    def origins(
        self, files: Iterable[tuple[AppKey, str]], commit: str = ""
    ) -> Mapping[tuple[AppKey, str], tuple[Source, Source]]:
        """Return for each file the commit that made its content, and the one that brought that into main, with its
        position.
        """
        with self.lock:
            at, wanted = commit or self.poller.head(), list(files)
            listed = self._files.entries({app for app, _ in wanted}, at)
            there = {(app, name): listed[app][name] for app, name in wanted if name in listed[app]}
            made, let_in = (self._asked(sources, there, at) for sources in (self._sources, self._landings))
            return {file: self._placed(made[file], let_in[file], at) for file in made}

    def brought_by(self, path: str) -> Source | None:
        """Return the commit that brought the present content of any file into main; None where there is no such
        file.
        """
        with self.lock:
            head = self.poller.head()
            node = self._trees.at(head, [path]).get(path)
            if node is None:
                return None
            made, let_in = (each.of({path: node.id}, head)[path] for each in (self._sources, self._landings))
            return self._placed(made, let_in, head)[1]

    def changes_of_file(
        self, path: str, commit: str = "", *, since: str = "", enough: Enough | None = None, most: int | None = None
    ) -> Sequence[FileChange]:
        """Return what main said in a file up to a commit, newest first, each with who let it in: after ``since``,
        nothing where main does not contain that; up to the first that is ``enough``, which is the last one, and at
        ``most`` so many.
        """
        with self.lock:
            found = list[FileChange]()
            head = self.poller.head()
            for each in islice(self._journal.changes_of(path, commit or head, head, since=since), most):
                found.append(each)
                if enough is not None and enough(each.content):
                    break
            return found

    def _placed(self, made: Source, let_in: Source, head: str) -> tuple[Source, Source]:
        """Return the two with their positions: a commit of main's own line brought itself in, whatever a merge with
        swapped parents looks like.
        """
        if self._mainline.place(made.commit, head) is not None:
            let_in = made
        elif self._mainline.place(let_in.commit, head) is None:
            landing = self._mainline.landing(let_in.commit, head)
            let_in = self._details.of([landing])[landing] if landing else let_in
        place = self._mainline.place(let_in.commit, head)
        return replace(made, landed=place), replace(let_in, landed=place)

    def maker_of(self, path: str, said: FileChange) -> Source:
        """Return who made a file what it is at a commit of main's line; its position is that commit's."""
        with self.lock:
            made = self._reverts.last_change([path], said.landing.commit)
            commit = made.commit if made else said.landing.commit
            return replace(self._details.of([commit])[commit], landed=said.landing.landed)

    def last_change(self, app: AppKey, files: Iterable[str], start: str) -> RevertCandidate | None:
        """Return the commit that made these files of an app what they are at ``start``; None for files that never
        existed.
        """
        with self.lock:
            return self._reverts.last_change([self.path_of(app, name) for name in files], start)

    def source_of(self, commit: str) -> Source:
        """Return who made a commit of main's history, and when it came into main."""
        with self.lock:
            head = self.poller.head()
            landed = self._mainline.place(self._mainline.landing(commit, head), head)
            return replace(self._details.of([commit])[commit], landed=landed)

    def reverted_names(self, app: AppKey, files: Iterable[str], change: RevertCandidate) -> RevertedNames:
        """Return what a change of these files says it reverts, looked up in main's history."""
        with self.lock:
            return self._reverts.reverted_names(change, [self.path_of(app, name) for name in files], self.poller.head())

    @staticmethod
    def _asked(
        sources: CachedProvenance, entries: Mapping[tuple[AppKey, str], TreeEntry], commit: str
    ) -> dict[tuple[AppKey, str], Source]:
        answers = sources.of({entry.path: entry.blob for entry in entries.values()}, commit)
        return {file: answers[entry.path] for file, entry in entries.items()}

    def source(self, app: AppKey, file: str, commit: str = "") -> Source | None:
        """Return the commit that brought the present content of a file, or None where there is no such file."""
        return self.sources([(app, file)], commit).get((app, file))

    def find_primary(
        self, app: AppKey, *, digest: str = "", version: int | None = None, commit: str = ""
    ) -> bytes | None:
        """Return the newest ``primary.yaml`` of main's past with this digest, or this version number; None without
        one.
        """
        return self._primaries.find_primary(app, commit or self.head, digest=digest, version=version)

    def primaries(self, app: AppKey, commit: str = "") -> Iterator[bytes]:
        """Return every content that ``primary.yaml`` ever had on main, newest first, read as they are asked for."""
        return self._primaries.primaries(app, commit or self.head)

    def text_file(self, path: str, commit: str = "") -> bytes | Problem | None:
        """Return one file anywhere in the repository, or None."""
        with self.lock:
            file = self._files.at(path, commit or self.poller.head(), lenient=True)
            return file.content if file is not None else None

    def branch_of(self, subject: PullSubject) -> str:
        """Return the branch that asks for a version of an app, or of a release group."""
        return self._index.places.branch(subject)

    def path_of(self, app: AppOrGroup, filename: str) -> str:
        """Return where a file of an app or a group is in the repository."""
        if isinstance(app, GroupKey):
            return f"{group_folder(app)}/{filename}"
        return self._index.places.file(app, filename)

    def _rebuild(self) -> None:
        self.mirror.rebuild()
        self._blobs.forget()
        self.poller.compare_again()
        self.lock.suspect = False


class _EnvironmentsBefore:
    """What main said of environments before; asked while `Repository.lock` is held."""

    def __init__(self, repository: Repository) -> None:
        self._of = repository

    def contents(self, commit: str, since: str) -> Iterable[bytes]:
        """Return what environments.yaml said up to a commit of main, newest first; a few times."""
        journal = self._of._journal
        said = islice(journal.changes_of(ENVIRONMENTS_FILE, commit, commit, since=since), _MOST_BEFORE)
        return (each.content for each in said if each.content is not None)

    def contains(self, commit: str, other: str) -> bool:
        """Return whether the line of main up to a commit has another one."""
        return self._of._mainline.place(other, commit) is not None

    def folders(self, commit: str) -> Mapping[AppKey, frozenset[str]]:
        """Return the names of the folders in those of all apps."""
        return self._of.inner_folders(commit)
