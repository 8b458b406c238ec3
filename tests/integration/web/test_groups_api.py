"""Who may use /api/v1/groups: whoever has the agent's token; nobody where it has none."""

from __future__ import annotations

import httpx
import pytest

from gitops_bg.web.app import application
from gitops_bg.web.server import WebServer
from tests.integration.web.conftest import FakeAgent

TOKEN = "correct horse"
ASKED = [("GET", "/versions"), ("POST", "/promote/v2"), ("POST", "/rollback"), ("DELETE", "/versions/v2")]


@pytest.mark.parametrize(("method", "path"), ASKED)
@pytest.mark.parametrize(("configured", "given", "status"), [(None, TOKEN, 403), ("", "x", 403), (TOKEN, "x", 401)])
def test_nobody_is_heard_without_the_token(
    method: str, path: str, configured: str | None, given: str, status: int
) -> None:
    agent = FakeAgent()
    agent.api_token = None if configured is None else configured.encode()
    with WebServer(application(agent), port=0) as server, httpx.Client(base_url=server.url) as client:
        url = f"/api/v1/groups/shop/store{path}"
        for headers in ({"Authorization": f"Bearer {given}"}, {"Authorization": given}, {}):
            assert client.request(method, url, headers=headers).status_code == status
