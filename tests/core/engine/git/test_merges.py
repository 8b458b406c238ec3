"""Who merged and who approved is asked once, after traffic moved; the answer is a ledger entry of its own."""

from datetime import timedelta

import pytest

from gitops_bg.core.model.journal import Merge
from gitops_bg.core.model.record import Event
from tests.core.simulation import Simulation, deployed, manual, template
from tests.core.stories import promote, push, revert, wait

AN_HOUR = timedelta(hours=1)


def promoted(*, has_forge: bool = True) -> Simulation:
    """Version 2 was merged, and traffic is there."""
    sim = deployed(manual())
    sim.has_forge = has_forge
    promote(sim, "2")
    assert sim.live == "2"
    return sim


def asked(sim: Simulation) -> str:
    (only,) = sim.record.git.asked_merges
    assert only.digest == template("2").digest
    return only.commit


def test_nothing_is_asked_before_traffic_moved() -> None:
    sim = deployed(manual())
    sim.has_forge = True
    push(sim, "2")
    assert sim.record.git.asked_merges == ()


def test_nothing_is_asked_where_there_is_no_forge_nor_of_a_first_deployment() -> None:
    sim = promoted(has_forge=False)
    assert sim.record.git.asked_merges == ()
    first = deployed(manual())
    assert first.record.git.asked_merges == ()


def test_a_way_back_asks_nobody() -> None:
    sim = promoted()
    sim.merges = (Merge(asked(sim), 7, "https://forge/7", "ada"),)
    sim.settle()
    revert(sim)
    assert (sim.live, sim.record.git.asked_merges) == ("1", ())


@pytest.mark.parametrize(
    ("answer", "by", "approved_by", "reason"),
    [
        (
            Merge("", 7, "https://forge/7", "ada", ("bob", "cy")),
            "ada",
            ("bob", "cy"),
            "pull request #7 https://forge/7, approved by bob, cy",
        ),
        (Merge("", 7, "", "ada"), "ada", (), "pull request #7, without an approval"),
    ],
)
def test_the_answer_is_one_entry_after_the_promotion(answer: Merge, by: str, approved_by, reason: str) -> None:
    sim = promoted()
    assert sim.events()[-1] == "promoted", "traffic waits for no answer"
    commit = asked(sim)
    sim.merges = (Merge(commit, answer.number, answer.url, answer.by, answer.approved_by),)
    sim.settle()
    entry = sim.entries()[-1]
    assert (entry.event, entry.commit, entry.to_digest) == (Event.MERGED, commit, template("2").digest)
    assert (entry.by, entry.approved_by, entry.reason) == (by, approved_by, reason)
    sim.settle()
    assert sim.events().count("merged") == 1
    assert sim.record.git.asked_merges == ()


def test_what_no_pull_request_let_in_is_no_entry_and_is_not_asked_again() -> None:
    sim = promoted()
    sim.merges = (Merge(asked(sim)),)
    sim.settle()
    assert (sim.record.git.asked_merges, sim.events()[-1]) == ((), "promoted")


def test_an_answer_about_another_commit_is_none() -> None:
    sim = promoted()
    sim.merges = (Merge("f" * 40, 7, "", "mallory"),)
    sim.settle()
    assert sim.events()[-1] == "promoted"
    assert asked(sim)


def test_what_nobody_answers_in_time_is_said_to_be_unknown_once() -> None:
    sim = promoted()
    since = sim.record.git.asked_merges[0].since
    wait(sim, seconds=(since + AN_HOUR - sim.now).total_seconds() - 1)
    assert asked(sim)
    wake_at = sim.decide().wake_at
    assert wake_at is not None
    assert wake_at <= since + AN_HOUR
    wait(sim, seconds=1)
    entry = sim.entries()[-1]
    assert (entry.event, entry.by, entry.approved_by) == (Event.MERGED, "", ())
    assert entry.reason == "nobody could tell who merged and who approved it: the forge gave no answer in an hour"
    sim.merges = (Merge(entry.commit, 7, "", "ada"),)
    wait(sim, hours=1)
    assert sim.events().count("merged") == 1
