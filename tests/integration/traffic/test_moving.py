"""An app gets another name while people use it: its Service is taken over from the former one, and no request fails."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from gitops_bg.core import names
from gitops_bg.core.model.digest import short
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
    """Whether the former app is gone; an agent looks at every app, as its timers would have it."""
    return looked(on) and on.world.live(names.PLURAL, app) is None


def looked(on: Stage) -> bool:
    """An agent, if one runs, looks at every app, as its timers would have it."""
    if on.world.agent is not None:
        on.world.agent.wake_apps(on.world.agent.cluster.apps())
    return True


def preview_of(on: Stage) -> str:
    """The app whose pods the preview Service selects."""
    found = on.cluster.find(f"{services(on.world.namespace)}/web-preview")
    return str(found["spec"]["selector"].get(names.APP)) if found else ""


def left(on: Stage, app: str = "web") -> dict[str, int]:
    """The ReplicaSets of an app, whoever has them, with their sizes."""
    found = on.cluster.list(replica_sets(on.world.namespace))
    sizes = {each["metadata"]["name"]: each["spec"]["replicas"] for each in found}
    return {name: size for name, size in sizes.items() if name.startswith(f"{app}-v")}


def test_an_app_under_a_new_name_takes_its_service_over_without_a_lost_request(tmp_path: Path) -> None:
    with stage(tmp_path) as on:
        serving(on)
        on.load.start()
        new = mend_a_typing_error(on)
        on.web.wait(lambda: has_it(on), "the Service is taken over", 60)
        new.wait(lambda: new.condition("Adopting")["reason"] == "OldPodsStay", "the pods of before stay warm")
        on.wait_used("v2")
        on.world.wait_idle()
        assert preview_of(on) == "shop", "the preview Service went along with live traffic"
        assert left(on).keys() == {served(on)}, "what did not serve went with the app"
        eventually(lambda: is_gone(on, "shp") and not left(on, "shp"), what="what never served is gone")
        change_ones_mind(on, new)
        on.wait_used("v2")
        assert on.load.shares(0).keys() == {"v2"}
        on.seen.assert_traffic_was_safe("web")
        assert not [each.failure for each in on.load.failures()]


def served(on: Stage) -> str:
    return f"web-v2-{short(on.web.digest('v2'))}"


def mend_a_typing_error(on: Stage) -> App:
    """Another name before the first one has any pod that answers: what served under the name before both serves on."""
    on.cluster.set_ready(on.world.namespace, {names.APP: "shp"}, False)
    mistaken = on.web.rename("shp")
    mistaken.wait(lambda: left(on, mistaken.name), "its pods are on their way")
    eventually(lambda: is_gone(on), what="the app of before has let its Services go")
    assert on.web.ledger_events()[-1] == "deleted"
    assert not has_it(on, mistaken.name)
    return mistaken.rename("shop")


def change_ones_mind(on: Stage, new: App) -> None:
    """Another name once more, while the pods of the first one are warm."""
    newest = new.rename("store")
    new.wait(lambda: has_it(on, "store"), "the Service is taken over again", 60)
    on.wait_used("v2")
    on.world.wait_idle()
    assert preview_of(on) == "store"
    on.world.advance(WARM + 1)
    newest.wait(lambda: newest.condition("Adopting")["reason"] == "Adopted", "the adoption is over")
    assert not left(on, "shop"), "the pods of before have gone"
    assert not left(on), "and those of the app before that, which went with it"
    assert is_gone(on, "shop")


def test_a_folder_that_is_renamed_without_a_word_changes_nothing_and_says_so(tmp_path: Path) -> None:
    """No `adopt` in the new file: the app of before serves on, and each of the two says what is the case. It helps to
    write it later.
    """
    with stage(tmp_path) as on:
        serving(on)
        on.load.start()
        new = on.world.app("shop")
        new.strategy |= {**on.web.strategy, "activeService": "web", "previewService": "web-preview"}
        on.world.publish("Rename web", {on.web.folder: None})
        new.add("v2", "Add shop")
        said = new.wait_condition("Conflict")
        assert "write adopt: {} into its app.yaml" in said["message"]
        gone = on.web.wait_condition("FolderInMain", "False")
        assert gone["message"] == "the app's folder has left main; it keeps serving"
        on.world.wait_idle()
        mark = len(on.load)
        eventually(lambda: len(on.load) > mark + 100, what="people go on asking")
        assert not has_it(on)
        new.spec["adopt"] = {}
        on.world.publish("Agree", {f"{new.folder}/app.yaml": new.app_yaml()})
        eventually(lambda: is_gone(on), what="the app of before lets go")
        new.wait(lambda: has_it(on), "the Service is taken over", 60)
        assert not [each.failure for each in on.load.failures()]


def test_a_rename_is_taken_back_by_another_one_whatever_the_policy(tmp_path: Path) -> None:
    """`git revert` says nothing of what is to become of the new name, which has the Service: it serves on."""
    with stage(tmp_path) as on:
        on.web.spec["deletionPolicy"] = "delete"
        serving(on)
        on.load.start()
        new = on.web.rename("shop")
        on.web.wait(lambda: has_it(on), "the Service is taken over", 60)
        new.wait(lambda: new.condition("Adopting")["reason"] == "OldPodsStay", "the pods of before stay warm")
        back = new.rename("web")
        eventually(lambda: has_it(on, "web"), what="the Service is taken back")
        on.wait_used("v2")
        back.wait(lambda: back.condition("Adopting")["reason"] == "OldPodsStay", "what had the name in between is warm")
        eventually(lambda: is_gone(on, "shop"), what="the app of that name is gone")
        assert on.load.shares(0).keys() == {"v2"}
        on.seen.assert_traffic_was_safe("web")
        assert not [each.failure for each in on.load.failures()]


@pytest.mark.slow
def test_whatever_write_the_agent_dies_after_a_rename_loses_no_request(tmp_path: Path) -> None:
    with dying(tmp_path, fewest=5, begin=serving) as (on, agents):
        on.web.rename("shop")
        agents.until(lambda: has_it(on), "the Service is taken over")
        on.wait_used("v2")
        agents.until(lambda: on.world.app("shop").record.adopted, "the record knows")
        agents.until(lambda: is_gone(on), "the former app is gone")
        assert left(on)[served(on)] == 2, "its pods are warm"
        on.world.clock.ahead += timedelta(seconds=WARM + 1)
        agents.until(lambda: looked(on) and not left(on), "and its pods")
        assert on.web.ledger_events().count("deleted") == 1
        assert on.load.shares(0).keys() == {"v2"}
