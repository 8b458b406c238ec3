"""What an app answers the steps of `core.delivery`, what its hooks and analyses have found of a version so far, and who
only listens.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import TypeVar

from gitops_bg.core.checks.auxiliary import requests_claimed_by_others
from gitops_bg.core.checks.pods import arrived_at, reaches_only
from gitops_bg.core.checks.policy_facts import gates_of_commit, place_of, verdicts
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery import hooks
from gitops_bg.core.delivery.gates import LAST, logs_of
from gitops_bg.core.delivery.holds import was_lifted_since
from gitops_bg.core.delivery.messages import LISTENING
from gitops_bg.core.delivery.subject import Judged, Round
from gitops_bg.core.delivery.world import answered_once
from gitops_bg.core.model.analysis import AnalysisRun, AnalysisStage
from gitops_bg.core.model.hooks import Hook, HookRun, HookType
from gitops_bg.core.model.record import Event, SwitchKind
from gitops_bg.core.model.statements import Cause, Hold
from gitops_bg.core.model.version import AppOrGroup, Snapshot, Stage, Version, short
from gitops_bg.core.world import World


@dataclass(frozen=True, slots=True)
class AppSubject:
    """An app as its hooks and analyses see it (`core.delivery.subject.Subject`)."""

    world: World

    def name(self, digest: str) -> str:
        """Return the digest that names and labels carry."""
        return short(digest)

    def title(self, digest: str) -> str:
        """Return its name for people."""
        version = self.world.record.version(digest)
        return version.name if version is not None else ""

    def rollout(self, digest: str) -> int:
        """Return the rollout of a version; 0 where the record has none."""
        version = self.world.record.version(digest)
        return version.rollout if version else 0

    def is_current(self, run: AnalysisRun) -> bool:
        """Return whether a run is of the present rollout of a version that the record has."""
        version = self.world.record.version(run.digest)
        return version is not None and version.rollout == run.rollout

    def goes_forward(self, digest: str) -> bool:
        """Return whether a version is on its way, and is neither the first nor a rollback (DESIGN §4.5, §4.6)."""
        world, version, serving = self.world, self.world.record.version(digest), self.world.record.routing.traffic
        if version is None or not serving or digest == serving or world.record.held(digest):
            return False
        if digest == world.desired_digest:
            return world.switch_kind is SwitchKind.PROMOTION
        is_target = digest == world.target_digest or not world.target
        return version.stage is Stage.CANDIDATE and not version.retiring and is_target

    def goes_back(self) -> bool:
        """Return whether the switch that is due is a rollback."""
        return self.world.switch_kind is SwitchKind.ROLLBACK

    def is_overruled(self, run: AnalysisRun) -> bool:
        """Return whether the hold that came with the verdict was lifted since."""
        return was_lifted_since(self.world.record, run)

    def is_judged_live(self, digest: str) -> bool:
        """Return whether it serves, its analysis after promotion is not over, and traffic does not go back from it
        anyway.
        """
        world, run = self.world, self.world.record.run(AnalysisStage.POST)
        if run is None or not digest == run.digest == world.record.routing.traffic:
            return False
        return (run.running and not self.goes_back()) or (run.paused and world.desired_digest == digest)

    def has_arrived(self) -> bool:
        """Return whether the endpoints have followed the Service."""
        arrived = self.arrival()
        return arrived is not None and arrived <= self.world.now

    def snapshot(self, digest: str) -> Snapshot | None:
        """Return its pod template and configuration, as its pods have them."""
        version = self.world.record.version(digest)
        return self.world.snapshot(version) if version is not None else None

    def may_prepare(self, digest: str) -> bool:
        """Return whether a version that never served is the target, or is named by ``primary.yaml``, and whoever
        confirms its pods has done so.
        """
        world, version = self.world, self.world.record.version(digest)
        if version is None or has_served(world, version):
            return False
        if digest == world.desired_digest:  # whatever holds it: where nothing serves, what main names is not refused
            return not awaits_confirmation(world, version)
        is_wanted = version.stage is Stage.CANDIDATE and not version.retiring and digest == world.target_digest
        return is_wanted and world.record.held(digest) is None and not awaits_confirmation(world, version)

    def is_new(self, digest: str) -> bool:
        """Return whether it never served."""
        version = self.world.record.version(digest)
        return version is not None and not has_served(self.world, version)

    def is_prepared(self, digest: str) -> bool:
        """Return whether its Jobs have succeeded."""
        version = self.world.record.version(digest)
        return version is not None and version.prepared

    def serving(self) -> str:
        """Return where live traffic is."""
        return "" if self.world.record.released else self.world.record.routing.traffic

    def awaits_contract(self) -> str:
        """Return what still could come back, or is not proven."""
        world, active = self.world, self.world.active
        if active is None or world.record.routing.switch or world.incoming or world.record.override:
            return "until live traffic has come to rest"
        if world.unproven:
            return f"until {active.name} has proven itself"
        if world.record.adopted is not None and not world.record.adopted.left:
            return f"while Deployment {world.record.adopted.deployment}, which served before, may have pods"
        warm = [each.name for each in world.record.versions if each != active and _may_come_back(world, each)]
        if warm:
            return f"while {', '.join(warm)} may come back: its pods are warm"
        is_to_be_told = any(entry.event is Event.CONTRACTED for entry in world.record.ledger)
        return "until Git has the ledger that says so" if is_to_be_told else ""

    def is_contracted(self, digest: str) -> bool:
        """Return whether its Jobs after settling have succeeded."""
        version = self.world.record.version(digest)
        return version is not None and version.contracted

    def owner(self) -> AppOrGroup:
        """Return the app."""
        return self.world.spec.app

    def is_ready(self, digest: str) -> bool:
        """Return whether a version has been available."""
        version = self.world.record.version(digest)
        return version is not None and version.available_since is not None

    def is_shown(self, digest: str) -> bool:
        """Return whether the preview Service, where there is one, is for a version, and leads to no other. One that
        leads nowhere is an answer about the preview.
        """
        world, view = self.world, self.world.observed.preview_service
        if world.record.version(digest) is None or world.spec.strategy.preview_service is None:
            return world.record.version(digest) is not None
        leads_elsewhere = view is not None and (view.digest not in ("", short(digest)) or view.other_endpoints)
        return world.record.routing.preview == digest and not leads_elsewhere

    def is_in_preview(self, digest: str) -> bool:
        """Return whether the preview Service, where there is one, leads to all available pods of a version, to no
        others.
        """
        world, version = self.world, self.world.record.version(digest)
        if version is None or not self.is_shown(digest):
            return False
        asked = world.spec.strategy.preview_service is not None
        return not asked or reaches_only(world, world.observed.preview_service, version)

    def retry_hint(self, _: str) -> str:
        """Return the hint that a retry has everything asked anew."""
        return f"`gitops-bg retry {self.world.spec.app}` asks anew"

    def answer(self, _: AnalysisRun) -> str:
        """Return the hint that a promotion has it measured anew."""
        return f"`gitops-bg promote {self.world.spec.app}` measures anew"

    def awaits_before(self, digest: str) -> str:
        """Say what it waits for: it begins when a version is available, and alone in the preview."""
        version = self.world.record.version(digest)
        if version is None or version.available_since is None:
            return "begins when its pods are available"
        if self.is_in_preview(digest):
            return "begins now"
        return f"begins when Service {self.world.spec.strategy.preview_service} reaches exactly its pods"

    def awaits_after(self) -> str:
        """Say what it waits for: it begins when live traffic has arrived."""
        return f"begins when the endpoints have followed Service {self.world.spec.strategy.active_service}"

    def arrival(self) -> datetime | None:
        """Return when live traffic has arrived, as far as is known now."""
        return arrived_at(self.world)

    def hold(self, digest: str) -> Hold | None:
        """Return the hold on a version, which may be forgotten."""
        return self.world.record.held(digest)

    def lift(self, hold: Hold) -> str:
        """Say how the hold ends: another version is another digest, and what failed before it had pods may run anew."""
        run = self.world.record.run(AnalysisStage.BEFORE_PODS)
        if hold.cause is Cause.JOB_FAILED and run is not None and run.digest == hold.digest:
            app = self.world.spec.app
            return f"{logs_of(app, run)}; then run it anew: gitops-bg retry {app}, or push a new version"
        return f"push a new version, or lift it: gitops-bg resume {self.world.spec.app}"

    def resume(self) -> str:
        """Return the verb that ends a suspension."""
        return f"gitops-bg resume {self.world.spec.app}"

    def rival(self, _: str) -> str:
        """Return which route of somebody else gets requests before that of the app."""
        return requests_claimed_by_others(self.world)

    def judged(self, digest: str) -> tuple[Judged, ...]:
        """Return what policies say about the app itself; nothing where none is for it."""
        version = self.world.record.version(digest)
        if version is None or self.world.desired.policing is None:
            return ()
        return (Judged("", tuple(gates_of_commit(self.world, version)), verdicts(self.world, version)),)

    def place(self, digest: str) -> tuple[int, str]:
        """Return the place of a version in the queue."""
        version = self.world.record.version(digest)
        return place_of(self.world, version) if version is not None else (LAST, str(self.world.spec.app))

    def metadata(self, _: HookRun) -> tuple[tuple[str, str], ...]:
        """Return nothing."""
        return ()


A = TypeVar("A", bound=AppSubject)


@answered_once
def round_of(world: World) -> Round[AppSubject]:
    """Return the hooks and analyses of an app, as they are."""
    return round_as(AppSubject(world), world)


def round_as(app: A, world: World) -> Round[A]:
    """Return the same for steps, which ask more (`core.transitions.verdicts`)."""
    record, strategy = world.record, world.spec.strategy
    return Round(
        of=app,
        key=str(world.spec.app),
        now=world.now,
        epoch=record.epoch,
        serving=app.name(record.routing.traffic),
        suspension=world.spec.suspend if world.suspended else None,
        frozen=world.frozen,
        operator=record.operator,
        requests=world.observed.requests,
        resumed_at=world.resumed_at,
        hooks=strategy.hooks,
        hook_state=record.hook_state,
        jobs=world.spec.before_pods,
        contract=world.spec.after_settled,
        before=strategy.pre_promotion_analysis,
        after=strategy.post_promotion_analysis,
        analyses=record.analyses,
        problems=world.desired.problems,
        main=world.desired.main,
        lost=world.lost,
        calls=world.observed.calls,
        measurements=world.observed.measurements,
        incoming=world.incoming.digest if world.incoming else "",
    )


def has_passed_hooks(world: World, version: Version, *types: HookType) -> bool:
    """Return whether every hook of these types has accepted a version."""
    return not world.spec.strategy.hooks or hooks.has_passed(round_of(world), version.digest, *types)


def has_passed_analysis(world: World, version: Version) -> bool:
    """Return whether the analysis before promotion found nothing against a version; True where there is none."""
    is_asked_for = world.spec.strategy.pre_promotion_analysis is not None
    return not is_asked_for or round_of(world).has_passed_analysis(version.digest)


def awaits_confirmation(world: World, version: Version) -> bool:
    """Return whether a version must not be scaled up yet, because a confirm-rollout hook has not accepted it."""
    asks = any(hook.type is HookType.CONFIRM_ROLLOUT for hook in world.spec.strategy.hooks)
    if not asks or not AppSubject(world).goes_forward(version.digest):
        return False
    return not has_passed_hooks(world, version, HookType.CONFIRM_ROLLOUT)


def awaits_jobs(world: World, version: Version) -> bool:
    """Return whether a version must not have pods yet, because its Jobs have not succeeded (decision 114)."""
    return world.spec.before_pods is not None and not (version.prepared or has_served(world, version))


def has_served(world: World, version: Version) -> bool:
    """Return whether a version served: nothing that comes before pods is asked of it, or stands in its way (I6)."""
    return version.was_active or version.digest == world.record.routing.traffic


def _may_come_back(world: World, version: Version) -> bool:
    """Return whether a version that served, or an older one, has pods."""
    view, active = world.replica_set(version.digest), world.active
    is_older = active is not None and (version.was_active or version.number < active.number)
    is_warm = version.was_active and version.stage is not Stage.ARCHIVED
    return is_older and (is_warm or (view is not None and view.replicas > 0))


def is_closed(world: World, version: Version) -> bool:
    """Return whether a contract has closed the way to a version, and nobody forces it (decision 114)."""
    record, forced = world.record, world.record.override
    is_open = version.digest == record.routing.traffic or (forced is not None and forced.to_digest == version.digest)
    return bool(record.routing.traffic) and record.is_closed(version.digest) and not is_open


def is_held_back(world: World, version: Version) -> bool:
    """Return whether something keeps a version from its pods."""
    return awaits_confirmation(world, version) or awaits_jobs(world, version) or is_closed(world, version)


def listeners(world: World, *types: HookType) -> Iterator[Hook]:
    """Return the hooks that are only notified; those of some types, where any are given."""
    return (hook for hook in world.spec.strategy.hooks if hook.type in (types or LISTENING))
