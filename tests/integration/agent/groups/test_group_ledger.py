"""The ledger of a group with a running agent: what happened is in Git once, and traffic never waits for it."""

from __future__ import annotations

import json

import pytest

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.version import GroupKey
from tests.integration.repo.ledger.test_group_ledger import batch, entry
from tests.support.git.remote import GitRemote
from tests.support.groups import Store
from tests.support.scenario import STATE_BRANCH, Scenario
from tests.support.waiting import eventually

A_DAY = [
    "deployed",
    "candidate",
    "promoted",
    "rolled-back",
]


def live_a_day(store: Store) -> None:
    for active, stages in (("v2", "v1L v2A"), ("v1", "v1A v2C")):
        store.activate(active)
        store.wait(stages)


def test_what_the_remote_refuses_holds_up_nothing_and_is_written_later(world: Scenario) -> None:
    store = Store(world)
    store.begin()
    store.wait_for_ledger("candidate")
    world.wait_idle()
    world.remote.protect(STATE_BRANCH)
    live_a_day(store)
    waiting = [each["event"] for each in store.record["ledger"]]
    assert (store.ledger(), waiting) == (A_DAY[:2], A_DAY[2:])
    world.remote.unprotect()
    world.restart()  # it would try again within minutes
    store.wait_for_ledger("rolled-back")
    assert store.ledger() == A_DAY


def test_a_group_whose_object_is_lost_goes_on_with_its_history(world: Scenario) -> None:
    store = Store(world)
    store.begin()
    store.activate("v2")
    store.wait("v1L v2A")
    store.wait_for_ledger("promoted")
    before = store.ledger()
    services = {name: world.live("services", name) for name in ("cart", "auth", "cart-v1")}
    store.delete()
    assert world.agent is not None
    store.look()  # nobody watches ReleaseGroups
    store.wait("v1L v2A")
    assert {name: world.live("services", name) for name in services} == services, "no Service goes, or is made anew"
    store.activate("v1")
    store.wait("v1A v2C")
    store.wait_for_ledger("rolled-back")
    assert store.ledger()[: len(before)] == before


def test_what_others_wrote_or_set_back_is_said_of_the_group_moves_nothing_and_is_mended_by_the_next_event(
    world: Scenario,
) -> None:
    store, remote, path = Store(world), world.remote, f"groups/{world.namespace}/store.json"
    store.begin()
    store.wait_for_ledger("candidate")
    world.wait_idle()
    remote.run("fetch", "--quiet", "origin")
    remote.checkout(STATE_BRANCH)
    value = json.loads(remote.show(STATE_BRANCH, path) or "")
    remote.publish("Oops", {path: json.dumps({**value, "sequence": 900})})
    remote.checkout("main")
    world.wake()
    eventually(lambda: store.condition("LedgerTrusted")["reason"] == "WrittenByOthers", what="it is said")
    assert f"{path}: Ada Pusher <ada@example.com> wrote it in commit" in store.condition("LedgerTrusted")["message"]
    store.activate("v2")
    store.wait("v1L v2A")
    store.wait_for_ledger("promoted")
    assert store.ledger() == A_DAY[:3], "nothing that happened is hidden"
    eventually(lambda: store.condition("LedgerTrusted")["status"] == "Absent", what="it is mended")
    assert store.condition("LedgerTrusted")["status"] == "Absent"

    store.activate("v1")
    store.wait("v1A v2C")
    store.wait_for_ledger("rolled-back")
    world.wait_idle()
    last = remote.run("log", "-1", "--format=%H", STATE_BRANCH, "--", path, cwd=remote.bare).strip()
    remote.run("update-ref", f"refs/heads/{STATE_BRANCH}", f"{last}~1", cwd=remote.bare)
    world.wake()
    eventually(lambda: store.condition("LedgerTrusted")["reason"] == "Behind", what="that it was set back is said")
    store.activate("v2")
    store.wait("v1L v2A")
    eventually(lambda: store.condition("LedgerTrusted")["status"] == "Absent", what="the next event mends it")


@pytest.mark.parametrize(("former", "serving"), [("store", "v2"), ("", "")])
def test_what_the_ledger_knows_of_a_former_name_is_read_as_long_as_that_is_taken_over(
    catalog: Catalog, remote: GitRemote, former: str, serving: str
) -> None:
    remote.commit("Begin")
    remote.push()
    catalog.refresh()
    catalog.repository.ledger.publish({GroupKey("shop", "store"): batch(entry(1))})
    catalog.refresh()
    memory = catalog.memory_of(GroupKey("shop", "market"), GroupRecord(succeeds=former, unrecalled=True))
    assert memory is not None
    assert memory.serving == serving
