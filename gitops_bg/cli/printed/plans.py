"""The shape of what `plan` prints, of apps and release groups."""

from pydantic import with_config
from typing_extensions import TypedDict

from gitops_bg.cli.printed.apps import PlannedAppJson
from gitops_bg.cli.printed.groups import PlannedGroupJson
from gitops_bg.cli.printed.shape import CLOSED

_Before = TypedDict("_Before", {"from": str, "unchanged": int}, total=False)


@with_config(CLOSED)
class PlanJson(_Before):
    """What `plan` prints. ``from`` and ``unchanged`` are there if it is about what would come to main."""

    commit: str
    apps: list[PlannedAppJson]
    groups: list[PlannedGroupJson]
