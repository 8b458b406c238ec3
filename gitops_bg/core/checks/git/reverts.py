"""Whether traffic follows a reverted push, and why not (decision 18)."""

from collections.abc import Callable
from itertools import takewhile

from gitops_bg.core.checks.git.journal import asks_for_reverts
from gitops_bg.core.model.actions import label
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.git.journal import Targeted
from gitops_bg.core.model.version import Source, Version
from gitops_bg.core.way_back import leads_back
from gitops_bg.core.world import World


def why_not_back(world: World) -> str:
    """Why traffic does not follow a target that went back, as a sentence; empty where it does, or the target did not go
    back.
    """
    told = world.desired.journal.targeted
    return revert_objection(world, *told[0]) if told and asks_for_reverts(world.desired, world.record) else ""


def revert_objection(world: World, source: Source, told: Targeted) -> str:
    """The first reason why traffic does not follow a target that went back, or empty."""
    return next(filter(None, (check(world, source, told) for check in _CHECKS)), "")


def counting(world: World) -> tuple[Targeted, ...]:
    """The newest revert, and the reverts in a row before it that came into main on the same side of the last change of
    ``primary.yaml``: what that answered is over.
    """
    (newest, told), *others = world.desired.journal.targeted
    if not told.named:
        return ()
    primary = world.desired.primary
    if isinstance(primary, Missing):
        return (told,)
    side = newest.landed_after(primary.changed_by)
    return told, *(each for _, each in takewhile(lambda one: one[0].landed_after(primary.changed_by) is side, others))


def reverted(world: World) -> set[str]:
    """The commits that the last changes of the target revert, as far as they count."""
    return {commit for each in counting(world) for commit in each.commits}


def _cannot_be_read(_: World, __: Source, told: Targeted) -> str:
    return f"nobody can tell what brought it: {told.unread}" if told.unread else ""


def _says_nothing(_: World, source: Source, told: Targeted) -> str:
    if told.named:
        return ""
    return f"{_commit(source)} does not say that it reverts a commit"


def _says_something_else(world: World, source: Source, told: Targeted) -> str:
    leaving = world.record.version(world.desired_digest)
    back = {world.resolve(version) for each in counting(world) for version in each.taken_back}
    if leaving and leaving.digest in back:
        return ""
    said = f"{_commit(source)} says that it reverts {', '.join(told.named)}"
    if told.missing == told.named:
        return f"{said}, which main did not have before it"
    return f"{said}, which did not bring {_label(leaving)}"


def _was_followed(world: World, source: Source, _: Targeted) -> str:
    if world.record.git.target_revert != source.commit:
        return ""
    return f"{_commit(source)} was followed before, and somebody decided otherwise since"


def _is_overruled(world: World, source: Source, _: Targeted) -> str:
    if world.record.override:
        return f"somebody sent traffic elsewhere: {world.record.override.reason}"
    primary = world.desired.primary
    if isinstance(primary, Missing):
        return f"primary.yaml is {primary.value}: nobody can tell whether it was changed after {_commit(source)}"
    later = source.landed_after(primary.changed_by)
    if later is None:
        return f"nobody can tell whether {_commit(source)} is older than the last change of primary.yaml"
    return "" if later else f"primary.yaml was changed after {_commit(source)}, by {primary.changed_by.commit[:10]}"


def _may_not_return(world: World, _: Source, __: Targeted) -> str:
    active, back = world.active, named_by_target(world)
    if active is None or back is None or back.digest == active.digest:
        return ""
    return _way_back(world, back, active)


_CHECKS: tuple[Callable[[World, Source, Targeted], str], ...] = (
    _cannot_be_read,
    _says_nothing,
    _says_something_else,
    _may_not_return,
    _was_followed,
    _is_overruled,
)


def _way_back(world: World, older: Version, active: Version) -> str:
    """Why traffic may not go back to the version that a person names.

    Its `resume` and `retry` count, and so does the rollback window of the spec.
    """
    way, order = leads_back(world.record, older, by_name=True), world.record.routing.activations
    if not way:
        return f"{_label(older)} {way.why_not}"
    window = world.spec.rollback_window_revisions
    between = order.index(active.digest) - order.index(older.digest) - 1
    if window is None or between < window:
        return ""
    return f"{_label(older)} is outside rollbackWindow: {between} versions served between it and {_label(active)}"


def named_by_target(world: World) -> Version | None:
    """The version that the target names, if it is known."""
    return world.record.version(world.target_digest)


def _commit(source: Source) -> str:
    return f"commit {source.commit[:10]}"


def _label(version: Version | None) -> str:
    return label(version.number, version.digest) if version else "the version that traffic follows"
