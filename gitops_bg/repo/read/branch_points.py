"""Where branches leave main: the first commit of their own line, by first parents, that main contains.

Thousands of promotion branches stay where they are while main moves on. Of those only what main took in is looked at.
"""

from collections.abc import Container, Iterable, Mapping

from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import lines, text

Line = tuple[str, ...]
"""The commits of a branch, newest first, and last the one where it leaves main: empty where they share no history."""


class BranchPoints:
    """The answer for the heads that were asked for last, kept up to date."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._main = ""
        self._lines: Mapping[str, Line] = {}

    def of(self, heads: Iterable[str], main: str) -> dict[str, Line]:
        """For every head its line down to main."""
        wanted = list(dict.fromkeys(heads))
        found = self._kept(wanted, main)
        found |= self._near(wanted, found, main)
        rest = [head for head in wanted if head not in found]
        self._main, self._lines = main, found | (self._asked(rest, main) if rest else {})
        return {head: self._lines[head] for head in wanted}

    def _kept(self, wanted: list[str], main: str) -> dict[str, Line]:
        """What was known before, as far as main took nothing of it in since. A main with another history may have lost
        what a branch stands on.
        """
        goes_on = bool(self._main and main) and self._mirror.is_ancestor(self._main, main)
        taken_in = self._mirror.near(self._main, main) if goes_on else None
        if taken_in is None:
            return {}
        return {head: _up_to(self._lines[head], taken_in) for head in wanted if head in self._lines}

    def _near(self, wanted: list[str], known: Container[str], main: str) -> dict[str, Line]:
        """The lines of branches that a few steps lead to main as it is: main cannot contain what comes after it."""
        found = {head: self._mirror.first_parents(head, {main}) for head in wanted if head not in known}
        return {head: (*(one for one, _ in line), main) for head, line in found.items() if line is not None}

    def _asked(self, heads: list[str], main: str) -> dict[str, Line]:
        asked = "".join(f"{head}\n" for head in heads) + (f"^{main}\n" if main else "")
        output = self._mirror.local("rev-list", "--parents", "--stdin", stdin=asked.encode())
        own = {commit: parents[:1] for commit, *parents in (text(line).split(" ") for line in lines(output))}
        return {head: _line(head, own) for head in heads}


def _up_to(line: Line, taken_in: Container[str]) -> Line:
    at = next((place for place, commit in enumerate(line) if commit in taken_in), len(line) - 1)
    return line[: at + 1]


def _line(head: str, own: Mapping[str, list[str]]) -> Line:
    """The line of first parents down to the first commit that is not the branch's own."""
    line = [head]
    while line[-1] in own:
        line += own[line[-1]] or [""]
    return tuple(line)
