"""Whose signature a commit has, by a file of allowed signers, with real keys and Git; what attacks do."""

from __future__ import annotations

import errno
import re
import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from gitops_bg.agent.desired.policy_inputs import SignedFacts
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.policy_facts import PolicyInput
from gitops_bg.core.model.policy_rules import BreakGlass, Policy, Proof
from gitops_bg.repo.git.runner import Finished, GitFailed
from gitops_bg.repo.read.signatures import FIRST_SECONDS, Keys, NoSshKeygen, Signature
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.write.main_branch import Edited
from tests.integration.repo.conftest import Opener
from tests.support.git.remote import GitRemote
from tests.support.raw_commits import with_signature_before
from tests.support.signers import PEOPLE, Key, make_key
from tests.support.signers import signing as sign

BRANCH = "gitops-bg/promote/shop/web"


@pytest.fixture
def grace(tmp_path: Path) -> Key:
    return make_key(tmp_path, "grace key")


@pytest.fixture
def signing(opened: Opener, grace: Key) -> Repository:
    """Grace's own mirror, which signs."""
    repository = opened(mirror="grace", signing_key=grace.private, author=("Grace", "g@example.com"))
    repository.poll()
    return repository


@pytest.fixture
def reading(opened: Opener) -> Repository:
    """The agent's."""
    repository = opened()
    repository.poll()
    return repository


def note(signing: Repository, how: str = "fine") -> str:
    """A signed commit of main."""
    done = signing.edits.commit({f"notes/{uuid4()}.txt": b"x\n"}, f"Note that it is {how}")
    assert isinstance(done, Edited)
    return done.commit


def signature(reading: Repository, commit: str, *lines: str) -> Signature:
    reading.poll()
    return reading.signatures.of([commit], Keys("".join(lines).encode()))[commit]


SIGNERS = {
    "another key": ("", "the key that signed it is not in policies/allowed_signers"),
    "no file at all": (None, "the key that signed it is not in policies/allowed_signers"),
    "a key for another purpose": (
        'namespaces="file"',
        "its signature does not hold, or its key is for another purpose",
    ),
    "a key that was not valid yet": ('valid-after="20991231Z"', "the key that signed it is not in policies/allowed_"),
    "a key that had ended": ('valid-before="20200101Z"', "the key that signed it is not in policies/allowed_signers"),
}


@pytest.mark.parametrize("name", SIGNERS)
def test_a_signature_by_a_key_that_is_not_allowed_is_none(
    signing: Repository, reading: Repository, grace: Key, tmp_path: Path, name: str
) -> None:
    options, why = SIGNERS[name]
    other = make_key(tmp_path, "other")
    line = "" if options is None else grace.line("grace", options) if options else other.line("grace")
    assert signature(reading, note(signing), line).why_not.startswith(why)


def test_a_key_that_ends_says_when_so_that_who_backdates_gains_nothing(
    signing: Repository, reading: Repository, grace: Key
) -> None:
    """The date of a commit is its author's to write: git compares the key with that, the agent with its own clock."""
    commit = note(signing)  # dated 2026-03-01
    ends = signature(reading, commit, grace.line("grace", 'valid-before="20260302Z"'))
    assert ends == Signature("grace", expires=datetime(2026, 3, 2, tzinfo=UTC))
    both = (grace.line("grace", 'valid-before="20260304"'), grace.line("g", 'valid-before="202603031200Z"'))
    assert signature(reading, commit, *both).expires == datetime(2026, 3, 3, 12, tzinfo=UTC)
    assert signature(reading, commit, grace.line("grace", 'valid-before="20260302Z"'), grace.line("g")).expires


