"""`abort`, `retry`, `suspend` and `resume` of a release group: the verbs of an app, with the same words."""

from __future__ import annotations

import pytest

from tests.integration.agent.groups.test_group_analyses import Measured, measured, store
from tests.integration.cli.conftest import Cli
from tests.support.groups import Store
from tests.support.waiting import eventually

__all__ = ["measured", "store"]


@pytest.fixture
def name(store: Store) -> str:
    return f"{store.world.namespace}/store"


def test_an_abort_takes_requests_back_and_tells_git_and_main_has_it_tried_again(
    cli: Cli, store: Store, measured: Measured, name: str
) -> None:
    measured.finds = {"pre": True}
    store.activate("v2")
    store.wait("v1L v2A", "Progressing")
    assert "stops v2; live traffic goes back to v1 (--dry-run" in cli("abort", name, "--dry-run")

    (told,) = cli.json("abort", name, "--reason", "errors in the log")["apps"]

    assert (told["group"], told["stopped"], told["live"], told["byAgent"]) == (name, ["v2"], "v1", True)
    store.wait("v1A v2C")
    store.wait_for_ledger("aborted")
    assert 'active: "v1"' in (store.world.remote.show("main", f"{store.folder}/group.yaml") or "")
    assert store.ask("/cart") == "cart-v1"
    said = cli("abort", name, code=1)
    assert f"there was nothing to abort; v1 stays live, and `gitops-bg rollback {name}` leaves it" in said
    assert "there is nothing to try again: main asks for v1, which serves" in cli("retry", name, code=1)


def test_an_abort_is_answered_while_the_files_of_the_group_have_a_mistake(
    cli: Cli, store: Store, measured: Measured, name: str
) -> None:
    """By what they said before; main is told as ever: that is one line."""
    measured.finds = {"pre": True}
    store.activate("v2")
    store.wait("v1L v2A", "Progressing")
    store.spec["archiveSize"] = -1
    store.activate("v2")
    eventually(lambda: store.status().get("phase") == "Invalid", what="the mistake is shown")
    (told,) = cli.json("abort", name, "--reason", "errors in the log")["apps"]
    assert (told["stopped"], told["live"], store.ask("/cart")) == (["v2"], "v1", "cart-v1")
    store.wait("v1A v2C", "Invalid")
    file = f"{store.folder}/group.yaml"
    eventually(lambda: 'active: "v1"' in (store.world.remote.show("main", file) or ""), what="main names what serves")


def test_what_failed_is_on_hold_until_a_retry(cli: Cli, store: Store, measured: Measured, name: str) -> None:
    measured.finds = {"pre": False, "post": True}
    store.activate("v2")
    store.wait("v1A v2C", "Held")
    lifts = f"`gitops-bg retry {name}` lifts the hold"
    assert store.condition("OnHold")["message"].endswith(lifts)
    shown = " ".join(cli("explain", name).split())
    assert lifts in shown
    assert "v2 was refused at " in shown
    assert ", and it is on hold: " in cli("group", "promote", name, "v2")
    measured.finds["pre"] = True

    told = cli.json("retry", name, "-m", "the database is back")

    assert (told["group"], told["version"], told["changed"]) == (name, "v2", True)
    assert "store: retry v2" in store.world.remote.log()[0].subject
    store.world.wake()
    store.wait("v1L v2A")
    store.wait_for_ledger("retried")


def said_of_versions(store: Store) -> list[dict[str, object]]:
    """What the record has of who said what about a version, from which holds follow."""
    stated = store.record["statements"]
    return [{key: value for key, value in each.items() if key != "sequence"} for each in stated]


def test_a_hold_outlives_a_group_that_somebody_deletes(cli: Cli, store: Store, measured: Measured, name: str) -> None:
    """The ledger has it, also for a new agent, and for one that was there before; a retry lifts it as ever."""
    measured.finds = {"pre": False}
    store.activate("v2")
    store.wait("v1A v2C", "Held")
    store.wait_for_ledger("aborted")
    measured.finds, before = {"pre": True, "post": True}, said_of_versions(store)
    assert before
    for has_restarted in (False, True):
        store.delete()
        store.world.restart() if has_restarted else store.look()
        store.wait("v1A v2C", "Held")
        assert said_of_versions(store) == before
    assert store.ask("/cart") == "cart-v1"
    cli("retry", name)
    store.world.wake()
    store.wait("v1L v2A")


def test_abort_all_stops_groups_too(cli: Cli, store: Store, measured: Measured, name: str) -> None:
    measured.finds = {}
    store.activate("v2")
    store.wait("v1A v2C", "Progressing")
    told = cli.json("abort", "--all", "--yes", "-n", store.world.namespace)["apps"]
    assert [each["stopped"] for each in told if each.get("group") == name] == [["v2"]]
    store.wait("v1A v2C", "Held")
    assert store.condition("OnHold")["message"].startswith("aborted by hand")


def test_abort_all_stops_what_it_can_beside_a_group_that_nobody_can_read(cli: Cli, store: Store, name: str) -> None:
    web, place = store.world.app().deploy("v1"), store.world.namespace
    web.push_image("v2")
    web.wait_offered("v2")
    store.damage_record()
    said = cli("abort", "--all", "--yes", "-n", place, code=1)
    assert "ReleaseGroup store: has no record" in said
    assert f"{web.key}: aborted v2" in said
    web.wait_phase("Held")
    assert "nothing is on its way in any other app or release group" in cli("abort", "--all", "-n", place, code=1)


def test_where_an_app_has_the_name_the_verbs_of_groups_are_about_the_group(
    cli: Cli, store: Store, measured: Measured, name: str
) -> None:
    store.world.app("store").deploy("v1")
    measured.finds = {}
    store.activate("v2")
    store.wait("v1A v2C", "Progressing")
    assert f"{name}: there was nothing to abort" in cli("abort", name, code=1), "the app"
    (told,) = cli.json("group", "abort", name)["apps"]
    assert (told["group"], told["stopped"]) == (name, ["v2"])
    store.wait("v1A v2C", "Held")
    assert cli.json("group", "retry", name)["changed"] is True
    assert cli.json("group", "gates", name)["gates"] == []


def test_a_group_is_suspended_until_it_is_resumed_and_the_ledger_says_by_whom(
    cli: Cli, store: Store, measured: Measured, name: str
) -> None:
    measured.finds = {"pre": True, "post": True}
    told = cli.json("suspend", name, "-r", "incident 12")
    assert (told["group"], told["version"], told["changed"]) == (name, "v1", True)
    assert "suspended already by " in cli("pause", name, "-r", "incident 13", code=1)
    store.world.wake()
    store.wait_for_ledger("suspended")
    cli("group", "promote", name, "v2")
    store.world.wake()
    store.wait("v1A v2C", "Suspended")

    assert cli.json("group", "resume", name)["changed"] is True

    store.world.wake()
    store.wait("v1L v2A")
    store.wait_for_ledger("resumed")
    assert cli.json("resume", name)["changed"] is False
    found = {each["event"]: each for each in cli.json("history", name)["entries"]}
    assert "incident 12" in found["suspended"]["reason"]


def test_resume_has_what_is_on_hold_tried_again(cli: Cli, store: Store, measured: Measured, name: str) -> None:
    measured.finds = {"pre": False, "post": True}
    store.activate("v2")
    store.wait("v1A v2C", "Held")
    measured.finds["pre"] = True
    assert "the hold on what main names is lifted by commit" in cli("resume", name)
    store.world.wake()
    store.wait("v1L v2A")
