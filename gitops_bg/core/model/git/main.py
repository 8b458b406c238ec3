"""The main that a record was decided from, and how the main that an agent has read relates to it. Pure data.

Several agents may look at one app or release group with different knowledge: by mistake, after a freeze, from replicas
of the remote that lag. The record's lock orders their knowledge: the record says which main it was decided from, and an
agent with an older main decides nothing (DESIGN §4: the primary.yaml of the newest main that any agent has seen).
Ancestry belongs to Git: an adapter computes the relation and passes it to the engine as data.
"""

from dataclasses import dataclass, replace
from enum import StrEnum


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
    """A main: its head, the generation of its history, and the id of the folder of one app or group in it (equal ids:
    equal files).

    Within a generation a commit is newer than those that it contains; `accept-history` begins the next generation.
    """

    commit: str = ""
    generation: int = 0
    tree: str = ""


NO_MAIN = Main()


@dataclass(frozen=True, slots=True)
class MainRead:
    """Main as one agent has read it, for one app or group, and what a record is to remember of it."""

    at: Main = NO_MAIN
    knowledge: Knowledge = Knowledge.SAME
    lost: str = ""
    """The commit seen before that it lacks, where this agent may say so; empty: none."""
    lasts: bool = True
    """Whether that has lasted for a while; the ledger does not note a remote that lags for a moment."""

    @property
    def counts(self) -> bool:
        """Whether the agent may act on what main says."""
        return self.knowledge.counts

    @property
    def is_older(self) -> bool:
        """Whether another look may fetch a main that the record knows already: nothing is decided before."""
        return self.knowledge is Knowledge.OLDER

    @property
    def moves(self) -> bool:
        """Whether main may move traffic, and be written to: it counts, and went forward."""
        return self.counts and not self.lost

    def learnt(self, known: Main, *, saved: bool) -> Main:
        """The main to remember after a decision, instead of ``known``: where the record is ``saved`` anyway, or where
        the folder itself changed.

        Not where main moved for others only: a commit must not cost a write for every app.
        """
        if not self.counts or not self.at.commit:
            return known
        now = replace(self.at, generation=max(self.at.generation, known.generation))
        differs = (now.tree, now.generation) != (known.tree, known.generation)
        return now if saved or differs else known

    def lost_after(self, lost: str) -> str:
        """What is to be remembered as lost instead of ``lost``: the first agent that notices notes it, and a main that
        counts clears it. So agents of different knowledge do not overwrite each other's status in turns.
        """
        if self.lost:
            return lost or self.lost
        return "" if self.counts else lost

    def told_after(self, told: str, lost: str) -> str:
        """What the ledger is to know as lost instead of ``told``, where the record remembers ``lost``."""
        is_early = not (self.lasts if lost else self.counts)
        return told if is_early else lost

    def is_silent(self, *, changed: bool) -> bool:
        """Whether nothing may be written of a decision, because another agent knows more and writes the status.

        A decision that follows from the record itself (an emergency) has ``changed`` the record, and is carried out and
        shown by any agent.
        """
        is_behind = self.knowledge is Knowledge.REWRITTEN and not self.lost
        return self.is_older or (is_behind and not changed)
