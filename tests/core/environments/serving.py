"""A release that serves while time goes on: the world of an environment that later ones ask for proof."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from gitops_bg.core.engine import decide
from gitops_bg.core.environments.proven import EnvironmentInput
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.record import Event, Record
from gitops_bg.core.model.version import ReleaseId
from gitops_bg.core.world import World
from tests.core.worlds import EARLIER, active, target, world

MINUTE = timedelta(minutes=1)
R1 = ReleaseId(1, "r1:" + "1" * 64, "1" * 40)
R2 = ReleaseId(2, "r1:" + "2" * 64, "2" * 40)
STAGING = EnvironmentInput("staging", thresholds=(30 * 60, 2 * 3600), watched_since=EARLIER)


def serving(environment: EnvironmentInput | None = STAGING, **changes: Any) -> World:
    """Version 1 serves release 1, and all is well."""
    state = world(
        active(1, routed_at=EARLIER, release=R1),
        desired={"environment": environment, "target": replace(target(1), release=R1)},
    )
    return replace(state, **changes)


def after(state: World, wait: timedelta) -> World:
    """The same world later, with what was remembered."""
    return replace(state, record=decided(state).record, now=state.now + wait)


def decided(state: World) -> Decision:
    return decide(state.spec, state.desired, state.observed, state.record, state.now)


def proven(record: Record) -> list[tuple[str, int]]:
    return [(each.release.name, each.seconds) for each in record.proving.proven]


def told(decision: Decision) -> list[str]:
    return [entry.reason for entry in decision.record.ledger if entry.event is Event.PROVEN]


def run_for(state: World, length: timedelta, step: timedelta = MINUTE) -> World:
    """Decide again and again, as an agent that looks each minute."""
    for _ in range(int(length / step)):
        state = after(state, step)
    return state
