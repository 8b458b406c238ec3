"""A new record: what the ledger and the cluster still have of a former one (DESIGN §4.7)."""

from dataclasses import replace

import pytest

from gitops_bg.core.model.desired import LedgerMemory, Missing
from gitops_bg.core.model.digest import with_configuration
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.model.record import Event, LedgerEntry, Record
from gitops_bg.core.model.spec import Retry
from gitops_bg.core.model.statements import Hold
from gitops_bg.core.model.version import Color, Retirement, Snapshot, Stage, short
from tests.core.records import statements_of
from tests.core.simulation import automatic, deployed, manual, settings, template
from tests.core.stories import coming, kubernetes_events
from tests.core.worlds import EARLIER, NOW, active, decided, digest, pods, primary, sentences, target, world

MEMORY = LedgerMemory(
    rollout=7,
    last_version=5,
    active_digests=(digest(1), digest(2)),
    statements=statements_of(Hold(digest(3), "bad", EARLIER)),
)


def reborn(**changes):
    """A cluster in which nothing of the app is left; main names version 2 as primary and 4 as target."""
    desired = {"target": target(4), "primary": primary(2), "memory": MEMORY, **changes.pop("desired", {})}
    observed = {"active_service": None, "preview_service": None, **changes.pop("observed", {})}
    sets = changes.pop("sets", ())
    return replace(world(sets=sets, desired=desired, observed=observed, **changes), record=Record())


def test_numbers_holds_and_served_digests_come_from_the_ledger():
    record = decided(reborn()).record
    assert (record.rollout, record.last_version, record.routing.activations) == (9, 6, (digest(1), digest(2)))
    assert [(hold.digest, hold.reason, hold.since) for hold in record.past_holds] == [(digest(3), "bad", EARLIER)]


def test_main_alone_is_enough_to_begin():
    record = decided(reborn(desired={"memory": None})).record
    assert [(one.number, one.digest) for one in record.versions] == [(2, digest(2)), (3, digest(4))]


def test_a_record_begins_once():
    record = decided(reborn()).record
    assert decided(replace(reborn(), record=record)).record == record


def test_the_primary_of_a_rebuilt_cluster_comes_up_at_once_and_the_target_beside_it():
    said = sentences(reborn())
    assert said[0].startswith("create the blue ReplicaSet of 2 (v2)")
    assert said[0].endswith("at 3")
    assert any(line.startswith("create the green ReplicaSet of 4 (v6)") for line in said)


def test_a_replica_set_is_taken_back_with_the_configuration_it_uses_unless_that_is_forged():
    uses = with_configuration(template("1"), [settings("a")])
    view = replace(pods(1), snapshot=uses)
    assert decided(reborn(sets=(view,))).record.version(uses.digest).snapshot.configuration == uses.configuration
    forged = replace(view, snapshot=replace(uses, configuration=(settings("b"),)))
    assert decided(reborn(sets=(forged,))).record.version(uses.digest) is None


def test_a_retry_that_is_older_than_the_record_is_not_done_again():
    spec = replace(manual(), retry=Retry(digest(4), 3))
    assert decided(reborn(spec=spec)).record.operator.retry == 3


def test_a_hold_that_the_primary_overruled_in_a_former_life_does_not_come_back():
    memory = replace(MEMORY, statements=statements_of(Hold(digest(2), "bad", EARLIER)))
    assert decided(reborn(desired={"memory": memory})).record.holds == ()


# --- ReplicaSets that outlived their record ---

TAKEN_BACK = {
    "one that served before": (pods(1), (Stage.LEGACY, True)),
    "one that never served": (pods(4), (Stage.CANDIDATE, False)),
    "one with a digest of a newer release, whose content main names": (
        pods(4, snapshot=replace(template("4"), digest="v9:ff")),
        (Stage.CANDIDATE, False),
    ),
}


@pytest.mark.parametrize("name", TAKEN_BACK)
def test_is_taken_back(name):
    view, (stage, served) = TAKEN_BACK[name]
    version = decided(reborn(sets=(view,))).record.numbered(view.number)
    assert (version.stage, version.was_active) == (stage, served)
    assert version.left_at == (NOW if served else None)


