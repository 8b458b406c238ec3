"""Whether a write to an object of a group waits: somebody else may change that object again and again.

As for an app (`core.checks.contests`, docs/decisions/0066). Live traffic depends on each route and Service of a group,
so that a write to them waits a second at most.
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import takewhile

from gitops_bg.core import names
from gitops_bg.core.groups.decision import ApplyGroup, ApplyRoute, DeleteGroup, DeleteRoute, GroupAction, TakeOver
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.drift import Contest
from gitops_bg.core.model.version import GroupKey


def object_of(group: GroupKey, action: GroupAction) -> tuple[str, str]:
    """The kind and the name of the object that an action writes."""
    if isinstance(action, ApplyGroup):
        return names.GROUP_KIND, group.name
    if isinstance(action, ApplyRoute):
        return "HTTPRoute", action.route.name
    if isinstance(action, DeleteRoute):
        return "HTTPRoute", action.name
    if isinstance(action, TakeOver):
        return action.kind, action.name
    if isinstance(action, DeleteGroup):
        return names.GROUP_KIND, action.name
    return "Service", action.service


def due_now(world: GroupWorld, actions: tuple[GroupAction, ...]) -> tuple[GroupAction, ...]:
    """The actions to carry out now. Their order keeps every prefix safe, so that none passes one that waits, but for
    the ReleaseGroup, which no traffic depends on.
    """
    traffic = (each for each in actions if not isinstance(each, ApplyGroup))
    own = tuple(each for each in actions if isinstance(each, ApplyGroup) and not _is_paused(world, each))
    return (*own, *takewhile(lambda each: not _is_paused(world, each), traffic))


def contest_moments(world: GroupWorld) -> Iterator[datetime]:
    """When each pause between two repairs is over."""
    return (each.next_repair(live=_is_live(each)) for each in world.observed.contests)


def _is_paused(world: GroupWorld, action: GroupAction) -> bool:
    kind, name = object_of(world.key, action)
    of_it = (each for each in world.observed.contests if (each.kind, each.name) == (kind, name))
    return any(not each.is_due(world.now, live=_is_live(each)) for each in of_it)


def _is_live(contest: Contest) -> bool:
    return contest.kind != names.GROUP_KIND
