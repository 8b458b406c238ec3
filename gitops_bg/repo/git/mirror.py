"""The bare partial mirror of the remote: lists refs, fetches, and tells a dead remote from a damaged mirror.

It knows commits, branches and blobs, not apps. Only `fetch` and `fetch_blobs` bring objects in.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from types import TracebackType

from cachetools import LRUCache

from gitops_bg.core.groups.branches import APPROVALS_PREFIXES, PROMOTION_PREFIXES
from gitops_bg.repo.git.commit_objects import CommitObjects
from gitops_bg.repo.git.directory import MirrorDirectory
from gitops_bg.repo.git.errors import (
    AuthenticationFailed,
    BranchMissing,
    MirrorBroken,
    RemoteTimedOut,
    RemoteUnreachable,
    TooLarge,
)
from gitops_bg.repo.git.git_config import PARTIAL, configuration
from gitops_bg.repo.git.limits import Limits, memory_for_git
from gitops_bg.repo.git.objects import Header, Objects
from gitops_bg.repo.git.output import Commit, lines, text
from gitops_bg.repo.git.runner import LONGEST_PART, Finished, Git, GitFailed
from gitops_bg.repo.git.transport import transport_for
from gitops_bg.repo.layout import (
    SEEN_REF,
    STATE_PREFIX,
    TRACKING_PREFIX,
    app_of_branch,
    approved_on,
    group_of_branch,
    is_commit_id,
)
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.repo.write.messages import one_line

_HEADS = "refs/heads/"
_REMEMBERED = 10_000
"""How many answers of git are cached: which commit contains which other, and which commits exist."""
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--filter=blob:none")
# git has one exit status for all of these; the words only choose which of two errors of a *read* is shown.
_DENIED = re.compile(
    r"Authentication failed|could not read (Username|Password)|Permission denied|Host key verification failed"
    r"|The requested URL returned error: 40[13]"
)


class Mirror:
    """The local mirror of one remote's branches. A context manager; not thread-safe."""

    def __init__(self, settings: RepositorySettings) -> None:
        self.settings = settings
        self._directory = MirrorDirectory(settings.directory)
        self._transport = transport_for(settings, self._directory.askpass)
        self._seen: str | None = None
        self._with_approvals = False
        self._tracked: dict[str, str] | None = None
        self._ancestry: LRUCache[tuple[str, str], bool] = LRUCache(_REMEMBERED)
        self._here: LRUCache[str, bool] = LRUCache(_REMEMBERED)
        self._directory.claim()
        try:
            self.git = self._opened()
        except BaseException:
            self._directory.release()
            raise
        self._read_objects()

    def __enter__(self) -> "Mirror":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the directory."""
        self._objects.close()
        self._directory.release()

    def rebuild(self) -> None:
        """Delete the mirror and begin an empty one; the next fetch fills it."""
        self._tracked = None
        self._ancestry.clear()
        self._here.clear()
        self._objects.close()
        self._directory.wipe()
        self.git = self._opened()
        self._read_objects()

    def _read_objects(self) -> None:
        self._objects = Objects(self.git)
        self._commits = CommitObjects(self._objects)

    def _opened(self) -> Git:
        limits = Limits(self.settings.git_memory or memory_for_git())
        self._directory.prepare(configuration(self.settings, self._transport.url), limits)
        return Git(self._directory.mirror, self._transport, self.settings.timeout_seconds, limits)

    # What the remote says.

    def follow_approvals(self, wanted: bool) -> bool:
        """Whether the branches of signed approvals are asked for, too; returns whether that is another answer now."""
        before, self._with_approvals = self._with_approvals, wanted
        return before is not wanted

    def advertised(self) -> bytes:
        """The remote's answer about our branches, unparsed: equal bytes mean that nothing moved."""
        approvals = tuple(f"{each}*" for each in APPROVALS_PREFIXES) if self._with_approvals else ()
        wanted = (
            self.settings.branch,
            self.settings.state_branch,
            *(f"{each}*" for each in PROMOTION_PREFIXES),
            *approvals,
        )
        return self._asked("ls-remote", "--heads", "origin", *(_HEADS + name for name in wanted))

    def remote_branches(self) -> dict[str, str]:
        """Our branches on the remote with their commits, asked now."""
        return self.ours(self.advertised())

    def ours(self, advertised: bytes) -> dict[str, str]:
        """The branches of ours in an answer: the patterns of ls-remote match further branches."""
        named = (self.settings.branch, self.settings.state_branch)
        branches = branches_in(advertised).items()
        return {name: commit for name, commit in branches if name in named or self._is_ours(name)}

    def _is_ours(self, branch: str) -> bool:
        if app_of_branch(branch) is not None or group_of_branch(branch) is not None:
            return True
        return self._with_approvals and approved_on(branch) is not None

    def clusters(self) -> list[str]:
        """The clusters that have a ledger on the remote, asked now."""
        ledgers = branches_in(self._asked("ls-remote", "--heads", "origin", f"{_HEADS}{STATE_PREFIX}*"))
        return sorted(name.removeprefix(STATE_PREFIX) for name in ledgers if name.startswith(STATE_PREFIX))

    def explain_missing(self) -> BranchMissing:
        """Why the tracked branch is missing: the remote is empty, or has other branches."""
        there = sorted(branches_in(self._asked("ls-remote", "--heads", "origin")))
        branch = self.settings.branch
        if not there:
            return BranchMissing(f"the remote is empty; push a first commit to its branch {branch}")
        shown = ", ".join(map(one_line, there[:5])) + (" …" if len(there) > 5 else "")
        return BranchMissing(f"the remote has no branch {branch}; it has {shown}")

    def _asked(self, *arguments: str) -> bytes:
        finished = self.git.ask(*arguments)
        if finished.status != 0:
            raise self.remote_error(arguments[0], finished)
        return finished.output

    # What is fetched.

    def tracked(self) -> dict[str, str]:
        """The branches as last fetched (or pushed by the agent); read anew only after either."""
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

        Git fetches nothing where one of the branches it is asked for is gone. So the rest is asked for again, and
        no branch that is newer than ``remote``: each attempt asks for fewer.
        """
        while True:
            before = self.tracked()
            self.forget([name for name in before if name not in remote])
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

    def fetch(self, branches: Iterable[str]) -> None:
        """Fetch these branches, all history, no blobs."""
        wanted, before, self._tracked = list(branches), self._tracked, None
        self._fetched("".join(f"+{_HEADS}{name}:{TRACKING_PREFIX}{name}\n" for name in wanted))
        self._tracked = before
        self._track(wanted)

    def fetch_blobs(self, blobs: Iterable[str]) -> None:
        """Fetch these objects in one exchange."""
        self._fetched("".join(f"{blob}\n" for blob in blobs), "-c", "fetch.negotiationAlgorithm=noop")

    def fetch_commit(self, commit: str) -> bool:
        """Fetch a commit of no branch of ours, with its history; return whether the mirror has it now.

        A forge has the heads of pull requests long after their branches are gone; a remote may refuse all the same.
        """
        if not self.has(commit) and is_commit_id(commit):
            self.git.attempt(*PARTIAL, *_FETCH, "origin", "--stdin", stdin=f"{commit}\n".encode())
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

    def _fetched(self, wanted: str, *options: str) -> None:
        finished = self.git.attempt(*PARTIAL, *options, *_FETCH, "origin", "--stdin", stdin=wanted.encode())
        if finished.status == 0:
            return
        self._directory.drop_partial_packs()
        if not (finished.timed_out or finished.exceeded) and not self._sound():
            raise self._directory.trouble() or MirrorBroken(f"the mirror is damaged: {finished.summary}")
        raise self.remote_error("fetch", finished)

    def _sound(self) -> bool:
        """Whether git finds nothing wrong with the mirror; one too large to be looked at is not known to be wrong."""
        finished = self.git.attempt(*PARTIAL, "fsck", "--connectivity-only", "--no-dangling")
        return finished.status == 0 or bool(finished.exceeded)

    # What is pushed.

    def push(self, leases: Iterable[str], refspecs: Iterable[str], branches: Iterable[str]) -> Finished:
        """Push to the remote; accepted ``branches`` are tracked as if they had been fetched."""
        before, self._tracked = self._tracked, None
        finished = self.git.attempt("push", "--porcelain", "--no-verify", *leases, "origin", *refspecs)
        if finished.status == 0:
            self._tracked = before
            self._track(branches)
        return finished

    # What is here.

    def local(self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> bytes:
        """Run a command that needs no remote. Raises ``MirrorBroken`` or ``DiskProblem``, the only causes left."""
        try:
            return self.git.run(*arguments, stdin=stdin, environment=environment)
        except GitFailed as error:
            raise self.broken(error) from error

    def stream(self, *arguments: str, longest: int = LONGEST_PART, stdin: bytes = b"") -> Iterator[bytes]:
        """As `local`, for ``-z`` output, part by part, each cut after ``longest`` bytes."""
        try:
            with self.git.parts(*arguments, stdin=stdin, longest=longest) as parts:
                yield from parts
        except GitFailed as error:
            raise self.broken(error) from error

    def headers(self, names: Iterable[str]) -> list[Header | None]:
        """Id, kind and size of each object in the mirror, in order. Raises as `local`."""
        try:
            return self._objects.headers(names)
        except GitFailed as error:
            raise self.broken(error) from error

    def contents(self, names: Iterable[str]) -> Iterator[tuple[Header | None, bytes]]:
        """Header and content of each object, whatever its size. Raises as `local`."""
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
        """The line of first parents from ``head`` down to one that is ``known``; None where that is far."""
        try:
            return self._commits.first_parents(head, known)
        except GitFailed as error:
            raise self.broken(error) from error

    def between(self, before: str, head: str) -> Mapping[str, tuple[str, ...]]:
        """The commits that ``head`` contains and ``before`` does not, with their parents. Raises as `local`."""
        near = self.near(before, head)
        if near is not None:
            return near
        printed = lines(self.local("rev-list", "--parents", f"^{before}", head, "--"))
        return {commit: tuple(parents) for commit, *parents in (text(line).split(" ") for line in printed)}

    def near(self, before: str, head: str) -> Mapping[str, tuple[str, ...]] | None:
        """As `between`, without a process; None where they are not near. Raises as `local`."""
        try:
            return self._commits.between(before, head)
        except GitFailed as error:
            raise self.broken(error) from error

    def broken(self, error: GitFailed) -> Exception:
        """The error for a failed local command."""
        if error.finished.exceeded:
            return TooLarge(f"{error.command} needs {error.finished.exceeded}")
        return self._directory.trouble() or MirrorBroken(str(error))

    def has(self, commit: str) -> bool:
        """Whether the mirror has this commit, without reading it. False for anything but a full commit id."""
        if not is_commit_id(commit):
            return False
        if commit not in self._here:
            (header,) = self.headers([commit])
            if header is None or header.kind != "commit":
                return False
            self._here[commit] = True
        return True

    def commit(self, name: str) -> str:
        """The full id of a commit in the mirror, from the id or a unique abbreviation; empty without one."""
        finished = self.git.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return text(finished.output.strip()) if finished.status == 0 else ""

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Whether ``descendant`` contains ``ancestor``; an unknown commit is contained in none."""
        if ancestor == descendant:
            return True
        if not is_commit_id(ancestor) or not is_commit_id(descendant):
            return False
        known = self._ancestry.get((ancestor, descendant))
        if known is None and self._is_near(ancestor, descendant):
            known = self._ancestry[ancestor, descendant] = True
        return self._asked_ancestry(ancestor, descendant) if known is None else known

    def _is_near(self, ancestor: str, descendant: str) -> bool:
        """Whether a few steps lead from one to the other, so that git need not be asked."""
        try:
            return self._commits.between(ancestor, descendant) is not None
        except GitFailed:
            return False

    def _asked_ancestry(self, ancestor: str, descendant: str) -> bool:
        """Ask git, whose answer never changes: it reads both commits for it, with their whole messages."""
        finished = self.git.attempt("merge-base", "--is-ancestor", ancestor, descendant)
        if finished.status > 1 and self.has(ancestor) and self.has(descendant):
            raise self.broken(GitFailed("merge-base", finished))
        if finished.status in (0, 1):
            self._ancestry[ancestor, descendant] = finished.status == 0
        return finished.status == 0

    def seen(self) -> str:
        """The head of main that was last seen and not rewritten since; empty at first. Outlives ``rebuild``."""
        if self._seen is None:
            finished = self.git.attempt("rev-parse", "--verify", "--quiet", SEEN_REF)
            self._seen = text(finished.output.strip()) if finished.status == 0 else ""
        return self._seen

    def remember_seen(self, commit: str) -> None:
        """Keep ``commit`` as seen, and safe from gc."""
        self._directory.set_ref(SEEN_REF, commit)
        self._seen = commit

    def forget_seen(self) -> None:
        """Forget what was seen of main."""
        self.local("update-ref", "-d", SEEN_REF)
        self._seen = ""

    def tidy(self) -> None:
        """Pack the results of many small fetches; for once a week."""
        self._here.clear()
        self._objects.close()
        self.local(*PARTIAL, "gc", "--quiet")

    def remote_error(self, command: str, finished: Finished) -> Exception:
        """The error for a failed exchange with the remote, with the command or the option that mends it."""
        said, look = finished.summary, f"is it there? git ls-remote {self._transport.url}"
        if finished.timed_out:
            return RemoteTimedOut(f"git {command}: no answer within {finished.deadline_seconds:g} s ({look})")
        if finished.exceeded:
            remedy = "take what is so large out of it, or give the agent more memory"
            return TooLarge(f"git {command}: the repository needs {finished.exceeded} ({remedy})")
        if _DENIED.search(finished.complaint):
            return AuthenticationFailed(f"git {command}: {said} ({self._transport.credentials})")
        if self.git.attempt("for-each-ref", "--count=1").status != 0:
            return self._directory.trouble() or MirrorBroken(f"the mirror is damaged: {said}")
        return self._directory.trouble() or RemoteUnreachable(f"git {command}: {said} ({look})")


def branches_in(advertised: bytes) -> dict[str, str]:
    """Branch names and commits in the output of ls-remote."""
    refs = (line.partition(b"\t") for line in lines(advertised))
    named = ((text(name), text(commit)) for commit, _, name in refs)
    return {name.removeprefix(_HEADS): commit for name, commit in named if name.startswith(_HEADS)}
