"""What conditions mean, for people and as JSON: where traffic goes, who must do what, the command. Decides nothing.

The words are those of ``core.status.meanings``; every line fits a terminal of 80 columns.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from gitops_bg.cli.output import said
from gitops_bg.cli.views.listing import Listing, facts, paragraph
from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.status.meanings import MEANINGS, Meaning, demands, meaning_of
from gitops_bg.spec.glance import conditions_of

if TYPE_CHECKING:
    from gitops_bg.core.model.version import GroupKey
    from gitops_bg.core.status.meanings import Meanings

_MOST_NAMED = 3
"""How many apps a line names; the rest are counted."""


def live_conditions(body: Mapping[str, Any]) -> tuple[Condition, ...]:
    """Return the conditions in the status of a live BlueGreenDeployment."""
    return conditions_of(body.get("status"))


def json_of(condition: Condition, app: "AppKey | GroupKey") -> dict[str, Any]:
    """Return a condition with its meaning, if that is known and says something about traffic."""
    from gitops_bg.spec.codec import to_json

    meaning = _meaning(condition, app)
    return to_json(condition) | (to_json(meaning.of(app)) if meaning and meaning.traffic else {})


def drawn(condition: Condition, app: "AppKey | GroupKey", indent: int = 0, told: str = "") -> Group:
    """Return a condition with its meaning, for people, so many columns from the margin; without its message where that
    was ``told`` just before.
    """
    message = "" if condition.message == told else condition.message
    return Group(paragraph(_headline(condition, message), indent), _rows(condition, (app,), indent + 2))


def demanded(of: "AppKey | GroupKey", conditions: Iterable[Condition]) -> Iterator[Condition]:
    """Yield the conditions of an app or a group that somebody must act on."""
    return demands(conditions, table_of(of))


def drawn_together(conditions: "Iterable[tuple[AppKey | GroupKey, tuple[Condition, ...]]]") -> Iterator[Group]:
    """Yield what somebody has to do about many apps and groups: each kind of problem once, with the reason of each."""
    found: dict[tuple[type, str, str], dict[str, list[tuple[AppKey | GroupKey, Condition]]]] = {}
    for app, demands_of_app in conditions:
        for one in demands_of_app:
            found.setdefault((type(app), one.type, one.reason), {}).setdefault(one.message, []).append((app, one))
    for reasons in found.values():
        headlines = (_of_apps(message, troubled) for message, troubled in reasons.items())
        apps = tuple(app for troubled in reasons.values() for app, _ in troubled)
        _, first = next(iter(reasons.values()))[0]
        yield Group(*headlines, _rows(first, apps, 2))


def _of_apps(message: str, troubled: "list[tuple[AppKey | GroupKey, Condition]]") -> RenderableType:
    where = said(f"{_named([app for app, _ in troubled])}: ", "bold")
    return paragraph(Text.assemble(where, _headline(troubled[0][1], message)))


def _named(apps: "list[AppKey | GroupKey]") -> str:
    more = len(apps) - _MOST_NAMED
    return ", ".join(map(str, apps[:_MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


def _headline(condition: Condition, message: str) -> Text:
    status = "Unknown" if condition.status is None else condition.status
    return said(f"{condition.type}={status}" + (f": {message}" if message else ""), "yellow")


def _meaning(condition: Condition, app: "AppKey | GroupKey") -> Meaning | None:
    return meaning_of(condition.type, condition.reason, table_of(app))


def table_of(of: "AppKey | GroupKey") -> "Meanings":
    """What the conditions of an app, or of a group, mean."""
    if isinstance(of, AppKey):
        return MEANINGS
    from gitops_bg.core.status.group_meanings import GROUP_MEANINGS

    return GROUP_MEANINGS


def _rows(condition: Condition, apps: "Sequence[AppKey | GroupKey]", indent: int) -> Listing:
    return facts(_meant(condition, apps), indent)


def _meant(condition: Condition, apps: "Sequence[AppKey | GroupKey]") -> Iterator[tuple[Text, Text]]:
    meaning = _meaning(condition, apps[0])
    if meaning is None or not meaning.traffic:
        return
    yield said("traffic", "dim"), said(meaning.traffic)
    yield said("to do", "dim"), said(f"{meaning.who}: {meaning.what}")
    commands = dict.fromkeys(meaning.of(app).command for app in apps if meaning.command)
    for number, command in enumerate(commands):
        if number == _MOST_NAMED:
            yield said("", "dim"), said(f"… and the same for {len(commands) - number} more")
            return
        yield said("" if number else "by", "dim"), said(command, "cyan")
