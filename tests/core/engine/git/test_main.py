"""Agents with different mains: one whose main is older than the record's decides nothing; a newer one updates the
record.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_bg.core.engine import decide
from gitops_bg.core.model.actions import CommitPrimary, OfferPromotion, SwitchTraffic
from gitops_bg.core.model.main import NO_MAIN, Knowledge, Main
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import Stabilization
from gitops_bg.core.world import World
from tests.core.shown import ABSENT, shown
from tests.core.simulation import Simulation, automatic, manual
from tests.core.stories import promote, wait
from tests.core.worlds import NOW, active, digest, legacy, pods, world

OLD, NEW = "a" * 40, "b" * 40
HEAD = Main(NEW)
BLIND = [Knowledge.OLDER, Knowledge.REWRITTEN, Knowledge.UNKNOWN]
TRUSTED = [Knowledge.SAME, Knowledge.NEWER]


def _decided(one: World):
    return decide(one.spec, one.desired, one.observed, one.record, one.now)


def _merged(knowledge: Knowledge, record: Main = NO_MAIN, desired: Main = HEAD) -> World:
    """`primary.yaml` names the warm version 1 again; by a main of this knowledge."""
    told = {"knowledge": knowledge, "commit": desired.commit, "generation": desired.generation, "tree": desired.tree}
    return world(legacy(1), active(2), names_=1, desired=told, record={"main": record, "primary": digest(2)})


@pytest.mark.parametrize("knowledge", TRUSTED)
def test_main_that_counts_moves_traffic(knowledge: Knowledge):
    decision = _decided(_merged(knowledge))
    assert decision.record.routing.switch is not None
    assert any(isinstance(action, SwitchTraffic) for action in decision.actions)


@pytest.mark.parametrize("knowledge", BLIND)
def test_main_that_does_not_count_moves_nothing(knowledge: Knowledge):
    decision = _decided(_merged(knowledge, Main(NEW), Main(OLD)))
    assert decision.record.routing.switch is None
    assert not [one for one in decision.actions if isinstance(one, SwitchTraffic | CommitPrimary | OfferPromotion)]
    assert decision.record.git.main == Main(NEW)


def test_an_older_main_decides_nothing_but_to_look_again():
    before = _merged(Knowledge.OLDER, Main(NEW), Main(OLD))
    decision = _decided(before)
    assert (decision.actions, decision.record, decision.look_again) == ((), before.record, True)
    assert not _decided(_merged(Knowledge.NEWER)).look_again


LEARNT = {
    "what the record decides names the main": (
        _merged(Knowledge.NEWER, Main(OLD), Main(NEW, 0, "t")),
        Main(NEW, 0, "t"),
    ),
    "the app's own files changed": (
        world(active(1), desired={"commit": NEW, "tree": "u"}, record={"main": Main(OLD, 0, "t")}),
        Main(NEW, 0, "u"),
    ),
    "somebody accepted a rewritten history": (
        world(active(1), desired={"commit": NEW, "tree": "t", "generation": 1}, record={"main": Main(OLD, 0, "t")}),
        Main(NEW, 1, "t"),
    ),
    "the generation never goes back": (
        world(active(1), desired={"commit": NEW, "tree": "u", "generation": 0}, record={"main": Main(OLD, 2, "t")}),
        Main(NEW, 2, "u"),
    ),
    "a record of the code of before learns it at once": (
        world(active(1), desired={"commit": NEW, "tree": "t"}),
        Main(NEW, 0, "t"),
    ),
    "main was not read": (
        world(active(1), desired={"commit": "", "knowledge": Knowledge.UNKNOWN}, record={"main": Main(OLD, 0, "t")}),
        Main(OLD, 0, "t"),
    ),
}


@pytest.mark.parametrize("case", LEARNT)
def test_what_the_record_learns_of_main(case: str):
    before, after = LEARNT[case]
    assert _decided(before).record.git.main == after


def test_a_main_that_moved_for_other_apps_only_leaves_the_record_as_it_is():
    before = world(active(1), desired={"commit": OLD, "tree": "t"})
    before = before.with_record(_decided(before).record)
    moved = replace(before, desired=replace(before.desired, commit=NEW, knowledge=Knowledge.NEWER))
    assert _decided(moved).record == before.record
    assert before.record.git.main == Main(OLD, 0, "t")


# --- main moved backwards ---


def _promoted(sim: Simulation) -> None:
    for tag in ("v1", "v2"):
        promote(sim, tag)
    assert sim.live == "v2", "the story begins with v2"


@pytest.mark.parametrize("spec", [manual(), automatic()])
@pytest.mark.parametrize("lasts", [False, True])
def test_a_rewritten_main_offers_and_commits_nothing(spec, lasts: bool):
    sim = Simulation(spec)
    _promoted(sim)
    sim.push("v3")
    sim.history_rewritten = "f" * 40
    sim.settle()
    wait(sim, hours=1)
    assert (sim.live, sim.primary, sim.branch) == ("v2", "v2", None)


def test_a_short_rewind_is_told_to_people_and_not_to_the_ledger():
    rewound = {"history_rewritten": "f" * 40, "history_lasts": False}
    decision = _decided(world(active(1), desired=rewound))
    assert shown(decision)["HistoryRewritten"].status is True
    assert decision.record.ledger == ()
    lasting = _decided(world(active(1), desired={**rewound, "history_lasts": True}))
    assert [entry.event for entry in lasting.record.ledger] == [Event.HISTORY_REWRITTEN]


def test_a_main_that_does_not_count_says_nothing_about_the_standing_of_an_app():
    """It is neither valid again nor back in main because nobody can read main."""
    broken = world(active(1), desired={"knowledge": Knowledge.REWRITTEN}, record={"invalid": "x", "orphaned": True})
    decision = _decided(broken)
    assert (decision.record.ledger, decision.record.invalid, decision.record.orphaned) == ((), "x", True)


@pytest.mark.parametrize("rewritten", ["", "f" * 40])
@pytest.mark.parametrize("knowledge", [Knowledge.UNKNOWN, Knowledge.REWRITTEN])
def test_an_emergency_of_the_record_goes_whatever_main_is(rewritten: str, knowledge: Knowledge):
    sim = Simulation(manual())
    _promoted(sim)
    sim.ask(OperatorCommand.ROLLBACK)
    observed = sim.observed()
    desired = replace(sim.desired(), knowledge=knowledge, history_rewritten=rewritten)
    decision = decide(sim.spec, desired, observed, sim.record, sim.now)
    assert decision.record.override is not None
    assert decision.record.routing.switch is not None
    assert any(isinstance(action, SwitchTraffic) for action in decision.actions)


# --- two agents, one of which sees more ---


def _says(knowledge: Knowledge, said: str = "", record: str = "") -> World:
    """What an agent of this knowledge says of a loss, of an app whose record (all else is at rest) shows another."""
    rested = world(active(1), desired={"commit": NEW, "tree": "t"})
    after = _decided(rested).record
    rested = rested.with_record(after.with_part(replace(after.git, lost=record)))
    return replace(rested, desired=replace(rested.desired, knowledge=knowledge, history_rewritten=said))


LOST, OTHER = "e" * 40, "f" * 40
TOLD = {
    "the first one names what is lost": (_says(Knowledge.REWRITTEN, LOST), LOST),
    "also where it goes on with what it read": (_says(Knowledge.SAME, LOST), LOST),
    "who lost something else has no other word for it": (_says(Knowledge.REWRITTEN, OTHER, LOST), LOST),
    "a main that counts takes it back": (_says(Knowledge.SAME, "", LOST), ""),
    "so does a newer one": (_says(Knowledge.NEWER, "", LOST), ""),
    "a main that does not count takes nothing back": (_says(Knowledge.REWRITTEN, "", LOST), LOST),
    "nor does one that nobody read": (_says(Knowledge.UNKNOWN, "", LOST), LOST),
}


@pytest.mark.parametrize("case", TOLD)
def test_what_the_record_says_is_lost(case: str):
    before, lost = TOLD[case]
    decision = _decided(before)
    assert decision.record.git.lost == lost
    said = shown(decision)["HistoryRewritten"]
    assert (said != ABSENT) is bool(lost)
    assert lost[:10] in said.message


def test_who_knows_less_is_silent_until_the_record_itself_asks_for_something():
    assert _decided(_says(Knowledge.OLDER)).silent
    assert _decided(_says(Knowledge.REWRITTEN)).silent
    assert not _decided(_says(Knowledge.REWRITTEN, LOST)).silent
    assert not any(_decided(_says(knowledge)).silent for knowledge in (*TRUSTED, Knowledge.UNKNOWN))
    sim = Simulation(manual())
    _promoted(sim)
    sim.ask(OperatorCommand.ROLLBACK)
    desired = replace(sim.desired(), knowledge=Knowledge.REWRITTEN)
    assert not decide(sim.spec, desired, sim.observed(), sim.record, sim.now).silent


def test_who_knows_less_does_not_tell_the_ledger_that_a_history_was_accepted():
    told = world(active(1), desired={"knowledge": Knowledge.REWRITTEN}, record={"history": LOST})
    assert _decided(told).record.ledger == ()


FROZEN = [
    *({"knowledge": one} for one in BLIND[1:]),
    {"history_rewritten": LOST},
    {"knowledge": BLIND[1], "history_rewritten": LOST},
]


@pytest.mark.parametrize("frozen", FROZEN)
def test_a_live_version_whose_pods_fail_is_left_while_main_is_frozen(frozen: dict):
    failing = Stabilization(3, NOW - timedelta(hours=1), True)
    sets = (pods(1), pods(2, 3, 2))
    decision = _decided(world(legacy(1), active(2, stabilization=failing), sets=sets, desired=frozen))
    assert decision.record.override
    assert decision.record.override.to_digest == digest(1)
    assert [one.digest for one in decision.actions if isinstance(one, SwitchTraffic)] == [digest(1)]
    assert not [one for one in decision.actions if isinstance(one, CommitPrimary)]
    assert not decision.silent
