"""A version promoted and taken back between two looks: primary.yaml is unchanged, but somebody decided twice."""

from dataclasses import replace

import pytest

from gitops_bg.core.engine import decide
from gitops_bg.core.model.desired import LedgerMemory
from gitops_bg.core.model.journal import NO_LOOKS, AwaitsPoll, PollCount
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.statements import Cause, Hold, Says
from gitops_bg.core.model.version import Source
from tests.core.simulation import automatic, deployed, manual, template
from tests.core.stories import coming, name, push, retry, wait
from tests.core.worlds import NOW, active, archived, candidate, decided, digest, journal, legacy, primary, rising, world

LATER = "f" * 40


def looked_again(*versions, named=None, **changes):
    """The same version is named, by a later commit."""
    names = changes.pop("names_", 1)
    before = {"primary_by": primary(1).changed_by.commit, "primary": digest(names), **changes.pop("record", {})}
    told, looks = journal(named=named), changes.pop("looks", NO_LOOKS)
    desired = {"primary": primary(names, commit=LATER), "journal": told, "looks": looks}
    return world(*versions, wants=changes.pop("target_", None), desired=desired, record=before)


@pytest.mark.parametrize("spec", [automatic(auto_promotion_seconds=600), manual()], ids=["automatic", "manual"])
@pytest.mark.parametrize("known", [True, False], ids=["known", "pushed since, too"])
def test_a_promotion_that_was_taken_back_between_two_looks_is_held(spec, known) -> None:
    """Found so: the agent promoted by itself what somebody had just taken back."""
    sim = deployed(spec)
    sim.push("2")
    if known:
        sim.settle()
    sim.branch = None
    sim.set_primary("2")
    name(sim, "1", "revert the promotion")
    wait(sim, seconds=3600)
    assert (sim.live, sim.primary, sim.held, sim.branch) == ("1", "1", {"2"}, None)
    assert sim.record.held(template("2").digest).cause is Cause.TAKEN_BACK
    assert sim.recorded_moves() == [("", template("1").digest)]
    name(sim, "2")
    assert sim.live == "2", "who promotes it again is heard"


def test_what_else_changes_primary_yaml_holds_nothing() -> None:
    sim = coming(automatic(auto_promotion_seconds=600))
    name(sim, "1", "a comment")
    wait(sim, seconds=601)
    assert (sim.live, sim.held) == ("2", set())


@pytest.mark.parametrize("seen", [True, False], ids=["promotion seen", "promotion not seen"])
def test_a_retry_that_is_older_than_the_revert_does_not_lift_its_hold(seen) -> None:
    """Found by exploration: retry, promotion and revert were read at once, and the retry was heard last."""
    sim = coming()
    sim.pods_fail("2")
    sim.bad_tags.add("2")
    if seen:
        name(sim, "2")
    sim.retry()
    if not seen:
        sim.set_primary("2")
    name(sim, "1", "revert the promotion")
    assert (sim.live, sim.held, sim.record.operator.retry) == ("1", {"2"}, 1)
    retry(sim)
    assert sim.held == set(), "one after it does"


def rolled_back():
    """Version 2 was live, and its promotion was reverted."""
    sim = coming()
    name(sim, "2")
    name(sim, "1", "revert the promotion")
    assert (sim.live, sim.held) == ("1", {"2"})
    return sim


@pytest.mark.parametrize("seen", [True, False], ids=["seen", "not seen"])
def test_a_promotion_says_that_its_version_is_wanted_whether_anybody_looked_or_not(seen) -> None:
    """Found by exploration: 2 stayed on hold, and the revert of the push of 3 was not followed."""
    sim = rolled_back()
    sim.set_primary("2")
    if seen:
        sim.settle()
    sim.push("3")
    name(sim, "3")
    assert (sim.live, sim.held) == ("3", set())
    sim.revert_target("2")
    sim.settle()
    assert (sim.live, sim.primary, sim.held) == ("2", "2", {"3"})


