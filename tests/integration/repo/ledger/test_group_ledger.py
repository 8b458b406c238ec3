"""What the ledger says of a release group, beside the apps; all else is as of an app (`test_ledger`)."""

from __future__ import annotations

import json
from datetime import timedelta

from gitops_bg.core.groups.model import GroupState, GroupVersion, VersionStage
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.repo.ledger.ledger_file import LedgerBatch, VersionState, state_of
from gitops_bg.repo.repository import Repository
from tests.integration.repo.conftest import NOON
from tests.integration.repo.ledger.test_ledger import STATE, STORE, sequences
from tests.integration.repo.ledger.test_ledger import batch as app_batch
from tests.integration.repo.ledger.test_ledger import entry as app_entry
from tests.support.git.remote import GitRemote

BLOG = GroupKey("shop", "blog")
STAGES = {"v1": VersionStage.LEGACY, "v2": VersionStage.ACTIVE, "v3": VersionStage.CANDIDATE}
RECORD = GroupRecord(state=GroupState(tuple(GroupVersion(name, stage, NOON) for name, stage in STAGES.items())))


def entry(sequence: int, event: Event = Event.PROMOTED, reason: str = "") -> LedgerEntry:
    at = NOON + timedelta(minutes=sequence)
    return LedgerEntry(sequence, at, event, from_version=1, to_version=2, commit="c" * 40, reason=reason)


def batch(*entries: LedgerEntry) -> LedgerBatch:
    return LedgerBatch("life-1", entries, state_of(RECORD))


def test_one_entry_is_a_commit_that_says_it_in_its_subject_and_trailers(
    repository: Repository, remote: GitRemote
) -> None:
    repository.ledger.publish({STORE: batch(entry(1, reason="promoted v2\nBg-Group: forged"))})
    assert remote.log(STATE)[0].subject == "store: promoted v1 → v2 [prod]"
    trailers = remote.run("log", "-1", "--format=%(trailers:unfold)", STATE, cwd=remote.bare)
    assert trailers.splitlines() == [
        "Bg-Group: shop/store",
        "Bg-Event: promoted",
        "Bg-From: v1",
        "Bg-To: v2",
        f"Bg-Commit: {'c' * 40}",
        "Bg-Reason: promoted v2 Bg-Group: forged",
        "Bg-Ledger: prod",
    ]


def test_the_file_says_which_versions_there_are_and_a_lost_record_learns_which_served(
    repository: Repository, remote: GitRemote
) -> None:
    repository.ledger.publish({STORE: batch(entry(1))})
    written = json.loads(remote.show(STATE, "groups/shop/store.json") or "")
    assert [written[each]["version"] for each in ("active", "legacy", "candidate")] == [2, 1, 3]
    assert (state_of(RECORD).active, written["served"]) == (VersionState(2), ["v1", "v2"])
    repository.poll()
    memory = repository.ledger.memory(STORE)
    assert memory is not None
    assert (memory.serving, memory.legacy) == ("v2", "v1")


def test_apps_and_groups_share_a_commit_with_a_line_and_a_block_of_trailers_each(
    repository: Repository, remote: GitRemote
) -> None:
    app = AppKey("shop", "web")
    repository.ledger.publish({STORE: batch(entry(1)), BLOG: batch(entry(1), entry(2)), app: app_batch(app_entry(1))})
    assert [each.subject for each in remote.log(STATE)] == ["4 events of web, blog, store [prod]"]
    text = remote.message(STATE)
    assert "shop/blog: promoted v1 → v2\n" in text
    assert (text.count("Bg-Group: "), text.count("Bg-App: ")) == (3, 1)


def test_the_ledgers_of_an_app_and_of_a_group_of_one_name_do_not_touch_each_other(
    repository: Repository, remote: GitRemote
) -> None:
    app = AppKey("shop", "store")
    repository.ledger.publish({app: app_batch(app_entry(1))})
    repository.ledger.publish({STORE: batch(entry(1), entry(2))})
    repository.ledger.publish({app: app_batch(app_entry(2))})
    assert (sequences(repository, app), sequences(repository, STORE)) == ([2, 1], [2, 1])
    assert repository.ledger.problems() == ()
    assert len(remote.log(STATE)) == 3


def test_the_overview_has_a_table_of_apps_and_one_of_groups(repository: Repository, remote: GitRemote) -> None:
    repository.ledger.publish({STORE: batch(entry(1)), BLOG: batch(entry(1, Event.ROLLED_BACK))})
    repository.ledger.publish({AppKey("shop", "store"): app_batch(app_entry(1))})
    page = remote.show(STATE, "README.md") or ""
    assert page.startswith("# prod\n\nWritten by gitops-bg")
    apps, groups = page.split("## Release groups")
    assert "| [shop/store](shop/store.json) |" in apps
    assert [row for row in groups.splitlines() if row.startswith("| [")] == [
        "| [shop/blog](groups/shop/blog.json) | v2 | v3 |  | rolled-back 2026-03-01 12:01 UTC |",
        "| [shop/store](groups/shop/store.json) | v2 | v3 |  | promoted 2026-03-01 12:01 UTC |",
    ]
