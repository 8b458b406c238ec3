"""Commits of main that are signed by OpenPGP keys, checked by a real gpg that knows the given keys and nothing else."""

from __future__ import annotations

import base64
import bz2
import errno
import re
import shutil
import subprocess
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.main import SourceVerification, VerificationFailure
from gitops_bg.repo.read import signatures
from gitops_bg.repo.read.polling import Poll
from gitops_bg.repo.read.signatures import FIRST_SECONDS, NO_ANSWER, Keys, Signature, make_keyring
from gitops_bg.repo.repository import Repository
from tests.integration.repo.verification.conftest import Signed
from tests.support.git.remote import locked_down_env
from tests.support.openpgp_keys import GpgKey, make_gpg_key, signing_by_gpg
from tests.support.raw_commits import with_signature_before


@pytest.fixture(scope="module")
def short() -> Iterator[Path]:
    """A folder with a short name: gpg's helper listens in it."""
    with tempfile.TemporaryDirectory(prefix="gpg-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def grace(short: Path) -> Iterator[GpgKey]:
    key = make_gpg_key(short / "grace")
    yield key
    key.stop()


@pytest.fixture(scope="module")
def other(short: Path) -> Iterator[GpgKey]:
    key = make_gpg_key(short / "other", "Mallory <mallory@example.com>")
    yield key
    key.stop()


@pytest.fixture
def keys(tmp_path: Path, grace: GpgKey) -> Path:
    file = tmp_path / "keys.asc"
    file.write_text(grace.public)
    return file


@pytest.fixture
def reading(signed: Signed, keys: Path) -> Repository:
    signed.push(signed.ada)
    repository = signed.open(gpg_keys=keys)
    repository.poll()
    return repository


def push(signed: Signed, key: GpgKey) -> str:
    signing_by_gpg(signed.remote, key)
    signed.remote.write("notes.txt", f"{signed.remote.tip}\n")
    commit = signed.remote.commit("Signed by gpg")
    signed.remote.push()
    return commit


def doubt(poll: Poll) -> VerificationFailure | None:
    assert poll.verification is not None
    return poll.verification.held.doubt if poll.verification.held else None


def test_a_listed_key_counts_beside_ssh_keys(reading: Repository, signed: Signed, grace: GpgKey) -> None:
    commit = push(signed, grace)
    assert reading.poll().commit == commit
    later = signed.push(signed.ada)
    poll = reading.poll()
    assert (poll.commit, poll.verification) == (later, SourceVerification())


def test_a_key_that_nobody_listed(reading: Repository, signed: Signed, other: GpgKey) -> None:
    before = reading.head
    push(signed, other)
    poll = reading.poll()
    assert (poll.commit, doubt(poll)) == (before, VerificationFailure.UNKNOWN_KEY)
    assert poll.verification is not None
    assert poll.verification.held is not None
    assert other.fingerprint.endswith(poll.verification.held.key)


def test_without_a_file_of_keys_no_openpgp_signature_counts(signed: Signed, grace: GpgKey) -> None:
    signed.push(signed.ada)
    repository = signed.open()
    before = repository.poll().commit
    push(signed, grace)
    poll = repository.poll()
    assert (poll.commit, doubt(poll)) == (before, VerificationFailure.UNKNOWN_KEY)


def altered(signed: Signed, commit: str, pattern: str, by: str) -> str:
    """Another commit in place of this one, as the head of main."""
    raw = signed.remote.run("cat-file", "commit", commit)
    changed = re.sub(pattern, by, raw, count=1)
    assert changed != raw
    (signed.folder / "raw").write_text(changed + "\n")
    made = signed.remote.run("hash-object", "-t", "commit", "-w", "--literally", str(signed.folder / "raw"))
    signed.remote.force_push(to=made)
    return made


ALTERED = {
    "another message": ("Signed by gpg", "Forged by ggp", VerificationFailure.INVALID),
    "no end of the armor, which gpg lets pass": ("(?m)^ -----END PGP SIGNATURE-----\n", "", None),
    "another header between": ("author ", "gpgsig-sha256 x\nauthor ", None),
    "two signatures": ("author ", "gpgsig -----BEGIN PGP SIGNATURE-----\nauthor ", VerificationFailure.NOT_CHECKABLE),
    "nonsense": (r"gpgsig (?s:.*)-----END PGP SIGNATURE-----", "gpgsig -----BEGIN PGP SIGNATURE-----\n x", None),
}


@pytest.mark.parametrize("name", ALTERED)
def test_a_commit_that_was_changed(reading: Repository, signed: Signed, grace: GpgKey, name: str) -> None:
    pattern, by, wanted = ALTERED[name]
    before = reading.head
    commit = altered(signed, push(signed, grace), pattern, by)
    poll = reading.poll()
    verified = subprocess.run(
        ["git", "-c", f"gpg.program={grace.home / 'gpg.sh'}", "verify-commit", commit],
        cwd=signed.remote.clone,
        env=locked_down_env(signed.remote.folder),
        capture_output=True,
    )
    assert (poll.commit == commit) <= (verified.returncode == 0), "git must agree with every commit that counts"
    if wanted is not None:
        assert (poll.commit, doubt(poll)) == (before, wanted)


def test_a_revoked_key_does_not_count(signed: Signed, short: Path) -> None:
    key = make_gpg_key(short / "revoked")
    try:
        signed.push(signed.ada)
        file = signed.folder / "keys.asc"
        file.write_text(key.public)
        repository = signed.open(gpg_keys=file)
        before = repository.poll().commit
        push(signed, key)
        key.revoke()
        file.write_text(key.public)
        poll = repository.poll()
        assert (poll.commit, doubt(poll)) == (before, VerificationFailure.KEY_NOT_VALID)
    finally:
        key.stop()


def test_an_expired_key_does_not_count(signed: Signed, short: Path) -> None:
    """It was made a year ago, for a day, and signed in time."""
    key = GpgKey(short / "expired")
    make_gpg_key(short / "unused").stop()
    key.home.mkdir(mode=0o700)
    then = ("--faked-system-time", "20240101T000000!")
    try:
        name = "Grace <grace@example.com>"
        key.gpg(*then, "--passphrase", "", "--quick-generate-key", name, "ed25519", "sign", "1d")
        signed.push(signed.ada)
        file = signed.folder / "keys.asc"
        file.write_text(key.public)
        repository = signed.open(gpg_keys=file)
        before = repository.poll().commit
        signing_by_gpg(signed.remote, key)
        program = key.home / "gpg.sh"
        program.write_text(f'#!/bin/sh\nexec gpg --homedir "{key.home}" {" ".join(then)} "$@"\n')
        signed.remote.commit("In time, it says")
        signed.remote.push()
        poll = repository.poll()
        assert (poll.commit, doubt(poll)) == (before, VerificationFailure.KEY_NOT_VALID)
    finally:
        key.stop()


# --- the file of keys ---

_NONSENSE = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----\n"


def wrong(signed: Signed, content: str | bytes) -> str:
    file = signed.folder / "keys.asc"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InvalidInput) as error:
        signed.open(gpg_keys=file)
    return str(error.value).replace(str(file), "FILE")


