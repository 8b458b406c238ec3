"""The step that writes down which main a record was decided from, and what main has lost.

Several agents may look at one app with different knowledge: by mistake, after a freeze, from replicas of the remote
that lag. The record's lock puts what they know in an order: it says which main it was decided from, and who knows an
older one decides nothing (DESIGN §4: the primary.yaml of the newest main that any agent has seen). Ancestry is Git's
business: the edge works the relation out and gives it to the engine as data.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitops_bg.core.model.desired import Desired
    from gitops_bg.core.model.record import Record
    from gitops_bg.core.world import World
from gitops_bg.core.model.main import Knowledge, Main


def note_lost(world: "World") -> "World":
    """The record says what main lost: by whom it was noticed first, until it is taken back by a main that counts.

    So agents of different knowledge do not write the status in turns, each with a word of its own.
    """
    desired, lost = world.desired, world.record.git.lost
    if not lost and desired.history_rewritten:
        return world.with_part(replace(world.record.git, lost=desired.history_rewritten))
    if lost and not desired.history_rewritten and desired.knowledge.counts:
        return world.with_part(replace(world.record.git, lost=""))
    return world


def is_silent(desired: "Desired", before: "Record", after: "Record") -> bool:
    """Whether nothing may be written of what was decided: another agent knows more, and says how the app stands.

    What the record itself asks for (an emergency) changes it, and is carried out and said whoever notices it.
    """
    behind = desired.knowledge is Knowledge.REWRITTEN and not desired.history_rewritten
    return desired.knowledge is Knowledge.OLDER or (behind and before == after)


def learn(world: "World", before: "Record") -> "World":
    """The record names the main it was decided from: where it is saved anyway, or where the app's own files changed.

    Not where main moved for other apps only: a commit must not cost a write for every app there is.
    """
    desired, known = world.desired, world.record.git.main
    if not desired.knowledge.counts or not desired.commit:
        return world
    now = Main(desired.commit, max(desired.generation, known.generation), desired.tree)
    moved = world.record != before or desired.tree != known.tree or now.generation != known.generation
    return world.with_part(replace(world.record.git, main=now)) if moved and now != known else world
