"""Up to which commit main is read, with real Git and SSH keys: what is signed, held, vouched for, and after what."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_bg.core.model.main import SourceVerification, UnverifiedCommit, VerificationFailure
from gitops_bg.repo.git.errors import MainNotVerified, OwnCommitNotChecked, PushRefused, RemoteMoved
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.read import main_verifier
from gitops_bg.repo.read.main_verifier import VerifiedBefore
from gitops_bg.repo.read.polling import Poll
from gitops_bg.repo.read.signatures import NoSshKeygen
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.write.main_branch import Edited
from tests.integration.repo.conftest import API, WEB, change, git_calls
from tests.integration.repo.verification.conftest import Signed
from tests.support.raw_commits import with_signature_before
from tests.support.signers import signing


def held(poll: Poll) -> UnverifiedCommit:
    assert poll.verification is not None
    assert poll.verification.held is not None
    return poll.verification.held


@pytest.fixture
def good(signed: Signed) -> str:
    """A head of main that Ada signed."""
    return signed.push(signed.ada)


@pytest.fixture
def reading(signed: Signed, good: str) -> Repository:
    """The agent's Repository, which has read that head."""
    repository = signed.open()
    assert repository.poll().commit == good
    return repository


def test_a_signed_head_is_read_and_vouches_for_all_before_it(reading: Repository, good: str) -> None:
    poll = reading.poll()
    assert (poll.commit, poll.moved) == (good, False)
    assert poll.verification is not None
    assert (poll.verification.held, poll.verification.keys_trouble) == (None, "")
    assert WEB in reading.apps()


def test_without_keys_nothing_is_asked(signed: Signed) -> None:
    signed.push(None)
    assert signed.opened(mirror="other").poll().verification is None


def test_the_first_look_reads_nothing_of_a_head_that_is_not_signed(signed: Signed, good: str) -> None:
    commit = signed.push(None)
    repository = signed.open()
    for _ in range(2):
        with pytest.raises(
            MainNotVerified, match=f"{commit[:10]} by Ada Pusher is not signed: nothing of main is read"
        ):
            repository.poll()
    with pytest.raises(RemoteMoved):
        _ = repository.head
    last = signed.push(signed.ada)
    assert repository.poll().commit == last, "a signed head vouches for all before it"


def test_an_unsigned_commit_is_not_read_nor_what_comes_after_it(reading: Repository, signed: Signed, good: str) -> None:
    signed.remote.stage({"apps/shop/new/app.yaml": "kind: Nothing\n"})
    commit = signed.push(None)
    poll = reading.poll()
    assert (poll.commit, poll.moved, reading.head, poll.changed) == (good, False, good, frozenset())
    assert held(poll) == UnverifiedCommit(commit, "Ada Pusher", VerificationFailure.NOT_SIGNED, last=good)
    signed.push(signed.ada)
    assert (reading.poll().commit, held(reading.poll()).commit) == (good, commit)
    assert [app.name for app in reading.apps()] == ["api", "web"]


def test_what_is_signed_before_it_is_read(reading: Repository, signed: Signed) -> None:
    """As if the two had been pushed apart: how often the agent looks changes nothing."""
    between = signed.push(signed.ada)
    commit = signed.push(None)
    poll = reading.poll()
    assert (poll.commit, poll.moved, held(poll).commit, held(poll).last) == (between, True, commit, between)


@pytest.mark.parametrize("restarted", ["same mirror", "new mirror, the records remember", "new mirror, nothing known"])
def test_a_restart_while_main_is_held(signed: Signed, reading: Repository, good: str, restarted: str) -> None:
    commit = signed.push(None)
    reading.poll()
    reading.close()
    repository = signed.open("mirror" if restarted == "same mirror" else "another")
    if "remember" in restarted:
        repository.remember(lambda: VerifiedBefore(frozenset({good, "0" * 40})))
    if "nothing" in restarted:
        with pytest.raises(MainNotVerified):
            repository.poll()
        return
    poll = repository.poll()
    assert (poll.commit, held(poll).commit, WEB in repository.apps()) == (good, commit, True)


