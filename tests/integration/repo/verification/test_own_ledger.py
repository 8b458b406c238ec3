"""Where commits are verified, the ledger is the agent's as far as its key signed it: its name alone is a stranger's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from gitops_bg.core.model.record import Cause, Hold
from gitops_bg.repo.ledger.errors import LedgerNotChecked
from gitops_bg.repo.ledger.ledger_entries import Position
from gitops_bg.repo.ledger.ledger_file import AppState
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import RepositorySettings, VerificationSettings
from gitops_bg.repo.verification.answers import FIRST_SECONDS
from tests.integration.repo.conftest import API, NOON, WEB
from tests.integration.repo.ledger.test_group_ledger import STORE
from tests.integration.repo.ledger.test_group_ledger import batch as group_batch
from tests.integration.repo.ledger.test_group_ledger import entry as group_entry
from tests.integration.repo.ledger.test_ledger import ONE, STATE, TWO, batch, entry, sequences
from tests.integration.repo.verification.conftest import Signed
from tests.support.raw_commits import with_signature_before
from tests.support.signers import Key, make_key

FILE = "shop/web.json"
EVIL = "v1:" + "6" * 64
OURS = ("gitops-bg", "gitops-bg@localhost")
MALLORY = ("Mallory", "m@example.com")
MARK = "Oops\n\nBg-Ledger: prod\n"
HOLD = Hold(TWO, "bad", NOON, Cause.ROLLED_BACK)
STATE_OF_WEB = AppState(5, 6, active_digests=(ONE,), holds=(HOLD,), primary_by="c" * 40)


@dataclass
class Forger:
    """Somebody who may push the state branch, with any name, key, parents and files."""

    signed: Signed

    @property
    def tip(self) -> str:
        return self.signed.remote.head(STATE) or ""

    def commit(
        self,
        *parents: str,
        key: Key | None = None,
        name: tuple[str, str] = OURS,
        message: str = "Oops",
        files: dict[str, str] | None = None,
        tree: str = "",
    ) -> str:
        """A commit on the first parent's tree, or another, with these files in it."""
        remote = self.signed.remote
        index = {"GIT_INDEX_FILE": str(self.signed.folder / "index")}
        remote.run("read-tree", tree or (parents[0] if parents else "--empty"), env=index)
        for path, content in (files or {}).items():
            (self.signed.folder / "content").write_text(content)
            blob = remote.run("hash-object", "-w", str(self.signed.folder / "content"))
            remote.run("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", env=index)
        root = remote.run("write-tree", env=index)
        who = {
            f"GIT_{one}_{what}": value
            for one in ("AUTHOR", "COMMITTER")
            for what, value in zip(("NAME", "EMAIL"), name, strict=True)
        }
        keyed = ("-c", "gpg.format=ssh", "-c", f"user.signingKey={key.private}") if key else ()
        above = (part for parent in parents for part in ("-p", parent))
        return remote.run(*keyed, "commit-tree", *(["-S"] if key else []), root, *above, "-m", message, env=who)

    def push(self, commit: str) -> str:
        """Move the branch there, whatever it was."""
        self.signed.remote.run("update-ref", f"refs/heads/{STATE}", commit, cwd=self.signed.remote.bare)
        return commit

    def on_top(self, **how: object) -> str:
        """Push one more commit, with what the forger wants of `web`."""
        return self.push(self.commit(self.tip, **{"files": {FILE: self.wanted()}, **how}))  # type: ignore[arg-type]

    def wanted(self, sequence: int = 7) -> str:
        """The file of `web` with a digest that never served."""
        value = json.loads(self.signed.remote.show(STATE, FILE) or "")
        return json.dumps({**value, "activeDigests": [EVIL], "holds": [], "sequence": sequence})


@pytest.fixture
def forger(signed: Signed) -> Forger:
    signed.push(signed.ada)
    return Forger(signed)


