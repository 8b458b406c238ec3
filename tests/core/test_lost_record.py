"""A record lost during an emergency: what the ledger and traffic still say of it (DESIGN §4.7)."""

from dataclasses import replace

import pytest

from gitops_bg.core.engine import decide
from gitops_bg.core.model.desired import LedgerMemory
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.git.looks import Awaited
from gitops_bg.core.model.record import Cause, Hold, Lift, Record
from gitops_bg.core.world import World
from tests.core.simulation import manual, template
from tests.core.worlds import EARLIER, NOW, digest, pods, primary, service, target, world

SINCE = primary(2).changed_by.commit


def lost(
    live: int = 1, held: int = 2, cause: Cause = Cause.ROLLED_BACK, since: str = SINCE, names: int = 2, served: int = 2
) -> World:
    """Versions 1 to 3 have pods; main names ``names``; the ledger knows a hold, and what main named at ``since``."""
    memory = LedgerMemory(
        rollout=7,
        last_version=3,
        active_digests=tuple(digest(number) for number in range(1, served + 1)),
        holds=(Hold(digest(held), "5xx", EARLIER, cause),),
        primary_by=since,
    )
    desired = {"target": target(2), "primary": replace(primary(names), changed_by=primary(2).changed_by)}
    observed = {"active_service": service("web", live), "preview_service": service("web-preview", live)}
    sets = tuple(pods(number) for number in (1, 2, 3))
    state = world(sets=sets, spec=manual(), desired={**desired, "memory": memory}, observed=observed)
    return replace(state, record=Record())


def decided(state: World) -> Record:
    """The record after the first pass."""
    return decide(state.spec, state.desired, state.observed, state.record, NOW).record


EMERGENCIES = {
    "traffic was taken back, and main did not hear of it": (lost(), 1),
    "somebody aborted it before it served": (lost(cause=Cause.ABORTED, served=1), 1),
    "a reverted push cancelled its promotion": (lost(cause=Cause.TAKEN_BACK, served=1), 1),
    "traffic had not moved yet": (lost(live=2), 1),
    "nor to what main names since": (lost(live=2, names=3), 1),
    "traffic had not moved yet, and main was changed since": (lost(live=2, since="f" * 40), None),
    "main was changed since: that is somebody's answer": (lost(since="f" * 40), None),
    "an older release wrote the ledger: nobody can tell": (lost(since=""), None),
    "who merged what then expired was not too late": (lost(cause=Cause.EXPIRED, served=1), None),
    "another version is on hold": (lost(held=3), None),
    "traffic is where main says": (lost(live=2, held=1), None),
}


@pytest.mark.parametrize("name", EMERGENCIES)
def test_emergency_goes_on_without_its_record(name: str) -> None:
    """Found so: live traffic went forward again to what had just been rolled back, as its record was lost."""
    state, goes_to = EMERGENCIES[name]
    record = decided(state)
    assert (record.routing.override.to_digest if record.routing.override else None) == (
        digest(goes_to) if goes_to else None
    )
    if goes_to:
        assert record.routing.override.awaits is None, "whatever comes later in main is newer"
        assert short(record.routing.traffic) == state.observed.active_service.digest, "no traffic has moved"
        assert record.git.primary == state.desired.primary.snapshot.digest
        assert record.held(digest(2)), "it is not to be promoted again until somebody says so"


def test_what_the_ledger_says_against_the_version_that_serves_stays() -> None:
    """Found so: a rollback led back to a version that somebody had rolled back, before traffic had left it."""
    record = decided(lost(live=2, names=3))
    assert record.routing.traffic == digest(2)
    assert record.held(digest(2))


def test_past_holds_stay_too() -> None:
    state = lost(live=2, names=3)
    past = Hold(digest(2), "5xx", EARLIER, Cause.ROLLED_BACK, Lift.SAID_SO)
    memory = replace(state.desired.memory, holds=(), past_holds=(past,))
    record = decided(replace(state, desired=replace(state.desired, memory=memory)))
    assert record.objection(digest(2)) == past


FOLLOWED = {
    "main named what serves, then what is held: somebody's answer": (("1", "2"), None),
    "main named something else in between": (("3", "2"), 1),
    "nobody can tell now": (None, 1),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_an_emergency_that_main_had_followed_is_over(name: str) -> None:
    """Found so: the agent took back what somebody promoted after it, the ledger not knowing that main had followed."""
    named, goes_to = FOLLOWED[name]
    state = lost(cause=Cause.ABORTED, since="f" * 40)
    hold = replace(state.desired.memory.holds[0], awaits=Awaited("before", 3))
    memory = replace(state.desired.memory, holds=(hold,))
    passed = None if named is None else tuple(map(template, named))
    record = decided(replace(state, desired=replace(state.desired, memory=memory, passed=passed)))
    assert (record.routing.override.to_digest if record.routing.override else None) == (
        digest(goes_to) if goes_to else None
    )
    assert bool(record.held(digest(2))) is bool(goes_to)
