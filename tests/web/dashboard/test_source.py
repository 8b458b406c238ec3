"""What pages share: what was read a moment ago, the ledgers of all clusters, and the list with its groups."""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.errors import ObjectNotFound, Transient
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.repo.ledger.ledger import ClusterLedger
from gitops_bg.web.dashboard.snapshot import Board, Snapshot
from gitops_bg.web.dashboard.source import Fleet, Recent, Source
from tests.support.waiting import eventually
from tests.web.dashboard.objects import NOW

WEB, STORE = AppKey("shop", "web"), GroupKey("shop", "store")
LEDGERS = (ClusterLedger("eu"),)


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


# --- what was read a moment ago ---


def test_what_was_read_before_a_change_is_not_shown_after_it() -> None:
    recent = Recent(clock=Clock())
    assert recent.of(WEB, lambda: "before", version=1) == "before"
    assert recent.of(WEB, lambda: "again", version=1) == "before"
    assert recent.of(WEB, lambda: "after", version=2) == "after"
    assert recent.of(WEB, lambda: "late", version=1) == "after"


def test_who_asks_after_a_change_does_not_get_what_is_being_read_since_before_it() -> None:
    recent, begun, go_on = Recent(), threading.Event(), threading.Event()

    def read() -> str:
        begun.set()
        assert go_on.wait(10)
        return "before"

    with ThreadPoolExecutor() as pool:
        slow = pool.submit(recent.of, WEB, read, 1)
        assert begun.wait(10)
        assert recent.of(WEB, lambda: "after", version=2) == "after"
        go_on.set()
        assert slow.result(10) == "before"
    assert recent.of(WEB, lambda: "again", version=2) == "after"


def test_who_asks_first_reads_for_all_who_ask_meanwhile() -> None:
    recent = Recent(clock=Clock())
    first, read = recent.begin(WEB, lambda: "read")
    second, nothing = recent.begin(WEB, lambda: "read again")
    assert read is not None
    assert nothing is None
    assert not second.done()
    read()
    assert first.result() == second.result() == recent.of(WEB, lambda: "read again") == "read"


def test_it_is_read_again_when_it_is_old() -> None:
    clock = Clock()
    recent = Recent(1.0, clock)
    assert recent.of(WEB, lambda: 1) == 1
    clock.now = 1.0
    assert recent.of(WEB, lambda: 2) == 2


def test_who_waits_for_what_cannot_be_read_does_not_try_in_turn() -> None:
    recent, begun, go_on, asked = Recent(), threading.Event(), threading.Event(), list[int]()

    def fail() -> None:
        asked.append(1)
        begun.set()
        assert go_on.wait(10)
        raise Transient("no answer")

    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(recent.of, WEB, fail)
        assert begun.wait(10)
        others = [pool.submit(recent.of, WEB, fail) for _ in range(5)]
        eventually(lambda: all(each.running() for each in others), what="all of them ask")
        go_on.set()
        assert isinstance(first.exception(10), Transient)
        assert all(isinstance(each.exception(10), Transient) for each in others)
    assert recent.of(WEB, lambda: "well") == "well"


def test_no_more_is_kept_than_the_newest_of_the_last_keys() -> None:
    recent, read = Recent(clock=Clock()), list[int]()
    for number in range(300):
        recent.of(number, lambda number=number: read.append(number))  # type: ignore[misc]
    read.clear()
    recent.of(299, lambda: read.append(299))
    recent.of(0, lambda: read.append(0))
    assert read == [0]


def test_ten_thousand_different_keys_leave_no_more_in_memory_than_is_wanted() -> None:
    recent = Recent(clock=Clock(), most=1_000_000, weigh=len)
    tracemalloc.start()
    try:
        for number in range(10_000):
            recent.of(number, lambda: bytes(50_000))
        assert tracemalloc.get_traced_memory()[0] < 1_100_000
    finally:
        tracemalloc.stop()


def test_what_cannot_be_weighed_keeps_nobody_waiting() -> None:
    recent = Recent(clock=Clock(), weigh=len)
    with pytest.raises(TypeError):
        recent.of(WEB, lambda: 5)
    assert recent.of(WEB, lambda: "well") == "well"


def test_what_is_old_is_forgotten_when_something_else_is_read() -> None:
    clock, gone = Clock(), list[int]()
    recent = Recent(1.0, clock)
    weakref.finalize(recent.of(WEB, Clock), gone.append, 1)
    recent.of(STORE, lambda: 1)
    gc.collect()
    assert not gone
    clock.now = 1.0
    recent.of("other", lambda: 1)
    gc.collect()
    assert gone


# --- comparisons ---