def test_a_file_without_public_keys_is_an_error_at_the_start(signed: Signed, grace: GpgKey) -> None:
    remedy = " (write what `gpg --armor --export KEY` prints)"
    assert wrong(signed, "hello\n") == f"--verify-gpg-keys FILE:1: has no armored OpenPGP public key{remedy}"
    private = "# mine\n-----BEGIN PGP PRIVATE KEY BLOCK-----\n"
    why = "has a private key: only the public ones belong here"
    assert wrong(signed, grace.public + private).startswith("--verify-gpg-keys FILE:")
    assert why in wrong(signed, grace.public + private)
    assert "has a key that gpg refuses: " in wrong(signed, grace.public[:120])
    assert "has a key that gpg refuses: " in wrong(signed, grace.public + _NONSENSE)
    assert "is larger than 1024 KiB" in wrong(signed, "x" * (1024 * 1024 + 1))


@pytest.mark.parametrize("failure", ["make_keyring", "tempfile.TemporaryDirectory"])
def test_changed_keys_that_this_machine_cannot_try_are_taken_as_soon_as_it_can(
    reading: Repository, signed: Signed, keys: Path, other: GpgKey, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    before = reading.head
    keys.write_text(other.public)
    with monkeypatch.context() as patched:
        patched.setattr(f"gitops_bg.repo.read.main_verifier.{failure}", fail)
        poll = reading.poll()
        assert poll.commit == before
        assert poll.verification is not None
        assert poll.verification.keys_trouble == (
            f"--verify-gpg-keys {keys}: gpg cannot be started: Resource temporarily unavailable "
            "(give the agent memory, processes and room for temporary files); the keys that were read last still count"
        )
    commit = push(signed, other)
    poll = reading.poll()
    assert (poll.commit, poll.verification) == (commit, SourceVerification())


def test_a_machine_without_gpg_says_so(signed: Signed, keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "gpg" else f"/usr/bin/{name}")
    with pytest.raises(InvalidInput, match=r"--verify-gpg-keys: gpg is not on this machine \(install GnuPG\)"):
        signed.open(gpg_keys=keys)


def test_nothing_of_it_stays_behind(
    reading: Repository, signed: Signed, grace: GpgKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "temporary"
    empty.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(empty))
    commit = push(signed, grace)
    assert reading.poll().commit == commit
    assert list(empty.iterdir()) == []


def test_a_gpg_that_hangs_ends(grace: GpgKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "slow"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    monkeypatch.setattr(signatures, "GPG", str(program))
    monkeypatch.setattr(signatures, "_SECONDS_OF_GPG", 0.2)
    found = make_keyring(tmp_path, grace.public.encode())
    assert found is not None
    assert found.message == f"is not read by {program} within 0 s"


AT_ITS_KEYS, AT_A_SIGNATURE = "--import", "--verify"


@pytest.mark.parametrize("when", [AT_ITS_KEYS, AT_A_SIGNATURE])
@pytest.mark.parametrize("failure", ["exec sleep 600", "yes yes", "kill -9 $$", "exit 2"])
def test_what_a_gpg_that_fails_did_not_judge_is_asked_again_after_minutes(
    reading: Repository, signed: Signed, grace: GpgKey, monkeypatch: pytest.MonkeyPatch, when: str, failure: str
) -> None:
    before, now = reading.head, [0.0]
    monkeypatch.setattr(reading.signatures._known, "_monotonic", lambda: now[0])
    commit = push(signed, grace)
    with monkeypatch.context() as patched:
        patched.setattr(signatures, "GPG", program(signed, f'case "$*" in *{when}*) {failure};; esac'))
        patched.setattr(signatures, "_SECONDS_OF_GPG", 0.2 if when == AT_ITS_KEYS else 10.0)
        patched.setattr(signatures, "_SECONDS", 2.0)
        poll = reading.poll()
        assert (poll.commit, doubt(poll)) == (before, VerificationFailure.NOT_CHECKABLE)
    with monkeypatch.context() as patched:
        patched.setattr(signatures, "make_keyring", lambda *_: pytest.fail("gpg is asked again at once"))
        assert doubt(reading.poll()) is VerificationFailure.NOT_CHECKABLE
    now[0] += FIRST_SECONDS
    assert reading.poll().commit == commit


def program(signed: Signed, first: str) -> str:
    """A gpg that does something before it is gpg."""
    made = signed.folder / "gpg-with-more"
    made.write_text(f'#!/bin/sh\n{first}\nexec gpg "$@"\n')
    made.chmod(0o755)
    return str(made)


# --- what it may cost ---


def bomb() -> str:
    """An armored packet of compressed data, of some hundred bytes: gpg unpacks 64 MiB."""
    packed = b"\x03" + bz2.compress(bytes(64 * 1024 * 1024))
    lines = textwrap.wrap(base64.b64encode(b"\xc8\xff" + len(packed).to_bytes(4, "big") + packed).decode(), 64)
    return "\n ".join(["-----BEGIN PGP SIGNATURE-----", "", *lines, "-----END PGP SIGNATURE-----"]) + "\n"


def test_what_gpg_unpacks_for_nothing_it_unpacks_once(
    reading: Repository, signed: Signed, grace: GpgKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at each look: the data may be of any size."""
    before = reading.head
    altered(signed, push(signed, grace), r"gpgsig (?s:.*)-----END PGP SIGNATURE-----\n(?: \n)?", f"gpgsig {bomb()}")
    asked = asked_about(reading, monkeypatch)
    for _ in range(2):
        poll = reading.poll()
        assert (poll.commit, doubt(poll)) == (before, VerificationFailure.NOT_CHECKABLE)
    assert len(asked) == 1


def asked_about(reading: Repository, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commits of each process of git that checks signatures from now on."""
    asked: list[list[str]] = []
    parts = reading.mirror.git.parts

    def noting(*arguments: str, stdin: bytes = b"", **how: Any) -> Any:
        if "log" in arguments:
            asked.append(stdin.decode().split())
        return parts(*arguments, stdin=stdin, **how)

    monkeypatch.setattr(reading.mirror.git, "parts", noting)
    return asked


def test_a_signature_beside_a_message_that_is_signed_does_not_count(
    reading: Repository, signed: Signed, grace: GpgKey
) -> None:
    """A signed mail, as an armor of signatures: the signature is good, for what the mail says."""
    before = reading.head
    (signed.folder / "mail").write_text("hello\n")
    mail = grace.gpg("--armor", "--output", "-", "--sign", str(signed.folder / "mail"))
    mail = mail.replace("PGP MESSAGE", "PGP SIGNATURE").rstrip("\n").replace("\n", "\n ")
    altered(signed, push(signed, grace), r"gpgsig (?s:.*)-----END PGP SIGNATURE-----", f"gpgsig {mail}")
    poll = reading.poll()
    assert (poll.commit, doubt(poll)) == (before, VerificationFailure.NOT_CHECKABLE)


def test_after_a_bad_commit_no_other_is_checked(
    reading: Repository, signed: Signed, other: GpgKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = reading.head
    first = push(signed, other)
    for _ in range(2):
        push(signed, other)
    asked = asked_about(reading, monkeypatch)
    for _ in range(2):
        poll = reading.poll()
        assert poll.verification is not None
        assert poll.verification.held is not None
        assert (poll.commit, poll.verification.held.commit) == (before, first)
    assert asked == [[first]], "what a key that nobody listed has signed stays so, and costs gpg once"


def test_many_commits_cost_two_processes_of_git(
    reading: Repository, signed: Signed, grace: GpgKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one that nobody knows is checked alone: it may be a bad one."""
    commits = [push(signed, grace) for _ in range(5)]
    asked = asked_about(reading, monkeypatch)
    assert reading.poll().commit == commits[-1]
    assert asked == [commits[:1], commits[1:]]


def test_one_that_takes_all_the_time_takes_no_answer_from_those_before_it_and_behind_it(
    reading: Repository, signed: Signed, grace: GpgKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = [push(signed, grace) for _ in range(4)]
    assert reading.poll().commit == commits[-1]
    keys, good = Keys(openpgp=grace.public.encode()), Signature("Grace <grace@example.com>")
    asked = signed.folder / "asked"
    at_the_second = f'echo >> "{asked}"; [ "$(wc -l < "{asked}")" -ne 2 ] || exec sleep 600'
    with monkeypatch.context() as patched:
        patched.setattr(signatures, "GPG", program(signed, f'case "$*" in *--verify*) {at_the_second};; esac'))
        patched.setattr(signatures, "_SECONDS", 2.0)
        found = reading.signatures.of(commits, keys, anew=True)
    assert list(found.values()) == [good, NO_ANSWER, NO_ANSWER, NO_ANSWER]
    again = reading.signatures.of(commits, keys, anew=True)
    assert list(again.values()) == [good, NO_ANSWER, good, good], "git never came to those behind it"


def test_a_git_that_is_stopped_leaves_no_file(
    reading: Repository, signed: Signed, grace: GpgKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found: git writes each signature to a temporary file, and one that is killed leaves it there."""
    commit = push(signed, grace)
    assert reading.poll().commit == commit
    temporary = signed.folder / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(signatures, "GPG", program(signed, 'case "$*" in *--verify*) exec sleep 600;; esac'))
    monkeypatch.setattr(signatures, "_SECONDS", 1.0)
    assert reading.signatures.of([commit], Keys(openpgp=grace.public.encode()), anew=True) == {commit: NO_ANSWER}
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("when", ["--import", "--verify"])
def test_gpg_runs_within_limits(
    reading: Repository, signed: Signed, grace: GpgKey, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    told = signed.folder / "told"
    noted = f'ulimit -t > "{told}"; ulimit -d >> "{told}"'
    monkeypatch.setattr(signatures, "GPG", program(signed, f'case "$*" in *{when}*) {noted};; esac'))
    commit = push(signed, grace)
    assert reading.poll().commit == commit
    assert told.read_text().split() == ["10", str(256 * 1024)]


@pytest.mark.parametrize("line", ["parent ", "author "])
def test_a_good_signature_that_was_moved_up_does_not_count(
    reading: Repository, signed: Signed, grace: GpgKey, line: str
) -> None:
    """As one of an SSH key: git reads no parents behind it."""
    before = reading.head
    raw = signed.remote.run("cat-file", "commit", push(signed, grace)) + "\n"
    (signed.folder / "raw").write_bytes(with_signature_before(raw.encode(), line.encode()))
    forged = signed.remote.run("hash-object", "-t", "commit", "-w", "--literally", str(signed.folder / "raw"))
    signed.remote.force_push(to=forged)
    poll = reading.poll()
    assert (poll.commit, doubt(poll)) == (before, VerificationFailure.NOT_CHECKABLE)
