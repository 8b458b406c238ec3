"""Which lines of the list a page shows: what its address asks for, and one page of what fits."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil
from typing import Any
from urllib.parse import urlencode

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.conditions import Phase, Who
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.core.status.conditions import MEANINGS
from gitops_bg.core.written import Labels
from gitops_bg.spec.access import Role
from gitops_bg.web.dashboard.snapshot import Listed, Snapshot

ROWS = 50
"""Lines on a page."""
_LONGEST = 200
"""Characters of a search that count."""
_MOST_PAGES = 1_000


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked for; empty: everything."""

    search: str = ""
    phase: str = ""
    namespace: str = ""
    label: str = ""
    """Only apps whose targets have these labels: ``team=shop,tier!=db,owner``, as for kubectl."""
    waiting: bool = False
    """Only what waits for people."""
    mine: bool = False
    """Only what waits for who asks."""
    page: int = 1

    @classmethod
    def read(cls, given: Mapping[str, str]) -> "Query":
        """Read an address; what makes no sense there is left out."""
        page = given.get("page", "")
        return cls(
            search=given.get("q", "")[:_LONGEST].strip(),
            phase=given.get("phase", "")[:_LONGEST],
            namespace=given.get("namespace", "")[:_LONGEST],
            label=given.get("label", "")[:_LONGEST].replace(" ", ""),
            waiting=given.get("waiting") == "1",
            mine=given.get("mine") == "1",
            page=max(1, min(int(page), _MOST_PAGES)) if page.isascii() and page.isdecimal() and len(page) < 7 else 1,
        )

    def address(self, **changes: object) -> str:
        """Return the part of an address behind the path, with changes; of another page than the first unless it is
        named.

        >>> Query(search="web", page=3).address(phase="Held")
        '?q=web&phase=Held'
        """
        asked = replace(self, **{"page": 1, **changes})  # type: ignore[arg-type]
        pairs = {
            "q": asked.search,
            "phase": asked.phase,
            "namespace": asked.namespace,
            "label": asked.label,
            "waiting": "1" if asked.waiting else "",
            "mine": "1" if asked.mine else "",
            "page": str(asked.page) if asked.page > 1 else "",
        }
        return "?" + urlencode({key: value for key, value in pairs.items() if value}, errors="replace")

    def fits(self, line: Listed, of: "About") -> bool:
        """Return whether a line is asked for."""
        return (
            (not self.phase or line.row.phase == self.phase)
            and (not self.namespace or line.row.namespace == self.namespace)
            and (not self.waiting or bool(line.asked))
            and all(word in line.text for word in self.search.lower().split())
            and (not self.label or self.selects(of.labels(line.key)))
            and (not self.mine or of.is_mine(line))
        )

    def selects(self, labels: Labels) -> bool:
        """Return whether labels are those that are asked for.

        >>> Query(label="team=shop,tier!=db,owner").selects((("owner", "ada"), ("team", "shop")))
        True
        >>> Query(label="team=shop,!owner").selects((("team", "shop"), ("owner", "ada")))
        False
        """
        known = dict(labels)
        return all(_has(known, term) for term in self.label.split(",") if term)


def _has(labels: Mapping[str, str], term: str) -> bool:
    name, equals, value = term.partition("=")
    if equals:
        return (labels.get(name.removesuffix("!")) == value.removeprefix("=")) is not name.endswith("!")
    return (term.removeprefix("!") in labels) is not term.startswith("!")


def _no_labels(_: AppOrGroup) -> Labels:
    return ()


def _not_mine(_: Listed) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class About:
    """What the lines themselves do not say."""

    labels: Callable[[AppOrGroup], Labels] = _no_labels
    """The labels of a target."""
    is_mine: Callable[[Listed], bool] = _not_mine
    """Whether who asks may answer what a line waits for."""


NOTHING_MORE = About()


def may_answer(line: Listed, may: Callable[[Role], bool]) -> bool:
    """Return whether somebody with these roles may answer what a line waits for, on the dashboard."""
    by_button = any(each.who in (Who.PROMOTER, Who.OPERATOR) for each in line.asked)
    at_gate = any(each.kind == GateKind.MANUAL for each in line.shut)
    return (by_button and may(Role.OPERATOR)) or (at_gate and may(Role.APPROVER))


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the list. ``found`` counts what fits, on all pages."""

    query: Query
    rows: tuple[Listed, ...]
    found: int
    total: int
    phases: tuple[tuple[str, int], ...]
    """How many are in each phase, those that need people first; of everything, whatever is asked for."""
    waiting: int
    """How many wait for people."""
    mine: int
    """How many wait for who asks."""
    namespaces: tuple[str, ...]

    @property
    def pages(self) -> int:
        """How many pages there are, at least one."""
        return max(1, ceil(self.found / ROWS))

    @property
    def first(self) -> int:
        """The number of the first line shown, from 1; 0 where there is none."""
        return (self.query.page - 1) * ROWS + 1 if self.rows else 0

    @property
    def last(self) -> int:
        """The number of the last line shown."""
        return self.first + len(self.rows) - 1 if self.rows else 0


def page_of(snapshot: Snapshot, query: Query, of: About = NOTHING_MORE, rows: int = ROWS) -> Page:
    """Return one page of a snapshot; a page beyond the last is the last."""
    found = [each for each in snapshot.rows if query.fits(each, of)]
    number = max(1, min(query.page, ceil(len(found) / rows)))
    return Page(
        query=replace(query, page=number),
        rows=tuple(found[(number - 1) * rows : number * rows]),
        found=len(found),
        total=len(snapshot.rows),
        phases=tuple(sorted(snapshot.phases.items(), key=lambda each: (_calm(each[0]), each[0]))),
        waiting=sum(1 for each in snapshot.rows if each.asked),
        mine=sum(1 for each in snapshot.rows if (each.asked or each.shut) and of.is_mine(each)),
        namespaces=snapshot.namespaces,
    )


def json_of_page(page: Page) -> dict[str, Any]:
    """Return a page for programs."""
    items = [each.row.json() for each in page.rows]
    return {"items": items, "page": page.query.page, "pages": page.pages, "found": page.found, "total": page.total}


def _calm(phase: str) -> int:
    """Return how calm a phase is: people are needed, it goes on by itself, nothing is to be done."""
    meaning = MEANINGS.get(("Ready", phase))
    if meaning is None or meaning.asks:
        return 0
    return 2 if phase == Phase.HEALTHY else 1
