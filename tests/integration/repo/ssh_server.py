"""A real OpenSSH server for tests, for this user, on a port of its own; where the machine has one."""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.waiting import eventually

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
    program = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("there is no sshd")
    folder.mkdir()
    for name in ("host", "client", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True, timeout=30)
    shutil.copy(folder / "client.pub", folder / "authorized_keys")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    file = folder / "sshd_config"
    file.write_text(_CONFIGURATION.format(folder=folder, port=port))
    checked = subprocess.run([program, "-t", "-f", file], capture_output=True, text=True, timeout=30)
    if checked.returncode != 0:
        pytest.skip(f"sshd does not run here: {checked.stderr.strip()}")
    process = subprocess.Popen([program, "-D", "-e", "-f", file], stderr=subprocess.DEVNULL)
    server = SshServer(folder, port, process)
    try:
        eventually(lambda: _listens(port), what="sshd listens")
        yield server
    finally:
        server.stop()


def _listens(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0