@pytest.fixture
def agent(signed: Signed, forger: Forger) -> Repository:
    """The agent, which has written what it knows of two apps."""
    repository = signed.open()
    repository.poll()
    repository.publish({WEB: batch(entry(1), state=STATE_OF_WEB), API: batch(entry(1))})
    return repository


def restarted(signed: Signed, mirrors: Iterator[int] = count()) -> Repository:  # noqa: B008 - one counter for all
    """A new process, with a mirror that has never seen anything."""
    repository = signed.open(f"fresh-{next(mirrors)}")
    repository.poll()
    return repository


def untouched(repository: Repository, sequence: int = 1) -> None:
    """What the agent wrote counts, and nothing else."""
    repository.poll()
    assert repository.positions()[WEB] == Position("life-1", sequence)
    memory = repository.memory(WEB)
    assert memory is not None
    assert (memory.active_digests, memory.holds, memory.primary_by) == ((ONE,), (HOLD,), "c" * 40)


def test_what_the_agent_signed_is_its_own_also_after_a_restart(agent: Repository, signed: Signed) -> None:
    for repository in (agent, restarted(signed)):
        untouched(repository)
        assert (repository.ledger_doubts(), repository.ledger_trouble()) == ({}, "")


FORGERIES = {
    "not signed": (None, OURS, "in the agent's name, not signed,"),
    "by a key of nobody": ("mallory", OURS, "in the agent's name, signed by another key,"),
    "by a listed key of somebody else": ("ada", OURS, "in the agent's name, signed as ada,"),
    "under another name": (None, MALLORY, "Mallory <m@example.com> wrote it in commit"),
    "under another name, signed": ("ada", MALLORY, "Mallory <m@example.com> wrote it in commit"),
}


@pytest.mark.parametrize("message", ["Oops", MARK], ids=["as anybody", "as a commit of the ledger"])
@pytest.mark.parametrize("kind", FORGERIES)
def test_a_commit_in_the_agent_s_name_is_a_stranger_s_unless_its_key_signed_it(
    kind: str, message: str, agent: Repository, signed: Signed, forger: Forger
) -> None:
    key, name, why = FORGERIES[kind]
    commit = forger.on_top(key=getattr(signed, key) if key else None, name=name, message=message)
    for repository in (agent, restarted(signed)):
        untouched(repository)
        [doubt] = repository.ledger_doubts().values()
        assert (why in doubt, commit[:10] in doubt, "and not this agent" in doubt) == (True, True, True), doubt
    agent.publish({API: batch(entry(1), entry(2))})
    for repository in (agent, restarted(signed)):
        untouched(repository)
        assert repository.ledger_doubts() == {}
    assert EVIL not in (signed.remote.show(STATE, FILE) or ""), "the next commit, of whatever, mends it"


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
            memory = repository.memory(WEB)
            assert EVIL not in (memory.active_digests if memory else ())
    forger.push(ours)
    untouched(restarted(signed))


def test_hundreds_of_forged_commits_on_top_hide_nothing(agent: Repository, signed: Signed, forger: Forger) -> None:
    first = forger.on_top()
    at = first
    for number in range(300):
        at = forger.commit(at, message=f"{number}\n\nBg-Ledger: prod\n", tree=first)
    forger.push(at)
    for repository in (agent, restarted(signed)):
        untouched(repository)
        assert "in the agent's name, not signed" in repository.ledger_doubts()[WEB]


