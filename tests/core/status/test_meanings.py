"""Every condition that can be made has a row that says what it means for traffic, who must do what, and the command."""

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import gitops_bg
from gitops_bg.cli.registry import commands
from gitops_bg.core.checks.pods import StuckCause
from gitops_bg.core.checks.situations import SITUATIONS
from gitops_bg.core.model.analysis import AnalysisPhase
from gitops_bg.core.model.conditions import (
    ANY,
    CALM,
    HEALTH,
    STAYS,
    Condition,
    Health,
    Meaning,
    Meanings,
    Phase,
    Situation,
    Who,
    meaning_of,
)
from gitops_bg.core.model.main import UnreadReason
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.status.conditions import MEANINGS, OTHERS
from gitops_bg.core.status.groups import GROUP_MEANINGS
from gitops_bg.core.status.groups import SITUATIONS as OF_GROUPS
from gitops_bg.core.world import World
from gitops_bg.views.conditions import demanded, demands, is_calm, troubles
from tests.core.engine.conditions.test_phases import PHASES
from tests.core.engine.pods.test_scheduling import NO_IMAGE, NO_ROOM
from tests.core.worlds import decided

ROOT = Path(gitops_bg.__file__).parent
WIDEST = 70
"""Columns of a sentence: with its indent and its title it stays on one line of 80."""


OF_BOTH = {"gitops_bg/core/status/alike.py", "gitops_bg/core/model/conditions.py"}
"""They make conditions of apps and of groups."""


@dataclass(frozen=True)
class Made:
    """A place where a condition is made. ``reasons`` has ANY where it depends on more than the code."""

    place: str
    type: str
    reasons: frozenset[str]

    @property
    def tables(self) -> list[Meanings]:
        """The tables of what the condition is about."""
        if self.place.partition(":")[0] in OF_BOTH:
            return [MEANINGS, GROUP_MEANINGS]
        return [GROUP_MEANINGS if "/group" in self.place else MEANINGS]


READERS = {*(ROOT / "cli").rglob("*.py"), ROOT / "spec" / "status.py"}
"""They read what others made."""


def made_anywhere() -> Iterator[Made]:
    for path in sorted(set(ROOT.rglob("*.py")) - READERS):
        text = path.read_text(encoding="utf-8")
        if "Condition(" in text and re.search("core.model.(decision|conditions) import", text):
            yield from made_in(path, ast.parse(text))


def made_in(path: Path, tree: ast.Module) -> Iterator[Made]:
    name = ".".join(("gitops_bg", *path.relative_to(ROOT).with_suffix("").parts))
    globals_ = vars(importlib.import_module(name))
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            if isinstance(call.func, ast.Name) and call.func.id == "Condition":
                given = {keyword.arg: keyword.value for keyword in call.keywords}
                given |= dict(zip(("type", "status", "reason", "message"), call.args, strict=False))
                kind = values(given["type"], function, globals_)
                place = f"{path.relative_to(ROOT.parent)}:{call.lineno}"
                assert len(kind) == 1, f"{place}: write the type of a condition as a word, so that it can be found"
                yield Made(place, *kind, frozenset(values(given["reason"], function, globals_)))  # type: ignore[call-arg]


def values(node: ast.expr, function: ast.FunctionDef, globals_: dict[str, Any]) -> set[str]:
    """The words an expression may come to; ANY among them where that cannot be read off the code."""
    parts: list[ast.expr] = []
    match node:
        case ast.Constant(value=str(word)):
            return {word}
        case ast.Name(id=name) if isinstance(globals_.get(name), str):
            return {globals_[name]}
        case ast.Attribute(value=ast.Attribute(attr="cause"), attr="value"):
            return set(StuckCause)
        case ast.Subscript(value=ast.Name(id=name)) if isinstance(globals_.get(name), dict):
            return set(globals_[name].values())
        case ast.IfExp(body=one, orelse=other):
            parts = [one, other]
        case ast.BoolOp(values=several):
            parts = several
        case ast.Name(id=name):
            parts = [one.value for one in ast.walk(function) if isinstance(one, ast.Assign) and names(one) == [name]]
    return set[str]().union(*(values(part, function, globals_) for part in parts)) if parts else {ANY}


def names(assigned: ast.Assign) -> list[str]:
    return [one.id for one in assigned.targets if isinstance(one, ast.Name)]


def made_in_tables() -> Iterator[Made]:
    """The conditions of the tables of situations."""
    for path, rows in (("core/status/conditions.py", (*SITUATIONS, *OTHERS)), ("core/status/groups.py", OF_GROUPS)):
        for row in rows:
            if row.reason:
                yield Made(f"gitops_bg/{path}", row.condition, frozenset((row.reason,)))


MADE = [*made_anywhere(), *made_in_tables()]


