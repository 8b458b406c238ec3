"""What the hooks of an app are asked (`core.delivery.hooks`), what they say of a version, and who only listens."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from gitops_bg.core.checks.analysis import PRE, is_shown
from gitops_bg.core.delivery import hooks
from gitops_bg.core.delivery.subject import HookRound
from gitops_bg.core.model.analysis.metrics import AnalysisStage
from gitops_bg.core.model.hooks import Hook, HookType
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.version import Stage, Version
from gitops_bg.core.questions import answered_once
from gitops_bg.core.world import World

LISTENING = (HookType.POST_ROLLOUT, HookType.EVENT, HookType.ALERT)


@dataclass(frozen=True, slots=True)
class AppSubject:
    """An app as its hooks are asked about it (`core.delivery.subject.HookSubject`)."""

    world: World

    def rollout(self, digest: str) -> int:
        """The rollout of a version; 0 where the record has none."""
        version = self.world.record.version(digest)
        return version.rollout if version else 0

    def goes_forward(self, digest: str) -> bool:
        """Whether a version is on its way, and is neither the first nor a rollback (DESIGN §4.5, §4.6)."""
        world, version, serving = self.world, self.world.record.version(digest), self.world.record.routing.traffic
        if version is None or not serving or digest == serving or world.record.held(digest):
            return False
        if digest == world.desired_digest:
            return world.switch_kind is SwitchKind.PROMOTION
        is_target = digest == world.target_digest or not world.target
        return version.stage is Stage.CANDIDATE and not version.retiring and is_target

    def is_judged_live(self, digest: str) -> bool:
        """Whether it serves, its analysis after promotion is not over, and traffic does not go back from it anyway."""
        world, run = self.world, self.world.record.run(AnalysisStage.POST)
        if run is None or not digest == run.digest == world.record.routing.traffic:
            return False
        stays = world.switch_kind is not SwitchKind.ROLLBACK
        return (run.running and stays) or (run.paused and world.desired_digest == digest)

    def is_shown(self, digest: str) -> bool:
        """Whether the preview Service, where there is one, is for a version alone."""
        version = self.world.record.version(digest)
        return version is not None and is_shown(self.world, version)

    def anew(self, _: str) -> str:
        """A retry has everything asked anew."""
        return f"`gitops-bg retry {self.world.spec.app}` asks anew"


A = TypeVar("A", bound=AppSubject)


@answered_once
def round_of(world: World) -> HookRound[AppSubject]:
    """The hooks of an app, as they are asked."""
    return round_as(AppSubject(world), world)


def round_as(app: A, world: World) -> HookRound[A]:
    """The same for steps, which ask more (`core.transitions.verdicts.hooks`)."""
    record, analysed = world.record, world.record.run(PRE)
    return HookRound(
        of=app,
        key=str(world.spec.app),
        now=world.now,
        hooks=world.spec.strategy.hooks,
        runs=record.hook_state.runs,
        epoch=record.epoch,
        frozen=world.frozen,
        resumed_at=world.resumed_at,
        measured=analysed if analysed is not None and analysed.running else None,
        open_gates=record.hook_state.open_gates,
        incoming=world.incoming.digest if world.incoming else "",
        in_full=record.operator.promote_full,
    )


def has_passed(world: World, version: Version, *types: HookType) -> bool:
    """Whether every hook of these types has accepted a version."""
    return not world.spec.strategy.hooks or hooks.has_passed(round_of(world), version.digest, *types)


def awaits_confirmation(world: World, version: Version) -> bool:
    """Whether a version must not be scaled up yet, because a confirm-rollout hook has not accepted it."""
    asks = any(hook.type is HookType.CONFIRM_ROLLOUT for hook in world.spec.strategy.hooks)
    if not asks or not AppSubject(world).goes_forward(version.digest):
        return False
    return not has_passed(world, version, HookType.CONFIRM_ROLLOUT)


def listeners(world: World, *types: HookType) -> Iterator[Hook]:
    """The hooks that are only notified; those of some types, where any are given."""
    return (hook for hook in world.spec.strategy.hooks if hook.type in (types or LISTENING))