def test_two_versions_are_compared_once_for_a_commit_of_main(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = SimpleNamespace(commit="a", record=Record())
    commands = SimpleNamespace(facts=lambda _: facts, now=NOW)
    repository = SimpleNamespace(ledgers=SimpleNamespace(read=tuple))
    running: Any = SimpleNamespace(
        cluster=None, listeners=[], app_commands=commands, catalog=SimpleNamespace(repository=repository)
    )
    source, compared = Source(running), list[tuple[int, int]]()

    def compare(_commands: object, _facts: object, before: int, after: int, _now: datetime) -> str:
        compared.append((before, after))
        if after == 9:
            raise ObjectNotFound("no version 9")
        return f"{before} to {after}"

    monkeypatch.setattr("gitops_bg.web.dashboard.source.compare", compare)
    for _ in range(2):
        assert [source.compare(WEB, *each) for each in ((1, 2), (2, 1))] == ["1 to 2", "2 to 1"]
    facts.commit = "b"
    source.compare(WEB, 1, 2)
    assert compared == [(1, 2), (2, 1), (1, 2)]
    for _ in range(2):
        with pytest.raises(ObjectNotFound):
            source.compare(WEB, 1, 9)
    assert compared[3:] == [(1, 9), (1, 9)]


# --- the ledgers of all clusters ---


def test_a_page_does_not_wait_for_a_remote_that_does_not_answer() -> None:
    answers = threading.Event()

    def read() -> tuple[ClusterLedger, ...]:
        assert answers.wait(10)
        return LEDGERS

    fleet = Fleet(read, lambda: NOW, patience=0.0)
    with pytest.raises(Transient, match="are being fetched; look again in a moment"):
        fleet.latest()
    answers.set()
    eventually(lambda: _ledgers(fleet) == LEDGERS, what="they are fetched")


def test_pages_about_everything_are_drawn_anew_once_the_ledgers_were_fetched() -> None:
    board, told = Groups().board(Clock()), list[int]()
    board.listen(lambda: told.append(board.changes_of(None)))
    fleet = Fleet(lambda: LEDGERS, lambda: NOW, board.fetched, patience=10.0)
    fleet.latest()
    eventually(lambda: told == [1], what="open pages are woken")
    assert [board.changes_of(each) for each in (None, WEB, STORE)] == [1, 0, 0]


def test_a_failure_is_shown_beside_what_was_fetched_before_and_tried_again_after_a_minute() -> None:
    clock, fetches = Clock(), list[datetime]()

    def read() -> tuple[ClusterLedger, ...]:
        fetches.append(NOW)
        if len(fetches) == 2:
            raise Transient("no route to host")
        return LEDGERS

    fleet = Fleet(read, lambda: NOW, patience=10.0, monotonic=clock)
    assert (fleet.latest().trouble, fleet.latest().ledgers) == ("", LEDGERS)
    clock.now = 60.0
    fleet.latest()
    eventually(lambda: fleet.latest().trouble == "no route to host", what="the failure is shown")
    assert (fleet.latest().ledgers, len(fetches)) == (LEDGERS, 2)
    clock.now = 120.0
    eventually(lambda: fleet.latest().trouble == "", what="it is well again")


def test_a_first_failure_is_remembered() -> None:
    fetches = list[int]()

    def read() -> tuple[ClusterLedger, ...]:
        fetches.append(1)
        raise Transient("no route to host")

    fleet = Fleet(read, lambda: NOW, patience=10.0, monotonic=Clock())
    for _ in range(3):
        with pytest.raises(Transient, match="no route to host"):
            fleet.latest()
    assert len(fetches) == 1


def _ledgers(fleet: Fleet) -> tuple[ClusterLedger, ...]:
    try:
        return fleet.latest().ledgers
    except Transient:
        return ()


# --- the list with its groups ---


class Groups:
    """A cluster without apps that answers a list of groups when it may."""

    def __init__(self) -> None:
        self.lists = 0
        self.asked, self.answers = threading.Event(), threading.Event()
        self.answers.set()

    def list(self, _: object) -> list[dict[str, Any]]:
        """The only group."""
        self.lists += 1
        self.asked.set()
        assert self.answers.wait(10)
        name = f"list-{self.lists}"
        return [{"metadata": {"namespace": "shop", "name": name, "uid": "1"}, "spec": {}, "status": {}}]

    def board(self, clock: Clock) -> Board:
        """The board of that cluster."""
        ours = SimpleNamespace(is_ours=lambda _: True)
        cluster = SimpleNamespace(bgds=dict, own_bgd=lambda _: None, client=self, release_groups=ours)
        return Board(cast(Cluster, cluster), clock)


def _names(snapshot: Snapshot) -> list[str]:
    return [each.row.name for each in snapshot.rows]


def test_one_reader_waits_for_a_list_of_groups_and_no_other() -> None:
    groups, clock = Groups(), Clock()
    board = groups.board(clock)
    assert _names(board.snapshot()) == ["list-1"]
    clock.now = 3.0
    groups.asked.clear()
    groups.answers.clear()
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(board.snapshot)
        assert groups.asked.wait(10)
        assert _names(pool.submit(board.snapshot).result(10)) == ["list-1"]
        groups.answers.set()
        assert _names(slow.result(10)) == ["list-2"]
    assert groups.lists == 2


def test_a_group_that_changed_is_listed_at_once_and_an_app_is_not() -> None:
    groups = Groups()
    board = groups.board(Clock())
    board.snapshot()
    board.changed(WEB)
    assert _names(board.snapshot()) == ["list-1"]
    board.changed(STORE)
    assert _names(board.snapshot()) == ["list-2"]


def test_a_change_counts_for_the_pages_that_may_show_it() -> None:
    board = Groups().board(Clock())
    board.changed(WEB)
    board.changed(AppKey("pay", "web"))
    about = (WEB, STORE, None, AppKey("shop", "cart"), GroupKey("pay", "store"))
    assert [board.changes_of(each) for each in about] == [1, 1, 2, 0, 1]
