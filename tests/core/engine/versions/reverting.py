"""Apps whose target says that it reverts a push."""

from dataclasses import replace
from typing import Any

from gitops_bg.core.model.journal import Targeted
from gitops_bg.core.model.statements import Hold, Override
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World
from tests.core.simulation import manual, template
from tests.core.worlds import NOW, active, digest, journal, legacy, primary, source, target, world

LATER = 99
UNDOING = source(2, commit="e" * 40, landed=LATER)


def held(*numbers: int) -> dict[str, object]:
    return {"holds": tuple(Hold(digest(number), "5xx", NOW) for number in numbers)}


def reverted(*versions: Version, to: int = 1, takes_back: tuple[int, ...] = (2,), **changes: Any) -> World:
    """The target names ``to``, and its newest commit says it reverts those that brought ``takes_back``."""
    spec = replace(manual(), rollback_window_revisions=changes.pop("window", None))
    undoing = changes.pop("source", UNDOING)
    commits = changes.pop("reverts", tuple(f"{number:040x}" for number in takes_back))
    newest = Targeted(
        named=changes.pop("named", tuple(f"{number:010x}" for number in takes_back)),
        missing=changes.pop("missing", ()),
        commits=commits,
        taken_back=tuple(template(str(number)) for number in takes_back),
    )
    told = changes.pop("targeted", (*changes.pop("before", ()), (undoing, newest)))
    desired = {
        "primary": primary(2),
        "target": target(to),
        "journal": journal(targeted=told),
        **changes.pop("desired", {}),
    }
    return world(*versions, spec=spec, desired=desired, **changes)


TWO = (legacy(1), active(2))
ELSEWHERE = Override(digest(3), digest(2), "5xx", "ada", NOW)
