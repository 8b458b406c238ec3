"""The error of a ledger whose commits nobody can check at present."""

from gitops_bg.core.errors import Transient


class LedgerNotChecked(Transient):
    """It is not known which commits of the state branch are the agent's own: nothing new of it counts."""

    reason = "LedgerNotChecked"

    def __init__(self, why: str, *, later: bool = False) -> None:
        self.later = later
        """Whether nothing failed: there are only too many."""
        said = "nobody can tell yet which commits of the ledger are the agent's own"
        super().__init__(f"{said}: {why}; it is tried again")
