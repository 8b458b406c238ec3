"""A revision that nobody knows costs one look at main's history, however often main moves for others."""

from __future__ import annotations

from typing import Any

from gitops_bg.agent.desired.promoted import Revisions
from gitops_bg.core.model.desired import Primary
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import Revision
from gitops_bg.core.model.version import AppKey, Source

WEB = AppKey("shop", "web")


class History:
    """A repository whose primary.yaml never named anything."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def primaries(self, app: AppKey, head: str) -> list[bytes]:
        self.asked.append(head)
        return []


def test_it_is_asked_again_only_when_primary_yaml_names_another_version() -> None:
    history: Any = History()
    revisions = Revisions(history)

    def ask(tag: str, head: str) -> None:
        snapshot = snapshot_of({"spec": {"containers": [{"name": "web", "image": tag}]}})
        primary = Primary(snapshot, 1, Source("c0ffee"), Source("c0ffee"))
        found = revisions._found(WEB, Revision(number=9), Record(), primary, head)
        assert found == "there is no version v9 of this app"

    for head in ("h1", "h2", "h3"):
        ask("web:1", head)
    assert history.asked == ["h1"], "what others commit changes nothing"
    ask("web:2", "h4")
    assert history.asked == ["h1", "h4"]
