"""What this process knows of each app and release group for the policies of others, and which of them to look at when
that changes.

Nothing is kept until a policy asks. A decision on who shares a concurrency limit, and its entry on the board, are one
step, so that two workers never take the same place (`agreed`).
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from time import thread_time
from typing import TypeVar

from gitops_bg.core.checks.policy_judge import apps_asked_about, scopes_asked_about
from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.policy_facts import NO_OTHERS, Others, Peer
from gitops_bg.core.model.policy_rules import Policy
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.core.names import promotion_branch

D = TypeVar("D")

TRIES = 4
"""How often one decides without holding the board."""
MOST_CPU = 0.25
"""Seconds of CPU for them; a decision usually takes some milliseconds."""
FIRST_WOKEN = 50
"""How many that wait are woken when another one's turn ends; the others follow in time."""


class RolloutRegistry:
    """The board of all apps and groups. ``all_of_main`` gives those of main that are ours. Thread-safe."""

    def __init__(self, all_of_main: Callable[[], Iterable[AppOrGroup]]) -> None:
        self._all_of_main = all_of_main
        self._lock = threading.RLock()
        self._peers: dict[AppOrGroup, Peer] = {}
        self._dependents: defaultdict[AppOrGroup, set[AppOrGroup]] = defaultdict(set)
        self._waiting: set[AppOrGroup] = set()
        self._moving: set[AppOrGroup] = set()
        self._unseen: set[AppOrGroup] | None = None
        self._barred: set[AppOrGroup] = set()
        """Those that nobody can look at at present."""
        self.wake: Callable[[Iterable[AppOrGroup]], None] = lambda _: None
        """Called with those to look at again."""

    def agreed(
        self,
        policies: Iterable[Policy],
        who: AppOrGroup,
        decide: Callable[[Others], D],
        note: Callable[[D], None],
        cpu: Callable[[], float] = thread_time,
    ) -> D:
        """Decide on an app or a group, whose ``policies`` these are, with what is known of the others, and ``note`` it
        before anybody else takes its place.

        Nobody holds the board while ``decide`` computes, so that who has costly conditions holds up no other. Where
        another one moved meanwhile it decides again; after `TRIES`, with the board held. Raises `WorldChanged` if they
        took more than `MOST_CPU`: it comes again later.
        """
        policies = tuple(policies)
        if not scopes_asked_about(policies):
            decision = decide(self.others(policies, who))
            note(decision)
            return decision
        began = cpu()
        for _ in range(TRIES):
            known = self.others(policies, who)
            decision = decide(known)
            with self._lock:
                if self.others(policies, who) == known:
                    note(decision)
                    return decision
        if cpu() - began > MOST_CPU:
            raise WorldChanged(f"others with a limit of {who} moved while it was decided on, {TRIES} times")
        with self._lock:
            decision = decide(self.others(policies, who))
            note(decision)
            return decision

    def begin(self) -> None:
        """Compute anew who has not been looked at: the policies have changed."""
        with self._lock:
            self._unseen = None

    def others(self, policies: Iterable[Policy], who: AppOrGroup) -> Others:
        """Return what is known of those that these policies of an app or a group ask about; they wake it from now
        on.
        """
        policies = tuple(policies)
        if not policies and who not in self._waiting:
            return NO_OTHERS  # Who asks nothing waits for nobody who holds the board.
        named = apps_asked_about(policies, who.namespace)
        counted = bool(scopes_asked_about(policies))
        with self._lock:
            for other in named:
                self._dependents[other].add(who)
            (self._waiting.add if counted else self._waiting.discard)(who)
            seen = self._peers.keys() & (named | self._moving if counted else named)
            found = {other: self._peers[other] for other in seen}
            return Others(found, len(self._unread() - {who}) if counted else 0)

    def register(self, peer: Peer) -> None:
        """Note the state of an app or a group after a decision; wake those that ask about it if it changed."""
        with self._lock:
            before = self._peers.get(peer.who)
            self._barred.discard(peer.who)
            self._peers[peer.who] = peer
            counts = peer.moving or peer.queued is not None
            (self._moving.add if counts else self._moving.discard)(peer.who)
            woken = self._woken(before, peer)
        self.wake(woken)

    def failed(self, who: AppOrGroup) -> None:
        """Note that nobody can look at an app or a group, for want of a right, for a bug or for a record that
        somebody damaged: the others do not wait for it.

        Nothing of it moves meanwhile, because the agent is who moves it. Where it was seen to move, it keeps its place.
        """
        with self._lock:
            self._barred.add(who)
            woken = set(self._first_of_waiting()) - {who} if self._was_last_awaited(who) else set()
        self.wake(woken)

    def forget(self, who: AppOrGroup) -> None:
        """Forget one that is deleted: its place is free."""
        with self._lock:
            was_counted = who in self._moving
            self._peers.pop(who, None)
            self._moving.discard(who)
            self._waiting.discard(who)
            self._barred.discard(who)
            self._dependents.pop(who, None)
            is_last = self._was_last_awaited(who)
            woken = set(self._first_of_waiting()) if was_counted or is_last else set()
        self.wake(woken)

    def _woken(self, before: Peer | None, after: Peer) -> set[AppOrGroup]:
        woken = set(self._dependents.get(after.who, ())) if before != after else set()
        was = before is not None and (before.moving, before.queued) == (after.moving, after.queued)
        last = self._unseen is not None and after.who in self._unseen
        if self._unseen:
            self._unseen.discard(after.who)
        if (not was or last) and not (last and self._unseen and self._unseen - self._waiting):
            woken |= set(self._first_of_waiting())
        return woken - {after.who}

    def _was_last_awaited(self, who: AppOrGroup) -> bool:
        """Wait for one no longer; whether those that wait for their turn waited for it alone to be looked at."""
        if who not in (self._unseen or ()):
            return False
        assert self._unseen is not None
        self._unseen.discard(who)
        return not self._unseen - self._waiting

    def _first_of_waiting(self) -> list[AppOrGroup]:
        last = (2**60, "")
        key = {who: (peer.queued or last) if (peer := self._peers.get(who)) else last for who in self._waiting}
        return sorted(key, key=lambda who: (key[who], promotion_branch(who)))[:FIRST_WOKEN]

    def _unread(self) -> set[AppOrGroup]:
        if self._unseen is None:
            self._unseen = set(self._all_of_main()) - self._peers.keys() - self._barred
        return self._unseen
