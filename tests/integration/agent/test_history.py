"""A rewritten main holds promotions and keeps everything serving, until somebody accepts it (DESIGN §4)."""

from tests.support.scenario import App

SETTINGS = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"


def _rewrite(web: App, tag: str) -> str:
    """Somebody replaces the newest commit of main by one that asks for another tag, and promotes it too."""
    world = web.scenario
    world.pull()
    world.remote.run("reset", "--quiet", "--hard", "HEAD~1")
    world.remote.write(f"{web.folder}/target.yaml", web.target_yaml(tag))
    commit = world.remote.commit(f"Not what it was: {tag}")
    world.remote.force_push()
    world.wake()
    return commit


def _rewritten_with_an_offer(web: App) -> str:
    web.push_image("v2", "about to be lost")
    web.wait_offered("v2")
    commit = _rewrite(web, "v3")
    web.wait_told("history-rewritten")
    return commit


def test_force_push_holds_promotions_and_leaves_traffic_alone(web: App) -> None:
    web.strategy["autoPromotionEnabled"] = True
    web.strategy["autoPromotionSeconds"] = 10
    web.configure()
    web.push_image("v2", "about to be lost")
    web.wait_preview("v2")

    _rewrite(web, "v3")
    web.wait_told("history-rewritten")
    web.scenario.advance(60)
    web.scenario.wait_idle()

    assert web.live_tag() == "v1"
    shut = {gate["kind"] for gate in web.status["gates"] if not gate["open"]}
    assert "history" in shut


def test_accepted_history_lets_promotions_go_on(web: App) -> None:
    commit = _rewritten_with_an_offer(web)

    web.scenario.publish("Accept", {"gitops-bg.yaml": f"{SETTINGS}acceptedHistory: {commit}\n"})

    web.wait_told("history-accepted")
    web.wait_offered("v3")
    web.merge_offer()
    web.wait_live("v3")


def test_rollback_works_with_a_rewritten_history(web: App) -> None:
    promotion = web.promote("v2")
    web.push_image("v3", "about to be lost")
    web.wait_offered("v3")
    _rewrite(web, "v4")
    web.wait_told("history-rewritten")

    web.revert(promotion)

    web.wait_live("v1")


def test_history_that_was_rewritten_while_no_agent_looked_is_noticed_by_the_next(web: App) -> None:
    """Neither the process nor its mirror remembers what main was; the record does."""
    web.promote("v2")
    world = web.scenario
    world.stop()
    world.pull()
    world.remote.run("checkout", "--quiet", "--orphan", "other")
    world.remote.commit("A new beginning")
    world.remote.force_push()
    world.remote.run("checkout", "--quiet", "-B", "main", "other")
    world.remote.run("branch", "--quiet", "--set-upstream-to", "origin/main")
    world.start(fresh_mirror=True)

    web.wait_told("history-rewritten")
    assert web.live_tag() == "v2"


def test_main_that_comes_back_as_it_was_ends_the_hold(web: App) -> None:
    world = web.scenario
    web.push_image("v2")
    web.wait_offered("v2")
    before = world.remote.head()
    _rewrite(web, "v3")
    web.wait_told("history-rewritten")

    world.remote.force_push(to=str(before))
    world.wake()

    web.wait_told("history-accepted")
    world.remote.run("fetch", "--quiet", "origin")
    world.remote.run("reset", "--quiet", "--hard", "origin/main")
    web.wait_offered("v2")
    web.merge_offer()
    web.wait_live("v2")
