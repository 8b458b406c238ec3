"""A namespace is read once for all apps that were known before, and once more for each that came later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.execution.anchors import Anchors
from gitops_bg.cluster.observation.project import app_state
from gitops_bg.cluster.observation.states import AppState
from tests.integration.cluster.stub import Asked, Json, stub


class Namespaces:
    """The namespaces of a cluster, by name with their uids; some may not be read."""

    def __init__(self) -> None:
        self.uids: dict[str, str] = {}
        self.refused = False

    def __call__(self, asked: Asked) -> None:
        name = asked.path.rsplit("/", 1)[-1]
        if self.refused:
            asked.refuse(403, "Forbidden")
        else:
            metadata = {"name": name, "uid": self.uids[name], "resourceVersion": "1"}
            asked.answer({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


def app(namespace: str, uid: str) -> AppState:
    body: Json = {"metadata": {"namespace": namespace, "name": f"app-of-{uid}", "uid": uid, "resourceVersion": "1"}}
    return app_state(body)


@contextmanager
def anchors(folder: Path, namespaces: Namespaces, known: list[AppState]) -> Iterator[tuple[Anchors, list[str]]]:
    """And the paths that are asked for, as they are."""
    paths: list[str] = []

    def script(asked: Asked) -> None:
        paths.append(asked.path)
        namespaces(asked)

    with stub(folder, script) as server, closing(Client(Access(server.kubeconfig))) as client:
        yield Anchors(client, lambda: tuple(known)), paths


@pytest.fixture
def cluster() -> Namespaces:
    made = Namespaces()
    made.uids = {"shop": "shop-1", "pay": "pay-1"}
    return made


def test_one_read_counts_for_every_app_of_the_namespace_that_was_known_before(
    tmp_path: Path, cluster: Namespaces
) -> None:
    known = [app("shop", "a"), app("shop", "b"), app("pay", "c")]
    with anchors(tmp_path, cluster, known) as (subject, paths):
        assert [subject.uid("shop", each) for each in "aba"] == ["shop-1"] * 3
        assert subject.uid("pay", "c") == "pay-1"
        assert paths == ["/api/v1/namespaces/shop", "/api/v1/namespaces/pay"]


def test_an_app_that_came_later_may_be_in_another_life_of_its_namespace(tmp_path: Path, cluster: Namespaces) -> None:
    known = [app("shop", "a")]
    with anchors(tmp_path, cluster, known) as (subject, _):
        assert subject.uid("shop", "a") == "shop-1"
        cluster.uids["shop"] = "shop-2"
        known[:] = [app("shop", "d")]
        assert subject.uid("shop", "d") == "shop-2"
        assert subject.uid("shop", "a") == "shop-1"


def test_an_app_that_was_not_known_at_the_first_question_shares_with_nobody(
    tmp_path: Path, cluster: Namespaces
) -> None:
    known = [app("pay", "c")]
    with anchors(tmp_path, cluster, known) as (subject, paths):
        assert subject.uid("pay", "c") == "pay-1"
        known += [app("shop", "a"), app("shop", "b")]
        assert [subject.uid("shop", each) for each in "ab"] == ["shop-1"] * 2
        assert paths == ["/api/v1/namespaces/pay"] + ["/api/v1/namespaces/shop"] * 2


def test_a_refusal_is_shared_with_nobody(tmp_path: Path, cluster: Namespaces) -> None:
    cluster.refused = True
    with anchors(tmp_path, cluster, [app("shop", "a"), app("shop", "b")]) as (subject, paths):
        assert subject.uid("shop", "a") == ""
        cluster.refused = False
        assert subject.uid("shop", "b") == "shop-1"
        assert subject.uid("shop", "a") == ""
        assert len(paths) == 2


def test_where_no_app_is_there_nobody_is_asked(tmp_path: Path, cluster: Namespaces) -> None:
    with anchors(tmp_path, cluster, []) as (subject, paths):
        assert subject.uid("shop", "") == ""
        assert paths == []
