"""The access matrix: role × namespace × action, with a token, a session, neither, and from a page of another site; over
every path that there is. A path without a row fails.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

from gitops_bg.agent.runtime.schedule import utc_now
from gitops_bg.spec.access import AccessRule
from gitops_bg.web.access.guard import Guard, login_from
from gitops_bg.web.access.oidc import SESSION_COOKIE, Session
from gitops_bg.web.access.person import Access, Person, Role, Via
from gitops_bg.web.dashboard.action_table import ACTIONS, OF_GROUPS
from gitops_bg.web.dashboard.app import dashboard
from gitops_bg.web.dashboard.source import Source
from tests.integration.dashboard.shop import Shop
from tests.integration.web.access.conftest import Browser

HERE = "https://bg.example.com"
SAME, FOREIGN = {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
JSON = {"Accept": "application/json"}

RULES = (
    AccessRule(Role.VIEWER, ("staff",), ("shop",)),
    AccessRule(Role.OPERATOR, ("operators",), ("shop",)),
    AccessRule(Role.APPROVER, ("approvers",), ("shop",)),
    AccessRule(Role.ADMIN, ("admins",), ("shop",)),
    AccessRule(Role.OPERATOR, ("others",), ("pay",)),
)
ROLES = {
    "staff": {Role.VIEWER},
    "operators": {Role.VIEWER, Role.OPERATOR},
    "approvers": {Role.VIEWER, Role.APPROVER},
    "admins": set(Role),
    "others": set[Role](),
    "nobody": set[Role](),
}
"""What each group has in the namespace of the shop."""

PAGE, OF_ALL, LOGIN, LOGOUT, STREAM, STATIC = "a page of an app or group", "a page", "login", "logout", "stream", "file"
ROWS: dict[str, str | Role] = {
    "/": OF_ALL,
    "/policies": OF_ALL,
    "/fleet": OF_ALL,
    "/environments": OF_ALL,
    "/wall": OF_ALL,
    "/me": OF_ALL,
    "/api/v1/apps": OF_ALL,
    "/api/v1/fleet": OF_ALL,
    "/api/v1/openapi.json": OF_ALL,
    "/api/v1/apps/{namespace}/{app}": PAGE,
    "/api/v1/apps/{namespace}/{app}/history": PAGE,
    "/api/v1/apps/{namespace}/{app}/compare": PAGE,
    "/apps/{namespace}/{app}/compare": PAGE,
    "/api/v1/events": STREAM,
    "/api/v1/groups/{namespace}/{group}": PAGE,
    "/api/v1/groups/{namespace}/{group}/history": PAGE,
    "/apps/{namespace}/{app}": PAGE,
    "/apps/{namespace}/{app}/history": PAGE,
    "/apps/{namespace}/{app}/history/{commit}": PAGE,
    "/groups/{namespace}/{group}": PAGE,
    "/groups/{namespace}/{group}/history": PAGE,
    "/groups/{namespace}/{group}/history/{commit}": PAGE,
    "/apps/{namespace}/{app}/promote": Role.OPERATOR,
    "/apps/{namespace}/{app}/rollback": Role.OPERATOR,
    "/apps/{namespace}/{app}/abort": Role.OPERATOR,
    "/apps/{namespace}/{app}/retry": Role.OPERATOR,
    "/apps/{namespace}/{app}/suspend": Role.OPERATOR,
    "/apps/{namespace}/{app}/resume": Role.OPERATOR,
    "/apps/{namespace}/{app}/open-gate": Role.APPROVER,
    "/apps/{namespace}/{app}/close-gate": Role.APPROVER,
    "/apps/{namespace}/{app}/approve": Role.APPROVER,
    "/apps/{namespace}/{app}/withdraw-approval": Role.APPROVER,
    "/groups/{namespace}/{group}/promote": Role.OPERATOR,
    "/groups/{namespace}/{group}/rollback": Role.OPERATOR,
    "/groups/{namespace}/{group}/abort": Role.OPERATOR,
    "/groups/{namespace}/{group}/retry": Role.OPERATOR,
    "/groups/{namespace}/{group}/suspend": Role.OPERATOR,
    "/groups/{namespace}/{group}/resume": Role.OPERATOR,
    "/groups/{namespace}/{group}/open-gate": Role.APPROVER,
    "/groups/{namespace}/{group}/close-gate": Role.APPROVER,
    "/groups/{namespace}/{group}/approve": Role.APPROVER,
    "/groups/{namespace}/{group}/withdraw-approval": Role.APPROVER,
    "/login": LOGIN,
    "/login/callback": LOGIN,
    "/logout": LOGOUT,
    "/events": STREAM,
    "/static/{name}": STATIC,
}
"""Who may ask for a path: of an action, the role that it needs."""


class Ruled(Source):
    """What the agent knows, under the rules of this test."""

    def access(self) -> Access:
        return Access(RULES)


class Matrix:
    """The dashboard, and everybody who may ask it."""

    def __init__(self, shop: Shop, folder: Path) -> None:
        agent = shop.world.agent
        assert agent is not None
        tokens = "".join(
            f"  - {{name: {group}, sha256: {hashlib.sha256(group.encode()).hexdigest()}, groups: [{group}]}}\n"
            for group in ROLES
        )
        head = "apiVersion: gitops-bg.dev/v1alpha1\nkind: DashboardLogin\n"
        oidc = "oidc: {issuer: 'https://id.example.com', clientId: x}\n"
        (folder / "login.yaml").write_text(f"{head}{oidc}tokens:\n{tokens}")
        self._login = login_from(folder / "login.yaml", HERE, utc_now)
        self.app: Guard = dashboard(Ruled(agent), self._login)
        self.head = agent.catalog.commit
        self.shop = shop

    @property
    def routes(self) -> dict[str, Route]:
        inner = self.app._app
        assert isinstance(inner, Starlette)
        return {route.path: route for route in inner.routes if isinstance(route, Route)}

    def stranger(self) -> Browser:
        return Browser(self.app, HERE)

    def with_session(self, group: str) -> Browser:
        """Somebody of a group who has logged in; the provider is not asked here."""
        person = Person(group, f"{group}@example.com", f"https://id.example.com#{group}", frozenset([group]), Via.OIDC)
        browser = self.stranger()
        assert self._login.oidc is not None
        name = self._login.oidc._sessions.add(Session(person, ""))
        browser.cookies.set(SESSION_COOKIE, name, domain="bg.example.com")
        return browser


@pytest.fixture(scope="module")
def matrix(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    return Matrix(shop, tmp_path_factory.mktemp("matrix"))


def at(path: str, namespace: str = "shop", name: str = "web") -> str:
    asked = "?from=1&to=2" if path.endswith("/compare") else ""
    return path.format(namespace=namespace, app=name, group=name, commit="0" * 40, name="style.css") + asked


def bearer(group: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {group}", **JSON}


def form_of(browser: Browser) -> str:
    found = re.search(r'name="token" value="([0-9a-f]{64})"', browser.get("/me", headers={"Accept": "text/html"}).text)
    assert found is not None
    return found[1]


def test_every_path_has_a_row_and_every_action_its_role(matrix: Matrix) -> None:
    assert matrix.routes.keys() == ROWS.keys()
    of_actions = {f"/apps/{{namespace}}/{{app}}/{action.command}": action.role for action in ACTIONS.values()}
    of_groups = {f"/groups/{{namespace}}/{{group}}/{action.command}": action.role for action in OF_GROUPS.values()}
    assert {path: row for path, row in ROWS.items() if isinstance(row, Role)} == of_actions | of_groups


@pytest.mark.parametrize("path", ROWS)
def test_nobody_without_a_login_gets_anything_but_the_way_in(matrix: Matrix, path: str) -> None:
    browser, wrong = matrix.stranger(), {"Authorization": "Bearer wrong", **JSON}
    browser.cookies.set(SESSION_COOKIE, "guessed", domain="bg.example.com")
    is_open = ROWS[path] in (LOGIN, STATIC)
    for method, headers in itertools.product(("GET", "POST", "DELETE", "HEAD"), (JSON, wrong, JSON | FOREIGN)):
        if path == "/login" and method == "GET":
            continue  # It asks the provider.
        status = browser.request(method, at(path), headers=headers).status_code
        assert (status != 401) is is_open, (method, headers)


@pytest.mark.parametrize("group", ROLES)
@pytest.mark.parametrize("path", [path for path, row in ROWS.items() if row == PAGE])
def test_pages_of_an_app_are_for_who_sees_its_namespace(matrix: Matrix, path: str, group: str) -> None:
    sees = Role.VIEWER in ROLES[group]
    for browser, headers in ((matrix.stranger(), bearer(group)), (matrix.with_session(group), JSON)):
        answer = browser.get(at(path), headers=headers)
        if "{group}" not in path and "{commit}" not in path:
            assert answer.status_code == (200 if sees else 404)
        if not sees:
            assert answer.status_code == 404
            assert "1.4.0" not in answer.text, "nor does the refusal say anything of it"
            missing = browser.get(at(path, name="no-such-app"), headers=headers)
            assert missing.status_code == 404


@pytest.mark.parametrize("group", ROLES)
@pytest.mark.parametrize("path", [path for path, row in ROWS.items() if row == OF_ALL])
def test_other_pages_show_of_apps_what_one_may_see(matrix: Matrix, path: str, group: str) -> None:
    for browser, headers in ((matrix.stranger(), bearer(group)), (matrix.with_session(group), JSON)):
        answer = browser.get(path, headers=headers)
        assert answer.status_code == 200
        if Role.VIEWER not in ROLES[group]:
            assert not re.search(r"catalog|payments|1\.4\.0", answer.text), path


@pytest.mark.parametrize("group", ROLES)
@pytest.mark.parametrize("path", [path for path, row in ROWS.items() if isinstance(row, Role)])
def test_actions_are_for_who_has_the_role_there(
    matrix: Matrix, path: str, group: str, caplog: pytest.LogCaptureFixture
) -> None:
    role, roles = ROWS[path], ROLES[group]
    assert isinstance(role, Role)
    refused = 0 if role in roles else 403 if Role.VIEWER in roles else 404
    script, person = matrix.stranger(), matrix.with_session(group)
    token = form_of(person)
    before = matrix.shop.world.remote.head()
    asked = [
        script.get(at(path), headers=bearer(group)),
        script.post(at(path), headers=bearer(group)),
        person.get(at(path), headers=JSON),
        person.post(at(path), data={"token": token}, headers=JSON | SAME),
    ]
    for answer in asked:
        assert (answer.status_code == refused) if refused else answer.status_code in (200, 404, 409), answer.text
        assert refused or "may not do that" not in answer.text
    elsewhere = person.post(at(path, "pay"), data={"token": token, "sure": "yes", "reason": "x"}, headers=JSON | SAME)
    is_operator_there = group == "others" and role is not Role.OPERATOR
    assert elsewhere.status_code == (403 if is_operator_there else 404)
    sure = {"sure": "yes", "reason": "x", "head": matrix.head}
    caplog.clear()
    never = [
        person.post(at(path), data=sure, headers=JSON | SAME),
        person.post(at(path), data=sure | {"token": form_of(matrix.with_session(group))}, headers=JSON | SAME),
        person.post(at(path), data=sure | {"token": token}, headers=JSON),
        person.post(at(path), data=sure | {"token": token}, headers=JSON | FOREIGN),
        script.post(at(path), data=sure, headers=bearer(group) | FOREIGN),
    ]
    for answer in never:
        assert answer.status_code == (404 if refused == 404 and answer in never[:2] else 403), answer.text
    assert [each.getMessage()[:9] for each in caplog.records].count("refused o") == len(never), "each is in the log"
    if refused:
        done = [
            script.post(at(path), data=sure, headers=bearer(group)),
            person.post(at(path), data=sure | {"token": token}, headers=JSON | SAME),
        ]
        assert {answer.status_code for answer in done} == {refused}
    assert matrix.shop.world.remote.head() == before, "nothing was done"


@pytest.mark.parametrize("form", [{"override": "night-rest"}, {"override.night-rest": "yes"}], ids=["script", "page"])
@pytest.mark.parametrize("group", ["operators", "admins"])
def test_an_override_is_for_admins(matrix: Matrix, group: str, form: dict[str, str]) -> None:
    form = {**form, "reason": "INC-1"}
    answer = matrix.stranger().post("/apps/shop/web/promote", data=form, headers=bearer(group))
    if group == "operators":
        assert (answer.status_code, "needs the role admin" in answer.text) == (403, True)
    else:
        assert "night-rest has no override" in answer.text, "the policy decides"


def test_an_open_page_carries_the_forms_of_its_own_session(matrix: Matrix) -> None:
    """What is drawn once for all who look at a page is not drawn for another session of the same person."""
    events: Any = getattr(matrix.routes["/events"].endpoint, "__self__")  # noqa: B009 - a bound method
    person = Person("Ada", "ada@example.com", "https://id.example.com#ada", frozenset(["operators"]), Via.OIDC)
    for token in ("a" * 64, "b" * 64) * 10:  # as the shop changes meanwhile, not each of them finds what was drawn
        state = {"person": person, "access": Access(RULES), "form_token": token, "reading_only": "", "forge_token": ""}
        asked = {"type": "http", "method": "GET", "scheme": "https", "server": ("bg.example.com", 443), "headers": []}
        path = {"path": "/apps/shop/web", "query_string": b"", "path_params": {"namespace": "shop", "app": "web"}}
        plan = events._draw(Request({**asked, **path, "state": state}), events._pages.app)
        drawn = asyncio.run(events._made(plan)).data
        assert b'name="token" value="%b"' % events._token in drawn
        assert token.encode() not in drawn


def test_buttons_are_drawn_for_who_may_press_them(matrix: Matrix) -> None:
    for group, roles in ROLES.items():
        if Role.VIEWER in roles:
            page = matrix.with_session(group).get("/apps/shop/web", headers={"Accept": "text/html"}).text
            assert ('action="/apps/shop/web/promote"' in page) is (Role.OPERATOR in roles)


@pytest.mark.parametrize("path", [path for path, row in ROWS.items() if row in (PAGE, OF_ALL, STREAM, STATIC)])
def test_pages_change_nothing_and_take_no_other_method(matrix: Matrix, path: str) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        answer = matrix.stranger().request(method, at(path), headers=bearer("admins"))
        assert answer.status_code == 405, method
