"""Why what a target says is not live, and what to type: words for `explain`."""

from dataclasses import dataclass

from gitops_bg.core.checks.git.main import why_not_back
from gitops_bg.core.model.actions import label
from gitops_bg.core.model.record import Record
from gitops_bg.core.way_back import leads_back
from gitops_bg.core.world import World
from gitops_bg.spec.app.layout import APP_FILE
from gitops_bg.spec.app.load import AppConfig


@dataclass(frozen=True, slots=True)
class NotLive:
    """A target that went back without live traffic, or that is not run."""

    reason: str
    advice: str

    def __str__(self) -> str:
        return self.reason


def went_back(world: World) -> NotLive | None:
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
        return NotLive(reason, again)
    brought = live.source.commit[:10]
    later = f"; next time `git revert {brought}` goes back at once" if brought else ""
    return NotLive(reason, f"to go back now: gitops-bg rollback {world.spec.app} --to {back.number}{later}")


def held_back(config: AppConfig, record: Record) -> NotLive | None:
    """Return what the pin holds back, and how it comes to run; None where the target is run."""
    waiting, revision = config.held_back, config.spec.revision if config.spec else None
    if waiting is None or revision is None:
        return None
    digest = waiting.snapshot.digest
    known = record.version(digest)
    target = label(known.number if known else None, digest)
    reason = f"{config.target_file} says {target}, and spec.revision runs {revision} instead"
    return NotLive(reason, f"to run what it says: remove revision from {config.folder}/{APP_FILE}")
