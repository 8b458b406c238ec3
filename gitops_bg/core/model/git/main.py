"""The main that a record was decided from, and how the main that an agent has read relates to it. Pure data."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


class Knowledge(StrEnum):
    """How the main of `Desired` relates to the one that the record was decided from."""

    SAME = "same"
    """Main is the record's, or the record names none yet."""
    NEWER = "newer"
    """Main contains the record's, or is of a later generation."""
    OLDER = "older"
    """Main does not contain the record's, and another look may fetch one that does: nothing is decided."""
    REWRITTEN = "rewritten"
    """The remote was asked, and its main lacks the record's, or a commit seen before: main does not count."""
    UNKNOWN = "unknown"
    """Main was not read, or is older while the remote does not answer: main does not count."""

    @property
    def counts(self) -> bool:
        """Whether the agent may act on what main says."""
        return self in (Knowledge.SAME, Knowledge.NEWER)


@dataclass(frozen=True, slots=True)
class Main:
    """A main: its head, the generation of its history, and the id of one app's folder in it (equal ids: equal files).

    Within a generation a commit is newer than those that it contains; `accept-history` begins the next generation.
    """

    commit: str = ""
    generation: int = 0
    tree: str = ""


NO_MAIN = Main()
