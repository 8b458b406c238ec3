"""What is to be measured, and what analyses have said so far of a version (argo-rollouts.md §3)."""

from gitops_bg.core.checks.draining import reaches_only
from gitops_bg.core.model.metrics import AnalysisPhase, AnalysisStage, Plan
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

PRE, POST = AnalysisStage.PRE, AnalysisStage.POST


def plan_of(world: World, stage: AnalysisStage) -> Plan | None:
    """What the app asks to be measured in a stage; None where it asks for nothing."""
    strategy = world.spec.strategy
    return strategy.pre_promotion_analysis if stage is PRE else strategy.post_promotion_analysis


def has_passed_analysis(world: World, version: Version) -> bool:
    """Whether the analysis before promotion, where there is one, found nothing against a version."""
    if plan_of(world, PRE) is None or world.record.operator.promote_full == version.digest:
        return True
    run = world.record.run(PRE)
    judged = run is not None and (run.digest, run.rollout) == (version.digest, version.rollout)
    return run is not None and judged and run.phase is AnalysisPhase.SUCCESSFUL


def is_in_preview(world: World, version: Version) -> bool:
    """Whether requests to the preview Service, where there is one, get to the pods of a version and nowhere else."""
    if version.available_since is None:
        return False
    asked = world.spec.strategy.preview_service is not None
    return not asked or reaches_only(world, world.observed.preview_service, version)


SKIPPED = "skipped by `promote --full`"
