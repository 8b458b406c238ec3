"""The step that forgets analysis runs that are over (`core.model.analysis.history`)."""

from gitops_bg.core.world import World


def forget_runs(world: World) -> World:
    """Forget the oldest runs beyond the limits, also after the limits were lowered, and runs of forgotten versions."""
    spec, before = world.spec, world.record.analyses
    kept = before.within(
        spec.successful_run_history_limit,
        spec.unsuccessful_run_history_limit,
        lambda run: world.record.version(run.digest) is not None,
    )
    return world if kept is before else world.with_part(kept)
