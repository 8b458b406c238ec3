"""Every entry of a group reaches the state branch exactly once, beside those of apps."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from gitops_bg.core.groups.record import GroupLedgerEntry
from gitops_bg.core.groups.reporting.events import GroupEvent
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.repo.git.errors import PushRefused, RemoteUnreachable
from gitops_bg.repo.ledger.group_ledger_file import GroupLedgerBatch, parse
from gitops_bg.repo.ledger.ledger_entries import Position
from gitops_bg.repo.ledger.places import path_of_group
from gitops_bg.repo.repository import Repository
from tests.integration.repo.conftest import NOON, Opener
from tests.integration.repo.ledger.test_ledger import STATE
from tests.integration.repo.ledger.test_ledger import batch as app_batch
from tests.integration.repo.ledger.test_ledger import entry as app_entry
from tests.integration.repo.test_promotions import before_each_push
from tests.support.git.remote import GitRemote

STORE, BLOG = GroupKey("shop", "store"), GroupKey("shop", "blog")


def entry(sequence: int, event: GroupEvent = GroupEvent.PROMOTION_FINISHED, message: str = "") -> GroupLedgerEntry:
    at = NOON + timedelta(minutes=sequence)
    return GroupLedgerEntry(sequence, at, event, message or f"promoted v{sequence + 1}", "v1", "v2", "c" * 40)


def batch(*entries: GroupLedgerEntry, epoch: str = "life-1") -> GroupLedgerBatch:
    return GroupLedgerBatch(epoch, entries, "v2", "v1")


def sequences(repository: Repository, group: GroupKey = STORE) -> list[int]:
    repository.poll()
    return [each.entry.sequence for _, each in repository.group_history(group)]


def test_one_entry_is_a_commit_that_says_it_in_its_subject_and_trailers(
    repository: Repository, remote: GitRemote
) -> None:
    (document,) = repository.publish_groups({STORE: batch(entry(1, message="promoted v2\nBg-Group: forged"))}).values()
    assert (document.position, document.active) == (Position("life-1", 1), "v2")
    assert remote.log(STATE)[0].subject == "store: promoted v1 → v2 [prod]"
    trailers = remote.run("log", "-1", "--format=%(trailers:unfold)", STATE, cwd=remote.bare)
    assert trailers.splitlines() == [
        "Bg-Group: shop/store",
        "Bg-Event: PromotionFinished",
        "Bg-From: v1",
        "Bg-To: v2",
        f"Bg-Commit: {'c' * 40}",
        "Bg-Reason: promoted v2 Bg-Group: forged",
        "Bg-Ledger: prod",
    ]


def test_the_file_is_sorted_json_and_is_read_back(repository: Repository, remote: GitRemote) -> None:
    repository.publish_groups({STORE: batch(entry(1), entry(2))})
    text = remote.show(STATE, path_of_group(STORE)) or ""
    written = json.loads(text)
    assert list(written) == sorted(written)
    assert (written["active"], written["legacy"], written["sequence"]) == ("v2", "v1", 2)
    assert [each.entry for each in parse(text.encode()).history] == [entry(1), entry(2)]


def test_the_ledgers_of_an_app_and_of_a_group_of_one_name_do_not_touch_each_other(
    repository: Repository, remote: GitRemote
) -> None:
    app = AppKey("shop", "store")
    repository.publish({app: app_batch(app_entry(1))})
    repository.publish_groups({STORE: batch(entry(1), entry(2))})
    repository.publish({app: app_batch(app_entry(2))})
    repository.poll()
    assert [each.entry.sequence for each in repository.history(app)] == [2, 1]
    assert sequences(repository) == [2, 1]
    assert repository.ledger_problems() == ()
    assert len(remote.log(STATE)) == 3


def test_several_groups_are_one_commit_with_a_line_and_a_block_of_trailers_each(
    repository: Repository, remote: GitRemote
) -> None:
    repository.publish_groups({STORE: batch(entry(1)), BLOG: batch(entry(1), entry(2))})
    assert [each.subject for each in remote.log(STATE)] == ["3 events of blog, store [prod]"]
    text = remote.run("log", "-1", "--format=%B", STATE, cwd=remote.bare)
    assert "shop/blog: promoted v1 → v2: promoted v3" in text
    assert text.count("Bg-Group: ") == 3


def test_publishing_again_changes_nothing_also_with_a_new_mirror(
    repository: Repository, remote: GitRemote, opened: Opener
) -> None:
    repository.publish_groups({STORE: batch(entry(1), entry(2))})
    head = remote.head(STATE)
    assert repository.publish_groups({STORE: batch(entry(1), entry(2))})[STORE].position == Position("life-1", 2)
    other = opened(mirror="other")
    other.poll()
    assert other.group_document(STORE).position == Position("life-1", 2)
    assert other.publish_groups({STORE: batch(entry(2), entry(3))})[STORE].position == Position("life-1", 3)
    assert remote.run("rev-parse", f"{STATE}~1", cwd=remote.bare).strip() == head
    assert sequences(repository) == [3, 2, 1]


def test_what_another_agent_writes_between_fetch_and_push_is_kept(
    repository: Repository, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = opened(mirror="other")
    other.poll()
    before_each_push(monkeypatch, lambda: other.publish_groups({STORE: batch(entry(1)), BLOG: batch(entry(1))}))
    repository.publish_groups({STORE: batch(entry(1), entry(2))})
    assert (sequences(repository), sequences(repository, BLOG)) == ([2, 1], [1])


def test_a_new_life_of_a_group_counts_from_the_start_and_keeps_the_history(repository: Repository) -> None:
    repository.publish_groups({STORE: batch(entry(1), entry(2))})
    repository.publish_groups({STORE: batch(entry(1), epoch="life-2")})
    repository.poll()
    found = [(each.epoch, each.entry.sequence) for _, each in repository.group_history(STORE)]
    assert found == [("life-2", 1), ("life-1", 2), ("life-1", 1)]


def test_the_log_keeps_what_the_file_does_not_and_names_the_commit_of_each(
    repository: Repository, remote: GitRemote
) -> None:
    for number in range(1, 26):
        repository.publish_groups({STORE: batch(entry(number))})
    repository.poll()
    found = repository.group_history(STORE)
    assert [each.entry.sequence for _, each in found] == list(range(25, 0, -1))
    assert [commit for commit, _ in found] == [each.sha for each in remote.log(STATE)]
    assert len(repository.group_history(STORE, 3)) == 3
    assert len(parse((remote.show(STATE, path_of_group(STORE)) or "").encode()).history) == 20


def test_a_deleted_branch_comes_back_with_all_it_had(repository: Repository, remote: GitRemote) -> None:
    repository.publish_groups({STORE: batch(entry(1))})
    remote.delete_branch(STATE)
    repository.poll()
    repository.publish_groups({STORE: batch(entry(2))})
    assert sequences(repository) == [2, 1]


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"history": [{"sequence": 1}]}',
        '{"sequence": "x"}',
        '{"history": 3}',
        '{"epoch": "x", "sequence": 9007199254740993}',
    ],
)
def test_a_file_that_is_not_ours_is_written_anew(repository: Repository, remote: GitRemote, text: str) -> None:
    with pytest.raises(ValueError, match="not a ledger file"):
        parse(text.encode())
    repository.publish_groups({STORE: batch(entry(1))})
    remote.checkout(STATE)
    remote.publish("Oops", {path_of_group(STORE): text})
    repository.poll()
    assert repository.group_document(STORE).position == Position("life-1", 1), "as the agent itself wrote it"
    assert "wrote it in commit" in repository.group_ledger_doubts()[STORE]
    repository.publish_groups({STORE: batch(entry(1), entry(2))})
    assert (sequences(repository), repository.group_ledger_doubts()) == ([2, 1], {})


def test_a_protected_state_branch_is_push_refused(repository: Repository, remote: GitRemote) -> None:
    remote.protect(STATE)
    with pytest.raises(PushRefused):
        repository.publish_groups({STORE: batch(entry(1))})


def test_a_remote_that_is_down_loses_nothing(repository: Repository, remote: GitRemote) -> None:
    remote.go_down()
    with pytest.raises(RemoteUnreachable):
        repository.publish_groups({STORE: batch(entry(1))})
    remote.come_back()
    repository.publish_groups({STORE: batch(entry(1))})
    assert sequences(repository) == [1]


STORE_ROW = "| [shop/store](groups/shop/store.json) | v2 | v1 | PromotionFinished 2026-03-01 12:02 UTC |"
BLOG_ROW = "| [shop/blog](groups/shop/blog.json) | v2 | v1 | RollbackFinished 2026-03-01 12:01 UTC |"


def rows(remote: GitRemote) -> list[str]:
    """The rows of the overview that a forge shows."""
    page = remote.show(STATE, "README.md") or ""
    return [line for line in page.splitlines() if line.startswith("| [")]


def test_the_overview_has_a_row_for_each_group_beside_those_of_apps_whoever_writes(
    repository: Repository, remote: GitRemote
) -> None:
    repository.publish_groups({STORE: batch(entry(1)), BLOG: batch(entry(1, GroupEvent.ROLLBACK_FINISHED))})
    repository.publish({AppKey("shop", "store"): app_batch(app_entry(1))})
    assert [row[:14] for row in rows(remote)] == ["| [shop/store]", "| [shop/blog](", "| [shop/store]"]
    repository.publish_groups({STORE: batch(entry(1), entry(2))})
    found = rows(remote)
    assert (found[0].startswith("| [shop/store](shop/store.json)"), found[1:]) == (True, [BLOG_ROW, STORE_ROW])
    page = remote.show(STATE, "README.md") or ""
    assert page.count("## Release groups") == page.count("| Group |") == page.count("| App |") == 1
    assert page.startswith("# prod\n\nWritten by gitops-bg")


def test_what_others_write_into_the_table_of_groups_is_not_kept(repository: Repository, remote: GitRemote) -> None:
    repository.publish_groups({STORE: batch(entry(1))})
    page = (remote.show(STATE, "README.md") or "") + "| [evil](https://evil) | x |\n| [a/b](groups/a/c.json) | x |\n"
    remote.checkout(STATE)
    remote.write("README.md", page)
    remote.commit("somebody else")
    remote.push()
    remote.checkout("main")
    repository.poll()
    repository.publish_groups({STORE: batch(entry(1), entry(2))})
    assert rows(remote) == [STORE_ROW]
