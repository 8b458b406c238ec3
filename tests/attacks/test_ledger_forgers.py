"""What somebody tries who may push the state branch of an agent that verifies: names, parents, signatures, numbers."""

from __future__ import annotations

from functools import partial

import pytest

from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.ledger.ledger_file import SubjectState
from gitops_bg.repo.ledger.own_commits import LedgerNotChecked
from gitops_bg.repo.repository import Repository
from tests.integration.repo.conftest import API, WEB, opened, remote
from tests.integration.repo.ledger.test_ledger import STATE, batch, entry, sequences
from tests.integration.repo.verification.conftest import agent, forger, signed
from tests.integration.repo.verification.forger import (
    EVIL,
    FILE,
    MALLORY,
    MARK,
    STATE_OF_WEB,
    Forger,
    restarted,
    untouched,
)
from tests.integration.repo.verification.signed import Signed
from tests.support.git.raw_git import RawGit
from tests.support.raw_commits import with_signature_before
from tests.support.waiting import eventually

__all__ = ["agent", "forger", "opened", "remote", "signed"]


def test_a_signature_that_was_moved_to_another_commit_does_not_hold(
    agent: Repository, signed: Signed, forger: Forger
) -> None:
    remote, ours = signed.remote, forger.tip
    raw = remote.run("cat-file", "commit", ours).encode() + b"\n"
    tree = remote.run("rev-parse", f"{forger.commit(ours, files={FILE: forger.wanted()})}^{{tree}}")
    moved = raw.replace(remote.run("rev-parse", f"{ours}^{{tree}}").encode(), tree.encode())
    root = with_signature_before(raw.replace(b"author", f"parent {ours}\nauthor".encode(), 1), b"parent ")
    for content in (moved, root):
        file = signed.folder / "raw"
        file.write_bytes(content)
        forger.push(remote.run("hash-object", "-t", "commit", "-w", "--literally", str(file)))
        for repository in (agent, restarted(signed)):
            repository.poll()
            memory = repository.ledger.memory(WEB)
            assert EVIL not in (memory.active_digests if memory else ())
    forger.push(ours)
    untouched(restarted(signed))


def is_checked(repository: Repository) -> bool:
    """Whether one look was enough; on a busy machine some commits are left for the next ones."""
    repository.poll()
    try:
        repository.ledger.memory(WEB)
    except LedgerNotChecked:
        return False
    return True


def test_hundreds_of_forged_commits_on_top_hide_nothing(agent: Repository, signed: Signed, forger: Forger) -> None:
    first = forger.on_top()
    at = first
    for number in range(300):
        at = forger.commit(at, message=f"{number}\n\nBg-Ledger: prod\n", tree=first)
    forger.push(at)
    for repository in (agent, restarted(signed)):
        eventually(partial(is_checked, repository), what="all of them are checked")
        untouched(repository)
        assert "in the agent's name, not signed" in repository.ledger.doubts()[WEB]


def test_a_merge_whose_first_parents_avoid_the_agent_s(agent: Repository, signed: Signed, forger: Forger) -> None:
    root = forger.commit(files={FILE: forger.wanted()}, message=MARK)
    forger.push(forger.commit(root, forger.tip, message=MARK))
    for repository in (agent, restarted(signed)):
        untouched(repository)
        assert set(repository.ledger.doubts()) == {WEB, API}


def test_a_merge_of_an_older_commit_of_the_agent_hides_no_newer_one(
    agent: Repository, signed: Signed, forger: Forger
) -> None:
    older = forger.tip
    agent.ledger.publish({WEB: batch(entry(2), state=STATE_OF_WEB)})
    forger.push(forger.commit(older, forger.commit(forger.tip, name=MALLORY), name=MALLORY))
    for repository in (agent, restarted(signed)):
        untouched(repository, 2)


