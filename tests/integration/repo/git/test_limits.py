"""A process of git has a share of memory, CPU, disk and time, and what it prints is bounded; so are its helpers."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gitops_bg.repo.git import runner
from gitops_bg.repo.git.errors import RemoteTimedOut, RemoteUnreachable, TooLarge
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.runner import MEBIBYTE, CommandLimits, memory_for_git
from gitops_bg.repo.settings import RepositorySettings
from tests.attacks.conftest import memory_stays
from tests.integration.repo.conftest import Opener
from tests.support.git.remote import GitRemote
from tests.support.waiting import eventually

ENDLESS = """#!/bin/sh
echo $$ > {pid}
exec awk 'BEGIN {{
    for (number = 0; ; number++)
        printf "00691%039x refs/heads/gitops-bg/promote/shop/app%022d\\n", number, number
}}'
"""
SILENT = """#!/bin/sh
echo $$ > {pid}
sleep 600
"""
CHATTY = """#!/bin/sh
head -c 50000000 /dev/zero | tr '\\0' x >&2
exit 1
"""


@pytest.fixture
def mirror(remote: GitRemote, tmp_path: Path) -> Iterator[Mirror]:
    with Mirror(RepositorySettings(url=remote.url, directory=tmp_path / "mirror", cluster="test")) as made:
        yield made


def program(folder: Path, text: str) -> Path:
    """A program in place of ssh, which writes down its process."""
    file = folder / "ssh"
    file.write_text(text.format(pid=folder / "pid"))
    file.chmod(0o755)
    return file


def test_memory_is_bounded(mirror: Mirror) -> None:
    little = CommandLimits(32 * MEBIBYTE)
    finished = mirror.git.attempt(
        "-c", "alias.x=!head -c 99999999 /dev/zero | git hash-object --stdin", "x", limits=little
    )
    assert (finished.status, finished.exceeded) == (128, "more than 32 MiB of memory")
    assert mirror.git.attempt("-c", "alias.x=!echo | git hash-object --stdin", "x", limits=little).status == 0


def test_cpu_time_and_what_is_written_are_bounded(mirror: Mirror, tmp_path: Path) -> None:
    with (tmp_path / "zeros").open("wb") as zeros:
        zeros.truncate(20_000 * MEBIBYTE)
    quick = CommandLimits(64 * MEBIBYTE, cpu_seconds=1)
    finished = mirror.git.attempt("hash-object", str(tmp_path / "zeros"), limits=quick)
    assert finished.exceeded == "more than 1 s of CPU time"
    small = CommandLimits(64 * MEBIBYTE, file=MEBIBYTE)
    finished = mirror.git.attempt("hash-object", "-w", "--stdin", stdin=os.urandom(3 * MEBIBYTE), limits=small)
    assert finished.exceeded == "more than 1 MiB packed"
    assert not list(tmp_path.rglob("core*"))


def test_output_is_bounded(mirror: Mirror) -> None:
    blob = mirror.git.run("hash-object", "-w", "--stdin", stdin=bytes(2 * MEBIBYTE)).decode().strip()
    assert mirror.git.ask("cat-file", "blob", blob, largest=MEBIBYTE).exceeded == "more than 1 MiB of output"
    assert mirror.git.ask("cat-file", "blob", blob, largest=3 * MEBIBYTE).output == bytes(2 * MEBIBYTE)


def test_limits_hold_for_what_git_starts(mirror: Mirror) -> None:
    """An alias runs in a shell that git starts."""
    told = mirror.git.run("-c", "alias.x=!ulimit -S -d; ulimit -S -c", "x").split()
    assert told == [str(memory_for_git() // 1024).encode(), b"0"]
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] != memory_for_git(), "the agent's own stays"


@pytest.mark.parametrize("name", ["memory.max", "limit_in_bytes"])
def test_git_has_half_of_the_containers_memory(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_CGROUPS", (str(tmp_path / name),))
    for written, expected in (("536870912\n", 256), ("1000\n", 128), ("9223372036854771712\n", 2048)):
        (tmp_path / name).write_text(written)
        assert memory_for_git() == expected * MEBIBYTE
    (tmp_path / name).write_text("max\n")
    assert 128 * MEBIBYTE <= memory_for_git() <= 2048 * MEBIBYTE


def test_remote_that_lists_branches_without_end_is_given_up(opened: Opener, tmp_path: Path) -> None:
    repository = opened("git@git.example.com:x", ssh_program=str(program(tmp_path, ENDLESS)), git_memory=32 * MEBIBYTE)
    with memory_stays(), pytest.raises(TooLarge, match="needs more than 32 MiB of memory"):
        repository.poll()
    eventually(lambda: not _runs(tmp_path), what="its helper ends")


def test_helpers_end_with_a_git_that_is_given_up(opened: Opener, tmp_path: Path) -> None:
    """Found: git alone was killed where the machine has no `ps`."""
    ssh = program(tmp_path, SILENT)
    with pytest.raises(RemoteTimedOut):
        opened("git@git.example.com:x", ssh_program=str(ssh), timeout_seconds=0.5).poll()
    eventually(lambda: not _runs(tmp_path), what="its helper ends")


def test_remote_that_complains_without_end_is_heard_to_a_bound(opened: Opener, tmp_path: Path) -> None:
    repository = opened("git@git.example.com:x", ssh_program=str(program(tmp_path, CHATTY)))
    with memory_stays(), pytest.raises(RemoteUnreachable) as failed:
        repository.poll()
    assert len(str(failed.value)) < 1000


def _runs(folder: Path) -> bool:
    with suppress(ProcessLookupError, FileNotFoundError):
        os.kill(int((folder / "pid").read_text()), 0)
        return "Z" not in Path(f"/proc/{(folder / 'pid').read_text().strip()}/stat").read_text()
    return False
