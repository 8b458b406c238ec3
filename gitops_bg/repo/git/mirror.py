"""The bare partial mirror of the remote: lists refs, fetches, and tells a dead remote from a damaged mirror.

It knows commits, branches and blobs, not apps. Only `fetch` and `fetch_blobs` bring objects in.
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from time import monotonic
from types import TracebackType

from cachetools import LRUCache

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.main import VerificationFailure
from gitops_bg.core.names import ENTRY_PREFIX, PROMOTION_PREFIXES
from gitops_bg.repo.git.directory import Lock, MirrorDirectory, Tidying, locked
from gitops_bg.repo.git.errors import BranchMissing, MirrorBroken, RemoteMoved, RemoteUnreachable, TooLarge
from gitops_bg.repo.git.objects import CommitObjects, ObjectHeader, Objects
from gitops_bg.repo.git.output import Commit, lines, text
from gitops_bg.repo.git.remote import Apart, Remote
from gitops_bg.repo.git.runner import LONGEST_PART, MEBIBYTE, CommandLimits, Finished, Git, GitFailed, memory_for_git
from gitops_bg.repo.git.transport import configuration, transport_for
from gitops_bg.repo.settings import (
    SEEN_REF,
    STATE_PREFIX,
    TRACKING_PREFIX,
    RepositorySettings,
    app_of_branch,
    app_of_environment_branch,
    entry_of_branch,
    group_of_branch,
    is_commit_id,
)

_HEADS = "refs/heads/"
_REMEMBERED = 10_000
"""How many answers of git are cached: which commit contains which other, and which commits exist."""
_ASK_AGAIN = 30.0
"""Seconds until a branch of anybody's is asked for again, whose objects the remote did not hand out."""
_LEDGERS = 30, 512 * MEBIBYTE
"""Seconds of CPU time and bytes of a pack for ledgers: years of a busy cluster, when they are read first."""
_LARGEST_ADVERTISED = 16 * MEBIBYTE
"""Bytes of an answer about branches: more than a hundred thousand of them."""


@dataclass(frozen=True, slots=True)
class _Unread:
    """A branch that could not be fetched at a commit."""

    commit: str
    why: str
    asked_at: float
    lasts: bool
    """It is too large: that does not pass, as what looks like a broken object may."""


_OF_BRANCHES = (app_of_branch, group_of_branch, app_of_environment_branch)
"""Whose promotion branch one is, by its name."""
_OF_ALL = (STATE_PREFIX, ENTRY_PREFIX)


