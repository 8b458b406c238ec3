"""What is said of a hook: in its gate, in the condition `HooksPassed`, and of gates that people open."""

from dataclasses import replace
from typing import Any

import pytest

from gitops_bg.core.model.analysis import AnalysisRun, AnalysisStage, MeasurementPlan, Metric
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.hooks import Hook, HookAnswer, HookRun, OpenGate
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.world import World
from tests.core.engine.hooks.notation import (
    CONFIRM_PROMOTION,
    CONFIRM_ROLLOUT,
    PRE_ROLLOUT,
    ROLLOUT,
    answer,
    called,
    hook,
    pushed,
    shut,
)
from tests.core.shown import ABSENT, shown
from tests.core.simulation import manual, template
from tests.core.stories import ask, name, push
from tests.core.worlds import NOW, SECOND, active, candidate, decided, digest, world


def gate_of(state: World) -> str:
    """What the last gate of a hook says."""
    return [gate.reason for gate in decided(state).gates if gate.kind in (GateKind.HOOK, GateKind.MANUAL)][-1]


BUSY = {"answer": HookAnswer.REFUSED, "status": 403, "refused": 1, "last_at": NOW}
GOOD = {"answer": HookAnswer.ACCEPTED, "status": 200, "accepted": 1, "last_at": NOW}
MEASURES = {"analysis": (AnalysisRun(AnalysisStage.PRE, digest(2), 2, started_at=NOW),)}
SAID: dict[str, tuple[Hook, dict[str, Any], dict[str, Any], str]] = {
    "asked, and silent so far": (hook(CONFIRM_PROMOTION), {}, {}, "no answer yet"),
    "refused: when it is asked again": (hook(CONFIRM_PROMOTION), BUSY, {}, "refused (403); asked again at 12:00:30Z"),
    "refused: how long it may stay shut": (
        hook(CONFIRM_PROMOTION, deadline=600),
        BUSY,
        {},
        "refused (403); asked again at 12:00:30Z, until 12:10:00Z",
    ),
    "shut for too long": (
        hook(CONFIRM_PROMOTION, deadline=600),
        {**BUSY, "since": NOW - 600 * SECOND, "expired": True},
        {},
        "refused (403); it did not open within 600 s; `gitops-bg retry shop/web` asks anew",
    ),
    "a body that fits is said whole": (
        hook(CONFIRM_PROMOTION, interval=0),
        {"answer": HookAnswer.REFUSED, "text": "x" * 300},
        {},
        f"refused: {'x' * 300}",
    ),
    "a longer one is cut": (
        hook(CONFIRM_PROMOTION),
        {"answer": HookAnswer.REFUSED, "text": "x" * 301},
        {},
        f"refused: {'x' * 300}…",
    ),
    "one of several lines is one": (
        hook(CONFIRM_PROMOTION),
        {**BUSY, "status": 409, "text": "not now\nreally"},
        {},
        "refused (409): not now really; asked again at 12:00:30Z",
    ),
    "rollout: how often of how many, and when again": (
        hook(ROLLOUT, iterations=3),
        GOOD,
        {},
        "accepted (200); asked again at 12:00:30Z",
    ),
    "rollout: that was the last of them": (hook(ROLLOUT), GOOD, {}, "accepted (200)"),
    "rollout: the analysis beside it still runs": (
        hook(ROLLOUT),
        GOOD,
        MEASURES,
        "accepted (200); asked again at 12:00:30Z",
    ),
    "pre-rollout: an analysis that runs asks for no second answer": (
        hook(PRE_ROLLOUT, iterations=3),
        GOOD,
        MEASURES,
        "accepted (200)",
    ),
}
COUNTED = {"rollout: how often of how many, and when again": " ✔1 ✖0 of 3"}
BARE = manual(preview_service=None, pre_promotion_analysis=MeasurementPlan((Metric("errors", "web"),)))


@pytest.mark.parametrize("name", SAID)
def test_what_a_gate_says_of_its_hook(name):
    one, ran, record, said = SAID[name]
    run = replace(HookRun(one.name, one.type, digest(2), 2, NOW), **ran)
    spec = BARE if record else manual(preview_service=None)
    spec = replace(spec, strategy=replace(spec.strategy, hooks=(one,)))
    counted = COUNTED.get(name, " ✔1 ✖0 of 1") if one.type.counts_refusals else ""
    state = world(active(1), candidate(2), spec=spec, record={"hooks": (run,), **record})
    assert gate_of(state) == f"{one.type} hook {one.name}{counted}: {said}"


