"""An emergency: an admin promotes in spite of a policy that lets them, says why, and everybody can read it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from gitops_bg.web.access.guard import Login
from gitops_bg.web.access.person import Person, Via
from gitops_bg.web.dashboard.app import dashboard_server
from tests.fixtures.repos.texts import policy
from tests.integration.dashboard.test_acting import JSON, PAGE, SAME, Buttons, previewed
from tests.support.scenario import Scenario

GRACE = Person("Grace Hopper", "grace@example.com", "loopback", frozenset(), Via.LOOPBACK)
PEOPLE = """apiVersion: gitops-bg.dev/v1alpha1
kind: People
people:
- {name: grace, emails: [grace@example.com], groups: [incident]}
"""
STOP = '- windows: {deny: [{start: "2020-01-01", reason: INC-4711}]}'


@pytest.fixture
def grace(world: Scenario) -> Iterator[httpx.Client]:
    """The dashboard as Grace has it on her own machine."""
    assert world.agent is not None
    with (
        dashboard_server(world.agent, "127.0.0.1", 0, Login(loopback=GRACE)) as server,
        httpx.Client(base_url=server.url, trust_env=False, timeout=60, headers=SAME) as client,
    ):
        yield client


def test_a_policy_is_overridden_with_a_reason_by_who_may(
    world: Scenario, acting: httpx.Client, grace: httpx.Client
) -> None:
    app = world.app("glass").deploy("v1")
    stop = policy("stop", STOP, more="  match: {apps: [glass]}\n  override: {by: [group:incident]}\n")
    world.publish("Stop the line", {"policies/stop.yaml": stop, "policies/people.yaml": PEOPLE})
    hers, others = Buttons(grace, app), Buttons(acting, app)
    previewed(hers)
    asked = others.post("promote", others.form("promote"))
    assert "stop" in asked.text, "it would wait"
    assert 'name="override.stop"' not in asked.text, "the policy lets others override it"
    refused = others.form("promote") | {"override": "stop", "sure": "yes", "reason": "x"}
    assert "stop may be overridden by group:incident only" in others.refused("promote", refused, 400)

    page = hers.post("promote", hers.form("promote")).text
    assert "In spite of a policy" in page
    form = re.findall(r'<form method="post" action="[^"]*/promote">(.*?)</form>', page, re.DOTALL)[-1]
    fields = dict(re.findall(r'<input[^>]*name="([^"]*)"[^>]*value="([^"]*)"', form))
    assert fields["override.stop"] == "yes"
    assert "needs a --reason" in hers.refused("promote", fields, 400)
    stale = hers.post("promote", fields | {"digest": app.digest("v1"), "reason": "x"}, JSON)
    assert stale.status_code == 409
    done = hers.post("promote", fields | {"reason": "INC-4712 needs it"}, PAGE)
    assert done.status_code == 200, done.text
    app.wait_live("v2")
    app.wait_told("overridden")
    (entry,) = [each for each in app.ledger() if each["Event"] == "overridden"]
    assert (entry["By"], entry["Reason"]) == ("Grace Hopper <grace@example.com>", "stop (windows): INC-4712 needs it")


def test_a_link_overrides_nothing_and_says_no_reason(world: Scenario, grace: httpx.Client) -> None:
    app = world.app("link").deploy("v1")
    stop = policy("halt", STOP, more="  match: {apps: [link]}\n  override: {by: [group:incident]}\n")
    world.publish("Stop the line", {"policies/halt.yaml": stop, "policies/people.yaml": PEOPLE})
    hers = Buttons(grace, app)
    previewed(hers)
    query = {"override": "halt", "override.halt": "yes", "reason": "tested on staging"}
    page = grace.get(f"{hers.path}/promote", params=query, headers=PAGE).text
    assert "tested on staging" not in page
    assert "<h2>Traffic would wait</h2>" in page
    form = hers.form("promote", page)
    assert not [name for name in form if name.startswith("override")]
    stale = hers.post("promote", form | query | {"digest": app.digest("v1")})
    assert stale.status_code == 409
    assert "tested on staging" not in stale.text
    assert not [name for name in hers.form("promote", stale.text) if name.startswith("override")]


def test_what_a_promotion_is_in_spite_of_is_shown_with_what_would_wait(world: Scenario, grace: httpx.Client) -> None:
    app = world.app("spite").deploy("v1")
    stop = policy("rest", STOP, more="  match: {apps: [spite]}\n  override: {by: [group:incident]}\n")
    world.publish("Stop the line", {"policies/rest.yaml": stop, "policies/people.yaml": PEOPLE})
    hers = Buttons(grace, app)
    previewed(hers)
    page = hers.post("promote", hers.form("promote") | {"override": "rest", "reason": "INC-1"}).text
    assert 'type="checkbox" name="override.rest" value="yes" checked> in spite of: rest</label>' in page
    assert "Without the override, traffic would wait" in page
    assert hers.form("promote", page)["override.rest"] == "yes"


def test_in_a_pod_the_dashboard_of_a_person_is_for_reading_unless_they_say_otherwise(world: Scenario) -> None:
    app = world.app("podded").deploy("v1")
    assert world.agent is not None
    for in_pod, status in ((True, 403), (False, 200)):
        login = Login(loopback=GRACE, in_pod=in_pod)
        with (
            dashboard_server(world.agent, "127.0.0.1", 0, login, "--address") as server,
            httpx.Client(base_url=server.url, trust_env=False, timeout=60, headers=SAME) as client,
        ):
            path = f"/apps/{app.key}"
            assert ("Suspend" in client.get(path, headers=PAGE).text) is not in_pod
            form = {"reason": "x"} if in_pod else Buttons(client, app).form("suspend") | {"reason": "x"}
            assert client.post(f"{path}/suspend", data=form, headers=JSON).status_code == status