class Mirror:
    """The local mirror of one remote's branches. A context manager; not thread-safe."""

    def __init__(self, settings: RepositorySettings) -> None:
        self.settings = settings
        self.lock = Lock()
        self._directory = MirrorDirectory(settings.directory)
        self._transport = transport_for(settings, self._directory.askpass)
        self._seen: str | None = None
        self._tracked: dict[str, str] | None = None
        self._unread: dict[str, _Unread] = {}
        """The branches that cannot be fetched."""
        self.crowded = False
        """Whether the remote has more branches like ours than are read; then only main and the ledger are followed."""
        self.settled = True
        """Whether everything of the remote's last answer was followed that can be."""
        self.former = frozenset[str]()
        """The branches of the ledgers of clusters before this one, which are followed as well."""
        self.environment = ""
        """The environment of this cluster, whose branches that ask for a release are followed; empty: it has none."""
        self.admits: Callable[[Collection[str], str], Collection[str]] = lambda names, _: names
        """Which of these branches concern anything that main has at a commit; anybody can make others."""
        self.doubt_of: Callable[[str], VerificationFailure | None] = lambda _: None
        """Why a head of main may not be built on: what is new in it is not signed by a listed key. None: it may."""
        self._ancestry: LRUCache[tuple[str, str], bool] = LRUCache(_REMEMBERED)
        self._here: LRUCache[str, bool] = LRUCache(_REMEMBERED)
        self._far: tuple[str, str, Mapping[str, tuple[str, ...]]] = ("", "", {})
        """The last way that git was asked for."""
        self._heads: dict[str, int] = {}
        """Heads of main by their order: each contains those before it."""
        self._line: dict[str, int] = {}
        """All that came into main since the first of these heads, by the place of the head that brought it."""
        self._directory.claim()
        try:
            self.git = self._opened()
        except BaseException:
            self._directory.release()
            raise
        self._begin()

    def __enter__(self) -> "Mirror":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the directory; what is asked afterwards raises `MirrorClosed`."""
        self.git.close()
        self._objects.close()
        self._directory.release()

    def rebuild(self) -> None:
        """Delete the mirror and begin an empty one; the next fetch fills it."""
        self._tracked = None
        self._unread.clear()
        self._ancestry.clear()
        self._heads.clear()
        self._line.clear()
        self._here.clear()
        self._objects.close()
        self._directory.wipe()
        self.git = self._opened()
        self._begin()

    def _begin(self) -> None:
        self._remote = Remote(self.git, self._directory, self._transport)
        self._tidying = Tidying(self._directory.mirror, self.git)
        self._objects = Objects(self.git)
        self._commits = CommitObjects(self._objects)

    def _opened(self) -> Git:
        limits = CommandLimits(self.settings.git_memory or memory_for_git())
        self._directory.prepare(configuration(self.settings, self._transport.url), limits)
        return Git(self._directory.mirror, self._transport, self.settings.timeout_seconds, limits)

    # What the remote says.

    def advertised(self) -> bytes:
        """Return the remote's answer about our branches, unparsed: equal bytes mean that nothing moved."""
        prefixes = (*PROMOTION_PREFIXES, *([f"{ENTRY_PREFIX}{self.environment}/"] if self.environment else []))
        answer = self._advertised(*self._ledgers_before, *(f"{each}*" for each in prefixes))
        self.crowded = answer.status != 0
        return self._advertised(*self._ledgers_before).output if self.crowded else answer.output

    def _advertised(self, *more: str) -> Finished:
        wanted = (*self._own, *more)
        return self._remote.ask(
            "ls-remote", "--heads", "origin", *(_HEADS + name for name in wanted), largest=_LARGEST_ADVERTISED
        )

    def remote_branches(self) -> dict[str, str]:
        """Return our branches on the remote with their commits, asked now."""
        return self.ours(self.advertised())

    def asked_head(self, branch: str) -> str | None:
        """Return the commit that any branch has on the remote, asked now; None where there is no such branch."""
        return branches_in(self._asked("ls-remote", "--heads", "origin", f"{_HEADS}{branch}")).get(branch)

    def ours(self, advertised: bytes) -> dict[str, str]:
        """Return the branches of ours in an answer: the patterns of ls-remote match further branches."""
        branches = branches_in(advertised).items()
        return {name: commit for name, commit in branches if name in self._own or self._is_ours(name)}

    def _is_ours(self, branch: str) -> bool:
        if branch in self.former or any(of(branch) is not None for of in _OF_BRANCHES):
            return True
        entry = entry_of_branch(branch)
        return entry is not None and entry[0] == self.environment

    @property
    def _ledgers_before(self) -> list[str]:
        return sorted(self.former - {self.settings.state_branch})

    def clusters(self) -> list[str]:
        """Return the clusters that have a ledger on the remote, asked now."""
        return sorted(name.removeprefix(STATE_PREFIX) for name in self.of_all() if name.startswith(STATE_PREFIX))

    def of_all(self) -> dict[str, str]:
        """Return the branches by which clusters and environments know of one another, with their commits: all ledgers,
        and what asks for releases. Asked now; any thread may, without the lock, for it changes nothing here.
        """
        patterns = (f"{_HEADS}{each}*" for each in _OF_ALL)
        found = branches_in(self._asked("ls-remote", "--heads", "origin", *patterns))
        return {name: commit for name, commit in found.items() if name.startswith(_OF_ALL)}

    def explain_missing(self) -> BranchMissing | RemoteMoved:
        """Return why the tracked branch is missing: the remote is empty, or has other branches, or got it only now."""
        there = sorted(branches_in(self._asked("ls-remote", "--heads", "origin")))
        branch = self.settings.branch
        if not there:
            return BranchMissing(f"the remote is empty; push a first commit to its branch {branch}")
        if branch in there:
            return RemoteMoved(f"the remote got its branch {branch} just now")
        shown = ", ".join(map(one_line, there[:5])) + (" …" if len(there) > 5 else "")
        return BranchMissing(f"the remote has no branch {branch}; it has {shown}")

    def _asked(self, *arguments: str) -> bytes:
        return self._remote.ask(*arguments).output

    # What is fetched.

    def tracked(self) -> dict[str, str]:
        """Return the branches as last fetched (or pushed by the agent); read anew only after either."""
        if self._tracked is None:
            self._tracked = self._read_tracked()
        return dict(self._tracked)

    def _track(self, branches: Iterable[str]) -> None:
        """Read the new positions of these branches; where one is not in a file of its own, read all anew."""
        for name in branches if self._tracked is not None else ():
            commit = self._directory.ref(TRACKING_PREFIX + name)
            if self._tracked is None or not is_commit_id(commit):
                self._tracked = None
                return
            self._tracked[name] = commit

    def _read_tracked(self) -> dict[str, str]:
        output = self.local("for-each-ref", "--format=%(objectname) %(refname)", TRACKING_PREFIX)
        refs = (line.partition(b" ") for line in lines(output))
        return {text(name).removeprefix(TRACKING_PREFIX): text(commit) for commit, _, name in refs}

    def follow(self, remote: Mapping[str, str]) -> dict[str, str]:
        """Fetch up to ``remote`` and return what was really fetched: newer commits, and no branch deleted meanwhile.

        Main and the ledger come first, and by themselves: no other branch can keep them.
        """
        main, ours = self.settings.branch, self._own
        self._unread = {name: found for name, found in self._unread.items() if self._stays(name, found, remote)}
        own = {name: commit for name, commit in remote.items() if name in ours and name not in self._unread}
        head = self._follow_own(own).get(main, "")
        self._follow_ledgers({name: remote[name] for name in self._ledgers_before if name in remote})
        others = {name: commit for name, commit in remote.items() if name not in ours and name not in self.former}
        wanted = self.admits(others, head) if others else ()
        guests = {name: commit for name, commit in others.items() if name in wanted}
        if not self.crowded:
            self._follow_guests(guests)
        now = self.tracked()
        expected = {name: commit for name, commit in (own | guests).items() if name not in self._unread}
        self.settled = all(now.get(name) == commit for name, commit in expected.items())
        self.settled = self.settled and all(found.lasts for found in self._unread.values())
        return now

    def _stays(self, name: str, found: _Unread, remote: Mapping[str, str]) -> bool:
        """Return whether a branch that could not be fetched is not to be asked for again now. The ledger is, at each
        poll.
        """
        if remote.get(name) != found.commit:
            return False
        return found.lasts or (name != self.settings.state_branch and monotonic() - found.asked_at < _ASK_AGAIN)

    @property
    def _own(self) -> tuple[str, str]:
        """Main, and the branch of the ledger."""
        return self.settings.branch, self.settings.state_branch

    def _follow_own(self, remote: Mapping[str, str]) -> dict[str, str]:
        """Follow main and the ledger; where that fails for both together, main first: anybody may push to the other."""
        main, state = self._own
        try:
            return self._followed(remote, (main, state))
        except (RemoteUnreachable, TooLarge):
            if main not in remote or state not in remote:
                raise
        self._followed({main: remote[main]}, (main,))
        try:
            return self._followed({state: remote[state]}, (state,))
        except (RemoteUnreachable, TooLarge) as error:
            self._unread[state] = _Unread(remote[state], str(error), monotonic(), lasts=isinstance(error, TooLarge))
            return self.tracked()

    def _followed(self, remote: Mapping[str, str], names: Container[str]) -> dict[str, str]:
        """Follow these of our own branches. Git fetches nothing where one of the branches it is asked for is gone.

        So the rest is asked for again, and no branch that is newer than ``remote``: each attempt asks for fewer.
        """
        while True:
            before = self.tracked()
            self.forget([name for name in before if name in names and name not in remote])
            moved = [name for name, commit in remote.items() if before.get(name) != commit]
            if not moved:
                return {name: before[name] for name in remote}
            try:
                self.fetch(moved)
            except RemoteUnreachable:
                there = self.remote_branches()
                if there.keys() >= remote.keys():
                    raise
                remote = {name: there[name] for name in remote if name in there}
            else:
                return self.tracked()

    def _follow_ledgers(self, remote: Mapping[str, str]) -> None:
        """Follow the ledgers of clusters before this one, within limits: one that cannot be read keeps nothing else.

        One that is gone is not known: nothing of it counts any more.
        """
        before = self.tracked()
        self.forget([name for name in self._ledgers_before if name in before and name not in remote])
        moved = [name for name, commit in remote.items() if before.get(name) != commit and name not in self._unread]
        if not moved:
            return
        asked = monotonic()
        for name, why in self.fetch_each(moved).items():
            self._unread[name] = _Unread(remote[name], why, asked, lasts=False)

    def _is_of_others(self, branch: str) -> bool:
        """Return whether a branch is followed only where all environments are looked at."""
        entry = entry_of_branch(branch)
        return branch.startswith(STATE_PREFIX) or (entry is not None and entry[0] != self.environment)

    def _follow_guests(self, remote: Mapping[str, str]) -> None:
        """Follow the branches that anybody writes, within narrow limits; note which of them cannot be read."""
        before = self.tracked()
        gone = (name for name in before if name not in self._own and not self._is_of_others(name))
        self.forget([name for name in gone if name not in remote or name in self._unread])
        moved = [name for name, commit in remote.items() if before.get(name) != commit and name not in self._unread]
        if not moved:
            return
        known, self._tracked = self._tracked, None
        apart = self._remote.fetch_apart(moved, _refspec, seconds=2 * self.settings.timeout_seconds)
        self._tracked = known
        self._track(name for name in moved if name not in apart.failed and name not in apart.left)
        now = self.tracked()
        odd = {name: ("it is no commit", True) for name in moved if name in now and not self.has(now[name])}
        odd |= {name: (finished.why, bool(finished.exceeded)) for name, finished in apart.failed.items()}
        asked = monotonic()
        self._unread |= {name: _Unread(remote[name], why, asked, lasts) for name, (why, lasts) in odd.items()}
        self.forget([name for name in odd if name in now])

    def unread(self, branch: str) -> str:
        """Return why a branch of the remote is not read; empty where it is, or is not there."""
        if self.crowded and branch not in self._own:
            return f"the remote has more branches like {branch} than can be read; delete those that belong to nothing"
        found = self._unread.get(branch)
        if found is None:
            return ""
        remedy = "delete it, and it is made again" if found.lasts else "it is tried again; if this lasts, delete it"
        return f"the branch {branch} cannot be read: {found.why}; {remedy}"

    def standing(self) -> dict[str, str]:
        """Do as `tracked`, with the branches that cannot be fetched: what a push must expect."""
        return self.tracked() | {name: found.commit for name, found in self._unread.items()}

    def moved_from(self, seen: Mapping[str, str]) -> set[str]:
        """Return the branches that are not where somebody saw them (empty: nowhere), as last fetched.

        Of one that can never be fetched nobody sees where it is.
        """
        standing = self.standing()
        unseen = {name for name, found in self._unread.items() if found.lasts and not seen.get(name)}
        return {name for name, head in seen.items() if standing.get(name, "") != head} - unseen

    def fetch(self, branches: Iterable[str]) -> None:
        """Fetch these branches, all history, no blobs."""
        wanted, before, self._tracked = list(branches), self._tracked, None
        self._remote.demand(self._remote.fetch("".join(map(_refspec, wanted))))
        self._tracked = before
        self._track(wanted)

    def fetch_each(self, branches: Collection[str]) -> Mapping[str, str]:
        """Fetch the ledgers of other clusters, within limits; why not, by the names of those that could not be. They
        stay, so that the next fetch asks for what is new.
        """
        self._tracked = None
        seconds = 2 * self.settings.timeout_seconds
        apart = self._remote.fetch_apart(branches, _refspec, seconds=seconds, share=_LEDGERS)
        late = "others took too long; it is tried again"
        return {name: finished.why for name, finished in apart.failed.items()} | dict.fromkeys(apart.left, late)

    def fetch_blobs(self, sets: Mapping[str, Iterable[str]]) -> Apart:
        """Fetch sets of blobs in one exchange; what cannot be had, by the names of sets."""
        lines_of = {name: "".join(f"{blob}\n" for blob in blobs) for name, blobs in sets.items()}
        apart = self._remote.fetch_apart(sets, lines_of.__getitem__, "-c", "fetch.negotiationAlgorithm=noop")
        if apart.timed_out is not None:
            raise self._remote.error("fetch", apart.timed_out)
        return apart

    @locked
    def fetch_commit(self, commit: str) -> bool:
        """Fetch a commit of no branch of ours, with its history; return whether the mirror has it now.

        A forge has the heads of pull requests long after their branches are gone; a remote may refuse all the same.
        """
        if not self.has(commit) and is_commit_id(commit):
            self._remote.fetch(f"{commit}\n")
        return self.has(commit)

    def forget(self, branches: Iterable[str]) -> None:
        """Stop tracking branches that the remote has deleted."""
        gone = list(branches)
        if gone:
            before, self._tracked = self._tracked, None
            self.local(
                "update-ref", "--stdin", stdin="".join(f"delete {TRACKING_PREFIX}{name}\n" for name in gone).encode()
            )
            self._tracked = {name: commit for name, commit in before.items() if name not in gone} if before else None

    # What is pushed.

    def push(self, leases: Iterable[str], refspecs: Iterable[str], branches: Iterable[str]) -> Finished:
        """Push to the remote; accepted ``branches`` are tracked as if they had been fetched."""
        before, self._tracked = self._tracked, None
        finished = self.git.attempt("push", "--porcelain", "--no-verify", *leases, "origin", *refspecs)
        if finished.status == 0:
            self._tracked = before
            moved = list(branches)
            self._track(moved)
            for name in moved:
                self._unread.pop(name, None)
        return finished

    # What is here.

    def local(self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> bytes:
        """Run a command that needs no remote. Raises ``MirrorBroken`` or ``DiskProblem``, the only causes left."""
        try:
            return self.git.run(*arguments, stdin=stdin, environment=environment)
        except GitFailed as error:
            raise self.broken(error) from error

    def stream(self, *arguments: str, longest: int = LONGEST_PART, stdin: bytes = b"") -> Iterator[bytes]:
        """Do as `local`, for ``-z`` output, part by part, each cut after ``longest`` bytes."""
        try:
            with self.git.parts(*arguments, stdin=stdin, longest=longest) as parts:
                yield from parts
        except GitFailed as error:
            raise self.broken(error) from error

    def headers(self, names: Iterable[str]) -> list[ObjectHeader | None]:
        """Id, kind and size of each object in the mirror, in order. Raises as `local`."""
        try:
            return self._objects.headers(names)
        except GitFailed as error:
            raise self.broken(error) from error

    def contents(self, names: Iterable[str]) -> Iterator[tuple[ObjectHeader | None, bytes]]:
        """Yield header and content of each object, whatever its size. Raises as `local`."""
        try:
            yield from self._objects.contents(names)
        except GitFailed as error:
            raise self.broken(error) from error

    def commits(self, ids: Iterable[str]) -> dict[str, Commit]:
        """Return the commits of these ids that the mirror has, small and in the usual form; for the others, ask git
        itself.
        """
        try:
            return self._commits.read(ids)
        except GitFailed as error:
            raise self.broken(error) from error

    def first_parents(self, head: str, known: Container[str]) -> list[tuple[str, Commit]] | None:
        """Return the line of first parents from ``head`` down to one that is ``known``; None where that is far."""
        try:
            return self._commits.first_parents(head, known)
        except GitFailed as error:
            raise self.broken(error) from error

    def between(self, before: str, head: str) -> Mapping[str, tuple[str, ...]]:
        """Return the commits that ``head`` contains and ``before`` does not, with their parents. Raises as `local`."""
        near = self.near(before, head)
        if near is not None:
            return near
        if self._far[:2] != (before, head):
            printed = lines(self.local("rev-list", "--parents", f"^{before}", head, "--"))
            told = {commit: tuple(parents) for commit, *parents in (text(line).split(" ") for line in printed)}
            self._far = (before, head, told)
        return self._far[2]

    def main_went(self, before: str, head: str) -> None:
        """Note that main went from one commit to another that contains it: what is known of that is not asked again."""
        if before not in self._heads or len(self._line) > _REMEMBERED:
            self._heads, self._line = {before: 0}, {before: 0}
        last = self._heads[before]
        if last != len(self._heads) - 1:  # it goes on from an earlier head than the last
            self._heads = {commit: place for commit, place in self._heads.items() if place <= last}
            self._line = {commit: place for commit, place in self._line.items() if place <= last}
        family = self.between(before, head)
        self._line |= dict.fromkeys(family, last + 1)
        self._heads[head] = last + 1

    def _on_line(self, ancestor: str, head: str) -> bool:
        """Return whether a head of main is known to contain a commit: one that came into main no later than the
        head.
        """
        place = self._line.get(ancestor)
        return place is not None and place <= self._heads.get(head, -1)

    def near(self, before: str, head: str) -> Mapping[str, tuple[str, ...]] | None:
        """Do as `between`, without a process; None where they are not near. Raises as `local`."""
        try:
            return self._commits.between(before, head, lambda tip: self._on_line(tip, before))
        except GitFailed as error:
            raise self.broken(error) from error

    def broken(self, error: GitFailed) -> Exception:
        """Return the error for a failed local command."""
        if error.finished.exceeded:
            return TooLarge(f"{error.command} needs {error.finished.exceeded}")
        return self._directory.trouble() or MirrorBroken(str(error))

    @locked
    def has(self, commit: str) -> bool:
        """Return whether the mirror has this commit, without reading it. False for anything but a full commit id."""
        if not is_commit_id(commit):
            return False
        if commit not in self._here:
            (header,) = self.headers([commit])
            if header is None or header.kind != "commit":
                return False
            self._here[commit] = True
        return True

    def commit(self, name: str) -> str:
        """Return the full id of a commit in the mirror, from the id or a unique abbreviation; empty without one."""
        finished = self.git.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return text(finished.output.strip()) if finished.status == 0 else ""

    @locked
    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Return whether ``descendant`` contains ``ancestor``; an unknown commit is contained in none."""
        if ancestor == descendant:
            return True
        if not is_commit_id(ancestor) or not is_commit_id(descendant):
            return False
        known = self._ancestry.get((ancestor, descendant))
        if known is None and (self._on_line(ancestor, descendant) or self._is_near(ancestor, descendant)):
            known = self._ancestry[ancestor, descendant] = True
        if known is not None:
            return known
        return self.has(ancestor) and self.has(descendant) and self._asked_ancestry(ancestor, descendant)

    def _is_near(self, ancestor: str, descendant: str) -> bool:
        """Return whether a few steps lead from one to the other, so that git need not be asked."""
        try:
            family = self._commits.between(ancestor, descendant, lambda tip: self._on_line(tip, ancestor))
        except GitFailed:
            return False
        return any(ancestor in parents for parents in (family or {}).values())

    def _asked_ancestry(self, ancestor: str, descendant: str) -> bool:
        """Ask git, whose answer never changes: it reads both commits for it, with their whole messages."""
        finished = self.git.attempt("merge-base", "--is-ancestor", ancestor, descendant)
        if finished.status > 1 and self.has(ancestor) and self.has(descendant):
            raise self.broken(GitFailed("merge-base", finished))
        if finished.status in (0, 1):
            self._ancestry[ancestor, descendant] = finished.status == 0
        return finished.status == 0

    def seen(self) -> str:
        """Return the head of main that was last seen and not rewritten since; empty at first. Outlives ``rebuild``."""
        if self._seen is None:
            finished = self.git.attempt("rev-parse", "--verify", "--quiet", SEEN_REF)
            self._seen = text(finished.output.strip()) if finished.status == 0 else ""
        return self._seen

    def remember_seen(self, commit: str) -> None:
        """Keep ``commit`` as seen, and safe from gc."""
        self._directory.set_ref(SEEN_REF, commit)
        self._seen = commit

    @locked
    def forget_seen(self) -> None:
        """Forget what was seen of main."""
        self.local("update-ref", "-d", SEEN_REF)
        self._seen = ""

    def untidy(self, times: int = 1) -> bool:
        """Return whether there are many small packs or loose objects, or that many times more; asks no git."""
        return self._tidying.due(times)

    def tidy(self) -> None:
        """Join small packs and loose objects. Raises as `local`."""
        self._objects.close()  # or the packs that are removed stay open, and on the disk
        try:
            self._tidying.tidy()
        except GitFailed as error:
            raise self.broken(error) from error
        except ValueError as error:
            raise MirrorBroken(str(error)) from error
        except OSError as error:
            raise self._directory.trouble() or MirrorBroken(f"the packs of the mirror: {error.strerror}") from error


def _refspec(branch: str) -> str:
    return f"+{_HEADS}{branch}:{TRACKING_PREFIX}{branch}\n"


def branches_in(advertised: bytes) -> dict[str, str]:
    """Return branch names and commits in the output of ls-remote."""
    refs = (line.partition(b"\t") for line in lines(advertised))
    named = ((text(name), text(commit)) for commit, _, name in refs)
    return {name.removeprefix(_HEADS): commit for name, commit in named if name.startswith(_HEADS)}
