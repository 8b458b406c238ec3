"""The mirror's directory: one owner, no leftovers of a killed git, deleted and recreated where it is damaged, and its
many small packs joined; and the lock that the parts of one repository share: one call at a time, from whichever thread.
"""

import fcntl
import os
import shutil
import struct
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import wraps
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import Concatenate, ParamSpec, Protocol, TextIO, TypeVar

from gitops_bg.core.dataclass import dataclass
from gitops_bg.repo.git.errors import DiskProblem, MirrorBroken, MirrorInUse
from gitops_bg.repo.git.output import text
from gitops_bg.repo.git.runner import CommandLimits, Git, GitFailed, initialise
from gitops_bg.repo.git.transport import ASKPASS
from gitops_bg.repo.settings import MIRROR

# --- the many small packs that fetches leave, and the loose objects of the agent's own commits ---
# Every fetch makes a pack, and git looks through all of them for each object. They are joined by their count, which
# costs what the small ones hold: a pack is joined only with smaller ones that together have grown to half its size, a
# large one never. Nothing is dropped. Mostly that takes milliseconds, where `gc` takes minutes.

MOST_PACKS, MOST_LOOSE = 50, 1000
"""How many small packs, and loose objects, are left as they are; of so many packs some can always be joined."""
_LARGEST = 32 * 1024 * 1024
"""Bytes of a pack that is never joined again."""
_COMPARED = 4 * 1024 * 1024
"""Bytes of packs up to which objects are compared whose paths nobody knows. Of more, the deltas that were found before
are copied.
"""
BY_PATH = ("--quiet", "--window=10", "--stdin-packs", "--unpacked")
"""Packs by name, with all loose objects; git walks through their commits for the paths."""
_ENDINGS = (".promisor", ".rev", ".pack", ".idx")
"""The files of a pack; with the last one it begins to exist, and without it it ends to."""
_IDX = b"\377tOc\0\0\0\2"
_FAN_OUT = 8 + 256 * 4
"""Where the ids begin in an index. https://git-scm.com/docs/gitformat-pack#_version_2_pack_idx_files_support"""


@dataclass(frozen=True, slots=True)
class _Pack:
    index: Path
    size: int
    promised: bool
    """Whether it came from the remote: it may lack what it refers to, where the remote has that."""


class Tidying:
    """The packs and loose objects of one mirror. Nothing else may write to it meanwhile."""

    def __init__(self, mirror: Path, git: Git) -> None:
        self._objects = mirror / "objects"
        self._packs = self._objects / "pack"
        self._stage = self._objects / "tidy"
        self._git = git

    def due(self, times: int = 1) -> bool:
        """Return whether there are so many small packs, or loose objects, or that many times more."""
        if sum(1 for _ in self._small()) > MOST_PACKS * times:
            return True
        return sum(1 for _ in self._loose()) > MOST_LOOSE * times

    def tidy(self) -> None:
        """Join them. Raises ``GitFailed``, ``OSError``."""
        small = list(self._small())
        promised = _growing([pack for pack in small if pack.promised])
        if len(promised) > 1:
            self._joined({one for pack in promised for one in _ids_in(pack.index)}, promised, ".promisor")
        own = _growing([pack for pack in small if not pack.promised])
        loose = dict(self._loose())
        if loose or len(own) > 1:
            self._joined({*loose, *(one for pack in own for one in _ids_in(pack.index))}, own, "", own=True)
        for file in loose.values():
            file.unlink(missing_ok=True)

    def _joined(self, ids: Collection[str], packs: Sequence[_Pack], mark: str, *, own: bool = False) -> None:
        """Put objects into one pack, then remove the packs that had them. A machine may die between any two steps.

        Of the agent's ``own`` packs git finds out which path an object has: versions of one file, such as the table of
        the ledger, are compared with each other then, and not with whatever is as large.
        """
        name = self._packed_by_path(ids, packs) if own else ""
        name = name or self._packed(ids, 10 if sum(pack.size for pack in packs) <= _COMPARED else 0)
        if mark:
            (self._stage / f"{name}{mark}").touch()
        for ending in _ENDINGS:
            file = self._stage / f"{name}{ending}"
            if file.exists():
                file.replace(self._packs / file.name)
        for pack in packs:
            for ending in reversed(_ENDINGS if pack.index.stem != name else ()):
                pack.index.with_suffix(ending).unlink(missing_ok=True)
        shutil.rmtree(self._stage, ignore_errors=True)

    def _packed(self, ids: Iterable[str], window: int) -> str:
        """Make a pack of these objects in the stage, and return its name."""
        self._begin_stage()
        asked = "".join(f"{one}\n" for one in sorted(ids)).encode()
        printed = self._git.run("pack-objects", "--quiet", f"--window={window}", str(self._stage / "pack"), stdin=asked)
        return f"pack-{text(printed.strip())}"

    def _packed_by_path(self, ids: Collection[str], packs: Sequence[_Pack]) -> str:
        """Do as `_packed`, of packs and all loose objects; empty where git cannot, or where an object would be missing.

        https://git-scm.com/docs/git-pack-objects#Documentation/git-pack-objects.txt---stdin-packs
        """
        self._begin_stage()
        asked = "".join(f"{pack.index.stem}.pack\n" for pack in packs).encode()
        finished = self._git.attempt("pack-objects", *BY_PATH, str(self._stage / "pack"), stdin=asked)
        name = f"pack-{text(finished.output.strip())}"
        index = self._stage / f"{name}.idx"
        if finished.status != 0 or not index.exists():
            return ""
        return name if set(ids) <= set(_ids_in(index)) else ""

    def _begin_stage(self) -> None:
        shutil.rmtree(self._stage, ignore_errors=True)
        self._stage.mkdir()

    def _small(self) -> Iterator[_Pack]:
        for index in self._packs.glob("*.idx"):
            try:
                size = index.with_suffix(".pack").stat().st_size
            except OSError:
                continue
            if size <= _LARGEST and not index.with_suffix(".keep").exists():
                yield _Pack(index, size, index.with_suffix(".promisor").exists())

    def _loose(self) -> Iterator[tuple[str, Path]]:
        """Yield the loose objects by id."""
        for folder in self._objects.glob("[0-9a-f][0-9a-f]"):
            try:
                names = [file.name for file in folder.iterdir()]
            except OSError:
                continue
            yield from ((folder.name + name, folder / name) for name in names if len(name) in (38, 62))


