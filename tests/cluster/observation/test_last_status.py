"""A thread unpacks the status of an app once for a pass, and anew once it changed."""

from concurrent.futures import ThreadPoolExecutor

from gitops_bg.cluster.observation.project import app_state
from gitops_bg.cluster.observation.states import AppState
from gitops_bg.cluster.status import LastStatus


def state(phase: str, name: str = "web") -> AppState:
    metadata = {"namespace": "shop", "name": name, "uid": name, "resourceVersion": "1"}
    return app_state({"metadata": metadata, "spec": {}, "status": {"phase": phase}})


def test_the_same_state_is_unpacked_once() -> None:
    last, healthy = LastStatus(), state("Healthy")
    assert last.of(healthy) == {"phase": "Healthy"}
    assert last.of(healthy) is last.of(healthy)


def test_another_state_is_unpacked_anew_also_where_it_says_the_same() -> None:
    last = LastStatus()
    first = last.of(state("Healthy"))
    assert last.of(state("Healthy")) is not first
    assert last.of(state("Promoting")) == {"phase": "Promoting"}
    assert last.of(state("Healthy", "api")) == {"phase": "Healthy"}


def test_another_thread_has_one_of_its_own() -> None:
    last, web, api = LastStatus(), state("Healthy"), state("Promoting", "api")
    mine = last.of(web)
    with ThreadPoolExecutor(1) as other:
        assert other.submit(last.of, api).result() == {"phase": "Promoting"}
    assert last.of(web) is mine
