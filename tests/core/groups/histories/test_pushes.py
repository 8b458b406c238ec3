"""A promise over random lives of a group: a request that a service answers goes to another one by a promotion or a
rollback alone, whatever is pushed, whatever the Gateway says, and whenever the agent dies.
"""

from __future__ import annotations

import os
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_bg.core.groups.model import VersionStage
from tests.core.groups.gateway import DENIED, NOBODY
from tests.core.groups.simulation import Died, World, version

FEW = int(os.environ.get("HISTORIES", "50")) // 2
"""How many random lives the promise is tried on; `make histories` takes more, as CI does."""
PATHS = ("/a", "/a/x", "/a/x/y", "/b", "/b/x", "/")
SERVICES = ("cart", "auth", "tips")
ACTS = st.one_of(
    st.tuples(st.just("push"), st.sampled_from(("v1", "v2", "v3")), st.sampled_from(SERVICES), st.sampled_from(PATHS)),
    st.tuples(st.just("ask for"), st.sampled_from(("v1", "v2", "v3"))),
    st.tuples(st.just("the gateway"), st.sampled_from((True, False, None))),
    st.tuples(st.just("without pods"), st.sets(st.sampled_from([f"{s}-{v}" for s in SERVICES for v in ("v1", "v2")]))),
    st.tuples(st.just("wait"), st.sampled_from((6, 700))),
    st.tuples(st.just("die after"), st.integers(1, 3)),
)


class Life:
    """A group and what its users saw; ``paths`` are those of each service of each version."""

    def __init__(self) -> None:
        self.paths: dict[str, dict[str, set[str]]] = {"v1": {"cart": {"/a"}, "auth": {"/b"}}, "v2": {"cart": {"/a"}}}
        self.world = World({})
        self._write()
        self.world.settle()

    def _write(self) -> None:
        for name, services in self.paths.items():
            content = repr(sorted((service, sorted(paths)) for service, paths in services.items()))
            folder = {service: " ".join(sorted(paths)) for service, paths in services.items()}
            self.world.versions[name] = version(content, **folder)

    def act(self, what: str, *how: object) -> None:
        match (what, *how):
            case ("push", str(name), str(service), str(path)):
                services = self.paths.setdefault(name, {"cart": {"/a"}})
                if not any(path in paths for paths in services.values()):  # `check` refuses a path that two have
                    services.setdefault(service, set()).add(path)
                self._write()
            case ("ask for", str(name)) if name in self.paths:
                self.world.active = name
            case ("the gateway", accepts):
                self.world.accepts = accepts  # type: ignore[assignment]
            case ("without pods", set(gone)):
                self.world.gone = gone
            case ("wait", int(seconds)):
                self.world.after(seconds)
            case ("die after", int(writes)):
                with suppress(Died):
                    self.world.step(writes)
                return
        self.run()

    def run(self) -> None:
        for _ in range(60):
            before, moving = self.seen(), self.world.record.transition
            wrote = self.world.step()
            is_on_its_way = moving is not None or self.world.record.transition is not None
            if not is_on_its_way:
                for path, by in self.seen().items():
                    assert before[path] in (by, NOBODY, DENIED), f"{path} went from {before[path]} to {by} by a push"
            if not wrote:
                return
        raise AssertionError("the group never comes to rest")

    def seen(self) -> dict[str, str]:
        return {path: self.world.ask(path) for path in PATHS}


@settings(max_examples=FEW, deadline=None)
@given(st.lists(ACTS, max_size=14))
def test_no_push_moves_a_request_from_one_service_to_another(acts: list[tuple]) -> None:
    life = Life()
    for act in acts:
        life.act(*act)
        state = life.world.record.state
        assert len(state.at(VersionStage.ACTIVE)) == 1
