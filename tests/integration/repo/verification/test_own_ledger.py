"""Where commits are verified, the ledger is the agent's as far as its key signed it: its name alone is a stranger's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitops_bg.core.model.statements import holds
from gitops_bg.repo.ledger.ledger_file import Position
from gitops_bg.repo.ledger.own_commits import LedgerNotChecked
from gitops_bg.repo.read.signatures import FIRST_SECONDS
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import RepositorySettings, VerificationSettings
from tests.integration.repo.conftest import API, NOON, WEB
from tests.integration.repo.ledger.test_ledger import STATE, STORE, batch, entry, sequences
from tests.integration.repo.verification.forger import (
    EVIL,
    FILE,
    HOLD,
    MALLORY,
    MARK,
    OURS,
    STATE_OF_WEB,
    Forger,
    restarted,
    untouched,
)
from tests.integration.repo.verification.signed import Signed
from tests.support.signers import Key, make_key


def test_what_the_agent_signed_is_its_own_also_after_a_restart(agent: Repository, signed: Signed) -> None:
    for repository in (agent, restarted(signed)):
        untouched(repository)
        assert (repository.ledger.doubts(), repository.ledger.trouble()) == ({}, "")


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
        [doubt] = repository.ledger.doubts().values()
        assert (why in doubt, commit[:10] in doubt, "and not this agent" in doubt) == (True, True, True), doubt
    agent.ledger.publish({API: batch(entry(1), entry(2))})
    for repository in (agent, restarted(signed)):
        untouched(repository)
        assert repository.ledger.doubts() == {}
    assert EVIL not in (signed.remote.show(STATE, FILE) or ""), "the next commit, of whatever, mends it"


def test_all_files_that_are_read_back_are_compared(agent: Repository, signed: Signed, forger: Forger) -> None:
    agent.ledger.publish({STORE: batch(entry(1))})
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
        assert repository.ledger.positions()[STORE] == Position("life-1", 1)
        assert "in the agent's name, not signed" in repository.ledger.doubts()[STORE]
        assert "policies.json: somebody wrote it in the agent's name" in repository.policy_log.doubt()
        assert sequences(repository, STORE) == [1]
    agent.ledger.publish({STORE: batch(entry(1), entry(2))})
    assert (agent.ledger.doubts(), agent.policy_log.doubt()) == ({}, "")
    assert agent.ledger.positions()[STORE].sequence == 2
    assert signed.remote.show(STATE, "policies.json") is None
    assert (signed.remote.show(STATE, "README.md") or "")[:100] == readme[:100]
    assert signed.remote.show(STATE, "notes.txt") == "x", "what is not of the ledger is left alone"


class TestBeforeAnythingWasSigned:
    """A ledger that is older than its signatures counts by name, until the agent has signed on top of it."""

    @pytest.fixture
    def unsigned(self, signed: Signed, forger: Forger) -> Repository:
        """An agent that does not sign, and has written."""
        repository = signed.open("unsigned", verification=None, signing_key=None)
        repository.poll()
        for number in (1, 2, 3):
            repository.ledger.publish({WEB: batch(entry(number), state=STATE_OF_WEB)})
        return repository

    def test_it_counts_but_lets_nothing_pass(self, unsigned: Repository, signed: Signed) -> None:
        agent = restarted(signed)
        assert (agent.ledger.positions()[WEB], agent.ledger.doubts()) == (Position("life-1", 3), {})
        memory = agent.ledger.memory(WEB)
        assert memory is not None
        assert (holds(memory.statements), memory.active_digests, memory.rollout) == ((HOLD,), (), 5)
        assert sequences(agent) == [3, 2, 1]

    def test_once_the_agent_has_signed_on_top_nothing_unsigned_counts(
        self, unsigned: Repository, signed: Signed, forger: Forger
    ) -> None:
        agent = restarted(signed)
        agent.ledger.publish({API: batch(entry(1))})
        assert (agent.ledger.positions()[WEB], agent.ledger.doubts()) == (Position("life-1", 3), {})
        forger.on_top()
        for repository in (agent, restarted(signed)):
            repository.poll()
            assert repository.ledger.positions()[WEB] == Position("life-1", 3)
            assert "not signed" in repository.ledger.doubts()[WEB]
        agent.ledger.publish({WEB: batch(entry(4), state=STATE_OF_WEB)})
        assert sequences(restarted(signed)) == [4, 3, 2, 1]
        untouched(restarted(signed), 4)

    def test_strangers_below_are_as_they_were(self, unsigned: Repository, signed: Signed, forger: Forger) -> None:
        forger.on_top(name=MALLORY)
        agent = restarted(signed)
        assert (agent.ledger.positions()[WEB], "Mallory" in agent.ledger.doubts()[WEB]) == (Position("life-1", 3), True)


class TestChecksThatFail:
    """What a program does not answer is neither a stranger's nor the agent's: what was known counts meanwhile."""

    def test_a_failure_makes_nobody_a_stranger(
        self, agent: Repository, signed: Signed, forger: Forger, fails: Path
    ) -> None:
        reader, fresh = restarted(signed), restarted(signed)
        untouched(reader)
        before = forger.tip
        agent.ledger.publish({WEB: batch(entry(2), state=STATE_OF_WEB)})
        fails.touch()
        for repository in (reader, signed.opened("", "unread")):
            repository.poll()
        assert (reader.ledger.positions()[WEB], reader.ledger.doubts()) == (Position("life-1", 1), {})
        assert "nobody can tell yet which commits of the ledger are the agent's own" in reader.ledger.trouble()
        fresh.poll()
        assert (fresh.ledger.positions(), fresh.ledger.doubts()) == ({}, {})
        for ask in (lambda: fresh.ledger.memory(WEB), lambda: fresh.ledger.publish({WEB: batch(entry(3))})):
            with pytest.raises(LedgerNotChecked):
                ask()
        assert forger.tip != before
        fails.unlink()
        for repository in (reader, fresh):
            untouched(repository, 2)
            assert (repository.ledger.trouble(), repository.ledger.doubts()) == ("", {})

    def test_nor_lets_it_a_forger_through(self, agent: Repository, signed: Signed, forger: Forger, fails: Path) -> None:
        reader, fresh = restarted(signed), restarted(signed)
        untouched(reader)
        forger.on_top(key=signed.mallory, message=MARK)
        fails.touch()
        reader.poll()
        fresh.poll()
        assert (reader.ledger.positions()[WEB], fresh.ledger.positions()) == (Position("life-1", 1), {})
        fails.unlink()
        for repository in (reader, fresh):
            untouched(repository)
            assert "signed by another key" in repository.ledger.doubts()[WEB]

    def test_a_machine_without_the_program(
        self, agent: Repository, signed: Signed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reader = restarted(signed)
        untouched(reader)
        agent.ledger.publish({WEB: batch(entry(2), state=STATE_OF_WEB)})
        monkeypatch.setattr("gitops_bg.repo.read.signatures.shutil.which", lambda _: None)
        reader.poll()
        assert (reader.ledger.positions()[WEB].sequence, reader.ledger.doubts()) == (1, {})
        assert "ssh-keygen is not on this machine" in reader.ledger.trouble()
        monkeypatch.undo()
        untouched(reader, 2)

    def test_one_bad_answer_is_asked_for_again_beside_a_good_one(
        self, agent: Repository, signed: Signed, fails: Path
    ) -> None:
        """The program fails at the agent's commit and not later: then its own was no bad one."""
        reader = restarted(signed)
        untouched(reader)
        agent.ledger.publish({WEB: batch(entry(2), state=STATE_OF_WEB)})
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
        assert (reader.ledger.doubts(), asked[:2]) == ({}, [1, 2])

    def test_what_a_program_found_bad_is_looked_at_again_after_a_while(
        self, agent: Repository, signed: Signed, forger: Forger
    ) -> None:
        forger.on_top(key=signed.mallory, message=MARK)
        now = [0.0]
        commits = agent.state_branch._commits
        agent.state_branch._monotonic = lambda: now[0]
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
        assert "signed by another key" in agent.ledger.doubts()[WEB]


