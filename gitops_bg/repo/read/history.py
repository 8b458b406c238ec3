"""What main's history says of a file: the commit that brought its present content (author, date, subject), what the
file said and when, which contents it ever had, and which files left a folder. Decides nothing.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from sys import intern

from cachetools import LRUCache

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import is_in_range, one_line
from gitops_bg.core.model.version import AppKey, Source
from gitops_bg.repo.git.directory import locked
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import parts, subject_of, text
from gitops_bg.repo.git.runner import GitFailed
from gitops_bg.repo.read.app_index import AppIndex
from gitops_bg.repo.read.changes import Trees, WalkedMain, is_watched
from gitops_bg.repo.read.files import Blobs, Files
from gitops_bg.repo.read.mainline import Mainline, Step
from gitops_bg.repo.read.reverts import NearChanges
from gitops_bg.spec.app.layout import APPS_FOLDER, GROUPS_FOLDER, PRIMARY_FILE

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
        """Return the sources of these commits, by id."""
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
    """The commit that brought the present content of each file.

    Answers from a cache for a path whose content has not changed since it was asked for.
    """

    def __init__(self, mirror: Mirror, near: NearChanges, details: Details, *, landings: bool = False) -> None:
        self._mirror = mirror
        self._near = near
        self._details = details
        self._landings = landings
        self._known: defaultdict[str, dict[str, tuple[str, Source]]] = defaultdict(dict)  # by folder, by path

    def of(self, wanted: Wanted, commit: str) -> dict[str, Source]:
        """Return the source of every path, as of ``commit``."""
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
        """Return the folders with a file whose source is one of these commits."""
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
    """Return how many commits are compared for each of so many."""
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
    """Return the last of the ids: a merge has one mode and id for each parent, and as many leading colons."""
    parents = len(facts) - len(facts.lstrip(b":"))
    told = facts.lstrip(b":").split(b" ")
    mode, blob = told[parents], text(told[2 * parents + 1])
    return "0" * len(blob) if mode == _SUBMODULE else blob


def _source(commit: str, name: str, mail: str, seconds: str, subject: str) -> Source:
    """Return the source that a commit states, each text on one printable line: it appears in conditions, commits and
    logs.
    """
    author = one_line(f"{name} <{mail}>" if mail else name)
    return Source(commit, author, date_of(seconds), one_line(subject))


def date_of(seconds: str) -> datetime | None:
    """Return the time of a commit; None for one that no calendar has."""
    try:
        moment = datetime.fromtimestamp(int(seconds), UTC)
        return moment if is_in_range(moment) else None
    except (ValueError, OverflowError, OSError):
        return None


_REMOVALS = (*WALK, "--full-history", "--diff-filter=D")


class Removals:
    """Which files ever left the folder of an app: no file of today says so. Keeps the answer for the last head."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._head = ""
        self._names: defaultdict[str, set[str]] = defaultdict(set)

    def of(self, folder: str, head: str) -> frozenset[str]:
        """Return the names of the files that left a folder in the history of ``head``, also of those that are back."""
        if head != self._head:
            self._follow(head)
        return frozenset(self._names.get(folder, ()))

    def _follow(self, head: str) -> None:
        """Read what is new. Another history may lack what the last one had."""
        goes_on = bool(self._head) and self._mirror.is_ancestor(self._head, head)
        known, since = (self._names, (f"^{self._head}",)) if goes_on else (defaultdict[str, set[str]](set), ())
        walked = parts(self._mirror.local(*_REMOVALS, head, *since, "--", APPS_FOLDER, GROUPS_FOLDER))
        for _, path, _ in changes(walked):
            folder, _, name = path.rpartition("/")
            known[intern(folder)].add(intern(name))
        self._head, self._names = head, known


_PAGE_OF_BLOBS = 100
_VERSION = re.compile(rb"^version:[ \t]*(\d+)[ \t]*\r?$", re.MULTILINE)
_DIGEST = re.compile(rb"^digest:[ \t]*[\"']?([\w:]+)", re.MULTILINE)


class Primaries:
    """Every content that ``primary.yaml`` of an app ever had. Reads page by page; who looks at a page does not hold the
    lock.
    """

    def __init__(self, mirror: Mirror, blobs: Blobs, index: AppIndex) -> None:
        self._mirror = mirror
        self.lock = mirror.lock
        self._blobs = blobs
        self._index = index

    def primaries(self, app: AppKey, commit: str) -> Iterator[bytes]:
        """Yield every content that ``primary.yaml`` had up to a commit of main, newest first."""
        revisions = self._revisions(app, commit)
        for start in range(0, len(revisions), _PAGE_OF_BLOBS):
            page = list(dict.fromkeys(blob for _, blob in revisions[start : start + _PAGE_OF_BLOBS]))
            yield from self._contents(page)

    def find_primary(self, app: AppKey, commit: str, *, digest: str = "", version: int | None = None) -> bytes | None:
        """Return the newest ``primary.yaml`` of this digest, or of this version number, up to a commit; None without
        one.
        """
        for content in self.primaries(app, commit):
            found = _DIGEST.search(content) if digest else _VERSION.search(content)
            if found and text(found[1]) == (digest or str(version)):
                return content
        return None

    @locked
    def _revisions(self, app: AppKey, commit: str) -> list[tuple[str, str]]:
        return revisions_of(self._mirror, self._index.places.file(app, PRIMARY_FILE), commit)

    @locked
    def _contents(self, page: Sequence[str]) -> list[bytes]:
        contents = self._blobs.read(page)
        return [content for blob in page if (content := contents[blob]) is not None]


