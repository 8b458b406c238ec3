"""The steps that ask the hooks of an app (`core.delivery.hooks`), and what follows from their answers.

Too many refusals before promotion: abort and hold. A rollback hook that accepts: back at once.
"""

from dataclasses import dataclass, replace

from gitops_bg.core.checks.analysis import has_passed_analysis, is_in_preview
from gitops_bg.core.checks.gates import waits_only_for_hooks
from gitops_bg.core.checks.hooks import DeliveredApp, delivery_as, delivery_of
from gitops_bg.core.delivery import hooks
from gitops_bg.core.delivery.delivery import Delivery
from gitops_bg.core.model.hooks import Hook, HookRun, HookType
from gitops_bg.core.model.record import Cause, Event, SwitchKind
from gitops_bg.core.transitions.traffic.abort import abort_rollout
from gitops_bg.core.transitions.verdicts.analysis import leave
from gitops_bg.core.world import World


def take_hook_answers(world: World) -> World:
    """Read the answers of hooks, and act on them."""
    world = _drop_stale(world)
    heard = hooks.heard(_deciding(world))
    world = _with_runs(world, hooks.changed(world.record.hook_state.runs, heard))
    for hook, before, after in heard:
        world = _tell(world, hook, before, after)
    for hook, _, run in heard:
        world = _refuse(world, hook, run) if hooks.says_no(hook, run) else world
    return world


def begin_hooks(world: World) -> World:
    """Begin to ask the hooks that are due, now that it is known which versions are available and on their way."""
    world = _drop_stale(world)
    return _ask_people(_with_runs(world, hooks.begun(_deciding(world))))


@dataclass(frozen=True, slots=True)
class DecidingApp(DeliveredApp):
    """An app whose hooks begin to be asked (`core.delivery.delivery.Deciding`)."""

    def is_ready(self, digest: str) -> bool:
        """Whether a version has been available."""
        version = self.world.record.version(digest)
        return version is not None and version.available_since is not None

    def is_in_preview(self, digest: str) -> bool:
        """Whether the preview Service, where there is one, leads to all pods of a version."""
        version = self.world.record.version(digest)
        return version is not None and is_in_preview(self.world, version)

    def has_passed_analysis(self, digest: str) -> bool:
        """Whether the analysis before promotion is over, and found nothing."""
        version = self.world.record.version(digest)
        return version is not None and has_passed_analysis(self.world, version)

    def waits_only_for_hooks(self) -> bool:
        """Whether every other gate before the switch is open."""
        coming = self.world.incoming
        return coming is not None and waits_only_for_hooks(self.world, coming)

    def counts(self, run: HookRun) -> bool:
        """Whether a run is of the present rollout of a version, and the newest one unless it goes on."""
        world, version = self.world, self.world.record.version(run.digest)
        if version is None or version.rollout != run.rollout:
            return False
        if run.final and not (world.incoming == version and self.waits_only_for_hooks()):
            return False
        is_left = run.digest == world.record.routing.traffic and world.switch_kind is SwitchKind.ROLLBACK
        if run.type is HookType.ROLLBACK and is_left:
            return False  # If it stays after all, its hooks are asked anew.
        newest = max(one.rollout for one in world.record.hook_state.runs)
        return run.rollout == newest or self.goes_forward(run.digest) or self.is_judged_live(run.digest)


def _deciding(world: World) -> Delivery[DecidingApp]:
    return delivery_as(DecidingApp(world), world)


def _drop_stale(world: World) -> World:
    return _with_runs(world, hooks.counting(_deciding(world)))


def _with_runs(world: World, runs: tuple[HookRun, ...]) -> World:
    state = world.record.hook_state
    return world if runs == state.runs else world.with_part(replace(state, runs=runs))


def _tell(world: World, hook: Hook, before: HookRun, after: HookRun) -> World:
    """Note the first refusal, and a deadline that has passed, in the ledger."""
    version = world.record.version(after.digest)
    if hooks.is_first_refusal(hook, before, after):
        said = hooks.answered(delivery_of(world), hook, after)
        world = world.noting(Event.HOOK_REFUSED, to=version, reason=said)
    if after.expired and not before.expired:
        said = hooks.describe(delivery_of(world), hook, after)
        world = world.noting(Event.HOOK_EXPIRED, to=version, reason=said)
    return world


def _refuse(world: World, hook: Hook, run: HookRun) -> World:
    """Abort the version on its way that a hook says no to, or go back from the one that serves."""
    app, version = DeliveredApp(world), world.record.version(run.digest)
    reason, by = hooks.answered(delivery_of(world), hook, run), hook.title if hook.type is HookType.ROLLBACK else ""
    if version is not None and app.goes_forward(run.digest):
        return abort_rollout(world, version, cause=Cause.HOOK_REFUSED, reason=reason, by=by)
    if app.is_judged_live(run.digest):
        return leave(world, Cause.HOOK_REFUSED, reason, by)
    return world


def _ask_people(world: World) -> World:
    """Answer for manual gates according to what somebody did to them; the ledger has each that waits for people."""
    asked = hooks.opened_by_hand(delivery_of(world))
    world = _with_runs(world, hooks.changed(world.record.hook_state.runs, asked))
    for hook, before, after in asked:
        if before.answer is None and not after.accepted and not hook.mute_alert:
            said = hooks.answered(delivery_of(world), hook, after)
            world = world.noting(Event.HOOK_REFUSED, to=world.record.version(after.digest), reason=said)
    return world