def test_the_conditions_are_found_where_they_are_made() -> None:
    assert {"Available", "Progressing", "GitReachable"} <= {made.type for made in MADE}
    assert {"CommitPending", "GoingBack"} <= {
        reason for made in MADE if made.type == "Diverged" for reason in made.reasons
    }


ENUMERATED: dict[str, type[Phase | AnalysisPhase | UnreadReason]] = {
    "Healthy": Phase,
    "Ready": Phase,
    "Reconciling": Phase,
    "Stalled": Phase,
    "AnalysisPassed": AnalysisPhase,
    "GitReachable": UnreadReason,
}


def missing(made: Made) -> Iterator[str]:
    """The reasons of a condition without a row, in every table of what it is about."""
    every = set.intersection(*({reason for kind, reason in table if kind == made.type} for table in made.tables))
    open_ended = made.type in ENUMERATED  # Their reasons are words of an enumeration: see below.
    for reason in sorted(made.reasons - every):
        if reason or not open_ended:
            yield f'{made.place}: ("{made.type}", {reason!r})'


def test_every_condition_that_can_be_made_has_a_row() -> None:
    without = [each for made in MADE for each in missing(made)]
    assert not without, (
        "a condition without a row: add it to the table of gitops_bg/core/checks/situations.py, "
        "or for groups of gitops_bg/core/status/groups.py "
        "(what it means for traffic now, who must do what, the command; CALM where nothing is to be said), "
        "and the condition to docs/reference/status.md"
    )


@pytest.mark.parametrize(("kind", "words"), ENUMERATED.items())
def test_every_word_of_an_enumeration_has_a_row(kind: str, words: type[Phase | AnalysisPhase | UnreadReason]) -> None:
    assert [word for word in words if (kind, word) not in MEANINGS] == []
    of_groups = phases_of_groups() if words is Phase else words
    assert [word for word in of_groups if (kind, word) not in GROUP_MEANINGS] == []


def phases_of_groups() -> set[Phase]:
    """The phases that the code about groups names."""
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "core/groups").glob("*.py"))
    return {Phase[name] for name in re.findall(r"\bPhase\.([A-Z_]+)", text)}


@pytest.mark.parametrize("table", [MEANINGS, GROUP_MEANINGS], ids=["apps", "groups"])
def test_no_row_is_for_what_nobody_makes(table: Meanings) -> None:
    made = {(one.type, reason) for one in MADE if table in one.tables for reason in one.reasons}
    words = {(kind, word) for kind, words in ENUMERATED.items() for word in words}
    assert sorted(table.keys() - made - words) == []


SAID = {
    (name, *key): meaning
    for name, table in (("app", MEANINGS), ("group", GROUP_MEANINGS))
    for key, meaning in table.items()
    if meaning is not CALM
}


def wrong(meaning: Meaning, verbs: set[str]) -> Iterator[str]:
    """What is wrong with a row."""
    named = meaning.of(AppKey("shop", "web"), "gitops-bg/promote/shop/web")
    if not (named.traffic and named.who and named.what):
        yield "it does not say all"
    if "{" in named.command or max(len(named.traffic), len(named.command)) > WIDEST:
        yield "it has a line that does not fit"
    if meaning.asks and not named.command:
        yield "somebody is to do something, and there is no command"
    verb = re.search(r"gitops-bg (\S+)", named.command)
    if "gitops-bg " in named.command and (verb is None or verb[1] not in verbs):
        yield "its command is none of ours"


def test_a_row_says_all_of_it_in_lines_that_fit_and_with_a_command_that_there_is() -> None:
    verbs = {command.name for command in commands()}
    assert [(key, why) for key, meaning in SAID.items() for why in wrong(meaning, verbs)] == []


def test_of_a_group_only_what_is_about_groups_is_commanded() -> None:
    commands = {meaning.command for meaning in GROUP_MEANINGS.values() if meaning is not CALM}
    of_both = tuple(f"gitops-bg {verb} " for verb in ("group", "explain", "history", "retry", "resume"))
    assert {each for each in commands if "{app}" in each and not each.startswith(of_both)} == set()


def test_what_a_newer_agent_says_is_shown_though_nobody_knows_what_it_means() -> None:
    new = Condition("Eclipsed", True, "Moon", "the moon is in the way")
    assert meaning_of("Eclipsed", "Moon", MEANINGS) is None
    assert not is_calm("Eclipsed", "Moon", MEANINGS)
    assert list(troubles([new], MEANINGS)) == [new]


def test_a_reason_of_somebody_else_has_the_row_of_its_type() -> None:
    assert meaning_of("ReplicaFailure", "FailedCreate", MEANINGS) is MEANINGS["ReplicaFailure", ANY]


HEALTHY = Condition("Healthy", True, "Healthy", "")
DEGRADED = Condition("Healthy", False, "Degraded", "v2 did not become available")
STALLED = Condition("Stalled", True, "Degraded", "it does not go on until somebody mends it")
HELD = Condition("OnHold", True, "Hold", "5xx")
PAUSED = Condition("Paused", True, "AwaitingPromotion", "")


