"""How much of an answer is shown: bounded whatever it is, with secrets hidden before it is cut."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_bg.outbound.http import MeasuringFailed, Poster, PostFailed, Trust
from gitops_bg.outbound.secrets import LONGEST, quoted, status_line, words_in_json, words_in_text, words_of
from tests.support.servers.banner import speaking

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["error", "message", "a"]), inner),
)


@given(st.text())
def test_what_is_quoted_is_one_printable_line(text: str) -> None:
    line = quoted(text)
    assert len(line) <= LONGEST
    assert line.isprintable()


@given(JSON)
def test_any_json_has_words_or_none(value: Any) -> None:
    assert isinstance(words_of(value), str)
    body = json.dumps(value).encode()
    assert words_in_text("application/json", body) == words_in_json("application/json", body)


@given(st.sampled_from(["", "text/plain", "text/html", "application/json", "application/xml"]), st.binary())
def test_any_body_has_words_or_none(kind: str, body: bytes) -> None:
    assert words_in_json(kind, body) == "" or kind == "application/json"
    assert words_in_text(kind, body) == "" or kind != "application/xml"


def test_a_secret_is_hidden_before_words_are_cut() -> None:
    error = MeasuringFailed("https://x answered 401", "x" * (LONGEST - 8) + "s3cr3t-t0ken")
    assert "s3cr" not in error.shown(lambda text: text.replace("s3cr3t-t0ken", "***"))


@pytest.mark.parametrize("value", ["hunter2", ["hunter2"], {"data": {"error": "hunter2"}}, {"password": "hunter2"}, 7])
def test_only_fields_of_an_error_are_quoted(value: Any) -> None:
    assert words_of(value) == ""


@pytest.mark.parametrize("status", [0, 99, 200, 418, 599, 999])
def test_a_status_has_a_phrase_of_ours_or_none(status: int) -> None:
    assert status_line(status).startswith(str(status))


def test_a_proxy_that_refuses_is_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reason phrase is a text like any other."""

    async def post(proxy: str) -> None:
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        poster = Poster()
        try:
            await poster.post("https://shop.invalid/", [], b"", trust=Trust(), most=10)
        finally:
            await poster.close()

    with speaking(b"HTTP/1.1 405 hunter2\r\n\r\n") as url, pytest.raises(PostFailed) as refused:
        asyncio.run(asyncio.wait_for(post(url), 10))
    assert str(refused.value) == "ProxyError: the proxy answered 405 Method Not Allowed"
