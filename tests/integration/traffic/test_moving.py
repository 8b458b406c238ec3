"""An app gets another name while people use it: its Service is taken over from the former one, and no request fails."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from gitops_bg.core import names
from tests.integration.traffic.adopted import dying
from tests.integration.traffic.stage import Stage, stage
from tests.support.cluster.paths import replica_sets, services
from tests.support.scenario import App
from tests.support.waiting import eventually

WARM = 60
"""``scaleDownDelaySeconds`` of the app."""


def serving(on: Stage) -> None:
    """The app `web` serves its second version."""
    on.web.strategy["scaleDownDelaySeconds"] = WARM
    on.world.start()
    on.web.deploy("v1")
    on.web.promote("v2")
    on.web.wait_told("promoted")


def has_it(on: Stage, app: str = "shop") -> bool:
    """Whether the Service leads to the new app."""
    found = on.cluster.get(f"{services(on.world.namespace)}/web")
    return str(found["spec"]["selector"].get(names.APP)) == app


def is_gone(on: Stage, app: str = "web") -> bool:
    """Whether the former app is gone; the agent looks for it."""
    return looked(on) and on.world.live(names.PLURAL, app) is None


def looked(on: Stage) -> bool:
    """An agent, if one runs, looks at every app, as its timers would have it."""
    if on.world.agent is not None:
        on.world.agent.wake_all(on.world.agent.cluster.apps())
    return True


def preview_of(on: Stage) -> str:
    """The app whose pods the preview Service selects."""
    found = on.cluster.find(f"{services(on.world.namespace)}/web-preview")
    return str(found["spec"]["selector"].get(names.APP)) if found else ""


def left(on: Stage, app: str = "web") -> list[str]:
    found = on.cluster.list(replica_sets(on.world.namespace), labelSelector=f"{names.APP}={app}")
    return [each["metadata"]["name"] for each in found]


def test_an_app_under_a_new_name_takes_its_service_over_without_a_lost_request(tmp_path: Path) -> None:
    with stage(tmp_path) as on:
        serving(on)
        on.load.start()
        new = mend_a_typing_error(on)
        on.web.wait(lambda: has_it(on), "the Service is taken over", 60)
        new.wait(lambda: new.condition("Adopting")["reason"] == "Adopted", "the adoption is over")
        on.wait_used("v2")
        on.world.wait_idle()
        assert left(on), "the pods of before stay warm for a while"
        assert preview_of(on) == "shop", "the preview Service went along with live traffic"
        eventually(lambda: is_gone(on, "shp"), what="what never served is gone")
        change_ones_mind(on, new)
        on.wait_used("v2")
        assert on.load.shares(0).keys() == {"v2"}
        on.seen.assert_traffic_was_safe("web")
        assert not [each.failure for each in on.load.failures()]


def mend_a_typing_error(on: Stage) -> App:
    """Another name before the first one has any pod that answers: the app serves under the name before both."""
    on.cluster.set_ready(on.world.namespace, {names.APP: "shp"}, False)
    mistaken = on.web.rename("shp")
    on.web.wait(lambda: on.web.record.last_read.moved_to == mistaken.name, "it is known what it is to be called")
    mistaken.wait(lambda: left(on, mistaken.name), "its pods are on their way")
    assert not has_it(on, mistaken.name)
    return mistaken.rename("shop")


def change_ones_mind(on: Stage, new: App) -> None:
    """Another name once more: main says no more what became of the first one, which ends all the same."""
    newest = new.rename("store")
    new.wait(lambda: has_it(on, "store"), "the Service is taken over again", 60)
    newest.wait(lambda: newest.condition("Adopting")["reason"] == "Adopted", "that is over, too")
    on.wait_used("v2")
    on.world.wait_idle()
    assert preview_of(on) == "store"
    assert left(on), "it is as warm as before"
    on.world.advance(WARM + 1)
    for each in (on.web, new):
        eventually(lambda each=each: is_gone(on, each.name) and not left(on, each.name), what=f"{each.name} is gone")
        assert each.ledger_events()[-1] == "deleted"


def test_a_folder_that_is_renamed_without_a_word_changes_nothing_and_says_so(tmp_path: Path) -> None:
    """No `adopt` in the new file: the app of before serves on, and each of the two says what is the case."""
    with stage(tmp_path) as on:
        serving(on)
        on.load.start()
        new = on.world.app("shop")
        new.strategy |= {**on.web.strategy, "activeService": "web", "previewService": "web-preview"}
        on.world.publish("Rename web", {on.web.folder: None})
        new.add("v2", "Add shop")
        said = new.wait_condition("Conflict")
        assert "write adopt: {app: web} into its app.yaml" in said["message"]
        left = on.web.wait_condition("FolderInMain", "False")
        assert left["message"] == "the app's folder has left main; it keeps serving"
        on.world.wait_idle()
        mark = len(on.load)
        eventually(lambda: len(on.load) > mark + 100, what="people go on asking")
        assert not has_it(on)
        assert not [each.failure for each in on.load.failures()]


def test_a_rename_that_is_reverted_ends_nothing_that_serves_whatever_its_policy(tmp_path: Path) -> None:
    """`git revert` says nothing of the new name, which has the Service: it serves on until the former one takes it."""
    with stage(tmp_path) as on:
        on.web.spec["deletionPolicy"] = "delete"
        serving(on)
        on.load.start()
        new = on.web.rename("shop")
        renamed = on.world.remote.head()
        on.web.wait(lambda: has_it(on), "the Service is taken over", 60)
        new.wait(lambda: new.condition("Adopting")["reason"] == "Adopted", "the adoption is over")
        on.web.revert(renamed)
        until = "it serves until the app web"
        eventually(lambda: looked(on) and until in new.condition("FolderInMain")["message"], what="it serves on")
        eventually(lambda: looked(on) and "app: shop" in on.web.condition("Conflict")["message"], what="it is said")
        on.web.spec["adopt"] = {"app": "shop"}
        on.world.publish("Take it back", {f"{on.web.folder}/app.yaml": on.web.app_yaml()})
        eventually(lambda: looked(on) and has_it(on, "web"), what="the Service is taken back")
        on.wait_used("v2")
        on.world.advance(WARM + 1)
        eventually(lambda: is_gone(on, "shop") and not left(on, "shop"), what="what had the name in between is gone")
        assert on.load.shares(0).keys() == {"v2"}
        on.seen.assert_traffic_was_safe("web")
        assert not [each.failure for each in on.load.failures()]


@pytest.mark.slow
def test_whatever_write_the_agent_dies_after_a_rename_loses_no_request(tmp_path: Path) -> None:
    with dying(tmp_path, fewest=5, begin=serving) as (on, agents):
        on.web.rename("shop")
        agents.until(lambda: has_it(on), "the Service is taken over")
        on.wait_used("v2")
        agents.until(lambda: on.world.app("shop").record.routing.traffic, "the record knows")
        agents.until(lambda: on.web.record.moved_at, "and that of the former app: its pods are warm from then on")
        on.world.clock.ahead += timedelta(seconds=WARM + 1)
        agents.until(lambda: is_gone(on), "the former app is gone")
        eventually(lambda: not left(on), what="and its pods")
        assert on.web.ledger_events().count("deleted") == 1
        assert on.load.shares(0).keys() == {"v2"}