def _growing(packs: list[_Pack]) -> list[_Pack]:
    """Return the packs, from the smallest on, of which the next one is not at least as large as twice all of them."""
    ordered = sorted(packs, key=lambda pack: pack.size)
    below = accumulate((pack.size for pack in ordered), initial=0)
    last = max(
        (at for at, (pack, sum_) in enumerate(zip(ordered, below, strict=False)) if pack.size < 2 * sum_), default=-1
    )
    return ordered[: last + 1]


def _ids_in(index: Path) -> Iterator[str]:
    """Return the ids of the objects of a pack. Raises ``ValueError`` for anything but an index of git's present
    form.
    """
    content = index.read_bytes()
    if not content.startswith(_IDX) or len(content) < _FAN_OUT:
        raise ValueError(f"{index} is no index of a pack")
    (count,) = struct.unpack(">I", content[_FAN_OUT - 4 : _FAN_OUT])
    size = next((size for size in (20, 32) if len(content) == _FAN_OUT + count * (size + 8) + 2 * size), 0)
    if not size:
        raise ValueError(f"{index} has another length than its {count} objects need")
    return (content[at : at + size].hex() for at in range(_FAN_OUT, _FAN_OUT + count * size, size))


# --- the directory ---

LEAST_FREE_BYTES = 16 * 1024 * 1024


