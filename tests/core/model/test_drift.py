"""When changes of others are a fight, how long each repair waits, and when it is over."""

from datetime import UTC, datetime, timedelta

import pytest

from gitops_bg.core.model.drift import (
    Contest,
    Drift,
    FieldChange,
    after_repair,
    going_on,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def change(field: str, part: str = "") -> FieldChange:
    return FieldChange(field, part or field, f"{field}: a → b")


SELECTOR = Drift((change("spec.selector"),), "argocd-controller")


def repaired(times: int, *, every: int = 1, drift: Drift = SELECTOR) -> tuple[Contest, ...]:
    """So many repairs, the last at noon."""
    found: tuple[Contest, ...] = ()
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


ENDS = {
    "what is no fight counts for an hour": (4, 1, 3600),
    "a fight ends after ten minutes": (5, 1, 600),
    "so does one with a change every five minutes": (5, 300, 600),
    "a slow one ends after twice its pace": (5, 601, 1202),
}


@pytest.mark.parametrize(("times", "every", "seconds"), ENDS.values(), ids=ENDS)
def test_it_is_over_after_a_time_without_a_change(times: int, every: int, seconds: int) -> None:
    found = repaired(times, every=every)
    assert going_on(found, NOON + (seconds - 1) * SECOND) == found
    assert going_on(found, NOON + seconds * SECOND) == ()


def test_each_part_of_each_object_is_counted_by_itself() -> None:
    labels = Drift((change('metadata.labels["a"]', "metadata.labels"), change("spec.selector")), "kubectl-edit")
    found = repaired(2)
    found = after_repair(found, "Service", "web", labels, NOON)
    found = after_repair(found, "Service", "web-preview", SELECTOR, NOON)
    found = after_repair(found, "ConfigMap", "web", SELECTOR, NOON)
    counts = {(each.kind, each.name, each.part): each.count for each in found}
    assert counts == {
        ("Service", "web", "spec.selector"): 3,
        ("Service", "web", "metadata.labels"): 1,
        ("Service", "web-preview", "spec.selector"): 1,
        ("ConfigMap", "web", "spec.selector"): 1,
    }


def test_what_writes_another_field_and_name_each_time_makes_no_more_of_them() -> None:
    found: tuple[Contest, ...] = ()
    for number in range(50):
        found = after_repair(
            found, "ConfigMap", "flags", Drift((change(f"data.k{number}", "data"),), f"m{number}"), NOON
        )
    (contest,) = found
    assert (contest.count, contest.fields) == (50, ("data.k0", "data.k1", "data.k2", "data.k3"))
    assert contest.by == ("m0", "m1", "m2", "m3")


SAID = {
    "somebody known": (SELECTOR, "Service web: argocd-controller changes spec.selector again and again"),
    "nobody knows who": (Drift(SELECTOR.changes), "Service web: somebody changes spec.selector again and again"),
    "a deletion": (Drift(), "Service web: somebody deletes it again and again"),
}


@pytest.mark.parametrize(("drift", "said"), SAID.values(), ids=SAID)
def test_it_names_object_field_and_manager(drift: Drift, said: str) -> None:
    assert [str(each) for each in repaired(5, drift=drift)] == [said]


def test_a_drift_of_many_fields_names_the_first_three() -> None:
    found = Drift(tuple(change(each) for each in "abcde"), "x")
    assert str(found) == "x changed a: a → b, b: a → b, c: a → b, and 2 more"