def test_an_unsigned_commit_and_one_that_was_changed_are_none(
    reading: Repository, signing: Repository, remote: GitRemote, grace: Key
) -> None:
    commit = note(signing)
    raw = remote.run("cat-file", "commit", commit, cwd=remote.bare).replace("it is fine", "it is foul")
    file = remote.folder / "forged"
    file.write_text(raw + "\n")
    forged = remote.run("hash-object", "-t", "commit", "-w", str(file), cwd=remote.bare)
    remote.run("update-ref", f"refs/heads/{BRANCH}", forged, cwd=remote.bare)
    assert signature(reading, forged, grace.line("grace")).why_not.startswith("its signature does not hold")
    unsigned = remote.run("rev-parse", f"{commit}^", cwd=remote.bare)
    assert signature(reading, unsigned, grace.line("grace")).why_not == "it is not signed"
    assert signature(reading, "0" * 40, grace.line("grace")).why_not == "nobody can read it"


def odd(write: Callable[[str], str], commit: str, remote: GitRemote) -> str:
    """The commit in another form, as the new head of the branch."""
    file = remote.folder / "odd"
    file.write_text(write(remote.run("cat-file", "commit", commit, cwd=remote.bare)) + "\n")
    made = remote.run("hash-object", "-t", "commit", "-w", "--literally", str(file), cwd=remote.bare)
    remote.run("update-ref", f"refs/heads/{BRANCH}", made, cwd=remote.bare)
    return made


def written_twice(raw: str) -> str:
    """Repeat the signature's header."""
    head, _, message = raw.partition("\n\n")
    return f"{head}\n{head[head.index('gpgsig ') :]}\n\n{message}"


CANNOT = "its signature cannot be checked"
ODD = {
    "in no known form": (lambda raw: re.sub("gpgsig .*", "gpgsig hello", raw), CANNOT),
    "empty": (lambda raw: re.sub("gpgsig .*", "gpgsig ", raw), CANNOT),
    "after a space": (lambda raw: raw.replace("gpgsig ", "gpgsig  "), CANNOT),
    "by GPG": (lambda raw: raw.replace("BEGIN SSH", "BEGIN PGP"), "OpenPGP keys do not count"),
    "huge": (lambda raw: raw.replace("gpgsig ", f"more {'x' * 70_000}\ngpgsig "), CANNOT),
    "written twice": (written_twice, CANNOT),
    "beside one for other ids": (lambda raw: raw.replace("\n\n", "\ngpgsig-sha256 x\n\n", 1), CANNOT),
    "before the parents": (lambda raw: with_signature_before(raw.encode(), b"parent ").decode(), CANNOT),
    "before the author": (lambda raw: with_signature_before(raw.encode(), b"author ").decode(), CANNOT),
    "after a date that git cannot hold": (lambda raw: re.sub(r"> \d+ ", "> 99999999999999999999 ", raw), CANNOT),
    "in the message": (lambda raw: re.sub(r"(?s)(gpgsig .*?\n)(?! )(.*)", r"\2\n\1", raw), "it is not signed"),
}


@pytest.mark.parametrize("name", ODD)
def test_a_signature_that_git_cannot_read_spoils_no_other(
    signing: Repository, reading: Repository, remote: GitRemote, grace: Key, name: str
) -> None:
    """Git dies at some: that is no damage to the mirror, which would be cloned again without end."""
    write, why = ODD[name]
    note(signing, "first")
    bad = odd(write, note(signing), remote)
    signing.poll()
    good = note(signing)
    reading.poll()
    found = reading.signatures.of([bad, good], Keys(grace.line("grace").encode()))
    assert found == {bad: Signature(why_not=why), good: Signature("grace")}


