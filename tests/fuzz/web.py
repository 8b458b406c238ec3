"""A request to the web application, as bytes: its first line, its headers, an empty line, its body. No socket.

More requests pass than h11 lets through (any header, any length): what the application does must not rest on that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

from starlette.types import Message

from gitops_bg.agent.groups.commands import GroupCommands
from gitops_bg.core.groups.model import GroupState, GroupVersion, VersionStage
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.version import GroupKey
from gitops_bg.repo.write.main_branch import Edited, EditOrNew
from gitops_bg.spec.groups.load import load_group
from gitops_bg.web.app import application
from tests.integration.web.conftest import SECRET, FakeAgent, FakeTimer, mac

TOKEN = b"correct horse"
STATUSES = frozenset({200, 202, 400, 401, 404, 405, 408, 409, 413})
"""What an agent that is well answers."""
LONGEST_SECONDS = 2.0
_STORE = GroupKey("shop", "store")
_FILE = b"""apiVersion: gitops-bg.dev/v1alpha1
kind: ReleaseGroup
metadata: {name: store, namespace: shop}
spec:
  active: v1
  gateway: {parentRefs: [{name: public}]}
"""
_TARGET = b"""apiVersion: gitops-bg.dev/v1alpha1
kind: Target
metadata: {name: cart, namespace: shop}
spec: {template: {spec: {containers: [{name: cart, image: "cart:1"}]}}}
"""
_SIGNED = b"{mac}"
"""Stands for the signature of the body, which no fuzzer guesses."""


class _Main:
    """A repository that takes every edit, and keeps none."""

    def __init__(self) -> None:
        self.files = {"groups/shop/store/group.yaml": _FILE, "groups/shop/store/v2/cart/target.yaml": _TARGET}
        self.group_branches = SimpleNamespace(head=lambda _: "")
        self.edits = SimpleNamespace(commit=self._commit)

    def files_below(self, folder: str) -> Mapping[str, bytes]:
        return self.files

    def _commit(self, edits: Mapping[str, EditOrNew], message: str, _requester: object = None) -> Edited:
        message.encode()
        for path, edit in edits.items():
            edit(self.files[path])  # type: ignore[arg-type]
        return Edited("c" * 40, changed=True, paths=frozenset(edits))


class _Agent(FakeAgent):
    """An agent with one group, whose second version may be promoted or deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.api_token = TOKEN
        moment = datetime(2026, 11, 25, tzinfo=UTC)
        stages = {"v1": VersionStage.ACTIVE, "v2": VersionStage.CANDIDATE, "v0": VersionStage.LEGACY}
        state = GroupState(tuple(GroupVersion(name, stage, moment) for name, stage in sorted(stages.items())))
        files = {"group.yaml": _FILE, "v1/cart/target.yaml": _TARGET, "v2/cart/target.yaml": _TARGET}
        config = load_group(_STORE, files)
        assert config.desired.is_valid, config.desired.problems
        doubles: list[Any] = [
            SimpleNamespace(reading=SimpleNamespace(groups={_STORE: config})),
            _Main(),
            SimpleNamespace(seen=lambda _: SimpleNamespace(record=GroupRecord(state=state))),
            None,
        ]
        self._commands = GroupCommands(*doubles, pushed=lambda: None, clock=lambda: moment)

    @property
    def group_commands(self) -> GroupCommands:
        return self._commands


_AGENT = _Agent()
_APP = application(_AGENT, FakeTimer(), read_seconds=1.0)
_LOOP = asyncio.new_event_loop()


def answered(data: bytes) -> int:
    """The status of the answer to a request. Raises ``AssertionError`` for one that nobody expects."""
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    method, _, target = first.partition(b" ")
    path, _, query = target.partition(b"?")
    genuine = mac(body, SECRET).encode()
    headers = [(name.strip().lower(), value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method.decode("latin-1"),
        "scheme": "http",
        "path": unquote(path.decode("latin-1")),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": [(name, value.replace(_SIGNED, genuine)) for name, value in headers],
        "client": ("192.0.2.1", 1),
        "server": ("192.0.2.2", 8080),
    }
    sent = _LOOP.run_until_complete(_asked(scope, [body[:7], body[7:]]))
    status, said = int(sent[0]["status"]), b"".join(each.get("body", b"") for each in sent[1:])
    assert status in STATUSES, (status, said)
    for held in (SECRET, TOKEN):
        assert held in data or held not in said, "what only the agent knows is in an answer"
    return status


async def _asked(scope: dict[str, Any], pieces: list[bytes]) -> list[Message]:
    sent: list[Message] = []
    left = [{"type": "http.request", "body": each, "more_body": True} for each in pieces]
    left.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive() -> Message:
        return left.pop(0) if left else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    async with asyncio.timeout(LONGEST_SECONDS):
        await _APP(scope, receive, send)
    return sent
