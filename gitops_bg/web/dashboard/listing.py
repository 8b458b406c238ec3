"""Which lines of the list a page shows: what its address asks for, and one page of what fits."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from urllib.parse import urlencode

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.status.conditions import MEANINGS
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
    waiting: bool = False
    """Only what waits for people."""
    page: int = 1

    @classmethod
    def read(cls, given: Mapping[str, str]) -> "Query":
        """Read an address; what makes no sense there is left out."""
        page = given.get("page", "")
        return cls(
            search=given.get("q", "")[:_LONGEST].strip(),
            phase=given.get("phase", "")[:_LONGEST],
            namespace=given.get("namespace", "")[:_LONGEST],
            waiting=given.get("waiting") == "1",
            page=max(1, min(int(page), _MOST_PAGES)) if page.isascii() and page.isdecimal() and len(page) < 7 else 1,
        )

    def address(self, **changes: object) -> str:
        """The part of an address behind the path, with changes; of another page than the first unless it is named.

        >>> Query(search="web", page=3).address(phase="Held")
        '?q=web&phase=Held'
        """
        asked = replace(self, **{"page": 1, **changes})  # type: ignore[arg-type]
        pairs = {
            "q": asked.search,
            "phase": asked.phase,
            "namespace": asked.namespace,
            "waiting": "1" if asked.waiting else "",
            "page": str(asked.page) if asked.page > 1 else "",
        }
        return "?" + urlencode({key: value for key, value in pairs.items() if value}, errors="replace")

    def fits(self, line: Listed) -> bool:
        """Whether a line is asked for."""
        return (
            (not self.phase or line.row.phase == self.phase)
            and (not self.namespace or line.row.namespace == self.namespace)
            and (not self.waiting or bool(line.asked))
            and all(word in line.text for word in self.search.lower().split())
        )


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


def page_of(snapshot: Snapshot, query: Query, rows: int = ROWS) -> Page:
    """One page of a snapshot; a page beyond the last is the last."""
    found = [each for each in snapshot.rows if query.fits(each)]
    number = max(1, min(query.page, ceil(len(found) / rows)))
    return Page(
        query=replace(query, page=number),
        rows=tuple(found[(number - 1) * rows : number * rows]),
        found=len(found),
        total=len(snapshot.rows),
        phases=tuple(sorted(snapshot.phases.items(), key=lambda each: (_calm(each[0]), each[0]))),
        waiting=sum(1 for each in snapshot.rows if each.asked),
        namespaces=snapshot.namespaces,
    )


def _calm(phase: str) -> int:
    """How calm a phase is: people are needed, it goes on by itself, nothing is to be done."""
    meaning = MEANINGS.get(("Ready", phase))
    if meaning is None or meaning.asks:
        return 0
    return 2 if phase == Phase.HEALTHY else 1
