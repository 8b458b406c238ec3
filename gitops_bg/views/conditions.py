"""What conditions mean, for people and for programs, and which are worth a line: where traffic goes, who must do what,
the command. Decides nothing: the words are those of the tables of situations, which are imported with the engine only
where something may be the matter.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gitops_bg.core.model.conditions import (
    AS_IT_IS,
    CALM,
    OF_THE_PHASE,
    Condition,
    Meaning,
    Meanings,
    Phase,
    meaning_of,
)
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.spec.status import Status, conditions_of

if TYPE_CHECKING:
    from gitops_bg.core.model.version import GroupKey

_MOST_COMMANDS = 3
"""How many commands of the same kind are shown; the rest are counted."""


class Advised(NamedTuple):
    """What advice is about: an app, in an environment where its repository has some, or a release group."""

    subject: "AppKey | GroupKey"
    environment: str = ""

    def of(self, meaning: Meaning) -> Meaning:
        """Return a meaning with its command for this one."""
        return meaning.of(self.subject, promotion_branch(self.subject, self.environment))


_OF_THE_ROLLOUT = (*OF_THE_PHASE, "Progressing", "Completed", "Paused", "AnalysisPassed")
"""Condition types that show the progress of a rollout. Screens show it by phase and gates already."""
_CALM_IF_TRUE = ("Available", "CandidateReady", "RoutesAccepted")
"""Condition types that ask nobody for anything as long as they are True."""


def is_calm(kind: str, reason: str, table: Meanings) -> bool:
    """Return whether a condition is in its normal state; False where it is unknown."""
    return meaning_of(kind, reason, table) is CALM


def troubles(conditions: Iterable[Condition], table: Meanings) -> Iterator[Condition]:
    """Yield the conditions worth a line of their own: not normal, and not shown by the phase and the gates.

    Where the phase is Degraded and no other condition says why, ``Healthy`` does. Where somebody must act, nothing
    beside it tells to wait.
    """
    told = tuple(one for one in conditions if not is_calm(one.type, one.reason, table))
    worth = [one for one in told if one.type not in _OF_THE_ROLLOUT]
    asked = any(_asks(one, table) for one in told)
    yield from (one for one in worth if not (asked and _only_waits(one, table)))
    if not worth:
        yield from (one for one in told if one.type == "Healthy" and one.reason == Phase.DEGRADED)


def _asks(one: Condition, table: Meanings) -> bool:
    """Return whether somebody must do something about a condition, including an unknown one."""
    meaning = meaning_of(one.type, one.reason, table)
    return meaning is None or meaning.asks


def _only_waits(one: Condition, table: Meanings) -> bool:
    """Return whether a condition says that all stays as it is, and nobody must act."""
    meaning = meaning_of(one.type, one.reason, table)
    return meaning is not None and not meaning.asks and meaning.traffic in AS_IT_IS


def demands(conditions: Iterable[Condition], table: Meanings) -> Iterator[Condition]:
    """Return the `troubles` that somebody must act on, including unknown conditions."""
    return (one for one in troubles(conditions, table) if _asks(one, table))


def asked_of_people(phase: str, conditions: Iterable[Condition], of: Advised) -> Iterator[Meaning]:
    """Yield who must do what about an app or a group, each once: what its demands say, else what its phase does."""
    table = table_of(of.subject)
    said = ((each.type, each.reason) for each in conditions)
    for those in (said, (("Ready", phase),)):
        meanings = (meaning_of(*each, table) for each in those)
        asked = dict.fromkeys(of.of(each) for each in meanings if each is not None and each.asks)
        if asked:
            yield from asked
            return


def live_conditions(body: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Return the conditions in the status of a live BlueGreenDeployment."""
    return conditions_of(Status.read(body.get("status")))


def json_of_condition(condition: Condition, of: Advised) -> dict[str, Any]:
    """Return a condition with its meaning, if that is known and says something about traffic."""
    from gitops_bg.spec.codec import to_json

    meaning = _meaning(condition, of)
    return to_json(condition) | (to_json(of.of(meaning)) if meaning and meaning.traffic else {})


def demanded(of: "AppKey | GroupKey", conditions: Iterable[Condition]) -> Iterator[Condition]:
    """Yield the conditions of an app or a group that somebody must act on."""
    found = tuple(conditions)
    if any(map(_may_be_worth_a_line, found)):
        yield from demands(found, table_of(of))


def _may_be_worth_a_line(one: Condition) -> bool:
    """Return whether a condition may be one of the `troubles`, as far as no table is needed: most lists have none."""
    if one.type in _OF_THE_ROLLOUT:
        return one.reason == Phase.DEGRADED
    return not (one.status and one.type in _CALM_IF_TRUE)


def _meaning(condition: Condition, of: Advised) -> Meaning | None:
    return meaning_of(condition.type, condition.reason, table_of(of.subject))


def table_of(of: "AppKey | GroupKey") -> Meanings:
    """Return what the conditions of an app, or of a group, mean."""
    if isinstance(of, AppKey):
        from gitops_bg.core.status.conditions import MEANINGS

        return MEANINGS
    from gitops_bg.core.status.groups import GROUP_MEANINGS

    return GROUP_MEANINGS


def advice_lines(condition: Condition, of: Sequence[Advised]) -> Iterator[tuple[str, str, str]]:
    """Yield where traffic goes, who must do what, and the commands for each app or group ``of`` which it is: a title,
    the text and its style; nothing where the meaning is not known, or says nothing of traffic.
    """
    meaning = _meaning(condition, of[0])
    if meaning is None or not meaning.traffic:
        return
    yield "traffic", meaning.traffic, ""
    yield "to do", f"{meaning.who}: {meaning.what}", ""
    commands = dict.fromkeys(each.of(meaning).command for each in of if meaning.command)
    for number, command in enumerate(commands):
        if number == _MOST_COMMANDS:
            yield "", f"… and the same for {len(commands) - number} more", ""
            return
        yield "" if number else "by", command, "cyan"
