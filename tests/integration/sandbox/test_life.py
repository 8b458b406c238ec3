"""A sandbox starts, stops and leaves nothing behind."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import urllib3

from gitops_bg.sandbox import Sandbox
from tests.integration.sandbox.conftest import CONFIG_MAPS, REPLICA_SETS, Client, replica_set
from tests.support.waiting import eventually


@pytest.fixture
def others() -> set[threading.Thread]:
    """Threads of sandboxes that other tests of this process keep."""
    return set(threading.enumerate())


def own_threads(others: set[threading.Thread]) -> list[str]:
    return [thread.name for thread in set(threading.enumerate()) - others if thread.name.startswith("sandbox-")]


def test_stopping_ends_watches_threads_and_ports_within_a_second(others: set[threading.Thread]) -> None:
    sandbox = Sandbox(ready_after=0).start()
    sandbox.create_namespace("shop")
    port = urlsplit(sandbox.url).port
    assert port
    api = Client(sandbox)
    watch = threading.Thread(target=lambda: list(api.watch(f"{CONFIG_MAPS}?watch=1")))
    watch.start()
    urllib3.request("GET", sandbox.url + "/version", retries=False)
    sandbox.service_url("shop", "web")
    eventually(lambda: sandbox.requests.count("watch") == 1, what="the watch is open")
    begin = time.monotonic()
    sandbox.stop()
    assert time.monotonic() - begin < 1
    watch.join(5)
    assert own_threads(others) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    api.pool.clear()


def test_stopping_does_not_wait_for_a_delayed_answer(others: set[threading.Thread]) -> None:
    sandbox = Sandbox().start()
    arrived = threading.Event()
    sandbox.faults.before(lambda _: arrived.set())
    sandbox.faults.delay(30)
    url = sandbox.url + "/version"
    asking = threading.Thread(target=lambda: urllib3.request("GET", url, retries=False))
    asking.start()
    assert arrived.wait(5)
    begin = time.monotonic()
    sandbox.stop()
    asking.join(5)
    assert time.monotonic() - begin < 1
    assert own_threads(others) == []


def test_the_number_of_threads_does_not_depend_on_the_number_of_objects(
    others: set[threading.Thread], sandbox: Sandbox, api: Client
) -> None:
    api("POST", REPLICA_SETS, replica_set("a", replicas=200))
    eventually(lambda: len(sandbox.objects("v1", "Pod", "shop")) == 200, what="200 pods")
    assert len(own_threads(others)) <= 4


def test_the_kubeconfig_points_to_the_sandbox(sandbox: Sandbox, tmp_path: Path) -> None:
    config = json.loads(sandbox.kubeconfig(tmp_path / "config").read_text())
    assert config["clusters"][0]["cluster"]["server"] == sandbox.url
    assert config["current-context"] == "sandbox"


def test_objects_are_copies(sandbox: Sandbox) -> None:
    sandbox.objects("v1", "Namespace")[0]["metadata"]["name"] = "changed"
    assert "changed" not in [obj["metadata"]["name"] for obj in sandbox.objects("v1", "Namespace")]


def test_an_unknown_kind_is_an_error_that_names_it(sandbox: Sandbox) -> None:
    with pytest.raises(LookupError, match=r"no Gadget in demo\.dev/v1"):
        sandbox.objects("demo.dev/v1", "Gadget")


def test_a_sandbox_that_is_restarted_keeps_its_objects() -> None:
    sandbox = Sandbox()
    with sandbox:
        sandbox.create_namespace("shop")
    with sandbox:
        assert "shop" in [obj["metadata"]["name"] for obj in sandbox.objects("v1", "Namespace")]
