"""The client of a REST API: pages, ETags, redirects, sizes and times, and that nothing is written twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gitops_bg.outbound.http import HttpAnswer, NoResponse
from gitops_bg.outbound.rest import Remembered, RestClient, RestSettings
from tests.support.servers.backend import HANG, TRICKLE, Asked, Backend, Reply, serving

TOKEN = "tok-3f9c-0123456789"


@pytest.fixture
def backend() -> Iterator[Backend]:
    with serving() as server:
        yield server


_CLIENTS: list[RestClient] = []


@pytest.fixture(autouse=True)
def closed_at_the_end() -> Iterator[None]:
    yield
    while _CLIENTS:
        _CLIENTS.pop().close()


def client(backend: Backend, token: str = TOKEN, **settings) -> RestClient:
    made = RestClient(RestSettings(backend.url, **settings), lambda: {"Authorization": f"Bearer {token}"})
    _CLIENTS.append(made)
    return made


def paths(backend: Backend) -> list[str]:
    return [asked.target for asked in backend.asked]


class TestPages:
    def test_links_are_followed_by_their_query_only(self, backend: Backend):
        """Behind a proxy a forge calls itself by another address; a token must not go there."""

        def answer(asked: Asked) -> Reply:
            page = int(asked.query.get("page", "1"))
            link = {"Link": f'<https://elsewhere.test/x?page={page + 1}&per_page=2>; rel="next"'} if page < 3 else {}
            return Reply([page], headers=link)

        backend.answer = answer
        pages = [page.json() for page in client(backend).pages("/list", {"per_page": "2"})]
        assert pages == [[1], [2], [3]]
        assert paths(backend) == ["/list?per_page=2", "/list?per_page=2&page=2", "/list?per_page=2&page=3"]

    def test_a_list_whose_pages_go_round_ends_in_an_error(self, backend: Backend):
        backend.answer = lambda asked: Reply([], headers={"X-Next-Page": "2"})
        with pytest.raises(NoResponse, match="does not end"):
            list(client(backend).pages("/list", {}))
        assert len(backend.asked) == 2

    def test_a_list_without_an_end_is_left(self, backend: Backend):
        backend.answer = lambda asked: Reply([], headers={"X-Next-Page": str(int(asked.query.get("page", "1")) + 1)})
        with pytest.raises(NoResponse, match="does not end"):
            list(client(backend).pages("/list", {}))
        assert len(backend.asked) == 200

    def test_after_an_error_no_page_is_asked_for(self, backend: Backend):
        backend.answer = lambda asked: Reply([], 500, {"X-Next-Page": "2"})
        assert [page.status for page in client(backend).pages("/list", {})] == [500]


class TestRemembering:
    def test_what_did_not_change_is_not_sent_again(self, backend: Backend):
        def answer(asked: Asked) -> Reply:
            if asked.headers.get("if-none-match") == '"a"':
                return Reply(b"", 304, {"x-ratelimit-remaining": "7"})
            return Reply(["data"], headers={"ETag": '"a"', "Link": "<x?page=2>; rel=next"})

        backend.answer = answer
        asking = client(backend)
        first, second = asking.ask("GET", "/list"), asking.ask("GET", "/list")
        assert (second.status, second.body) == (200, first.body)
        assert second.headers["x-ratelimit-remaining"] == "7"
        assert second.headers["link"] == first.headers["link"]

    def test_another_query_is_another_question(self, backend: Backend):
        backend.answer = lambda asked: Reply(["data"], headers={"ETag": '"a"'})
        asking = client(backend)
        asking.ask("GET", "/list", {"page": "1"})
        asking.ask("GET", "/list", {"page": "2"})
        assert "if-none-match" not in backend.asked[1].headers

    def test_errors_are_not_remembered(self, backend: Backend):
        backend.answer = lambda asked: Reply({}, 500, {"ETag": '"a"'})
        asking = client(backend)
        asking.ask("GET", "/list")
        asking.ask("GET", "/list")
        assert "if-none-match" not in backend.asked[1].headers

    def test_only_so_many_and_so_much_is_kept(self):
        kept = Remembered(most=2, most_bytes=10)
        for url, size in (("a", 4), ("b", 4), ("a", 4), ("c", 4)):
            kept.keep(url, HttpAnswer(url, 200, b"x" * size, {"etag": "1"}))
        assert [url for url in "abc" if kept.get(url)] == ["a", "c"]
        kept.keep("d", HttpAnswer("d", 200, b"x" * 11, {"etag": "1"}))
        assert [url for url in "abcd" if kept.get(url)] == []

    def test_an_answer_without_an_etag_takes_the_place_of_one_with(self):
        kept = Remembered()
        kept.keep("a", HttpAnswer("a", 200, b"old", {"etag": "1"}))
        kept.keep("a", HttpAnswer("a", 200, b"new"))
        assert kept.get("a") is None


class TestRedirects:
    def test_a_repository_that_was_renamed_is_read_where_it_is(self, backend: Backend):
        backend.answer = lambda asked: (
            Reply(b"", 301, {"Location": "/repositories/7"}) if asked.path == "/old" else Reply({"name": "new"})
        )
        assert client(backend).ask("GET", "/old").json() == {"name": "new"}
        assert [asked.headers["authorization"] for asked in backend.asked] == [f"Bearer {TOKEN}"] * 2

    def test_a_write_stays_a_write(self, backend: Backend):
        backend.answer = lambda asked: (
            Reply(b"", 307, {"Location": "/new"}) if asked.path == "/old" else Reply({"method": asked.method})
        )
        assert client(backend).ask("POST", "/old", body={"a": 1}).json() == {"method": "POST"}
        assert backend.asked[1].json() == {"a": 1}

    def test_a_write_that_would_become_a_read_is_an_error_with_the_new_address(self, backend: Backend):
        backend.answer = lambda asked: Reply(b"", 301, {"Location": "/new"})
        with pytest.raises(NoResponse, match=r"has moved to .*/new"):
            client(backend).ask("POST", "/old", body={})
        assert paths(backend) == ["/old"]

    def test_another_origin_gets_nothing(self, backend: Backend):
        with serving() as elsewhere:
            backend.answer = lambda asked: Reply(b"", 302, {"Location": f"{elsewhere.url}/steal"})
            with pytest.raises(NoResponse, match="redirects to"):
                client(backend).ask("GET", "/x")
            assert elsewhere.asked == []


class TestBounds:
    @pytest.mark.parametrize("reply", [HANG, TRICKLE], ids=["no answer", "an answer that never ends"])
    def test_a_request_has_an_end_and_a_write_is_sent_once(self, backend: Backend, reply: Reply):
        backend.answer = lambda asked: reply
        with pytest.raises(NoResponse, match="in time"):
            client(backend, timeout=0.3).ask("POST", "/x", body={"a": 1})
        assert paths(backend) == ["/x"]

    def test_an_answer_has_a_largest_size(self, backend: Backend):
        backend.says(b"x" * 2000)
        with pytest.raises(NoResponse, match="more than 1,000 bytes"):
            client(backend, most=1000).ask("GET", "/x")

    def test_a_server_that_is_gone_is_said_without_the_token(self):
        with serving() as backend:
            asking = client(backend)
        with pytest.raises(NoResponse, match="cannot be asked") as error:
            asking.ask("GET", "/x")
        assert TOKEN not in str(error.value)
        assert error.value.__cause__ is None

    def test_a_token_that_cannot_be_sent_is_in_no_text(self, backend: Backend):
        with pytest.raises(NoResponse) as error:
            client(backend, token="tok\n3f9c").ask("GET", "/x")
        assert "3f9c" not in str(error.value)
