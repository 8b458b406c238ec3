"""What `make counts` counts, on files small enough to count by hand."""

from dataclasses import dataclass

from tests.counts import model, source
from tests.counts.source import Source

SMALL = Source(
    "gitops_bg/small.py",
    '''"""The module."""

# Why.
import os


class Public:
    """A class."""

    size: int = 0
    """A field."""

    def method(self) -> str:
        """Say it."""
        return (
            os.name
        )


class _Hidden:
    pass
''',
)


def test_code_is_what_is_no_blank_line_comment_or_docstring() -> None:
    assert (SMALL.lines, SMALL.code) == (21, 9)


def test_the_body_of_a_function_has_no_docstring() -> None:
    lengths = source.function_lengths([SMALL])
    assert (lengths.number, lengths.longest.lines, lengths.longest.place) == (1, 4, "gitops_bg/small.py:13 method")


def test_only_public_classes_of_two_files_are_shared() -> None:
    twin = Source("gitops_bg/twin.py", "class Public: ...\nclass _Hidden: ...\n")
    assert source.shared_names([SMALL, twin]) == {"Public": ["gitops_bg/small.py", "gitops_bg/twin.py"]}
    assert source.shared_names([SMALL]) == {}


@dataclass
class _Part:
    one: int
    two: int


@dataclass
class _Whole:
    parts: tuple[_Part, ...]
    last: _Part | None


def test_fields_of_a_record_are_those_of_its_parts_too_each_type_once() -> None:
    assert model.fields_of(_Whole) == 4


def test_the_files_of_the_tree_are_found() -> None:
    product = {each.path for each in source.sources(source.PRODUCT, without=source.TOOLS)}
    assert "gitops_bg/core/engine.py" in product
    assert not any(path.startswith(source.TOOLS) for path in product)
