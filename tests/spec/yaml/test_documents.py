"""One document of a file is replaced or added, and every other byte stays."""

from __future__ import annotations

import pytest

from gitops_bg.core.errors import InvalidInput
from gitops_bg.spec.manifests.edit import piece_of, with_document

WEB = ("ConfigMap", "web")
FILE = "apps/shop/web/config.yaml"


def config_map(name: str, value: str, note: str = "") -> str:
    return f"{note}apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n  a: {value}\n"


OLD, NEW = config_map("web", "one"), config_map("web", "two", "# the second\n")
OTHER = config_map("other", "x  # as it was")

REPLACED: dict[str, tuple[str, str]] = {
    "alone": (OLD, NEW),
    "alone behind a marker": (f"---\n{OLD}", f"---\n{NEW}"),
    "behind a marker with a comment": (f"--- # here\n{OLD}", f"--- # here\n{NEW}"),
    "before another": (f"{OLD}---\n{OTHER}", f"{NEW}---\n{OTHER}"),
    "behind another": (f"{OTHER}---\n{OLD}", f"{OTHER}---\n{NEW}"),
    "between others": (f"{OTHER}---\n{OLD}---\nkind: x\n", f"{OTHER}---\n{NEW}---\nkind: x\n"),
    "with an empty document": (f"---\n---\n{OLD}", f"---\n---\n{NEW}"),
    "without a last line break": (f"{OTHER}---\n{OLD.rstrip()}", f"{OTHER}---\n{NEW}"),
    "of another kind beside it": (f"kind: Secret\nmetadata: {{name: web}}\n---\n{OLD}",
                                  f"kind: Secret\nmetadata: {{name: web}}\n---\n{NEW}"),
    "with something like a marker in a text": (f"{OLD}  b: |\n    ---\n    x\n", NEW),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLACED)
def test_a_document_is_replaced(name: str) -> None:
    before, after = REPLACED[name]
    assert with_document(FILE, before.encode(), WEB, NEW).decode() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", NEW),
        (OTHER, f"{OTHER}---\n{NEW}"),
        (OTHER.rstrip(), f"{OTHER.rstrip()}\n---\n{NEW}"),
        (f"---\n{OTHER}", f"---\n{OTHER}---\n{NEW}"),
    ],
)
def test_a_document_that_is_not_there_is_added(before: str, after: str) -> None:
    assert with_document(FILE, before.encode(), WEB, NEW).decode() == after


def test_the_text_of_a_document_is_found_with_its_comments() -> None:
    found = piece_of(FILE, f"{OTHER}---\n{NEW}".encode(), WEB)
    assert found is not None
    assert found.text == NEW
    assert piece_of(FILE, OTHER.encode(), WEB) is None


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("kind: [\n", NEW),
        (OTHER, "kind: [\n"),
        (OTHER, f"{NEW}---\nkind: more\n"),
        (OLD, config_map("another", "x")),
    ],
    ids=["a broken file", "a broken text", "two documents in one", "another name"],
)
def test_what_would_not_be_read_back_as_meant_is_refused(data: str, text: str) -> None:
    with pytest.raises(InvalidInput):
        with_document(FILE, data.encode(), WEB, text)
