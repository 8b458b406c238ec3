"""The JSON Schemas for editors say what the models say: valid files are valid, and mistakes are found."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from gitops_bg.core.names import API_VERSION
from gitops_bg.spec.crd import DRAFT, MODELS, schema_of, schema_of_all
from gitops_bg.spec.yaml.reader import read
from tests.fixtures.repos import texts
from tests.spec.texts import APP

ROOT = Path(__file__).parents[2]
SCHEMAS = {kind: schema_of(model, kind) for kind, model in MODELS.items()}
VALIDATORS = {kind: Draft202012Validator(schema) for kind, schema in SCHEMAS.items()}
WHOLE = Draft202012Validator(schema_of_all())
Value = dict[str, Any]


def _texts() -> Iterator[tuple[str, str]]:
    for folder in ("repo-template", "policies"):
        for path in sorted((ROOT / folder).rglob("*.yaml")):
            yield str(path.relative_to(ROOT)), path.read_text()
    for path in sorted((ROOT / "docs").rglob("*.md")):
        for number, block in enumerate(re.findall(r"^```yaml\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)):
            yield f"{path.relative_to(ROOT)}#{number}", block
    yield "fixture app", texts.app("shop", "web").decode()
    yield "fixture primary", texts.primary("shop", "web", "1.0.0", 1).decode()
    yield "fixture settings", texts.SETTINGS.decode()
    yield "smallest app", APP


def _documents() -> dict[str, Value]:
    """Every document that a model takes: of the template, the library, the documentation, the fixtures."""
    found = {}
    for name, text in _texts():
        for document in read(name, text.encode()).documents:
            value = document.value
            if isinstance(value, dict) and value.get("kind") in MODELS and _is_valid(value):
                found[f"{name} {document.number}"] = value
    return found


def _is_valid(value: Value) -> bool:
    try:
        MODELS[value["kind"]].model_validate(value)
    except ValidationError:
        return False
    return True


DOCUMENTS = _documents()


def test_the_documents_are_of_nearly_every_kind() -> None:
    kinds = {value["kind"] for value in DOCUMENTS.values()}
    assert len(DOCUMENTS) > 30
    assert set(MODELS) - kinds <= {"GroupVersion"}


@pytest.mark.parametrize("kind", MODELS)
def test_each_schema_is_one_and_describes_its_fields(kind: str) -> None:
    schema = SCHEMAS[kind]
    Draft202012Validator.check_schema(schema)
    assert (schema["$schema"], schema["title"]) == (DRAFT, kind)
    assert schema["properties"]["kind"]["const"] == kind
    assert schema["additionalProperties"] is False


def test_the_schema_of_all_kinds_is_one() -> None:
    Draft202012Validator.check_schema(WHOLE.schema)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_is_valid_is_valid_to_an_editor(name: str) -> None:
    value = DOCUMENTS[name]
    assert list(VALIDATORS[value["kind"]].iter_errors(value)) == []
    assert list(WHOLE.iter_errors(value)) == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_misspelt_field_and_wrong_type_is_found_and_nothing_else(name: str) -> None:
    """Wherever the model says there is no such field, or that its type is wrong, so does the schema, and only there."""
    value = DOCUMENTS[name]
    for changed in (*_misspelt(value), *_of_another_type(value)):
        if changed["kind"] == value["kind"]:
            assert VALIDATORS[value["kind"]].is_valid(changed) == _is_valid(changed), changed


def test_a_document_without_a_kind_or_of_an_unknown_one_is_found() -> None:
    assert not WHOLE.is_valid({"apiVersion": API_VERSION})
    assert not WHOLE.is_valid({"apiVersion": API_VERSION, "kind": "BlueGreenDeploymet"})


def test_an_error_names_the_field_as_check_does() -> None:
    changed = copy.deepcopy(read("app.yaml", APP.encode()).documents[0].value)
    changed["spec"]["strategy"]["blueGreen"]["activeServce"] = "web"
    [error] = WHOLE.iter_errors(changed)
    assert list(error.absolute_path) == ["spec", "strategy", "blueGreen"]
    assert "activeServce" in error.message


def _misspelt(value: Value) -> Iterator[Value]:
    """The document with one more field, in each of its mappings."""
    for path in _places(value):
        if isinstance(_at(value, path), dict):
            changed = copy.deepcopy(value)
            _at(changed, path)["misspelt"] = "x"
            yield changed


def _of_another_type(value: Value) -> Iterator[Value]:
    """The document with a list in a list in place of each of its values."""
    for path in _places(value):
        if path:
            changed = copy.deepcopy(value)
            _at(changed, path[:-1])[path[-1]] = [["x"]]
            yield changed


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from _places(each, (*path, key))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        value = value[part]
    return value
