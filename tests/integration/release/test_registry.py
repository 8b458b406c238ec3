"""How a release gets into a registry: what is not known of a tag stops it, and a token is asked for where one is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from deploy.release.oci import Layout, Registry
from tests.support.servers.backend import Asked, Backend, Reply, serving


@pytest.fixture
def backend() -> Iterator[Backend]:
    with serving() as running:
        yield running


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """One artifact: a manifest with its configuration."""
    made = Layout(tmp_path / "oci")
    made.publish_as("charts/gitops-bg:0.1.0", made.add_manifest(made.add(b"{}", "a/b"), [], {}))
    return made


def push(backend: Backend, layout: Layout) -> list[str]:
    with Registry.connect(plain=True, user="ada", secret="hush") as registry:
        return list(registry.push(layout, f"{backend.url.removeprefix('http://')}/tools"))


@pytest.mark.parametrize("status", [401, 403, 500, 503])
def test_where_a_registry_does_not_say_whether_a_tag_is_there_nothing_is_pushed(
    backend: Backend, layout: Layout, status: int
) -> None:
    backend.says(b"", status)
    with pytest.raises(httpx.HTTPStatusError, match=str(status)):
        push(backend, layout)
    assert {asked.method for asked in backend.asked} == {"HEAD"}


def test_a_token_is_asked_for_where_the_registry_says_and_sent_with_all_that_follows(
    backend: Backend, layout: Layout
) -> None:
    said = f'Bearer realm="{backend.url}/token",service="tools",scope="repository:tools/charts/gitops-bg:pull,push"'

    def answer(asked: Asked) -> Reply:
        if asked.path == "/token":
            return Reply({"token": "t-1"})
        if asked.headers.get("authorization") != "Bearer t-1":
            return Reply(status=401, headers={"WWW-Authenticate": said})
        if asked.method == "HEAD":
            return Reply(status=404)
        return Reply(status=201, headers={"Location": "/v2/upload/1"})

    backend.answer = answer
    (name,) = push(backend, layout)
    assert "tools/charts/gitops-bg:0.1.0@sha256:" in name
    (token,) = (asked for asked in backend.asked if asked.path == "/token")
    assert token.query == {"service": "tools", "scope": "repository:tools/charts/gitops-bg:pull,push"}
    assert token.headers["authorization"].startswith("Basic ")
    last = backend.asked[-1]
    assert (last.method, last.path) == ("PUT", "/v2/tools/charts/gitops-bg/manifests/0.1.0")
