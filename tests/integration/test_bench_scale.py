"""What the bench makes of the figures with 1, 10, 100 … apps: a picture that shows every point, and two tables."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.bench import report
from tests.bench.rows import Row
from tests.bench.scale import rows as figures
from tests.bench.scale.chart import Line, Panel, draw
from tests.bench.scale.held import PARTS, weigh
from tests.bench.scale.page import PICTURE, picture, write_scale

SVG = "{http://www.w3.org/2000/svg}"
UNITS = {
    **{figures.COLD: "s", figures.COLD_CPU: "s", figures.MEMORY: "MiB"},
    **{figures.IDLE: "ms", figures.CREATED: "ms", figures.CHANGE: "ms"},
}
ROWS = [
    *(
        Row("scale", work, 1.5 * apps, unit, 1e6, "sandbox", apps)
        for apps in (1, 10, 100, 1_000, 10_000)
        for work, unit in UNITS.items()
    ),
    Row("scale", figures.ONE_APP, 20.0, "KiB", 40.0, "sandbox", 10_000, "resident"),
    *(Row("scale", f"… {part.name}", 2.0, "KiB", part.budget, "sandbox", 10_000, part.why) for part in PARTS),
]


def drawn(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    text = draw("Cost", "What it costs.", "apps", [Panel("Time", "ms", (Line("cpu", tuple(points)),))])
    return [(float(each.attrib["cx"]), float(each.attrib["cy"])) for each in ET.fromstring(text).iter(f"{SVG}circle")]


def test_equal_factors_are_equal_distances_on_both_axes() -> None:
    (first, second, third) = drawn([(1, 1), (10, 10), (100, 100)])
    assert second[0] - first[0] == pytest.approx(third[0] - second[0])
    assert first[1] - second[1] == pytest.approx(second[1] - third[1])
    assert first[0] < second[0]
    assert first[1] > second[1]


def test_a_straight_line_means_a_power_of_the_number_of_apps() -> None:
    places = drawn([(apps, 3.0 * apps**0.5) for apps in (1, 10, 100, 1_000, 10_000)])
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(places)]
    assert slopes == pytest.approx([slopes[0]] * 4, rel=0.01)


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_what_no_logarithm_has_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        drawn([(1, 1.0), (10, value)])


def test_the_picture_has_every_figure_its_text_as_text_and_a_ground_of_its_own() -> None:
    text = picture(ROWS)
    assert len(text.encode()) < 40_000
    root = ET.fromstring(text)
    assert len(list(root.iter(f"{SVG}circle"))) == 5 * len(UNITS)
    words = [each.text for each in root.iter(f"{SVG}text")]
    assert {"1", "10", "100", "1,000", "10,000", "apps", "One app changed"} <= set(words)
    assert "resident: 15,000 MiB with 10,000" in words
    ground = next(root.iter(f"{SVG}rect"))
    assert (ground.attrib["width"], ground.attrib["height"]) == tuple(root.attrib["viewBox"].split()[2:])
    assert root.findtext(f"{SVG}title")
    assert picture(ROWS) == text


def test_the_page_gets_both_tables_and_the_picture_beside_it(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    names = ("scale", "memory of one app")
    page.write_text("".join(f"<!-- {name} -->\nstale\n<!-- /{name} -->\n" for name in names))
    write_scale(ROWS, page)
    text = page.read_text()
    assert "| 10,000 | 15,000 s | 15,000 s | 15,000 MiB | 15,000 ms | 15,000 ms | 15,000 ms |" in text
    assert "| memory of one app more | 20 KiB | 40 KiB | resident |" in text
    assert "| … no object | 6 KiB |  | " in text
    assert "stale" not in text
    assert (tmp_path / PICTURE).read_text() == picture(ROWS)


def test_the_page_shows_the_picture_and_says_what_is_on_it() -> None:
    text = report.PAGE.read_text()
    assert f"]({PICTURE})" in text
    (shown,) = [line for line in text.splitlines() if f"]({PICTURE})" in line]
    assert len(shown.partition("]")[0]) > 40
    assert (report.PAGE.parent / PICTURE).exists()


def test_an_object_counts_once_for_the_first_part_that_reaches_it() -> None:
    shared, alone, far = "s" * 1_000, "a" * 500, ["f" * 2_000]
    first, second = [shared], [shared, alone, far]
    roots = [("first", [first]), ("second", [second]), ("third", [second, Path, weigh])]
    found = weigh(roots, beyond=[far])
    assert found == {
        "first": sum(map(sys.getsizeof, [first, shared])),
        "second": sum(map(sys.getsizeof, [second, alone])),
        "third": 0,
    }
