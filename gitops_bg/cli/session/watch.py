"""Waits for changes of our objects in a cluster: for verbs that keep showing, for `--wait` until live traffic has
reached its target, and for `status` until the agent has read a commit. Moves nothing.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import field
from typing import Any

from gitops_bg.agent.runtime.signals import wait_interruptibly
from gitops_bg.cli.errors import CommandFailed
from gitops_bg.cli.options.options import ClusterOptions
from gitops_bg.cli.repository.user_git import has
from gitops_bg.cli.session.live_session import LiveSession, access
from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import Forbidden
from gitops_bg.cluster.api.kinds import PODS, RELEASE_GROUPS, Kind, Object
from gitops_bg.cluster.api.watch import Watch
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.cluster.group_cluster import GroupCluster
from gitops_bg.cluster.observation.states import decided_from
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.model.conditions import GIT_REACHABLE
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.views.conditions import live_conditions
from gitops_bg.views.words import spoken

_SYNC_SECONDS = 30.0

Wait = Callable[[float | None], bool]
"""Wait for the next change, at most so many seconds; return whether there was one."""


class Changes:
    """Waits for the next change of what is watched."""

    def __init__(self) -> None:
        self._woken = threading.Event()
        self._has_news = False

    def ring(self) -> None:
        """Note a change."""
        self._has_news = True
        self._woken.set()

    def wake(self) -> None:
        """End a wait without a change."""
        self._woken.set()

    def __call__(self, seconds: float | None) -> bool:
        """Wait, at most so many seconds; return whether there was a change."""
        wait_interruptibly(self._woken, seconds)
        self._woken.clear()
        news, self._has_news = self._has_news, False
        return news


@contextmanager
def changes(access: Access, namespace: str = "", pods: str = "", *, groups: bool = False) -> Iterator[Changes]:
    """Watch the apps of a namespace (empty: all), the pods with these labels (empty: none), and release groups. The
    result waits for the next change; its first wait ends at once, as what is there is news.
    """
    changed = Changes()
    cluster = Cluster.watching(access, lambda _app: changed.ring(), [namespace] if namespace else [])
    try:
        cluster.start()
        cluster.demand_synced(_SYNC_SECONDS)
        changed.ring()
        # What we may not watch is left out: it continues without.
        more = [(PODS, pods)] if pods else []
        more += [(RELEASE_GROUPS, "")] if groups else []
        with ExitStack() as watches:
            for kind, labels in more:
                watches.enter_context(_watching(cluster.client, kind, namespace, labels, changed))
            yield changed
    finally:
        cluster.stop()


@contextmanager
def _watching(client: Client, kind: Kind, namespace: str, labels: str, changed: Changes) -> Iterator[None]:
    watch = Watch(client, lambda: kind, namespace, labels, _Bell(changed))
    watch.start()
    try:
        yield
    finally:
        watch.stop()


class _Bell:
    """Rings for every event of a watch."""

    def __init__(self, changed: Changes) -> None:
        self._changed = changed

    def begin(self) -> None:
        """Do nothing: `end` rings."""

    def put(self, body: Object) -> None:  # noqa: ARG002
        """Ring: an object is new or different."""
        self._changed.ring()

    def end(self) -> None:
        """Ring: the list is complete."""
        self._changed.ring()

    def remove(self, body: Object) -> None:  # noqa: ARG002
        """Ring: an object is gone."""
        self._changed.ring()

    def trouble(self, error: GitopsBgError | None) -> None:
        """Do nothing: the next event rings."""

    def went_back(self) -> None:
        """Do nothing: everything is listed anew, which rings."""


def until(fulfilled: Callable[[], bool], wait: Wait, seconds: float) -> bool:
    """Check the condition after each wait; return False if ``seconds`` pass first.

    >>> answers = iter([False, False, True])
    >>> until(lambda: next(answers), lambda _seconds: False, 60.0)
    True
    """
    deadline = time.monotonic() + seconds
    while True:
        wait(max(0.0, deadline - time.monotonic()))
        if fulfilled():
            return True
        if time.monotonic() >= deadline:
            return False


def wait_for_traffic(session: LiveSession, kube: ClusterOptions, app: AppKey, digest: str, seconds: float) -> None:
    """Return once the record says that traffic goes to ``digest``. Raises `CommandFailed` after ``seconds``."""

    def arrived() -> bool:
        record = session.cluster.record(app)
        return record.routing.traffic == digest and record.routing.switch is None

    with changes(access(kube), app.namespace) as wait:
        if not until(arrived, wait, seconds):
            raise CommandFailed(f"{app}: traffic has not moved within {spoken(seconds)}; see `gitops-bg explain {app}`")


def wait_for_requests(
    session: LiveSession, kube: ClusterOptions, group: GroupKey, version: str, seconds: float
) -> None:
    """Return once the record says that a version of a group is active, and nothing moves any more. Raises
    `CommandFailed` after ``seconds``.
    """
    live = GroupCluster(session.client)

    def arrived() -> bool:
        record = live.seen(group).record
        return record.state.only(VersionStage.ACTIVE) == version and record.transition is None

    with changes(access(kube), group.namespace, groups=True) as wait:
        if not until(arrived, wait, seconds):
            message = f"{group}: requests have not moved to {version} within {spoken(seconds)}"
            raise CommandFailed(f"{message}; see `gitops-bg explain {group}`")


SEEN_WITHIN = 60.0
"""Seconds in which an agent that runs, and can read main, has read a commit that was pushed."""
ASK_AGAIN = 3.0
"""Seconds after which the agent is asked again, where main lacked the commit: a forge may be late."""


@dataclass
class SeenCommit:
    """A commit (empty: none) that the agent is to have read, of one app."""

    app: AppKey
    wanted: str
    _request: str = field(default="", init=False)
    _asked_at: float = field(default=0.0, init=False)
    _may_ask: bool = field(default=True, init=False)

    def lacks(self, body: Mapping[str, Any]) -> str:
        """Return why the state of the app does not count yet; empty where it does."""
        status = body.get("status") or {}
        if self.wanted and self._is_seen(status):
            return ""
        unread = next((each for each in live_conditions(body) if each.type == GIT_REACHABLE), None)
        if unread is not None and unread.status is False:
            return "the agent cannot read main, so this is about main as it was read last"
        if not self.wanted:
            return ""
        answer = self._answer(status)
        if answer:
            read = str(answer.get("commit", ""))[:10]
            return f"main, which the agent reads at {read}, does not have {self.wanted[:10]}: is it pushed?"
        return f"no agent has answered whether main has {self.wanted[:10]}; `gitops-bg get` says which one works"

    def ask(self, session: LiveSession, now: float) -> None:
        """Ask the agent to look, unless it is to answer yet; nothing where we may not ask it."""
        if not self._may_ask or (self._request and now - self._asked_at < ASK_AGAIN):
            return
        try:
            self._request = session.cluster.reconcile(self.app, session.now, self.wanted)
        except Forbidden:
            self._may_ask = False
        except GitopsBgError:  # It is asked again.
            self._request = ""
        self._asked_at = now

    def _answer(self, status: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answer to a request about this commit, whoever made it."""
        answer = status.get("handledLook") or {}
        return answer if str(answer.get("request", "")).endswith(f" {self.wanted}") else {}

    def _is_seen(self, status: Mapping[str, Any]) -> bool:
        """Return whether the agent has decided on a main with the commit: it says so, or what it decided on has it."""
        if self._answer(status).get("contains") is True:
            return True
        decided = decided_from(dict(status))
        return bool(decided) and (decided == self.wanted or has(decided, self.wanted))
