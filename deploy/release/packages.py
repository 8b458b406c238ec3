"""What others have made and a release contains: Python packages by the hashes of `.ci/lock`, and Debian packages.

Nothing of them is run: a package is unpacked, for whichever machine it is. Both are kept in a cache, so that a second
build asks nobody.
"""

import gzip
import lzma
import os
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from deploy.release.archives import Member, sha256
from deploy.release.source import Refused, Unavailable

CACHE = Path(os.environ.get("GITOPS_BG_RELEASE_CACHE") or Path.home() / ".cache/gitops-bg/release")
_SOURCES = Path(os.environ.get("GITOPS_BG_DEBIAN_SOURCES", "/etc/apt/sources.list.d/debian.sources"))
"""Where Debian is fetched from; the image has the same Debian as the machine that builds it."""


def install_python(packages: Path, wheel: Path, target: Path, platform: str, python: str) -> None:
    """Unpack the packages of a lock file, and our wheel, as they are on a platform such as ``aarch64-apple-darwin``."""
    uv = [str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet", "--target", str(target), "--no-deps"]
    uv += [
        "--python-platform",
        platform,
        "--python-version",
        python,
        "--only-binary",
        ":all:",
        "--link-mode",
        "hardlink",
    ]
    kept = os.environ | {"UV_CACHE_DIR": str(CACHE / "uv")}
    uv += ["--require-hashes", "--requirement", str(packages)]
    for how in (["--offline"], []):
        done = subprocess.run([*uv, *how], env=kept, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            break
    else:
        raise Unavailable(f"the packages for {platform} cannot be had: {done.stderr.strip()}")
    with zipfile.ZipFile(wheel) as ours:  # uv would write down where it found it
        ours.extractall(target)  # noqa: S202 - built a moment ago


@dataclass(frozen=True, slots=True)
class DebianPackage:
    """One file of Debian."""

    file: Path

    @property
    def control(self) -> str:
        """What Debian says about the package."""
        return self._archive("control").extractfile("./control").read().decode()  # type: ignore[union-attr]

    @property
    def fields(self) -> Mapping[str, str]:
        """Its name, version, architecture and so on."""
        return dict(re.findall(r"^([\w-]+): (.*)$", self.control, re.MULTILINE))

    @property
    def purl(self) -> str:
        """Its name for scanners."""
        have = self.fields
        return f"pkg:deb/debian/{have['Package']}@{have['Version']}?arch={have['Architecture']}"

    @property
    def sha256(self) -> str:
        """The SHA-256 of the file."""
        return sha256(self.file)

    def members(self) -> Iterator[Member]:
        """Yield its files, below `/usr` where Debian has merged the folders of the root."""
        with self._archive("data") as archive:
            for each in archive:
                name = _merged(each.name.removeprefix("./").rstrip("/"))
                if each.issym():
                    yield Member(name, None, 0o777, each.linkname)
                elif each.isreg() or each.islnk():
                    read = archive.extractfile(each)
                    yield Member(
                        name, read.read() if read else b"", each.mode & 0o777
                    )  # nobody changes whom they run as

    def _archive(self, part: str) -> tarfile.TarFile:
        """Return one of the two archives in an `ar` file."""
        content = self.file.read_bytes()
        at = len(b"!<arch>\n")
        while at < len(content):
            header, at = content[at : at + 60], at + 60
            name, size = header[:16].decode().strip().rstrip("/"), int(header[48:58])
            if name.startswith(f"{part}.tar"):
                return tarfile.open(fileobj=BytesIO(_plain(name, content[at : at + size])))
            at += size + size % 2
        raise Refused(f"{self.file} is no Debian package: it has no {part}.tar")


def debian_packages(names: tuple[str, ...], architecture: str) -> tuple[DebianPackage, ...]:
    """Fetch packages and all that they depend on, as apt would install them on an empty machine of an architecture."""
    place = CACHE / "debian" / architecture
    for each in ("lists/partial", "cache/archives/partial", "nothing/partial", "log"):
        (place / each).mkdir(parents=True, exist_ok=True)
    (place / "status").touch()
    places = {"State::Lists": "lists", "State::status": "status", "Cache": "cache", "Log": "log"}
    options = {f"Dir::{name}": place / path for name, path in places.items()} | {
        "Dir::Etc::sourcelist": _SOURCES,
        "Dir::Etc::sourceparts": "-",
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Install-Recommends": 0,
        "Acquire::Languages": "none",
    }
    apt = ["apt-get", "-qq", *(part for name, value in options.items() for part in ("-o", f"{name}={value}"))]
    if _is_older_than_a_day(place / "updated"):
        _run([*apt, "update"])
        (place / "updated").touch()
    nothing = ["-o", f"Dir::Cache::Archives={place / 'nothing'}/"]
    listed = _run([*apt, *nothing, "--print-uris", "install", *names])
    _run([*apt, "--yes", "--download-only", "install", *names])
    files = re.findall(r"^'\S+' (\S+\.deb) ", listed, re.MULTILINE)
    return tuple(DebianPackage(place / "cache" / "archives" / name) for name in sorted(files))


def _is_older_than_a_day(path: Path) -> bool:
    return not path.exists() or time.time() - path.stat().st_mtime > 86400


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Unavailable(
            "the image is made of Debian's packages, and apt-get is not here: build it on Debian"
        ) from None
    if done.returncode:
        raise Unavailable(f"{command[0]} failed: {done.stderr.strip()}")
    return done.stdout


def _merged(name: str) -> str:
    first = name.partition("/")[0]
    return f"usr/{name}" if first in ("bin", "sbin", "lib", "lib64") and "/" in name else name


def _plain(name: str, content: bytes) -> bytes:
    if name.endswith(".xz"):
        return lzma.decompress(content)
    if name.endswith(".gz"):
        return gzip.decompress(content)
    return content
