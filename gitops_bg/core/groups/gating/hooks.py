"""What the hooks of a group say of the version that it is to promote: gates, and what keeps it from its promotion."""

from collections.abc import Iterator
from dataclasses import replace

from gitops_bg.core.delivery import hooks
from gitops_bg.core.delivery.hooks import CONFIRM_PROMOTION, PRE_ROLLOUT, ROLLBACK, ROLLOUT, says_no
from gitops_bg.core.groups.subject import asked_anew, round_of
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.hooks import Hook, HookRun

STOPPING = (PRE_ROLLOUT, ROLLOUT, CONFIRM_PROMOTION, ROLLBACK)
"""The types that may keep a version from its promotion."""


def hook_gates(world: GroupWorld, version: str) -> tuple[GateResult, ...]:
    """One gate for each hook that leads forward, and for each rollback hook that has called for one."""
    asked, gates = round_of(world), []
    for hook, run in _stopping_hooks(world, version):
        ends = run is not None and says_no(hook, run)
        if ends or hook.type is not ROLLBACK:
            is_over = ends or (run is not None and run.expired)
            remedy = asked_anew(world, version) if is_over else ""
            gates.append(replace(hooks.hook_gate(asked, hook, run), remedy=remedy))
    return tuple(gates)


def _stopping_hooks(world: GroupWorld, version: str) -> Iterator[tuple[Hook, HookRun | None]]:
    asked, digest = round_of(world), world.digest_of(version)
    return ((hook, hooks.run_of(asked, hook, digest)) for hook in hooks.hooks_of(asked, *STOPPING))
