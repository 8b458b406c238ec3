"""People act in a real browser: a promotion by keyboard while requests come, the way back, and a session that ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from gitops_bg.agent.runtime.schedule import utc_now
from gitops_bg.cli.demo.gitea import password
from gitops_bg.web.access.guard import Login, login_from
from gitops_bg.web.access.oidc import CALLBACK
from gitops_bg.web.dashboard.app import dashboard_server
from tests.fixtures.repos.texts import policy
from tests.integration.dashboard.story import HEIGHT, PICTURE, WIDTH, Frame, drawn
from tests.integration.dashboard.test_browser import DRIVER, demand_accessible, opened
from tests.integration.dashboard.test_forge_accounts import Accounts, accounts
from tests.integration.dashboard.test_overrides import GRACE, PEOPLE, STOP
from tests.integration.traffic.stage import Stage, stage
from tests.support.browser import HOW_TO_GET_IT
from tests.support.cluster.control_plane import free_ports
from tests.support.groups import Store
from tests.support.openid.program import certified_provider
from tests.support.scenario import Scenario

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page  # type: ignore[import-not-found, unused-ignore]

__all__ = ["accounts"]
pytestmark = pytest.mark.skipif(DRIVER is None, reason=HOW_TO_GET_IT)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Stage]:
    """An app that people use, its first version live, on a cluster of its own."""
    with stage(tmp_path, namespace="shop") as made:
        made.world.start()
        made.web.deploy("1.4.0")
        made.load.start()
        made.wait_used("1.4.0")
        yield made


def test_a_promotion_by_keyboard_while_requests_come_and_the_way_back(
    shop: Stage, browser: Browser, tmp_path: Path
) -> None:
    """Also the twenty seconds of the first page: GITOPS_BG_PICTURES=1 puts them into docs/pictures."""
    from playwright.sync_api import expect

    agent, web, frames = shop.world.agent, shop.web, list[Frame]()
    assert agent is not None
    with dashboard_server(agent, "127.0.0.1", 0) as server:
        for page in opened(browser, server.url, viewport={"width": WIDTH, "height": HEIGHT}):

            def show(said: str, page: Page = page) -> None:
                frames.append(Frame(said, page.screenshot(type="jpeg", quality=55)))

            def press(button: str, page: Page = page) -> None:
                page.get_by_role("button", name=button).focus()
                page.keyboard.press("Enter")

            page.goto(f"/apps/{web.key}")
            expect(page.get_by_role("region", name="Live")).to_contain_text("1.4.0 (v1)")
            show("1.4.0 serves")
            mark = len(shop.load)
            web.push_image("1.5.0", "Show prices in euros")
            expect(page.get_by_role("region", name="Next")).to_contain_text("1.5.0 (v2)", timeout=60_000)
            web.wait_offered("1.5.0")
            expect(page.get_by_role("region", name="Next")).to_contain_text("approval", timeout=60_000)
            show("git push: 1.5.0 comes up beside it, and waits for you")
            press(f"Promote {web.key}")
            expect(page.get_by_role("heading", level=1)).to_have_text(f"Promote {web.key}?")
            page.get_by_label("Why (if you like)").focus()
            page.keyboard.type("checked on the preview")
            show("Promote says what will happen, and asks once")
            page.keyboard.press("Tab")
            page.keyboard.press("Enter")
            expect(page.get_by_role("main")).to_contain_text("main names 1.5.0 (v2) by commit")
            page.get_by_role("link", name="See what becomes of").click()
            expect(page.get_by_role("region", name="Live")).to_contain_text("1.5.0 (v2)", timeout=60_000)
            shop.wait_used("1.5.0")
            show("A commit by you: live traffic has moved, in one write, and no request failed")
            web.wait_told("promoted")
            press(f"Roll back {web.key}")
            page.get_by_label("Why").fill("errors in the log")
            press(f"Roll back {web.key}")
            expect(page.get_by_role("main")).to_contain_text("main names 1.4.0 (v1) by commit")
            page.get_by_role("link", name="See what becomes of").click()
            expect(page.get_by_role("region", name="Live")).to_contain_text("1.4.0 (v1)", timeout=60_000)
            shop.wait_used("1.4.0")
            show("Roll back: at once, to pods that are still warm")
            shop.judge("promotion and rollback by the dashboard", mark)
    picture = drawn(frames)
    (PICTURE if os.environ.get("GITOPS_BG_PICTURES") else tmp_path / PICTURE.name).write_text(picture)
    assert len(ElementTree.fromstring(picture).findall("{http://www.w3.org/2000/svg}g")) == 5
    assert len(picture) < 600_000


@pytest.mark.real_forge
def test_with_an_account_at_the_forge_a_promotion_is_merged_as_the_person_and_traffic_moves(
    accounts: Accounts, browser: Browser
) -> None:
    from playwright.sync_api import expect

    app, remote = accounts.app, accounts.remote
    accounts.protect()
    app.push_image("v2", "Show prices in euros")
    app.wait_offered("v2")
    app.scenario.wait_idle()
    for page in opened(browser, accounts.here):
        page.goto(f"/apps/{app.key}")
        page.locator("#user_name").fill("ben")
        page.locator("#password").fill(password("ben"))
        page.get_by_role("button", name="Sign In", exact=True).click()
        page.get_by_role("button", name="Authorize Application").click()
        expect(page.get_by_role("banner")).to_contain_text("ben")
        page.get_by_role("button", name=f"Promote {app.key}").click()
        expect(page.get_by_role("main")).to_contain_text("opened and merged at the forge, as you")
        page.get_by_label("Why (if you like)").fill("checked on the preview")
        page.get_by_role("button", name=f"Promote {app.key}").click()
        expect(page.get_by_role("main")).to_contain_text("it was merged as you", timeout=60_000)
        page.get_by_role("link", name="See what becomes of").click()
        app.scenario.wake()
        expect(page.get_by_role("region", name="Live")).to_contain_text("v2", timeout=60_000)
    app.wait_live("v2")
    (pull,) = (remote.call("GET", f"/pulls/{each['number']}") for each in remote.pulls("closed") if each["merged"])
    assert pull["merged_by"]["login"] == "ben"


class Clock:
    """The machine's, set forward."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.ahead


