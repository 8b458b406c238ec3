"""A repository that gets its first ``environments.yaml``, with a mistake; or one that is another tool's."""

from __future__ import annotations

from tests.support.scenario import Scenario

TYPO = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: Environments
environments:
- {name: prod, cluster: [test]}
"""


def test_a_mistake_in_the_first_file_keeps_no_way_back_and_lets_nothing_new_in(world: Scenario) -> None:
    world.start()
    web = world.app().deploy("v1")
    web.push_image("v2")
    web.wait(web.offered, "the promotion is offered")
    merged = web.merge_offer()
    web.wait_live("v2")
    web.wait_told("promoted")
    world.publish("Typo", {"environments.yaml": TYPO})
    said = web.wait_condition("InvalidSpec")
    assert "environments[0].cluster: there is no such field" in said["message"]
    web.push_image("v3")
    world.app("other").add("v1")
    world.wait_idle()
    assert "v3" not in web.versions()
    assert world.app("other").versions() == {}
    web.revert(merged)
    web.wait_live("v1")


def test_the_file_of_another_tool_changes_nothing(world: Scenario) -> None:
    world.publish("Helmfile", {"environments.yaml": "environments:\n  default:\n    values: []\n"})
    world.start()
    web = world.app().deploy("v1")
    web.wait_told()
    assert web.phase() == "Healthy"
