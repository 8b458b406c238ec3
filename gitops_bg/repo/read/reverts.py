"""How files came to be as they are, by main's history: the commit that last changed them, and what it reverts.

Of the newest few commits it is read from objects, without a process, as ``git log`` would say.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import lines_of
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import Commit, text
from gitops_bg.repo.read.changes import TreeNode, Trees
from gitops_bg.repo.read.mainline import Mainline

_STEPS = 4
"""How many commits are compared before git is asked, which compares thousands faster than this does."""


class NearChanges:
    """Changes of files near a commit."""

    def __init__(self, mirror: Mirror, trees: Trees) -> None:
        self._mirror = mirror
        self._trees = trees

    def last(
        self, paths: Iterable[str], head: str, *, first_parents: bool = False, steps: int = _STEPS
    ) -> tuple[str, Commit] | None:
        """Return the commit that made these files what they are at ``head``.

        A merge only where it changed them itself: git follows the first parent that has the same files ("History
        Simplification" in its manual for ``log``). ``first_parents``: the merge, wherever its own first parent has
        other files.
        """
        wanted, at = tuple(paths), head
        nodes = self._nodes(at, wanted)
        for _ in range(steps):
            commit = self._mirror.commits([at]).get(at)
            if commit is None or nodes is None:
                return None
            equal, known = self._equal(commit.parents[:1] if first_parents else commit.parents, wanted, nodes)
            if not known:
                return None
            if not equal:  # To git, nothing is no change of the very first commit either.
                return (at, commit) if nodes or commit.parents else None
            at = equal
        return None

    def left_alone(self, paths: Iterable[str], before: str, head: str, steps: int) -> Mapping[str, TreeNode]:
        """Return the files that no step of main's line from one commit to another touched; none where it has more
        ``steps``.

        Each step counts: a file may have changed, and changed back.
        """
        line = self._line(before, head, steps)
        left = self._nodes(head, tuple(paths)) if line else None
        for commit in line:
            earlier = self._nodes(commit, tuple(left)) if left else None
            left = {path: node for path, node in (left or {}).items() if (earlier or {}).get(path) == node}
        return left or {}

    def _line(self, before: str, head: str, steps: int) -> list[str]:
        """Return the first parents of a commit up to another one, the last of them; none if more than ``steps``."""
        line, at = list[str](), head
        while at != before:
            commit = self._mirror.commits([at]).get(at) if len(line) < steps else None
            if commit is None or not commit.parents:
                return []
            at = commit.parents[0]
            line.append(at)
        return line

    def _equal(self, parents: Iterable[str], paths: tuple[str, ...], nodes: Mapping[str, TreeNode]) -> tuple[str, bool]:
        """Return the first parent with the same files, empty without one; and whether all that were compared could be
        read.
        """
        for parent in parents:
            theirs = self._nodes(parent, paths)
            if theirs is None:
                return "", False
            if theirs == nodes:
                return parent, True
        return "", True

    def _nodes(self, commit: str, paths: tuple[str, ...]) -> Mapping[str, TreeNode] | None:
        return self._trees.at_hand(commit, paths)


# --- what a message says it reverts, as people, git and the forges write it ---
# Untrusted text, read in one pass. A marker stands at the start of a line, alone or behind a bullet:
#
#     This reverts commit 9be1….                    git, GitHub, GitLab; also an abbreviation, and several in a line
#     This reverts merge request !12                GitLab
#     Reverts org/repo#12                           GitHub's Revert button
#     This reverts pull request #12.                others
#     revert 9be1…                                  Gitea's Revert button
#     Bg-Rollback-To: 9be1…                         a trailer, for who writes messages of their own
#     Revert "web 1.1.0"                            where a squash kept the title only: the subject of what it reverts
#
# It says what is named, never whether there is such a commit: that is `Reverts`.

_BULLETS = "*-+>•· \t\"'"
_AROUND = ".,;:()[]{}`'\""
_FILLERS = frozenset(("commit", "commits", "merge", "pull", "request", "requests", "pr", "mr", "and"))
_SHORTEST, _LONGEST_TEXT = 7, 64
_HEX = frozenset("0123456789abcdef")
_MOST_NAMES = 100
"""How many names of a message are read at most."""
_TITLES = (('revert "', ""), ('reapply "', 'Revert "'), ("revert: ", ""))


@dataclass(frozen=True, slots=True)
class Markers:
    """The names found, each as people read it. ``titles`` count where no other name leads to a commit."""

    commits: tuple[str, ...] = ()
    """Ids, whole or abbreviated, in lower case."""
    requests: tuple[str, ...] = ()
    """``#12`` or ``!12``."""
    titles: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.commits or self.requests or self.titles)


