"""`gitops-bg` of a reader's shell, without the second that each process takes to import it.

A server has imported it, and forks for each command; `program` is what stands on the reader's PATH, and hands its
words, its folder, its variables and its three streams over.
"""

from __future__ import annotations

import array
import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Never

from gitops_bg.cli.main import main
from gitops_bg.cli.registry import VERBS
from tests.support.agent.leash import leashed

_PROGRAM = """\
#!{python} -IS
import array, json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    asked = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    streams = array.array("i", [0, 1, 2])
    server.sendmsg([len(asked).to_bytes(4, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
    server.sendall(asked)
    sys.exit(int(server.recv(4) or b"70"))
"""

_OFTEN = frozenset(("check", "explain", "get", "history", "plan", "set-image", "status"))
"""Verbs that are imported before anybody asks."""


def program(folder: Path) -> None:
    """Write the program into a folder of the PATH."""
    folder.mkdir()
    file = folder / "gitops-bg"
    file.write_text(_PROGRAM.format(python=sys.executable, address=_server()))
    file.chmod(0o755)


@cache
def _server() -> str:
    """The address of the server of this process, which ends with it."""
    folder = Path(tempfile.mkdtemp(prefix="gitops-bg-"))
    address = str(folder / "server")
    command, root = [sys.executable, "-m", __name__, address], Path(__file__).parents[3]
    server = subprocess.Popen(leashed(command), cwd=root, stdout=subprocess.PIPE)
    assert server.stdout
    assert server.stdout.readline() == b"ready\n"
    atexit.register(_end, server, folder)
    return address


def _end(server: subprocess.Popen[bytes], folder: Path) -> None:
    server.terminate()
    server.communicate()
    shutil.rmtree(folder)


def serve(address: str) -> Never:
    """Answer each command by a process of its own."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for verb in (verb for verbs in VERBS.values() for verb in verbs if verb.name in _OFTEN):
        verb.load()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        print("ready", flush=True)
        while True:
            asker, _ = server.accept()
            if os.fork() == 0:
                server.close()
                _answer(asker)
            asker.close()


def _answer(asker: socket.socket) -> Never:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, handed, _, _ = asker.recvmsg(4, socket.CMSG_SPACE(12))
    streams = array.array("i")
    streams.frombytes(handed[0][2][:12])
    words, folder, environment = json.loads(_received(asker, int.from_bytes(size, "big")))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["gitops-bg", *words]
    code = _code()
    sys.stdout.flush()
    sys.stderr.flush()
    asker.sendall(str(code).encode())
    os._exit(0)


def _received(asker: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        found += asker.recv(size - len(found))
    return found


def _code() -> int:
    """How the command ends, as its process would."""
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    serve(sys.argv[1])
