"""Looks at main, numbered: what tells a decision of Git that came after one of ours from one that nobody had seen yet.

Dates of commits say nothing about that, nor does "it differs from what I saw". A look that began after a decision of
the agent or of an operator shows what was in main before anybody could react to it (decision 17). Pure data.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Looks:
    """How often a process has looked at main. Numbers compare within one process only."""

    process: str = ""
    """Empty: one that does not look at Git."""
    seen: int = 0
    """The look that brought what is said of main now."""
    begun: int = 0
    """The last look that has begun."""


NO_LOOKS = Looks()


@dataclass(frozen=True, slots=True)
class Awaited:
    """A decision that no look at main has followed yet: the last look that had begun when it was made, and whose."""

    process: str = ""
    number: int = 0

    def is_over(self, looks: Looks) -> bool:
        """Whether what is said of main now was looked at after the decision."""
        return bool(looks.process) and looks.process == self.process and looks.seen > self.number


def awaited(looks: Looks) -> Awaited:
    """The next look, seen from now.

    >>> awaited(Looks("a", 3, 4)).is_over(Looks("a", 4, 4)), awaited(Looks("a", 3, 4)).is_over(Looks("a", 5, 5))
    (False, True)
    """
    return Awaited(looks.process, looks.begun)
