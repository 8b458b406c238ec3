"""What `environments`, `where`, `hold` and `enter` print with `-o json`."""

from pydantic import with_config
from typing_extensions import TypedDict

from gitops_bg.views.shapes.apps import CLOSED, LedgerJson


@with_config(CLOSED)
class ReleaseJson(TypedDict):
    """A release."""

    release: str
    """Its name, as people write it."""
    digest: str
    commit: str
    """The commit of main that brought it."""


@with_config(CLOSED)
class EnvironmentCellJson(TypedDict):
    """An app in one environment."""

    environment: str
    clusters: list[str]
    """Those that know the app."""
    serves: list[ReleaseJson]
    """One, unless its clusters differ."""
    since: str | None
    proven: bool
    """Whether what serves is proven in all of them."""
    coming: list[ReleaseJson]
    """What came in and does not serve yet."""
    held: list[ReleaseJson]
    """What is on hold."""
    offered: ReleaseJson | None
    """What a branch asks for, which people are to merge."""
    entersNow: ReleaseJson | None
    """What comes in with the next look of an agent there."""
    waits: str
    """What the next release waits for; empty where none is in sight."""
    until: str | None
    """When that may be over at the earliest."""
    troubles: list[str]
    """What is amiss with the ledgers of its clusters."""


@with_config(CLOSED)
class EnvironmentsItemJson(TypedDict):
    """An app in all environments that it passes."""

    app: str
    environments: list[EnvironmentCellJson]


@with_config(CLOSED)
class EnvironmentsJson(TypedDict):
    """What `environments` prints."""

    clusters: list[LedgerJson]
    items: list[EnvironmentsItemJson]


@with_config(CLOSED)
class WhereItemJson(TypedDict):
    """Where something is in one environment of an app."""

    app: str
    environment: str
    state: str
    release: ReleaseJson | None
    """The release that has it; null where it is not there."""


@with_config(CLOSED)
class WhereJson(TypedDict):
    """What `where` prints."""

    clusters: list[LedgerJson]
    items: list[WhereItemJson]


@with_config(CLOSED)
class HeldReleaseJson(TypedDict):
    """What `hold` prints."""

    app: str
    release: str
    commit: str
    """Of main; empty where it was so already."""
    changed: bool


@with_config(CLOSED)
class EnteredJson(TypedDict):
    """What `enter` prints."""

    app: str
    release: str
    environment: str
    skipped: list[str]
    """The environments before that have not proven it."""
    commit: str
    changed: bool
    branch: str
    """The branch to merge, where main takes no commit from the person; else empty."""
