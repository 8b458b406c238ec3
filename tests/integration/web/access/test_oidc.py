"""Logging in at a provider: who comes back as whom, what of a provider does not count, and how a session ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import OctKey, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gitops_bg.core.errors import InvalidInput
from gitops_bg.web.access.guard import Guard, login_from
from gitops_bg.web.access.oidc import ATTEMPT_COOKIE, CALLBACK, EVENTS, SESSION_COOKIE, own_path
from gitops_bg.web.access.person import Access, forge_token, form_token, person_of
from tests.integration.web.access.conftest import Browser
from tests.support.servers.openid import CLIENT, SECRET, OpenIdProvider, openid_provider

HERE = "https://bg.example.com"
PAGE = {"Accept": "text/html"}
SAME = {"Sec-Fetch-Site": "same-origin", **PAGE}


async def _who(request: Request) -> Response:
    person = person_of(request)
    assert person is not None
    said = {"name": person.name, "email": person.email, "subject": person.subject, "groups": sorted(person.groups)}
    return JSONResponse(said | {"via": person.via, "form": form_token(request), "account": forge_token(request)})


class Clock:
    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


class Dashboard:
    """A dashboard behind a provider, and its browsers."""

    def __init__(self, provider: OpenIdProvider, folder: Path, clock: Clock, issuer: str = "", more: str = "") -> None:
        (folder / "secret").write_text(f"{SECRET}\n")
        head = "apiVersion: gitops-bg.dev/v1alpha1\nkind: DashboardLogin\n"
        known = f"clientId: {CLIENT}, clientSecretFile: {folder}/secret"
        oidc = f"oidc: {{issuer: '{issuer or provider.address}', {known}{more}}}\n"
        (folder / "login.yaml").write_text(head + oidc)
        login = login_from(folder / "login.yaml", HERE, clock)
        assert login.oidc is not None
        routes = [Route("/", _who), Route("/apps/{app}", _who), Route(EVENTS, _who), *login.oidc.routes()]
        self.app = Guard(Starlette(routes=routes), login, Access)

    def browser(self) -> Browser:
        return Browser(self.app, HERE)

    def logged_in(self) -> Browser:
        browser = self.browser()
        answer = finish(browser, begin(browser))
        assert answer.status_code == 303, answer.text
        return browser


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def provider() -> Iterator[OpenIdProvider]:
    with openid_provider() as running:
        yield running


@pytest.fixture
def dashboard(provider: OpenIdProvider, tmp_path: Path, clock: Clock) -> Dashboard:
    return Dashboard(provider, tmp_path, clock)


def begin(browser: Browser, path: str = "/login") -> str:
    """Where a browser comes back to, once the person has logged in at the provider."""
    answer = browser.get(path, headers=PAGE)
    assert answer.status_code == 302, answer.text
    there = httpx.get(answer.headers["location"], trust_env=False, timeout=30)
    assert there.status_code == 302
    return str(there.headers["location"])


def finish(browser: Browser, location: str) -> httpx.Response:
    assert location.startswith(f"{HERE}{CALLBACK}?")
    return browser.get(location, headers=PAGE)


# --- the way in ---


def test_people_are_led_to_their_provider_and_come_back_to_where_they_wanted(
    dashboard: Dashboard, provider: OpenIdProvider
) -> None:
    browser = dashboard.browser()
    led = browser.get("/apps/web?tab=1", headers=PAGE)
    assert (led.status_code, led.headers["location"]) == (303, "/login?next=%2Fapps%2Fweb%3Ftab%3D1")
    back = finish(browser, begin(browser, led.headers["location"]))
    assert (back.status_code, back.headers["location"]) == (303, "/apps/web?tab=1")
    who = browser.get("/", headers=PAGE).json()
    assert (who["name"], who["email"], who["groups"]) == ("Ada Lovelace", "ada@example.com", ["devs"])
    assert (who["subject"], who["via"]) == (f"{provider.address}#17", "oidc")
    (asked,) = provider.asked
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    assert asked["scope"] == "openid profile email groups"
    assert len(asked["nonce"]) >= 20
    assert len(asked["state"]) >= 20


def test_a_session_is_a_cookie_that_no_script_and_no_other_site_gets(dashboard: Dashboard) -> None:
    browser = dashboard.browser()
    began = browser.get("/login", headers=PAGE)
    back = finish(browser, str(httpx.get(began.headers["location"], trust_env=False).headers["location"]))
    for answer, name in ((began, ATTEMPT_COOKIE), (back, SESSION_COOKIE)):
        cookie = next(each for each in answer.headers.get_list("set-cookie") if each.startswith(f"{name}="))
        attributes = {each.strip().lower() for each in cookie.split(";")[1:]}
        assert {"path=/", "secure", "httponly", "samesite=lax"} <= attributes
        assert not any(each.startswith("domain") for each in attributes), "a __Host- cookie has none"
    assert "ada" not in str(browser.cookies), "nothing of the person is in the cookie"


def test_a_form_of_a_session_that_has_ended_says_where_to_log_in_and_comes_back_to_what_it_would_do(
    dashboard: Dashboard,
) -> None:
    """No answer to a form may lead to the provider: ``form-action`` of our pages holds for all that follows it."""
    for path, comes_back in (("/apps/shop/web/promote?x=1", "%2Fapps%2Fshop%2Fweb%2Fpromote"), ("/logout", "%2F")):
        answer = dashboard.browser().post(path, data={"sure": "yes"}, headers=PAGE)
        assert (answer.status_code, f'href="/login?next={comes_back}"' in answer.text) == (401, True)
        assert "nothing was done" in answer.text


def test_programs_are_not_led_anywhere(dashboard: Dashboard) -> None:
    browser = dashboard.browser()
    assert browser.get("/", headers={"Accept": "application/json"}).status_code == 401
    assert browser.post("/", headers=SAME).status_code == 401


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil",
        "/a\r\nSet-Cookie: x=y",
        "javascript:1",
        "/\t/evil",
        "",
        "/ü",
    ],
)
def test_no_login_leads_to_another_site(dashboard: Dashboard, wanted: str) -> None:
    browser = dashboard.browser()
    back = finish(browser, begin(browser, str(httpx.URL("/login", params={"next": wanted}))))
    assert (back.status_code, back.headers["location"], own_path(wanted)) == (303, "/", "/")
    assert "x" not in back.cookies


# --- whose login it is ---


def test_a_login_that_somebody_else_began_is_none_of_this_browser(dashboard: Dashboard) -> None:
    """Login CSRF: a person would act under the account of who sent them the address."""
    eve, ada = dashboard.browser(), dashboard.browser()
    location = begin(eve)
    assert finish(ada, location).status_code == 400
    begin(ada)
    assert finish(ada, location).status_code == 403, "with a login of her own under way, too"
    assert ada.get("/", headers={"Accept": "x/y"}).status_code == 401


def test_an_answer_of_the_provider_counts_once(dashboard: Dashboard) -> None:
    browser = dashboard.browser()
    location = begin(browser)
    assert finish(browser, location).status_code == 303
    assert finish(browser, location).status_code == 400


def test_a_login_has_ten_minutes(dashboard: Dashboard, clock: Clock) -> None:
    browser = dashboard.browser()
    location = begin(browser)
    clock.ahead += timedelta(minutes=10)
    assert finish(browser, location).status_code == 400


def test_each_login_is_another_session_whatever_cookie_came_with_it(dashboard: Dashboard) -> None:
    """Session fixation."""
    browser = dashboard.browser()
    browser.cookies.set(SESSION_COOKIE, "chosen-by-eve", domain="bg.example.com")
    finish(browser, begin(browser))
    first = browser.cookies[SESSION_COOKIE]
    assert first != "chosen-by-eve"
    finish(browser, begin(browser))
    assert browser.cookies[SESSION_COOKIE] != first
    other = dashboard.browser()
    other.cookies.set(SESSION_COOKIE, first, domain="bg.example.com")
    assert other.get("/", headers={"Accept": "x/y"}).status_code == 401, "the former one is over"


def test_a_form_of_another_session_is_none(dashboard: Dashboard) -> None:
    browser = dashboard.logged_in()
    form = browser.get("/").json()["form"]
    assert len(form) == 64
    finish(browser, begin(browser))
    assert browser.get("/").json()["form"] != form
    assert browser.post("/logout", data={"token": form}, headers=SAME).status_code == 403
    assert browser.get("/").status_code == 200


# --- what of a provider does not count ---

BAD = {
    "another issuer": {"iss": "https://evil.example"},
    "no issuer": {"iss": None},
    "another audience": {"aud": "another-client"},
    "another audience, by way of us": {"aud": "another-client", "azp": CLIENT},
    "no audience": {"aud": None},
    "several audiences, and by another": {"aud": [CLIENT, "x"], "azp": "x"},
    "another nonce": {"nonce": "another"},
    "no nonce": {"nonce": None},
    "over": {"exp": 1_700_000_000, "iat": 1_699_999_000},
    "no end": {"exp": None},
    "not yet": {"nbf": 4_000_000_000},
    "nobody": {"sub": None},
    "no text for who": {"sub": {"a": 1}},
    "an unverified address": {"email_verified": False},
    "an address nobody speaks of as verified": {"email_verified": None},
    "a word for yes": {"email_verified": "yes"},
    "no address": {"email": None},
    "an address that is none": {"email": "ada@example.com>\ncommitter eve <eve@x>"},
}


@pytest.mark.parametrize("name", BAD)
def test_what_a_token_says_wrong_logs_nobody_in(dashboard: Dashboard, provider: OpenIdProvider, name: str) -> None:
    provider.changes = BAD[name]
    browser = dashboard.browser()
    answer = finish(browser, begin(browser))
    assert answer.status_code == 403
    assert SESSION_COOKIE not in answer.cookies
    assert "evil" not in answer.text


def test_a_token_by_a_key_that_the_provider_does_not_publish_logs_nobody_in(
    dashboard: Dashboard, provider: OpenIdProvider
) -> None:
    provider.signs_with = RSAKey.generate_key(2048, {"kid": "two"})
    browser = dashboard.browser()
    assert finish(browser, begin(browser)).status_code == 403
    provider.signs_with = RSAKey.generate_key(2048, {"kid": "one"})
    assert finish(browser, begin(browser)).status_code == 403, "under the name of one that it does"


@pytest.mark.parametrize("alg", ["none", "HS256"])
def test_an_unsigned_token_and_one_by_a_shared_secret_log_nobody_in(
    dashboard: Dashboard, provider: OpenIdProvider, alg: str
) -> None:
    provider.alg = alg
    if alg == "HS256":
        provider.signs_with = OctKey.import_key(SECRET, {"kid": "one"})
    browser = dashboard.browser()
    assert finish(browser, begin(browser)).status_code == 403


def test_a_provider_that_took_a_new_key_is_followed(dashboard: Dashboard, provider: OpenIdProvider) -> None:
    dashboard.logged_in()
    provider.key = provider.signs_with = RSAKey.generate_key(2048, {"kid": "two"})
    dashboard.logged_in()


def test_a_provider_under_another_name_logs_nobody_in(provider: OpenIdProvider, tmp_path: Path, clock: Clock) -> None:
    provider.metadata = {"issuer": "https://another.example"}
    answer = Dashboard(provider, tmp_path, clock).browser().get("/login", headers=PAGE)
    assert answer.status_code == 403


def test_a_provider_that_is_away_logs_nobody_in_and_the_next_try_succeeds(
    dashboard: Dashboard, provider: OpenIdProvider
) -> None:
    address, provider.address = provider.address, "https://another.example"
    assert dashboard.browser().get("/login", headers=PAGE).status_code == 403
    provider.address = address
    dashboard.logged_in()


def test_a_person_who_says_no_at_the_provider_is_not_logged_in(dashboard: Dashboard) -> None:
    browser = dashboard.browser()
    state = parse_qs(urlsplit(begin(browser)).query)["state"][0]
    words = "<script>alert(1)</script>"
    query = httpx.QueryParams(error="access_denied", error_description=words, state=state)
    answer = browser.get(f"{CALLBACK}?{query}", headers=PAGE)
    assert answer.status_code == 403
    assert "script" not in answer.text


# --- groups and names, as providers say them ---


def test_what_the_id_token_lacks_is_asked_of_the_provider_about_the_same_person(
    dashboard: Dashboard, provider: OpenIdProvider
) -> None:
    provider.person |= {"groups": None, "email": None, "email_verified": None}
    provider.userinfo = {"sub": "17", "email": "ada@x.org", "email_verified": True, "groups": ["leads"], "name": "Eve"}
    who = dashboard.logged_in().get("/").json()
    assert (who["email"], who["groups"], who["name"]) == ("ada@x.org", ["leads"], "Ada Lovelace")
    provider.userinfo["sub"] = "18"
    browser = dashboard.browser()
    assert finish(browser, begin(browser)).status_code == 403


@pytest.mark.parametrize(
    ("said", "groups"), [("devs", ["devs"]), (["a", 7, {"b": 1}, "c"], ["a", "c"]), ({"x": 1}, []), ([], []), (7, [])]
)
def test_groups_are_the_texts_that_the_provider_names(
    dashboard: Dashboard, provider: OpenIdProvider, said: object, groups: list[str]
) -> None:
    provider.person["groups"] = said
    assert dashboard.logged_in().get("/").json()["groups"] == groups


def test_claims_have_the_names_that_the_file_says(provider: OpenIdProvider, tmp_path: Path, clock: Clock) -> None:
    provider.person |= {"roles": ["sre"], "nick": "Countess\n\x1b[31m"}
    dashboard = Dashboard(
        provider, tmp_path, clock, more=", groupsClaim: roles, nameClaim: nick, scopes: [openid, email]"
    )
    who = dashboard.logged_in().get("/").json()
    assert (who["groups"], who["name"]) == (["sre"], "Countess [31m")
    assert provider.asked[-1]["scope"] == "openid email"


# --- the way out ---


@pytest.mark.parametrize(("pauses", "lasts"), [([59, 59, 59], True), ([60], False), ([59] * 10 + [20], False)])
def test_a_session_ends_after_an_hour_without_a_request_and_after_ten_in_any_case(
    dashboard: Dashboard, clock: Clock, pauses: list[int], lasts: bool
) -> None:
    browser = dashboard.logged_in()
    for minutes in pauses[:-1]:
        clock.ahead += timedelta(minutes=minutes)
        assert browser.get("/").status_code == 200
    clock.ahead += timedelta(minutes=pauses[-1])
    assert (browser.get("/").status_code == 200) is lasts


def test_a_page_that_keeps_itself_up_to_date_keeps_no_session(dashboard: Dashboard, clock: Clock) -> None:
    browser = dashboard.logged_in()
    for _ in range(2):
        clock.ahead += timedelta(minutes=29)
        assert browser.get("/events").status_code == 200
    clock.ahead += timedelta(minutes=2)
    assert browser.get("/events").status_code == 401


def test_who_logs_out_is_out_and_may_end_the_providers_session_too(
    dashboard: Dashboard, provider: OpenIdProvider
) -> None:
    browser = dashboard.logged_in()
    name, form = browser.cookies[SESSION_COOKIE], browser.get("/").json()["form"]
    assert browser.post("/logout", data={}, headers=SAME).status_code == 403
    assert browser.post("/logout", data={"token": form}, headers={"Origin": "https://evil.example"}).status_code == 403
    answer = browser.post("/logout", data={"token": form}, headers=SAME)
    assert answer.status_code == 200
    link = unescape(re.findall(r'<a href="([^"]*)"', answer.text)[0])
    assert link.startswith(f"{provider.address}/logout?id_token_hint=")
    assert parse_qs(urlsplit(link).query)["post_logout_redirect_uri"] == [f"{HERE}/"]
    browser.cookies.set(SESSION_COOKIE, name, domain="bg.example.com")
    assert browser.get("/").status_code == 401, "also by the former cookie"


# --- the own account at the forge ---


@pytest.fixture
def forge(provider: OpenIdProvider, tmp_path: Path, clock: Clock) -> Dashboard:
    """A dashboard at which people log in with their account at the forge."""
    return Dashboard(provider, tmp_path, clock, more=", forge: true")


def test_a_token_at_the_forge_is_renewed_before_it_ends_by_what_came_with_the_last_one(
    forge: Dashboard, provider: OpenIdProvider, clock: Clock
) -> None:
    provider.renews = True
    browser, found = forge.logged_in(), list[str]()
    for seconds in (0, 50, 55, 110, 115):
        clock.ahead = timedelta(seconds=seconds)
        found.append(browser.get("/").json()["account"])
    assert found == ["an-access-token", "an-access-token", "token-1", "token-2", "token-2"]
    assert provider.renewed == ["renewal-0", "renewal-1"]


def test_many_who_ask_at_once_renew_it_once_and_an_open_page_does_not(
    forge: Dashboard, provider: OpenIdProvider, clock: Clock
) -> None:
    provider.renews = True
    browser = forge.logged_in()
    clock.ahead = timedelta(seconds=59)
    assert browser.get(EVENTS).json()["account"] == "an-access-token"
    assert provider.renewed == []
    answers = browser.many("/", 8)
    assert {each.json()["account"] for each in answers} == {"token-1"}
    assert provider.renewed == ["renewal-0"]


@pytest.mark.parametrize(("renews", "asked"), [(False, 1), (None, 0)], ids=["takes it back", "gives none"])
def test_a_token_that_nobody_renews_stays_and_the_forge_says_that_it_is_over(
    forge: Dashboard, provider: OpenIdProvider, clock: Clock, renews: bool | None, asked: int
) -> None:
    provider.renews = renews is not None
    browser = forge.logged_in()
    provider.renews = False
    for seconds in (59, 600):
        clock.ahead = timedelta(seconds=seconds)
        assert browser.get("/").json()["account"] == "an-access-token"
    assert len(provider.renewed) == asked, "nor is it asked again"


def test_a_provider_that_is_away_is_asked_again_a_minute_later(
    forge: Dashboard, provider: OpenIdProvider, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.renews = True
    browser = forge.logged_in()
    with monkeypatch.context() as away:
        away.setattr("httpx.AsyncHTTPTransport.handle_async_request", _away)
        clock.ahead = timedelta(seconds=59)
        assert browser.get("/").json()["account"] == "an-access-token"
    assert browser.get("/").json()["account"] == "an-access-token"
    assert provider.renewed == []
    clock.ahead = timedelta(seconds=120)
    assert browser.get("/").json()["account"] == "token-1"


async def _away(*_: object) -> httpx.Response:
    raise httpx.ConnectError("no route to host")


# --- the file ---


@pytest.mark.parametrize(
    ("issuer", "public_url", "said"),
    [
        ("http://id.example.com", HERE, "use the issuer's https address"),
        ("https://id.example.com?x=1", HERE, "use the issuer's https address"),
        ("https://id.example.com", "", "is no address to which people come back"),
        ("https://id.example.com", "http://bg.example.com", "is no address to which people come back"),
    ],
)
def test_what_cannot_be_safe_is_refused_at_the_start(tmp_path: Path, issuer: str, public_url: str, said: str) -> None:
    file = tmp_path / "login.yaml"
    head = "apiVersion: gitops-bg.dev/v1alpha1\nkind: DashboardLogin\n"
    file.write_text(f"{head}oidc: {{issuer: '{issuer}', clientId: x}}\n")
    with pytest.raises(InvalidInput, match=said):
        login_from(file, public_url, Clock())


def test_a_secret_that_cannot_be_read_is_told_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "login.yaml"
    head = "apiVersion: gitops-bg.dev/v1alpha1\nkind: DashboardLogin\n"
    file.write_text(f"{head}oidc: {{issuer: 'https://id.example.com', clientId: x, clientSecretFile: /no/such}}\n")
    with pytest.raises(InvalidInput, match="/no/such: cannot be read"):
        login_from(file, HERE, Clock())
