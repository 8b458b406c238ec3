"""What analyses are to measure, and what they have found of a version so far (argo-rollouts.md §3)."""

from gitops_bg.core.checks.pods.draining import reaches_only
from gitops_bg.core.model.analysis.metrics import AnalysisPhase, AnalysisStage, Plan
from gitops_bg.core.model.digest import short
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

PRE, POST = AnalysisStage.PRE, AnalysisStage.POST


def plan_of(world: World, stage: AnalysisStage) -> Plan | None:
    """The measurements that the app asks for in a stage; None where it asks for none."""
    strategy = world.spec.strategy
    return strategy.pre_promotion_analysis if stage is PRE else strategy.post_promotion_analysis


def has_passed_analysis(world: World, version: Version) -> bool:
    """Whether the analysis before promotion found nothing against a version; True where there is none."""
    if plan_of(world, PRE) is None or world.record.operator.promote_full == version.digest:
        return True
    run = world.record.run(PRE)
    judged = run is not None and (run.digest, run.rollout) == (version.digest, version.rollout)
    return run is not None and judged and run.phase is AnalysisPhase.SUCCESSFUL


def is_in_preview(world: World, version: Version) -> bool:
    """Whether the preview Service, where there is one, leads to all available pods of a version and to no others."""
    if version.available_since is None or not is_shown(world, version):
        return False
    asked = world.spec.strategy.preview_service is not None
    return not asked or reaches_only(world, world.observed.preview_service, version)


def is_shown(world: World, version: Version) -> bool:
    """Whether the preview Service, where there is one, is for a version, and leads to no other: what asks it gets no
    answers of another one. One that leads nowhere is an answer about the preview.
    """
    if world.spec.strategy.preview_service is None:
        return True
    view = world.observed.preview_service
    leads_elsewhere = view is not None and (view.digest not in ("", short(version.digest)) or view.other_endpoints)
    return world.record.routing.preview == version.digest and not leads_elsewhere


SKIPPED = "skipped by `promote --full`"