def test_a_gate_whose_hook_comes_after_another_says_that_it_was_not_asked_yet():
    spec = manual(preview_service=None, hooks=(hook(PRE_ROLLOUT), hook(CONFIRM_PROMOTION)))
    said = "confirm-promotion hook confirm-promotion: not asked yet"
    assert gate_of(world(active(1), candidate(2), spec=spec)) == said


def test_the_condition_has_all_of_the_body_until_the_hook_says_yes_and_traffic_moves():
    sim = pushed(hook(CONFIRM_PROMOTION), spec=manual())
    body = "not now" * 600
    sim.answer({"confirm-promotion": (409, body)})
    condition = shown(sim.decide())["HooksPassed"]
    assert condition[:2] == (False, "Refused")
    assert body in condition.message
    name(sim, "2")  # somebody promotes all the same, and the hook is asked again
    assert sim.live == "1"
    answer(sim, {"confirm-promotion": (200, "go")})
    assert sim.live == "2"
    assert shown(sim.decide())["HooksPassed"] == ABSENT


# --- gates that people open ---

OPENED, OPENED_SILENTLY = (OpenGate("release", "ada", NOW, why) for why in ("tested by hand", ""))
RELEASE = hook(CONFIRM_PROMOTION, name="release", manual=True, deadline=600)
BY_HAND = {
    "closed, however long: it says how to open it": (
        (),
        "manual gate release is closed; `gitops-bg gate open shop/web release` opens it",
    ),
    "opened: by whom, and why": ((OPENED,), "manual gate release was opened by ada: tested by hand"),
    "opened by somebody who did not say why": ((OPENED_SILENTLY,), "manual gate release was opened by ada"),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_what_is_said_of_a_manual_gate(name):
    gates, said = BY_HAND[name]
    run = HookRun("release", CONFIRM_PROMOTION, digest(2), 2, NOW - 900 * SECOND, answer=HookAnswer.REFUSED)
    record = {"open_gates": gates, "hooks": (replace(run, expired=not gates),)}
    spec = manual(preview_service=None, hooks=(RELEASE,))
    assert gate_of(world(active(1), candidate(2), spec=spec, record=record)) == said


@pytest.mark.parametrize(("answer", "since"), [(HookAnswer.REFUSED, NOW - SECOND), (HookAnswer.ACCEPTED, NOW)])
def test_patience_with_a_gate_begins_when_it_is_closed_again(answer, since):
    run = HookRun("release", CONFIRM_PROMOTION, digest(2), 2, NOW - SECOND, answer=answer)
    spec = manual(preview_service=None, hooks=(RELEASE,))
    (after,) = decided(world(active(1), candidate(2), spec=spec, record={"hooks": (run,)})).record.hook_state.runs
    assert (after.answer, after.since) == (HookAnswer.REFUSED, since)


def test_it_is_closed_until_somebody_opens_it_and_the_ledger_says_who_and_why():
    sim = pushed(hook(CONFIRM_PROMOTION, name="release", manual=True))
    ask(sim, OperatorCommand.OPEN_GATE, gate="relaese")
    assert (sim.live, called(sim), sim.record.hook_state.open_gates) == ("1", [], ())
    assert any("`gitops-bg gate open shop/web release`" in reason for reason in shut(sim))
    ask(sim, OperatorCommand.OPEN_GATE, gate="release")
    assert sim.live == "2"
    (entry,) = [entry for entry in sim.entries() if entry.event == "gate-opened"]
    assert (entry.by, entry.reason, entry.to_version) == ("ada", "release: because", 2)


def test_it_stays_open_for_the_next_version_until_somebody_closes_it():
    sim = pushed(hook(CONFIRM_ROLLOUT, name="go", manual=True))
    ask(sim, OperatorCommand.OPEN_GATE, gate="go")
    push(sim, "3")
    assert sim.live == "3"
    sim.ask(OperatorCommand.CLOSE_GATE, gate="go")
    push(sim, "4")
    assert (sim.live, sim.pods[template("4").digest].replicas) == ("3", 0)
    assert "gate-closed" in sim.events()


def test_closing_it_does_not_shrink_what_was_let_begin():
    sim = pushed(hook(CONFIRM_ROLLOUT, name="go", manual=True), spec=manual())
    ask(sim, OperatorCommand.OPEN_GATE, gate="go")
    ask(sim, OperatorCommand.CLOSE_GATE, gate="go")
    assert sim.pods[template("2").digest].replicas == 3
