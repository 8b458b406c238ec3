"""What the tests of the demo share: a place of its own for its temporary files, and what must not be left behind."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from gitops_bg.cli.demo.act import Act
from gitops_bg.cli.demo.story import Step
from tests.support.git.remote import locked_down_env
from tests.support.waiting import HANGS, eventually


@dataclass
class Traces:
    """Addresses that answered while the demo ran; steps may add to them."""

    urls: list[str] = field(default_factory=list)

    def noting(self) -> Step:
        """A step that notes every address of the scene."""
        return Step("note the addresses", self._note)

    def _note(self, act: Act) -> None:
        scene = act.scene
        self.urls += [scene.sandbox.url, scene.sight.active_url, scene.sight.preview_url]
        assert all(is_open(url) for url in self.urls)


def is_open(url: str) -> bool:
    """Whether somebody listens at an address."""
    address = urlsplit(url)
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex((str(address.hostname), int(address.port or 0))) == 0


@contextmanager
def nothing_left_behind(folder: Path) -> Iterator[Traces]:
    """Let the demo put its files below `folder`; at the end no file, thread, port or log handler may be left."""
    threads, root, before = set(threading.enumerate()), logging.getLogger(), tempfile.tempdir
    logs = (list(root.handlers), root.level, logging.getLogger("gitops_bg").level)
    traces = Traces()
    tempfile.tempdir = str(folder)
    try:
        yield traces
    finally:
        tempfile.tempdir = before
    eventually(lambda: set(threading.enumerate()) <= threads, timeout=5, what="no thread is left")
    assert list(folder.iterdir()) == []
    assert [url for url in traces.urls if is_open(url)] == []
    assert (list(root.handlers), root.level, logging.getLogger("gitops_bg").level) == logs


def asked(clone: Path, kubeconfig: str, *arguments: str) -> str:
    """What a verb answers in a clone of the demo's repository, as the demo suggests it."""
    environment = locked_down_env(clone.parent) | {"KUBECONFIG": kubeconfig, "XDG_CACHE_HOME": str(clone / ".cache")}
    command = [str(Path(sys.executable).parent / "gitops-bg"), *arguments]
    done = subprocess.run(
        command, cwd=clone, env=environment, capture_output=True, text=True, timeout=HANGS, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
