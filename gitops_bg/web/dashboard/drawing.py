"""Draws a rollout: a lane for each version, from its pods through preview and gates to live traffic. SVG whose colors
the stylesheet gives; every word in it is escaped here.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from html import escape

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import printable
from gitops_bg.core.model.analysis import AnalysisPhase, MetricRun
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.views.app import AppView
from gitops_bg.views.tree import stage_in_a_word
from gitops_bg.web.dashboard.policies import DAYS, Span

_WIDTH, _LANE, _TOP = 760, 62, 30
_NAME, _PODS, _PREVIEW, _GATES, _LIVE = 16, 236, 404, 520, 690
"""Where each column begins, or has its middle."""
_MOST_PODS, _IN_A_ROW = 12, 6
_MOST_LANES, _MOST_GATES = 4, 6


@dataclass(frozen=True, slots=True)
class Lane:
    """One version on its way."""

    name: str
    color: str
    stage: str
    live: bool
    preview: bool
    desired: int
    available: int
    gates: tuple[tuple[str, bool], ...] = ()
    """The gates before it, each open or not."""


def lanes_of(view: AppView) -> tuple[Lane, ...]:
    """Return the versions that are worth a lane: the candidate, what serves, and what still has pods; newest first."""
    found = (_lane(view, version) for version in view.versions)
    return tuple(each for each in found if each.live or each.desired or each.stage == Stage.CANDIDATE)[:_MOST_LANES]


def _lane(view: AppView, version: Version) -> Lane:
    sets, routing = view.replica_sets_of(version), view.record.routing
    is_live = version.digest == routing.traffic
    gates = view.gates if version is view.newest and not is_live else ()
    return Lane(
        name=version.name,
        color=str(version.color),
        stage=stage_in_a_word(version),
        live=is_live,
        preview=version.digest == routing.preview,
        desired=sum(each.desired for each in sets),
        available=sum(each.available for each in sets),
        gates=tuple((str(gate["kind"]), bool(gate["open"])) for gate in gates),
    )


def draw(lanes: tuple[Lane, ...], title: str) -> str:
    """Return the picture of all lanes; empty where there is none."""
    if not lanes:
        return ""
    height = _TOP + len(lanes) * _LANE
    return "\n".join(
        (
            f'<svg class="lanes" viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="lanes-title">',
            f'<title id="lanes-title">{_text(title)}: {_text("; ".join(map(_sentence, lanes)))}</title>',
            *_heads(),
            *(part for place, lane in enumerate(lanes) for part in _drawn(lane, _TOP + place * _LANE)),
            "</svg>",
        )
    )


def _sentence(lane: Lane) -> str:
    """Return the lane for who does not see it."""
    parts = [f"{lane.name} is {lane.stage} with {lane.available} of {lane.desired} pods available"]
    parts += ["preview goes to it"] if lane.preview else []
    opened = sum(1 for _, is_open in lane.gates if is_open)
    parts += [f"{opened} of {len(lane.gates)} gates open"] if lane.gates else []
    parts += ["live traffic goes to it"] if lane.live else []
    return ", ".join(parts)


def _heads() -> Iterator[str]:
    for x, word in ((_PODS, "pods"), (_PREVIEW - 24, "preview"), (_GATES, "gates"), (_LIVE - 22, "live")):
        yield f'<text class="head" x="{x}" y="14">{word}</text>'


def _drawn(lane: Lane, top: int) -> Iterator[str]:
    middle = top + _LANE // 2 - 4
    reaches = _LIVE if lane.live else _GATES + 24 * (len(lane.gates[:_MOST_GATES]) - 1) if lane.gates else _PREVIEW
    yield f'<g class="lane {_text(lane.color)}{" is-live" if lane.live else ""}">'
    yield f'<rect class="ground" x="4" y="{top}" width="{_WIDTH - 8}" height="{_LANE - 8}" rx="10"/>'
    yield f'<rect class="edge" x="4" y="{top}" width="5" height="{_LANE - 8}" rx="2.5"/>'
    yield f'<text class="name" x="{_NAME + 6}" y="{middle - 1}">{_text(_cut(lane.name))}</text>'
    yield f'<text class="stage" x="{_NAME + 6}" y="{middle + 16}">{_text(lane.stage)} · {_text(lane.color)}</text>'
    begin, pods = _pods(lane, middle)
    yield f'<path class="way" d="M{begin} {middle}H{reaches}"/>'
    yield from pods
    if lane.preview:
        yield f'<circle class="stop" cx="{_PREVIEW}" cy="{middle}" r="9"><title>preview goes to it</title></circle>'
        yield f'<circle class="dot" cx="{_PREVIEW}" cy="{middle}" r="4"/>'
    for place, (kind, is_open) in enumerate(lane.gates[:_MOST_GATES]):
        yield from _gate(_GATES + 24 * place, middle, kind, is_open)
    if lane.live:
        yield f'<circle class="live" cx="{_LIVE}" cy="{middle}" r="15"><title>live traffic goes to it</title></circle>'
        yield f'<path class="arrow" d="M{_LIVE - 7} {middle}h13m-5-5 5 5-5 5"/>'
    yield "</g>"


def _pods(lane: Lane, middle: int) -> tuple[int, list[str]]:
    """Return the pods of a version, in one row or two, and where their way on begins."""
    shown = min(lane.desired, _MOST_PODS)
    ready = lane.available if lane.desired <= _MOST_PODS else round(shown * lane.available / lane.desired)
    drawn = []
    for place in range(shown):
        state, x = "up" if place < ready else "down", _PODS + 6 + 14 * (place % _IN_A_ROW)
        y = middle if shown <= _IN_A_ROW else middle - 7 + 14 * (place // _IN_A_ROW)
        drawn.append(f'<circle class="pod {state}" cx="{x}" cy="{y}" r="5"/>')
    text, x = f"{lane.available}/{lane.desired}", _PODS + 14 * min(shown, _IN_A_ROW) + 6
    drawn.append(f'<text class="count" x="{x}" y="{middle + 4}">{text}</text>')
    return x + 8 * len(text) + 4, drawn


def _gate(x: int, middle: int, kind: str, is_open: bool) -> Iterator[str]:
    word = "open" if is_open else "shut"
    yield f'<g class="gate {word}"><title>{_text(kind)}: {word}</title>'
    yield f'<rect x="{x - 8}" y="{middle - 8}" width="16" height="16" rx="4"/>'
    yield (f'<path d="M{x - 4} {middle}l3 3 5-6"/>' if is_open else f'<path d="M{x - 3} {middle - 4}v8m6-8v8"/>')
    yield "</g>"


# --- the measurements of one metric ---

_BAR, _BARS_HEIGHT = 9, 34
_MOST_BARS = 40


def bars(run: MetricRun) -> str:
    """Return the newest measurements of a metric as bars, oldest first, as high as what was measured; beside their
    limit.
    """
    shown = run.measurements[-_MOST_BARS:]
    if not shown:
        return ""
    values = [_number(each.value) for each in shown]
    limit = _limit(run.metric.success)
    top = max((abs(each) for each in (*values, limit) if each is not None), default=0.0) or 1.0
    drawn = "".join(
        _bar(place, each.phase, _height(value, top), f"{each.at:%H:%M:%S}Z {each.value or each.message}")
        for place, (each, value) in enumerate(zip(shown, values, strict=True))
    )
    width = _BAR * len(shown)
    if limit is not None and any(each is not None for each in values):
        y = _BARS_HEIGHT - _height(limit, top)
        drawn += f'<path class="limit" d="M0 {y:.1f}H{width}"><title>{_text(run.metric.success)}</title></path>'
    title = f"{run.metric.name}: {run.successful} good, {run.failed} bad of {run.metric.count}"
    return (
        f'<svg class="bars" viewBox="0 0 {width} {_BARS_HEIGHT}" width="{width}" height="{_BARS_HEIGHT}" role="img">'
        f"<title>{_text(title)}</title>{drawn}</svg>"
    )


def _bar(place: int, phase: AnalysisPhase, height: float, title: str) -> str:
    y = _BARS_HEIGHT - height
    return (
        f'<rect class="bar {_text(str(phase).lower())}" x="{place * _BAR}" y="{y:.1f}" width="{_BAR - 2}" '
        f'height="{height:.1f}" rx="1.5"><title>{_text(title)}</title></rect>'
    )


def _height(value: float | None, top: float) -> float:
    return 14.0 if value is None else 5.0 + (_BARS_HEIGHT - 6.0) * abs(value) / top


_LIMIT = re.compile(r"result(?:\[0\])?\s*[<>]=?\s*(-?\d+(?:\.\d+)?)", re.ASCII)


def _limit(condition: str) -> float | None:
    """Return the number that a plain condition compares with; None for any other condition.

    >>> _limit("result[0] >= 0.95"), _limit("result < 1 && result > 0")
    (0.95, None)
    """
    found = _LIMIT.fullmatch(condition.strip()) if len(condition) < 100 else None
    return float(found[1]) if found else None


def _number(value: str) -> float | None:
    try:
        found = float(value)
    except ValueError:
        return None
    return found if abs(found) < 1e15 else None


# --- when a policy is shut ---

_DAY, _CALENDAR_TOP, _CALENDAR_HEIGHT = 100, 16, 16


def calendar(spans: Sequence[Span], now: datetime) -> str:
    """Return the coming days of a policy as one line: open, and shut."""
    width, begin = DAYS * _DAY, now

    def x(moment: datetime) -> float:
        return max(0.0, min(float(width), (moment - begin).total_seconds() / 86400 * _DAY))

    at = f'y="{_CALENDAR_TOP}" height="{_CALENDAR_HEIGHT}"'
    shut = "".join(
        f'<rect class="shut" {at} x="{x(each.start):.1f}" width="{max(1.0, x(each.end) - x(each.start)):.1f}" rx="2">'
        f"<title>{_text(each.why)}</title></rect>"
        for each in spans
    )
    title = f"shut {len(spans)} times in {DAYS} days" if spans else f"open for {DAYS} days"
    return (
        f'<svg class="calendar" viewBox="0 0 {width} {_CALENDAR_TOP + _CALENDAR_HEIGHT}" role="img">'
        f'<title>{title}</title><rect class="open" {at} x="0" width="{width}" rx="3"/>'
        f"{shut}{''.join(_midnights(begin, x))}</svg>"
    )


def _midnights(begin: datetime, x: Callable[[datetime], float]) -> Iterator[str]:
    midnight = begin.replace(hour=0, minute=0, second=0, microsecond=0)
    for day in range(1, DAYS + 1):
        at = midnight + timedelta(days=day)
        yield f'<path class="day" d="M{x(at):.1f} {_CALENDAR_TOP - 4}v{_CALENDAR_HEIGHT + 4}"/>'
        yield f'<text x="{x(at) + 3:.1f}" y="11">{at:%a %d}</text>' if day < DAYS else ""


# --- words ---


def _text(text: str) -> str:
    return escape(printable(text))


def _cut(name: str, longest: int = 26) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"
