"""Services carry real HTTP to the pods that are ready."""

from __future__ import annotations

import http.client
import json
from collections import Counter
from threading import Event, Thread
from urllib.parse import urlsplit

import pytest
import urllib3

from gitops_bg.sandbox import Sandbox
from tests.integration.sandbox.conftest import (
    CONFIG_MAPS,
    JSON_PATCH,
    MERGE,
    PODS,
    REPLICA_SETS,
    SERVICES,
    Client,
    Json,
    config_map,
    ready_replicas,
    replica_set,
    service,
)  # fmt: skip
from tests.support.waiting import eventually


def run(sandbox: Sandbox, api: Client, name: str, image: str = "web:1", replicas: int = 1) -> None:
    """Create a ReplicaSet and wait until its pods are ready."""
    assert api("POST", REPLICA_SETS, replica_set(name, image, replicas))[0] == 201
    eventually(lambda: ready_replicas(sandbox, name) == replicas, what=f"{name} is ready")


def scale(api: Client, name: str, replicas: int) -> None:
    assert api("PATCH", f"{REPLICA_SETS}/{name}/scale", {"spec": {"replicas": replicas}}, MERGE)[0] == 200


def ask(url: str) -> Json:
    """Ask once, on a connection of its own."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=5)
    try:
        connection.request("GET", "/", headers={"Connection": "close"})
        answer: Json = json.loads(connection.getresponse().read())
        return answer
    finally:
        connection.close()


def answers(url: str) -> str:
    """Which version answers a new connection; empty where nobody does."""
    try:
        return str(ask(url)["labels"]["version"])
    except (http.client.RemoteDisconnected, ConnectionResetError):
        return ""


class Load:
    """Users who ask without pause, and what they got."""

    def __init__(self, url: str, users: int = 3) -> None:
        self.answers: Counter[str] = Counter()
        self.failures: list[str] = []
        self._url, self._stop = url, Event()
        self._users = [Thread(target=self._ask) for _ in range(users)]

    def __enter__(self) -> Load:
        for user in self._users:
            user.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for user in self._users:
            user.join()

    def _ask(self) -> None:
        with urllib3.PoolManager(retries=False) as pool:
            while not self._stop.is_set():
                try:
                    answer = json.loads(pool.request("GET", self._url, timeout=5).data)
                    self.answers[answer["labels"]["version"]] += 1
                except (urllib3.exceptions.HTTPError, ValueError) as error:
                    self.failures.append(repr(error))


def test_a_pod_says_who_it_is(sandbox: Sandbox, api: Client) -> None:
    run(sandbox, api, "a", "registry.test/web:1.2")
    api("POST", SERVICES, service("web", "a"))
    answer = ask(sandbox.service_url("shop", "web"))
    assert (answer["image"], answer["labels"]) == ("registry.test/web:1.2", {"version": "a"})


def test_a_pod_says_what_it_was_configured_with_but_no_secret(sandbox: Sandbox, api: Client) -> None:
    api("POST", CONFIG_MAPS, config_map("web", MESSAGE="hello", COLOR="blue"))
    api("POST", "/api/v1/namespaces/shop/secrets", {"metadata": {"name": "web"}, "stringData": {"TOKEN": "hush"}})
    body = replica_set("a")
    body["spec"]["template"]["spec"]["containers"][0] |= {
        "envFrom": [{"configMapRef": {"name": "web"}, "prefix": "WEB_"}, {"secretRef": {"name": "web"}}],
        "env": [
            {"name": "GREETING", "valueFrom": {"configMapKeyRef": {"name": "web", "key": "MESSAGE"}}},
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "web", "key": "TOKEN"}}},
            {"name": "PLAIN", "value": "text"},
        ],
    }
    api("POST", REPLICA_SETS, body)
    eventually(lambda: ready_replicas(sandbox, "a") == 1, what="it is ready")
    api("POST", SERVICES, service("web", "a"))
    expected = {"WEB_MESSAGE": "hello", "WEB_COLOR": "blue", "GREETING": "hello", "PLAIN": "text"}
    assert ask(sandbox.service_url("shop", "web"))["env"] == expected
    api("PATCH", f"{CONFIG_MAPS}/web", {"data": {"MESSAGE": "another"}}, MERGE)
    assert ask(sandbox.service_url("shop", "web"))["env"] == expected, "a running container keeps its variables"


def test_new_connections_are_spread_over_the_ready_pods(sandbox: Sandbox, api: Client) -> None:
    run(sandbox, api, "a", replicas=3)
    api("POST", SERVICES, service("web", "a"))
    url = sandbox.service_url("shop", "web")
    assert len({ask(url)["pod"] for _ in range(6)}) == 3


def test_a_switch_of_the_selector_moves_new_connections_at_once(sandbox: Sandbox, api: Client) -> None:
    run(sandbox, api, "a")
    run(sandbox, api, "b", "web:2")
    api("POST", SERVICES, service("web", "a"))
    url = sandbox.service_url("shop", "web")
    assert ask(url)["labels"] == {"version": "a"}
    change = [
        {"op": "test", "path": "/spec/selector/version", "value": "a"},
        {"op": "replace", "path": "/spec/selector/version", "value": "b"},
    ]
    assert api("PATCH", f"{SERVICES}/web", change, JSON_PATCH)[0] == 200
    assert ask(url)["labels"] == {"version": "b"}


def test_a_kept_connection_stays_with_its_pod_after_a_switch(sandbox: Sandbox, api: Client) -> None:
    run(sandbox, api, "a")
    run(sandbox, api, "b")
    api("POST", SERVICES, service("web", "a"))
    with urllib3.HTTPConnectionPool("127.0.0.1", urlsplit(sandbox.service_url("shop", "web")).port) as pool:
        assert pool.request("GET", "/").json()["labels"] == {"version": "a"}
        api("PATCH", f"{SERVICES}/web", {"spec": {"selector": {"version": "b"}}}, MERGE)
        assert pool.request("GET", "/").json()["labels"] == {"version": "a"}


def test_nodes_that_are_late_route_to_the_pods_of_before() -> None:
    with Sandbox(ready_after=0.0, route_delay=0.5) as sandbox:
        sandbox.create_namespace("shop")
        api = Client(sandbox)
        run(sandbox, api, "a")
        run(sandbox, api, "b")
        api("POST", SERVICES, service("web", "a"))
        url = sandbox.service_url("shop", "web")
        eventually(lambda: answers(url) == "a", what="the nodes know of the Service")
        api("PATCH", f"{SERVICES}/web", {"spec": {"selector": {"version": "b"}}}, MERGE)
        assert answers(url) == "a"
        scale(api, "a", 0)
        eventually(lambda: answers(url) == "", what="a's pod takes no connection any more, and the nodes do not know")
        eventually(lambda: answers(url) == "b", what="the nodes know of the switch")
        api.pool.clear()


def test_no_request_fails_while_pods_come_and_go(sandbox: Sandbox, api: Client) -> None:
    run(sandbox, api, "a", replicas=3)
    api("POST", SERVICES, service("web", "a"))
    with Load(sandbox.service_url("shop", "web")) as load:
        for replicas in (1, 4, 2):
            scale(api, "a", replicas)
            eventually(lambda n=replicas: len(sandbox.objects("v1", "Pod", "shop")) == n, what="pods have gone")
    assert load.failures == []
    assert load.answers["a"] > 0


def test_no_request_fails_and_none_goes_back_during_a_switch(sandbox: Sandbox, api: Client) -> None:
    run(sandbox, api, "a", replicas=2)
    run(sandbox, api, "b", replicas=2)
    api("POST", SERVICES, service("web", "a"))
    url = sandbox.service_url("shop", "web")
    with Load(url) as load:
        eventually(lambda: load.answers["a"] > 20, what="users are served by a")
        api("PATCH", f"{SERVICES}/web", {"spec": {"selector": {"version": "b"}}}, MERGE)
        scale(api, "a", 0)
        eventually(lambda: len(sandbox.objects("v1", "Pod", "shop")) == 2, what="a's pods have gone")
        eventually(lambda: load.answers["b"] > 20, what="users are served by b, and know the last answers of a")
        before = load.answers["a"]
        eventually(lambda: load.answers["b"] > 40, what="users are served by b on and on")
        assert load.answers["a"] == before
    assert load.failures == []


def test_a_service_without_a_ready_pod_closes_the_connection(sandbox: Sandbox, api: Client) -> None:
    run(sandbox, api, "a")
    api("POST", SERVICES, service("web", "a"))
    sandbox.kubelet.set_ready("shop", "version=a", False)
    eventually(lambda: ready_replicas(sandbox, "a") == 0, what="the pod is unready")
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        ask(sandbox.service_url("shop", "web"))
    sandbox.kubelet.set_ready("shop", "version=a", True)
    eventually(lambda: ready_replicas(sandbox, "a") == 1, what="the pod is ready again")
    assert ask(sandbox.service_url("shop", "web"))["labels"] == {"version": "a"}


def test_an_image_with_an_error_tag_answers_500(sandbox: Sandbox, api: Client) -> None:
    run(sandbox, api, "a", "web:error-1")
    api("POST", SERVICES, service("web", "a"))
    answer = api.pool.request("GET", sandbox.service_url("shop", "web"))
    assert answer.status == 500


@pytest.mark.parametrize(("image", "reason"), [("web:bad", "ImagePullBackOff"), ("web:2-crash", "CrashLoopBackOff")])
def test_a_broken_image_waits_for_ever_and_says_why(sandbox: Sandbox, api: Client, image: str, reason: str) -> None:
    api("POST", REPLICA_SETS, replica_set("a", image))

    def reasons() -> list[str]:
        pods = api("GET", PODS)[1]["items"]
        statuses = [status for pod in pods for status in pod["status"].get("containerStatuses", [])]
        return [status["state"].get("waiting", {}).get("reason", "") for status in statuses]

    eventually(lambda: reasons() == [reason], what=f"the pod says {reason}")
    assert ready_replicas(sandbox, "a") == 0


def test_without_traffic_there_is_no_address() -> None:
    with Sandbox(traffic=False) as sandbox, pytest.raises(RuntimeError, match="carries no traffic"):
        sandbox.service_url("shop", "web")
