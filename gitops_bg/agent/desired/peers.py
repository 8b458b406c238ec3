"""What this process knows of each app for the policies of others, and which apps to look at when that changes.

Nothing is kept until a policy asks. A decision on an app that shares a concurrency limit, and its entry on the board,
are one step, so that two workers never take the same place (`agreed`).
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from time import thread_time
from typing import TypeVar

from gitops_bg.core.checks.policies.match import apps_asked_about, scopes_asked_about
from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.policies.facts import Peer, Policing
from gitops_bg.core.model.version import AppKey

D = TypeVar("D")

TRIES = 4
"""How often an app decides without holding the board."""
MOST_CPU = 0.25
"""Seconds of CPU for them; a decision usually takes some milliseconds."""
FIRST_WOKEN = 50
"""How many waiting apps are woken when another app's turn ends; the others follow in time."""


class PeerBoard:
    """The board of all apps. ``apps`` gives all apps of main that are ours. Thread-safe."""

    def __init__(self, apps: Callable[[], Iterable[AppKey]]) -> None:
        self._apps = apps
        self._lock = threading.RLock()
        self._peers: dict[AppKey, Peer] = {}
        self._dependents: defaultdict[AppKey, set[AppKey]] = defaultdict(set)
        self._waiting: set[AppKey] = set()
        self._moving: set[AppKey] = set()
        self._unseen: set[AppKey] | None = None
        self._barred: set[AppKey] = set()
        """Apps that nobody can look at at present."""
        self.wake: Callable[[Iterable[AppKey]], None] = lambda _: None
        """Called with the apps to look at again."""

    def agreed(
        self,
        policing: Policing | None,
        app: AppKey,
        decide: Callable[[Policing | None], D],
        note: Callable[[D], None],
        cpu: Callable[[], float] = thread_time,
    ) -> D:
        """Decide on ``app`` with what is known of the others, and ``note`` it before anybody else takes its place.

        Nobody holds the board while ``decide`` computes, so that an app with costly conditions holds up no other. Where
        another app moved meanwhile it decides again; after `TRIES`, with the board held. Raises `WorldChanged` if they
        took more than `MOST_CPU`: the app comes again later.
        """
        if policing is None or not scopes_asked_about(policing.all_policies):
            decision = decide(self._known(policing, app))
            note(decision)
            return decision
        began = cpu()
        for _ in range(TRIES):
            known = self._known(policing, app)
            decision = decide(known)
            with self._lock:
                if self._known(policing, app) == known:
                    note(decision)
                    return decision
        if cpu() - began > MOST_CPU:
            raise WorldChanged(f"other apps with a limit of {app} moved while it was decided on, {TRIES} times")
        with self._lock:
            decision = decide(self._known(policing, app))
            note(decision)
            return decision

    def _known(self, policing: Policing | None, app: AppKey) -> Policing | None:
        return None if policing is None else self.with_peers(policing, app)

    def begin(self) -> None:
        """Compute anew which apps have not been looked at: the policies have changed."""
        with self._lock:
            self._unseen = None

    def with_peers(self, policing: Policing, app: AppKey) -> Policing:
        """Return the policing with what is known of the apps that its rules ask about; they wake ``app``
        from now on.
        """
        named = apps_asked_about(policing.all_policies, app)
        counted = bool(scopes_asked_about(policing.all_policies))
        with self._lock:
            for other in named:
                self._dependents[other].add(app)
            (self._waiting.add if counted else self._waiting.discard)(app)
            found = {other: self._peers[other] for other in named if other in self._peers}
            if not counted:
                return replace(policing, peers=found) if found else policing
            found |= {other: self._peers[other] for other in self._moving}
            return replace(policing, peers=found, not_looked_at=len(self._not_looked_at() - {app}))

    def note(self, peer: Peer) -> None:
        """Note the state of an app after a decision; wake the apps that ask about it if it changed."""
        with self._lock:
            before = self._peers.get(peer.app)
            self._barred.discard(peer.app)
            self._peers[peer.app] = peer
            counts = peer.moving or peer.queued is not None
            (self._moving.add if counts else self._moving.discard)(peer.app)
            woken = self._woken(before, peer)
        self.wake(woken)

    def failed(self, app: AppKey) -> None:
        """Note that nobody can look at an app, for want of a right or for a bug: the others do not wait for it.

        Nothing of it moves meanwhile, because the agent is who moves it. Where it was seen to move, it keeps its place.
        """
        with self._lock:
            was_awaited = app in (self._unseen or ())
            self._barred.add(app)
            if self._unseen:
                self._unseen.discard(app)
            is_last = was_awaited and not (self._unseen or set()) - self._waiting
            woken = set(self._first_of_waiting()) - {app} if is_last else set()
        self.wake(woken)

    def forget(self, app: AppKey) -> None:
        """Forget a deleted app."""
        with self._lock:
            self._peers.pop(app, None)
            self._moving.discard(app)
            self._waiting.discard(app)
            self._barred.discard(app)
            self._dependents.pop(app, None)

    def _woken(self, before: Peer | None, after: Peer) -> set[AppKey]:
        woken = set(self._dependents.get(after.app, ())) if before != after else set()
        was = before is not None and (before.moving, before.queued) == (after.moving, after.queued)
        last = self._unseen is not None and after.app in self._unseen
        if self._unseen:
            self._unseen.discard(after.app)
        if (not was or last) and not (last and self._unseen and self._unseen - self._waiting):
            woken |= set(self._first_of_waiting())
        return woken - {after.app}

    def _first_of_waiting(self) -> list[AppKey]:
        last = (2**60, "")
        key = {app: (peer.queued or last) if (peer := self._peers.get(app)) else last for app in self._waiting}
        return sorted(key, key=lambda app: (key[app], app))[:FIRST_WOKEN]

    def _not_looked_at(self) -> set[AppKey]:
        if self._unseen is None:
            self._unseen = set(self._apps()) - self._peers.keys() - self._barred
        return self._unseen
