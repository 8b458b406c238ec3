"""A real OpenSSH server for tests, for this user, on a port of its own: the machine's, or the one of `fetch.sh`."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.waiting import HANGS, eventually

_CONFIGURATION = """
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PidFile none
"""
_MISSING = (
    "there is no sshd, and GITOPS_BG_OPENSSH is not set; on Debian, "
    "GITOPS_BG_OPENSSH=$(tests/support/openssh/fetch.sh) fetches it"
)
_EMPTY_FOLDER = Path("/run/sshd")
"""Where a server of root locks in what talks to strangers (sshd(8), FILES). The package's service makes it."""


@dataclass
class SshServer:
    """What a client needs, and the process."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    def url(self, repository: Path) -> str:
        """The address of a repository of this machine."""
        return f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}{repository}"

    def known_hosts(self, key: str = "host") -> Path:
        """A file that knows the server, or another one in its place."""
        kind, public = (self.folder / f"{key}.pub").read_text().split()[:2]
        file = self.folder / f"known_hosts_{key}"
        file.write_text(f"[127.0.0.1]:{self.port} {kind} {public}\n")
        return file

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()


@contextmanager
def serving(folder: Path) -> Iterator[SshServer]:
    """Run a server that lets the key ``client`` in, and knows nothing of the key ``other``; skips where it cannot."""
    installed = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    program = Path(installed) if installed else _unpacked()
    folder.mkdir()
    env = None if installed else _beside(program, folder)
    for name in ("host", "client", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True, timeout=HANGS)
    shutil.copy(folder / "client.pub", folder / "authorized_keys")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    file = folder / "sshd_config"
    file.write_text(_CONFIGURATION.format(folder=folder, port=port))
    with _empty_folder() if env and os.geteuid() == 0 else contextlib.nullcontext():
        command: list[str | Path] = [program, "-f", file]
        checked = subprocess.run([*command, "-t"], env=env, capture_output=True, text=True, timeout=HANGS)
        if checked.returncode != 0:
            pytest.skip(f"sshd does not run here: {checked.stderr.strip()}")
        process = subprocess.Popen([*command, "-D", "-e"], env=env, stderr=subprocess.DEVNULL)
        server = SshServer(folder, port, process)
        try:
            eventually(lambda: _listens(port), what="sshd listens")
            yield server
        finally:
            server.stop()


def _unpacked() -> Path:
    """The server that `fetch.sh` unpacked, or a skip."""
    program = Path(os.environ.get("GITOPS_BG_OPENSSH", "")) / "bin" / "sshd"
    if not program.exists():
        pytest.skip(_MISSING)
    return program


def _beside(program: Path, folder: Path) -> dict[str, str]:
    """The environment in which the unpacked server finds its libraries and the user sshd."""
    me = pwd.getpwuid(os.geteuid())
    passwd, group = folder / "passwd", folder / "group"
    own = f"{me.pw_name}:x:{me.pw_uid}:{me.pw_gid}::{me.pw_dir}:/bin/sh\n"
    passwd.write_text(own + "sshd:x:65533:65533::/nonexistent:/bin/false\n")
    group.write_text(f"{me.pw_name}:x:{me.pw_gid}:\nsshd:x:65533:\n")
    libraries = program.parents[1] / "lib"
    return os.environ | {
        "NSS_WRAPPER_PASSWD": str(passwd),
        "NSS_WRAPPER_GROUP": str(group),
        "LD_PRELOAD": str(libraries / "libnss_wrapper.so"),
        "LD_LIBRARY_PATH": str(libraries),
    }


@contextmanager
def _empty_folder() -> Iterator[None]:
    """Make `_EMPTY_FOLDER` for root, where no package did; the last of several test processes removes it."""
    held = None
    while held is None:
        _EMPTY_FOLDER.mkdir(mode=0o755, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            held = os.open(_EMPTY_FOLDER, os.O_RDONLY)
            fcntl.flock(held, fcntl.LOCK_SH)
            # Another one may have removed it between the two lines before.
            if not _EMPTY_FOLDER.exists():
                os.close(held)
                held = None
    try:
        yield
    finally:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _EMPTY_FOLDER.rmdir()
        os.close(held)


def _listens(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0
