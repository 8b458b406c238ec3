"""As docs/architecture/engine.md says: a new gate needs one function and one line in a chain; every gate is in one."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import pytest

from gitops_bg.core.checks import gates
from gitops_bg.core.checks.gating import analyses, hooks, people, pods, policies, routes, standing
from gitops_bg.core.model.decision import Decision, GateResult
from gitops_bg.core.model.observed import GitView, PromotionBranch
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World
from tests.core.simulation import automatic
from tests.core.worlds import NOW, SECOND, active, candidate, decided, digest, world

END = NOW + 3600 * SECOND


def freeze_window(world: World, _: Version) -> GateResult:
    """A gate as somebody may add it: nothing is promoted before a moment."""
    return GateResult("freezeWindow", world.now >= END, "frozen over the holidays", END, "ask the release manager")


def to_the_chain(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Add the gate to the end of one chain: the one line."""
    if name == "BEFORE_SWITCH":
        longer = (*gates.BEFORE_SWITCH[SwitchKind.PROMOTION], freeze_window)
        monkeypatch.setattr(gates, name, {**gates.BEFORE_SWITCH, SwitchKind.PROMOTION: longer})
    else:
        monkeypatch.setattr(gates, name, (*getattr(gates, name), freeze_window))


def is_committed(decision: Decision) -> bool:
    return any("commit primary.yaml" in str(action) for action in decision.actions)


def is_switched(decision: Decision) -> bool:
    return decision.record.routing.switch is not None


OFFERED = {"git": GitView(main_refused="protected branch", promotion=PromotionBranch(digest(1), ""))}
FROZEN: dict[str, tuple[str, World, Callable[[Decision], bool]]] = {
    "the commit of a promotion": ("BEFORE_COMMIT", world(active(1), candidate(2), spec=automatic()), is_committed),
    "a promotion that main names": ("BEFORE_SWITCH", world(active(1), candidate(2), names_=2), is_switched),
    "the commit of a first deployment": ("FIRST_DEPLOYMENT", world(candidate(1)), is_committed),
    "a first deployment that main refuses": ("FIRST_DEPLOYMENT", world(candidate(1), observed=OFFERED), is_switched),
}


@pytest.mark.parametrize("name", FROZEN)
def test_new_gate_stops_until_its_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chain, state, happened = FROZEN[name]
    assert happened(decided(state)), "without the gate nothing is in the way"
    to_the_chain(monkeypatch, chain)
    assert not happened(decided(replace(state, now=END - SECOND)))
    assert happened(decided(replace(state, now=END)))


@pytest.mark.parametrize("name", FROZEN)
def test_new_gate_is_shown_waited_for_and_woken_up_at(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chain, state, _ = FROZEN[name]
    to_the_chain(monkeypatch, chain)
    decision = decided(state)
    shown = next(gate for gate in decision.gates if gate.kind == "freezeWindow")
    assert (shown.open, shown.until, shown.remedy) == (False, END, "ask the release manager")
    assert [wait.until for wait in decision.waits if wait.gate == "freezeWindow"] == [END]
    assert decision.wake_at == END


def gates_of(module: ModuleType) -> set[str]:
    """The public functions of a module that are gates."""
    named = inspect.getmembers(module, inspect.isfunction)
    own = [(name, found) for name, found in named if found.__module__ == module.__name__ and not name.startswith("_")]
    return {name for name, found in own if "digest" not in inspect.signature(found).parameters}


def test_every_gate_stands_in_a_chain() -> None:
    chains = (gates.FIRST_DEPLOYMENT, gates.BEFORE_COMMIT, gates.SHOWN_BEFORE_COMMIT, gates.SWITCH_BEGUN, gates.AT_REST)
    listed = {gate.__name__ for chain in (*chains, *gates.BEFORE_SWITCH.values()) for gate in chain}
    assert set().union(*map(gates_of, (analyses, hooks, people, pods, policies, routes, standing))) == listed
