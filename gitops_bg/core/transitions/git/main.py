"""The step that records the main that a decision was made from, and what main has lost.

Several agents may look at one app with different knowledge: by mistake, after a freeze, from replicas of the remote
that lag. The record's lock orders their knowledge: the record says which main it was decided from, and an agent with an
older main decides nothing (DESIGN §4: the primary.yaml of the newest main that any agent has seen). Ancestry belongs to
Git: an adapter computes the relation and passes it to the engine as data.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitops_bg.core.model.desired import Desired
    from gitops_bg.core.model.record import Record
    from gitops_bg.core.world import World
from gitops_bg.core.model.git.main import Knowledge, Main


def note_lost(world: "World") -> "World":
    """Record what main lost: the first agent that notices notes it, and a main that counts clears it.

    So agents of different knowledge do not overwrite each other's status in turns.
    """
    desired, lost = world.desired, world.record.git.lost
    if not lost and desired.history_rewritten:
        return world.with_part(replace(world.record.git, lost=desired.history_rewritten))
    if lost and not desired.history_rewritten and desired.knowledge.counts:
        return world.with_part(replace(world.record.git, lost=""))
    return world


def is_silent(desired: "Desired", before: "Record", after: "Record") -> bool:
    """Whether nothing may be written of a decision, because another agent knows more and writes the status.

    A decision that follows from the record itself (an emergency) changes the record, and is carried out and shown by
    any agent.
    """
    behind = desired.knowledge is Knowledge.REWRITTEN and not desired.history_rewritten
    return desired.knowledge is Knowledge.OLDER or (behind and before == after)


def learn(world: "World", before: "Record") -> "World":
    """Record the main of this decision: where the record is saved anyway, or where the app's own files changed.

    Not where main moved for other apps only: a commit must not cost a write for every app.
    """
    desired, known = world.desired, world.record.git.main
    if not desired.knowledge.counts or not desired.commit:
        return world
    now = Main(desired.commit, max(desired.generation, known.generation), desired.tree)
    moved = world.record != before or desired.tree != known.tree or now.generation != known.generation
    return world.with_part(replace(world.record.git, main=now)) if moved and now != known else world