class TestKeys:
    def test_another_key_of_the_agent_counts_as_well(self, agent: Repository, signed: Signed, tmp_path: Path) -> None:
        new = make_key(tmp_path, "second")
        signed.write(signed.agent.line("agent"), signed.ada.line("ada"), new.line("agent"))
        later = signed.open("later", signing_key=new.private)
        later.poll()
        untouched(later)
        later.ledger.publish({WEB: batch(entry(2), state=STATE_OF_WEB)})
        for repository in (agent, restarted(signed)):
            untouched(repository, 2)
            assert repository.ledger.doubts() == {}

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
            before.ledger.publish({WEB: batch(entry(1), state=STATE_OF_WEB)})
        forger.on_top(message=MARK)
        with opened("after", new, 5) as after:
            untouched(after)
            assert "not signed" in after.ledger.doubts()[WEB]
            after.ledger.publish({WEB: batch(entry(2), state=STATE_OF_WEB)})
            stolen = forger.on_top(key=signed.agent, message=MARK)
            untouched(after, 2)
            assert stolen[:10] in after.ledger.doubts()[WEB]
        with opened("again", new, 5) as again:
            untouched(again, 2)

    def test_an_agent_whose_key_left_the_list_judges_nothing(
        self, agent: Repository, signed: Signed, forger: Forger
    ) -> None:
        signed.write(signed.ada.line("ada"))
        agent.poll()
        forger.on_top(message=MARK, key=signed.mallory)
        agent.poll()
        assert (agent.ledger.positions()[WEB].sequence, agent.ledger.doubts()) == (1, {})
        assert "a signature that the agent made just now does not hold: UnknownKey" in agent.ledger.trouble()
        signed.write()
        untouched(agent)
        assert "signed by another key" in agent.ledger.doubts()[WEB]


class TestCost:
    def checked(self, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """From now on, the commits whose signatures git is asked about."""
        signatures, asked = repository.signatures, list[str]()
        read = signatures._read
        monkeypatch.setattr(signatures, "_read", lambda commits, keys: (asked.extend(commits), read(commits, keys))[1])
        return asked

    def test_of_a_long_ledger_the_last_commit_is_checked(
        self, agent: Repository, signed: Signed, forger: Forger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(2, 30):
            agent.ledger.publish({WEB: batch(entry(number), state=STATE_OF_WEB)})
        fresh = restarted(signed)
        asked = self.checked(fresh, monkeypatch)
        untouched(fresh, 29)
        assert asked == [forger.tip]

    def test_its_own_are_not_checked(self, agent: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = self.checked(agent, monkeypatch)
        agent.ledger.publish({WEB: batch(entry(2), state=STATE_OF_WEB)})
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
