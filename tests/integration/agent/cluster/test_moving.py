"""`adopt: {app: FORMER}` covers what an app has that left main, and nothing of one that is there (decision 70)."""

from gitops_bg.core import names
from tests.support.scenario import App


def whose(app: App, service: str = "web") -> str:
    """The app whose pods have the traffic of a Service."""
    live = app.scenario.live("services", service)
    assert live is not None
    return str(live["spec"]["selector"][names.APP])


def beside(web: App) -> App:
    """Another app that says it is `web`, and names its Services."""
    shop = web.scenario.app("shop")
    shop.strategy = {"activeService": "web", "previewService": "web-preview"} | shop.strategy
    shop.spec["adopt"] = {"app": "web"}
    shop.add("v9")
    return shop


def turn(app: App) -> None:
    app.scenario.settle()
    app.scenario.advance(61)
    app.scenario.settle()


def begin_without_main(web: App) -> None:
    """A new process looks at the apps before it has read main, moves nothing, and reads it then."""
    world = web.scenario
    world.remote.go_down()
    world.start(fresh_mirror=True)
    turn(web)
    assert whose(web) == "web"

    world.remote.come_back()
    world.wake()
    turn(web)


def test_an_app_takes_no_traffic_from_one_whose_folder_is_in_main(web: App) -> None:
    """Found so: live traffic went to it without a promotion, and the other one had no Service any more."""
    world, shop = web.scenario, beside(web)
    turn(web)

    assert (whose(web), whose(web, "web-preview")) == ("web", "web")
    assert "remove the folder of" in shop.wait_condition("Adopting")["message"]
    assert shop.condition("Adopting")["reason"] == "Conflict"
    web.promote("v2")

    world.publish("It is shop now", {web.folder: None})
    shop.wait(lambda: whose(web) == "shop", "it takes over once the other one has left")


def test_nor_from_one_whose_folder_cannot_be_read(web: App) -> None:
    beside(web)
    web.scenario.publish("Break web", {f"{web.folder}/app.yaml": "spec: ["})
    turn(web)
    assert whose(web) == "web"


def test_nor_while_main_cannot_be_read(web: App) -> None:
    """Its first switch is decided long since; a new process does not know yet who is in main."""
    world, shop = web.scenario, beside(web)
    shop.wait_condition("Adopting")
    world.stop()
    begin_without_main(web)
    assert whose(web) == "web"
    world.publish("It is shop now", {web.folder: None})
    shop.wait(lambda: whose(web) == "shop", "it takes over once the other one has left")


def test_a_move_that_nobody_could_read_begins_once_main_can_be_read(web: App) -> None:
    world = web.scenario
    world.stop()
    shop = web.rename("shop")
    begin_without_main(web)
    shop.wait(lambda: whose(web) == "shop", "it takes over")


def test_a_file_that_breaks_under_the_new_name_ends_no_move(web: App) -> None:
    world, shop = web.scenario, web.rename("shop")
    world.publish("Break shop", {f"{shop.folder}/app.yaml": "spec: ["})
    turn(web)
    assert web.live_tag() == "v1", "one of the two serves"
    world.publish("Mend shop", {f"{shop.folder}/app.yaml": shop.app_yaml()})
    shop.wait(lambda: whose(web) == "shop", "it takes over")
