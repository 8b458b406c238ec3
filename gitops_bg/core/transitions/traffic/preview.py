"""The step that chooses the target of the preview Service: the newest candidate, once its pods are ready."""

from dataclasses import replace

from gitops_bg.core.checks.subject import has_passed_analysis, has_passed_hooks
from gitops_bg.core.model.hooks import HookType
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.spec import PreviewSwitch
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.core.world import World


def choose_preview(world: World) -> World:
    """Point the preview to the ready candidate; until it is ready, and for a held one, keep it; else follow live
    traffic. While nobody knows whether it is a candidate still, it stays, too (decision 17).

    A version that ``primary.yaml`` names keeps the preview until its hooks and analysis have ended, because they use
    it.
    """
    if world.spec.strategy.preview_service is None:
        digest = ""
    elif world.suspended:
        digest = world.record.routing.preview
    else:
        digest = _choice(world)
    return (
        world
        if digest == world.record.routing.preview
        else world.with_part(replace(world.record.routing, preview=digest))
    )


def _choice(world: World) -> str:
    coming = None if world.switch_kind is SwitchKind.ROLLBACK else world.incoming
    judged = coming if coming and not _is_judged(world, coming) else None
    newest = judged or world.candidate or coming
    if newest and _may_show(world, newest):
        return newest.digest
    shown = world.record.version(world.record.routing.preview)
    still_of_use = newest is not None or bool(world.record.held(world.record.routing.preview))
    still_of_use |= shown is not None and shown.stage is Stage.CANDIDATE and not world.knows_target
    if shown and still_of_use and shown.stage is not Stage.ARCHIVED:
        return shown.digest
    return world.record.routing.traffic


def _is_judged(world: World, version: Version) -> bool:
    return has_passed_hooks(world, version, HookType.PRE_ROLLOUT, HookType.ROLLOUT) and has_passed_analysis(
        world, version
    )


def _may_show(world: World, version: Version) -> bool:
    at_once = world.spec.strategy.preview_switch is PreviewSwitch.IMMEDIATE
    return at_once or version.available_since is not None