def test_a_lost_record_learns_from_the_ledger_since_when_main_answers_its_holds() -> None:
    sim = rolled_back()
    record = sim.record
    memory = LedgerMemory(
        statements=record.statements, active_digests=record.routing.activations, primary_by=record.git.primary_by
    )
    restored = decide(sim.spec, replace(sim.desired(), memory=memory), sim.observed(), Record(), sim.now).record
    assert restored.git.primary_by == record.git.primary_by != ""


def test_what_the_target_itself_names_is_not_passed_over() -> None:
    """Somebody said so for it: a record that has forgotten the version does not forget that."""
    said = Hold(digest(2), "5xx", NOW, Cause.ROLLED_BACK, Says.NAMED)
    other = replace(said, digest=digest(3))
    record = decided(world(active(1), wants=2, record={"past_holds": (said, other)})).record
    assert {hold.digest: hold.lifted for hold in record.past_holds} == {
        digest(2): Says.NAMED,
        digest(3): Says.PASSED_OVER,
    }


WAYS = {
    "to what was on its way before, and never served": ("232", {"3"}),
    "two, to what serves": ("231", {"2", "3"}),
    "two, to what was on its way before": ("2342", {"3", "4"}),
    "one, and promoted again": ("2323", set()),
    "one, and another took its place": ("213", {"2"}),
    "none: each took the place of the one before": ("234", set()),
    "one that took the place of two": ("2343", {"4"}),
    "one, then another, then the first": ("23242", {"3", "4"}),
}
"""What primary.yaml names, one after another, while 1 serves and no pods of another come up."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("looks", ["at each", "at the last", "at every other"])
def test_what_main_took_back_is_held_whenever_anybody_looked(way, looks) -> None:
    named, held = WAYS[way]
    sim = deployed(manual())
    sim.bad_tags = {"2", "3", "4"}
    for tag in "234":
        push(sim, tag)
    for place, tag in enumerate(named):
        sim.set_primary(tag)
        if looks == "at each" or (looks == "at every other" and place % 2):
            sim.settle()
    sim.settle()
    assert (sim.live, sim.held) == ("1", held)


HELD = Hold(digest(2), "5xx", NOW, Cause.ROLLED_BACK)
STOPPED = replace(HELD, cause=Cause.ABORTED)
OTHER = {"primary": digest(1)}
"""What was named at the record's look."""
TAKEN_BACK = Cause.TAKEN_BACK


def line(*numbers: int):
    """What main named since, oldest first."""
    return {"named": tuple(template(str(number)) for number in numbers)}


