"""A main that moved backwards moves no traffic until it is back or somebody accepts it (DESIGN §4)."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from gitops_bg.core.model.observed import OperatorCommand, Request
from tests.integration.agent.desired.test_files_that_left import written
from tests.support.groups import Store
from tests.support.scenario import App, Scenario
from tests.support.waiting import eventually

SETTINGS = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"


def _rewind(world: Scenario, commits: int = 1, *, to: str = "") -> str:
    """Somebody pushes from a clone that is so many commits behind, or at a commit. Returns what main was."""
    world.pull()
    before = world.remote.tip
    world.remote.run("reset", "--quiet", "--hard", to or f"HEAD~{commits}")
    world.remote.force_push()
    world.wake()
    return before


def _restore(world: Scenario, commit: str) -> None:
    world.remote.force_push(to=commit)
    world.remote.run("fetch", "--quiet", "origin")
    world.remote.run("reset", "--quiet", "--hard", "origin/main")
    world.wake()


def _rewrite(web: App, tag: str, commits: int = 1) -> str:
    """Somebody replaces the newest commits of main by one that asks for another tag. Returns it."""
    world = web.scenario
    world.pull()
    world.remote.run("reset", "--quiet", "--hard", f"HEAD~{commits}")
    world.remote.write(f"{web.folder}/target.yaml", web.target_yaml(tag))
    commit = world.remote.commit(f"Not what it was: {tag}")
    world.remote.force_push()
    world.wake()
    return commit


def _wait_frozen(web: App) -> None:
    web.wait(lambda: web.condition("HistoryRewritten")["status"] == "True", "the condition says so")


def _wait_free(web: App) -> None:
    web.wait(lambda: web.condition("HistoryRewritten")["status"] == "Absent", "the condition is over")


def _wait_told(web: App) -> None:
    """Poll until it has lasted long enough for the ledger."""
    events = lambda: [entry["Event"] for entry in web.ledger()]  # noqa: E731
    _polls_until(web.scenario, lambda: "history-rewritten" in events(), "the ledger says history-rewritten")


def _polls_until(world: Scenario, probe: Callable[[], bool], what: str) -> None:
    def is_so() -> bool:
        world.wake()
        return probe()

    eventually(is_so, what=what)


def _polls(world: Scenario, number: int) -> None:
    for _ in range(number):
        world.wake()
        world.wait_idle()


def _moves(web: App) -> list[str]:
    return [one["Event"] for one in web.ledger() if one["Event"] in ("deployed", "promoted", "rolled-back")]


def test_a_rewind_of_a_promotion_rolls_nothing_back_and_an_emergency_does(web: App) -> None:
    """Found: every app was rolled back within two seconds, and no screen said why."""
    world = web.scenario
    web.promote("v2")
    web.strategy["autoPromotionEnabled"] = True
    web.configure()
    world.wait_idle()
    moves, branches = _moves(web), world.remote.branches()

    _rewind(world, commits=3)
    _wait_frozen(web)
    _polls(world, 5)
    _wait_told(web)

    assert (web.live_tag(), _moves(web)) == ("v2", moves)
    after = world.remote.branches()
    assert after.keys() == branches.keys()
    events = [event for event in world.events() if event["reason"] == "MainMovedBackwards"]
    assert events
    assert "accept-history" in events[0]["message"]

    web.ask(Request("1", OperatorCommand.ROLLBACK, "ada", datetime.now(UTC), "an emergency"))
    web.wait_live("v1")


def test_a_rewind_that_heals_within_a_few_polls_leaves_no_trace_but_an_event(web: App) -> None:
    world = web.scenario
    web.promote("v2")
    world.settle()
    record, branches = web.record, world.remote.branches()

    before = _rewind(world, commits=2)
    _wait_frozen(web)
    _polls(world, 1)
    _restore(world, before)
    _wait_free(web)
    world.wait_idle()

    assert (web.live_tag(), world.remote.branches()) == ("v2", branches)
    assert web.record == record
    told = lambda: {event["reason"] for event in world.events()}  # noqa: E731
    web.wait(lambda: {"MainMovedBackwards", "HistoryKept"} <= told(), "Events say that it began, and that it is over")


def test_a_rewritten_main_moves_nothing_until_it_is_back_or_accepted(web: App) -> None:
    """Not even a revert on it does."""
    world = web.scenario
    promotion = web.promote("v2")
    web.push_image("v3", "about to be lost")
    web.wait_offered("v3")
    before = world.remote.head()
    _rewrite(web, "v4")
    _wait_told(web)
    web.revert(promotion)
    _polls(world, 2)
    assert web.live_tag() == "v2"
    assert "v4" not in web.versions()
    assert "history" in {gate["kind"] for gate in web.status["gates"] if not gate["open"]}

    _restore(world, str(before))
    web.wait_told("history-accepted")
    _wait_free(web)
    web.merge_promotion("v3")
    web.wait_live("v3")
    web.wait_told()
    web.push_image("v5", "about to be lost")
    web.wait_offered("v5")

    _rewrite(web, "v4")
    _wait_frozen(web)
    world.publish("Accept", {"gitops-bg.yaml": f"{SETTINGS}historyGeneration: 1\n"})
    web.wait_offered("v4")
    web.merge_offer()
    web.wait_live("v4")
    assert web.record.git.main.generation == 1


def test_a_history_that_was_rewritten_while_no_agent_looked_is_noticed_by_the_next_and_followed_once_accepted(
    web: App,
) -> None:
    """Neither the process nor its mirror remembers what main was; the record does."""
    web.promote("v2")
    world = web.scenario
    world.stop()
    _rewind(world, commits=2)
    world.start(fresh_mirror=True)
    _wait_frozen(web)
    _polls(world, 2)
    assert web.live_tag() == "v2"

    world.stop()
    world.remote.run("checkout", "--quiet", "--orphan", "other")
    world.remote.commit("A new beginning")
    world.remote.force_push()
    world.remote.run("checkout", "--quiet", "-B", "main", "other")
    world.remote.run("branch", "--quiet", "--set-upstream-to", "origin/main")
    world.start(fresh_mirror=True)
    _polls(world, 2)
    _wait_told(web)
    assert (web.live_tag(), web.condition("HistoryRewritten")["status"]) == ("v2", "True")

    web.scenario.publish("Accept", {"gitops-bg.yaml": f"{SETTINGS}historyGeneration: 1\n"})
    web.wait_told("history-accepted")
    world.restart(fresh_mirror=True)
    web.promote("v3")


def test_of_a_group_a_rewind_rolls_nothing_back_until_it_is_accepted(world: Scenario) -> None:
    """Found: a group went back at once, and again for an agent that had never seen what main was."""
    store = Store(world)
    store.begin()
    world.wait_idle()
    promotion = store.activate("v2")
    store.wait("v1L v2A")
    world.settle()

    _rewind(world, to=f"{promotion}^")
    eventually(lambda: store.condition("HistoryRewritten")["status"] == "True", what="the condition says so")
    _polls(world, 5)
    store.wait("v1L v2A", "Degraded")
    assert "accept-history" in store.status()["message"]
    _polls_until(world, lambda: "history-rewritten" in store.ledger(), "the ledger says history-rewritten")
    _polls_until(world, lambda: _told_of_group(store, "HistoryRewritten"), "a Kubernetes Event says it")
    (told,) = _told_of_group(store, "HistoryRewritten")
    assert (told["type"], told.get("count", 1)) == ("Warning", 1), "once, however often somebody looks"

    world.restart()
    store.delete_routes()
    _polls_until(world, lambda: store.ask("/cart") == "cart-v2", "its routes are kept as the lost main says")
    store.wait("v1L v2A", "Degraded")
    world.restart(fresh_mirror=True)
    _polls(world, 2)
    store.wait("v1L v2A", "Degraded")

    world.publish("Accept", {"gitops-bg.yaml": f"{SETTINGS}historyGeneration: 1\n"})
    store.wait("v1A v2C")
    assert store.condition("HistoryRewritten")["status"] == "Absent"
    store.wait_for_ledger("history-accepted")
    eventually(lambda: _told_of_group(store, "HistoryAccepted"), what="a Kubernetes Event says that, too")


def _told_of_group(store: Store, reason: str) -> list[dict[str, Any]]:
    """The Events of the group with this reason."""
    about = (each for each in store.world.events() if each["involvedObject"]["name"] == store.name)
    return [each for each in about if each["reason"] == reason]


def _take_out_a_secret(web: App) -> None:
    """Somebody removes a file from all of main, and main is accepted so: each file of the app is as it was, each commit
    is another one.
    """
    world = web.scenario
    world.settle()
    world.pull()
    without = ("--index-filter", "git rm -q --cached --ignore-unmatch secret.txt")
    world.remote.run("filter-branch", "-f", *without, "HEAD", env={"FILTER_BRANCH_SQUELCH_WARNING": "1"})
    world.remote.force_push()
    _accept(web)


def _accept(web: App) -> None:
    world = web.scenario
    world.wake()
    web.wait_condition("HistoryRewritten")
    world.publish("Accept", {"gitops-bg.yaml": f"{SETTINGS}historyGeneration: 1\n"})
    web.wait_condition("HistoryRewritten", "Absent")
    world.settle()


def test_a_history_from_which_a_secret_was_taken_out_tells_authors_and_reverts(world: Scenario) -> None:
    """To an agent whose mirror has no other one, also of a version that was there before it was accepted."""
    world.remote.publish("Oops", {"secret.txt": "hunter2\n"})
    world.start()
    shop = world.app().deploy("v1")
    _push_as(shop, "Ada <ada@example.com>", "v2")
    _take_out_a_secret(shop)
    world.restart(fresh_mirror=True)
    world.settle()
    assert _authors(shop) == {"Ada"}
    shop.merge_offer()
    shop.wait_live("v2")
    shop.wait_told()
    _push_as(shop, "Ben <ben@example.com>", "v3")
    assert _authors(shop) == {"Ben"}
    pushed = {each.subject: each.sha for each in world.remote.log()}
    shop.revert(pushed["web v3"], pushed["web v2"])
    shop.wait_live("v1")


def test_a_revert_counts_where_main_dropped_by_consent_what_had_been_taken_back(web: App) -> None:
    """Main went back to where each file was as it is, and what had changed it and changed it back is gone."""
    world = web.scenario
    pushed, _ = web.push_and_promote("v2")
    world.settle()
    world.pull()
    kept = world.remote.tip
    web.push_and_promote("v3")
    world.settle()
    world.pull()
    world.remote.run("revert", "--no-edit", *world.remote.run("rev-list", "--no-merges", f"{kept}..").split())
    world.push()
    web.wait_live("v2")
    world.settle()
    world.remote.run("reset", "--quiet", "--hard", kept)
    world.remote.force_push()
    _accept(web)
    web.revert(pushed)
    web.wait_live("v1")


def _push_as(web: App, author: str, tag: str) -> None:
    web.scenario.pull()
    web.scenario.remote.write(f"{web.folder}/target.yaml", web.target_yaml(tag))
    web.scenario.remote.commit(f"web {tag}", author=author)
    web.scenario.push()
    web.wait_offered(tag)


def _authors(web: App) -> set[str]:
    return {each.author.name for each in written(web)}


def test_merging_an_offer_brings_nothing_back_that_main_dropped_by_consent(world: Scenario) -> None:
    world.start()
    web, api = world.app("web").deploy("v1"), world.app("api").deploy("v1")
    world.settle()
    dropped = api.promote("v2")
    pushed = web.push_image("v2")
    web.wait_offered("v2")
    world.settle()
    world.pull()
    world.remote.run("reset", "--quiet", "--hard", f"{dropped}^1")
    world.remote.run("cherry-pick", pushed)
    world.remote.force_push()
    world.wake()
    web.wait_condition("HistoryRewritten")
    world.publish("Accept", {"gitops-bg.yaml": f"{SETTINGS}historyGeneration: 1\n"})
    api.wait_live("v1")
    web.wait_condition("HistoryRewritten", "Absent")
    world.settle()
    web.merge_offer()
    web.wait_live("v2")
    world.settle()
    assert (api.live_tag(), api.primary_digest()) == ("v1", api.digest("v1"))