def test_all_files_that_are_read_back_are_compared(agent: Repository, signed: Signed, forger: Forger) -> None:
    agent.publish_groups({STORE: group_batch(group_entry(1))})
    path, readme = "groups/shop/store.json", signed.remote.show(STATE, "README.md") or ""
    value = json.loads(signed.remote.show(STATE, path) or "")
    forged = {
        path: json.dumps({**value, "sequence": 900}),
        "policies.json": "{}",
        "README.md": "mine",
        "notes.txt": "x",
    }
    forger.on_top(files=forged)
    for repository in (agent, restarted(signed)):
        repository.poll()
        assert repository.group_position(STORE) == Position("life-1", 1)
        assert "in the agent's name, not signed" in repository.group_ledger_doubts()[STORE]
        assert "policies.json: somebody wrote it in the agent's name" in repository.policy_log_doubt()
        assert [each.entry.sequence for _, each in repository.group_history(STORE)] == [1]
    agent.publish_groups({STORE: group_batch(group_entry(1), group_entry(2))})
    assert (agent.group_ledger_doubts(), agent.policy_log_doubt(), agent.group_position(STORE).sequence) == ({}, "", 2)
    assert signed.remote.show(STATE, "policies.json") is None
    assert (signed.remote.show(STATE, "README.md") or "")[:100] == readme[:100]
    assert signed.remote.show(STATE, "notes.txt") == "x", "what is not of the ledger is left alone"


class TestOtherParents:
    """The agent's commits are found wherever they are in the history, and only those of this ledger."""

    def test_a_merge_whose_first_parents_avoid_the_agent_s(
        self, agent: Repository, signed: Signed, forger: Forger
    ) -> None:
        root = forger.commit(files={FILE: forger.wanted()}, message=MARK)
        forger.push(forger.commit(root, forger.tip, message=MARK))
        for repository in (agent, restarted(signed)):
            untouched(repository)
            assert set(repository.ledger_doubts()) == {WEB, API}

    def test_a_merge_of_an_older_commit_of_the_agent_hides_no_newer_one(
        self, agent: Repository, signed: Signed, forger: Forger
    ) -> None:
        older = forger.tip
        agent.publish({WEB: batch(entry(2), state=STATE_OF_WEB)})
        forger.push(forger.commit(older, forger.commit(forger.tip, name=MALLORY), name=MALLORY))
        for repository in (agent, restarted(signed)):
            untouched(repository, 2)

    def test_a_history_without_any_commit_of_the_agent(self, agent: Repository, signed: Signed, forger: Forger) -> None:
        forger.push(forger.commit(files={FILE: forger.wanted()}, message=MARK))
        untouched(agent)
        assert set(agent.ledger_doubts()) == {WEB, API}
        fresh = restarted(signed)
        memory = fresh.memory(WEB)
        assert memory is not None
        assert (memory.active_digests, memory.primary_by) == ((), ""), "a name alone lets nothing pass"
        agent.publish({API: batch(entry(1), entry(2))})
        for repository in (agent, restarted(signed)):
            untouched(repository)
            assert (repository.ledger_doubts(), sequences(repository, API)[0]) == ({}, 2)

    def test_what_was_believed_by_name_opens_no_gate_once_the_agent_has_signed_on_top(
        self, agent: Repository, signed: Signed, forger: Forger
    ) -> None:
        forger.push(forger.commit(files={FILE: forger.wanted()}, message=MARK))
        fresh = restarted(signed)
        fresh.publish({WEB: batch(entry(9)), API: batch(entry(2))})
        memory = restarted(signed).memory(WEB)
        assert memory is not None
        assert EVIL not in memory.active_digests

    def test_what_the_agent_signed_for_main_is_no_ledger(
        self, agent: Repository, signed: Signed, forger: Forger
    ) -> None:
        """A pull request may bring such a file into main; the agent's next commit there has it in its tree."""
        forged = forger.wanted()
        signed.remote.checkout("main")
        signed.remote.pull()
        signed.remote.write(FILE, forged)
        signed.push(signed.ada, "bring it")
        agent.poll()
        agent.commit_files({"notes.txt": lambda _: b"edited\n"}, "Edit")
        promoted = signed.remote.head("main") or ""
        for tip in (promoted, forger.commit(promoted, forger.tip)):
            forger.push(tip)
            for repository in (agent, restarted(signed)):
                repository.poll()
                memory = repository.memory(WEB)
                assert EVIL not in (memory.active_digests if memory else ())

    def test_the_ledger_of_another_cluster_is_no_ledger_of_this(
        self, agent: Repository, signed: Signed, forger: Forger
    ) -> None:
        other = signed.open("staging", cluster="staging")
        other.poll()
        other.publish({WEB: batch(entry(1), entry(2), state=AppState(active_digests=(EVIL,)))})
        staging = signed.remote.head("gitops-bg/state/staging") or ""
        for tip in (forger.commit(staging, forger.tip, name=MALLORY), staging):
            forger.push(tip)
            for repository in (agent, restarted(signed)):
                repository.poll()
                memory = repository.memory(WEB)
                assert EVIL not in (memory.active_digests if memory else ())
        untouched(agent)


