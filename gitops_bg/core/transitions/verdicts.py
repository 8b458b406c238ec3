"""What pods, time, hooks, analyses and people say against a version, and what follows: it is put on hold, and what
serves stays; one that serves is left for the last good version.

The steps look at the present state, not at what just happened, so a field that is set later also applies to versions
that failed before.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from gitops_bg.core.checks.adoption import is_released
from gitops_bg.core.checks.gates import waits_only_for_hooks
from gitops_bg.core.checks.onboarding import leak_to
from gitops_bg.core.checks.pods import is_watched, stabilization_ends, why_stuck
from gitops_bg.core.checks.sizes import DEADLINE_EXCEEDED, is_available, is_expired, is_in_flight, progress_deadline
from gitops_bg.core.checks.subject import AppSubject, is_held_back, round_as
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.holds import can_roll_back_without_gates
from gitops_bg.core.delivery.subject import Round, steps_for
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.model.analysis import Analyses, AnalysisRun
from gitops_bg.core.model.hooks import HookRun, HookType
from gitops_bg.core.model.main import away
from gitops_bg.core.model.observed import Request
from gitops_bg.core.model.record import Event, HookState, OperatorState, SwitchKind
from gitops_bg.core.model.spec import OnExpire
from gitops_bg.core.model.statements import Cause, Contract
from gitops_bg.core.model.version import Stabilization, Version
from gitops_bg.core.transitions.decisions import abort_rollout, override
from gitops_bg.core.transitions.journal import ANSWERS
from gitops_bg.core.transitions.versions import release_fallback
from gitops_bg.core.world import World


@dataclass(frozen=True, slots=True)
class ActingApp(AppSubject):
    """An app as the steps act on it (`core.delivery.subject.ActingSubject`)."""

    def waits_only_for_hooks(self) -> bool:
        """Return whether every other gate before the switch is open."""
        coming = self.world.incoming
        return coming is not None and waits_only_for_hooks(self.world, coming)

    def counts(self, run: HookRun) -> bool:
        """Return whether a run is of the present rollout of a version, and the newest one unless it goes on."""
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

    def versions(self) -> Iterator[str]:
        """Return the digests of the record."""
        return (version.digest for version in self.world.record.versions)

    def coming(self) -> str:
        """Return what traffic is to move to, else the candidate."""
        version = self.world.incoming or self.world.candidate
        return version.digest if version else ""

    def is_named(self, digest: str) -> bool:
        """Return whether ``primary.yaml`` names it."""
        return self.world.primary_digest == digest

    def way_back(self, run: AnalysisRun) -> str:
        """Return the version that traffic left for this one, kept warm for it (DESIGN §4.5), if traffic may go
        there.
        """
        world, fallback = self.world, self.world.record.version(run.fallback)
        usable = fallback and world.snapshot(fallback).text and can_roll_back_without_gates(world.record, fallback)
        back = fallback if usable else world.rollback_target
        return back.digest if back else ""

    def with_part(self, part: HookState | Analyses | OperatorState) -> World:
        """Return the same world with that in its record."""
        return self.world.with_part(part)

    def with_ledger_entry(self, event: Event, digest: str, reason: str, by: str = "") -> World:
        """Write an entry without a commit: main did not ask for it."""
        return self.world.with_ledger_entry_of(event, digest, reason=reason, by=by)

    def carry_out(self, request: Request) -> World:
        """Carry out a request; every verb is known."""
        return ANSWERS[request.verb](self.world, request)

    def stop(self, digest: str, cause: Cause, reason: str, by: str = "") -> World:
        """Abort it; where ``primary.yaml`` names it already, it is to name the live one again."""
        return abort_rollout(self.world, self._version(digest), cause=cause, reason=reason, by=by)

    def go_back(self, to: str, cause: Cause, reason: str, by: str = "") -> World:
        """Send traffic there at once; the hold follows with the switch."""
        return override(self.world, self._version(to), cause=cause, reason=reason, by=by)

    def closing(self, digest: str) -> World:
        """Close it for good: the contract of a version that is older changes nothing of that."""
        record, version = self.world.record, self._version(digest)
        if record.contract is not None and (record.contract.digest == digest or record.is_closed(digest)):
            return self.world
        world = self.world.with_record(replace(record, contract=Contract(digest, version.name, self.world.now)))
        reason = "no older version can come back, but by force: its contract begins"
        return world.with_ledger_entry_of(Event.CONTRACTED, digest, reason=reason)

    def contracted(self, digest: str) -> World:
        """Note that: its Jobs run no more."""
        version = self.world.record.version(digest)
        return self.world.with_version(replace(version, contracted=True)) if version else self.world

    def prepared(self, digest: str) -> World:
        """Note that: its pods may come up."""
        return self.world.with_version(replace(self._version(digest), prepared=True))

    def release(self, run: AnalysisRun) -> World:
        """Let the scale-down delay of the version before begin."""
        return release_fallback(self.world, run)

    def _version(self, digest: str) -> Version:
        return next(version for version in self.world.record.versions if version.digest == digest)


@answered_once
def acting_app(world: World) -> Round[ActingApp]:
    """Return the hooks and analyses of an app, for steps."""
    return round_as(ActingApp(world), world)


step_of_app = steps_for(acting_app)


def watch_active(world: World) -> World:
    """Note since when the active version on probation has its pods, or lacks some; end the probation of a proven one.

    From its promotion until it has served for ``progressDeadlineSeconds`` without a break, a version is on probation.
    Where it has fewer available pods than at its switch, for that long, traffic goes back by itself (`TRIGGERS`):
    override, commit, hold (DESIGN §4.5), even while another version waits to take over. After the probation it never
    does: an old version does not cure an outage months later.
    """
    active = world.active
    if active is None or active.stabilization is None or not is_watched(world, active):
        return world
    stabilization = active.stabilization
    is_unready = world.available(active.digest) < min(stabilization.pods, world.full_size)
    if is_unready is not stabilization.unready:
        changed = Stabilization(stabilization.pods, world.now, is_unready)
        return world.with_version(replace(active, stabilization=changed))
    is_proven = not is_unready and world.now >= stabilization_ends(world, stabilization)
    return world.with_version(replace(active, stabilization=None)) if is_proven else world


@dataclass(frozen=True, slots=True)
class Trigger:
    """What may happen to a version, and what follows."""

    what: str
    """For people (docs/architecture/stages.md)."""
    cause: Cause
    """The cause of the hold that the version gets."""
    reason: Callable[[World, Version], str]
    """Why, in a sentence, where it has happened to a version; empty where it has not."""
    leads: Callable[[World, Version, Cause, str], World]


def follow_triggers(world: World) -> World:
    """Stop each version on its way, and leave the serving one, that something speaks against."""
    for trigger in TRIGGERS:
        for version in world.record.versions:
            if reason := trigger.reason(world, version):
                world = trigger.leads(world, version, trigger.cause, reason)
    return world


def stop(world: World, version: Version, cause: Cause, reason: str) -> World:
    """Put a version on hold that does not arrive; live traffic is never touched."""
    return abort_rollout(world, version, cause=cause, reason=reason)


def go_back(world: World, version: Version, cause: Cause, reason: str) -> World:
    """Leave the serving version for the last good one, if there is one; the hold comes with the movement
    (``switching``).
    """
    good = world.rollback_target
    if good is None:
        return world
    world = world.with_version(replace(version, stabilization=None, failure=DEADLINE_EXCEEDED))
    world = world.with_ledger_entry(Event.FAILED, to=version, reason=reason)
    return override(world, good, cause=cause, reason=reason, by="")


def _pods_failed(world: World, version: Version) -> str:
    """Say that after its promotion fewer pods are available than at the switch, for the whole progress deadline."""
    stabilization = version.stabilization
    if stabilization is None or not stabilization.unready or not is_watched(world, version):
        return ""
    if world.now < stabilization_ends(world, stabilization):
        return ""
    seconds, ready = world.spec.progress_deadline_seconds, world.available(version.digest)
    return f"{DEADLINE_EXCEEDED}: {ready} of {stabilization.pods} pods available for {seconds} s after the switch"


def _late(world: World, version: Version) -> str:
    """Say that its progress deadline has passed, and ``progressDeadlineAbort`` is set (argo-rollouts.md §1.3).

    Never a rollback, and never the first deployment: there is nothing to return to.
    """
    spec = world.spec
    if not version.failure or not spec.progress_deadline_abort or world.active is None or world.suspended:
        return ""
    goes_back = version.digest == world.desired_digest and world.switch_kind is SwitchKind.ROLLBACK
    if goes_back or not is_in_flight(world, version) or world.record.held(version.digest):
        return ""
    return f"{version.failure}: not available within {spec.progress_deadline_seconds} s (progressDeadlineAbort)"


def _expired(world: World, version: Version) -> str:
    """Say that nobody promoted it within ``expireAfterSeconds``; not while Git is away, when nobody could."""
    strategy = world.spec.strategy
    if strategy.on_expire is OnExpire.PROMOTE or version != world.candidate or not is_expired(world, version):
        return ""
    if world.frozen or world.incoming or world.record.override or away(world.observed.git):
        return ""
    return f"nobody promoted it within {strategy.expire_after_seconds} s (expireAfterSeconds)"


TRIGGERS = (
    Trigger("fewer pods than at the switch, for `progressDeadlineSeconds`", Cause.PODS_FAILED, _pods_failed, go_back),
    Trigger("not available in `progressDeadlineSeconds`, with `progressDeadlineAbort`", Cause.LATE, _late, stop),
    Trigger("promoted by nobody in `expireAfterSeconds`", Cause.EXPIRED, _expired, stop),
)


def watch_versions(world: World) -> World:
    """Note the times of every version that is on its way forward, and the probation of the one that serves."""
    for version in world.record.versions:
        if is_in_flight(world, version):
            world = _with_availability(world, version)
    return watch_active(world)


def _with_availability(world: World, version: Version) -> World:
    if is_held_back(world, version) or leak_to(world, version) or is_released(world):  # No deadline yet.
        return world.with_version(replace(version, available_since=None, waiting_since=None))
    if is_available(world, version):
        return world if version.available_since else _came_up(world, version)
    if version.available_since or version.waiting_since is None:
        return world.with_version(replace(version, available_since=None, waiting_since=world.now))
    deadline = progress_deadline(world, version)
    late = deadline is not None and world.now >= deadline
    if late is bool(version.failure) or world.suspended:
        return world
    return _failed(world, version) if late else _given_more_time(world, version)


def _failed(world: World, version: Version) -> World:
    failed = replace(version, failure=DEADLINE_EXCEEDED)
    missing = why_stuck(world, version)
    reason = f"not available within {world.spec.progress_deadline_seconds} s; live traffic is untouched"
    told = f"{DEADLINE_EXCEEDED}: {reason}" + (f"; {missing}" if missing else "")
    return world.with_version(failed).with_ledger_entry(Event.FAILED, to=failed, reason=told)


def _given_more_time(world: World, version: Version) -> World:
    """Clear the failure: somebody raised the deadline, and it has not passed yet."""
    on_its_way = replace(version, failure="")
    reason = f"progressDeadlineSeconds is {world.spec.progress_deadline_seconds} now"
    return world.with_version(on_its_way).with_ledger_entry(Event.RECOVERED, to=on_its_way, reason=reason)


def _came_up(world: World, version: Version) -> World:
    up = replace(version, available_since=world.now, waiting_since=None, failure="")
    world = world.with_version(up)
    return (
        world.with_ledger_entry(Event.RECOVERED, to=up, reason="its pods are available after all")
        if version.failure
        else world
    )
