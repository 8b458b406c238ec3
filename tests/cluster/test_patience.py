"""How long a status may wait for the next save: what people act on never, a count a second, a note a minute."""

import pytest

from gitops_bg.cluster.status import WHILE_COUNTED, WHILE_NOTED, patience

DRAINING, WARM = {"gate": "draining", "version": 1}, {"gate": "scaleDown", "version": 1}
ROLLOUT = {"number": 2, "outcome": "Promoted"}
LIVE = {
    "phase": "Healthy",
    "replicas": 4,
    "readyReplicas": 2,
    "conditions": [{"type": "Healthy", "status": "True"}],
    "gates": [],
    "waits": [DRAINING, WARM],
    "rollouts": [ROLLOUT],
    "record": {"epoch": "5eed"},
}

NOTED = {
    "nothing": {},
    "the record, which the core judges": {"record": {"epoch": "another"}},
    "nothing reaches the old version any more": {"waits": [WARM]},
    "the rollout is complete": {"rollouts": [{**ROLLOUT, "settledAt": "2026-01-01T12:00:00Z"}]},
}
COUNTED = {
    "pods of all versions": {"replicas": 2},
    "pods of the target": {"updatedReplicas": 1},
    "ready pods": {"readyReplicas": 1},
    "available pods": {"availableReplicas": 1},
    "pods, and a note": {"readyReplicas": 1, "waits": [WARM]},
}
AT_ONCE = {
    "the phase": {"phase": "Degraded"},
    "a condition": {"conditions": [{"type": "Healthy", "status": "False"}]},
    "a gate": {"gates": [{"kind": "hold", "open": False}]},
    "another wait": {"waits": [DRAINING, WARM, {"gate": "probation", "version": 2}]},
    "how a rollout ended": {"rollouts": [{**ROLLOUT, "outcome": "RolledBack"}]},
    "another rollout": {"rollouts": [{"number": 3}, ROLLOUT]},
    "how many pods are wanted": {"desiredReplicas": 5},
    "of which spec it is": {"observedGeneration": 2},
    "a pull request": {"pullRequest": {"number": 7}},
}


@pytest.mark.parametrize("name", NOTED)
def test_notes_wait_a_minute(name: str) -> None:
    assert patience(LIVE, {**LIVE, **NOTED[name]}) == WHILE_NOTED


@pytest.mark.parametrize("name", COUNTED)
def test_counts_wait_a_second(name: str) -> None:
    assert patience(LIVE, {**LIVE, **COUNTED[name]}) == WHILE_COUNTED


@pytest.mark.parametrize("name", AT_ONCE)
def test_what_people_act_on_is_saved_at_once_whatever_else_is_new(name: str) -> None:
    assert patience(LIVE, {**LIVE, **AT_ONCE[name]}) is None
    assert patience(LIVE, {**LIVE, "replicas": 2, **AT_ONCE[name]}) is None


@pytest.mark.parametrize("written", [7, "text", None, [7], {"gate": 7}])
def test_what_somebody_else_wrote_there_is_overwritten(written: object) -> None:
    assert patience({**LIVE, "waits": written, "rollouts": written}, LIVE) is None
