"""Gates on analyses: that of the version before its promotion, and that of the serving version, which nothing
overtakes.

The reason of a gate says what a person can do about it.
"""

from gitops_bg.core.checks.pods.draining import arrived_at
from gitops_bg.core.checks.subject import SKIPPED, AppSubject, round_of
from gitops_bg.core.delivery.analyses import POST, PRE, verdict_of
from gitops_bg.core.model.analysis.runs import AnalysisRun
from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import AppKey, Version
from gitops_bg.core.world import World


def pre_promotion(world: World, version: Version) -> GateResult | None:
    """What the analysis before promotion says; None where the app asks for none, or nothing serves yet."""
    plan = world.spec.strategy.pre_promotion_analysis
    if plan is None or not world.record.routing.traffic:
        return None
    if world.record.operator.promote_full == version.digest:
        return GateResult(GateKind.ANALYSIS, True, f"{PRE.called}: {SKIPPED}")
    run = round_of(world).analysis_of(version.digest)
    if run and run.started_at:
        return _verdict(run, world.spec.app)
    begins = plan.unknown or _begins(world, version)
    return GateResult(GateKind.ANALYSIS, False, f"{PRE.called}: {begins}")


def live_verdict(world: World, _: Version | None) -> GateResult | None:
    """What the analysis after promotion says of the serving version so far; None once it is over."""
    run = world.record.run(POST)
    if run is None or not run.open or run.digest != world.record.routing.traffic:
        return None
    return _verdict(run, world.spec.app) if run.started_at else _not_begun(world)


def live_version_judged(world: World, version: Version) -> GateResult | None:
    """Keep the serving version until its analysis is over."""
    verdict = live_verdict(world, version)
    if verdict is None or world.record.operator.promote_full == version.digest:
        return None
    return GateResult(GateKind.ANALYSIS, False, f"of what serves now: {verdict.reason}", verdict.until)


def live_version_not_being_measured(world: World, version: Version) -> GateResult | None:
    """Keep the serving version, against a promotion in Git, while its analysis runs.

    A paused analysis does not: a person who merges while it is paused has seen it.
    """
    run = world.record.run(POST)
    return live_version_judged(world, version) if run is not None and run.running else None


def _begins(world: World, version: Version) -> str:
    if version.available_since is None:
        return "begins when its pods are available"
    if AppSubject(world).is_in_preview(version.digest):
        return "begins now"
    return f"begins when Service {world.spec.strategy.preview_service} reaches exactly its pods"


def _not_begun(world: World) -> GateResult:
    plan, title = world.spec.strategy.post_promotion_analysis, POST.called
    unknown = plan.unknown if plan else ""
    if world.switch_kind is SwitchKind.ROLLBACK:
        return GateResult(GateKind.ANALYSIS, False, f"{title}: begins anew if traffic does not go back after all")
    reason = unknown or f"begins when the endpoints have followed Service {world.spec.strategy.active_service}"
    return GateResult(GateKind.ANALYSIS, False, f"{title}: {reason}", None if unknown else arrived_at(world))


def _verdict(run: AnalysisRun, app: AppKey) -> GateResult:
    return verdict_of(run, f"`gitops-bg promote {app}` measures anew")