CASES = {
    "a candidate": (looked_again(active(1), candidate(2), **line(2, 1)), {2: TAKEN_BACK}),
    "nothing": (looked_again(active(1), candidate(2), **line(1)), {}),
    "what served before": (looked_again(legacy(1), active(2), names_=2, **line(1, 2)), {}),
    "what nobody knows": (looked_again(active(1), candidate(2), **line(9, 1)), {}),
    "on hold, and another one took its place": (
        looked_again(active(1), legacy(2), names_=3, **line(2, 3), record={"holds": (HELD,), **OTHER}),
        {},
    ),
    "on hold by a decision that waits for a look": (
        looked_again(
            active(1), legacy(2), names_=3, **line(2, 3), record={"holds": (replace(HELD, awaits=AwaitsPoll()),)}
        ),
        {2: Cause.ROLLED_BACK},
    ),
    "on hold by a decision that this very look follows": (
        looked_again(
            active(1),
            candidate(2),
            **line(2, 1),
            looks=PollCount("a", 2, 2),
            record={"holds": (replace(STOPPED, awaits=AwaitsPoll((("a", 1),))),)},
        ),
        {2: Cause.ABORTED},
    ),
    "on hold before, promoted and taken back": (
        looked_again(active(1), archived(2), **line(2, 1), record={"holds": (HELD,)}),
        {2: TAKEN_BACK},
    ),
    "one, while another is on its way": (
        looked_again(active(1), rising(2), candidate(3), names_=2, **line(2, 3, 2), record=OTHER),
        {3: TAKEN_BACK},
    ),
    "one, and what is on its way again was there before": (
        looked_again(active(1), rising(2), candidate(3), names_=2, **line(3, 2)),
        {3: TAKEN_BACK},
    ),
    "one that was pushed since, too": (
        looked_again(active(1), rising(2), names_=2, target_=3, **line(2, 3, 2), record=OTHER),
        {3: TAKEN_BACK},
    ),
    "another took its place": (
        looked_again(active(1), rising(2), candidate(3), names_=3, **line(2, 3), record=OTHER),
        {},
    ),
    "another took its place, and the target went back to it": (
        looked_again(active(1), candidate(2), rising(3), names_=3, target_=2, **line(2, 3), record=OTHER),
        {},
    ),
    "main names neither what serves nor what it named before": (
        looked_again(legacy(1), active(2), candidate(3), **line(1, 3, 1), record={"primary": digest(2)}),
        {2: Cause.ROLLED_BACK, 3: TAKEN_BACK},
    ),
    "main names what it named before, while another serves": (
        looked_again(legacy(1), active(2), candidate(3), **line(3, 1)),
        {2: Cause.ROLLED_BACK, 3: TAKEN_BACK},
    ),
    "one that served, before anything serves in a cluster that was rebuilt": (
        looked_again(rising(2), record={"primary": digest(2), "activations": (digest(1), digest(2))}, **line(1)),
        {2: TAKEN_BACK},
    ),
    "one that served before what is to serve in a cluster that was rebuilt": (
        looked_again(
            legacy(1),
            rising(2),
            names_=2,
            target_=1,
            **line(2, 1, 2),
            record={"primary": "", "activations": (digest(1), digest(2))},
        ),
        {},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_passed(name) -> None:
    state, held = CASES[name]
    record = decided(state).record
    assert {hold.digest: hold.cause for hold in record.holds} == {digest(of): cause for of, cause in held.items()}
    assert record.git.primary_by == LATER


@pytest.mark.parametrize("holds", [(HELD,), ()], ids=["on hold", "a candidate"])
def test_where_nobody_can_tell_it_is_asked_again(holds) -> None:
    record = decided(looked_again(active(1), candidate(2), record={"holds": holds})).record
    assert (record.holds, record.git.primary_by) == (holds, primary(1).changed_by.commit)


def test_a_record_that_begins_holds_nothing_that_a_later_retry_asks_for() -> None:
    """What it takes for news was answered in its former life: the promotion taken back, and the retry after it."""
    change = primary(1, commit=LATER, landed=8)
    memory = LedgerMemory(active_digests=(digest(1), digest(2)), primary_by=primary(1).changed_by.commit)
    for landed, held in ((9, False), (7, True)):
        asked = Source("e" * 40, "ada", landed=landed)
        spec = replace(manual(), retry=Retry(digest(2), 1))
        told = journal(named=(template("2"), template("1")), retried=((asked, spec.retry),))
        desired = {"primary": change, "memory": memory, "journal": told}
        state = world(active(1), rising(2), wants=2, spec=spec, desired=desired, record={"primary_by": "", "retry": 1})
        assert bool(decided(state).record.held(digest(2))) is held


def test_before_anything_serves_in_a_rebuilt_cluster_what_is_to_serve_says_what_a_way_back_is() -> None:
    """Main named v2, then v1, then v3: v2 served before v3 did, and may be gone back to. It is not on hold."""
    seen = {"primary": digest(2), "primary_by": "d" * 40}
    versions = (legacy(1), legacy(2), legacy(3))
    state = world(*versions, live=0, names_=3, desired={"journal": journal(named=(template("1"),))}, record=seen)
    assert decided(state).record.holds == ()
