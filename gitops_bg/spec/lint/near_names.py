"""Names that differ by a slip of the finger. Pure."""

from collections.abc import Iterable


def near(name: str, known: Iterable[str]) -> str:
    """The known name nearest to ``name`` that a slip or two lie between; empty where there is none.

    >>> near("wbe", ["web", "api"]), near("web-preveiw", ["web-preview"]), near("web", ["web-preview", "db"])
    ('web', 'web-preview', '')
    """
    ranked = sorted((distance(name, each), each) for each in known if each != name)
    return ranked[0][1] if ranked and ranked[0][0] <= (1 if len(name) < 6 else 2) else ""


def distance(one: str, other: str) -> int:
    """How many letters are missing, too many, wrong, or swapped with their neighbour (optimal string alignment).

    >>> distance("web", "web"), distance("wbe", "web"), distance("settings", "setings"), distance("a", "xyz")
    (0, 1, 1, 3)
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for y, letter in enumerate(one, 1):
        older, before, row = before, row, [y]
        for x, its in enumerate(other, 1):
            cost = min(before[x] + 1, row[x - 1] + 1, before[x - 1] + (letter != its))
            if y > 1 and x > 1 and letter == other[x - 2] and one[y - 2] == its:
                cost = min(cost, older[x - 2] + 1)
            row.append(cost)
    return row[-1]