def test_a_history_without_any_commit_of_the_agent(agent: Repository, signed: Signed, forger: Forger) -> None:
    forger.push(forger.commit(files={FILE: forger.wanted()}, message=MARK))
    untouched(agent)
    assert set(agent.ledger.doubts()) == {WEB, API}
    fresh = restarted(signed)
    memory = fresh.ledger.memory(WEB)
    assert memory is not None
    assert (memory.active_digests, memory.primary_by) == ((), ""), "a name alone lets nothing pass"
    agent.ledger.publish({API: batch(entry(1), entry(2))})
    for repository in (agent, restarted(signed)):
        untouched(repository)
        assert (repository.ledger.doubts(), sequences(repository, API)[0]) == ({}, 2)


def test_what_was_believed_by_name_opens_no_gate_once_the_agent_has_signed_on_top(
    agent: Repository, signed: Signed, forger: Forger
) -> None:
    forger.push(forger.commit(files={FILE: forger.wanted()}, message=MARK))
    fresh = restarted(signed)
    fresh.ledger.publish({WEB: batch(entry(9)), API: batch(entry(2))})
    memory = restarted(signed).ledger.memory(WEB)
    assert memory is not None
    assert EVIL not in memory.active_digests


def test_what_the_agent_signed_for_main_is_no_ledger(agent: Repository, signed: Signed, forger: Forger) -> None:
    """A pull request may bring such a file into main; the agent's next commit there has it in its tree."""
    forged = forger.wanted()
    signed.remote.checkout("main")
    signed.remote.pull()
    signed.remote.write(FILE, forged)
    signed.push(signed.ada, "bring it")
    agent.poll()
    agent.edits.commit({"notes.txt": lambda _: b"edited\n"}, "Edit")
    promoted = signed.remote.head("main") or ""
    for tip in (promoted, forger.commit(promoted, forger.tip)):
        forger.push(tip)
        for repository in (agent, restarted(signed)):
            repository.poll()
            memory = repository.ledger.memory(WEB)
            assert EVIL not in (memory.active_digests if memory else ())


def test_the_ledger_of_another_cluster_is_no_ledger_of_this(agent: Repository, signed: Signed, forger: Forger) -> None:
    other = signed.open("staging", cluster="staging")
    other.poll()
    other.ledger.publish({WEB: batch(entry(1), entry(2), state=SubjectState(served=(EVIL,)))})
    staging = signed.remote.head("gitops-bg/state/staging") or ""
    for tip in (forger.commit(staging, forger.tip, name=MALLORY), staging):
        forger.push(tip)
        for repository in (agent, restarted(signed)):
            repository.poll()
            memory = repository.ledger.memory(WEB)
            assert EVIL not in (memory.active_digests if memory else ())
    untouched(agent)


def push_many(signed: Signed, parent: str, folder: str, number: int) -> None:
    """Push a commit whose folder, in place of the one that is there, has so many files of the ledger."""
    git = RawGit(signed.remote)
    git.run("fetch", "--quiet", "origin", STATE)
    blob = git.run("rev-parse", f"FETCH_HEAD:{FILE}")
    many = b"".join(b"100644 blob %s\taaa-%d.json\0" % (blob, each) for each in range(number))
    made = git.run("mktree", "-z", "--missing", stdin=many)
    others = [each for each in git.run("ls-tree", "-z", "FETCH_HEAD").split(b"\0") if each]
    kept = b"".join(each + b"\0" for each in others if not each.endswith(b"\t" + folder.encode()))
    root = git.run("mktree", "-z", "--missing", stdin=kept + b"040000 tree %s\t%s\0" % (made, folder.encode()))
    git.push(git.commit(b"a flood", tree=root, parents=(parent.encode(),)), f"refs/heads/{STATE}".encode())


def only_own_files(signed: Signed) -> bool:
    remote = signed.remote
    names = remote.run("ls-tree", "-r", "--name-only", STATE, cwd=remote.bare).split()
    return names == ["README.md", "shop/api.json", "shop/web.json"]


