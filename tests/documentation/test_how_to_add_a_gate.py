"""As docs/architecture/engine.md says: a new gate needs one function and one line in a chain; every gate is in one."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import pytest

from gitops_bg.core.checks import gates
from gitops_bg.core.delivery import gates as alike
from gitops_bg.core.groups import gates as of_groups
from gitops_bg.core.groups import world as of_members
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


CHAINS = (gates.FIRST_DEPLOYMENT, gates.BEFORE_COMMIT, gates.SHOWN_BEFORE_COMMIT, gates.SWITCH_BEGUN, gates.AT_REST)
OF_APPS = {gate.__name__ for chain in (*CHAINS, *gates.BEFORE_SWITCH.values()) for gate in chain}
OF_GROUPS = {gate.__name__ for chain in (of_groups.BEFORE_PROMOTION, of_groups.BEFORE_ROLLBACK) for gate in chain}


def gates_of(*modules: ModuleType) -> set[str]:
    """The public functions of these modules that are asked about a world and a version, and answer as gates do."""
    named = ((module, each) for module in modules for _, each in inspect.getmembers(module, inspect.isfunction))
    own = {each for module, each in named if each.__module__ == module.__name__ and not each.__name__.startswith("_")}
    signed = ((each.__name__, inspect.signature(each)) for each in own)
    return {name for name, of in signed if len(of.parameters) == 2 and "GateResult" in str(of.return_annotation)}


def test_every_gate_stands_in_a_chain() -> None:
    common = gates_of(alike)
    through_chains = {
        "gates_before_commit",
        "gates_before_own_commit",
        "gates_before_switch",
        "gates_of_begun_switch",
        "gates_before_first",
        "shut_after_commit",
        "standing_gates",
    }
    assert common | gates_of(gates) - through_chains == OF_APPS
    of_the_groups_file = gates_of(of_groups) - {"gates_of", "gates_before_merge"}
    assert of_the_groups_file | gates_of(of_members) | common & OF_GROUPS == OF_GROUPS


def test_what_apps_and_groups_have_alike_stands_in_the_chains_of_both() -> None:
    of_apps_alone = {
        "live_verdict",  # Who names another version of a group has seen a pause.
        "live_version_judged",
        "jobs_before_pods",  # Each service of a group has its own.
        "contract",
    }
    assert gates_of(alike) - of_apps_alone <= OF_APPS & OF_GROUPS