def test_what_began_before_anybody_could_read_the_ledger_has_served_once_it_is_read():
    """A pass without Git begins the record; a way back is only to what served."""
    nothing = {"memory": None, "target": Missing.UNSEEN, "primary": Missing.UNSEEN}
    begun = decided(reborn(desired=nothing, sets=(pods(1), pods(4)))).record
    assert (begun.unrecalled, [each.was_active for each in begun.versions]) == (True, [False, False])
    recalled = decided(replace(reborn(sets=(pods(1), pods(4))), record=begun)).record
    found = [recalled.numbered(number) for number in (1, 4)]
    assert [(each.was_active, each.left_at) for each in found] == [(True, NOW), (False, None)]


def test_numbers_go_on_after_those_of_what_was_taken_back():
    record = decided(reborn(sets=(pods(1), pods(9)))).record
    assert record.version(digest(4)).number == record.last_version == 10
    assert (record.numbered(1).activated_at, record.numbered(9).activated_at) == (NOW, None)


def test_an_epoch_is_the_beginning_of_the_uid():
    assert decided(reborn(observed={"app_uid": "0123456789-abc"})).record.epoch == "01234567"


def numbers(record: Record) -> list[int]:
    """Main names 2, and 4, which gets the next number."""
    return sorted(one.number for one in record.versions)


