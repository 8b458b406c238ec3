"""The client when the API server or the network misbehaves: errors name who must act, and nothing is hidden."""

from __future__ import annotations

import base64
import itertools
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import NotFound, Unauthorized
from gitops_bg.cluster.api.kinds import PODS, SERVICES
from gitops_bg.cluster.api.transport import plain_of
from gitops_bg.core.errors import LostLeadership, Refused, Transient, WorldChanged
from tests.integration.cluster.stub import Asked, Stub, page, stub, thing
from tests.support.cluster.clusters import ControlPlaneCluster
from tests.support.waiting import eventually

Script = Callable[[Asked], None]


def client(of: Stub, **options: float) -> Client:
    return Client(Access(of.kubeconfig, **options))  # type: ignore[arg-type]


def get(of: Stub, **options: float) -> object:
    subject = client(of, **options)
    try:
        return subject.get(SERVICES, "shop", "web")
    finally:
        subject.close()


def test_a_busy_server_is_transient_and_says_when_to_come_back(tmp_path: Path) -> None:
    with stub(tmp_path, lambda asked: asked.refuse(429, "TooManyRequests", "slow down", Retry_After="7")) as server:
        with pytest.raises(Transient, match="slow down") as caught:
            get(server)
        assert caught.value.retry_after == 7
        assert len(server.asked) == 1, "nobody retries behind our back"


def test_a_failing_server_is_transient_and_asked_once(tmp_path: Path) -> None:
    with stub(tmp_path, lambda asked: asked.refuse(500, "InternalError", "etcd is gone")) as server:
        with pytest.raises(Transient, match="etcd is gone"):
            get(server)
        assert len(server.asked) == 1


@pytest.mark.parametrize(("status", "reason"), [(400, "BadRequest"), (403, "Forbidden"), (422, "Invalid")])
def test_a_refusal_keeps_the_words_of_the_server(tmp_path: Path, status: int, reason: str) -> None:
    expected = pytest.raises(Refused, match=f"get Service shop/web: {status} {reason}: because I say so")
    with stub(tmp_path, lambda asked: asked.refuse(status, reason, "because I say so")) as server, expected:
        get(server)


def test_a_conflict_means_that_the_world_changed(tmp_path: Path) -> None:
    expected = pytest.raises(WorldChanged, match="modified")
    with stub(tmp_path, lambda asked: asked.refuse(409, "Conflict", "modified")) as server, expected:
        get(server)


def test_a_server_that_never_answers_times_out_once(tmp_path: Path) -> None:
    def hang(_: Asked) -> None:
        server.released.wait(30)

    with stub(tmp_path, hang) as server:
        with pytest.raises(Transient, match="timed out"):
            get(server, read_timeout=0.2)
        assert len(server.asked) == 1


def test_a_thread_that_waits_for_an_answer_is_told_from_one_that_hangs(tmp_path: Path) -> None:
    def ask() -> None:
        with suppress(Transient):
            subject.get(SERVICES, "shop", "web")

    def hang(_: Asked) -> None:
        server.released.wait(30)

    with stub(tmp_path, hang) as server:
        subject = client(server)
        thread = threading.Thread(target=ask)
        thread.start()
        eventually(lambda: subject.is_asking(thread.ident or 0), what="it waits")
        server.released.set()
        thread.join(20)
        assert not subject.is_asking(thread.ident or 0)
        subject.close()


def test_a_connection_that_breaks_off_is_transient(tmp_path: Path) -> None:
    with stub(tmp_path, lambda asked: asked.hang_up()) as server, pytest.raises(Transient):
        get(server)


def test_nobody_listening_is_transient(tmp_path: Path) -> None:
    with stub(tmp_path, lambda asked: asked.answer({})) as server:
        subject = client(server)
    with pytest.raises(Transient, match="refused"):
        subject.get(SERVICES, "shop", "web")
    subject.close()


