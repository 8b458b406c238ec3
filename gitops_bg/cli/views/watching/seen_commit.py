"""Whether the agent has decided on a main with a commit, so that an answer about an app is not about the push before.

In a clone of the repository that the app follows it is HEAD, once HEAD was pushed to the branch. The agent is asked to
look, and answers in the status; who may not ask waits for its polls.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_bg.cli.clone.head import has
from gitops_bg.cli.session.live_session import LiveSession
from gitops_bg.cluster.api.errors import Forbidden
from gitops_bg.cluster.observation.states import decided_from
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.conditions import GIT_REACHABLE
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.glance import conditions_of

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
        unread = next((each for each in conditions_of(status) if each.type == GIT_REACHABLE), None)
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
        """The answer to a request about this commit, whoever made it."""
        answer = status.get("handledLook") or {}
        return answer if str(answer.get("request", "")).endswith(f" {self.wanted}") else {}

    def _is_seen(self, status: Mapping[str, Any]) -> bool:
        """Whether the agent has decided on a main with the commit: it says so, or what it decided on has it."""
        if self._answer(status).get("contains") is True:
            return True
        decided = decided_from(dict(status))
        return bool(decided) and (decided == self.wanted or has(decided, self.wanted))
