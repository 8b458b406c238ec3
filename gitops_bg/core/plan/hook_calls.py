"""Which hooks to call now."""

from gitops_bg.core.checks.hooks.queries import (
    next_call,
)
from gitops_bg.core.checks.hooks.timing import CONFIRM_PROMOTION, asked_about
from gitops_bg.core.model.hooks import (
    HookCall,
    HookRun,
    HookType,
    id_of,
    key_of,
)
from gitops_bg.core.world import World

CONFIRM_ROLLOUT, PRE_ROLLOUT, ROLLOUT = HookType.CONFIRM_ROLLOUT, HookType.PRE_ROLLOUT, HookType.ROLLOUT


PHASES = {
    CONFIRM_ROLLOUT: "Waiting",
    PRE_ROLLOUT: "Progressing",
    ROLLOUT: "Progressing",
    CONFIRM_PROMOTION: "Progressing",
}
"""Flagger's name of the phase in which it calls hooks of a type; rollback hooks get the phase of the app."""


def calls_due(world: World, phase: str) -> tuple[HookCall, ...]:
    """The hooks to ask now; ``phase`` is that of the app in Flagger's words."""
    return tuple(
        HookCall(id_of(run, world.record.epoch), key_of(run, world.record.epoch), hook, _phase(run, phase), run.digest)
        for hook, run in asked_about(world)
        if (moment := next_call(world, run, hook)) and moment <= world.now
    )


def _phase(run: HookRun, of_app: str) -> str:
    return "Promoting" if run.final else PHASES.get(run.type, of_app)