class TestBeforeAnythingWasSigned:
    """A ledger that is older than its signatures counts by name, until the agent has signed on top of it."""

    @pytest.fixture
    def unsigned(self, signed: Signed, forger: Forger) -> Repository:
        """An agent that does not sign, and has written."""
        repository = signed.open("unsigned", verification=None, signing_key=None)
        repository.poll()
        for number in (1, 2, 3):
            repository.publish({WEB: batch(entry(number), state=STATE_OF_WEB)})
        return repository

    def test_it_counts_but_lets_nothing_pass(self, unsigned: Repository, signed: Signed) -> None:
        agent = restarted(signed)
        assert (agent.positions()[WEB], agent.ledger_doubts()) == (Position("life-1", 3), {})
        memory = agent.memory(WEB)
        assert memory is not None
        assert (memory.holds, memory.active_digests, memory.rollout) == ((HOLD,), (), 5)
        assert sequences(agent) == [3, 2, 1]

    def test_once_the_agent_has_signed_on_top_nothing_unsigned_counts(
        self, unsigned: Repository, signed: Signed, forger: Forger
    ) -> None:
        agent = restarted(signed)
        agent.publish({API: batch(entry(1))})
        assert (agent.positions()[WEB], agent.ledger_doubts()) == (Position("life-1", 3), {})
        forger.on_top()
        for repository in (agent, restarted(signed)):
            repository.poll()
            assert repository.positions()[WEB] == Position("life-1", 3)
            assert "not signed" in repository.ledger_doubts()[WEB]
        agent.publish({WEB: batch(entry(4), state=STATE_OF_WEB)})
        assert sequences(restarted(signed)) == [4, 3, 2, 1]
        untouched(restarted(signed), 4)

    def test_strangers_below_are_as_they_were(self, unsigned: Repository, signed: Signed, forger: Forger) -> None:
        forger.on_top(name=MALLORY)
        agent = restarted(signed)
        assert (agent.positions()[WEB], "Mallory" in agent.ledger_doubts()[WEB]) == (Position("life-1", 3), True)


