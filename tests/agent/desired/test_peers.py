"""The board on which apps and groups see one another: whom rules ask about, who is queued again, and that no place is
taken twice.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread

import pytest

from gitops_bg.agent.desired.peers import FIRST_WOKEN, TRIES, RolloutRegistry
from gitops_bg.core.checks.policy_judge import judge
from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.policy_facts import Others, Peer, PolicyFacts, VersionFacts
from gitops_bg.core.model.policy_rules import After, Concurrency, Policy
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey

NOW = datetime(2026, 11, 20, tzinfo=UTC)
WEB, API, CART = (AppKey("shop", name) for name in ("web", "api", "cart"))
TURNS = (Policy("turns", (Concurrency(1),)),)
AFTER_API = (Policy("after", (After(AppKey("", "api"), timedelta()),)),)


def board(*all_of_main: AppOrGroup) -> tuple[RolloutRegistry, list[set[AppOrGroup]]]:
    made, woken = RolloutRegistry(lambda: all_of_main), []
    made.wake = lambda found: woken.append(set(found))
    return made, woken


def test_who_asks_about_an_app_looks_again_when_it_is_another() -> None:
    made, woken = board(WEB, API)
    assert API not in made.others(AFTER_API, WEB).peers
    made.register(Peer(API, phase="Promoting"))
    made.register(Peer(API, phase="Promoting"))
    made.register(Peer(API, healthy_since=NOW))
    assert woken == [{WEB}, set(), {WEB}]
    assert made.others(AFTER_API, WEB).peers[API].healthy_since == NOW


def test_turns_are_shut_until_every_app_was_looked_at() -> None:
    made, woken = board(WEB, API, CART)
    assert made.others(TURNS, WEB).not_looked_at == 2
    made.register(Peer(API))
    assert made.others(TURNS, WEB).not_looked_at == 1
    made.register(Peer(CART))
    assert made.others(TURNS, WEB).not_looked_at == 0
    assert woken[-1] == {WEB}


def test_an_app_that_nobody_can_look_at_keeps_no_turn_from_the_others() -> None:
    """Its namespace is closed to the agent, or its decision hits a bug: before anybody asks, and after that."""
    made, woken = board(WEB, API, CART)
    made.failed(API)
    assert made.others(TURNS, WEB).not_looked_at == 1
    made.failed(CART)
    assert made.others(TURNS, WEB).not_looked_at == 0
    assert woken[-1] == {WEB}
    made.begin()
    assert made.others(TURNS, WEB).not_looked_at == 0
    made.register(Peer(API, moving=True))
    made.failed(API)
    assert set(made.others(TURNS, WEB).peers) == {API}, "it was seen to move, and may still do so"


def test_only_who_moves_or_queues_is_told_of() -> None:
    made, _ = board(WEB, API, CART)
    for peer in (Peer(API, moving=True), Peer(CART, healthy_since=NOW)):
        made.register(peer)
    assert set(made.others(TURNS, WEB).peers) == {API}


def test_of_many_that_wait_only_the_first_look_again() -> None:
    apps = [AppKey("shop", f"a{number:03}") for number in range(200)]
    made, woken = board(*apps)
    for number, app in enumerate(apps):
        made.others(TURNS, app)
        made.register(Peer(app, queued=(number, "")))
    made.register(Peer(API, moving=True))
    made.register(Peer(API))
    assert woken[-1] == set(apps[:FIRST_WOKEN])


def test_an_app_that_is_gone_holds_no_place_and_who_waited_for_it_looks_again() -> None:
    made, woken = board(WEB, API)
    made.register(Peer(WEB))
    made.register(Peer(API, moving=True))
    assert made.others(TURNS, WEB).peers
    made.forget(API)
    assert not made.others(TURNS, WEB).peers
    assert woken[-1] == {WEB}


def test_an_app_that_left_before_anybody_looked_at_it_is_awaited_by_nobody() -> None:
    made, woken = board(WEB, API)
    assert made.others(TURNS, WEB).not_looked_at == 1
    made.forget(API)
    assert made.others(TURNS, WEB).not_looked_at == 0
    assert woken[-1] == {WEB}


def test_a_group_and_an_app_of_the_same_name_are_two() -> None:
    app, group = AppKey("shop", "store"), GroupKey("shop", "store")
    made, woken = board(app, group)
    assert made.others(TURNS, app).not_looked_at == made.others(TURNS, group).not_looked_at == 1
    made.register(Peer(group, moving=True))
    made.register(Peer(app, queued=(4, "shop/store")))
    assert made.others(TURNS, app).peers[group].moving
    assert not made.others(TURNS, group).peers[app].moving
    made.register(Peer(group))
    assert woken[-1] == {app}
    made.register(Peer(app))
    assert woken[-1] == {group}


def test_two_workers_never_take_the_same_place() -> None:
    """Each decides and notes in one step: with one place, one of many begins."""
    apps = [AppKey("shop", f"a{number}") for number in range(8)]
    made, _ = board(*apps)
    for app in apps:
        made.register(Peer(app))
    begun: list[AppKey] = []
    start = Barrier(len(apps))

    def work(app: AppKey) -> None:
        def note(is_open: bool) -> None:
            if is_open:
                begun.append(app)
                made.register(Peer(app, moving=True))

        start.wait()
        made.agreed(TURNS, app, lambda others: is_open(app, others), note)

    threads = [Thread(target=work, args=(app,)) for app in apps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(begun) == 1


def test_a_decision_that_takes_long_holds_up_no_other_and_is_taken_again_if_another_app_moved() -> None:
    made, _ = board(WEB, API)
    made.register(Peer(WEB))
    made.register(Peer(API))
    decided: list[bool] = []

    def slowly(others: Others) -> bool:
        if not decided:
            rival = Thread(target=made.agreed, args=(TURNS, API, bool, lambda _: made.register(Peer(API, moving=True))))
            rival.start()
            rival.join(20)
            assert not rival.is_alive(), "nobody waits for it"
        decided.append(is_open(WEB, others))
        return decided[-1]

    assert made.agreed(TURNS, WEB, slowly, lambda _: None) is False
    assert decided == [True, False], "the place was taken meanwhile"


def test_who_asks_nothing_waits_for_nobody_who_holds_the_board() -> None:
    made, _ = board(WEB, API)
    with made._lock:
        other = Thread(target=made.agreed, args=((), API, lambda others: others, lambda _: None))
        other.start()
        other.join(20)
        assert not other.is_alive()


@pytest.mark.parametrize(("seconds", "comes_again_later"), [(0.01, False), (0.1, True)])
def test_one_that_others_overtake_again_and_again_holds_the_board_only_for_a_short_time(
    seconds: float, comes_again_later: bool
) -> None:
    made, _ = board(WEB, API)
    made.register(Peer(WEB))
    used = [0.0]

    def overtaken(others: Others) -> int:
        used[0] += seconds
        made.register(Peer(API, queued=(len(used), str(used[0]))))
        return len(others.peers)

    if comes_again_later:
        with pytest.raises(WorldChanged, match="others with a limit of shop/web moved"):
            made.agreed(TURNS, WEB, overtaken, lambda _: None, cpu=lambda: used[0])
    else:
        assert made.agreed(TURNS, WEB, overtaken, lambda _: None, cpu=lambda: used[0]) == 1
    assert used[0] == pytest.approx(seconds * (TRIES if comes_again_later else TRIES + 1))


def is_open(app: AppKey, others: Others) -> bool:
    """Whether the policies of `TURNS` let an app begin."""
    facts = PolicyFacts(app, VersionFacts("v1:new"), VersionFacts("v1:old"), others=others)
    return all(verdict.open for verdict in judge(TURNS, facts, NOW))
