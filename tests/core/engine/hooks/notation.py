"""Hooks as the engine's tables write them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gitops_bg.core.model.hooks import Hook, HookType
from gitops_bg.core.model.spec import AppSpec
from tests.core.simulation import Simulation, automatic
from tests.core.stories import coming

CONFIRM_ROLLOUT, PRE_ROLLOUT, ROLLOUT = HookType.CONFIRM_ROLLOUT, HookType.PRE_ROLLOUT, HookType.ROLLOUT
CONFIRM_PROMOTION, ROLLBACK = HookType.CONFIRM_PROMOTION, HookType.ROLLBACK
POST_ROLLOUT, EVENT, ALERT = HookType.POST_ROLLOUT, HookType.EVENT, HookType.ALERT


def hook(type_: HookType, **changes: Any) -> Hook:
    """A hook that has the name of its type."""
    return replace(Hook(str(type_), type_), **changes)


def hooked(spec: AppSpec, *hooks: Hook) -> AppSpec:
    return replace(spec, strategy=replace(spec.strategy, hooks=hooks))


def pushed(*hooks: Hook, spec: AppSpec | None = None) -> Simulation:
    """Version 1 is live, version 2 was pushed, and nothing is left to do until a hook answers."""
    return coming(hooked(spec or automatic(), *hooks))


def answer(sim: Simulation, replies: Mapping[str, int | tuple[int, str]]) -> None:
    """The hooks that are called now answer so, and everything that follows from it happens."""
    sim.answer(replies)
    sim.settle()


def called(sim: Simulation) -> list[str]:
    return [call.hook.name for call in sim.decide().calls]


def shut(sim: Simulation) -> list[str]:
    """What the gates say that are shut."""
    return [gate.reason for gate in sim.decide().gates if not gate.open]
