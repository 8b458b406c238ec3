"""/healthz and /readyz say yes or no and why; no answer tells how the agent is built."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from gitops_bg.agent.logs import forget_secrets, mask
from gitops_bg.web.server import SECURITY_HEADERS, WebServer
from tests.integration.web.conftest import FakeAgent, connect, until_closed


@pytest.fixture
def token() -> Iterator[str]:
    """A secret that nobody may see."""
    mask("hunter2-token")
    yield "hunter2-token"
    forget_secrets()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/healthz", {"ok": True, "reasons": []}),
        ("/readyz", {"ok": True, "reasons": [], "unmanaged": []}),
    ],
)
def test_yes_without_reasons(http: httpx.Client, path: str, said: object) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.json()) == (200, said)


def test_a_namespace_that_cannot_be_managed_is_told_and_makes_nobody_unready(
    http: httpx.Client, agent: FakeAgent, token: str
) -> None:
    agent.closed_namespaces = [f"namespace pay: list replicasets: 500 {token}"]
    answer = http.get("/readyz")
    assert (answer.status_code, answer.json()["unmanaged"]) == (200, ["namespace pay: list replicasets: 500 ***"])


def test_a_process_that_is_not_alive_says_why(http: httpx.Client, agent: FakeAgent) -> None:
    agent.reasons_not_alive = ["the Git loop has not ticked for 95 s"]
    answer = http.get("/healthz")
    assert answer.status_code == 503
    assert answer.json() == {"ok": False, "reasons": ["the Git loop has not ticked for 95 s"]}
    assert http.get("/readyz").status_code == 200


def test_an_agent_that_is_not_ready_says_why_until_it_is(http: httpx.Client, agent: FakeAgent) -> None:
    agent.reasons_not_ready = ["the cache of Services is not synced", "Git was not seen yet"]
    answer = http.get("/readyz")
    assert (answer.status_code, answer.json()["reasons"]) == (503, agent.reasons_not_ready)
    assert http.get("/healthz").status_code == 200
    agent.reasons_not_ready = []
    assert http.get("/readyz").status_code == 200


def test_reasons_never_show_a_secret(http: httpx.Client, agent: FakeAgent, token: str) -> None:
    agent.reasons_not_ready = [f"git: cannot reach x:{token}@example.org"]
    assert http.get("/readyz").json()["reasons"] == ["git: cannot reach x:***@example.org"]


def test_a_bug_shows_the_client_no_stack_trace_but_the_log_has_it(
    own_server: WebServer, agent: FakeAgent, caplog: pytest.LogCaptureFixture
) -> None:
    agent.breaks = True
    answer = httpx.get(f"{own_server.url}/healthz", trust_env=False)
    own_server.stop()
    assert (answer.status_code, answer.text) == (500, "Internal Server Error")
    assert "secret detail of a bug" in caplog.text


def test_every_answer_carries_the_security_headers(http: httpx.Client, agent: FakeAgent) -> None:
    agent.breaks = True
    answers = [http.get(path) for path in ("/readyz", "/metrics", "/webhook", "/nothing", "/healthz")]
    assert [answer.status_code for answer in answers] == [200, 200, 405, 404, 500]
    for answer in answers:
        assert [(name, answer.headers.get(name)) for name, _ in SECURITY_HEADERS] == SECURITY_HEADERS
        assert "server" not in answer.headers


@pytest.mark.parametrize("path", ["/", "/docs", "/openapi.json", "/healthz/", "/webhook/", "/..%2f..%2fetc/passwd"])
def test_there_is_nothing_else(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.text) == (404, "Not Found")


def test_a_request_that_is_not_http_gets_400(server: WebServer) -> None:
    with connect(server) as connection:
        connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert until_closed(connection).startswith(b"HTTP/1.1 400 ")
