"""What users get when nothing but configuration changes: the old values until the promotion, then the new ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

from tests.integration.traffic.stage import Stage, stage
from tests.support.configuration import SETTINGS, config_map, reading
from tests.support.waiting import eventually


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Stage]:
    """The app `web`, whose pods tell the color that their ConfigMap says: blue."""
    with stage(tmp_path) as made:
        made.world.start()
        reading(made.web).objects[SETTINGS] = config_map(shade="blue")
        made.web.deploy("v1")
        yield made


def shade(live: Stage, service: str) -> str:
    """What a new connection to a Service is told; empty where nobody answers."""
    url = live.cluster.sandbox.service_url(live.world.namespace, service)
    try:
        answer = urllib3.request("GET", url, headers={"Connection": "close"}, retries=False)
    except urllib3.exceptions.HTTPError:
        return ""
    return str(answer.json()["env"].get("shade", ""))


def test_users_see_other_configuration_when_it_is_promoted_and_what_it_was_after_a_revert(live: Stage) -> None:
    assert shade(live, "web") == "blue"
    pushed = live.web.push_object(SETTINGS, config_map(shade="green"))
    eventually(lambda: shade(live, "web-preview") == "green", what="the preview is green")
    assert shade(live, "web") == "blue", "nobody promoted it"
    live.web.wait_offered("v1")
    live.web.merge_offer()
    eventually(lambda: shade(live, "web") == "green", what="it is green for users")
    live.web.wait_told("promoted")
    live.web.revert(pushed)
    eventually(lambda: shade(live, "web") == "blue", what="it is blue again")