class TestChecksThatFail:
    """What a program does not answer is neither a stranger's nor the agent's: what was known counts meanwhile."""

    def test_a_failure_makes_nobody_a_stranger(
        self, agent: Repository, signed: Signed, forger: Forger, fails: Path
    ) -> None:
        reader, fresh = restarted(signed), restarted(signed)
        untouched(reader)
        before = forger.tip
        agent.publish({WEB: batch(entry(2), state=STATE_OF_WEB)})
        fails.touch()
        for repository in (reader, signed.opened("", "unread")):
            repository.poll()
        assert (reader.positions()[WEB], reader.ledger_doubts()) == (Position("life-1", 1), {})
        assert "nobody can tell yet which commits of the ledger are the agent's own" in reader.ledger_trouble()
        fresh.poll()
        assert (fresh.positions(), fresh.ledger_doubts()) == ({}, {})
        for ask in (lambda: fresh.memory(WEB), lambda: fresh.publish({WEB: batch(entry(3))})):
            with pytest.raises(LedgerNotChecked):
                ask()
        assert forger.tip != before
        fails.unlink()
        for repository in (reader, fresh):
            untouched(repository, 2)
            assert (repository.ledger_trouble(), repository.ledger_doubts()) == ("", {})

    def test_nor_lets_it_a_forger_through(self, agent: Repository, signed: Signed, forger: Forger, fails: Path) -> None:
        reader, fresh = restarted(signed), restarted(signed)
        untouched(reader)
        forger.on_top(key=signed.mallory, message=MARK)
        fails.touch()
        reader.poll()
        fresh.poll()
        assert (reader.positions()[WEB], fresh.positions()) == (Position("life-1", 1), {})
        fails.unlink()
        for repository in (reader, fresh):
            untouched(repository)
            assert "signed by another key" in repository.ledger_doubts()[WEB]

    def test_a_machine_without_the_program(
        self, agent: Repository, signed: Signed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reader = restarted(signed)
        untouched(reader)
        agent.publish({WEB: batch(entry(2), state=STATE_OF_WEB)})
        monkeypatch.setattr("gitops_bg.repo.verification.signatures.shutil.which", lambda _: None)
        reader.poll()
        assert (reader.positions()[WEB].sequence, reader.ledger_doubts()) == (1, {})
        assert "ssh-keygen is not on this machine" in reader.ledger_trouble()
        monkeypatch.undo()
        untouched(reader, 2)

    def test_one_bad_answer_is_asked_for_again_beside_a_good_one(
        self, agent: Repository, signed: Signed, fails: Path
    ) -> None:
        """The program fails at the agent's commit and not later: then its own was no bad one."""
        reader = restarted(signed)
        untouched(reader)
        agent.publish({WEB: batch(entry(2), state=STATE_OF_WEB)})
        verifier = reader._verifier
        assert verifier is not None
        check, asked = verifier.check_at_date, list[int]()

        def failing(commits: list[str]) -> object:
            asked.append(len(commits))
            if len(asked) == 1:
                fails.touch()
            found = check(commits)
            fails.unlink(missing_ok=True)
            return found

        verifier.check_at_date = failing  # type: ignore[method-assign,assignment]
        untouched(reader, 2)
        assert (reader.ledger_doubts(), asked[:2]) == ({}, [1, 2])

    def test_what_a_program_found_bad_is_looked_at_again_after_a_while(
        self, agent: Repository, signed: Signed, forger: Forger
    ) -> None:
        forger.on_top(key=signed.mallory, message=MARK)
        now = [0.0]
        commits = agent._state_branch._commits
        agent._state_branch._monotonic = lambda: now[0]
        commits._monotonic = commits._bad._monotonic = lambda: now[0]
        untouched(agent)
        asked = list[str]()
        newest = commits.newest
        commits.newest = lambda tip, *rest: (asked.append(tip), newest(tip, *rest))[1]  # type: ignore[method-assign,func-returns-value]
        untouched(agent)
        assert asked == []
        now[0] = FIRST_SECONDS + 1
        untouched(agent)
        assert asked == [forger.tip]
        assert "signed by another key" in agent.ledger_doubts()[WEB]


class TestKeys:
    def test_another_key_of_the_agent_counts_as_well(self, agent: Repository, signed: Signed, tmp_path: Path) -> None:
        new = make_key(tmp_path, "second")
        signed.write(signed.agent.line("agent"), signed.ada.line("ada"), new.line("agent"))
        later = signed.open("later", signing_key=new.private)
        later.poll()
        untouched(later)
        later.publish({WEB: batch(entry(2), state=STATE_OF_WEB)})
        for repository in (agent, restarted(signed)):
            untouched(repository, 2)
            assert repository.ledger_doubts() == {}

    def test_a_key_that_has_expired_vouches_for_what_it_signed_until_a_new_one_has_signed(
        self, signed: Signed, forger: Forger, tmp_path: Path
    ) -> None:
        new = make_key(tmp_path, "second")
        signed.write(signed.agent.line("agent", 'valid-before="20260302Z"'), new.line("agent"), signed.ada.line("ada"))

        def opened(mirror: str, key: Key, day: int) -> Repository:
            settings = RepositorySettings(
                url=signed.remote.url,
                cluster="prod",
                directory=tmp_path / mirror,
                signing_key=key.private,
                verification=VerificationSettings(signers_file=signed.file),
            )
            repository = Repository(settings, clock=lambda: NOON.replace(day=day), sleep=lambda _: None)
            repository.poll()
            return repository

        with opened("before", signed.agent, 1) as before:
            before.publish({WEB: batch(entry(1), state=STATE_OF_WEB)})
        forger.on_top(message=MARK)
        with opened("after", new, 5) as after:
            untouched(after)
            assert "not signed" in after.ledger_doubts()[WEB]
            after.publish({WEB: batch(entry(2), state=STATE_OF_WEB)})
            stolen = forger.on_top(key=signed.agent, message=MARK)
            untouched(after, 2)
            assert stolen[:10] in after.ledger_doubts()[WEB]
        with opened("again", new, 5) as again:
            untouched(again, 2)

    def test_an_agent_whose_key_left_the_list_judges_nothing(
        self, agent: Repository, signed: Signed, forger: Forger
    ) -> None:
        signed.write(signed.ada.line("ada"))
        agent.poll()
        forger.on_top(message=MARK, key=signed.mallory)
        agent.poll()
        assert (agent.positions()[WEB].sequence, agent.ledger_doubts()) == (1, {})
        assert "a signature that the agent made just now does not hold: UnknownKey" in agent.ledger_trouble()
        signed.write()
        untouched(agent)
        assert "signed by another key" in agent.ledger_doubts()[WEB]


class TestCost:
    def checked(self, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """From now on, the commits whose signatures git is asked about."""
        signatures, asked = repository._signatures, list[str]()
        read = signatures._read
        monkeypatch.setattr(signatures, "_read", lambda commits, keys: (asked.extend(commits), read(commits, keys))[1])
        return asked

    def test_of_a_long_ledger_the_last_commit_is_checked(
        self, agent: Repository, signed: Signed, forger: Forger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(2, 30):
            agent.publish({WEB: batch(entry(number), state=STATE_OF_WEB)})
        fresh = restarted(signed)
        asked = self.checked(fresh, monkeypatch)
        untouched(fresh, 29)
        assert asked == [forger.tip]

    def test_its_own_are_not_checked(self, agent: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = self.checked(agent, monkeypatch)
        agent.publish({WEB: batch(entry(2), state=STATE_OF_WEB)})
        untouched(agent, 2)
        assert asked == []

    def test_what_is_not_signed_as_a_ledger_needs_no_process(
        self, agent: Repository, signed: Signed, forger: Forger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = forger.on_top()
        at = first
        for number in range(30):
            at = forger.commit(at, message=f"{number}", tree=first)
        forger.push(at)
        fresh = restarted(signed)
        asked = self.checked(fresh, monkeypatch)
        untouched(fresh)
        assert len(asked) <= 3, "ours, and what is named"

    def test_a_flood_of_signatures_is_checked_over_several_looks(
        self, agent: Repository, signed: Signed, forger: Forger
    ) -> None:
        for number in range(60):
            forger.on_top(key=signed.mallory, message=f"{number}\n\nBg-Ledger: prod\n", files={})
        forger.on_top(key=signed.mallory, message=MARK)
        fresh, now, looks = restarted(signed), [0.0], 0
        fresh._state_branch._commits._monotonic = lambda: now[0]
        verifier = fresh._verifier
        assert verifier is not None
        check = verifier.check_at_date

        def slow(commits: list[str]) -> object:
            now[0] += 0.1 * len(commits)
            return check(commits)

        verifier.check_at_date = slow  # type: ignore[method-assign,assignment]
        while not fresh.positions():
            looks += 1
            assert (looks < 20, fresh.ledger_doubts()) == (True, {})
            fresh.poll()
            assert looks or "left for the next looks" in fresh.ledger_trouble()
        assert looks, "not all in one look"
        untouched(fresh)
        assert "signed by another key" in fresh.ledger_doubts()[WEB]
