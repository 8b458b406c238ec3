"""`.ci/sealed` notices what a command leaves behind, where CI would not look otherwise."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.waiting import HANGS

SEALED = Path(__file__).parents[2] / ".ci" / "sealed"


def sealed(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}
    return subprocess.run([SEALED, *arguments], env=env, capture_output=True, text=True, timeout=HANGS)


@pytest.mark.parametrize("place", ["HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"])
def test_what_is_left_behind_is_named_and_fails(tmp_path: Path, place: str) -> None:
    done = sealed(tmp_path, "--", "sh", "-c", f'mkdir -p "${place}/a" && touch "${place}/a/left"')
    assert done.returncode == 1
    assert "left behind" in done.stdout
    assert "/a/left" in done.stdout


def test_what_is_left_in_the_real_home_fails(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    done = sealed(tmp_path, "--", "touch", str(tmp_path / "home/left"))
    assert (done.returncode, done.stdout) == (1, f"sealed: left behind: {tmp_path}/home/left\n")


def test_nothing_left_is_the_commands_own_end_and_the_seal_goes(tmp_path: Path) -> None:
    assert sealed(tmp_path, "--", "sh", "-c", 'touch "$HOME/x"; rm "$HOME/x"; exit 7').returncode == 7
    assert list(tmp_path.iterdir()) == []


def test_a_user_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = sealed(tmp_path, "--user", "nobody-at-all", "--", "false")
    assert done.returncode == 0
    assert "not run as nobody-at-all" in done.stdout


def test_temporary_files_are_where_the_user_wants_them_else_where_there_is_room(tmp_path: Path) -> None:
    def temporary(**given: str) -> str:
        env = {"PATH": os.environ["PATH"], **given}
        return subprocess.run(
            [SEALED.with_name("temporary")], env=env, capture_output=True, text=True, check=True
        ).stdout

    assert temporary(TMPDIR=str(tmp_path)) == f"{tmp_path}\n"
    chosen = temporary()
    assert chosen in ("/dev/shm\n", "/tmp\n")
    assert os.access(chosen.strip(), os.W_OK)
