"""What goes wrong with a forge, on all three adapters: limits, nonsense, a forge that is down."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitops_bg.core.errors import Transient
from gitops_bg.forge.adapters.rest_forge import RestForge
from gitops_bg.forge.connect import ForgeEndpoint, connect
from gitops_bg.forge.port import ForgeDown, Nonsense, RateLimited
from tests.support.forges.gate import Gate
from tests.support.forges.worlds import PREFIX, draft
from tests.support.servers.backend import Reply, serving

NOW = datetime(2026, 11, 22, 20, tzinfo=UTC)
TOKEN = "tok-3f9c-0123456789"


class Asking:
    """An adapter, and what stands between it and a forge that says that nothing is there."""

    def __init__(self, kind: str, folder: Path, url: str, gate: Gate) -> None:
        self.gate, self.url = gate, url
        (folder / "token").write_text(TOKEN)
        settings = ForgeEndpoint(remote=f"{url}/shop/config", kind=kind, url=url, token_file=folder / "token")
        self.forge: RestForge = connect(settings, lambda: NOW)


@pytest.fixture(params=["github", "gitlab", "gitea"])
def asking(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Asking]:
    with serving() as backend:
        gate = Gate(lambda _: Reply([]))
        backend.answer = gate
        made = Asking(request.param, tmp_path, backend.url, gate)
        yield made
        made.forge.close_connections()


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry_After": "30"}, 30),
        ({"x_ratelimit_remaining": "0", "x_ratelimit_reset": "1795377690"}, 90),
        ({"RateLimit_Remaining": "0", "RateLimit_Reset": "1795377690"}, 90),
    ],
    ids=["retry-after", "x-ratelimit", "ratelimit"],
)
def test_a_limit_is_one_until_a_time(asking: Asking, status: int, headers: dict[str, str], seconds: int):
    asking.gate.instead("GET", "", {"message": "slow down"}, status, **headers)
    with pytest.raises(RateLimited) as error:
        asking.forge.open_pulls(PREFIX)
    assert error.value.until == NOW + timedelta(seconds=seconds)
    assert error.value.retry_after == seconds


def test_a_limit_that_names_no_time_lasts_longer_each_time(asking: Asking):
    words = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}
    asking.gate.instead("GET", "", words, 403, times=2)
    asking.gate.instead("GET", "", b"Retry later", 429)
    forge = asking.forge
    waits = []
    for _ in range(3):
        with pytest.raises(RateLimited) as error:
            forge.open_pulls(PREFIX)
        waits.append(error.value.until - NOW)
    assert waits == [timedelta(minutes=1), timedelta(minutes=2), timedelta(minutes=4)]
    assert forge.open_pulls(PREFIX) == ()


def test_a_limit_in_the_middle_of_a_create_is_not_looked_behind(asking: Asking):
    asking.gate.instead("POST", "", {"message": "slow down"}, 429, Retry_After="30")
    with pytest.raises(RateLimited):
        asking.forge.open(draft())
    assert len(asking.gate.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>Sign in to continue</html>",
        b"",
        b"[1, 2",
        {"message": "hello"},
        [{"number": "one"}],
        [None],
        [[]],
        ["text"],
        7,
        [
            {
                "iid": 1,
                "number": 1,
                "source_project_id": 1,
                "target_project_id": 1,
                "head": {"repo": {"full_name": 4}},
            }
        ],
    ],
)
def test_nonsense_is_an_error_that_names_the_place_and_no_other_one(asking: Asking, answer: object):
    asking.gate.instead("GET", "", answer)
    with pytest.raises(Nonsense, match=asking.url) as error:
        asking.forge.open_pulls(PREFIX)
    assert isinstance(error.value, Transient)


def test_a_forge_that_is_down_is_something_passing(asking: Asking):
    asking.gate.instead("GET", "", b"<html>upstream</html>", 503, Retry_After="7")
    with pytest.raises(ForgeDown) as error:
        asking.forge.open_pulls(PREFIX)
    assert error.value.retry_after == 7


def test_a_redirect_elsewhere_gets_no_token(asking: Asking):
    asking.gate.instead("GET", "", b"", 302, Location="http://127.0.0.1:9/elsewhere")
    with pytest.raises(ForgeDown, match="redirects to") as error:
        asking.forge.open_pulls(PREFIX)
    assert TOKEN not in str(error.value)
