"""The drawings: what they show, in pictures and in words."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from gitops_bg.core.model.analysis import AnalysisPhase, Measurement, Metric, MetricRun
from gitops_bg.web.dashboard.drawing import Lane, bars, draw
from tests.web.dashboard.objects import NOW

GATES = (("availability", False), ("policy", True), ("approval", False))
CANDIDATE = Lane("1.5.0 (v2)", "green", "candidate", live=False, preview=True, desired=3, available=2, gates=GATES)
LIVE = Lane("1.4.0 (v1)", "blue", "active", True, False, 20, 20)


def count(drawn: str, kind: str) -> int:
    """How many elements of a class there are; the drawing is well-formed."""
    return sum(1 for each in ElementTree.fromstring(drawn).iter() if kind in each.get("class", "").split())


def test_each_version_has_a_lane_with_its_pods_gates_preview_and_traffic() -> None:
    drawn = draw((CANDIDATE, LIVE), "shop/web")
    assert count(drawn, "lane") == 2
    assert (count(drawn, "gate"), count(drawn, "open"), count(drawn, "shut")) == (3, 1, 2)
    assert (count(drawn, "stop"), count(drawn, "live")) == (1, 1)
    assert count(drawn, "down") == 1
    assert count(drawn, "pod") == 3 + 12, "of many pods twelve are drawn, and counted in words"
    assert "20/20" in drawn


def test_the_title_says_all_of_it_for_who_does_not_see() -> None:
    title = re.findall(r'<title id="lanes-title">(.*)</title>', draw((CANDIDATE, LIVE), "shop/web"))
    assert title == [
        "shop/web: 1.5.0 (v2) is candidate with 2 of 3 pods available, preview goes to it, 1 of 3 gates open; "
        "1.4.0 (v1) is active with 20 of 20 pods available, live traffic goes to it"
    ]


def test_without_a_version_nothing_is_drawn() -> None:
    assert draw((), "shop/web") == ""


def measured(*values: str, condition: str = "") -> MetricRun:
    found = tuple(Measurement(AnalysisPhase.SUCCESSFUL, NOW, value) for value in values)
    return MetricRun(Metric("errors", "web", success=condition), successful=len(values), measurements=found)


def heights(drawn: str) -> list[float]:
    found = [each for each in ElementTree.fromstring(drawn) if each.get("class", "").startswith("bar")]
    return [float(each.get("height", "")) for each in found]


def test_bars_are_as_high_as_what_was_measured_below_their_limit() -> None:
    drawn = bars(measured("0.01", "0.02", "0.04", condition="result < 0.05"))
    low, middle, high = heights(drawn)
    assert low < middle < high
    assert count(drawn, "limit") == 1
    (y,) = re.findall(r'class="limit" d="M0 ([0-9.]+)H', drawn)
    assert float(y) < 34 - high


@pytest.mark.parametrize("value", ["", "true", "nan", "inf", "1e999", "[1, 2]", "-"])
def test_what_is_no_number_is_drawn_as_well(value: str) -> None:
    drawn = bars(measured(value, "3", condition="result"))
    assert len(heights(drawn)) == 2
    assert count(drawn, "limit") == 0


def test_of_many_measurements_the_newest_are_drawn() -> None:
    assert len(heights(bars(measured(*map(str, range(100)))))) == 40
    assert bars(measured()) == ""
