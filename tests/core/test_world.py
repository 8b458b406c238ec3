"""One app at one moment: by which digest it knows a snapshot, which text counts, and that a question is asked once."""

import json
from dataclasses import replace

from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import Snapshot
from gitops_bg.core.world import World
from tests.core.simulation import template
from tests.core.worlds import NOW, active, candidate, digest, legacy, pods, target, world


def test_a_snapshot_that_the_record_knows_by_its_own_digest_is_not_taken_for_another_that_says_the_same():
    newer = replace(legacy(1), snapshot=Snapshot("v9:ff", template("2").text))
    state = world(newer, active(2), sets=(pods(2),))
    assert state.resolve(template("2")) == digest(2)
    assert world(newer, active(3), sets=(pods(3),)).resolve(template("2")) == "v9:ff", "where it knows no better"


def test_text_of_the_record_goes_before_another_of_the_same_digest():
    """What was checked is what runs, byte for byte; an empty map makes no other version."""
    said_otherwise = snapshot_of(json.loads(template("2").text) | {"metadata": {"labels": {"app": "web"}, "extra": {}}})
    assert (said_otherwise.digest, said_otherwise.text) != (digest(2), template("2").text)
    assert said_otherwise.digest == digest(2)
    state = world(active(1), candidate(2), desired={"target": replace(target(2), snapshot=said_otherwise)})
    assert state.snapshot(candidate(2)) == template("2")
    lost = candidate(2, snapshot=Snapshot(digest(2), ""))
    assert state.with_version(lost).snapshot(lost) == said_otherwise, "which has none of its own"


def test_what_is_noted_of_no_version_names_none():
    state = world(legacy(1), active(2))
    (of_none, of_both) = (
        state.with_ledger_entry(Event.SUSPENDED)
        .with_ledger_entry(Event.PROMOTED, to=active(2), origin=legacy(1))
        .record.ledger
    )
    assert (of_none.rollout, of_none.from_version, of_none.to_version, of_none.to_digest) == (0, None, None, "")
    assert (of_both.rollout, of_both.from_version, of_both.to_version, of_both.to_digest) == (2, 1, 2, digest(2))
    assert (of_none.sequence, of_both.sequence, of_none.at) == (1, 2, NOW)


def test_what_is_noted_says_by_which_image_tags_people_know_the_versions():
    state = world(legacy(1), active(2), sets=())
    back, first = (
        state.with_ledger_entry(Event.ROLLED_BACK, to=legacy(1), origin=active(2)),
        state.with_ledger_entry(Event.DEPLOYED, to=active(2)),
    )
    said = [(entry.from_tag, entry.to_tag) for entry in (back.record.ledger[-1], first.record.ledger[-1])]
    assert said == [("2", "1"), ("", "2")]


def test_a_question_is_worked_out_once_for_each_world_and_each_thing_it_is_asked_about():
    asked = []

    @answered_once
    def question(state: World, about: str = "") -> str | None:
        asked.append(about)
        return about or None

    one = world(active(1))
    answers = [question(one, "a"), question(one, "b"), question(one, "a"), question(one), question(one)]
    assert answers == ["a", "b", "a", None, None]
    assert asked == ["a", "b", ""]
    assert question(replace(one), "a") == "a"
    assert asked == ["a", "b", "", "a"]
