"""The uid of a namespace is read once for all of its apps, and again once the namespace may be another one."""

from __future__ import annotations

import pytest

from gitops_bg.cluster.api.errors import Forbidden
from gitops_bg.cluster.execution.writer import Anchors
from gitops_bg.core.model.version import AppKey

WEB, API, PAY = AppKey("shop", "web"), AppKey("shop", "api"), AppKey("pay", "web")


class Server:
    """Namespaces by name, the apps in a cache, and what was asked for."""

    def __init__(self) -> None:
        self.namespaces = {"shop": "shop-1", "pay": "pay-1"}
        self.apps: dict[AppKey, str] = {}
        self.asked: list[str] = []
        self.refuses = False

    def get(self, _kind: object, _namespace: str, name: str) -> object:
        self.asked.append(name)
        if self.refuses:
            raise Forbidden("no")
        uid = self.namespaces.get(name)
        return {"metadata": {"name": name, "uid": uid}} if uid else None

    def is_there(self, app: AppKey, uid: str) -> bool:
        return self.apps.get(app) == uid


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def anchors(server: Server) -> Anchors:
    return Anchors(server, server.is_there)  # type: ignore[arg-type]


def test_all_apps_of_a_namespace_cost_one_read(server: Server, anchors: Anchors) -> None:
    server.apps = {WEB: "1", API: "2", PAY: "3"}
    assert [anchors.uid(WEB, "1"), anchors.uid(API, "2"), anchors.uid(PAY, "3")] == ["shop-1", "shop-1", "pay-1"]
    assert [anchors.uid(API, "2"), anchors.uid(WEB, "1")] == ["shop-1", "shop-1"]
    assert server.asked == ["shop", "pay"]


def test_an_app_without_an_object_has_no_anchor(server: Server, anchors: Anchors) -> None:
    assert anchors.uid(WEB, "") == ""
    assert server.asked == []


def test_a_namespace_is_read_again_once_the_app_that_it_was_read_for_is_gone(server: Server, anchors: Anchors) -> None:
    server.apps = {WEB: "1"}
    assert anchors.uid(WEB, "1") == "shop-1"
    server.namespaces["shop"], server.apps = "shop-2", {API: "8"}
    assert anchors.uid(API, "8") == "shop-2"
    server.apps[WEB] = "9"
    assert anchors.uid(WEB, "9") == "shop-2"
    assert server.asked == ["shop", "shop"]


def test_what_was_taken_from_a_namespace_that_is_no_more_is_not_kept(server: Server, anchors: Anchors) -> None:
    """The cache hears of the new namespace's app before it hears that the former one's is gone."""
    server.apps = {WEB: "1"}
    assert anchors.uid(WEB, "1") == "shop-1"
    server.namespaces["shop"] = "shop-2"
    server.apps[API] = "8"
    assert anchors.uid(API, "8") == "shop-1", "as far as anybody knows"
    del server.apps[WEB]
    assert anchors.uid(API, "8") == "shop-2"


def test_without_a_cache_it_is_read_once_for_each_app(server: Server, anchors: Anchors) -> None:
    for app, uid in ((WEB, "1"), (API, "2"), (WEB, "1"), (API, "2")):
        assert anchors.uid(app, uid) == "shop-1"
    assert server.asked == ["shop", "shop"]


def test_a_refused_read_is_not_repeated_for_each_app(
    server: Server, anchors: Anchors, caplog: pytest.LogCaptureFixture
) -> None:
    server.refuses, server.apps = True, {WEB: "1", API: "2"}
    assert [anchors.uid(WEB, "1"), anchors.uid(API, "2")] == ["", ""]
    assert server.asked == ["shop"]
    assert "needs the right to get namespaces" in caplog.text
