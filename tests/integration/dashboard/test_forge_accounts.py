"""People log in with their account at a real Gitea: what main refuses is opened, approved and merged there as them.
Their token is in no page, no log and no file.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest

from gitops_bg.agent.runtime.schedule import utc_now
from gitops_bg.cli.demo.gitea import password
from gitops_bg.web.access.guard import Login, login_from
from gitops_bg.web.access.oidc import CALLBACK
from gitops_bg.web.dashboard.app import dashboard_server
from tests.integration.dashboard.test_acting import JSON, PAGE, Buttons, trailers
from tests.integration.dashboard.test_people import browser_at
from tests.support.cluster.clusters import SandboxCluster
from tests.support.cluster.control_plane import free_ports
from tests.support.forges.gitea import Gitea
from tests.support.forges.remote import GiteaRemote
from tests.support.scenario import App, scenario
from tests.support.waiting import eventually

pytestmark = pytest.mark.real_forge

SETTINGS = """apiVersion: gitops-bg.dev/v1alpha1
kind: Settings
forge: {type: gitea}
access:
  - {role: admin, groups: [owners]}
"""


class Accounts:
    """An agent whose main takes commits of nobody, and its dashboard, at which people log in with their accounts."""

    def __init__(self, app: App, remote: GiteaRemote, here: str, login: Login) -> None:
        self.app = app
        self.remote = remote
        self.here = here
        self.login = login

    def protect(self, **more: Any) -> None:
        """Main takes pushes of ana, merges of people, and none of the agent."""
        pushes = {"enable_push": True, "enable_push_whitelist": True, "push_whitelist_usernames": ["ana"]}
        rule = {"branch_name": "main", **pushes, **more}
        self.remote.call("POST", "/branch_protections", rule, user="admin")

    def tokens(self) -> list[str]:
        assert self.login.oidc is not None
        return [each.value.forge_token for each in self.login.oidc._sessions._entries.values()]


@pytest.fixture
def accounts(real_forge: Gitea, sandbox_cluster: SandboxCluster, tmp_path: Path) -> Iterator[Accounts]:
    remote = GiteaRemote(tmp_path / "remote", real_forge)
    (port,) = free_ports(1)
    here = f"http://127.0.0.1:{port}"
    body = {"name": "dashboard", "redirect_uris": [f"{here}{CALLBACK}"], "confidential_client": True}
    client = real_forge.call("POST", "/user/applications/oauth2", body, user="admin")
    (tmp_path / "secret").write_text(client["client_secret"])
    scopes = "[openid, profile, email, groups, 'read:user', 'write:repository', 'write:issue']"
    (tmp_path / "login.yaml").write_text(
        "apiVersion: gitops-bg.dev/v1alpha1\nkind: DashboardLogin\noidc:\n"
        f"  issuer: {real_forge.url}\n  clientId: {client['client_id']}\n  clientSecretFile: {tmp_path}/secret\n"
        f"  forge: true\n  scopes: {scopes}\n"
    )
    team = f"team-of-{remote.name}"
    real_forge.call("POST", "/orgs", {"username": team}, user="admin")
    (owners,) = real_forge.call("GET", f"/orgs/{team}/teams", user="admin")
    real_forge.call("PUT", f"/teams/{owners['id']}/members/ben", user="admin")
    login = login_from(tmp_path / "login.yaml", here, utc_now)
    with scenario(sandbox_cluster, tmp_path / "agent", remote=remote, **remote.agent_settings()) as story:
        story.publish("settings", {"gitops-bg.yaml": SETTINGS.replace("owners", team)})
        agent = story.start()
        app = story.app().deploy("v1")
        with dashboard_server(agent, "127.0.0.1", port, login):
            yield Accounts(app, remote, here, login)


def log_in(browser: httpx.Client, page: httpx.Response, user: str) -> httpx.Response:
    """Fill the forms of Gitea: who somebody is, and whether the dashboard may act for them."""
    for _ in range(4):
        found = re.search(r'<form[^>]*action="([^"]*/login[^"]*)"[^>]*>(.*?)</form>', page.text, re.DOTALL)
        if page.url.port == browser.base_url.port or found is None:
            return page
        fields = dict(re.findall(r'<input[^>]*name="([^"]*)"[^>]*value="([^"]*)"', found[2]))
        fields |= {"user_name": user, "password": password(user)} if "password" in found[2] else {"granted": "true"}
        data = {name: unescape(value) for name, value in fields.items()}
        page = browser.post(urljoin(str(page.url), unescape(found[1])), data=data)
    return page


def test_what_main_refuses_is_merged_as_the_person_who_asks(
    accounts: Accounts, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG, "gitops_bg")
    app, remote = accounts.app, accounts.remote
    with browser_at(accounts.here) as browser:
        web = Buttons(browser, app)
        page = log_in(browser, browser.get(web.path, headers=PAGE), "ben")
        assert (page.status_code, page.url.path) == (200, web.path), page.text[:2000]
        accounts.protect()
        app.push_image("v2")
        remote_main = remote.head()
        app.wait_offered("v2")
        app.scenario.wait_idle()
        asked = web.post("promote", web.form("promote"))
        assert "opened and merged at the forge, as you" in asked.text
        done = web.post("promote", web.form("promote", asked.text) | {"reason": "looks good"}, JSON)
        assert done.status_code == 200, done.text
        said = done.json()
        assert "it was merged as you" in said["says"]
        assert remote.head() != remote_main
        number = said["pullRequest"].rpartition("/")[2]
        merged = remote.call("GET", f"/pulls/{number}")
        assert (merged["merged"], (merged["merged_by"] or {}).get("login")) == (True, "ben"), merged
        app.scenario.wake()
        app.wait_live("v2")

        suspended = web.press("suspend", JSON, reason="INC-1")
        assert suspended.status_code == 200, suspended.text
        assert "it was merged as you" in suspended.json()["says"]
        app.scenario.wake()
        app.wait_phase("Suspended")
        assert trailers(app.scenario, f"{remote.head()}^2")["Bg-By"].startswith("ben <ben@example.com>")
        left = remote.run("for-each-ref", "--format=%(refname)", "refs/heads/gitops-bg/ask", cwd=remote.bare)
        assert left.strip() == "", "its branch is gone"

        tokens = accounts.tokens()
        assert len(tokens) == 1
        assert tokens[0]
        pages = [browser.get(path, headers=PAGE).text for path in ("/", "/me", web.path)]
        for where in (*pages, caplog.text, asked.text, done.text):
            assert tokens[0] not in where
        written = [each for each in tmp_path.rglob("*") if each.is_file() and "remote" not in each.parts]
        assert not any(tokens[0].encode() in each.read_bytes() for each in written)


def test_an_approval_is_a_review_under_the_own_account_and_the_forge_decides(accounts: Accounts) -> None:
    app, remote = accounts.app, accounts.remote
    accounts.protect(required_approvals=1)
    app.push_image("v2")
    app.wait_offered("v2")
    eventually(remote.pulls, what="the agent opens a pull request")
    app.wait(lambda: "pullRequest" in app.status, "the status names it")
    with browser_at(accounts.here) as browser:
        web = Buttons(browser, app)
        log_in(browser, browser.get(web.path, headers=PAGE), "ben")
        refused = web.press("promote", JSON)
        assert refused.status_code == 202, refused.text
        assert "as you it was not: " in refused.json()["says"]
        assert refused.json()["pullRequest"] == remote.pulls()[0]["html_url"]

        none = web.press("withdraw-approval", JSON)
        assert (none.status_code, "you have not approved" in none.text) == (409, True)
        assert web.press("approve", JSON).status_code == 200
        assert _approvals(remote) == [("ben", remote.head(app.promotion_branch))]
        assert web.press("withdraw-approval", JSON).status_code == 200
        assert _approvals(remote) == []
        stale = web.form("approve") | {"digest": app.digest("v1"), "sure": "yes"}
        assert "look at it again" in web.refused("approve", stale, 409)
        assert web.press("approve", JSON).status_code == 200
        app.scenario.wait_idle()
        merged = web.press("promote", JSON)
        assert merged.status_code == 200, merged.text
        app.scenario.wake()
        app.wait_live("v2")


def test_a_token_that_the_forge_takes_no_longer_says_so(accounts: Accounts) -> None:
    app = accounts.app
    accounts.protect()
    app.push_image("v2")
    app.wait_offered("v2")
    with browser_at(accounts.here) as browser:
        web = Buttons(browser, app)
        log_in(browser, browser.get(web.path, headers=PAGE), "ben")
        assert accounts.login.oidc is not None
        for each in accounts.login.oidc._sessions._entries.values():
            object.__setattr__(each.value, "forge_token", "over")
        answer = web.press("promote", JSON)
        assert answer.status_code == 202
        assert "does not take the token of your login any more: log out, and log in again" in answer.json()["says"]
        assert "log in again" in web.press("approve", JSON).json()["message"]


def _approvals(remote: GiteaRemote) -> list[tuple[str, str]]:
    (pull,) = remote.pulls()
    found = remote.call("GET", f"/pulls/{pull['number']}/reviews")
    return [(each["user"]["login"], each["commit_id"]) for each in found if each["state"] == "APPROVED"]
