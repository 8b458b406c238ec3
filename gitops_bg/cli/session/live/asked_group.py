"""A live release group that somebody asks something of in the cluster; the counterpart of `Offline`. Decides nothing.

What an app needs for an emergency is in its record and its live object, so that a command can do the work of an agent.
What a group has is in its folders in Git: only an agent carries a request out.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gitops_bg.cli.commands.group.live import live_group
from gitops_bg.cli.options.options import LiveOptions
from gitops_bg.cli.session.live_session import LiveSession, access
from gitops_bg.cli.views.watching.watch_changes import Wait, changes, until
from gitops_bg.cluster.execution.operator_requests import requests_at
from gitops_bg.cluster.groups.group_cluster import GroupCluster, SeenGroup
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.observed import Request
from gitops_bg.core.model.version import GroupKey


@dataclass(frozen=True, slots=True)
class AskedGroup:
    """One live release group, watched."""

    subject: GroupKey
    live: GroupCluster
    next_change: Wait

    @property
    def record(self) -> GroupRecord:
        """Its present record."""
        return self.seen.record

    @property
    def spec(self) -> Mapping[str, Any]:
        """What its file said last."""
        body = self.seen.body
        return {} if body is None else body.get("spec") or {}

    @property
    def seen(self) -> SeenGroup:
        """Its present object."""
        return self.live.seen(self.subject)

    def ask(self, request: Request) -> None:
        """Write the request for the agent to carry out. Raises ``NotFound``, ``Refused``, ``Transient``."""
        self.live.request(self.subject, request)

    def withdraw(self, request: Request) -> None:
        """Take the request back, unless it is answered. Raises ``NotFound``, ``Refused``, ``Transient``."""
        self.live.withdraw(self.subject, request)

    def is_lost(self, request: Request) -> bool:
        """Whether somebody who knows of no others overwrote the request before anybody answered it."""
        seen = self.seen
        waits = any(each.id == request.id for each in requests_at(seen.body))
        return not waits and not seen.record.operator.has_answered(request.id)

    def wait(self, fulfilled: Callable[[GroupRecord], bool], seconds: float) -> bool:
        """Watch until the record fulfils the condition; False where ``seconds`` passed first."""
        return until(lambda: fulfilled(self.record), self.next_change, seconds)

    @property
    def act(self) -> None:
        """None: only an agent can."""
        return None


@contextmanager
def asked_group(at: LiveOptions, name: str) -> Iterator[AskedGroup]:
    """The live group that a person means. Raises `NameNotFound`, `UsageError`."""
    with LiveSession(at.kube, at.place) as session:
        key = live_group(session.client, at.place.namespace, name)
        with changes(access(at.kube), key.namespace, groups=True) as next_change:
            yield AskedGroup(key, GroupCluster(session.client), next_change)
