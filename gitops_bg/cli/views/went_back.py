"""Why live traffic did not follow a target that went back, and what to type: words for `explain`."""

from dataclasses import dataclass

from gitops_bg.core.checks.git.reverts import why_not_back
from gitops_bg.core.model.actions import label
from gitops_bg.core.way_back import leads_back
from gitops_bg.core.world import World


@dataclass(frozen=True, slots=True)
class WentBack:
    """A target that went back without live traffic."""

    reason: str
    advice: str

    def __str__(self) -> str:
        return self.reason


def went_back(world: World) -> WentBack | None:
    """Return why, if main's target went back to a version that served before the live one and traffic does not follow
    it, and what makes it follow.

    A target that stays where it was while live traffic went back has not gone back: its hold says what there is to say.
    """
    why, back, live = why_not_back(world), world.record.version(world.target_digest), world.active
    if not why or back is None or live is None or not world.record.came_before(back.digest, live.digest):
        return None
    names = label(back.number, back.digest), label(live.number, live.digest)
    reason = f"the target went back to {names[0]}, live traffic stays with {names[1]}: {why}"
    if not leads_back(world.record, back, by_name=True):
        again = f"if it is good all the same, to try it through every gate: gitops-bg retry {world.spec.app}"
        return WentBack(reason, again)
    brought = live.source.commit[:10]
    later = f"; next time `git revert {brought}` goes back at once" if brought else ""
    return WentBack(reason, f"to go back now: gitops-bg rollback {world.spec.app} --to {back.number}{later}")
