"""How files came to be as they are, by main's history: the commit that last changed them, and what it reverts.

Commits and messages only; no blob is read here. The caller must find out which version a commit brought.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gitops_bg.core.text.lines import lines_of
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import text
from gitops_bg.repo.read.mainline import Mainline
from gitops_bg.repo.read.markers import Markers, markers_in, requests_of
from gitops_bg.repo.read.near_changes import NearChanges

_FORMAT = "--format=%H%x00%P%x00%B%x00"
_LONGEST = 64 * 1024
"""Bytes of a message that are read."""
_FAR = 1000
"""How many changes of the files are searched for what a message names."""
_MOST = 100
"""How many commits of a merge are listed."""


@dataclass(frozen=True, slots=True)
class Change:
    """A commit that changed files, and the state before: its first parent, empty for the very first commit."""

    commit: str
    before: str
    message: str = ""
    merged: tuple[str, ...] = ()
    """Its other parents."""


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What a commit says it reverts: the names, those of them that main did not contain, and the commits meant."""

    named: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


class Reverts:
    """Reads messages of main's history."""

    def __init__(self, mirror: Mirror, near: NearChanges, mainline: Mainline) -> None:
        self._mirror = mirror
        self._near = near
        self._mainline = mainline

    def last_change(self, paths: Sequence[str], start: str) -> Change | None:
        """The commit that made these files what they are at ``start``; a merge only where it changed them itself."""
        near = self._near.last(paths, start)
        if near is None:
            return next(self._log("-1", start, "--", *paths), None)
        commit, read = near
        return _change(commit, read.parents, read.message)

    def taken_back(self, change: Change, paths: Sequence[str], head: str) -> TakenBack:
        """What the commit says it reverts, or else the merge that brought it into main."""
        markers = markers_in(change.message) or self._markers_of_landing(change.commit, head)
        if not markers:
            return TakenBack()
        found = {name: self._commits(name, change.commit) for name in markers.commits}
        found |= self._search(markers.requests, change.commit, paths)
        if not any(found.values()):
            found |= self._search(markers.titles, change.commit, paths)
        named = tuple(f"commit {name[:10]}" if name in markers.commits else name for name in found)
        missing = tuple(shown for shown, commits in zip(named, found.values(), strict=True) if not commits)
        commits = dict.fromkeys(commit for each in found.values() for commit in each)
        return TakenBack(named, missing, tuple(self._brought_by(commits, paths, head)))

    def _markers_of_landing(self, commit: str, head: str) -> Markers:
        landing = self._mainline.landing(commit, head)
        if landing in ("", commit):
            return Markers()
        return markers_in(next(self._log("--no-walk", landing)).message)

    def _commits(self, name: str, before: str) -> list[str]:
        """The commit of an id, whole or abbreviated, if ``before`` contains it."""
        full = self._mirror.commit(name)
        return [full] if full not in ("", before) and self._mirror.is_ancestor(full, before) else []

    def _search(self, names: Sequence[str], before: str, paths: Sequence[str]) -> dict[str, list[str]]:
        """The newest commits with these requests or subjects among those that changed the files."""
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

    def _brought_by(self, commits: Iterable[str], paths: Sequence[str], head: str) -> Iterator[Change]:
        """The commits, and for a merge also those that it brought: beyond its first parent, and beyond what main was,
        for a revert may be against either.
        """
        wanted = list(commits)
        for change, parents in self._with_parents(wanted):
            yield change
            if len(parents) < 2:
                continue
            main = self._mainline.before(change.commit, head) or parents[0]
            for before in dict.fromkeys((parents[0], main)):
                walk = (f"-{_MOST}", "--full-history", change.commit, f"^{before}", "--", *paths)
                yield from (each for each in self._log(*walk) if each.commit != change.commit)

    def _with_parents(self, commits: list[str]) -> Iterator[tuple[Change, list[str]]]:
        if commits:
            yield from self._logged("--no-walk=unsorted", *commits)

    def _log(self, *arguments: str) -> Iterator[Change]:
        return (change for change, _ in self._logged(*arguments))

    def _logged(self, *arguments: str) -> Iterator[tuple[Change, list[str]]]:
        walk = ("log", "-z", "--encoding=UTF-8", _FORMAT, *arguments)
        told = map(text, self._mirror.stream(*walk, longest=_LONGEST))
        for commit, names, message, _ in zip(told, told, told, told, strict=True):
            parents = names.split()
            yield _change(commit, parents, message), parents


def _change(commit: str, parents: Sequence[str], message: str) -> Change:
    before, *merged = parents or ("",)
    return Change(commit, before, message, tuple(merged))
