"""Faults happen when asked for, and only then."""

from __future__ import annotations

import time
from threading import Thread

import pytest
import urllib3

from gitops_bg.sandbox import Sandbox
from gitops_bg.sandbox.faults import ConnectionLost
from tests.integration.sandbox.conftest import CONFIG_MAPS, PODS, REPLICA_SETS, Client, Json, config_map, replica_set
from tests.support.waiting import eventually


def names(sandbox: Sandbox) -> set[str]:
    return {obj["metadata"]["name"] for obj in sandbox.objects("v1", "ConfigMap", "shop")}


def test_a_refused_verb_is_a_403_as_rbac_words_it(sandbox: Sandbox, api: Client) -> None:
    sandbox.faults.refuse("create", "replicasets", "shop")
    status, body = api("POST", REPLICA_SETS, replica_set("a"))
    assert (status, body["reason"]) == (403, "Forbidden")
    assert 'cannot create resource "replicasets" in API group "apps" in the namespace "shop"' in body["message"]
    assert api("GET", REPLICA_SETS)[0] == 200
    assert api("POST", CONFIG_MAPS, config_map("c"))[0] == 201


def test_a_fault_can_be_limited_to_some_requests(sandbox: Sandbox, api: Client) -> None:
    sandbox.faults.fail(status=503, times=2, retry_after=1)
    assert [api("GET", CONFIG_MAPS)[0] for _ in range(3)] == [503, 503, 200]


def test_too_many_requests_name_the_seconds_to_wait(sandbox: Sandbox, api: Client) -> None:
    sandbox.faults.fail(status=429, times=1, retry_after=7)
    answer = api.pool.request("GET", sandbox.url + CONFIG_MAPS)
    assert (answer.status, answer.headers["Retry-After"]) == (429, "7")


def test_a_delay_holds_the_answer_back(sandbox: Sandbox, api: Client) -> None:
    sandbox.faults.delay(0.2, verb="list", resource="configmaps", times=1)
    begin = time.monotonic()
    api("GET", CONFIG_MAPS)
    assert time.monotonic() - begin >= 0.2


def test_dropped_watches_end_and_can_be_resumed(sandbox: Sandbox, api: Client) -> None:
    version = api("GET", CONFIG_MAPS)[1]["metadata"]["resourceVersion"]
    events: list[Json] = []
    path = f"{CONFIG_MAPS}?watch=1&resourceVersion={version}"
    reader = Thread(target=lambda: events.extend(api.watch(path)))
    reader.start()
    api("POST", CONFIG_MAPS, config_map("a"))
    eventually(lambda: sandbox.requests.count("watch") == 1, what="the watch is open")
    sandbox.faults.drop_watches()
    reader.join(5)
    assert not reader.is_alive()
    resumed = next(iter(api.watch(path)))
    assert resumed["object"]["metadata"]["name"] == "a"


def test_expired_history_makes_a_resumed_watch_and_a_continued_list_410(sandbox: Sandbox, api: Client) -> None:
    for name in "ab":
        api("POST", CONFIG_MAPS, config_map(name))
    metadata = api("GET", f"{CONFIG_MAPS}?limit=1")[1]["metadata"]
    sandbox.faults.expire_history()
    (event,) = api.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={metadata['resourceVersion']}")
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    status, body = api("GET", f"{CONFIG_MAPS}?limit=1&continue={metadata['continue']}")
    assert (status, body["reason"]) == (410, "Expired")
    fresh = api("GET", CONFIG_MAPS)[1]["metadata"]["resourceVersion"]
    assert list(api.watch(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1&resourceVersion={fresh}")) == []


@pytest.mark.parametrize("done", [0, 1, 2])
def test_a_client_can_be_cut_off_after_any_write(sandbox: Sandbox, api: Client, done: int) -> None:
    sandbox.faults.crash_after_write(done)
    cut = 0
    for name in "abc":
        try:
            api("POST", CONFIG_MAPS, config_map(name))
        except urllib3.exceptions.ProtocolError:
            cut += 1
    assert names(sandbox) == set("abc"[:done])
    assert cut == 3 - max(done - 1, 0)
    sandbox.faults.clear()
    assert api("POST", CONFIG_MAPS, config_map("z"))[0] == 201


def test_a_hook_sees_each_request_and_may_cut_it(sandbox: Sandbox, api: Client) -> None:
    seen = []

    def hook(call: object) -> None:
        seen.append(call)
        raise ConnectionLost

    sandbox.faults.after(hook)
    with pytest.raises(urllib3.exceptions.ProtocolError):
        api("POST", CONFIG_MAPS, config_map("a"))
    assert names(sandbox) == {"a"}
    assert len(seen) == 1


def test_requests_are_counted_and_dry_runs_are_no_writes(sandbox: Sandbox, api: Client) -> None:
    api("GET", PODS)
    api("POST", f"{CONFIG_MAPS}?dryRun=All", config_map("a"))
    assert sandbox.requests.writes() == []
    api("POST", CONFIG_MAPS, config_map("a"))
    (write,) = sandbox.requests.writes()
    assert (write.verb, write.resource, write.user_agent, write.status) == ("create", "configmaps", "test/1", 201)
    assert (sandbox.requests.count("list", "pods"), sandbox.requests.count()) == (1, 3)
    sandbox.requests.clear()
    assert sandbox.requests.count() == 0
