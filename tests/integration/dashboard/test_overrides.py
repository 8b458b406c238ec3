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
