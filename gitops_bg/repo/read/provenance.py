"""The commit that brought the present content of a file: author, date, subject.

One walk over the history answers for thousands of files, and each of two questions has its own walk. Who *made* the
content: a merge is named only where it changed the file itself (an "evil" merge), otherwise the merged commit is. Who
brought it into the branch: the merge is named, because its author approved the promotion.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime

from cachetools import LRUCache

from gitops_bg.core.foreign_text import is_in_range, one_line
from gitops_bg.core.model.version import Source
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import parts, subject_of, text
from gitops_bg.repo.git.runner import GitFailed
from gitops_bg.repo.read.near_changes import NearChanges

_FEW = 100
_STEPS, _LEAST, _MOST = 400, 4, 24
"""How many commits are compared for all files, or folders, together before git is asked; for each, at least and at
most. The agent pushes a commit for each promotion.
"""
_REMEMBERED = 1000
"""How many commits are cached."""
_SUBMODULE = b"160000"
WALK = ("log", "-z", "--raw", "-c", "--root", "--no-renames", "--no-abbrev", "--topo-order", "--format=%H")
_LANDINGS = ("log", "-z", "--raw", "--first-parent", "-m", "--root", "--no-renames", "--no-abbrev", "--format=%H")
_DETAILS = "--format=%H%x00%an%x00%ae%x00%at%x00%s%x00"
_LONGEST = 4096
"""Bytes of a name or a subject; far fewer are shown."""
_PARTS = 6  # of one commit in the output of _DETAILS: its fields, and an empty one, because -z ends a commit as well

Wanted = Mapping[str, str]
"""Paths with their present blob ids."""


class Details:
    """Who made commits, and when. Git reads a commit once for that: its content never changes."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._known: LRUCache[str, Source] = LRUCache(_REMEMBERED)

    def of(self, commits: Iterable[str]) -> dict[str, Source]:
        """The sources of these commits, by id."""
        wanted = set(commits)
        found = {commit: self._known[commit] for commit in wanted & self._known.keys()}
        found |= self._read(wanted - found.keys())
        self._known.update(found)
        return found

    def _read(self, commits: Collection[str]) -> dict[str, Source]:
        small = self._mirror.commits(commits)
        found = {
            id_: _source(id_, one.author, one.mail, one.seconds, subject_of(one.message)) for id_, one in small.items()
        }
        rest = [commit for commit in commits if commit not in found]
        return (found | self._asked(rest)) if rest else found

    def _asked(self, commits: Collection[str]) -> dict[str, Source]:
        """Read long or unusual commits by a separate git."""
        walked = self._mirror.stream(
            "log",
            "-z",
            "--encoding=UTF-8",
            "--no-walk=unsorted",
            _DETAILS,
            "--stdin",
            stdin="".join(f"{commit}\n" for commit in commits).encode(),
            longest=_LONGEST,
        )
        told = list(map(text, walked))
        sources = (_source(*told[at : at + 5]) for at in range(0, len(told), _PARTS))
        return {source.commit: source for source in sources}


