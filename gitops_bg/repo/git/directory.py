"""The mirror's directory: one owner, no leftovers of a killed git, deleted and recreated where it is damaged."""

import fcntl
import os
import shutil
from pathlib import Path
from typing import TextIO

from gitops_bg.repo.git.errors import DiskProblem, MirrorBroken, MirrorInUse
from gitops_bg.repo.git.limits import Limits
from gitops_bg.repo.git.runner import GitFailed, initialise
from gitops_bg.repo.git.transport import ASKPASS
from gitops_bg.repo.settings import MIRROR

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

    def prepare(self, configuration: str, limits: Limits) -> None:
        """Prepare a sound mirror with this configuration: the existing one, or an empty one."""
        self._demand_space()
        try:
            if not self._looks_sound():
                self._wipe()
                initialise(self.mirror, 30, limits)
            self._clean()
            (self.mirror / "config").write_text(configuration, encoding="utf-8")
        except OSError as error:
            raise DiskProblem(f"cannot write {self.mirror}: {error.strerror}") from error
        except GitFailed as error:
            raise MirrorBroken(str(error)) from error

    def ref(self, name: str) -> str:
        """The content of the file of a ref: a commit id where git wrote the ref there; empty where there is no file."""
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

    def _looks_sound(self) -> bool:
        return (self.mirror / "HEAD").is_file() and all((self.mirror / name).is_dir() for name in ("objects", "refs"))

    def _wipe(self) -> None:
        if self.mirror.is_dir() and not self.mirror.is_symlink():
            shutil.rmtree(self.mirror)
        else:
            self.mirror.unlink(missing_ok=True)

    def trouble(self) -> DiskProblem | None:
        """What is wrong with the disk, if anything; asked after a git command failed."""
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
