"""Turns templates into pages. Whatever comes from outside is text: escaped, and without invisible characters. Only
links to http and https lead out.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup
from starlette.responses import HTMLResponse

from gitops_bg.core.foreign_text import one_line, printable
from gitops_bg.core.model.events import name_in
from gitops_bg.core.model.version import AppKey, AppOrGroup, short
from gitops_bg.views.tree import sign_of
from gitops_bg.views.words import spoken, style_of
from gitops_bg.web.dashboard.drawing import bars, calendar

if TYPE_CHECKING:
    from jinja2 import Environment

_CALM = {"green": "good", "cyan": "waits", "yellow": "warns", "red": "bad", "magenta": "back"}
"""The classes of the stylesheet by the styles of a terminal."""


@cache
def templates() -> "Environment":
    """Return the templates; a name that a page forgot to give is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("gitops_bg.web.dashboard"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "tone": tone,
        "sign": sign,
        "short": short,
        "brief": one_line,
        "web": web_link,
        "path": path_of,
        "quoted": quoted,
        "unsigned": unsigned,
        "time": time_tag,
        "style_class": style_class,
        "bars": bars,
        "calendar": calendar,
        "person": name_in,
    }
    return made


def _shown(value: Any) -> Any:
    """Return what is written of a value: a text without characters that nobody sees, nothing for None."""
    if isinstance(value, Markup):
        return value
    return "" if value is None else shown_text(str(value))


def shown_text(text: str) -> str:
    """Return a text without invisible characters, its lines kept."""
    return "\n".join(map(printable, text.split("\n")))


def page(name: str, status: int = 200, **given: Any) -> HTMLResponse:
    """Return a page of a template."""
    return HTMLResponse(render(name, given), status)


def render(name: str, given: Mapping[str, Any]) -> str:
    """Return the text of a template."""
    return templates().get_template(name).render(**given)


def unsigned(name: str) -> str:
    """Return the name of a line of a tree without the sign before it: its kind stands beside it.

    >>> unsigned("⧉ web-v2"), unsigned("# 1.5.0 (v2) green"), unsigned("error rate")
    ('web-v2', '1.5.0 (v2) green', 'error rate')
    """
    return name[2:] if name[1:2] == " " and not name[0].isalnum() else name


def sign(phase: str) -> str:
    """Return the sign of a phase; two bars in place of the one that few fonts of browsers have."""
    return sign_of(phase).replace("॥", "‖")


def tone(phase: str) -> str:
    """Return the class of a phase: how calm it is."""
    return _CALM.get(style_of(phase), "moves" if style_of(phase) == "" else "unknown")


def style_class(style: str) -> str:
    """Return the class for the style of a line in a terminal."""
    return _CALM.get(style.rpartition(" ")[2], "faint" if style == "dim" else "")


def web_link(address: str | None) -> str:
    """Return an address that a page may link to; empty for any other."""
    return address if address and address.startswith(("https://", "http://")) and address.isprintable() else ""


def path_of(subject: AppOrGroup, *more: str) -> str:
    """Return the path of the page of an app or a group, or of a page below it."""
    kind = "apps" if isinstance(subject, AppKey) else "groups"
    return "/" + "/".join(map(quoted, (kind, subject.namespace, subject.name, *more)))


def quoted(text: str) -> str:
    """Return a text as a part of an address."""
    return quote(text, safe="", errors="replace")


# --- times: readable without a script, which keeps them going ---


_TIME = Markup('<time datetime="{0}" title="{1}" class="{2}">{3}</time>')


def time_tag(moment: datetime | None, now: datetime, kind: str = "ago") -> str:
    """Return a time as people say it, with the exact one beside it; ``kind`` is `ago`, `left`, `for` or `at`."""
    if moment is None:
        return Markup("–")
    words = _WORDS[kind](moment, now)
    exact = moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return _TIME.format(exact, _at(moment), kind, words)


def _ago(moment: datetime, now: datetime) -> str:
    seconds = (now - moment).total_seconds()
    return "just now" if seconds < 5 else f"{spoken(seconds)} ago"


def _left(moment: datetime, now: datetime) -> str:
    seconds = (moment - now).total_seconds()
    return f"{spoken(seconds)} left" if seconds > 0 else "any moment now"


def _for(moment: datetime, now: datetime) -> str:
    return spoken((now - moment).total_seconds())


def _at(moment: datetime, _now: datetime | None = None) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


_WORDS: Mapping[str, Callable[[datetime, datetime], str]] = {"at": _at, "ago": _ago, "left": _left, "for": _for}