def test_of_more_files_than_anybody_has_few_are_named_and_all_are_gone_with_the_next_commit(
    agent: Repository, signed: Signed, forger: Forger
) -> None:
    push_many(signed, forger.on_top(), "aaa", 3000)
    for repository in (agent, restarted(signed)):
        untouched(repository)
        doubts = repository.ledger.doubts()
        assert (len(doubts), "not signed" in doubts[WEB]) == (1001, True), "all that are ours, and some of the others"
    agent.ledger.publish({API: batch(entry(1), entry(2))})
    untouched(restarted(signed))
    assert only_own_files(signed)


@pytest.mark.parametrize(("folder", "doubted"), [("aaa", set()), ("shop", {WEB, API})])
def test_a_folder_that_is_larger_than_any_ledger_is_not_read(
    folder: str, doubted: set[AppKey], agent: Repository, signed: Signed, forger: Forger
) -> None:
    """Found: half a million files took twenty seconds, in which Git was asked nothing else."""
    push_many(signed, forger.tip, folder, 120_000)
    for repository in (agent, restarted(signed)):
        untouched(repository)
        assert set(repository.ledger.doubts()) == doubted
    agent.ledger.publish({API: batch(entry(1), entry(2))})
    untouched(restarted(signed))
    assert only_own_files(signed)


def test_a_name_with_a_byte_that_ends_texts_tells_git_nothing_else(
    agent: Repository, signed: Signed, forger: Forger
) -> None:
    """Git prints what it is asked with such bytes between: a name must not pass for a whole other commit."""
    other = signed.open("staging", cluster="staging")
    other.poll()
    other.ledger.publish({WEB: batch(entry(1), state=SubjectState(served=(EVIL,)))})
    staging = signed.remote.head("gitops-bg/state/staging") or ""
    remote, ours = signed.remote, forger.tip
    raw = remote.run("cat-file", "commit", forger.commit(ours, files={FILE: forger.wanted()})).encode() + b"\n"
    told = b"\0".join([b"x", b"x", b"", staging.encode(), ours.encode(), b"gitops-bg", b"gitops-bg", b"prod", b"", b""])
    for name in (b"author ", b"committer "):
        file = signed.folder / "raw"
        file.write_bytes(raw.replace(name + b"gitops-bg", name + told))
        forger.push(remote.run("hash-object", "-t", "commit", "-w", "--literally", str(file)))
        for repository in (agent, restarted(signed)):
            repository.poll()
            memory = repository.ledger.memory(WEB)
            assert EVIL not in (memory.active_digests if memory else ())
    forger.push(ours)
    untouched(agent)


def test_a_flood_of_signatures_is_checked_over_several_looks(agent: Repository, signed: Signed, forger: Forger) -> None:
    for number in range(60):
        forger.on_top(key=signed.mallory, message=f"{number}\n\nBg-Ledger: prod\n", files={})
    forger.on_top(key=signed.mallory, message=MARK)
    fresh, now, looks = restarted(signed), [0.0], 0
    fresh.state_branch._monotonic = fresh.state_branch._commits._monotonic = lambda: now[0]
    verifier = fresh._verifier
    assert verifier is not None
    check = verifier.check_at_date

    def slow(commits: list[str]) -> object:
        now[0] += 0.1 * len(commits)
        return check(commits)

    verifier.check_at_date = slow  # type: ignore[method-assign,assignment]
    while not fresh.ledger.positions():
        looks += 1
        assert (looks < 20, fresh.ledger.doubts()) == (True, {})
        fresh.poll()
        assert "left for the next looks" in fresh.ledger.trouble()
        then = now[0]
        assert (fresh.ledger.positions(), now[0]) == ({}, then), "whatever else Git is asked has its turn"
        now[0] += 6
    assert looks, "not all in one look"
    untouched(fresh)
    assert "signed by another key" in fresh.ledger.doubts()[WEB]
