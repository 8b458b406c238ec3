"""The ledger has each change of policies once: which, by whom; also changes while no agent ran."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gitops_bg.repo.git.errors import PushRefused
from gitops_bg.repo.ledger import policy_log
from gitops_bg.repo.ledger.policy_log import KEPT, PolicyChange, PolicyDocument, parse, render
from gitops_bg.repo.repository import Repository
from tests.fixtures.repos.texts import policy
from tests.integration.repo.conftest import NOON, Opener, git_calls
from tests.integration.repo.ledger.test_group_ledger import STORE, batch, entry
from tests.support.git.remote import GitRemote

STATE = "gitops-bg/state/prod"
FILE = "policies/calm.yaml"
CALM = policy("calm", "- soak: {for: 1h}")


def publish(repository: Repository) -> bool:
    repository.poll()
    return repository.policy_log.publish(repository.head)


def told(repository: Repository) -> list[tuple[str, ...]]:
    return [each.changed for each in repository.policy_log.changes()]


def test_without_policies_nothing_is_written(repository: Repository, remote: GitRemote) -> None:
    assert not publish(repository)
    assert STATE not in remote.branches()


def test_each_commit_of_main_that_changed_policies_is_one_change(repository: Repository, remote: GitRemote) -> None:
    remote.publish("Calm", {FILE: CALM})
    assert publish(repository)
    remote.publish("Two hours", {FILE: CALM.replace("1h", "2h")})
    remote.publish("Nothing to do with it", {"README.md": "x", "policies/library/x.yaml": CALM})
    remote.remove(FILE)
    remote.commit("No calm", author="Ada <ada@example.com>")
    remote.push()
    assert publish(repository), "what happened while nobody looked"
    assert told(repository) == [("calm removed",), ("calm changed",), ("calm added",)]
    last, middle, first = repository.policy_log.changes()
    assert (first.before, last.after) == ("", "")
    assert first.after == middle.before != middle.after == last.before
    assert last.by == "Ada <ada@example.com>"
    assert last.commit == remote.tip
    assert last.at is not None
    message = remote.message(STATE)
    assert message.startswith("policies: calm changed, calm removed [prod]\n")
    assert f"Bg-Event: policy-changed\nBg-From: {last.before}\nBg-Commit: {last.commit}\nBg-By: Ada" in message


def test_nothing_is_told_twice_by_several_agents_or_after_a_restart(
    repository: Repository, opened: Opener, remote: GitRemote
) -> None:
    remote.publish("Calm", {FILE: CALM})
    other = opened(mirror="other")
    assert publish(repository)
    before = remote.head(STATE)
    assert not publish(other)
    assert not publish(opened(mirror="third"))
    assert remote.head(STATE) == before


def test_of_two_that_write_at_once_the_second_looks_again(
    repository: Repository, opened: Opener, remote: GitRemote
) -> None:
    remote.publish("Calm", {FILE: CALM})
    other = opened(mirror="other", at=NOON + timedelta(seconds=1))
    repository.poll()
    other.poll()
    assert repository.policy_log.publish(repository.head)
    assert not other.policy_log.publish(other.head)
    assert told(other) == [("calm added",)]
    remote.publish("No", {FILE: CALM.replace("calm", "calmer")})
    assert publish(other)
    assert told(other)[0] == ("calm removed", "calmer added")


def test_what_is_told_already_costs_no_git(
    repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.publish("Calm", {FILE: CALM})
    publish(repository)
    remote.publish("Elsewhere", {"README.md": "x"})
    repository.poll()
    calls = git_calls(repository, monkeypatch)
    assert not repository.policy_log.publish(repository.head)
    assert calls == []


def test_the_ledger_of_apps_goes_on_beside_it(repository: Repository, remote: GitRemote) -> None:
    remote.publish("Calm", {FILE: CALM})
    publish(repository)
    assert repository.ledger.problems() == ()
    assert repository.ledger.positions() == {}


def test_a_rewritten_main_is_one_change_from_what_was_told(repository: Repository, remote: GitRemote) -> None:
    start = remote.head() or ""
    remote.publish("Calm", {FILE: CALM})
    publish(repository)
    (first,) = repository.policy_log.changes()
    remote.run("reset", "--hard", start)
    remote.write("policies/other.yaml", CALM.replace("calm", "other"))
    remote.commit("Another past")
    remote.force_push()
    assert publish(repository)
    last = repository.policy_log.changes()[0]
    assert (last.before, last.changed) == (first.after, ("calm removed", "other added"))


def test_a_file_that_somebody_damaged_counts_as_the_agent_wrote_it_and_is_mended_with_its_next_commit(
    repository: Repository, remote: GitRemote, opened: Opener
) -> None:
    remote.publish("Calm", {FILE: CALM})
    publish(repository)
    remote.run("fetch", "origin")
    remote.checkout(STATE)
    remote.write("policies.json", "{")
    remote.commit("Break it")
    remote.push(STATE)
    again = opened(mirror="again")
    assert not publish(again)
    assert told(again) == [("calm added",)]
    assert "policies.json: " in again.policy_log.doubt()
    again.ledger.publish({STORE: batch(entry(1))})
    assert (told(again), again.policy_log.doubt()) == ([("calm added",)], "")
    assert "calm added" in (remote.show(STATE, "policies.json") or "")


def test_a_remote_that_takes_no_ledger_is_an_error_and_is_tried_again(
    repository: Repository, remote: GitRemote
) -> None:
    remote.publish("Calm", {FILE: CALM})
    remote.refuse("gitops-bg/state/*")
    with pytest.raises(PushRefused):
        publish(repository)
    remote.unprotect()
    assert publish(repository)


def test_a_hundred_commits_at_once_are_told_one_by_one_and_older_ones_together(
    repository: Repository, remote: GitRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.publish("Calm", {FILE: CALM})
    publish(repository)
    monkeypatch.setattr(policy_log, "_MOST", 2)
    for hours in (2, 3, 4):
        remote.write(FILE, CALM.replace("1h", f"{hours}h"))
        remote.commit(f"{hours}")
    remote.push()
    publish(repository)
    assert told(repository) == [("calm changed",)] * 2 + [("calm added",)]


def test_the_file_keeps_the_last_changes() -> None:
    changes = tuple(PolicyChange(commit=str(number), after=str(number)) for number in range(KEPT + 3))
    document = PolicyDocument().taking(changes, "head")
    assert (len(document.history), document.digest, document.commit) == (KEPT, str(KEPT + 2), "head")
    assert parse(render(document)) == document
    for broken in (b"[]", b'{"history": 3}', b'{"history": [{"at": "soon"}]}', b"\xff"):
        with pytest.raises(ValueError, match="not a file of the ledger"):
            parse(broken)