def test_fresh_credentials_are_read_once_after_a_401(tmp_path: Path) -> None:
    def script(asked: Asked) -> None:
        if asked.headers["authorization"].endswith("second"):
            asked.answer(thing("web"))
        else:
            server.token.write_text("second")
            asked.refuse(401, "Unauthorized", "expired")

    with stub(tmp_path, script) as server:
        assert get(server) == thing("web")
        assert len(server.asked) == 2


def test_credentials_of_before_are_not_sent_again_after_a_401(tmp_path: Path) -> None:
    """They are kept for a moment, lest every request asks for them; a 401 ends that moment."""

    def script(asked: Asked) -> None:
        if asked.headers["authorization"].endswith(server.token.read_text()):
            asked.answer(thing("web"))
        else:
            asked.refuse(401, "Unauthorized", "expired")

    with stub(tmp_path, script) as server:
        subject = client(server)
        for token in ("second", "third"):
            subject.get(SERVICES, "shop", "web")
            server.token.write_text(token)
        assert subject.get(SERVICES, "shop", "web") == thing("web")
        subject.close()
        said = [asked.headers["authorization"].removeprefix("Bearer ") for asked in server.asked]
    assert said[1:] == [said[0], "second", "second", "third"]


def test_a_second_401_is_a_refusal(tmp_path: Path) -> None:
    with stub(tmp_path, lambda asked: asked.refuse(401, "Unauthorized", "who are you")) as server:
        with pytest.raises(Unauthorized, match="who are you"):
            get(server)
        assert len(server.asked) == 2


