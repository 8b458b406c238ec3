"""Writes pages of docs/reference: conformance.md, which test proves which scenario, and fields.md, what each means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.conformance import fields
from tests.conformance.examples import examples
from tests.conformance.fields import Field, Theirs, ours
from tests.conformance.reference import SECTIONS, Scenario, Section
from tests.conformance.survey import Proof, is_proven, proofs_of
from tests.conformance.words import ENDINGS, PHASES

_DOCS = Path(__file__).parents[2] / "docs"
COMMAND = "python -m tests.conformance --write-docs"

_HEAD = f"""\
# Conformance

Written by `{COMMAND}` from the tests themselves; `tests/conformance/test_documented.py` fails if it is stale.
A test in `tests/conformance/` runs on a real control plane if there is one, else on the sandbox; those of
environments on three sandboxes with one remote, or, where only ledgers are asked, on the functions that decide.
Counts in parentheses are (desired, current, updated, ready, available), as in Argo Rollouts: replicas
of the target, pods of all versions, pods of the target's version, ready and available pods of the live one.
"""


_HEAD_OF_FIELDS = f"""\
# Every field

Written by `{COMMAND}` from the models that read the files. `[]` is each item of a list. A field
without an example has fields of its own. `kubectl explain bgd.spec.strategy.blueGreen` shows the same texts.
"""


def _fields() -> str:
    return "\n".join([_HEAD_OF_FIELDS, *map(_table_of, TABLES)])


def _conformance() -> str:
    parts = [_HEAD, _summary(), *map(_section, SECTIONS), _words()]
    parts += [_their_fields("Fields of Argo Rollouts", fields.ARGO), _their_fields("Fields of Flagger", fields.FLAGGER)]
    return "\n".join(parts)


def _summary() -> str:
    rows = []
    for section in SECTIONS:
        proven = [each for each in section.scenarios if is_proven(each.id)]
        without = [each for each in section.scenarios if each not in proven]
        later = sum(bool(each.later) for each in without)
        rows.append((section.title, len(section.scenarios), len(proven), later, len(without) - later))
    return _table(("Source", "Scenarios", "Proven", "Not yet", "Do not apply"), rows)


def _section(section: Section) -> str:
    rows = (row for each in section.scenarios for row in _rows(each))
    head = f"## {section.title}\n\n{section.source}.\n\n"
    return head + _table(("", "Scenario", "Test", "What it asserts"), rows)


def _rows(scenario: Scenario) -> Iterator[tuple[str, ...]]:
    label = _label(scenario.id)
    differs = f" Otherwise here: {scenario.differs}." if scenario.differs else ""
    rows = [(_link(proof), f"{proof.asserts}{differs}") for proof in proofs_of(scenario.id)]
    if not is_proven(scenario.id):
        rows.append(("–", _reason(scenario)))
    for number, row in enumerate(rows):
        yield (*((label, scenario.title) if number == 0 else ("", "")), *row)


def _reason(scenario: Scenario) -> str:
    return f"Does not apply: {scenario.reason}." if scenario.reason else f"Not yet: {scenario.later}."


def _label(scenario: str) -> str:
    """The short name of a scenario within its section."""
    last = scenario.rpartition("_")[2]
    return last if len(last) == 1 or (len(last) <= 4 and last[-1].isdigit()) else ""


def _link(proof: Proof) -> str:
    words = proof.name.removeprefix("test_")
    return f"[`{words}`](../../{proof.file})"


def _words() -> str:
    """Phases and outcomes, side by side with theirs."""
    phases = _table(("Phase", "Argo Rollouts", "Flagger"), [(f"`{ours}`", *theirs) for ours, theirs in PHASES.items()])
    endings = _table(("Outcome of a rollout", "Argo Rollouts"), [(f"`{ours}`", one) for ours, one in ENDINGS.items()])
    return f"## Phases and outcomes\n\n{phases}\n{endings}"


class Table(NamedTuple):
    """The fields of one kind of file."""

    title: str
    place: str
    known: Callable[[], dict[str, Field]]
    file: str
    """Of `examples`."""
    below: str = ""
    """Where in it the fields begin."""

    @property
    def shown(self) -> dict[str, str]:
        """An example of each field."""
        return examples(self.file, self.below)


_OF_SPEC = "Field of `spec`"
TABLES = (
    Table("app.yaml", _OF_SPEC, ours, "app"),
    Table("group.yaml", _OF_SPEC, fields.of_groups, "group"),
    Table("version.yaml", "Field beside `kind: GroupVersion`", fields.of_versions, "group-version"),
    Table("routes.yaml", "Field beside `kind: ServiceRoutes`", fields.of_routes, "group-routes"),
    Table("gitops-bg.yaml", "Field beside `kind: Settings`", fields.of_settings, "settings"),
    Table("environments.yaml", "Field beside `kind: Environments`", fields.of_environments, "environments"),
    Table("PromotionPolicy", _OF_SPEC, fields.of_policies, "policy"),
    Table("people.yaml", "Field beside `kind: People`", fields.of_people, "people"),
    Table("The login file", "Field beside `kind: DashboardLogin`", fields.of_login, "login"),
    Table("AnalysisTemplate", _OF_SPEC, fields.of_templates, "analysis-template"),
    Table(
        "Where metrics are measured",
        "Field of `provider`",
        fields.of_metric_providers,
        "analysis-template",
        "metrics[].provider.",
    ),
    Table("AlertProvider", _OF_SPEC, fields.of_alert_providers, "alert-provider"),
)
"""Every kind of file that users write."""


def _table_of(one: Table) -> str:
    shown = one.shown
    rows = ((f"`{each.path}`", each.default, _code(shown[each.path]), each.meaning) for each in one.known().values())
    return f"## {one.title}\n\n" + _table((one.place, "Default", "Example", "Meaning"), rows)


def _code(example: str) -> str:
    """An example; a field that has fields of its own is shown by theirs."""
    return f"`{example}`" if example else ""


def _their_fields(title: str, theirs: tuple[Theirs, ...]) -> str:
    rows = ((f"`{each.name}`", *_here(each)) for each in theirs)
    return f"## {title}\n\n" + _table(("Field", "Here", "Meaning"), rows)


def _here(each: Theirs) -> tuple[str, str]:
    field = each.here()
    return (f"`{field.path}`", field.meaning) if field else ("–", f"{each.words[:1].upper()}{each.words[1:]}.")


def _table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join("| " + " | ".join(_cell(each) for each in line) + " |\n" for line in lines)


def _cell(value: object) -> str:
    return " ".join(str(value).replace("|", "\\|").split())


PAGES: dict[Path, Callable[[], str]] = {
    _DOCS / "reference" / "conformance.md": _conformance,
    _DOCS / "reference" / "fields.md": _fields,
}
"""Every page that is written, and what makes it, whole."""
