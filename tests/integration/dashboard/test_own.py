"""`gitops-bg dashboard`: the pages for one person, through their kubeconfig and their clone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator

import httpx
import pytest

from tests.integration.dashboard.shop import Shop
from tests.support.agent.agent_processes import SCRIPT
from tests.support.agent.leash import leashed
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def own(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where it listens."""
    folder = tmp_path_factory.mktemp("own")
    world, log = shop.world, folder / "log"
    where = ["--repo", world.remote.url, "--cluster", "test", "--kubeconfig", str(world.cluster.kubeconfig)]
    who = ["--namespace", world.namespace, "--author", "Bob <bob@example.com>", "--state-dir", str(folder / "state")]
    command = [str(SCRIPT), "dashboard", *where, *who, "--address", "127.0.0.1:0", "--no-open"]
    with log.open("wb") as output:
        own = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        process = subprocess.Popen(leashed(command), stdout=output, stderr=output, env=own)
    try:
        found = eventually(lambda: re.search(r"http://\S+", log.read_text()), what="it says where it listens")
        assert found is not None
        yield found[0]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, 130)
    finally:
        process.kill()
        process.wait()


def test_one_person_sees_all_apps_and_who_they_are(own: str, shop: Shop) -> None:
    with httpx.Client(base_url=own, trust_env=False, timeout=60) as http:
        assert "shop" in http.get("/").text
        shown = http.get("/apps/shop/web").text
        assert "<h1>web</h1>" in shown
        assert "Promote" in shown
        assert "Bob" in http.get("/me").text


def test_a_change_in_the_cluster_shows(own: str, shop: Shop) -> None:
    with httpx.Client(base_url=own, trust_env=False, timeout=60) as http:
        shop.well.push_image("1.9.0", "Sell more")
        eventually(lambda: "1.9.0" in http.get("/", params={"q": "catalog"}).text, what="the candidate is shown")
        shop.well.revert(shop.world.remote.tip)
        eventually(lambda: "1.9.0" not in http.get("/", params={"q": "catalog"}).text, what="it is gone")
