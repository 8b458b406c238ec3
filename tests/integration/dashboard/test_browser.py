"""The dashboard in a real browser: live, by keyboard, without scripts, enlarged, and for everybody."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.dashboard.shop import Shop
from tests.support.browser import HOW_TO_GET_IT, browser_at_hand

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page  # type: ignore[import-not-found, unused-ignore]

DRIVER = browser_at_hand()
pytestmark = pytest.mark.skipif(DRIVER is None, reason=HOW_TO_GET_IT)
PAGES = {
    "list": "/",
    "app": "/apps/shop/web",
    "failing": "/apps/shop/cart",
    "confirm": "/apps/shop/web/abort",
    "entries": "/apps/shop/web/history",
    "history": "/apps/shop/search/history",
    "compare": "/apps/shop/search/compare?from=1&to=2",
    "policies": "/policies",
    "fleet": "/fleet",
    "wall": "/wall",
    "me": "/me",
    "unknown": "/apps/shop/wbe",
}
PICTURES = Path(__file__).resolve().parents[3] / "docs" / "pictures"


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page of 1280 by 900; whatever the browser refuses or complains about fails the test."""
    yield from opened(browser, address)


def opened(
    browser: Browser, address: str, *, forgives: tuple[str, ...] = ("404 (Not Found)",), **how: Any
) -> Iterator[Page]:
    """A page, of which whatever the browser complains about fails the test, but for what says ``forgives``."""
    context = browser.new_context(base_url=address, **{"viewport": {"width": 1280, "height": 900}, **how})
    made, complaints = context.new_page(), list[str]()
    made.set_default_timeout(30_000)
    made.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    made.on("pageerror", lambda error: complaints.append(str(error)))
    yield made
    context.close()
    assert [each for each in complaints if not any(known in each for known in forgives)] == []


def test_a_change_shows_by_itself_and_keeps_what_somebody_does(page: Page, shop: Shop) -> None:
    """The focus, and what is typed into the search, survive the message that brings the change."""
    from playwright.sync_api import expect

    page.goto("/")
    page.locator("#search").fill("half a wo")
    row = page.locator("#row-app-shop-catalog")
    expect(row).to_contain_text("1.5.0 (v2)")
    shop.well.push_image("1.7.0", "Sell even more")
    expect(row).to_contain_text("1.7.0", timeout=60_000)
    expect(page.locator("#search")).to_have_value("half a wo")
    expect(page.locator("#search")).to_be_focused()
    shop.well.revert(shop.world.remote.tip)
    expect(row).not_to_contain_text("1.7.0", timeout=60_000)


def test_times_go_on_without_the_server(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/apps/shop/web")
    left = page.locator(".gates .until time")
    before = left.inner_text()
    page.clock.install()
    page.clock.run_for(3 * 3600 * 1000)
    expect(left).not_to_have_text(before)
    expect(left).to_contain_text("left")


def test_the_list_is_for_keyboards(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.locator("#main").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#row-app-shop-cart th a")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#row-app-shop-catalog th a")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("web?")
    page.keyboard.press("Backspace")
    page.keyboard.press("Enter")
    expect(page.locator(".apps tbody tr")).to_have_count(1)
    page.locator("#main").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()


def test_everything_is_there_without_scripts(browser: Browser, address: str) -> None:
    from playwright.sync_api import expect

    for page in opened(browser, address, java_script_enabled=False):
        page.goto("/")
        page.locator("#search").fill("payments")
        page.get_by_role("button", name="Show").click()
        page.get_by_role("link", name="shop/payments").last.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("payments")
        page.get_by_role("link", name="all of it").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("History of payments")


READ = {
    "list": "#row-app-shop-web",
    "app": "body",
    "failing": "main",
    "confirm": "main",
    "entries": "main",
    "history": "main",
    "compare": "main",
    "policies": "main",
    "me": "main",
    "unknown": "main",
}
"""Of these pages what never depends on when a test looks."""


@pytest.mark.parametrize(("name", "part"), READ.items(), ids=list(READ))
def test_what_a_screen_reader_reads_is_as_before(page: Page, name: str, part: str) -> None:
    """GITOPS_BG_GOLDEN=1 writes the files anew: names, roles and order are promises, too."""
    page.goto(PAGES[name])
    read = _without_chance(page.locator(part).aria_snapshot())
    golden = Path(__file__).with_name("golden") / f"{name}.yaml"
    if os.environ.get("GITOPS_BG_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(read, encoding="utf-8")
    assert read == golden.read_text(encoding="utf-8")


def _without_chance(text: str) -> str:
    """A snapshot without times, commits and the names of pods."""
    for pattern, instead in (
        (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? ?(UTC|Z)", "TIME"),
        (r"\b[0-9a-f]{40}\b", "COMMIT"),
        (r"\b[0-9a-f]{10}\b", "DIGEST"),
        (r'code: "DIGEST"', "code: DIGEST"),  # those that look like numbers are quoted
        (r"DIGEST-[a-z0-9]{5}\b", "POD"),
        (r"read \d+ s before", "read SPAN before"),
        (r"\b(just now|(\d+[dhms])+( ago| left)?|any moment now)\b", "SPAN"),
    ):
        text = re.sub(pattern, instead, text)
    return text + "\n"


PICTURED = {"list": (1280, 860), "app": (1280, 860)} | dict.fromkeys(
    ("failing", "confirm", "history", "compare", "policies", "fleet", "wall", "me"), (960, 540)
)
"""Of which pages the docs have a picture, and how large: of the two that people see daily the larger ones."""


@pytest.mark.parametrize(("name", "size"), PICTURED.items(), ids=list(PICTURED))
def test_a_picture_for_the_docs(page: Page, name: str, size: tuple[int, int], tmp_path: Path) -> None:
    """GITOPS_BG_PICTURES=1 puts them into docs/pictures; of a page that is shorter no more than there is."""
    width, most = size
    page.set_viewport_size({"width": width, "height": most})
    page.goto(PAGES[name])
    page.wait_for_load_state()
    ends = page.evaluate("Math.ceil(document.querySelector('main').getBoundingClientRect().bottom)")
    place = PICTURES if os.environ.get("GITOPS_BG_PICTURES") else tmp_path
    clip = {"x": 0, "y": 0, "width": width, "height": min(most, ends)}
    picture = page.screenshot(path=place / f"dashboard-{name}.png", clip=clip)
    assert 5_000 < len(picture) < 250_000


@pytest.mark.parametrize("path", PAGES.values(), ids=list(PAGES))
def test_no_page_is_wider_than_its_window(page: Page, path: str) -> None:
    """640 is a window of 1280 enlarged to 200 %."""
    page.goto(path)
    for width in (1280, 640, 390):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("path", PAGES.values(), ids=list(PAGES))
def test_axe_finds_nothing(browser: Browser, address: str, path: str) -> None:
    for page in opened(browser, address, bypass_csp=True):
        page.goto(path)
        demand_accessible(page)


def demand_accessible(page: Page) -> None:
    """Fail with what axe finds on a page, by day and by night; it has to be opened with ``bypass_csp``."""
    assert DRIVER is not None
    page.evaluate((DRIVER / "axe.min.js").read_text(encoding="utf-8"))
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        found = page.evaluate("axe.run()")["violations"]
        shown = [f"{scheme}, {each['id']}: {node['html'][:200]}" for each in found for node in each["nodes"]]
        assert shown == [], json.dumps([each["help"] for each in found])