def test_a_session_that_ends_is_begun_anew_and_what_was_pressed_is_asked_again(
    world: Scenario, browser: Browser, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    (port,) = free_ports(1)
    here, clock = f"http://127.0.0.1:{port}", Clock()
    app = world.app("sessions").deploy("v1")
    settings = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\naccess:\n  - {role: operator, groups: [devs]}\n"
    world.publish("Say who may do what", {"gitops-bg.yaml": settings})
    world.wait_idle()
    assert world.agent is not None
    with certified_provider(f"{here}{CALLBACK}") as issuer:
        (tmp_path / "secret").write_text("the-client-secret")
        oidc = f"oidc: {{issuer: '{issuer}', clientId: gitops-bg, clientSecretFile: {tmp_path}/secret}}\n"
        head = "apiVersion: gitops-bg.dev/v1alpha1\nkind: DashboardLogin\n"
        (tmp_path / "login.yaml").write_text(head + oidc)
        login = login_from(tmp_path / "login.yaml", here, clock)
        with dashboard_server(world.agent, "127.0.0.1", port, login):
            for page in opened(browser, here, forgives=("401", "404", "ERR_NAME_NOT_RESOLVED")):
                page.goto(f"/apps/{app.key}")
                page.locator("[name=login]").fill("ada")
                page.locator("[name=password]").fill("anything")
                page.locator("[type=submit]").click()
                page.locator("[type=submit]").click()
                expect(page.get_by_role("heading", level=1)).to_have_text("sessions")
                expect(page.get_by_role("banner")).to_contain_text("Ada Lovelace")
                before = page.context.cookies()
                clock.ahead = timedelta(hours=11)
                page.get_by_role("button", name=f"Suspend {app.key}").click()
                expect(page.get_by_role("main")).to_contain_text("Your session has ended, so nothing was done.")
                page.get_by_role("link", name="Log in").click()
                expect(page.get_by_role("heading", level=1)).to_have_text(f"Suspend {app.key}?")
                after = page.context.cookies()
                assert _session(before) != _session(after), "the provider knew them still, and the session is a new one"
                page.get_by_label("Why").fill("INC-1")
                page.get_by_role("button", name=f"Suspend {app.key}").click()
                expect(page.get_by_role("main")).to_contain_text("suspended by commit")
                page.get_by_role("button", name="Log out").click()
                expect(page.get_by_role("main")).to_contain_text("You are logged out here.")


def _session(cookies: list[dict[str, str]]) -> str:
    return next(each["value"] for each in cookies if each["name"] == "__Host-gitops-bg")


def test_groups_and_overrides_are_for_everybody(world: Scenario, browser: Browser) -> None:
    """Also enlarged to 200 %, which is a window of half the size."""
    from playwright.sync_api import expect

    store = Store(world, "seen")
    routes = {f"{store.name}-cart": f"/{store.name}"}
    store.spec["webhooks"] = [{"name": "release", "type": "confirm-promotion"}]
    versions = store.version("v1", **routes) | store.version("v2", **routes)
    app = world.app("stopped")
    match = f"  match: {{apps: [{app.name}]}}\n  override: {{by: [group:incident]}}\n"
    policies = {"policies/closed.yaml": policy("closed", STOP, more=match), "policies/people.yaml": PEOPLE}
    world.publish("A store, and an app", {**store.group(), **versions, **app.files("v1")})
    store.wait("v1A v2C")
    app.wait_live("v1")
    app.wait_primary("v1")
    world.publish("Stop the app", policies)
    app.push_image("v2")
    app.wait_offered("v2")
    assert world.agent is not None
    with dashboard_server(world.agent, "127.0.0.1", 0, Login(loopback=GRACE)) as server:
        view = {"width": 640, "height": 450}
        for page in opened(browser, server.url, bypass_csp=True, viewport=view):
            page.goto(f"/groups/{world.namespace}/{store.name}")
            expect(page.get_by_role("button", name="Open the gate release")).to_be_visible()
            demand_accessible(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= view["width"]
            page.goto(f"/apps/{app.key}")
            page.get_by_role("button", name=f"Promote {app.key}").click()
            expect(page.get_by_role("checkbox", name="closed")).to_be_checked()
            demand_accessible(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= view["width"]
