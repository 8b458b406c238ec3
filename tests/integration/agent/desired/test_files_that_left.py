"""A file that leaves an app's folder changes the version, as one that is changed: whoever removed it brought that."""

from unittest.mock import Mock

import pytest

from gitops_bg.agent.desired.promoted import AppVersions
from gitops_bg.core.errors import Transient
from gitops_bg.core.model.main import Main, MainRead
from gitops_bg.core.model.policy_facts import CommitFacts
from gitops_bg.repo.repository import Repository
from tests.support.cluster.paths import services
from tests.support.scenario import App, Scenario

LIMITS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits"}, "data": {"rate": "1"}}
MALLORY = "Mallory <mallory@example.com>"


@pytest.fixture
def web(world: Scenario) -> App:
    """An app whose template takes a ConfigMap where there is one."""
    world.start()
    web = world.app()
    web.container = {"envFrom": [{"configMapRef": {"name": "limits", "optional": True}}]}
    return web.deploy("v1")


def promote_limits(web: App) -> str:
    """Push the ConfigMap and promote it; returns the commit of the push."""
    push = web.push_object("limits.yaml", LIMITS)
    web.merge_promotion("v1")
    web.wait(lambda: web.record.routing.traffic == web.digest("v1"), "live with its limits")
    web.wait_told()
    return push


def as_mallory(web: App) -> None:
    """Delete the file."""
    web.scenario.pull()
    web.scenario.remote.remove(f"{web.folder}/limits.yaml")
    web.scenario.remote.commit("web: limits", author=MALLORY)
    web.scenario.push()


def written(web: App) -> tuple[CommitFacts, ...]:
    """The commits by which what is next was written."""
    agent = web.scenario.agent
    assert agent is not None
    reading = agent.catalog.reading
    entry = reading.entry(web.key)
    assert entry is not None
    desired = agent.catalog.desired(reading, web.key, entry.config, web.record, MainRead(Main(reading.followed.commit)))
    found = AppVersions(agent.repository).of(web.key, desired, web.record).written("gitops-bg@localhost")
    assert found.commits is not None, found.why
    return found.commits


def test_a_commit_that_only_deletes_a_file_moves_no_traffic_whatever_was_reverted_before(web: App) -> None:
    web.push_object("limits.yaml", LIMITS)  # never merged
    web.wait_offered("v1")
    second, _ = web.push_and_promote("v2")  # with limits
    web.revert(second)  # v1 with limits never served: it waits for its merge
    web.scenario.settle()
    assert web.live_tag() == "v2"
    as_mallory(web)
    web.objects.clear()
    web.scenario.settle()
    assert web.live_tag() == "v2"


def test_a_revert_of_a_push_that_added_a_file_goes_back(web: App) -> None:
    before = web.digest("v1")
    web.revert(promote_limits(web))
    web.wait(lambda: web.record.routing.traffic == before, "live without its limits")


def test_who_deletes_a_file_is_an_author_of_what_is_next(web: App) -> None:
    promote_limits(web)
    as_mallory(web)
    web.objects.clear()
    web.wait_offered("v1")
    web.scenario.settle()
    assert "mallory@example.com" in {each.author.email for each in written(web)}
    assert web.ledger()[-1]["By"] == MALLORY


def test_who_deletes_a_file_between_two_pushes_is_an_author_although_the_live_version_never_had_it(web: App) -> None:
    web.push_object("limits.yaml", LIMITS)
    web.push_image("v2")
    web.wait_offered("v2")
    as_mallory(web)
    web.objects.clear()
    web.wait_offered("v2")
    web.scenario.settle()
    assert "mallory@example.com" in {each.author.email for each in written(web)}


def test_as_long_as_nobody_can_tell_what_left_the_target_counts_for_nothing_and_the_rest_goes_on(
    web: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    promote_limits(web)
    web.scenario.settle()
    unread = Transient("the mirror lacks an object, and the remote is away")
    with monkeypatch.context() as away:
        away.setattr(Repository, "removed_files", Mock(side_effect=unread))
        as_mallory(web)
        web.objects.clear()
        web.scenario.settle()
        assert not web.offered()
        assert [entry["Event"] for entry in web.ledger()][-1] == "promoted"
        path = f"{services(web.key.namespace)}/{web.name}"
        web.scenario.cluster.patch(path, {"spec": {"selector": {"app": "theirs"}}}, fieldManager="kubectl-edit")
        web.wait_live("v1")
    web.scenario.wake()
    web.wait_offered("v1")
    web.wait(web.is_told, "it is told")
    assert web.ledger()[-1]["By"] == MALLORY
