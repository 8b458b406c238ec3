"""A person logs in at a certified OpenID provider, promotes as themselves, and logs out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from gitops_bg.agent.runtime.schedule import utc_now
from gitops_bg.web.access.guard import login_from
from gitops_bg.web.access.oidc import CALLBACK
from gitops_bg.web.dashboard.app import dashboard_server
from tests.integration.dashboard.test_acting import PAGE, SAME, Buttons, people, previewed, trailers
from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.control_plane import free_ports
from tests.support.openid.program import certified_provider, log_in
from tests.support.scenario import Scenario, scenario

SETTINGS = """apiVersion: gitops-bg.dev/v1alpha1
kind: Settings
access:
  - {role: operator, groups: [devs]}
"""


@pytest.fixture
def world(sandbox_cluster: SandboxCluster, tmp_path: Path) -> Iterator[Scenario]:
    with scenario(sandbox_cluster, tmp_path) as made:
        made.start()
        yield made


def test_a_person_promotes_as_themselves(world: Scenario, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    here = f"http://127.0.0.1:{port}"
    with certified_provider(f"{here}{CALLBACK}") as issuer:
        (tmp_path / "secret").write_text("the-client-secret")
        oidc = f"{{issuer: '{issuer}', clientId: gitops-bg, clientSecretFile: {tmp_path}/secret}}"
        head = "apiVersion: gitops-bg.dev/v1alpha1\nkind: DashboardLogin\n"
        (tmp_path / "login.yaml").write_text(f"{head}oidc: {oidc}\n")
        world.publish("Say who may do what", {"gitops-bg.yaml": SETTINGS})
        app = world.app().deploy("v1")
        assert world.agent is not None
        login = login_from(tmp_path / "login.yaml", here, utc_now)
        with dashboard_server(world.agent, "127.0.0.1", port, login), browser_at(here) as browser:
            web = Buttons(browser, app)
            page = log_in(browser, browser.get(web.path, headers=PAGE), "ada")
            assert (page.status_code, page.url.path) == (200, web.path)
            assert "Ada Lovelace" in page.text
            previewed(web)
            assert web.press("promote", reason="looks good").status_code == 200
            assert people(world) == "Ada Lovelace|ada@example.com|gitops-bg|gitops-bg@localhost"
            said = trailers(world)
            assert (said["Bg-By"], said["Bg-Subject"]) == ("Ada Lovelace <ada@example.com>", f"{issuer}#ada")
            app.wait_live("v2")
            app.wait_told("promoted")
            assert app.ledger()[-1]["By"] == "Ada Lovelace <ada@example.com>"
            token = web.form("rollback")["token"]
            out = browser.post("/logout", data={"token": token}, headers=SAME)
            assert f"{issuer}/session/end?id_token_hint=" in out.text
            assert browser.get(web.path, headers={"Accept": "application/json"}).status_code == 401


def browser_at(address: str) -> httpx.Client:
    """A browser, to which this machine is as safe as https."""

    def send_secure_cookies(request: httpx.Request) -> None:
        secure = [f"{each.name}={each.value}" for each in made.cookies.jar if each.secure]
        request.headers["Cookie"] = "; ".join(filter(None, [request.headers.get("Cookie"), *secure]))

    hooks = {"request": [send_secure_cookies]}
    made = httpx.Client(
        base_url=address, trust_env=False, timeout=60, headers=SAME, follow_redirects=True, event_hooks=hooks
    )
    return made
