"""Looks at main, numbered: they tell whether main could have changed in answer to a decision.

Dates of commits do not tell that, nor does a difference from the last look. A look that began after a decision of the
agent or of an operator shows what was in main before anybody could react to it (decision 17). Pure data.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Looks:
    """How often a process has looked at main. Numbers compare within one process only."""

    process: str = ""
    """Empty: a process that does not look at Git."""
    seen: int = 0
    """The look that read the present content of main."""
    begun: int = 0
    """The last look that has begun."""


NO_LOOKS = Looks()


STAMPS = 8
"""How many processes are remembered for one decision; the last ones that noted it."""


@dataclass(frozen=True, slots=True)
class Awaited:
    """A decision that no look at main has followed yet."""

    stamps: tuple[tuple[str, int], ...] = ()
    """The process that made it, and the last look of that process which had begun then. Every other process counts from
    its own note of the decision: a stamp each, so that none replaces another's. None of what does not look at Git.
    """

    def is_over(self, looks: Looks) -> bool:
        """Whether the present content of main was read after the decision."""
        return any(process == looks.process and looks.seen > number for process, number in self.stamps)

    def noted(self, looks: Looks) -> "Awaited":
        """Return it with a stamp of the process that counts ``looks``.

        >>> Awaited((("a", 3),)).noted(Looks("b", 1, 2)).is_over(Looks("a", 4, 4))
        True
        """
        if not looks.process or any(process == looks.process for process, _ in self.stamps):
            return self
        return Awaited((*self.stamps, (looks.process, looks.begun))[-STAMPS:])


def awaited(looks: Looks) -> Awaited:
    """Return the wait for the next look after ``looks``.

    >>> awaited(Looks("a", 3, 4)).is_over(Looks("a", 4, 4)), awaited(Looks("a", 3, 4)).is_over(Looks("a", 5, 5))
    (False, True)
    """
    return Awaited().noted(looks)
