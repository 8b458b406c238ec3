"""The recording of the demo on the first page: a picture of what the demo prints today."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gitops_bg.cli.demo.stories.day import DAY
from tests.documentation.pictures.recording import COLUMNS, LONGEST_PAUSE, PICTURE, Line, drawn, record, without_waiting

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(picture).iter(f"{SVG}text"))


def test_the_picture_has_every_step_of_the_story_by_its_name_and_its_good_end() -> None:
    shown = [each.text or "" for each in texts(PICTURE.read_text(encoding="utf-8"))]
    titles = [re.sub(r"^\d+\. ", "", text) for text in shown if re.match(r"\d+\. ", text)]
    assert titles == [step.name for step in DAY.steps]
    assert shown[-1].endswith("everything was as expected")
    assert not [text for text in shown if "✗" in text]


def test_lines_appear_in_their_order_each_at_its_time_and_none_is_wider_than_the_picture() -> None:
    lines = [Line(0.0, "1. First"), Line(0.5, "  $ git push"), Line(1.0, "  ✓  0.12 s  <live> & well " + "x" * COLUMNS)]
    found = texts(drawn(lines))
    times = [float(each[0].attrib["keyTimes"].split(";")[1]) for each in found]
    assert times == sorted(times)
    assert [each.attrib["class"] for each in found] == ["title", "typed", "met"]
    assert "<live> & well" in (found[2].text or "")
    assert max(len(each.text or "") for each in found) == COLUMNS


def test_nobody_watches_a_machine_wait() -> None:
    assert without_waiting([Line(2.0, "a"), Line(60.0, "b")])[1].at == LONGEST_PAUSE


def test_a_demo_that_fails_is_not_drawn(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="returned non-zero exit status 3"):
        record([sys.executable, "-c", "print('not as expected'); raise SystemExit(3)"])
