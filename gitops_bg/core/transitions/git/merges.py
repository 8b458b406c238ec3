"""The steps that ask who merged a promotion and who approved it: once, after traffic moved, never before.

A squash hides both from Git (forges.md §3). Nothing waits for the answer: it becomes a separate ledger entry; if the
forge does not answer in time, the entry says that this is unknown.
"""

from dataclasses import replace

from gitops_bg.core.checks.git.merges import given_up_at
from gitops_bg.core.model.git.pulls import Merge
from gitops_bg.core.model.record import AskedMerge, Event, Switch, SwitchKind
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World


def ask_who_merged(world: World, switch: Switch, to: Version) -> World:
    """Ask who merged a promotion that was just carried out, if a forge may know."""
    if switch.switch_kind is not SwitchKind.PROMOTION or not switch.commit or not world.observed.git.has_forge:
        return world
    asked = AskedMerge(switch.commit, to.digest, world.now)
    git = world.record.git
    return world.with_part(replace(git, asked_merges=(*git.asked_merges, asked)))


def hear_merges(world: World) -> World:
    """Write one entry for each answer, and one for each question without an answer in time; none if no
    forge merged it.
    """
    told = {merge.commit: merge for merge in world.observed.git.merges}
    for asked in world.record.git.asked_merges:
        answer = told.get(asked.commit)
        if answer is None and world.now < given_up_at(asked):
            continue
        world = _without(_noted(world, asked, answer), asked)
    return world


def _noted(world: World, asked: AskedMerge, answer: Merge | None) -> World:
    version = world.record.version(asked.digest)
    if version is None or (answer is not None and not answer.number):
        return world
    if answer is None:
        return world.noting(Event.MERGED, to=version, commit=asked.commit, reason=_unknown(world))
    named = f"pull request #{answer.number} {answer.url}".rstrip()
    approved = f"approved by {', '.join(answer.approved_by)}" if answer.approved_by else "without an approval"
    return world.noting(
        Event.MERGED,
        to=version,
        commit=asked.commit,
        by=answer.by,
        reason=f"{named}, {approved}",
        approved_by=answer.approved_by,
    )


def _unknown(world: World) -> str:
    why = world.observed.git.pull_trouble or "the forge gave no answer in an hour"
    return f"nobody could tell who merged and who approved it: {why}"


def _without(world: World, asked: AskedMerge) -> World:
    git = world.record.git
    return world.with_part(replace(git, asked_merges=tuple(each for each in git.asked_merges if each != asked)))
