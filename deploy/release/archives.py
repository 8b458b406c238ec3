"""Archives whose bytes depend on their content alone: sorted members, one date, no owner, no name of a machine."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

PROGRAM = 0o755
FILE = 0o644


@dataclass(frozen=True, slots=True)
class Member:
    """A file, a folder or a link of an archive."""

    name: str
    content: bytes | Path | None = b""
    """What the file has, or where that is; None: this is a folder, or a link."""
    mode: int = FILE
    link: str = ""
    """Where a symbolic link leads to."""
    owner: int = 0

    def as_tar(self, date: int) -> tarfile.TarInfo:
        """Return the header of this member."""
        info = tarfile.TarInfo(self.name)
        info.mode, info.mtime, info.uid, info.gid = self.mode, date, self.owner, self.owner
        if self.link:
            info.type, info.linkname = tarfile.SYMTYPE, self.link
        elif self.content is None:
            info.type = tarfile.DIRTYPE
        else:
            info.size = self.content.stat().st_size if isinstance(self.content, Path) else len(self.content)
        return info


def members_below(folder: Path, prefix: str = "") -> Iterator[Member]:
    """Yield the files below a folder; a program is what its owner may run."""
    for path in sorted(folder.rglob("*")):
        name = prefix + path.relative_to(folder).as_posix()
        if path.is_symlink():
            yield Member(name, None, 0o777, str(path.readlink()))
        elif path.is_file():
            yield Member(name, path, PROGRAM if path.stat().st_mode & 0o100 else FILE)


def write_tarball(path: Path, members: Iterable[Member], date: int, effort: int = 6) -> str:
    """Write a compressed archive; the SHA-256 of what is in it before it is compressed."""
    with path.open("wb") as file, gzip.GzipFile("", "wb", effort, file, mtime=0) as compressed:
        plain = _Hashed(compressed)
        with tarfile.open(fileobj=plain, mode="w|", format=tarfile.GNU_FORMAT) as archive:  # type: ignore[call-overload]
            for each in sorted(members, key=lambda member: member.name):
                _add(archive, each, date)
        return plain.digest.hexdigest()


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _add(archive: tarfile.TarFile, member: Member, date: int) -> None:
    if isinstance(member.content, Path):
        with member.content.open("rb") as content:
            archive.addfile(member.as_tar(date), content)
    else:
        archive.addfile(member.as_tar(date), io.BytesIO(member.content or b""))


class _Hashed:
    """A file to write to that hashes what passes."""

    def __init__(self, file: IO[bytes] | gzip.GzipFile) -> None:
        self.digest = hashlib.sha256()
        self._file = file

    def write(self, content: bytes) -> int:
        """Pass it on."""
        self.digest.update(content)
        return self._file.write(content)
