"""What conditions mean, for people and as JSON: where traffic goes, who must do what, the command. Decides nothing.

The words are those of ``core.status.meanings``; every line fits a terminal of 80 columns.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from gitops_bg.cli.views.listing import Listing, facts, paragraph
from gitops_bg.cli.views.output import said
from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.status.meanings import MEANINGS, Meaning, demands, meaning_of
from gitops_bg.spec.glance import conditions_of

if TYPE_CHECKING:
    from gitops_bg.core.groups.model import GroupKey

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


def drawn(condition: Condition, app: "AppKey | GroupKey", indent: int = 0) -> Group:
    """Return a condition with its meaning, for people, so many columns from the margin."""
    return Group(paragraph(_headline(condition), indent), _rows(condition, app, indent + 2))


def drawn_together(conditions: Iterable[tuple[AppKey, tuple[Condition, ...]]]) -> Iterator[Group]:
    """Yield what somebody has to do about many apps: each kind of problem once, with its apps."""
    found: dict[tuple[str, str], list[tuple[AppKey, Condition]]] = {}
    for app, of_app in conditions:
        for one in demands(of_app):
            found.setdefault((one.type, one.reason), []).append((app, one))
    for troubled in found.values():
        apps = [app for app, _ in troubled]
        where = said(f"{_named(apps)}: ", "bold")
        first = troubled[0]
        headline = Text.assemble(where, _headline(first[1]))
        yield Group(paragraph(headline), _rows(first[1], first[0], 2))


def _named(apps: list[AppKey]) -> str:
    more = len(apps) - _MOST_NAMED
    return ", ".join(map(str, apps[:_MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


def _headline(condition: Condition) -> Text:
    status = "Unknown" if condition.status is None else condition.status
    return said(f"{condition.type}={status}: {condition.message}", "yellow")


def _meaning(condition: Condition, app: "AppKey | GroupKey") -> Meaning | None:
    if isinstance(app, AppKey):
        return meaning_of(condition.type, condition.reason, MEANINGS)
    from gitops_bg.core.groups.inspect.meanings import GROUP_MEANINGS

    return meaning_of(condition.type, condition.reason, GROUP_MEANINGS)


def _rows(condition: Condition, app: "AppKey | GroupKey", indent: int) -> Listing:
    return facts(_meant(condition, app), indent)


def _meant(condition: Condition, app: "AppKey | GroupKey") -> Iterator[tuple[Text, Text]]:
    meaning = _meaning(condition, app)
    if meaning is None or not meaning.traffic:
        return
    meant = meaning.of(app)
    yield said("traffic", "dim"), said(meant.traffic)
    yield said("to do", "dim"), said(f"{meant.who}: {meant.what}")
    if meant.command:
        yield said("by", "dim"), said(meant.command, "cyan")