WRITES: dict[str, Callable[[Client], object]] = {
    "create": lambda subject: subject.create(SERVICES, thing("web")),
    "apply": lambda subject: subject.apply(SERVICES, thing("web"), force=True),
    "patch": lambda subject: subject.json_patch(SERVICES, "shop", "web", []),
    "merge": lambda subject: subject.merge_patch(SERVICES, "shop", "web", {}),
    "status": lambda subject: subject.save_status(SERVICES, "shop", "web", "1", {}),
    "replace": lambda subject: subject.replace(SERVICES, thing("web")),
    "delete": lambda subject: subject.delete(SERVICES, "shop", "web"),
    "evict": lambda subject: subject.evict(PODS, thing("web")),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_is_not_sent_again_after_a_401_once_the_lease_is_lost(tmp_path: Path, write: str) -> None:
    """The credentials were read anew meanwhile, which takes as long as it takes."""
    lost = threading.Event()

    def script(asked: Asked) -> None:
        lost.set()
        asked.refuse(401, "Unauthorized", "expired")

    def require() -> None:
        if lost.is_set():
            raise LostLeadership("lost")

    with stub(tmp_path, script) as server:
        subject = Client(Access(server.kubeconfig), may_write=require)
        with pytest.raises(LostLeadership):
            WRITES[write](subject)
        assert len(server.asked) == 1
        with pytest.raises(LostLeadership):
            WRITES[write](subject)
        assert len(server.asked) == 1, "nor is another one"
        with pytest.raises(Unauthorized):
            subject.get(SERVICES, "shop", "web")
        subject.close()


def test_a_token_file_that_is_missing_for_a_moment_is_no_crash(tmp_path: Path) -> None:
    def script(asked: Asked) -> None:
        server.token.unlink(missing_ok=True)
        asked.refuse(401, "Unauthorized", "expired")

    with stub(tmp_path, script) as server, pytest.raises((Transient, Refused)):
        get(server)


def test_a_kubeconfig_that_is_not_there_is_a_refusal(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="kubeconfig"):
        Client(Access(tmp_path / "none"))


def test_absent_is_none_but_an_unknown_kind_is_an_error(tmp_path: Path) -> None:
    with stub(tmp_path, lambda asked: asked.refuse(404, "NotFound", "services web not found")) as server:
        assert get(server) is None
    with stub(tmp_path, lambda asked: asked.answer({"paths": []}, 404)) as server, pytest.raises(NotFound):
        get(server)


def test_an_answer_that_is_not_json_is_transient(tmp_path: Path) -> None:
    def script(asked: Asked) -> None:
        asked._handler.send_response(200)
        asked._handler.send_header("Content-Length", "6")
        asked._handler.end_headers()
        asked._handler.wfile.write(b"<html>")

    with stub(tmp_path, script) as server, pytest.raises(Transient, match="not JSON"):
        get(server)


def test_connections_are_kept_and_the_agent_says_who_it_is(tmp_path: Path) -> None:
    with stub(tmp_path, lambda asked: asked.answer(page())) as server:
        subject = client(server)
        for _ in range(5):
            subject.list(SERVICES)
        subject.close()
        assert len({asked._handler.client_address for asked in server.asked}) == 1
        assert server.asked[0].headers["User-Agent"].startswith("gitops-bg/")


def plain(of: Stub, **options: float) -> Client:
    """A client that does without the library."""
    content = json.loads(of.kubeconfig.read_text())
    content["users"][0]["user"] = {"token": "first"}
    of.kubeconfig.write_text(json.dumps(content))
    return Client(Access(of.kubeconfig, plain_first=True, **options))  # type: ignore[arg-type]


def on_the_wire(folder: Path, make: Callable[[Stub], Client]) -> list[object]:
    """What the server is sent by a read and by every write."""
    told = ("authorization", "accept", "content-type", "user-agent")
    with stub(folder, lambda asked: asked.answer(thing("web"))) as server:
        subject = make(server)
        for call in (lambda one: one.get(SERVICES, "shop", "web"), *WRITES.values()):
            call(subject)
        subject.close()
        headers = [{name.lower(): value for name, value in each.headers.items()} for each in server.asked]
        return [
            (each.method, each.path, each.query, each.body, [of.get(name) for name in told])
            for each, of in zip(server.asked, headers, strict=True)
        ]


def test_without_the_library_the_same_goes_over_the_wire(tmp_path: Path) -> None:
    sent = on_the_wire(tmp_path, plain)
    assert len(sent) == 1 + len(WRITES)
    assert sent == on_the_wire(tmp_path, client)


@pytest.mark.parametrize("make", [client, plain], ids=["library", "plain"])
def test_neither_way_waits_or_asks_twice(tmp_path: Path, make: Callable[..., Client]) -> None:
    with stub(tmp_path, lambda asked: asked.refuse(503, "ServiceUnavailable", "later")) as server:
        subject = make(server)
        with pytest.raises(Transient, match="later"):
            subject.get(SERVICES, "shop", "web")
        subject.close()
        assert len(server.asked) == 1


def test_pages_follow_each_other(tmp_path: Path) -> None:
    pages = itertools.count(1)

    def script(asked: Asked) -> None:
        number = next(pages)
        asked.answer(page(f"n{number}", token="more" if number < 3 else ""))

    with stub(tmp_path, script) as server:
        subject = client(server)
        assert [each["metadata"]["name"] for each in subject.list(SERVICES, "shop", "a=b")] == ["n1", "n2", "n3"]
        subject.close()
        assert [asked.query.get("continue") for asked in server.asked] == [None, "more", "more"]
        assert {asked.query["labelSelector"] for asked in server.asked} == {"a=b"}


@pytest.mark.control_plane
def test_a_client_certificate_says_who_we_are_without_the_library(
    control_plane_cluster: ControlPlaneCluster, tmp_path: Path
) -> None:
    """Over TLS, which the API server of the control plane alone speaks; both as files and written in the kubeconfig."""
    file = control_plane_cluster.control_plane.user("ada", ("system:masters",))
    content = yaml.safe_load(file.read_text())
    user = content["users"][0]["user"]
    for name in ("client-certificate", "client-key"):
        user[f"{name}-data"] = base64.b64encode(Path(user.pop(name)).read_bytes()).decode()
    written = tmp_path / "written"
    written.write_text(yaml.safe_dump(content))
    for each in (file, written):
        access = Access(each, plain_first=True)
        assert plain_of(access) is not None
        subject = Client(access)
        assert subject.list(SERVICES, "default")
        subject.close()
