"""When changes of others are a fight, how long each repair waits, and how often that is said."""

from datetime import UTC, datetime, timedelta

import pytest

from gitops_bg.core.model.drift import Drift, DriftLoop, FieldChange, after_repair

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def change(field: str) -> FieldChange:
    return FieldChange(field, f"{field}: a → b")


SELECTOR = Drift((change("spec.selector"),), "argocd-controller")


def repaired(times: int, *, every: int = 1, drift: Drift = SELECTOR) -> tuple[DriftLoop, ...]:
    """So many repairs, the last at noon."""
    found: tuple[DriftLoop, ...] = ()
    for back in reversed(range(times)):
        found = after_repair(found, "Service", "web", drift, NOON - back * every * SECOND)
    return found


PAUSES = {1: (0, 0), 3: (0, 0), 4: (5, 1), 5: (10, 1), 6: (20, 1), 7: (40, 1), 8: (80, 1), 9: (120, 1), 5000: (120, 1)}


@pytest.mark.parametrize(("times", "pauses"), PAUSES.items())
def test_four_repairs_are_made_at_once_then_pauses_double_but_for_live_traffic(
    times: int, pauses: tuple[int, int]
) -> None:
    (contest,) = repaired(times)
    waits = [contest.next_repair(live=live) - NOON for live in (False, True)]
    assert waits == [each * SECOND for each in pauses]
    assert contest.is_fight is (times > 4)


def test_after_an_hour_without_a_repair_they_are_counted_anew_and_what_is_forgotten_is_kept_no_longer() -> None:
    found = after_repair(repaired(5), "ConfigMap", "web", SELECTOR, NOON)
    early, late = (after_repair(found, "Service", "web", SELECTOR, NOON + each * SECOND) for each in (3599, 3600))
    assert {(each.kind, each.count) for each in early} == {("ConfigMap", 1), ("Service", 6)}
    assert {(each.kind, each.count) for each in late} == {("Service", 1)}


def test_each_object_is_counted_by_itself_whatever_is_changed_of_it() -> None:
    labels = Drift((change('metadata.labels["a"]'), change("spec.selector")), "kubectl-edit")
    found = repaired(2)
    found = after_repair(found, "Service", "web", labels, NOON)
    found = after_repair(found, "Service", "web-preview", SELECTOR, NOON)
    found = after_repair(found, "ConfigMap", "web", SELECTOR, NOON)
    counts = {(each.kind, each.name): each.count for each in found}
    assert counts == {("Service", "web"): 3, ("Service", "web-preview"): 1, ("ConfigMap", "web"): 1}


def test_a_fight_is_said_at_its_beginning_and_every_ten_minutes_while_it_goes_on() -> None:
    found: tuple[DriftLoop, ...] = ()
    said = []
    for minute in range(30):
        now = NOON + minute * 60 * SECOND
        found = after_repair(found, "Service", "web", SELECTOR, now)
        said += [minute] if found[0].said == now else []
    assert said == [4, 14, 24]


def test_a_fight_is_said_at_once_where_it_was_said_last_at_a_time_that_is_still_to_come() -> None:
    """The clock was ahead, and has been set back since."""
    back = NOON - 3600 * SECOND
    (found,) = after_repair(repaired(5), "Service", "web", SELECTOR, back)
    assert found.said == back


SAID = {
    "somebody known": (SELECTOR, "Service web: argocd-controller changes spec.selector again and again; "),
    "nobody knows who": (Drift(SELECTOR.changes), "Service web: somebody changes spec.selector again and again; "),
    "a deletion": (Drift(), "Service web: somebody deletes it again and again; "),
}


@pytest.mark.parametrize(("drift", "said"), SAID.values(), ids=SAID)
def test_it_names_object_field_and_manager(drift: Drift, said: str) -> None:
    assert [str(each).partition("only one may own")[0] for each in repaired(5, drift=drift)] == [said]


def test_a_drift_of_many_fields_names_the_first_three() -> None:
    found = Drift(tuple(change(each) for each in "abcde"), "x")
    assert str(found) == "x changed a: a → b, b: a → b, c: a → b, and 2 more"
