"""Every scenario of the references has a test or a reason, and docs/reference/conformance.md says which."""

import doctest
from pathlib import Path

import pytest

from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.record import RolloutOutcome
from tests.conformance import examples, fields, survey
from tests.conformance.document import COMMAND, PAGES, TABLES, Table
from tests.conformance.reference import EVERY, SECTIONS, Scenario
from tests.conformance.survey import is_proven, proofs
from tests.conformance.words import ENDINGS, PHASES


@pytest.mark.parametrize("scenario", EVERY.values(), ids=EVERY)
def test_scenario_has_a_test_or_says_why_not(scenario: Scenario) -> None:
    assert is_proven(scenario.id) or scenario.reason or scenario.later, (
        f"{scenario.title}: write test_{scenario.id}_…, or give a reason in tests/conformance/reference.py"
    )
    assert not (is_proven(scenario.id) and scenario.reason), f"{scenario.id} has a test: its reason is out of date"


def test_ids_of_scenarios_are_unique() -> None:
    assert len(EVERY) == sum(len(section.scenarios) for section in SECTIONS)


def test_test_of_a_scenario_says_in_its_docstring_what_it_asserts() -> None:
    """All in this suite but those of bgd-controller, whose names say it."""
    here = survey.names_in_this_suite()
    told = [proof for proof in proofs() if proof.name in here and proof.scenarios[0][0] not in "GL"]
    assert not [proof.name for proof in told if not proof.has_docstring]


def test_name_of_a_test_here_begins_with_a_scenario() -> None:
    """A misspelt id would prove nothing."""
    named = {proof.name for proof in proofs()}
    here = survey.names_in_this_suite()
    assert here - named == set()


def test_test_that_a_scenario_names_is_there() -> None:
    found = {proof.name for proof in proofs()}
    assert not [scenario.id for scenario in EVERY.values() if scenario.test and scenario.test not in found]


@pytest.mark.parametrize("theirs", [fields.ARGO, fields.FLAGGER], ids=["argo", "flagger"])
def test_field_that_stands_for_one_of_theirs_is_there(theirs: tuple[fields.Theirs, ...]) -> None:
    assert not fields.missing(theirs)


def test_every_phase_and_outcome_has_its_words() -> None:
    assert set(PHASES) == set(Phase)
    assert set(ENDINGS) == set(RolloutOutcome)


def test_every_field_is_mentioned_by_a_test() -> None:
    unmentioned = [field.path for field in fields.ours().values() if not survey.mentions(field.telling_name)]
    assert not unmentioned


def test_names_are_split_as_the_examples_say() -> None:
    assert doctest.testmod(survey).failed == 0
    assert doctest.testmod(examples).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_is_as_the_tests_and_the_models_are(page: Path) -> None:
    assert page.read_text() == PAGES[page](), f"{page.name} is stale: run `{COMMAND}`"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_every_field_has_a_meaning(table: Table) -> None:
    assert not [field.path for field in table.known().values() if not field.meaning]


@pytest.mark.parametrize("name", examples.MODELS)
def test_the_models_take_the_examples(name: str) -> None:
    for document in examples.documents(name):
        examples.MODELS[name].model_validate(document)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_every_field_has_an_example(table: Table) -> None:
    known, found = table.known(), table.shown
    assert not [path for path in known if path not in found]
    bare = [
        path
        for path in known
        if not found[path] and not any(each.startswith(f"{path}") for each in found if each != path)
    ]
    assert not bare, "too long to be shown, and without fields of its own"


def test_every_phase_is_among_those_that_users_are_told_what_to_do_about() -> None:
    told = (Path(__file__).parents[2] / "docs" / "how-to" / "troubleshooting.md").read_text()
    assert not [phase for phase in Phase if f"| `{phase}` |" not in told]