class CachedProvenance:
    """Answers from a cache for a path whose content has not changed since it was asked for."""

    def __init__(self, mirror: Mirror, near: NearChanges, details: Details, *, landings: bool = False) -> None:
        self._mirror = mirror
        self._near = near
        self._details = details
        self._landings = landings
        self._known: defaultdict[str, dict[str, tuple[str, Source]]] = defaultdict(dict)  # by folder, by path

    def of(self, wanted: Wanted, commit: str) -> dict[str, Source]:
        """The source of every path, as of ``commit``."""
        unknown = {path: blob for path, blob in wanted.items() if self._in_folder(path).get(path, ("",))[0] != blob}
        if unknown:
            self._learn(unknown, commit)
        return {path: self._in_folder(path)[path][1] for path in wanted}

    def forget(self, folders: Collection[str], before: str, head: str) -> None:
        """Forget these folders, which differ between two heads, but for files that certainly stayed as they were."""
        for folder in folders:
            known = self._known.pop(folder, {})
            few = known and len(folders) <= _FEW
            alone = self._near.left_alone(known, before, head, _steps_each(len(folders))) if few else {}
            kept = {path: known[path] for path, node in alone.items() if known[path][0] == node.id}
            if kept:
                self._known[folder] = kept

    def folders_from(self, commits: Collection[str]) -> set[str]:
        """The folders with a file whose source is one of these commits."""
        found = ((folder, source) for folder, known in self._known.items() for _, source in known.values())
        return {folder for folder, source in found if source.commit in commits}

    def forget_all(self) -> None:
        """Forget everything: main has another history."""
        self._known.clear()

    def _in_folder(self, path: str) -> dict[str, tuple[str, Source]]:
        return self._known[path.rpartition("/")[0]]

    def _learn(self, unknown: Wanted, commit: str) -> None:
        origins = self._origins(unknown, commit)
        details = self._details.of(set(origins.values()) | {commit})
        for path, blob in unknown.items():
            # A file without an origin means an unreadable history; its head is the best true answer.
            self._in_folder(path)[path] = (blob, details[origins.get(path, commit)])

    def _origins(self, wanted: Wanted, commit: str) -> dict[str, str]:
        found = self._near_origins(wanted, commit) if len(wanted) <= _FEW else {}
        unknown = {path: blob for path, blob in wanted.items() if path not in found}
        return found | (self._walked(unknown, commit) if unknown else {})

    def _near_origins(self, wanted: Wanted, commit: str) -> dict[str, str]:
        steps = _steps_each(len(wanted))
        near = {path: self._near.last([path], commit, first_parents=self._landings, steps=steps) for path in wanted}
        return {path: found[0] for path, found in near.items() if found is not None}

    def _walked(self, unknown: Wanted, commit: str) -> dict[str, str]:
        few = list(unknown) if len(unknown) <= _FEW else []
        found: dict[str, str] = {}
        walk = _LANDINGS if self._landings else WALK
        try:
            with self._mirror.git.parts(*walk, commit, "--", *few) as walked:
                for origin, path, blob in changes(walked):
                    if unknown.get(path) == blob:
                        found.setdefault(path, origin)
                        if len(found) == len(unknown):
                            break
        except GitFailed as error:
            raise self._mirror.broken(error) from error
        return found


def _steps_each(many: int) -> int:
    """How many commits are compared for each of so many."""
    return min(max(_STEPS // many, _LEAST), _MOST)


def revisions_of(mirror: Mirror, path: str, *range_: str) -> list[tuple[str, str]]:
    """Commit and blob of every change of a file, newest first; without deletions."""
    walked = parts(mirror.local(*WALK, *range_, "--", path))
    found = ((commit, blob) for commit, name, blob in changes(walked) if name == path)
    return [(commit, blob) for commit, blob in found if blob.strip("0")]


def changes(walked: Iterable[bytes]) -> Iterator[tuple[str, str, str]]:
    """Commit, path and resulting blob of every change in the output of the walk.

    A path that no longer is a readable file, removed or now a submodule, has a blob of zeros.
    """
    commit, following = "", iter(walked)
    for part in following:
        told = part.lstrip(b"\n")
        if told.startswith(b":"):
            yield commit, text(next(following, b"")), _resulting_blob(told)
        elif told:
            commit = text(told)


def _resulting_blob(facts: bytes) -> str:
    """The last of the ids: a merge has one mode and id for each parent, and as many leading colons."""
    parents = len(facts) - len(facts.lstrip(b":"))
    told = facts.lstrip(b":").split(b" ")
    mode, blob = told[parents], text(told[2 * parents + 1])
    return "0" * len(blob) if mode == _SUBMODULE else blob


def _source(commit: str, name: str, mail: str, seconds: str, subject: str) -> Source:
    """The source that a commit states, each text on one printable line: it appears in conditions, commits and logs."""
    author = one_line(f"{name} <{mail}>" if mail else name)
    return Source(commit, author, _date(seconds), one_line(subject))


def _date(seconds: str) -> datetime | None:
    try:
        moment = datetime.fromtimestamp(int(seconds), UTC)
        return moment if is_in_range(moment) else None
    except (ValueError, OverflowError, OSError):
        return None