_COMPARE = ("diff-tree", "--stdin", "-r", "-z", "--root", "--no-renames", "--no-abbrev")
_PAGE = 1000
_FAR = 20
"""How many pages of main's line are searched."""
_NEAR = 4
"""How many commits are compared before git is asked, which compares thousands faster than this does."""

Enough = Callable[[bytes | None], bool]
"""Whether a content of a file, None where it was none, is the last that is asked for."""
Says = Callable[[bytes], bool | None]
"""Whether a content says the same as the present one; None where unknown: then it counts like the newer content."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a file became by one commit of main's own line; None where it was no readable file any more."""

    landing: Source
    """That commit, with its place: who let it in."""
    content: bytes | None


class MainJournal:
    """What main said in a file, and when: one walk of main's own line, newest first, for every question about that."""

    def __init__(
        self, mirror: Mirror, trees: Trees, files: Files, details: Details, mainline: Mainline, walked: WalkedMain
    ) -> None:
        self._mirror = mirror
        self._trees = trees
        self._files = files
        self._details = details
        self._mainline = mainline
        self._walked = walked

    def changes_of(self, path: str, at: str, head: str, *, since: str = "") -> Iterator[FileChange]:
        """Yield what a file said up to a commit of main, newest first; ``since``: after another one, nothing where main
        does not contain that. Places are those of main with ``head``.
        """
        head = head if self._mainline.place(at, head) is not None else at  # of another history
        for commit in self.changes(path, at, head, since=since):
            file = self._files.at(path, commit)
            content = file.content if file is not None and isinstance(file.content, bytes) else None
            landing, place = self._details.of([commit])[commit], self._mainline.place(commit, head)
            yield FileChange(replace(landing, landed=place), content)

    def changes(self, path: str, at: str, head: str, *, since: str = "") -> Iterator[str]:
        """Yield the commits of main's line that changed a file, newest first."""
        oldest = self._place_before(since, head) if since else 0
        if oldest is None:
            return
        known, before = self._walked.changes(path, at) if is_watched(path) else ([], at)
        if None in (self._mainline.place(each, head) for each in (*known, before)):
            known, before = [], at
        for commit in known:
            if (self._mainline.place(commit, head) or 0) <= oldest:
                return
            yield commit
        yield from self._compared(path, self._mainline.steps(head, before, after=oldest))

    def _place_before(self, since: str, head: str) -> int | None:
        """Return the place up to which all is contained in a commit; None where main does not contain it."""
        place = self._mainline.place(since, head)
        if place is None:
            landing = self._mainline.place(self._mainline.landing(since, head), head)
            place = landing - 1 if landing is not None else None
        return place

    def _compared(self, path: str, steps: Sequence[Step]) -> Iterator[str]:
        """Yield the commits of some steps of main's line that changed a file."""
        for at, (commit, before) in enumerate(steps):
            now, then = (self._trees.at_hand(each, (path,)) if each else {} for each in (commit, before))
            if at >= _NEAR or now is None or then is None:
                yield from changes_of(self._mirror, steps[at:], path)
                return
            if now != then:
                yield commit


def differs(says: Says) -> Enough:
    """Return what ends the search: that the file said something else, or was not there."""
    return lambda content: content is None or says(content) is False


def unchanged_since(said: Iterable[FileChange], says: Says) -> FileChange | None:
    """Return the oldest since which a file has said so without a gap; None where it does not say so."""
    found = None
    for each in said:
        answer = each.content is not None and says(each.content)
        if answer is False:
            break
        found = each if answer else found
    return found


def changes_of(mirror: Mirror, steps: Sequence[Step], *paths: str, top: bool = False) -> Iterator[str]:
    """Yield the commits of steps of main's line that changed something at these paths, newest first.

    ``top``: the paths stand in the root folder, so that git needs to look no deeper.
    """
    compare = tuple(each for each in _COMPARE if not (top and each == "-r"))
    for start in range(0, min(len(steps), _PAGE * _FAR), _PAGE):
        asked = "".join(f"{' '.join(filter(None, step))}\n" for step in steps[start : start + _PAGE])
        walked = mirror.stream(*compare, "--", *paths, stdin=asked.encode())
        yield from (commit for commit, _ in groupby(commit for commit, _, _ in changes(walked)))


def oldest(mirror: Mirror, trees: Trees, folders: Iterable[str], head: str) -> str:
    """Return the folder that came first, of those that are there at ``head``; empty where two came with one commit."""
    line = Mainline(mirror).steps(head)
    places = {commit: place for place, (commit, _) in enumerate(line)}
    born = sorted((-places.get(_birth(mirror, trees, line, each), len(line)), each) for each in folders)
    return "" if len(born) > 1 and born[0][0] == born[1][0] else born[0][1]


def _birth(mirror: Mirror, trees: Trees, line: Sequence[Step], folder: str) -> str:
    """Return the commit since which a folder has been there; the oldest one that is known where the search ended
    before.
    """
    found = ""
    for commit in changes_of(mirror, line, folder):
        if folder not in trees.at(commit, [folder]):
            return found
        found = commit
    return found
