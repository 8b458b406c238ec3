"""Who is let through to the pages: with a token, on this machine, from a page of this site."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gitops_bg.core.errors import InvalidInput
from gitops_bg.web.access.guard import HEADERS, Guard, Login, is_loopback
from gitops_bg.web.access.login_file import parse_login_file
from gitops_bg.web.access.person import ANYBODY, Access, Person, Role, Via, form_token, person_of, posted_form
from gitops_bg.web.access.tokens import Tokens
from tests.integration.web.access.conftest import Browser

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
ADA = Person("Ada", "ada@example.com", "loopback", frozenset(), Via.LOOPBACK)
SAME = {"Sec-Fetch-Site": "same-origin"}
TOKEN = "a-secret-of-ci"


async def _who(request: Request) -> Response:
    form, person = await posted_form(request), person_of(request)
    said = {"person": person and person.subject, "form": form_token(request), "ours": form is not None}
    return JSONResponse(said, headers={"Cache-Control": "max-age=60"} if request.method == "HEAD" else None)


def _client(login: Login, address: str = "http://localhost:8081") -> Browser:
    app = Starlette(routes=[Route("/", _who, methods=["GET", "HEAD", "POST"])])
    return Browser(Guard(app, login, Access), address)


def _entry(name: str, token: str, more: str = "") -> str:
    return f"  - {{name: {name}, sha256: {hashlib.sha256(token.encode()).hexdigest()}, groups: [devs]{more}}}\n"


def _tokens_file(*entries: str) -> str:
    return f"apiVersion: gitops-bg.dev/v1alpha1\nkind: DashboardLogin\ntokens:\n{''.join(entries)}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "tokens.yaml"
    made.write_text(_tokens_file(_entry("ci", TOKEN), _entry("old", "over", ", expires: '2026-12-01T12:00:00Z'")))
    return made


@pytest.fixture
def scripts(file: Path) -> Browser:
    """A dashboard for scripts with a token."""
    return _client(Login(tokens=Tokens(file, lambda: NOW)), "https://bg.example.com")


@pytest.fixture
def local() -> Browser:
    """A dashboard without a login, on loopback."""
    return _client(Login(loopback=ADA))


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


# --- tokens ---


def test_a_token_says_who_asks(scripts: Browser) -> None:
    assert scripts.get("/", headers=_bearer(TOKEN)).json()["person"] == "token:ci"


@pytest.mark.parametrize(
    "header", [{}, _bearer(""), _bearer("wrong"), _bearer("over"), {"Authorization": f"Basic {TOKEN}"}]
)
def test_without_a_token_that_counts_nothing_is_shown(scripts: Browser, header: dict[str, str]) -> None:
    answer = scripts.get("/", headers=header)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_a_token_in_the_address_or_in_a_cookie_is_none(scripts: Browser) -> None:
    assert scripts.get(f"/?token={TOKEN}&access_token={TOKEN}").status_code == 401
    scripts.cookies.set("token", TOKEN)
    assert scripts.get("/").status_code == 401


def test_a_token_that_leaves_the_file_is_nobodys_at_once(scripts: Browser, file: Path) -> None:
    assert scripts.get("/", headers=_bearer(TOKEN)).status_code == 200
    file.write_text(_tokens_file(_entry("other", "another-secret")))
    assert scripts.get("/", headers=_bearer(TOKEN)).status_code == 401
    assert scripts.get("/", headers=_bearer("another-secret")).json()["person"] == "token:other"


def test_while_the_file_is_broken_no_token_counts(scripts: Browser, file: Path) -> None:
    whole = file.read_text()
    file.write_text("tokens: [")
    assert scripts.get("/", headers=_bearer(TOKEN)).status_code == 401
    file.write_text(whole + "\n")
    assert scripts.get("/", headers=_bearer(TOKEN)).status_code == 200


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (
            "  - {name: ci, sha256: abc, groups: [devs]}\n",
            "t.yaml:4: tokens[0].sha256: 'abc' is not allowed (use what",
        ),
        (_entry("ci", "a") + _entry("ci", "b"), "t.yaml:5: tokens[1].name: ci is there twice (give each"),
        (_entry("a b", "a"), "t.yaml:4: tokens[0].name: 'a b' is not allowed (use letters"),
        (_entry("a", "a", ", expires: 2026-12-01"), "t.yaml:4:"),
        ("  - {name: a, token: secret, groups: [devs]}\n", "t.yaml:4:"),
    ],
)
def test_a_wrong_file_of_tokens_is_told_with_its_place(entries: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_login_file(_tokens_file(entries).encode(), "t.yaml")
    assert str(refused.value).startswith(said)
    assert "secret" not in str(refused.value)


def test_a_file_of_tokens_that_is_missing_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"tokens.yaml: cannot be read: No such file"):
        Tokens(tmp_path / "tokens.yaml", lambda: NOW)


# --- what is written down ---


@pytest.mark.parametrize(
    ("headers", "why", "by"),
    [
        ({}, "log in first; a script sends its token: Authorization: Bearer <token>", None),
        (_bearer(TOKEN) | {"Sec-Fetch-Site": "cross-site"}, "only a page of this dashboard may ask for a change", "ci"),
    ],
    ids=["nobody", "another site"],
)
def test_who_is_refused_a_change_and_why_is_in_the_log(
    scripts: Browser, caplog: pytest.LogCaptureFixture, headers: dict[str, str], why: str, by: str | None
) -> None:
    assert scripts.post("/?x=1", headers=headers).status_code in (401, 403)
    (written,) = [each for each in caplog.records if each.name == "gitops_bg.web.access.guard"]
    assert written.getMessage() == f"refused on the dashboard: {why}"
    said = written.__dict__["gitops_bg_fields"]
    assert (said["path"], said.get("subject")) == ("/", by and f"token:{by}")


def test_neither_a_page_that_is_refused_nor_a_change_that_is_made_is(
    scripts: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    assert scripts.get("/").status_code == 401
    assert scripts.post("/", headers=_bearer(TOKEN)).status_code == 200
    assert "refused" not in caplog.text


# --- without a login ---


def test_on_this_machine_nobody_logs_in(local: Browser) -> None:
    assert local.get("/").json()["person"] == "loopback"
    assert Access().may(ADA, Role.ADMIN, "shop")


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "192.0.2.1:8081", "[::1", "", "127.0.0.1@evil"]
)
def test_a_name_of_somebody_else_that_leads_here_is_refused(local: Browser, host: str) -> None:
    """A page elsewhere may let its own name lead to 127.0.0.1, and then its browser asks here as that page."""
    assert local.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8081", "[::1]:8081"])
def test_this_machine_is_asked_by_its_names(local: Browser, host: str) -> None:
    assert local.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Forwarded-Host", "X-Real-IP"])
def test_without_a_login_nobody_comes_through_a_proxy(local: Browser, header: str) -> None:
    assert local.get("/", headers={header: "192.0.2.1"}).status_code == 421


def test_on_another_address_without_a_login_everybody_sees_and_nobody_acts() -> None:
    client = _client(Login(), "http://bg.example.com")
    assert client.get("/").json() == {"person": "anonymous", "form": "", "ours": True}
    assert client.post("/", headers=SAME).status_code == 403


def test_in_a_pod_who_forwards_a_port_sees_by_a_name_of_their_machine_and_does_not_act() -> None:
    client = _client(Login(loopback=ANYBODY, in_pod=True))
    assert client.get("/").json() == {"person": "anonymous", "form": "", "ours": True}
    answer = client.post("/", headers=SAME)
    assert (answer.status_code, answer.json()["message"]) == (
        403,
        "nobody can log in at this dashboard, and whoever may forward a port to its pod reaches it, so it is for "
        "reading only",
    )
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 421


@pytest.mark.parametrize(
    ("host", "is_it"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("", False),
        ("::", False),
        ("bg.local", False),
    ],
)
def test_only_addresses_of_this_machine_are_loopback(host: str, is_it: bool) -> None:
    assert is_loopback(host) is is_it


# --- other sites ---


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (SAME, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost:8081"}, 403),
        ({"Origin": "http://localhost:8081"}, 200),
        ({"Origin": "http://localhost:9999"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({}, 403),
    ],
)
def test_only_pages_of_this_site_change_something(local: Browser, headers: dict[str, str], status: int) -> None:
    assert local.post("/", headers=headers).status_code == status


def test_behind_a_proxy_the_public_address_is_this_site(file: Path) -> None:
    login = Login(tokens=Tokens(file, lambda: NOW), public_url="https://bg.example.com")
    client = _client(login, "http://10.0.0.7:8081")
    for origin, status in {
        "https://bg.example.com": 200,
        "http://bg.example.com": 403,
        "http://10.0.0.7:8081": 403,
    }.items():
        assert client.post("/", headers={"Origin": origin, **_bearer(TOKEN)}).status_code == status


def test_a_script_acts_without_a_browsers_headers_and_a_foreign_page_does_not_with_its_token(
    scripts: Browser,
) -> None:
    assert scripts.post("/", headers=_bearer(TOKEN)).json()["ours"] is True
    foreign = {"Origin": "https://evil.example"}
    assert scripts.post("/", headers=_bearer(TOKEN) | foreign).status_code == 403


def test_a_form_carries_the_token_of_who_asks(local: Browser) -> None:
    token = local.get("/").json()["form"]
    assert len(token) == 64
    for posted, ours in {token: True, "": False, token[:-1]: False, "ü": False, token + "x" * 70_000: False}.items():
        assert local.post("/", data={"token": posted}, headers=SAME).json()["ours"] is ours


@pytest.mark.parametrize("body", [b"token", b"token=%ff", b"\xff", b'{"token": 1}'])
def test_what_is_no_form_is_none(scripts: Browser, body: bytes) -> None:
    assert scripts.post("/", content=body, headers=_bearer(TOKEN)).json()["ours"] is False


def test_each_process_has_its_own_forms(local: Browser) -> None:
    other = _client(Login(loopback=ADA))
    token = other.get("/").json()["form"]
    assert local.post("/", data={"token": token}, headers=SAME).json()["ours"] is False


# --- headers ---


def test_every_answer_has_the_headers_also_a_refusal(local: Browser) -> None:
    for answer in (local.get("/"), local.get("/nowhere"), local.get("/", headers={"Host": "evil.example"})):
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_a_page_may_say_otherwise_about_itself(local: Browser) -> None:
    assert local.request("HEAD", "/").headers.get_list("cache-control") == ["max-age=60"]
