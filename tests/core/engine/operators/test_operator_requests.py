"""Requests of operators, by the cluster and by `spec.retry`: carried out once, and never against a rollback."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, AnalysisStage
from gitops_bg.core.model.desired import LedgerMemory, Missing, Primary, Problem
from gitops_bg.core.model.journal import AwaitsPoll
from gitops_bg.core.model.observed import OperatorCommand, Request
from gitops_bg.core.model.record import Event, Record
from gitops_bg.core.model.spec import Retry, Suspension
from gitops_bg.core.model.statements import Cause, Hold, Override
from gitops_bg.core.model.version import Source, Stabilization
from gitops_bg.core.world import World
from tests.core.simulation import Simulation, deployed, manual, template
from tests.core.stories import ask, promote, push
from tests.core.worlds import NOW, active, archived, candidate, decided, digest, journal, legacy, pods, rising, world


def asked(verb: OperatorCommand, to_version: int | None = None, number: str = "1") -> dict[str, tuple[Request, ...]]:
    return {"requests": (Request(number, verb, "ada", NOW, "because", to_version),)}


def back_to(number: int, away_from: int) -> Override:
    return Override(digest(away_from), digest(number), "because", "ada", NOW, Cause.ABORTED, AwaitsPoll())


NEW = Stabilization(3, NOW)
UNSEEN = {"target": Missing.UNSEEN, "primary": Missing.UNSEEN}
ABORTS = {
    "a candidate, though nobody has looked at main yet": (
        world(active(1), candidate(2), desired=UNSEEN),
        ({2}, None),
    ),
    "nothing on its way, and nobody has looked at main yet: nothing": (
        world(active(1), desired=UNSEEN),
        (set(), None),
    ),
    "nothing on its way and no warm predecessor: nothing happens": (world(archived(1), active(2)), (set(), None)),
    "a candidate is held": (world(active(1), candidate(2)), ({2}, None)),
    "a promotion on its way is held, and Git is told to go back to what serves": (
        world(active(1), rising(2), names_=2),
        ({2}, back_to(1, away_from=2)),
    ),
    "a live version that has proven itself keeps serving, however warm its predecessor is": (
        world(legacy(1, retiring=True), active(2)),
        (set(), None),
    ),
    "three stacks: from an unjudged version, and from what is to follow it, back to the one that was good": (
        world(legacy(1), active(2, stabilization=NEW), candidate(3)),
        ({2, 3}, back_to(1, away_from=2)),
    ),
    "the same where primary.yaml names what is to follow": (
        world(legacy(1), active(2, stabilization=NEW), rising(3), names_=3),
        ({2, 3}, back_to(1, away_from=3)),
    ),
    "a version that has proven itself keeps serving while the next is stopped": (
        world(legacy(1), active(2), candidate(3)),
        ({3}, None),
    ),
    "past a version that was left before it had proven itself": (
        world(legacy(1), legacy(2, unproven=True), active(3, stabilization=NEW)),
        ({3}, back_to(1, away_from=3)),
    ),
    "to that one where there is no other with pods": (
        world(archived(1), legacy(2, unproven=True), active(3, stabilization=NEW)),
        ({3}, back_to(2, away_from=3)),
    ),
    "what primary.yaml names and the newer candidate behind it are both held": (
        world(active(1), rising(2), candidate(3), names_=2),
        ({2, 3}, back_to(1, away_from=2)),
    ),
    "an unjudged version stays where there is nowhere to go": (
        world(active(1, stabilization=NEW), candidate(2)),
        ({2}, None),
    ),
    "a rollback on its way goes on: its destination is not what is aborted": (
        world(legacy(1), active(2), names_=1, record={"primary": digest(2)}),
        ({2}, back_to(1, away_from=1)),
    ),
    "a rollback that somebody asked for goes on as it is": (
        world(legacy(1), active(2), names_=2, record={"override": back_to(1, away_from=2)}),
        ({2}, back_to(1, away_from=2)),
    ),
    "a candidate where primary.yaml cannot be read: traffic stays, and nothing has to be told to Git": (
        world(
            active(1),
            candidate(2),
            desired={"primary": Missing.UNREADABLE, "problems": (Problem("primary.yaml", "broken"),)},
        ),
        ({2}, None),
    ),
    "a candidate that the target names no longer is on its way no more": (
        world(active(1), candidate(2), wants=1),
        (set(), None),
    ),
    "a first deployment that main names already is held, too": (world(rising(1), names_=1), ({1}, None)),
    "the same of one that somebody asked for, and that a look at main followed": (
        world(legacy(1), active(2), names_=2, record={"override": replace(back_to(1, away_from=2), awaits=None)}),
        ({2}, replace(back_to(1, away_from=2), awaits=None)),
    ),
    "the same of one that the agent began, and that no look at main followed yet": (
        world(legacy(1), active(2), names_=2, record={"override": replace(back_to(1, away_from=2), by="")}),
        ({2}, replace(back_to(1, away_from=2), by="")),
    ),
    "what was let go already, where the target cannot be read: nothing": (
        world(active(1), candidate(2, retiring=True), desired={"target": Missing.UNREADABLE}),
        (set(), None),
    ),
    "what was on its way when the target could be read last is held": (
        world(active(1), candidate(2), desired={"target": Missing.UNREADABLE}),
        ({2}, None),
    ),
    "a first deployment is held: there is nothing to go back to": (world(rising(1)), ({1}, None)),
}


@pytest.mark.parametrize("name", ABORTS)
def test_abort(name):
    state, (held, override) = ABORTS[name]
    record = decided(replace(state, observed=replace(state.observed, **asked(OperatorCommand.ABORT)))).record
    assert {hold.digest for hold in record.holds} == {digest(number) for number in held}
    assert record.override == override


def test_a_version_that_is_left_on_probation_has_not_proven_itself():
    sim = Simulation(manual())
    promote(sim, *"123")
    assert [(version.number, version.unproven) for version in sim.record.versions] == [
        (1, False),
        (2, True),
        (3, False),
    ]
    ask(sim, OperatorCommand.ABORT)
    assert (sim.live, sim.held) == ("1", {"3"})


def test_three_stacks_an_abort_ends_at_the_good_one_with_both_others_on_hold():
    sim = Simulation(manual())
    promote(sim, *"12")
    push(sim, "3")
    sim.ask(OperatorCommand.ABORT)
    assert [sim.tag(each) for each in sim.requests[-1].about] == ["3", "2"], "it says before what it would stop"
    sim.settle()
    assert (sim.live, sim.held) == ("1", {"2", "3"})


BARE = archived(1, snapshot=replace(archived(1).snapshot, text=""))
STOOD = (archived(1), legacy(2), active(3), candidate(4))
DESTINATIONS = {
    "to a number that served": (world(*STOOD), 1, 1),
    "nowhere by a number that never served": (world(*STOOD), 4, None),
    "nowhere by an unknown number": (world(*STOOD), 9, None),
    "nowhere without a snapshot": (world(BARE, active(2), sets=(pods(2),)), 1, None),
}


@pytest.mark.parametrize("name", DESTINATIONS)
def test_rollback_leads(name):
    state, to, expected = DESTINATIONS[name]
    seen = replace(state.observed, **asked(OperatorCommand.ROLLBACK, to_version=to))
    override = decided(replace(state, observed=seen)).record.override
    assert (override.to_digest if override else None) == (digest(expected) if expected else None)


def test_rollback_to_what_serves_already_changes_nothing():
    state = world(legacy(1), active(2), observed=asked(OperatorCommand.ROLLBACK, to_version=2))
    record = decided(state).record
    assert (record.operator.request, record.routing, record.holds) == ("1", state.record.routing, ())


def test_a_request_is_carried_out_once():
    state = world(active(1), candidate(2), observed=asked(OperatorCommand.ABORT))
    once = decided(state).record
    assert once.held(digest(2))
    assert decided(state.with_record(replace(once, statements=()))).record.holds == ()


def test_a_request_that_outlived_the_record_is_not_carried_out_again():
    memory = LedgerMemory(active_digests=(digest(1), digest(2)))
    state = world(legacy(1), active(2), desired={"memory": memory}, observed=asked(OperatorCommand.ROLLBACK))
    record = decided(replace(state, record=Record())).record
    assert (record.operator.request, record.override) == ("1", None)


def retry(number: int, count: int = 1) -> Retry:
    return Retry(digest(number), count, "ada")


HELD = {"holds": (Hold(digest(2), "bad", NOW),)}
RETRIES = {
    "a held target is tried again": (world(active(1), legacy(2), record=HELD), retry(2), (True, False)),
    "a failed candidate is tried again": (world(active(1), rising(2, failure="late")), retry(2), (True, False)),
    "a version that the target does not name only loses its hold": (
        world(active(1), legacy(2), wants=1, record=HELD),
        retry(2),
        (False, False),
    ),
    "what is live is not rolled out again": (world(legacy(1), active(2)), retry(2), (False, False)),
    "a digest that nobody knows is not rolled out": (world(active(1)), retry(7), (False, False)),
    "one that was done already is not done again": (
        world(active(1), legacy(2), record={**HELD, "retry": 1}),
        retry(2),
        (False, True),
    ),
    "a broken app waits": (
        world(active(1), legacy(2), record=HELD, desired={"in_git": False}),
        retry(2),
        (False, True),
    ),
}


def tried_again(state: World, asked: Retry | None) -> World:
    told = journal(retried=((Source("c" * 40), asked),) if asked is not None else ())
    return replace(state, spec=replace(state.spec, retry=asked), desired=replace(state.desired, journal=told))


@pytest.mark.parametrize("name", RETRIES)
def test_retry(name):
    state, asked_for, (new_rollout, still_held) = RETRIES[name]
    record = decided(tried_again(state, asked_for)).record
    assert (record.rollout > state.record.rollout) is new_rollout
    assert bool(record.holds) is still_held


def test_retry_forgets_what_an_earlier_rollout_came_to():
    failed = rising(2, failure="late")
    state = world(active(1), failed, sets=(pods(1), pods(2, 3, 0)))
    tried = decided(tried_again(state, retry(2))).record.numbered(2)
    assert (tried.failure, tried.available_since, tried.waiting_since, tried.rollout) == ("", None, NOW, 3)


def _left_for_2() -> Simulation:
    """v3 was rolled back, v2 serves."""
    sim = deployed(manual())
    promote(sim, *"23")
    ask(sim, OperatorCommand.ROLLBACK)
    return sim


def test_rollback_by_number_leads_to_no_version_that_is_on_hold_unless_it_is_forced():
    sim = _left_for_2()
    ask(sim, OperatorCommand.ROLLBACK, to_version=3)
    assert (sim.live, sim.primary, sim.held) == ("2", "2", {"3"})
    ask(sim, OperatorCommand.ROLLBACK, to_version=3, force=True)
    assert (sim.live, sim.primary) == ("3", "3")
    assert "3" not in sim.held


def test_a_retry_is_told_with_its_commit_and_by_whom():
    asked = Source("b" * 40, "Bob <bob@example.com>", NOW, "web: retry v2")
    spec = replace(manual(), retry=Retry(digest(2), 1))
    state = world(
        active(1), legacy(2), wants=2, spec=spec, desired={"journal": journal(retried=((asked, spec.retry),))}
    )
    entry = next(one for one in decided(state).record.ledger if one.event is Event.RETRIED)
    assert (entry.by, entry.commit) == (asked.author, asked.commit)


SUSPENDED = Suspension("incident", "ada")
OLDER, NEWER = (Source(letter * 40, "Bob", landed=place) for letter, place in (("a", 4), ("b", 6)))
REVERTED = Primary(template("1"), 1, Source("1" * 40), Source("c" * 40, "ada", landed=5))
IN_ORDER = {
    "a retry before a revert asks for nothing after it": (OLDER, None, {2}),
    "nor where nobody could answer it until then": (OLDER, SUSPENDED, {2}),
    "a retry after it lifts its hold": (NEWER, None, set()),
    "also where that has to wait for the end of the suspension": (NEWER, SUSPENDED, set()),
    "who cannot tell, does not say that it is newer": (Source(""), None, {2}),
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_retry_and_the_revert_of_a_promotion_count_in_the_order_of_main(name) -> None:
    """Found so: the end of a suspension was taken for the retry, and lifted the hold of the revert before it."""
    asked, suspend, held = IN_ORDER[name]
    spec = replace(manual(), retry=retry(2), suspend=suspend)
    seen = {"primary": digest(2), "primary_by": "d" * 40}
    desired = {"primary": REVERTED, "journal": journal(retried=((asked, spec.retry),))}
    state = world(active(1), rising(2), wants=2, spec=spec, desired=desired, record=seen)
    resumed = replace(state.with_record(decided(state).record), spec=replace(spec, suspend=None))
    assert {hold.digest for hold in decided(resumed).record.holds} == {digest(number) for number in held}


PASSED = {
    "after a revert: it lifts its hold, though another is retried since": (9, None, set(), 4),
    "before it: it lifts nothing of it": (4, None, {2}, 4),
    "not while the app is suspended": (9, SUSPENDED, {2}, 0),
}


@pytest.mark.parametrize("name", PASSED)
def test_retry_that_another_replaced_before_anybody_looked(name) -> None:
    """Found so: of two retries in one look the first was not heard, and its version stayed on hold."""
    landed, suspend, held, answered = PASSED[name]
    spec = replace(manual(), retry=retry(3, 4), suspend=suspend)
    passed, last = (
        (Source("e" * 40, "Bob", landed=landed), retry(2, 3)),
        (Source("f" * 40, "Bob", landed=10), spec.retry),
    )
    desired = {"primary": REVERTED, "journal": journal(retried=(passed, last))}
    seen = {"primary": digest(2), "primary_by": "d" * 40}
    state = world(active(1), rising(2), candidate(3), wants=3, spec=spec, desired=desired, record=seen)
    record = decided(state).record
    assert {hold.digest for hold in record.holds} == {digest(number) for number in held}
    assert record.operator.retry == answered


def test_retry_is_older_than_the_revert_that_takes_traffic_back_from_its_version() -> None:
    spec = replace(manual(), retry=retry(2), suspend=SUSPENDED)
    desired = {"primary": REVERTED, "journal": journal(retried=((OLDER, spec.retry),))}
    state = world(legacy(1), active(2), wants=2, spec=spec, desired=desired)
    resumed = replace(state.with_record(decided(state).record), spec=replace(spec, suspend=None))
    assert decided(resumed).record.held(digest(2))


def hold(sequence: int, awaits: AwaitsPoll | None = None) -> Hold:
    return Hold(digest(2), "5xx", NOW, awaits=awaits, sequence=sequence)


ANSWERS = {
    "a hold that main was looked at since": (hold(0), 0, True),
    "a hold that nobody had seen: a retry that does not say what it knew is taken to be older": (
        hold(5, AwaitsPoll()),
        0,
        False,
    ),
    "whose author knew of the entries before it only": (hold(5, AwaitsPoll()), 4, False),
    "whose author knew of it": (hold(5, AwaitsPoll()), 5, True),
    "also where it is the first entry of all": (hold(1, AwaitsPoll()), 1, True),
    "a hold that has no entry yet": (hold(0, AwaitsPoll()), 3, False),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_retry_answers(name: str) -> None:
    put, after, answered = ANSWERS[name]
    spec = replace(manual(), retry=replace(retry(2), after=after))
    state = world(active(1), legacy(2), spec=spec, record={"holds": (put,), "sequence": 5})
    assert (decided(state).record.held(digest(2)) is None) is answered


def test_promote_full_of_what_is_to_serve_first_skips_nothing_as_nothing_is_checked():
    record = decided(world(candidate(1), observed=asked(OperatorCommand.PROMOTE_FULL))).record
    assert (record.operator.promote_full, record.ledger) == (None, ())


@pytest.mark.parametrize(("said", "told"), [("it is urgent", "it is urgent"), ("", "skipped by `promote --full`")])
def test_promote_full_is_told_with_its_reason(said: str, told: str):
    request = replace(asked(OperatorCommand.PROMOTE_FULL)["requests"][0], reason=said)
    record = decided(world(active(1), candidate(2), observed={"requests": (request,)})).record
    assert record.operator.promote_full == record.numbered(2).rollout
    assert [(entry.event, entry.by, entry.reason) for entry in record.ledger] == [(Event.SKIPPED, "ada", told)]


@pytest.mark.parametrize(("said", "told"), [("5xx", "5xx"), ("", "rolled back by hand")])
def test_rollback_is_told_with_its_reason(said: str, told: str):
    request = replace(asked(OperatorCommand.ROLLBACK)["requests"][0], reason=said)
    record = decided(world(legacy(1), active(2), observed={"requests": (request,)})).record
    assert (record.override.to_digest, record.override.reason) == (digest(1), told)


def test_closing_a_gate_that_is_not_open_tells_nobody_anything():
    gate = replace(asked(OperatorCommand.CLOSE_GATE)["requests"][0], gate="release")
    assert decided(world(active(1), observed={"requests": (gate,)})).record.ledger == ()


@pytest.mark.parametrize(("number", "waits"), [(1, False), (2, True)])
def test_an_abort_outranks_a_retry_that_nobody_saw_before_and_asks_nothing_of_one_that_was_answered(number, waits):
    state = world(
        active(1),
        legacy(2),
        spec=replace(manual(), retry=retry(2, number)),
        observed=asked(OperatorCommand.ABORT),
        record={**HELD, "retry": 1},
    )
    assert (decided(state).record.held(digest(2)).awaits is not None) is waits


@pytest.mark.parametrize(("by", "told"), [("", "Bob <bob@example.com>"), ("ada", "ada")])
def test_retry_of_what_serves_says_who_asked_for_it(by: str, told: str):
    run = AnalysisRun(
        AnalysisStage.POST, digest(2), 2, fallback=digest(1), started_at=NOW, phase=AnalysisPhase.INCONCLUSIVE
    )
    spec = replace(manual(), retry=Retry(digest(2), 1, by))
    asked = Source("b" * 40, "Bob <bob@example.com>", NOW, "web: retry v2")
    desired = {"journal": journal(retried=((asked, spec.retry),))}
    state = world(legacy(1), active(2), spec=spec, desired=desired, record={"analysis": (run,)})
    record = decided(state).record
    assert [(entry.event, entry.by, entry.commit) for entry in record.ledger] == [(Event.RETRIED, told, "b" * 40)]
    assert record.rollout == record.numbered(2).rollout == 3