def test_only_what_phase_and_gates_do_not_tell_is_worth_a_line() -> None:
    assert list(troubles([HEALTHY, PAUSED], MEANINGS)) == []
    assert list(troubles([HEALTHY, HELD], MEANINGS)) == [HELD]


def test_a_degraded_app_has_its_reason_as_a_line_where_no_other_condition_says_it() -> None:
    assert list(troubles([DEGRADED, PAUSED], MEANINGS)) == [DEGRADED]
    assert list(troubles([DEGRADED, HELD], MEANINGS)) == [HELD]
    assert list(troubles([Condition("Healthy", False, "Held", "5xx"), STALLED], MEANINGS)) == []


def test_somebody_is_asked_about_what_has_a_remedy_and_about_what_nobody_knows() -> None:
    unknown = Condition("Eclipsed", True, "Moon", "the moon is in the way")
    told_of = [(key, meaning) for key, meaning in MEANINGS.items() if not is_calm(*key, MEANINGS) and ANY not in key]
    asks = next(key for key, meaning in told_of if meaning.asks)
    nobodys = next(key for key, meaning in told_of if not meaning.asks)
    told = [unknown, Condition(nobodys[0], True, nobodys[1], ""), Condition(asks[0], True, asks[1], "")]
    assert list(demands(told, MEANINGS)) == [told[0], told[2]]


@pytest.mark.parametrize("kind", ["Available", "CandidateReady", "RoutesAccepted"])
def test_what_a_list_passes_over_without_a_look_at_the_tables_is_calm_while_it_is_true(kind: str) -> None:
    said = [one for name in PHASES for one in decided(PHASES[name][0]).conditions if one.type == kind and one.status]
    every: tuple[Situation[Any], ...] = (*SITUATIONS, *OTHERS, *OF_GROUPS)
    rows = [row.meaning for row in every if row.reason and (row.condition, row.status) == (kind, True)]
    assert {*map(meaning_here, said), *rows} == {CALM}


def meaning_here(one: Condition) -> Meaning | None:
    return meaning_of(one.type, one.reason, MEANINGS)


@pytest.mark.parametrize("name", PHASES)
def test_a_list_shows_the_demands_of_every_phase(name: str) -> None:
    conditions = decided(PHASES[name][0]).conditions
    assert list(demanded(AppKey("shop", "web"), conditions)) == list(demands(conditions, MEANINGS))


def test_a_meaning_names_the_app_in_its_command() -> None:
    meaning = Meaning("stays", Who.NOBODY, "wait", "gitops-bg explain {app}").of(AppKey("shop", "web"), "")
    assert meaning.command == "gitops-bg explain shop/web"
    assert not meaning.asks


def who_acts(state: World) -> dict[str, str]:
    told = {
        one.type: meaning_of(one.type, one.reason, MEANINGS) for one in troubles(decided(state).conditions, MEANINGS)
    }
    return {kind: meaning.who for kind, meaning in told.items() if meaning}


def test_who_must_act_on_pods_that_do_not_come_up_is_said_and_nobody_is_told_to_wait() -> None:
    assert who_acts(NO_IMAGE) == {"CandidateReady": Who.AUTHOR}
    assert who_acts(NO_ROOM) == {"CandidateReady": Who.OPERATOR, "ReplicaFailure": Who.OPERATOR}


BESIDE_HEALTHY = ("OnHold", "Adopting", "ServicesInGit", "LedgerTrusted", "Exposed", "ClockSynchronized", "PullRequest")
"""What may ask somebody beside an app that is well: nothing of it says that the target is not live."""


@pytest.mark.parametrize("name", PHASES)
def test_nobody_is_told_to_wait_who_must_act_and_the_phase_says_what_its_condition_says(name: str) -> None:
    decision = decided(PHASES[name][0])
    said = {one.type: one for one in decision.conditions}
    health, shown = HEALTH[decision.phase], list(troubles(decision.conditions, MEANINGS))
    asked = [one for one in shown if (meaning := meaning_of(one.type, one.reason, MEANINGS)) and meaning.asks]
    message = said["Healthy"].message
    assert message == said["Ready"].message
    if health is Health.DEGRADED:
        assert [one for one in asked if one.message in message or message.endswith(one.message)], (message, asked)
    if health is Health.HEALTHY:
        assert [one for one in shown if one.type not in BESIDE_HEALTHY] == []
    if asked:
        others = [one for one in shown if one not in asked]
        assert [
            one for one in others if (known := meaning_of(one.type, one.reason, MEANINGS)) and known.traffic == STAYS
        ] == []


def test_every_condition_is_on_the_page_about_the_status() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "status.md").read_text()
    assert [kind for kind in {kind for kind, _ in MEANINGS} if f"`{kind}`" not in page] == []
