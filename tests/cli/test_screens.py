"""What people see at 80, 100 and 140 columns is as it was, and nothing in it is broken or cut."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from gitops_bg.cli.views.listing import LEAST_BESIDE, Column, Line, Listing, in_lines
from tests.cli.screens import PAGES, ROWS, SCREENS, WIDTHS, drawn, file_of, picture

ENDLESS = 4000


@pytest.mark.parametrize("name", [*SCREENS, *PAGES])
def test_a_screen_is_as_its_picture(name: str) -> None:
    """`python -m tests.cli.screens` writes the pictures anew."""
    assert picture(name) == file_of(name).read_text(encoding="utf-8")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SCREENS)
def test_no_screen_has_a_word_that_the_whole_has_not(name: str, width: int) -> None:
    """A broken word, or one that was cut, would be one more."""
    assert set(drawn(name, width).split()) <= set(drawn(name, ENDLESS).split()) | {"│"}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fills_the_terminal_and_no_line_of_it_is_cut(name: str, width: int) -> None:
    lines = drawn(name, width).splitlines()
    assert len(lines) == ROWS
    assert max(map(cell_len, lines)) <= width
    assert not any("…" in line for line in lines)


COLUMNS = (Column("NAME"), Column("AGE", 3), Column("IMAGE", 2), Column("PHASE", 1), Column("INFO"))
WEB = (
    "shop/web",
    "3d4h",
    "registry.example.com/shop/web:1.2.0",
    "AwaitingPromotion",
    "it waits for people to merge it",
)


def listing(*rows: tuple[str, ...], **how: object) -> Listing:
    return Listing(COLUMNS, (Line(tuple(map(Text, row))) for row in rows), **how)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("width", "titles"),
    [
        (140, "NAME AGE IMAGE PHASE INFO"),
        (92, "NAME AGE IMAGE PHASE INFO"),
        (91, "NAME IMAGE PHASE INFO"),
        (86, "NAME IMAGE PHASE INFO"),
        (85, "NAME PHASE INFO"),
        (49, "NAME PHASE INFO"),
        (48, "NAME INFO"),
        (30, "NAME INFO"),
        (29, "NAME PHASE"),
        (20, "NAME"),
    ],
)
def test_columns_go_by_importance_and_the_sentence_stays(width: int, titles: str) -> None:
    """Below 30 columns the sentence has no room beside, so that another column has room again."""
    first, *others = in_lines(listing(WEB), width).splitlines()
    assert first.split() == titles.split()
    assert set(WEB[-1].split()) <= set(" ".join(others).split())


def test_a_column_that_says_nothing_goes_before_one_that_does() -> None:
    row = ("web", "-", "", "Healthy-and-well", "")
    columns = (Column("NAME"), Column("AGE", 1), Column("IMAGE", 2), Column("PHASE", 3), Column("INFO"))
    shown = in_lines(Listing(columns, [Line(tuple(map(Text, row)))]), 29)
    assert shown.splitlines()[0].split() == ["NAME", "PHASE", "INFO"]


COUNTED = ("web", "1h", "i", "Held", "one two three four five six seven eight nine ten")
NARROW = (Column("NAME"), Column("AGE"), Column("IMAGE"), Column("PHASE"), Column("INFO"))


def test_a_sentence_stands_beside_where_there_is_room_for_it_and_below_where_there_is_none() -> None:
    table = Listing(NARROW, [Line(tuple(map(Text, COUNTED)))])
    beside = in_lines(table, 25 + LEAST_BESIDE).splitlines()
    assert beside[0] == "NAME  AGE  IMAGE  PHASE  INFO"
    assert beside[1:3] == [
        "web   1h   i      Held   one two three four",
        "                         five six seven eight",
    ]
    below = in_lines(table, 24 + LEAST_BESIDE).splitlines()
    assert below[0] == "NAME  AGE  IMAGE  PHASE"
    assert below[1:] == ["web   1h   i      Held", "  one two three four five six seven eight", "  nine ten"]


def test_a_word_that_has_no_room_beside_takes_its_sentence_below() -> None:
    row = (*COUNTED[:-1], "see https://git.example.com/shop/config/pulls/12")
    shown = in_lines(Listing(NARROW, [Line(tuple(map(Text, row)))]), 60).splitlines()
    assert shown[2:] == ["  see https://git.example.com/shop/config/pulls/12"]


def test_nothing_is_below_where_there_is_nothing_to_say() -> None:
    assert in_lines(listing((*WEB[:-1], "-"), (*WEB[:-1], "")), 30).count("\n") == 3


def test_what_stands_below_begins_as_its_line_says() -> None:
    line = Line(tuple(map(Text, COUNTED)), "│    ")
    shown = in_lines(Listing(NARROW, [line], indent=2), 40).splitlines()
    assert shown[2:] == ["  │    one two three four five six seven", "  │    eight nine ten"]


def test_several_sentences_are_several_lines() -> None:
    shown = in_lines(listing(("web", "1h", "i", "Held", "one\ntwo")), 200)
    assert [line.split()[-1] for line in shown.splitlines()] == ["INFO", "one", "two"]


def test_only_wide_shows_what_is_for_wide_only() -> None:
    columns = (Column("NAME"), Column("DIGEST", 1, wide=True), Column("INFO"))
    rows = [Line((Text("web"), Text("3f9c"), Text("x")))]
    assert "DIGEST" not in in_lines(Listing(columns, rows), 200)
    assert "3f9c" in in_lines(Listing(columns, rows, wide=True), 200)


WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=30)


def rows() -> st.SearchStrategy[list[tuple[str, ...]]]:
    sentences = st.lists(WORDS, max_size=12).map(" ".join)
    return st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS, sentences), min_size=1, max_size=4)


@given(rows(), st.integers(10, 160))
def test_whatever_the_width_no_word_is_broken_and_what_matters_is_there(
    found: list[tuple[str, ...]], width: int
) -> None:
    shown = in_lines(listing(*found), width)
    words = [word for row in found for cell in row for word in cell.split()]
    assert set(shown.split()) <= {*words, *(each.title for each in COLUMNS)}
    for row in found:
        assert row[0] in shown.split()
        assert set(row[-1].split()) - {"-"} <= set(shown.split())


@given(rows(), st.integers(10, 160))
def test_a_line_is_too_long_only_for_what_never_goes(found: list[tuple[str, ...]], width: int) -> None:
    longest = max(map(cell_len, must_stay(found)))
    assert all(cell_len(line) <= max(width, longest + 2) for line in in_lines(listing(*found), width).splitlines())


def must_stay(found: list[tuple[str, ...]]) -> Iterator[str]:
    yield "NAME"
    for row in found:
        yield row[0]
        yield from row[-1].split()
