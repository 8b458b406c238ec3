"""What 0.1.0 stored is read for ever, and what this release stores is written down (`tests.spec.stored_forms`)."""

import json
from dataclasses import MISSING, fields
from typing import Any

import pytest
from ruamel.yaml import YAML

from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.ledger import ledger_file
from gitops_bg.spec.app.primary import read_primary
from gitops_bg.spec.codec import from_json, to_json
from gitops_bg.spec.yaml.reader import read_one
from tests.spec.stored_forms import DEFINITIONS, DEPLOY, FOLDER, written

RECORDS = {"record.json": Record, "group-record.json": GroupRecord}
LEDGERS = ("ledger.json", "group-ledger.json")


@pytest.mark.parametrize("name", written())
def test_this_release_stores_what_is_written_down(name: str) -> None:
    assert (FOLDER / name).read_bytes() == written()[name], "make docs"


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_of_0_1_0_loses_nothing(name: str) -> None:
    stored = json.loads((FOLDER / name).read_bytes())
    assert to_json(from_json(RECORDS[name], stored)) == stored


@pytest.mark.parametrize("kind", RECORDS.values())
def test_a_field_that_a_release_before_did_not_know_may_be_absent(kind: Any) -> None:
    assert not [one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING]
    assert from_json(kind, {}) == kind()


@pytest.mark.parametrize("name", LEDGERS)
def test_a_ledger_of_0_1_0_loses_nothing(name: str) -> None:
    stored = (FOLDER / name).read_bytes()
    assert ledger_file.render(ledger_file.parse(stored)) == stored


def test_a_primary_yaml_of_0_1_0_names_its_version() -> None:
    document, problems = read_one("primary.yaml", (FOLDER / "primary.yaml").read_bytes())
    assert document is not None
    primary, wrong = read_primary(document, AppKey("shop", "web"))
    assert (primary is not None, problems, wrong) == (True, (), ())


def test_a_template_has_the_digest_that_it_had_in_0_1_0() -> None:
    for digest, template in json.loads((FOLDER / "digests.json").read_bytes()).items():
        assert snapshot_of(template).digest == digest


@pytest.mark.parametrize("name", DEFINITIONS)
def test_every_field_of_the_kinds_of_0_1_0_is_still_one(name: str) -> None:
    assert paths(FOLDER / name) <= paths(DEPLOY / DEFINITIONS[name])


def paths(file: Any) -> set[str]:
    """The fields of a kind, each with its type."""
    definition = YAML(typ="safe").load(file.read_text())
    (version,) = definition["spec"]["versions"]
    return set(below(version["schema"]["openAPIV3Schema"], version["name"]))


def below(schema: dict[str, Any], at: str) -> Any:
    yield f"{at}: {schema.get('type')}"
    for name, each in schema.get("properties", {}).items():
        yield from below(each, f"{at}.{name}")
    if "items" in schema:
        yield from below(schema["items"], f"{at}[]")
