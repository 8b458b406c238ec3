"""The calendar of a policy: when it is shut in the coming week."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from gitops_bg.core.model.policy_rules import DateSpan, Match, Policy, Soak, Weekly, Windows
from gitops_bg.web.dashboard.drawing import calendar
from gitops_bg.web.dashboard.policies import ShownPolicy, shown_policies
from tests.web.dashboard.objects import line

FRIDAY = datetime(2026, 3, 6, 12, 0, tzinfo=UTC)
WEEKEND = Weekly(frozenset({5, 6}), reason="weekend")


def shown(*rules: object) -> ShownPolicy:
    waits = line("web", gates=[{"kind": "policy", "open": False, "reason": "calm: shut"}])
    policy = Policy("calm", rules, Match(apps=("we*",)))  # type: ignore[arg-type]
    (found,) = shown_policies([policy], [waits, line("cart")], {}, FRIDAY)
    return found


def spans(*rules: object) -> list[tuple[str, str, str]]:
    return [(f"{each.start:%a %H:%M}", f"{each.end:%a %H:%M}", each.why) for each in shown(*rules).spans or ()]


def test_a_weekend_is_shut_from_its_first_moment_to_its_last() -> None:
    assert spans(Windows(deny=(WEEKEND,))) == [("Sat 00:00", "Mon 00:00", "weekend")]


def test_what_is_shut_now_begins_now_and_what_lasts_says_so() -> None:
    freeze = Windows(deny=(DateSpan(datetime(2026, 3, 1), None, "freeze"),))
    assert spans(freeze) == [("Fri 12:00", "Fri 12:00", "freeze")]
    (span,) = shown(freeze).spans or ()
    assert span.lasts
    assert span.end - span.start == timedelta(days=7)


def test_outside_of_what_is_allowed_it_is_shut_each_night() -> None:
    office = Windows(allow=(Weekly(frozenset(range(7)), 9 * 60, 17 * 60),))
    nights = spans(office)
    assert nights[0] == ("Fri 17:00", "Sat 09:00", "outside of the windows that are allowed")
    assert len(nights) == 7


def test_a_policy_without_windows_has_no_calendar_and_says_what_it_holds() -> None:
    soak = shown(Soak(timedelta(hours=1)))
    assert (soak.spans, soak.rules, soak.apps) == (None, ("soak",), 1)
    assert [each.row.name for each in soak.holds] == ["web"]


def test_the_drawing_says_how_often_it_is_shut() -> None:
    drawn = calendar(shown(Windows(deny=(WEEKEND,))).spans or (), FRIDAY)
    assert "<title>shut 1 times in 7 days</title>" in drawn
    assert '<rect class="shut" y="16" height="16" x="50.0" width="200.0" rx="2"><title>weekend</title></rect>' in drawn
