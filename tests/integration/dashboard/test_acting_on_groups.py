"""A button of a release group is the commit, or the request, that the verb of the command line makes, by the person."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from gitops_bg.web.dashboard.action_table import OF_GROUPS
from tests.integration.dashboard.test_acting import JSON, PAGE, PERSON, people, trailers
from tests.support.command_line import Cli
from tests.support.groups import Store
from tests.support.scenario import Scenario
from tests.support.waiting import eventually


class GroupButtons:
    """The page of a group, and its buttons."""

    def __init__(self, http: httpx.Client, store: Store) -> None:
        self._http = http
        self.path = f"/groups/{store.world.namespace}/{store.name}"

    @property
    def page(self) -> str:
        return self._http.get(self.path, headers=PAGE).text

    def shown(self) -> set[str]:
        """The actions that the page has buttons for."""
        return set(re.findall(rf'action="{self.path}/([a-z-]+)"', self.page))

    def post(self, action: str, **form: str) -> httpx.Response:
        def token() -> list[str]:
            return re.findall(r'name="token" value="([0-9a-f]{64})"', self.page)

        given = {"token": eventually(token, what="a form on its page")[0], **form}
        return self._http.post(f"{self.path}/{action}", data=given, headers=JSON)

    def press(self, action: str, **form: str) -> dict[str, str]:
        """Ask what would happen, and do that."""
        asked = self.post(action, **form)
        assert asked.status_code == 200, asked.text
        seen = {name: asked.json()[name] for name in ("digest", "head")}
        done = self.post(action, **form, **seen, sure="yes")
        assert done.status_code == 200, done.text
        said: dict[str, str] = done.json()
        return said


@pytest.fixture
def store(world: Scenario, request: pytest.FixtureRequest) -> Store:
    """A group of the test's own, with services of its own: v1 serves, v2 is a candidate."""
    made = Store(world, "g" + str(abs(hash(request.node.name)))[:8])
    cart = {f"{made.name}-cart": f"/{made.name}"}
    files = {**made.group(), **made.version("v1", **cart), **made.version("v2", **cart)}
    world.publish("A store", files)
    made.wait("v1A v2C")
    world.wait_idle()
    return made


@pytest.fixture
def group(store: Store, acting: httpx.Client) -> GroupButtons:
    return GroupButtons(acting, store)


def test_a_group_is_suspended_and_resumed_by_commits_of_the_person(
    store: Store, group: GroupButtons, world: Scenario, tmp_path: Path
) -> None:
    assert group.shown() == {"promote", "suspend"}
    assert group.post("suspend", sure="yes").status_code == 400, "it needs a reason"
    said = group.press("suspend", reason="INC-1", until="2h")
    assert (said["says"], people(world)) == (
        f"{world.namespace}/{store.name}: suspended by commit {said['commit'][:10]}",
        PERSON,
    )
    by_button = re.sub("Bg-(Subject|Via|By|Reason): .*\n", "", world.remote.message())
    assert trailers(world)["Bg-By"].startswith("somebody on this machine")
    again = group.post("suspend", reason="INC-2", sure="yes")
    assert (again.status_code, "suspended already" in again.json()["message"]) == (409, True)
    eventually(lambda: "resume" in group.shown(), what="a button that ends it")
    assert "suspend" not in group.shown()
    assert group.press("resume")["says"].endswith(f"resumed by commit {world.remote.head()[:10]}")
    world.wait_idle()
    assert "neither suspended nor" in group.post("resume", sure="yes").json()["message"]
    cli = Cli(world.remote, world.cluster.kubeconfig, tmp_path)
    cli("suspend", f"{world.namespace}/{store.name}", "-r", "INC-1", "--until", "2h")
    by_verb = world.remote.message()
    assert by_verb.strip() == by_button.strip(), "the commit of the verb says the same"
    cli("resume", f"{world.namespace}/{store.name}")


def test_a_gate_of_a_group_is_opened_and_what_waits_for_it_is_aborted_and_tried_again(
    store: Store, group: GroupButtons, world: Scenario
) -> None:
    store.spec["webhooks"] = [{"name": "release", "type": "confirm-promotion"}]
    world.publish("A gate", store.group())
    eventually(lambda: "open-gate" in group.shown(), what="a button for the gate")
    assert "has no gate other; it has: release" in group.post("open-gate", gate="other").json()["message"]
    assert "closed already" in group.post("close-gate", gate="release", sure="yes").json()["message"]
    assert "nothing to abort" in group.post("abort", reason="x", sure="yes").json()["message"]

    group.press("promote", version="v2")
    store.wait("v1A v2C", "Waiting")
    eventually(lambda: "abort" in group.shown(), what="a button that aborts")
    assert group.post("abort", digest="v9", reason="x", sure="yes").status_code == 409, "another version by now"
    said = group.press("abort", reason="errors")
    assert said["says"].startswith(f"{world.namespace}/{store.name}: stops v2; live traffic stays where it is")
    store.wait_for_ledger("aborted")
    store.wait("v1A v2C", "Held")
    world.wait_idle()

    eventually(lambda: "retry" in group.shown(), what="a button that tries it again")
    assert group.press("retry", reason="mended")["says"].endswith(f"retries v2 by commit {world.remote.head()[:10]}")
    assert people(world) == PERSON
    store.wait("v1A v2C", "Waiting")
    group.press("open-gate", gate="release", reason="tested")
    store.wait("v1L v2A")
    eventually(lambda: "close-gate" in group.shown(), what="a button that closes the gate")
    group.press("close-gate", gate="release")
    eventually(lambda: "open-gate" in group.shown(), what="the gate is closed")


def test_an_action_on_a_group_that_changed_meanwhile_is_not_done(
    store: Store, group: GroupButtons, world: Scenario
) -> None:
    head = group.post("suspend", reason="x").json()["head"]
    store.spec["archiveSize"] = 3
    world.publish("Keep three", store.group())
    world.wait_idle()
    for action in OF_GROUPS:
        answer = group.post(action, head=head, version="v2", reason="x", sure="yes")
        assert (answer.status_code, "meanwhile" in answer.json()["message"]) == (409, True), action


def test_a_release_group_is_promoted_and_rolled_back_by_the_person(
    store: Store, group: GroupButtons, world: Scenario
) -> None:
    asked = group.post("promote", version="v2")
    assert (asked.status_code, asked.json()["would"]) == (200, f"{world.namespace}/{store.name}: main would ask for v2")
    head = asked.json()["head"]
    done = group.post("promote", version="v2", head=head, sure="yes", reason="all\nBg-By: eve")
    assert done.status_code == 200, done.text
    assert world.remote.head() == done.json()["commit"]
    assert people(world) == PERSON
    said = trailers(world)
    assert (said["Bg-By"].startswith("somebody"), said["Bg-Via"], said["Bg-Reason"]) == (
        True,
        "dashboard",
        "all Bg-By: eve",
    )
    assert world.remote.log()[0].subject == f"{store.name}: promote v2"
    world.wait_idle()
    again = group.post("promote", version="v2", head=head, sure="yes")
    assert (again.status_code, "meanwhile" in again.json()["message"]) == (409, True)
    assert group.post("promote", version="v9", sure="yes").status_code == 404
    assert group.post("rollback", sure="yes").status_code == 400, "it needs a reason"
    back = group.post("rollback", sure="yes", reason="errors")
    assert back.status_code == 200, back.text
    assert (world.remote.log()[0].subject, people(world)) == (f"{store.name}: roll back to v1", PERSON)
