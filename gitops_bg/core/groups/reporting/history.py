"""What a group's record has of main beside that of `core.delivery.standing`: that it refuses the commit of a way back,
and which main the group was decided from.
"""

from dataclasses import replace

from gitops_bg.core.groups.decision import GroupDecision
from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.plan import return_of_override
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.record import Event


def note_refused_commit(world: GroupWorld) -> GroupWorld:
    """Note once that main refuses the commit of a way back, where there is one to make."""
    override, refused, wanted = world.record.override, world.observed.main_refused, return_of_override(world)
    if override is None or override.diverged or not refused or wanted is None:
        return world
    world = replace(world, record=world.record.with_divergence())
    branch, offered = world.observed.branch, "it is offered on the promotion branch"
    offered = f"{offered} once that is deleted: main has it" if branch is not None and branch.is_merged else offered
    instead = world.observed.not_offered(wanted.version) or offered
    reason = f"main refuses the commit ({refused}); {instead}"
    return world.noting(Event.DIVERGED, to=wanted.version, by=override.by, reason=reason, asked=False)


def learnt(desired: DesiredGroup, before: GroupRecord, decision: GroupDecision) -> GroupDecision:
    """The decision with the main that it was made from in its record, and silent where another agent knows more."""
    main, record = desired.main, decision.record
    is_silent = decision.silent or main.is_silent(changed=record != before)
    known = main.learnt(record.main, saved=record != before)
    return replace(decision, record=replace(record, main=known), silent=is_silent)
