"""Versions that do not become available in time: `progressDeadlineAbort` and `expireAfterSeconds`, at once or later."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.model.actions import CommitPrimary
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.observed import GitView, OperatorCommand, PromotionBranch
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.spec import OnExpire, Suspension
from gitops_bg.core.model.statements import Override
from tests.core.simulation import automatic, deployed, manual
from tests.core.stories import ask, coming, name, push, retry, wait
from tests.core.worlds import (
    EARLIER,
    HELD_MAIN,
    NOW,
    SECOND,
    active,
    candidate,
    decided,
    digest,
    legacy,
    pods,
    rising,
    world,
)

LATE = replace(manual(), progress_deadline_abort=True)
FAILED = {"failure": "ProgressDeadlineExceeded", "waiting_since": EARLIER}
UNREADY = (pods(1), pods(2, 3, 0))
SUSPENDED = Suspension("incident", "ada")

# world: the numbers held, where an override leads
ABORTED_LATE = {
    "a candidate": (world(active(1), rising(2, **FAILED), spec=LATE, sets=UNREADY), ({2}, 0)),
    "one that primary.yaml names: Git is told to go back to what serves": (
        world(active(1), rising(2, **FAILED), names_=2, spec=LATE, sets=UNREADY),
        ({2}, 1),
    ),
    "one that primary.yaml names, and not the candidate behind it": (
        world(active(1), rising(2, **FAILED), rising(3, waiting_since=NOW), names_=2, spec=LATE, sets=UNREADY),
        ({2}, 1),
    ),
    "not where it is not asked for": (world(active(1), rising(2, **FAILED), sets=UNREADY), (set(), 0)),
    "not one that has time left": (world(active(1), rising(2, waiting_since=NOW), spec=LATE, sets=UNREADY), (set(), 0)),
    "not the first deployment": (world(rising(1, **FAILED), spec=LATE, sets=(pods(1, 3, 0),)), (set(), 0)),
    "not the way back: what it leaves is on hold": (
        world(legacy(1, **FAILED), active(2), names_=1, spec=LATE, sets=(pods(1, 3, 0), pods(2))),
        ({2}, 0),
    ),
    "not during a suspension": (
        world(active(1), rising(2, **FAILED), spec=replace(LATE, suspend=SUSPENDED), sets=UNREADY),
        (set(), 0),
    ),
}


def outcome(after):
    override = after.record.override
    held = {version.number for version in after.record.versions if after.record.held(version.digest)}
    return held, after.record.version(override.to_digest).number if override else 0


@pytest.mark.parametrize("name", ABORTED_LATE)
def test_past_its_deadline_is_aborted(name):
    state, expected = ABORTED_LATE[name]
    assert outcome(decided(state)) == expected


def test_abort_past_the_deadline_is_told_once_and_comes_to_rest():
    app = deployed(LATE)
    app.bad_tags.add("2")
    push(app, "2")
    wait(app, seconds=601)
    assert (app.live, app.held) == ("1", {"2"})
    assert app.events().count("aborted") == 1
    assert "progressDeadlineAbort" in app.entries()[-1].reason


def test_abort_that_is_switched_on_later_holds_for_what_failed_before():
    app = deployed(manual())
    app.bad_tags.add("2")
    push(app, "2")
    wait(app, seconds=601)
    assert not app.held
    app.spec = LATE
    app.settle()
    assert app.held == {"2"}


def test_aborted_promotion_that_never_moved_traffic_is_committed_back():
    app = deployed(LATE)
    app.bad_tags.add("2")
    push(app, "2")
    name(app, "2")
    wait(app, seconds=601)
    assert (app.live, app.primary, app.held) == ("1", "1", {"2"})
    assert app.record.override is None


def test_retry_after_an_abort_gets_the_whole_deadline_again():
    app = deployed(LATE)
    app.bad_tags.add("2")
    push(app, "2")
    wait(app, seconds=601)
    retry(app)
    wait(app, seconds=599)
    assert not app.held
    wait(app, seconds=2)
    assert app.held == {"2"}


def test_raised_deadline_gives_a_failed_candidate_more_time():
    app = deployed(manual())
    app.bad_tags.add("2")
    push(app, "2")
    wait(app, seconds=601)
    app.spec = replace(LATE, progress_deadline_seconds=3600)
    app.settle()
    assert (app.held, app.events()[-2:]) == (set(), ["failed", "recovered"])
    wait(app, seconds=3000)
    assert app.held == {"2"}


EXPIRES = manual(expire_after_seconds=3600)
PROMOTES = manual(expire_after_seconds=3600, on_expire=OnExpire.PROMOTE)
NEWLY = {"available_since": NOW - timedelta(seconds=3599)}

EXPIRED = {
    "a candidate whose time is up": (world(active(1), candidate(2), spec=EXPIRES), {2}),
    "not a second before": (world(active(1), candidate(2, **NEWLY), spec=EXPIRES), set()),
    "not one that may wait for ever": (world(active(1), candidate(2)), set()),
    "not one whose pods are not available": (world(active(1), rising(2), spec=EXPIRES, sets=UNREADY), set()),
    "not one that primary.yaml names": (world(active(1), candidate(2), names_=2, spec=EXPIRES), set()),
    "not one that is promoted instead": (world(active(1), candidate(2), spec=PROMOTES), set()),
    "not while a rollback waits for its commit": (
        world(
            active(2),
            legacy(3),
            candidate(4),
            names_=3,
            spec=EXPIRES,
            record={"override": Override(digest(3), digest(2), "5xx", "ada", NOW)},
        ),
        set(),
    ),
    "not the first deployment": (world(candidate(1), spec=EXPIRES), set()),
    "not during a suspension": (world(active(1), candidate(2), spec=replace(EXPIRES, suspend=SUSPENDED)), set()),
    "not while Git is away: nobody could promote it": (
        world(active(1), candidate(2), spec=EXPIRES, observed={"git": GitView(unreachable="refused")}),
        set(),
    ),
    "not while main is not verified: nobody could promote it": (
        world(active(1), candidate(2), spec=EXPIRES, observed={"git": GitView(verification=HELD_MAIN)}),
        set(),
    ),
}


@pytest.mark.parametrize("name", EXPIRED)
def test_expires(name):
    state, held = EXPIRED[name]
    assert outcome(decided(state))[0] == held


def test_expired_candidate_is_released_and_its_offer_withdrawn():
    app = coming(EXPIRES)
    assert app.branch == "2"
    wait(app, seconds=3601)
    assert (app.branch, app.held, app.live) == (None, {"2"}, "1")
    assert app.events()[-1] == Event.ABORTED


def test_expired_candidate_is_promoted_by_the_agent_where_that_is_asked_for():
    app = coming(PROMOTES)
    wait(app, seconds=3599)
    assert app.live == "1"
    wait(app, seconds=1)
    assert (app.live, app.primary, app.branch, app.held) == ("2", "2", None, set())


def test_old_tag_pushed_again_is_not_promoted_by_time_alone():
    old = candidate(1, activated_at=EARLIER, left_at=EARLIER)
    state = world(old, active(2), wants=1, spec=PROMOTES)
    assert not any(isinstance(action, CommitPrimary) for action in decided(state).actions)


@pytest.mark.parametrize(("spec", "end"), [(EXPIRES, "aborted"), (PROMOTES, "promoted by itself")])
def test_approval_gate_shows_when_the_candidate_expires(spec, end):
    branch = GitView(promotion=PromotionBranch(digest(2), digest(1)), ledger_epoch="5eed")
    state = world(active(1), candidate(2, **NEWLY), spec=spec, observed={"git": branch})
    gate = next(gate for gate in decided(state).gates if gate.kind is GateKind.APPROVAL)
    assert (gate.open, gate.until) == (False, NOW + SECOND)
    assert end in gate.reason
    assert decided(state).wake_at == NOW + SECOND


def test_automatic_promotion_comes_before_the_end():
    app = coming(automatic(auto_promotion_seconds=60, expire_after_seconds=61))
    wait(app, seconds=60)
    assert app.live == "2"


def test_version_on_hold_does_not_expire():
    app = coming(EXPIRES)
    ask(app, OperatorCommand.ABORT)
    assert [(gate.kind, gate.until) for gate in app.decide().gates] == [(GateKind.HOLD, None)]
