"""A contract: the version from which on what a database has lost is not needed (decision 114)."""

from datetime import datetime

from gitops_bg.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Contract:
    """Closes the way back to every version that was promoted before this one, from the moment its Jobs may run."""

    digest: str
    """The version; it and later ones are still allowed."""
    name: str
    """Its name for people, also once the record has forgotten it."""
    at: datetime

    @property
    def why(self) -> str:
        """Why an older version may not come back, as a sentence without its subject."""
        since = f"{self.at:%Y-%m-%d}"
        return f"is older than the contract of {self.name}, whose Jobs may have removed what it needs since {since}"
