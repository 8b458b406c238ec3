"""The steps that follow what main said, entry after entry, in the order of main's own line (decisions 17 and 18).

What came into main before the last change of ``primary.yaml`` counts before it, and what came later counts later,
whenever anybody looked. An entry of unknown place counts as later.
"""

from gitops_bg.core.checks.git.journal import asks_for_names, precedes_primary
from gitops_bg.core.model.git.journal import Entry, Named, Retried, Targeted
from gitops_bg.core.model.version import Source
from gitops_bg.core.transitions.git.decisions import follow_primary, hear_name
from gitops_bg.core.transitions.git.looks import note_look
from gitops_bg.core.transitions.git.operator_requests import answer_retry
from gitops_bg.core.transitions.git.reverts import follow_target_revert, lift_by_revert
from gitops_bg.core.world import World


def follow_main(world: World) -> World:
    """Follow what main said up to the last change of ``primary.yaml``, then what that names.

    All but that is older than the decisions that await this look, so it counts before the look ends their wait.
    """
    for entry in world.desired.journal.entries:
        if isinstance(entry.says, Named) or precedes_primary(world, entry):
            world = _follow(world, entry)
    return follow_primary(note_look(world))


def answer_main(world: World) -> World:
    """Follow what main said since the last change of ``primary.yaml``: retries, and reverts of pushes."""
    for entry in world.desired.journal.entries:
        if not (isinstance(entry.says, Named) or precedes_primary(world, entry)):
            world = _follow(world, entry)
    return world


def _follow(world: World, entry: Entry) -> World:
    match entry.says:
        case Named(snapshot) if asks_for_names(world.desired, world.record):
            return hear_name(world, snapshot)
        case Retried(retry):
            return answer_retry(world, entry.source, retry)
        case Targeted() as told if told is world.desired.journal.targeted[0][1]:  # Others say what it takes back, too.
            return _follow_target(world, entry.source, told, is_older=precedes_primary(world, entry))
    return world


def _follow_target(world: World, source: Source, told: Targeted, *, is_older: bool) -> World:
    """Of one older than ``primary.yaml`` only the revert of a revert counts, once, before what that answered."""
    if not is_older:
        return lift_by_revert(follow_target_revert(world, source, told), source)
    primary = world.desired.primary
    is_known = primary and primary.changed_by.commit == world.record.git.primary_by
    return world if is_known else lift_by_revert(world, source)