LEFT_ALONE = {
    "somebody else's": pods(2, number=3, ours=False, owner="theirs"),
    "one that is going away": pods(2, number=3, deleting=True),
    "one without its snapshot": pods(2, number=3, snapshot=Snapshot(digest(2), "")),
    "one without its number": pods(2, number=0),
    "one whose snapshot is not what its digest says": pods(
        2, number=3, snapshot=Snapshot(digest(2), template("9").text)
    ),
    "one whose digest nobody here can compute": pods(2, number=3, snapshot=Snapshot("v9:ff", template("9").text)),
    "one of which only the short digest is known, whose content main names": pods(
        2, number=3, snapshot=replace(template("2"), digest=short(digest(2)))
    ),
    "one with such a digest, and other configuration than main names": pods(
        2, number=3, snapshot=replace(with_configuration(template("2"), [settings("a")]), digest="v9:ff")
    ),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_is_not_taken_back(name):
    assert numbers(decided(reborn(sets=(LEFT_ALONE[name],))).record) == [2, 6]


def test_two_replica_sets_of_one_number_are_not_both_taken_back():
    assert numbers(decided(reborn(sets=(pods(1), pods(2, number=1)))).record) == [1, 2, 6]


def test_a_version_taken_back_keeps_its_color_and_the_commit_that_main_says_brought_it():
    record = decided(reborn(sets=(pods(2, color=Color.GREEN), pods(4)))).record
    assert record.numbered(2).color is Color.GREEN
    assert record.numbered(2).source == primary(2).source
    assert record.numbered(4).source == target(4).source


def test_the_candidate_does_not_take_the_color_of_the_primary_taken_back_beside_it():
    record = decided(reborn(sets=(pods(2, color=Color.GREEN), pods(4)))).record
    assert record.numbered(2).color is not record.numbered(4).color


def test_what_outlived_its_record_and_is_not_wanted_leaves_after_its_delay():
    record = decided(reborn(sets=(pods(1), pods(2)))).record
    assert record.numbered(1).retirement == Retirement(NOW)


def test_a_wiped_status_moves_no_traffic():
    sim = coming()
    sim.record = Record()
    sim.settle()
    assert (sim.live, sim.shown) == ("1", "2")
    assert {pods.replicas for pods in sim.pods.values()} == {3}


@pytest.mark.parametrize("memory", [None, MEMORY], ids=["without a ledger", "with one"])
def test_what_is_found_serving_begins_no_rollout_and_what_is_found_on_its_way_does(memory):
    """Found so: after a lost record the rollout of what had served for long was told to begin, and to be complete."""
    sim = coming()
    sim.record, sim.memory = Record(), memory
    sim.settle()
    assert [rollout.version for rollout in sim.record.rollouts] == [2]
    told = [one.reason for one in kubernetes_events(Record(), sim.record)]
    assert (told.count("RolloutStarted"), "RolloutCompleted" in told) == (1, False)


def test_rebuilding_twice_ends_in_the_same_place():
    sim = deployed(automatic())
    for _ in range(2):
        sim.rebuild_cluster()
        sim.settle()
    assert (sim.live, sim.record.numbered(1).stage) == ("1", Stage.ACTIVE)


# --- the way into the ledger ---

ENTRIES = tuple(LedgerEntry(number, NOW, Event.PROMOTED) for number in (1, 2, 3))
ACKNOWLEDGED = {
    "nothing of another epoch": (GitView(ledger_epoch="other", ledger_sequence=2), 3),
    "none": (GitView(ledger_epoch="5eed", ledger_sequence=0), 3),
    "the first": (GitView(ledger_epoch="5eed", ledger_sequence=1), 2),
    "all": (GitView(ledger_epoch="5eed", ledger_sequence=3), 0),
}


@pytest.mark.parametrize("name", ACKNOWLEDGED)
def test_ledger_has_acknowledged(name):
    git, waiting = ACKNOWLEDGED[name]
    state = world(active(1), observed={"git": git}, record={"ledger": ENTRIES, "sequence": 3})
    assert len(decided(state).record.ledger) == waiting


def test_a_later_position_of_another_epoch_changes_no_number():
    git = GitView(ledger_epoch="other", ledger_sequence=9)
    state = world(active(1), observed={"git": git}, record={"ledger": ENTRIES, "sequence": 3})
    record = decided(state).record
    assert (record.ledger, record.sequence, record.ledger_claimed) == (ENTRIES, 3, 0)


def test_a_position_that_the_record_never_gave_out_takes_nothing_for_told():
    """Somebody wrote it there, with our epoch: what waits is told, under numbers that Git does not take for known."""
    git = GitView(ledger_epoch="5eed", ledger_sequence=9)
    remembered = {"ledger": ENTRIES, "sequence": 3, "notified_sequence": 2}
    state = world(active(1), observed={"git": git}, record=remembered)
    decision = decided(state)
    after = decision.record
    assert [entry.sequence for entry in after.ledger] == [10, 11, 12]
    assert [replace(entry, sequence=0) for entry in after.ledger] == [replace(entry, sequence=0) for entry in ENTRIES]
    assert (after.sequence, after.outbox.notified_sequence) == (12, 11)
    [told] = (one for one in kubernetes_events(state.record, after) if one.reason == "LedgerAhead")
    assert (told.reason, told.warning) == ("LedgerAhead", True)
    assert "entry 9" in told.message
    assert "gave out 3" in told.message
    told_anew = [each for each in decision.events if isinstance(each.fact, LedgerEntry)]
    assert not told_anew, "what waits is only numbered anew"
    assert after.ledger_claimed == 9
    assert decided(state.with_record(after)).record == after
    told = replace(state.observed, git=replace(git, ledger_sequence=10))
    assert decided(replace(state.with_record(after), observed=told)).record.ledger_claimed == 0
    assert not kubernetes_events(after, replace(after, ledger=())), "said once"


# --- how big the app was ---


def test_a_target_that_breaks_does_not_shrink_an_app_whose_replica_set_is_lost():
    sim = deployed(manual())
    sim.replicas = 10
    sim.settle()
    seen = replace(world(active(1)), record=sim.record, now=sim.now)
    unreadable = replace(seen.desired, target=Missing.UNREADABLE)
    broken = replace(seen, desired=unreadable, observed=replace(seen.observed, replica_sets=()))
    assert broken.full_size == 10


def test_the_size_asked_for_last_is_remembered():
    state = world(active(1), desired={"target": target(1, replicas=7)})
    assert decided(state).record.last_read.replicas == 7