def test_what_was_checked_once_costs_no_process(
    signing: Repository, reading: Repository, grace: Key, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = note(signing)
    signature(reading, commit, grace.line("grace"))
    monkeypatch.setattr(reading.mirror.git, "parts", lambda *_, **__: pytest.fail("a commit is checked again"))
    assert reading.signatures.of([commit], Keys(grace.line("grace").encode()))[commit].principal == "grace"


def test_a_bad_answer_is_asked_for_again_after_minutes_and_ever_more_rarely(
    signing: Repository, reading: Repository, grace: Key, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been this machine's failure; but whoever may push a branch can push what stays bad."""
    now, asked = [0.0], [0]
    parts = reading.mirror.git.parts

    def counted(*arguments: str, **how: object) -> object:
        asked[0] += 1
        return parts(*arguments, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(reading.mirror.git, "parts", counted)
    monkeypatch.setattr(reading.signatures._known, "_monotonic", lambda: now[0])
    commit = note(signing)
    reading.poll()
    asked[0] = 0
    with monkeypatch.context() as failing:
        failing.setattr(tempfile, "TemporaryDirectory", no_room)
        assert signature(reading, commit, grace.line("grace")).why_not == CANNOT
    assert signature(reading, commit, grace.line("grace")).why_not == CANNOT
    now[0] += FIRST_SECONDS
    assert signature(reading, commit, grace.line("grace")) == Signature("grace")
    asked[0] = 0
    for _ in range(24 * 60):
        assert signature_again(reading, commit) != ""
        now[0] += 60
    assert 2 < asked[0] < 12, "a day of looks"


def signature_again(reading: Repository, commit: str) -> str:
    return reading.signatures.of([commit], Keys(b""))[commit].why_not


def no_room(**_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_commit_at_which_git_fails_spoils_no_other_and_is_no_damage_to_the_mirror(
    signing: Repository, reading: Repository, grace: Key, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = note(signing)
    good = note(signing, "other")
    reading.poll()
    parts = reading.mirror.git.parts

    def dying(*arguments: str, stdin: bytes = b"", **how: int) -> object:
        if bad.encode() in stdin:
            raise GitFailed("log", Finished(128, b"", "fatal: Timestamp too large for this system"))
        return parts(*arguments, stdin=stdin, **how)

    monkeypatch.setattr(reading.mirror.git, "parts", dying)
    found = reading.signatures.of([bad, good], Keys(grace.line("grace").encode()))
    assert found == {bad: Signature(why_not=CANNOT), good: Signature("grace")}


def test_a_machine_without_ssh_keygen_says_so(
    signing: Repository, reading: Repository, grace: Key, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = note(signing)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(NoSshKeygen, match="ssh-keygen is not on this machine"):
        signature(reading, commit, grace.line("grace"))


def test_a_file_of_signers_that_is_too_large_is_not_used(signing: Repository, reading: Repository, grace: Key) -> None:
    assert signature(reading, note(signing), grace.line("grace"), "#" * 300_000).why_not.endswith("is too large")


def test_a_key_that_cannot_sign_is_an_error_that_says_what_would_be_right(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "no key").write_text("no key")
    repository = opened(mirror="bad", signing_key=tmp_path / "no key")
    repository.poll()
    with pytest.raises(InvalidInput, match=r"--signing-key.*cannot sign.*without a passphrase"):
        note(repository)


@pytest.mark.parametrize("brings_the_key", [False, True])
def test_a_key_that_comes_with_a_pull_does_not_count_for_what_the_pull_promotes(
    reading: Repository, remote: GitRemote, grace: Key, brings_the_key: bool
) -> None:
    """Who is behind lists their own key, promotes and merges main: before that, main did not have the key."""
    stale = remote.tip
    listed = {"policies/allowed_signers": grace.line("grace"), "policies/people.yaml": PEOPLE}
    main = remote.publish("Noted", {"NOTES": "x\n", **({} if brings_the_key else listed)})
    reading.poll()
    remote.run("reset", "--quiet", "--hard", stale)
    remote.stage(listed if brings_the_key else {"apps/shop/web/primary.yaml": "x: 1\n"})
    remote.commit("Mine")
    sign(remote, grace)
    said = "Merge branch 'main' of https://example.com/shop/config\n\nBg-Override: stop\nBg-Reason: INC-1"
    remote.run("merge", "--quiet", "--no-ff", "-m", said, main)
    remote.push()
    reading.poll()
    (promotion,) = reading.commits.facts([remote.tip]).values()
    glass = Policy("stop", override=BreakGlass(("grace",), frozenset(), Proof.SIGNED))
    asked = PolicyInput((glass,), commits=(promotion,))
    (found,) = SignedFacts(reading).with_overrides(asked, remote.tip, remote.tip).commits
    past = SignedFacts(reading).signed_before(promotion)
    assert found.signed is not None
    assert (found.signed.name, past.signed) == ("" if brings_the_key else "grace", found.signed)