def test_what_live_traffic_was_decided_from_counts_though_nobody_signed_it(signed: Signed) -> None:
    """Verification may be switched on at any time; from then on every new commit has to be signed."""
    before = signed.push(None)
    repository = signed.open()
    repository.remember(lambda: VerifiedBefore(frozenset({before})))
    assert repository.poll().commit == before
    later = signed.push(None)
    poll = repository.poll()
    assert (poll.commit, held(poll).commit) == (before, later)


def _another_history(signed: Signed) -> str:
    """Force-push a signed history that has nothing in common with main's, on top of what nobody signed. Returns its
    head.
    """
    signing(signed.remote, None)
    signed.remote.run("checkout", "--quiet", "--orphan", "other")
    signed.remote.write("apps/shop/evil/app.yaml", "kind: Nothing\n")
    signed.remote.commit("Another history")
    signing(signed.remote, signed.ada)
    commit = signed.remote.commit("On top of it")
    signed.remote.run("push", "--quiet", "--force", "origin", "HEAD:main")
    return commit


@pytest.mark.parametrize("lost", ["restart", "rebuild"])
def test_a_signed_head_vouches_for_no_history_without_what_was_verified_before(
    signed: Signed, reading: Repository, good: str, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found: a mirror that was cloned anew lacks what was read, and "nothing is known" made the head alone count."""
    _another_history(signed)
    monkeypatch.setattr(Mirror, "fetch_commit", lambda *_: False)  # as a remote that has forgotten it
    repository = reading if lost == "rebuild" else signed.open("another")
    repository.remember(lambda: VerifiedBefore(frozenset({good})))
    if lost == "rebuild":
        reading.mirror.rebuild()
    with pytest.raises(MainNotVerified, match=f"without what was verified before: .* merge it onto {good[:10]}"):
        repository.poll()
    signed.remote.run("push", "--quiet", "--force", "origin", f"{good}:main")
    assert repository.poll().commit == good


def test_what_was_verified_before_is_fetched_where_the_remote_still_has_it(
    signed: Signed, reading: Repository, good: str
) -> None:
    _another_history(signed)
    repository = signed.open("another")
    repository.remember(lambda: VerifiedBefore(frozenset({good})))
    poll = repository.poll()
    assert (poll.commit, held(poll).doubt) == (good, VerificationFailure.NOT_SIGNED)


def test_while_a_record_cannot_be_read_a_new_mirror_believes_nothing(signed: Signed, good: str) -> None:
    """Found: a namespace that could not be listed at the start made what was verified before nothing."""
    answers = [VerifiedBefore(is_complete=False), VerifiedBefore(frozenset({good}))]
    signed.push(None)
    head = signed.push(signed.ada)
    repository = signed.open()
    repository.remember(lambda: answers[0])
    with pytest.raises(MainNotVerified, match=f"{head[:10]} by .* waits until the record of every app can be read"):
        repository.poll()
    del answers[0]
    poll = repository.poll()
    assert (poll.commit, held(poll).doubt) == (good, VerificationFailure.NOT_SIGNED)


def test_the_agent_does_not_push_what_would_not_be_verified(signed: Signed, reading: Repository) -> None:
    """Found: once its key had left the list, its own commit held main until a person vouched for it."""
    head = signed.remote.head()
    signed.write(signed.ada.line("ada"))
    reading.poll()
    with pytest.raises(PushRefused, match=r"list the public key of --signing-key by --verify-signers"):
        reading.promotions.commit([change(reading)])
    assert signed.remote.head() == head


def test_a_failure_at_the_agent_s_own_commit_is_no_refusal_and_is_tried_again(
    signed: Signed, good: str, fails: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = signed.open()
    repository.poll()
    head, failing = signed.remote.head(), fails.with_name("fails-at-checks")
    failing.touch()
    with pytest.raises(OwnCommitNotChecked, match=r"cannot be checked .*, because ssh-keygen fails; it is tried"):
        repository.promotions.commit([change(repository)])
    failing.unlink()
    with monkeypatch.context() as patched:
        patched.setattr("gitops_bg.repo.read.signatures.shutil.which", lambda _: None)
        with pytest.raises(NoSshKeygen, match="install OpenSSH"):
            repository.promotions.commit([change(repository)])
    assert signed.remote.head() == head
    assert repository.promotions.commit([change(repository)])[WEB].commit == signed.remote.head() != head


def test_one_failure_at_the_agent_s_own_commit_holds_nothing_up(
    signed: Signed, good: str, fails: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = signed.open()
    repository.poll()
    failing, asked, doubt_of = fails.with_name("fails-at-checks"), list[str](), repository.mirror.doubt_of

    def once(commit: str) -> VerificationFailure | None:
        asked.append(commit)
        if asked.count(commit) == 1 and commit != good:
            failing.touch()
        try:
            return doubt_of(commit)
        finally:
            failing.unlink(missing_ok=True)

    monkeypatch.setattr(repository.mirror, "doubt_of", once)
    commit = repository.promotions.commit([change(repository)])[WEB].commit
    assert (signed.remote.head(), asked.count(commit)) == (commit, 2)


def test_a_push_of_more_own_commits_than_one_look_checks_is_made(
    signed: Signed, good: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found: a batch of more than 250 promotions was refused, since the rest was to be checked at the next look."""
    monkeypatch.setattr(main_verifier, "MOST", 1)
    repository = signed.open()
    repository.poll()
    commits = repository.promotions.commit([change(repository), change(repository, app=API)])
    assert commits[API].commit == signed.remote.head()


UNLISTED = {
    "a key that nobody listed": (VerificationFailure.UNKNOWN_KEY, None),
    "a key that has ended": (VerificationFailure.KEY_NOT_VALID, 'valid-before="20200101Z"'),
    "a key that begins later": (VerificationFailure.KEY_NOT_VALID, 'valid-after="20991231Z"'),
    "a key for another purpose": (VerificationFailure.INVALID, 'namespaces="file"'),
}


@pytest.mark.parametrize("name", UNLISTED)
def test_a_key_that_does_not_count(reading: Repository, signed: Signed, good: str, name: str) -> None:
    doubt, options = UNLISTED[name]
    lines = [signed.agent.line("agent"), signed.ada.line("ada")]
    signed.write(*lines, *([] if options is None else [signed.mallory.line("mallory", options)]))
    commit = signed.push(signed.mallory)
    poll = reading.poll()
    assert (poll.commit, held(poll).commit, held(poll).doubt) == (good, commit, doubt)


def test_who_backdates_a_commit_gains_nothing_by_a_key_that_has_ended(reading: Repository, signed: Signed) -> None:
    """The date of a commit is its author's to write; the agent's clock says 2026-03-01, 12:00."""
    lines = [signed.agent.line("agent"), signed.ada.line("ada")]
    signed.write(*lines, signed.mallory.line("mallory", 'valid-before="20260301Z"'))
    signing(signed.remote, signed.mallory)
    signed.remote.commit("Yesterday", date=datetime(2026, 2, 1, tzinfo=UTC))
    signed.remote.push()
    assert held(reading.poll()).doubt is VerificationFailure.KEY_NOT_VALID
    signed.write(*lines, signed.mallory.line("mallory", 'valid-before="20260401Z"'))
    assert reading.poll().commit == signed.remote.tip


def test_a_forged_name_is_no_signature(reading: Repository, signed: Signed, good: str) -> None:
    name = "gitops-bg <gitops-bg@localhost>"
    commit = signed.push(None, "web: promoted v2", author=name)
    poll = reading.poll()
    assert (poll.commit, held(poll)) == (
        good,
        UnverifiedCommit(commit, "gitops-bg", VerificationFailure.NOT_SIGNED, last=good),
    )


def test_a_signature_of_another_commit_does_not_hold(reading: Repository, signed: Signed, good: str) -> None:
    commit = signed.push(signed.ada, "harmless")
    raw = signed.remote.run("cat-file", "commit", commit).replace("harmless", "harmful!")
    (signed.folder / "raw").write_text(raw + "\n")
    forged = signed.remote.run("hash-object", "-t", "commit", "-w", str(signed.folder / "raw"))
    signed.remote.force_push(to=forged)
    poll = reading.poll()
    assert (poll.commit, held(poll).commit, held(poll).doubt) == (good, forged, VerificationFailure.INVALID)


def rewritten(signed: Signed, commit: str, change: Callable[[bytes], bytes]) -> str:
    """This commit, changed as only who writes objects by hand can, as the head of main. Returns it."""
    raw = subprocess.run(
        ["git", "cat-file", "commit", commit], cwd=signed.remote.clone, capture_output=True, check=True
    )
    (signed.folder / "raw").write_bytes(change(raw.stdout))
    made = signed.remote.run("hash-object", "-t", "commit", "-w", "--literally", str(signed.folder / "raw"))
    signed.remote.force_push(to=made)
    return made


@pytest.mark.parametrize("place", ["the first parent", "the second parent", "the author"])
def test_a_good_signature_that_was_moved_up_does_not_count(
    reading: Repository, signed: Signed, good: str, place: str
) -> None:
    """What it covers is the same, but git reads no parents behind it: the commit would be the first of a history.

    Such a head has nothing before it that could be held, whatever its signer has built on.
    """
    feature = branch(signed)
    signing(signed.remote, signed.ada)
    merged = signed.remote.merge("feature")
    before = {"the first parent": "parent ", "the second parent": f"parent {feature}"}
    line = before.get(place, "author ").encode()
    forged = rewritten(signed, merged, lambda raw: with_signature_before(raw, line))
    signed.remote.run("-c", f"gpg.ssh.allowedSignersFile={signed.file}", "verify-commit", forged)
    poll = reading.poll()
    assert (poll.commit, held(poll).commit, held(poll).doubt) == (good, forged, VerificationFailure.NOT_CHECKABLE)


def test_a_date_that_git_cannot_hold_is_a_doubt_and_no_damage_to_the_mirror(
    reading: Repository, signed: Signed, good: str
) -> None:
    """Git dies where it is to say whose signature that is: the mirror was cloned anew at each look."""
    inode = reading.mirror.settings.mirror.stat().st_ino
    commit = signed.push(signed.ada)
    forged = rewritten(signed, commit, lambda raw: re.sub(rb"> \d+ ", b"> 99999999999999999999 ", raw))
    for _ in range(2):
        poll = reading.poll()
        assert (poll.commit, held(poll).commit, held(poll).doubt) == (good, forged, VerificationFailure.NOT_CHECKABLE)
    assert reading.mirror.settings.mirror.stat().st_ino == inode
    assert signed.push(signed.ada, "on top")
    assert held(reading.poll()).commit == forged


def test_an_ssh_keygen_that_fails_for_a_while_is_asked_again_at_the_next_look(
    signed: Signed, good: str, fails: Path
) -> None:
    reading = signed.open()
    assert reading.poll().commit == good
    commits = [signed.push(signed.ada) for _ in range(4)]
    fails.touch()
    for _ in range(2):
        poll = reading.poll()
        assert (poll.commit, held(poll).commit) == (good, commits[0])
    assert len(fails.read_text().splitlines()) <= 4, "only the first commit is asked about"
    fails.unlink()
    assert reading.poll().commit == commits[-1]


def branch(signed: Signed) -> str:
    """An unsigned commit of somebody without a key, on a branch of its own. Returns it."""
    signing(signed.remote, None)
    signed.remote.checkout("feature", new=True)
    signed.remote.write("notes.txt", "a feature\n")
    commit = signed.remote.commit("A feature")
    signed.remote.push("feature")
    signed.remote.checkout("main")
    return commit


def test_a_signed_merge_vouches_for_what_it_merges(reading: Repository, signed: Signed) -> None:
    feature = branch(signed)
    signing(signed.remote, signed.ada)
    merged = signed.remote.merge("feature")
    poll = reading.poll()
    assert (poll.commit, reading.contains(feature), poll.verification and poll.verification.held) == (
        merged,
        True,
        None,
    )


@pytest.mark.parametrize("how", [["--squash"], ["--ff-only"]])
def test_an_unsigned_squash_and_a_fast_forward_are_held(
    reading: Repository, signed: Signed, good: str, how: list[str]
) -> None:
    branch(signed)
    signing(signed.remote, None)
    signed.remote.run("merge", "--quiet", *how, "origin/feature")
    if how == ["--squash"]:
        signed.remote.commit("A feature (#1)")
    signed.remote.push()
    poll = reading.poll()
    assert (poll.commit, held(poll).commit) == (good, signed.remote.tip)


def test_an_operator_vouches_for_what_is_held_by_a_signed_merge(reading: Repository, signed: Signed, good: str) -> None:
    """The recipe of the docs: nothing is rewritten, and the push needs no force."""
    commit = signed.push(None)
    assert held(reading.poll()).commit == commit
    signing(signed.remote, signed.ada)
    signed.remote.run("checkout", "--quiet", "-B", "main", good)
    signed.remote.run("merge", "--quiet", "--no-ff", "-m", "I vouch for it", commit)
    signed.remote.push()
    poll = reading.poll()
    assert (poll.commit, poll.moved, poll.rewritten) == (signed.remote.tip, True, "")
    assert reading.contains(commit)


def test_a_signed_revert_on_top_does_not_help(reading: Repository, signed: Signed, good: str) -> None:
    commit = signed.push(None)
    signing(signed.remote, signed.ada)
    signed.remote.revert(commit)
    signed.remote.push()
    assert (reading.poll().commit, held(reading.poll()).commit) == (good, commit)


def test_main_without_the_commit_goes_on_and_is_no_rewritten_history(
    reading: Repository, signed: Signed, good: str
) -> None:
    """What was never read is not missed: signed again and pushed with force, or removed."""
    signed.push(None)
    reading.poll()
    signing(signed.remote, signed.ada)
    signed.remote.run("commit", "--quiet", "--amend", "--no-edit", "-S")
    signed.remote.force_push()
    poll = reading.poll()
    assert (poll.commit, poll.rewritten, poll.verification and poll.verification.held) == (
        signed.remote.tip,
        "",
        None,
    )
    signed.push(None)
    reading.poll()
    signed.remote.force_push(to=good)
    poll = reading.poll()
    assert poll.rewritten, "this one was read"


def test_a_pull_that_swaps_the_parents_of_main(reading: Repository, signed: Signed, good: str) -> None:
    """Then the line of first parents is that of somebody's clone: all of it is checked, and no part of it is main."""
    theirs = signed.push(signed.ada, "theirs")
    assert reading.poll().commit == theirs
    signing(signed.remote, signed.ada)
    signed.remote.run("checkout", "--quiet", "-B", "main", good)
    signed.remote.write("other.txt", "mine\n")
    signed.remote.commit("mine")
    signing(signed.remote, None)
    signed.remote.run("merge", "--quiet", "--no-ff", "-m", "Merge branch 'main' of origin", theirs)
    signed.remote.push()
    poll = reading.poll()
    assert (poll.commit, held(poll).commit, held(poll).last) == (theirs, signed.remote.tip, theirs)
    signing(signed.remote, signed.ada)
    signed.remote.run("commit", "--quiet", "--amend", "--no-edit", "-S")
    signed.remote.force_push()
    assert reading.poll().commit == signed.remote.tip


def test_main_moved_back_to_what_a_merge_vouched_for_is_held(reading: Repository, signed: Signed) -> None:
    """A reviewer looked at the result of the merge, not at each state on the way to it."""
    feature = branch(signed)
    signing(signed.remote, signed.ada)
    merged = signed.remote.merge("feature")
    assert reading.poll().commit == merged
    signed.remote.force_push(to=feature)
    poll = reading.poll()
    assert (poll.commit, held(poll).commit, poll.rewritten) == (merged, feature, "")


def test_a_rewritten_history_that_is_signed_is_the_lineages_matter(
    reading: Repository, signed: Signed, good: str
) -> None:
    signing(signed.remote, signed.ada)
    signed.remote.run("checkout", "--quiet", "-B", "main", f"{good}~1")
    other = signed.remote.commit("Another history")
    signed.remote.force_push()
    assert (reading.poll().commit, reading.poll().rewritten) == (other, good)


# --- the files of keys ---


def test_keys_that_change_at_run_time_count_at_the_next_look(reading: Repository, signed: Signed, good: str) -> None:
    commit = signed.push(signed.mallory)
    assert (reading.poll().commit, held(reading.poll()).doubt) == (good, VerificationFailure.UNKNOWN_KEY)
    lines = [signed.agent.line("agent"), signed.ada.line("ada")]
    signed.write(*lines, signed.mallory.line("mallory"))
    assert reading.poll().commit == commit
    signed.write(*lines)
    poll = reading.poll()
    assert poll.commit == commit, "what was read stays read"
    later = signed.push(signed.mallory)
    assert held(reading.poll()).commit == later


def test_a_file_of_keys_that_is_back_as_it_was_is_no_trouble_any_more(reading: Repository, signed: Signed) -> None:
    away = signed.file.rename(signed.file.with_name("away"))
    poll = reading.poll()
    assert poll.verification is not None
    assert "cannot be read: No such file" in poll.verification.keys_trouble
    away.rename(signed.file)
    assert reading.poll().verification == SourceVerification()


@pytest.mark.parametrize("broken", ["", "hello\n", None])
def test_keys_that_break_at_run_time_are_said_and_the_last_good_ones_count(
    reading: Repository, signed: Signed, broken: str | None
) -> None:
    if broken is None:
        signed.file.unlink()
    else:
        signed.write(broken or "# nobody\n")
    poll = reading.poll()
    assert poll.verification is not None
    assert str(signed.file) in poll.verification.keys_trouble
    assert poll.verification.keys_trouble.endswith("; the keys that were read last still count")
    commit = signed.push(signed.ada)
    assert reading.poll().commit == commit
    signed.write()
    poll = reading.poll()
    assert poll.verification is not None
    assert poll.verification.keys_trouble == ""


# --- what it costs ---


def test_what_was_checked_once_costs_no_process(
    reading: Repository, signed: Signed, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed.push(None)
    reading.poll()
    calls = git_calls(reading, monkeypatch)
    monkeypatch.setattr(reading.mirror.git, "parts", lambda *_, **__: pytest.fail("a commit is checked again"))
    reading.poll()
    assert not {"log", "verify-commit"} & set(calls)


def test_many_new_commits_are_checked_over_several_looks(
    reading: Repository, signed: Signed, good: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile main stands still: no state in between goes live only because the agent was busy."""
    monkeypatch.setattr(main_verifier, "MOST", 2)
    monkeypatch.setattr(main_verifier, "_AT_ONCE", 1)
    signing(signed.remote, signed.ada)
    for number in range(5):
        signed.remote.commit(f"{number}")
    signed.remote.push()
    polls = [reading.poll() for _ in range(3)]
    assert {poll.commit for poll in polls} <= {good, signed.remote.tip}
    assert (held(polls[0]).doubt, polls[0].commit) == (VerificationFailure.PENDING, good)
    assert (polls[-1].commit, polls[-1].verification and polls[-1].verification.held) == (signed.remote.tip, None)


# --- what the agent writes ---


def test_the_agents_own_commits_are_signed_and_verified(
    reading: Repository, signed: Signed, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = reading.promotions.commit([change(reading)])[WEB]
    poll = reading.poll()
    reading.promotions.offer([change(reading, "3.0.0", 3)])
    assert (poll.commit, poll.verification and poll.verification.held) == (outcome.commit, None)
    for name in ("main", "gitops-bg/promote/shop/web"):
        settings = ("-c", f"gpg.ssh.allowedSignersFile={signed.file}")
        signed.remote.run(*settings, "verify-commit", str(signed.remote.head(name)), cwd=signed.remote.bare)


def test_nothing_is_written_on_top_of_what_is_not_verified(reading: Repository, signed: Signed) -> None:
    commit = signed.push(None)
    promotion = change(reading)
    for write in (lambda: reading.promotions.commit([promotion]), lambda: reading.promotions.offer([promotion])):
        with pytest.raises(RemoteMoved, match="has commits that are not verified"):
            write()
    assert signed.remote.head() == commit


def test_edits_of_others_are_made_on_top_of_what_is_verified(reading: Repository, signed: Signed) -> None:
    done = reading.edits.commit({"more.txt": b"hello\n"}, "Say hello")
    assert isinstance(done, Edited)
    assert reading.poll().commit == done.commit