def markers_in(message: str) -> Markers:
    """Return what a message says it reverts.

    >>> markers_in('Revert "web 2 (#12)" (#13)\\n\\nReverts shop/web#12')
    Markers(commits=(), requests=('#12',), titles=('web 2 (#12)',))
    >>> markers_in('Revert "web 2"').titles
    ('web 2',)
    """
    lines = lines_of(message)
    found = list(dict.fromkeys(name for line in lines for name in _names_in(line)))[:_MOST_NAMES]
    commits = tuple(name for name in found if name[0] not in "#!")
    requests = tuple(name for name in found if name[0] in "#!")
    return Markers(commits, requests, tuple(_titles_in(lines[0].strip())))


def _names_in(line: str) -> Iterator[str]:
    words = line.strip(_BULLETS + "\r").split()
    if not words:
        return
    first = words[0].casefold().rstrip(":")
    if first in ("revert", "bg-rollback-to"):
        yield from (name for name in map(_commit, words[1:2]) if len(words) == 2 and len(name) >= 40)
    elif first == "reverts":
        yield from _references(words[1:])
    elif first == "this" and words[1:2] and words[1].casefold() == "reverts":
        yield from _references(words[2:])


def _references(words: list[str]) -> Iterator[str]:
    """Yield the names up to the first word that is neither a name nor a filler between names."""
    for word in words:
        plain = word.strip(_AROUND)
        name = _commit(plain) or _request(plain)
        if name:
            yield name
            if word.startswith("("):
                return
        elif plain and plain.casefold() not in _FILLERS:
            return


def _commit(word: str) -> str:
    """Return a commit id, or empty."""
    name = word.casefold()
    return name if _SHORTEST <= len(name) <= _LONGEST_TEXT and _HEX.issuperset(name) else ""


def _request(word: str) -> str:
    """Return ``org/repo#12`` as ``#12``, ``!12`` unchanged; or empty."""
    for sign in "#!":
        path, found, number = word.rpartition(sign)
        if found and number.isascii() and number.isdigit() and len(number) < 12 and _is_path(path):
            return f"{sign}{int(number)}"
    return ""


def _is_path(text: str) -> bool:
    return all(sign.isalnum() or sign in "-_./" for sign in text)


def _titles_in(subject: str) -> Iterator[str]:
    """Yield the subject that a revert quotes; for `Reapply`, that of the revert."""
    for start, before in _TITLES:
        if subject.casefold().startswith(start):
            quoted = subject[len(start) :]
            if start.endswith('"'):
                quoted = quoted.rpartition('"')[0]
            if quoted:
                yield f'{before}{quoted}"' if before else quoted


def requests_of(message: str) -> frozenset[str]:
    """Return the pull or merge requests that a commit of main says it brought in.

    ``… (#12)`` at the end of the subject, ``Merge pull request #12 from …`` (GitHub), ``Merge pull request 'title'
    (#12) from …`` (Gitea), ``See merge request org/repo!12`` (GitLab).
    """
    lines = lines_of(message)
    subject = lines[0].strip()
    found = {_request(subject.rpartition("(")[2].rstrip(")"))} if subject.endswith(")") else set()
    lowered = subject.casefold()
    if lowered.startswith("merge pull request "):
        rest = subject[len("merge pull request ") :]
        found |= {_request(rest.split(" ")[0])} if rest.startswith(("#", "!")) else _in_brackets(rest)
    for line in lines:
        words = line.strip().casefold().split(" ")
        if words[:3] == ["see", "merge", "request"] and len(words) == 4:
            found.add(_request(words[3].strip(_AROUND)))
    return frozenset(found - {""})


def _in_brackets(text: str) -> set[str]:
    """Return the last ``(#12)`` before ``from``: a title may contain others."""
    before = text.rpartition(" from ")[0].rstrip()
    return {_request(before.rpartition("(")[2].rstrip(")"))} if before.endswith(")") else set()


# --- what history says ---

_FORMAT = "--format=%H%x00%P%x00%B%x00"
_LONGEST = 64 * 1024
"""Bytes of a message that are read."""
_FAR = 1000
"""How many changes of the files are searched for what a message names."""
_MOST_COMMITS = 100
"""How many commits of a merge are listed."""


@dataclass(frozen=True, slots=True)
class RevertCandidate:
    """A commit that changed files, and the state before: its first parent, empty for the very first commit."""

    commit: str
    before: str
    message: str = ""
    merged: tuple[str, ...] = ()
    """Its other parents."""


