"""The life of versions: numbers, colors, stages, which are forgotten, when, and what is remembered of them."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.desired import Missing, Problem
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Event, Record, Routing, Switch, SwitchKind
from gitops_bg.core.model.spec import Suspension
from gitops_bg.core.model.statements import Hold
from gitops_bg.core.model.version import Color, Snapshot, Stage
from tests.core.simulation import automatic, deployed, manual, template
from tests.core.stories import ask, coming, promoted, push, revert, wait
from tests.core.worlds import (
    NOW,
    SECOND,
    active,
    archived,
    candidate,
    decided,
    digest,
    legacy,
    pods,
    primary,
    rising,
    service,
    source,
    world,
)

NAMED_7 = {"primary": primary(7)}
NUMBERS = {
    "the next one": (world(active(1), wants=2), 2),
    "the next one, also after a forgotten one": (world(active(1), wants=2, record={"last_version": 9}), 10),
    "the one that primary.yaml gives it": (world(active(1), wants=1, names_=7, desired=NAMED_7), 7),
    "the next one where that is taken": (
        world(active(1), candidate(2), wants=2, desired={"primary": replace(primary(9), version=1)}),
        3,
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_new_version_is_numbered(name):
    state, number = NUMBERS[name]
    record = decided(state).record
    (new,) = {one.number for one in record.versions} - {one.number for one in state.record.versions}
    assert (new, record.last_version) == (number, number)
    assert (record.numbered(new).activated_at, record.numbered(new).left_at) == (None, None)


COLORS = {
    "blue for the first": (world(wants=1), 1, Color.BLUE),
    "green beside blue": (world(active(1), wants=2), 2, Color.GREEN),
    "blue beside green": (world(legacy(1), active(2), wants=3), 3, Color.BLUE),
    "that which the primary of a rebuilt cluster does not have": (world(rising(1), names_=1, wants=2), 2, Color.GREEN),
    "that which the live one does not have, of an old one rolled out again": (
        world(legacy(1), legacy(2), active(3), wants=1),
        1,
        Color.GREEN,
    ),
}


@pytest.mark.parametrize("name", COLORS)
def test_the_color_of_a_candidate_is(name):
    state, number, color = COLORS[name]
    assert decided(state).record.numbered(number).color is color


def test_a_new_rollout_has_a_number_of_its_own_and_nothing_of_the_one_before():
    old = legacy(2, failure="late", available_since=NOW - SECOND, waiting_since=NOW - SECOND)
    started = decided(world(active(1), old, wants=2, sets=(pods(1), pods(2, 0)))).record.numbered(2)
    assert (started.rollout, started.stage, started.retiring) == (3, Stage.CANDIDATE, False)
    assert (started.failure, started.available_since, started.waiting_since) == ("", None, NOW)


# --- following the target ---

PROBLEM = (Problem("target.yaml", "broken"),)
HELD = {"holds": (Hold(digest(2), "5xx", NOW),)}
CANDIDATES = {
    "a new target": (world(active(1), wants=2), 2, {"candidate"}),
    "a newer target": (world(active(1), candidate(2), wants=3), 3, {"candidate", "superseded"}),
    "a target that served before": (world(legacy(1), active(2), wants=1), 1, {"candidate"}),
    "a target that was cancelled before": (world(active(1), candidate(2, retiring=True), wants=2), 2, {"candidate"}),
    "the same target": (world(active(1), candidate(2)), 2, set()),
    "the target back at the live version": (world(active(1), candidate(2), wants=1), None, {"cancelled"}),
    "the target back at an older version that is not live": (
        world(active(1), candidate(2, retiring=True), candidate(3), wants=2),
        2,
        {"candidate", "cancelled"},
    ),
    "no target: what it named before is kept": (world(active(1), candidate(2), wants=0), 2, set()),
    "a held target": (world(active(1), legacy(2), wants=2, record=HELD), None, set()),
    "a new target while it is suspended": (
        world(active(1), wants=2, spec=replace(manual(), suspend=Suspension("x"))),
        None,
        set(),
    ),
    "a new target beside a broken file": (world(active(1), wants=2, desired={"problems": PROBLEM}), None, set()),
    "a target that broke while its candidate waits": (
        world(active(1), candidate(2), desired={"target": Missing.ABSENT, "problems": PROBLEM}),
        2,
        set(),
    ),
    "a newer target while main names the older one": (
        world(active(1), candidate(2), names_=2, wants=3),
        3,
        {"candidate"},
    ),
}


@pytest.mark.parametrize("name", CANDIDATES)
def test_candidate_for(name):
    state, number, events = CANDIDATES[name]
    record = decided(state).record
    wanted = [one.number for one in record.versions if one.stage is Stage.CANDIDATE and not one.retiring]
    assert max(wanted, default=None) == number
    assert {entry.event.value for entry in record.ledger} - {"suspended", "invalid"} == events


def test_the_ledger_says_who_set_the_target_back_by_which_commit_and_to_what():
    back = world(active(1), candidate(2, retiring=True), candidate(3), wants=2)
    entry = next(one for one in decided(back).record.ledger if one.event is Event.CANCELLED)
    assert (entry.from_version, entry.to_version) == (3, 2)
    assert (entry.by, entry.commit) == ("Ada <ada@example.com>", f"{2:040x}")
    assert entry.reason == "the target went back to 2 (v2)"


def test_a_new_version_lifts_every_hold_and_an_old_one_lifts_none():
    holds = {"holds": (Hold(digest(2), "5xx", NOW), Hold(digest(3), "4xx", NOW))}
    state = world(active(1), legacy(2), legacy(3), record=holds)
    without = replace(state, desired=replace(state.desired, target=Missing.ABSENT))
    assert decided(without).record.holds == holds["holds"]
    assert decided(world(active(1), legacy(2), legacy(3), wants=4, record=holds)).record.holds == ()


# --- what is forgotten ---


def keeping(limit: int):
    return replace(manual(), revision_history_limit=limit)


FORGOTTEN = {
    "nothing within the limit": (world(archived(1), archived(2), active(3), spec=keeping(2)), set()),
    "the oldest beyond it": (world(archived(1), archived(2), archived(3), active(4), spec=keeping(2)), {1}),
    "never the last good one": (world(archived(1), archived(2), active(3), spec=keeping(0)), {1}),
    "never one that is warm": (world(legacy(1), legacy(2), active(3), spec=keeping(0)), set()),
    "never the target": (world(archived(1), archived(2), archived(3), active(4), wants=1, spec=keeping(0)), {2}),
    "never what primary.yaml names": (
        world(archived(1), archived(2), archived(3), active(4), names_=1, wants=4, spec=keeping(0)),
        {2},
    ),
}


@pytest.mark.parametrize("name", FORGOTTEN)
def test_forgets(name):
    state, numbers = FORGOTTEN[name]
    kept = {version.number for version in decided(state).record.versions}
    assert {version.number for version in state.record.versions} - kept == numbers


def texts(state) -> set[int]:
    """The versions whose text the record holds."""
    return {version.number for version in decided(state).record.versions if version.snapshot.text}


def bare(number: int):
    return archived(number, snapshot=Snapshot(digest(number), ""))


TEXTS_KEPT = {
    "its ReplicaSet is gone": (pods(2, 0), pods(3)),
    "its ReplicaSet has another text": (pods(1, 0, snapshot=Snapshot(digest(1), "{}")), pods(2, 0), pods(3)),
    "its ReplicaSet lost the text": (pods(1, 0, snapshot=Snapshot(digest(1), "")), pods(2, 0), pods(3)),
}


@pytest.mark.parametrize("name", TEXTS_KEPT)
def test_the_record_keeps_the_text_where(name):
    assert texts(world(archived(1), archived(2), active(3), sets=TEXTS_KEPT[name])) == {1, 2, 3}


def test_a_version_that_becomes_the_last_good_one_has_its_text_in_the_record_again():
    assert texts(world(bare(1), active(2))) == {1, 2}


def test_a_text_that_somebody_changed_is_not_taken_from_the_cluster():
    tampered = pods(1, 0, snapshot=Snapshot(digest(1), template("9").text))
    assert texts(world(bare(1), active(2), sets=(tampered, pods(2)))) == {2}


def test_a_hundred_digests_that_served_are_remembered_and_those_of_all_known_versions():
    past = tuple(f"v1:{number}" for number in range(100))
    decided_switch = Switch(digest(1), digest(2), SwitchKind.PROMOTION, NOW)
    record = {"activations": (digest(1), *past), "switch": decided_switch}
    state = world(active(1), candidate(2), observed={"active_service": service("web", 2)}, record=record)
    assert decided(state).record.routing.activations == (digest(1), *past[1:], digest(2))


def test_a_revert_to_a_forgotten_version_goes_the_way_back():
    sim = deployed(replace(automatic(scale_down_delay_seconds=0), revision_history_limit=0))
    push(sim, *"2345")
    assert sim.record.numbered(1) is None
    sim.suspend()
    sim.set_primary("1", "revert")
    sim.step()
    assert sim.decide().phase is Phase.SUSPENDED
    sim.settle()
    assert (sim.live, sim.held, sim.events()[-1]) == ("1", {"5"}, "rolled-back")


def test_a_forgotten_tag_pushed_again_is_only_ever_offered():
    sim = deployed(replace(automatic(scale_down_delay_seconds=0), revision_history_limit=0))
    push(sim, *"23451")
    assert (sim.live, sim.branch) == ("5", "1")


def test_a_retried_version_is_not_shown_before_its_pods_are_ready():
    sim = promoted(manual(scale_down_delay_seconds=0))
    revert(sim)
    wait(sim, seconds=1)
    assert sim.pods[digest(2)].replicas == 0
    sim.retry()
    sim.step()
    assert sim.shown == "1"
    sim.settle()
    assert sim.shown == "2"


def test_what_a_version_came_from_is_what_git_said_when_it_was_registered():
    record = decided(world(active(1), wants=2)).record
    assert record.numbered(2).source == source(2)
    named = decided(world(active(1), names_=2, wants=1, desired={"primary": primary(2)})).record
    assert named.numbered(2).source == primary(2).source


def test_only_candidates_tell_that_they_were_let_go():
    record = decided(world(legacy(1, retiring=False), active(2))).record
    assert record.numbered(1).retiring
    assert Event.SUPERSEDED not in {entry.event for entry in record.ledger}


def test_what_primary_yaml_names_is_remembered_although_traffic_went_back_from_it():
    """Else it was given a new number, a rollout and a ledger entry with every pass, as long as Git was away."""
    sim = coming(replace(automatic(scale_down_delay_seconds=0), revision_history_limit=0))
    sim.set_primary("3")
    sim.step()
    sim.reachable = False
    ask(sim, OperatorCommand.ROLLBACK)
    assert sim.live == "1"
    assert sim.record.last_version == 3


ORDER = {
    "one that came forward first": (1, 2, True),
    "one that came forward later": (2, 1, False),
    "the same one": (1, 1, False),
    "one that never served": (3, 1, False),
    "before one that never served": (1, 3, False),
}


@pytest.mark.parametrize("name", ORDER)
def test_came_before(name):
    one, other, before = ORDER[name]
    record = Record(routing=Routing(activations=(digest(1), digest(2))))
    assert record.came_before(digest(one), digest(other)) is before


LET_GO = {
    "the target names what serves, whatever its number": (
        world(active(3), candidate(2), wants=3),
        (Event.CANCELLED, "the target names the active version again"),
    ),
    "the target names what serves, which is older": (
        world(active(1), candidate(2), wants=1),
        (Event.CANCELLED, "the target names the active version again"),
    ),
    "the target names a newer one": (
        world(active(1), candidate(2), wants=3),
        (Event.SUPERSEDED, "the target names a newer version"),
    ),
}


@pytest.mark.parametrize("name", LET_GO)
def test_candidate_is_let_go_where(name):
    state, (event, reason) = LET_GO[name]
    (entry,) = (one for one in decided(state).record.ledger if one.from_digest == digest(2))
    assert (entry.event, entry.reason) == (event, reason)


def without_text(number: int) -> Snapshot:
    return Snapshot(digest(number), "")


TEXTS = {
    "of a warm version is kept": (legacy(1), template("1").text),
    "of an archived one is left to its ReplicaSet": (archived(1), ""),
    "of an archived one that has none stays away": (archived(1, snapshot=without_text(1)), ""),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name):
    version, text = TEXTS[name]
    state = world(version, legacy(2), active(3), sets=(pods(1), pods(2), pods(3)))
    assert decided(state).record.numbered(1).snapshot.text == text
