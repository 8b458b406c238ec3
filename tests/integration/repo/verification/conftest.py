"""A remote whose people sign, and the agent's Repository on it, which was given their keys."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gitops_bg.repo.repository import Repository
from tests.integration.repo.conftest import API, WEB, Opener
from tests.integration.repo.ledger.test_ledger import batch, entry
from tests.integration.repo.verification.forger import STATE_OF_WEB, Forger
from tests.integration.repo.verification.signed import Signed
from tests.support.git.remote import GitRemote
from tests.support.signers import make_key


@pytest.fixture
def signed(remote: GitRemote, opened: Opener, tmp_path: Path) -> Signed:
    keys = (make_key(tmp_path, name) for name in ("agent", "ada", "mallory"))
    made = Signed(remote, opened, tmp_path, *keys)
    made.write()
    return made


@pytest.fixture
def fails(signed: Signed, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As long as this file exists, `ssh-keygen` fails, as without room for its files; it has each call as a line. As
    long as one with `-at-checks` behind its name exists, it signs, and fails where it is to check.
    """
    real, folder = shutil.which("ssh-keygen"), signed.folder / "bin"
    folder.mkdir()
    flag = folder / "fails"
    checks = f'[ -e "{flag}-at-checks" ] && [ "$2" != sign ] && exit 255'
    script = f'#!/bin/sh\n[ -e "{flag}" ] && echo "$2" >> "{flag}" && exit 255\n{checks}\nexec "{real}" "$@"\n'
    (folder / "ssh-keygen").write_text(script)
    (folder / "ssh-keygen").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return flag


@pytest.fixture
def forger(signed: Signed) -> Forger:
    signed.push(signed.ada)
    return Forger(signed)


@pytest.fixture
def agent(signed: Signed, forger: Forger) -> Repository:
    """The agent, which has written what it knows of two apps."""
    repository = signed.open()
    repository.poll()
    repository.ledger.publish({WEB: batch(entry(1), state=STATE_OF_WEB), API: batch(entry(1))})
    return repository