class MirrorDirectory:
    """``<directory>/mirror.git`` and the files beside it. ``claim`` first, ``release`` at the end."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.mirror = directory / MIRROR
        self.askpass = directory / "askpass"
        self._owner: TextIO | None = None

    def claim(self) -> None:
        """Claim the directory for this process until ``release``. Raises ``MirrorInUse``, ``DiskProblem``."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._owner = (self.directory / "owner").open("a")
            self.askpass.write_text(ASKPASS, encoding="utf-8")
            self.askpass.chmod(0o700)
        except OSError as error:
            self.release()
            raise DiskProblem(f"cannot write {self.directory}: {error.strerror}") from error
        try:
            fcntl.flock(self._owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise MirrorInUse(f"another process works in {self.directory}; give each a directory of its own") from None

    def release(self) -> None:
        """Release the directory."""
        if self._owner is not None:
            self._owner.close()
            self._owner = None

    def prepare(self, configuration: str, limits: CommandLimits) -> None:
        """Prepare a sound mirror with this configuration: the existing one, or an empty one."""
        self._demand_space()
        try:
            if not self._is_sound():
                self._wipe()
                initialise(self.mirror, 30, limits)
            self._clean()
            (self.mirror / "config").write_text(configuration, encoding="utf-8")
        except OSError as error:
            raise DiskProblem(f"cannot write {self.mirror}: {error.strerror}") from error
        except GitFailed as error:
            raise MirrorBroken(str(error)) from error

    def ref(self, name: str) -> str:
        """Return the content of the file of a ref: a commit id where git wrote the ref there; empty where there is no
        file.
        """
        try:
            return (self.mirror / name).read_text(encoding="ascii").removesuffix("\n")
        except (OSError, UnicodeDecodeError):
            return ""

    def set_ref(self, name: str, commit: str) -> None:
        """Set a ref as git does: through a lock beside it, which a reader never sees half written.

        Raises ``DiskProblem``. https://git-scm.com/docs/gitrepository-layout (refs)
        """
        file = self.mirror / name
        lock = file.with_name(f"{file.name}.lock")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with lock.open("x", encoding="ascii") as written:
                try:
                    written.write(f"{commit}\n")
                    written.flush()
                    os.fsync(written.fileno())  # or a machine that dies leaves an empty ref
                    lock.replace(file)
                finally:
                    lock.unlink(missing_ok=True)
        except OSError as error:
            raise DiskProblem(f"cannot write {file}: {error.strerror}") from error

    def wipe(self) -> None:
        """Delete the mirror, whatever its state. Raises ``DiskProblem``."""
        try:
            self._wipe()
        except OSError as error:
            raise DiskProblem(f"cannot delete {self.mirror}: {error.strerror}") from error

    def _is_sound(self) -> bool:
        return (self.mirror / "HEAD").is_file() and all((self.mirror / name).is_dir() for name in ("objects", "refs"))

    def _wipe(self) -> None:
        if self.mirror.is_dir() and not self.mirror.is_symlink():
            shutil.rmtree(self.mirror)
        else:
            self.mirror.unlink(missing_ok=True)

    def trouble(self) -> DiskProblem | None:
        """Return what is wrong with the disk, if anything; asked after a git command failed."""
        try:
            self._demand_space()
        except DiskProblem as problem:
            return problem
        if not os.access(self.directory, os.W_OK | os.X_OK):
            return DiskProblem(f"cannot write {self.directory}")
        return None

    def _demand_space(self) -> None:
        try:
            free = shutil.disk_usage(self.directory).free
        except OSError as error:
            raise DiskProblem(f"cannot look at {self.directory}: {error.strerror}") from error
        if free < LEAST_FREE_BYTES:
            raise DiskProblem(f"the disk of {self.directory} is full: {free // 1024} KiB left")

    def drop_partial_packs(self) -> None:
        """Remove what a fetch that was ended has written so far: each may fill the disk a little more."""
        self._remove("objects/pack/tmp_*", "objects/tmp_*")

    def _clean(self) -> None:
        """Remove the leftovers of a killed git: locks, partial packs, packs without an index, crash reports."""
        self._remove("*.lock", "refs/**/*.lock", "fast_import_crash_*")
        self.drop_partial_packs()
        shutil.rmtree(self.mirror / "objects" / "tidy", ignore_errors=True)
        for file in (self.mirror / "objects" / "pack").glob("pack-*.*"):
            if not file.with_suffix(".idx").exists():
                file.unlink(missing_ok=True)

    def _remove(self, *patterns: str) -> None:
        for pattern in patterns:
            for left in self.mirror.glob(pattern):
                left.unlink(missing_ok=True)


P = ParamSpec("P")
R = TypeVar("R")


class Lock:
    """Held while a part works; a part that has it may call another. Notes that the mirror turned out to be damaged."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.suspect = False
        """Whether a call hit a damaged mirror, so that the next poll clones it again."""

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.suspect = self.suspect or isinstance(error, MirrorBroken)
        self._lock.release()


class RepositoryPart(Protocol):
    """A part of a repository."""

    lock: Lock


S = TypeVar("S", bound=RepositoryPart)


def locked(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Make a method of a part one that any thread may call. Not for one that yields: it would work without the lock."""

    @wraps(method)
    def alone(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self.lock:
            return method(self, *args, **kwargs)

    return alone
