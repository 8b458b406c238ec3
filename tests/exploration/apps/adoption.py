"""What can happen to an app that is adopted from a Deployment, and released to it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.exploration.apps import handover
from tests.exploration.apps.life import Life, Rules
from tests.exploration.seed import Event, Memory
from tests.exploration.world import Cluster, Former, State, Violation


class Adoption(Life):
    """The transitions of an app with ``spec.adopt``: a Deployment serves until its first version does."""

    def __init__(self, rules: Rules, memory: Memory) -> None:
        super().__init__(rules, memory)
        self._released: set[tuple[int, int]] = set()

    @staticmethod
    def nothing() -> Cluster:
        """A Deployment with its pods, and a Service that selects them."""
        return Cluster(active="", former=Former(), theirs=True)

    # --- what people do -------------------------------------------------------------------------------------

    def release(self, state: State) -> State | None:
        """Somebody asks for the release in app.yaml, or takes that back."""
        if not self.git(state).up:
            return None
        return self.decided(self.commit(state, released=not self.head(state).released))

    def scale_former(self, state: State, replicas: int) -> State | None:
        """Somebody scales the Deployment."""
        former = self._former(state)
        if former.gone or former.replicas == replicas:
            return None
        return self._with_former(state, Former(replicas, min(former.available, replicas)))

    def former_pods(self, state: State, up: bool) -> State | None:
        """The pods of the Deployment fail, or come up."""
        former = self._former(state)
        changed = former._replace(available=former.replicas if up else 0)
        return None if changed == former else self._with_former(state, changed)

    def delete_former(self, state: State) -> State | None:
        """Somebody deletes the Deployment, or applies it again without pods."""
        return self._with_former(state, Former(0, 0, gone=not self._former(state).gone))

    def _former(self, state: State) -> Former:
        former = self.cluster(state).former
        assert former is not None
        return former

    def _with_former(self, state: State, former: Former) -> State:
        return self.with_cluster(state, self.cluster(state)._replace(former=former))

    # --- agents ---------------------------------------------------------------------------------------------

    def _cached(self, state: State) -> tuple[int, int]:
        """No cache has the Deployment: it is read where it counts."""
        cluster, record = super()._cached(state)
        fresh = self.pools.cluster[cluster]._replace(former=self._former(state))
        return self.pools.cluster.number(fresh), record

    # --- getting on with it ---------------------------------------------------------------------------------

    def _work(self, state: State) -> State:
        state = super()._work(state)
        state = self.former_pods(state, True) or state
        return state._replace(old=0)

    def _check(self, state: State) -> None:
        head, cluster, record = self.head(state), self.cluster(state), self.record(state)
        if head.released:
            handover.rests_released(head, cluster, record)
        else:
            handover.rests_adopted(head, cluster, record)
        if head.released or cluster.theirs:
            self._is_told_what_leads_on(state)
            return
        super()._check(state)
        self._can_be_released(state)

    def _can_be_released(self, state: State) -> None:
        """Wherever it has taken the Service over, an app can be released."""
        cluster = self.cluster(state)
        if not handover.can_be_released(cluster) or (state.cluster, state.record) in self._released:
            return
        self._released.add((state.cluster, state.record))
        after = self.settle(self.release(state) or state)
        if not self.cluster(after).theirs:
            raise Violation(f"it cannot be released: the Service stays at {self.cluster(after).active!r}")

    def following(self, state: State) -> Iterator[tuple[Event, Callable[[], State | None]]]:
        """Every event that may happen now."""
        yield from super().following(state)
        events: list[Event] = [("release",)]
        if "former" in self.rules.kinds:
            events += [("scale_former", replicas) for replicas in (0, 1, 2)]
            events += [("former_pods", False), ("former_pods", True), ("delete_former",)]
        for event in events:
            yield event, lambda event=event: self.happen(state, event)
