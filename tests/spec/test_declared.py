"""A dataclass of the core is read as it declares itself, and every mistake has its place."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any

import pytest

from gitops_bg.core.model.spec import AntiAffinity, Strategy, Suspension
from gitops_bg.core.written import NOT_WRITTEN, Conflict, Count, Delay, DnsLabel, Labels, Text, WrittenAs
from gitops_bg.spec.app.models import BlueGreen
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.declared import described, model_of
from gitops_bg.spec.yaml.reader import read_one


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


@dataclass(frozen=True, slots=True)
class Inner:
    name: DnsLabel
    """What it is called."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """A type of the configuration."""

    inner: tuple[Inner, ...]
    """All of them."""
    period: Annotated[timedelta, WrittenAs("for")] = timedelta(minutes=1)
    most: Count = 3
    keep_seconds: Delay = 30
    size: Size = Size.SMALL
    """How
    large.
    """
    note: Text = ""
    labels: Labels = ()
    added: Annotated[int, NOT_WRITTEN] = 0

    def check(self) -> None:
        if self.most > 5 and self.size is Size.SMALL:
            raise Conflict("most", "is too much of a small one", "write large")


def read(text: str) -> tuple[Any, list[str]]:
    document, _ = read_one("a.yaml", text.encode())
    assert document is not None
    model, problems = validate(model_of(Declaration), document)
    try:
        return model.value() if model else None, [str(each) for each in problems]
    except Conflict as error:
        return None, [f"{error.field}: {error}"]


def test_what_is_written_becomes_the_value_of_the_core_and_what_is_not_has_its_default() -> None:
    assert read("inner: [{name: a}]\n") == (Declaration((Inner("a"),)), [])
    whole = "inner: []\nfor: 1h\nmost: 0\nkeepSeconds: never\nsize: large\nnote: x\nlabels: {b: '2', a: '1'}\n"
    value, problems = read(whole)
    labels = (("a", "1"), ("b", "2"))
    assert value == Declaration((), timedelta(hours=1), 0, None, Size.LARGE, "x", labels)
    assert problems == []


@pytest.mark.parametrize("field", ["note", "labels"])
def test_null_is_nothing_where_nothing_is_the_default(field: str) -> None:
    assert read(f"inner: []\n{field}: null\n") == (Declaration(()), [])


def test_every_mistake_has_its_place() -> None:
    _, problems = read(
        "inner:\n- name: A\n- {}\nmost: -1\nsize: huge\nnote: ''\nfor: soon\nadded: 1\nkeepSeconds: soon\n"
    )
    assert sorted(each.split(":")[1] for each in problems) == ["2", "3", "4", "5", "6", "7", "8", "9"]
    assert "write small or large" in " ".join(problems)
    assert "there is no such field" in " ".join(problems)


def test_fields_that_contradict_each_other_are_refused() -> None:
    assert read("inner: []\nmost: 6\n") == (None, ["most: is too much of a small one"])
    assert read("inner: []\nmost: 6\nsize: large\n")[0] == Declaration((), most=6, size=Size.LARGE)


def test_descriptions_are_the_docstrings_of_what_is_written() -> None:
    assert described(Declaration) == {"inner": "All of them.", "size": "How large."}
    properties = model_of(Declaration).model_json_schema()["properties"]
    assert [properties[name].get("description") for name in ("inner", "size", "most")] == [
        "All of them.",
        "How large.",
        None,
    ]
    assert list(properties) == ["inner", "for", "most", "keepSeconds", "size", "note", "labels"]


def test_a_model_with_more_fields_has_those_of_the_core_in_their_order() -> None:
    aliases = [str(field.alias) for field in BlueGreen.model_fields.values()]
    assert aliases[:4] == ["activeService", "activeServices", "routes", "previewService"]
    assert aliases.index("webhooks") == aliases.index("postPromotionAnalysis") + 1
    written = {"activeService": "web", "antiAffinity": {"preferred": {"weight": 5}}, "scaleDownDelaySeconds": "never"}
    strategy = BlueGreen.model_validate(written).strategy
    assert strategy == Strategy("web", anti_affinity=AntiAffinity(5), scale_down_delay_seconds=None)


def test_a_time_without_its_zone_is_refused_in_a_declared_type_as_elsewhere() -> None:
    document, _ = read_one("a.yaml", b"reason: x\nuntil: '2026-03-01'\n")
    assert document is not None
    (problem,) = validate(model_of(Suspension), document)[1]
    assert "must be a time with its zone" in str(problem)
