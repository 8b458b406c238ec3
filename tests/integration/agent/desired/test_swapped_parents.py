"""Merges whose second parent was main, as `git pull` makes them, and those that only look like it."""

from tests.fixtures.repos.texts import policy
from tests.integration.agent.test_policies import CLOSED, FILE, policy_gates, publish
from tests.support.groups import Store
from tests.support.scenario import App, Scenario

PULLED = "Merge branch 'main' of https://git.example/shop/config"
OPEN = "- soak: {for: 1s}"
PULLED = "Merge branch 'main' of https://git.example/shop/config"


def _merge_on_a_stale_clone_and_pull(web: App, stale: str, *, drop: str = "") -> None:
    remote = web.scenario.remote
    remote.run("reset", "--quiet", "--hard", stale)
    remote.run("fetch", "--quiet", "origin")
    remote.run("merge", "--quiet", "--no-ff", "-m", "Promote web", f"origin/{web.promotion_branch}")
    remote.run("merge", "--quiet", "--no-ff", "--no-commit", "-m", "x", "origin/main")
    if drop:
        remote.run("rm", "-q", "-f", drop)
    remote.run("commit", "--quiet", "-m", PULLED)
    web.scenario.push()
    web.scenario.settle()
    web.scenario.advance(30)
    web.scenario.settle()


def _offered(web: App) -> str:
    web.push_image("v2")
    web.wait_offered("v2")
    web.scenario.settle()
    web.scenario.pull()
    return web.scenario.remote.tip


def test_a_commit_that_drops_its_own_policy_waits_also_where_a_pull_swapped_the_parents(web: App) -> None:
    stale = _offered(web)
    publish(web, "Stop the line", policies__freeze=policy("freeze", CLOSED))
    web.scenario.settle()
    _merge_on_a_stale_clone_and_pull(web, stale, drop=FILE)
    assert web.live_tag() == "v1", "one commit of main dropped the freeze and promoted"
    assert any("changes its own policy" in gate for gate in policy_gates(web))


def test_a_commit_that_drops_its_own_policy_waits_whatever_it_calls_itself_to_a_new_process(web: App) -> None:
    """Nobody knows any more that its first parent was main; its subject says that it was the second one."""
    remote, stale = web.scenario.remote, _offered(web)
    publish(web, "Stop the line", policies__freeze=policy("freeze", CLOSED))
    web.scenario.pull()
    remote.run("checkout", "--quiet", "-b", "behind", stale)
    remote.write("docs/README.md", "no policy here\n")
    remote.commit("Docs")
    remote.run("checkout", "--quiet", "main")
    remote.run("fetch", "--quiet", "origin")
    remote.run("merge", "--quiet", "--no-ff", "--no-commit", "behind")
    remote.run("rm", "-q", "-f", FILE)
    remote.run("checkout", f"origin/{web.promotion_branch}", "--", f"{web.folder}/primary.yaml")
    remote.run("commit", "--quiet", "-m", PULLED)
    web.scenario.push()
    web.scenario.settle()
    web.scenario.restart(fresh_mirror=True)
    web.scenario.settle()
    assert web.live_tag() == "v1"
    assert any("changes its own policy" in gate for gate in policy_gates(web))


def test_a_commit_that_names_a_group_s_version_and_drops_its_policy_waits_too(world: Scenario) -> None:
    store, remote = Store(world), world.remote
    store.begin()
    world.pull()
    stale = remote.tip
    world.publish("Stop the line", {"policies/freeze.yaml": policy("freeze", CLOSED)})
    world.settle()
    main = remote.tip
    remote.run("reset", "--quiet", "--hard", stale)
    store.spec["active"] = "v2"
    remote.stage(store.group())
    remote.commit("v2")
    remote.run("merge", "--quiet", "--no-ff", "--no-commit", "-m", "x", main)
    remote.run("rm", "-q", "-f", FILE)
    remote.run("commit", "--quiet", "-m", PULLED)
    world.push()
    world.settle()
    store.wait("v1A v2C", "Waiting")
    assert "changes its own policy" in store.shut_gates()[0]["reason"]


def test_a_merge_that_a_pull_made_is_reverted_against_what_main_was(web: App) -> None:
    """`-m 2`, for the second parent was main; the first has the bad version already."""
    world, remote = web.scenario, web.scenario.remote
    world.pull()
    stale = remote.tip
    world.publish("A colleague's", {"docs/README.md": "meanwhile\n"})
    main = remote.tip
    remote.run("reset", "--quiet", "--hard", stale)
    remote.write(f"{web.folder}/target.yaml", web.target_yaml("v2"))
    remote.commit("v2")
    remote.run("merge", "--quiet", "--no-ff", "-m", PULLED, main)
    world.push()
    web.merge_promotion("v2")
    web.wait_live("v2")
    web.wait_told()
    world.settle()
    world.pull()
    pulled = remote.run("log", "-1", "--format=%H", f"--grep={PULLED}").strip()
    remote.run("revert", "--no-edit", "-m", "2", pulled)
    world.push()
    world.settle()
    assert web.live_tag() == "v1"
