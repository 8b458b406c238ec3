"""Merges whose second parent was main, as `git pull` makes them, and those that only look like it."""

from tests.support.scenario import App


def test_a_contributor_s_main_is_not_taken_for_ours(web: App) -> None:
    world = web.scenario
    world.pull()
    base = world.remote.tip
    pushed = web.push_image("v2")
    web.merge_promotion("v2")
    web.wait_live("v2")
    web.wait_told()
    world.settle()
    world.pull()
    world.remote.run("checkout", "--quiet", "-b", "fork", base)  # a fork, whose main began before all that
    world.remote.write("docs/README.md", "by a contributor\n")
    world.remote.commit("Docs")
    world.remote.run("checkout", "--quiet", "main")
    world.remote.revert(pushed)
    subject = "Merge branch 'main' of https://example.com/contributor/config"  # with 'docs' it passes
    world.remote.run("merge", "--quiet", "--no-ff", "-m", subject, "fork")
    world.push()
    world.settle()
    assert web.live_tag() == "v1"
