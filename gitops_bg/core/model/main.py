"""Which main a record was decided from, and how the main that an agent knows stands to it. Pure data."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


class Knowledge(StrEnum):
    """How the main of `Desired` stands to the one that the record was decided from."""

    SAME = "same"
    """It is the record's, or the record names none yet."""
    NEWER = "newer"
    """It contains the record's, or is of a later generation."""
    OLDER = "older"
    """It does not contain the record's, and a look at the remote may bring one that does: nothing is decided."""
    REWRITTEN = "rewritten"
    """The remote was asked, and its main does not contain the record's, or what was seen before: it does not count."""
    UNKNOWN = "unknown"
    """Main was not read, or is older and the remote does not answer: it does not count."""

    @property
    def counts(self) -> bool:
        """Whether what main says may be acted on."""
        return self in (Knowledge.SAME, Knowledge.NEWER)


@dataclass(frozen=True, slots=True)
class Main:
    """A main: its head, the generation of its history, and the folder of one app in it (equal trees: equal files).

    Within a generation a commit is newer than those that it contains; `accept-history` begins the next generation.
    """

    commit: str = ""
    generation: int = 0
    tree: str = ""


NO_MAIN = Main()