@dataclass(frozen=True, slots=True)
class RevertedNames:
    """What a commit says it reverts: the names, those of them that main did not contain, and the commits meant."""

    named: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    changes: tuple[RevertCandidate, ...] = ()


class Reverts:
    """Reads messages of main's history."""

    def __init__(self, mirror: Mirror, near: NearChanges, mainline: Mainline) -> None:
        self._mirror = mirror
        self._near = near
        self._mainline = mainline

    def last_change(self, paths: Sequence[str], start: str) -> RevertCandidate | None:
        """Return the commit that made these files what they are at ``start``; a merge only where it changed them
        itself.
        """
        near = self._near.last(paths, start)
        if near is None:
            return next(self._log("-1", start, "--", *paths), None)
        commit, read = near
        return _change(commit, read.parents, read.message)

    def reverted_names(self, change: RevertCandidate, paths: Sequence[str], head: str) -> RevertedNames:
        """Return what the commit says it reverts, or else the merge that brought it into main."""
        markers = markers_in(change.message) or self._markers_of_landing(change.commit, head)
        if not markers:
            return RevertedNames()
        found = {name: self._commits(name, change.commit) for name in markers.commits}
        found |= self._search(markers.requests, change.commit, paths)
        if not any(found.values()):
            found |= self._search(markers.titles, change.commit, paths)
        named = tuple(f"commit {name[:10]}" if name in markers.commits else name for name in found)
        missing = tuple(shown for shown, commits in zip(named, found.values(), strict=True) if not commits)
        commits = dict.fromkeys(commit for each in found.values() for commit in each)
        return RevertedNames(named, missing, tuple(self._brought_by(commits, paths, head)))

    def _markers_of_landing(self, commit: str, head: str) -> Markers:
        landing = self._mainline.landing(commit, head)
        if landing in ("", commit):
            return Markers()
        return markers_in(next(self._log("--no-walk", landing)).message)

    def _commits(self, name: str, before: str) -> list[str]:
        """Return the commit of an id, whole or abbreviated, if ``before`` contains it."""
        full = self._mirror.commit(name)
        return [full] if full not in ("", before) and self._mirror.is_ancestor(full, before) else []

    def _search(self, names: Sequence[str], before: str, paths: Sequence[str]) -> dict[str, list[str]]:
        """Return the newest commits with these requests or subjects among those that changed the files."""
        found: dict[str, list[str]] = {name: [] for name in names}
        if not found:
            return found
        titled = {name: next(iter(requests_of(name)), "") for name in names}
        for past in self._log(f"-{_FAR}", "--full-history", before, "--", *paths):
            if past.commit == before:
                continue
            subject, requests = lines_of(past.message)[0].strip(), requests_of(past.message)
            for name, commits in found.items():
                if not commits and (name in requests or subject == name or titled.get(name) in requests):
                    commits.append(past.commit)
            if all(found.values()):
                break
        return found

    def _brought_by(self, commits: Iterable[str], paths: Sequence[str], head: str) -> Iterator[RevertCandidate]:
        """Yield the commits, and for a merge also those that it brought: beyond its first parent, and beyond what main
        was, for a revert may be against either.
        """
        wanted = list(commits)
        for change, parents in self._with_parents(wanted):
            yield change
            if len(parents) < 2:
                continue
            main = self._mainline.before(change.commit, head) or parents[0]
            for before in dict.fromkeys((parents[0], main)):
                walk = (f"-{_MOST_COMMITS}", "--full-history", change.commit, f"^{before}", "--", *paths)
                yield from (each for each in self._log(*walk) if each.commit != change.commit)

    def _with_parents(self, commits: list[str]) -> Iterator[tuple[RevertCandidate, list[str]]]:
        if commits:
            yield from self._logged("--no-walk=unsorted", *commits)

    def _log(self, *arguments: str) -> Iterator[RevertCandidate]:
        return (change for change, _ in self._logged(*arguments))

    def _logged(self, *arguments: str) -> Iterator[tuple[RevertCandidate, list[str]]]:
        walk = ("log", "-z", "--encoding=UTF-8", _FORMAT, *arguments)
        told = map(text, self._mirror.stream(*walk, longest=_LONGEST))
        for commit, names, message, _ in zip(told, told, told, told, strict=True):
            parents = names.split()
            yield _change(commit, parents, message), parents


def _change(commit: str, parents: Sequence[str], message: str) -> RevertCandidate:
    before, *merged = parents or ("",)
    return RevertCandidate(commit, before, message, tuple(merged))
