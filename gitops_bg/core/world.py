"""The world of one app as `decide` sees it: all inputs in one value, and the questions everybody asks of it.

Steps take a World and return one in which only the record differs; actions are then read off the result.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.desired import Desired, Missing, Target
from gitops_bg.core.model.digest import is_genuine, same_snapshot, short
from gitops_bg.core.model.metrics import AnalysisStage
from gitops_bg.core.model.observed import AuxiliaryView, Observed, ReplicaSetView, ServiceView
from gitops_bg.core.model.record import Event, FormerService, LedgerEntry, Part, Record, SwitchKind
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.version import Snapshot, Source, Stage, Version
from gitops_bg.core.way_back import leads_back, may_return_without_gates

P = ParamSpec("P")
T = TypeVar("T")


def resolve(record: Record, snapshot: Snapshot) -> str:
    """The digest a record knows a snapshot by: its own, or that of an equal one with an unknown prefix."""
    if record.version(snapshot.digest):
        return snapshot.digest
    known = (version.snapshot for version in record.versions)
    return next((one.digest for one in known if same_snapshot(one, snapshot)), snapshot.digest)


@dataclass(frozen=True)
class World:
    """One app at one moment. ``now`` is UTC. What is asked a hundred times a decision is worked out once: no slots."""

    spec: AppSpec
    desired: Desired
    observed: Observed
    record: Record
    now: datetime

    # --- what Git names -------------------------------------------------------------------------------------

    @property
    def target(self) -> Target | Missing:
        """The target of main, or why there is none to go by."""
        return self.desired.target

    @cached_property
    def target_digest(self) -> str:
        """The digest the target names, or empty."""
        return self.resolve(self.desired.target.snapshot) if self.desired.target else ""

    @cached_property
    def primary_digest(self) -> str:
        """The digest ``primary.yaml`` names, or empty."""
        return self.resolve(self.desired.primary.snapshot) if self.desired.primary else ""

    @property
    def named(self) -> str:
        """The digest ``primary.yaml`` names, or named when it could be read last; empty where main has none."""
        if self.desired.primary:
            return self.primary_digest
        return "" if self.desired.primary is Missing.ABSENT else self.record.git.primary

    def resolve(self, snapshot: Snapshot) -> str:
        """The digest the record knows a snapshot by: its own, or that of an equal one with an unknown prefix."""
        return resolve(self.record, snapshot)

    @cached_property
    def full_size(self) -> int:
        """The replicas the app is to have: those of today's load where an autoscaler says it, else the target's."""
        autoscaler = self.record.autoscaler
        if autoscaler is None:
            return self._size_asked_for
        serving = self.replica_set(self.record.routing.traffic) if self.record.routing.traffic else None
        return autoscaler.within(serving.replicas if serving else self._size_asked_for)

    @property
    def known_size(self) -> int | None:
        """The replicas the target asks for, or asked for last; None where nobody knows. 0 is a size."""
        return self.target.replicas if self.target else self.record.replicas

    @property
    def _size_asked_for(self) -> int:
        """Where it is not known, as large as anything there is, and never 0: that nobody scaled it says nothing."""
        if self.known_size is not None:
            return self.known_size
        return max((1, *(view.replicas for view in self.observed.replica_sets if view.ours)))

    # --- where traffic is and goes --------------------------------------------------------------------------

    @cached_property
    def active(self) -> Version | None:
        """The version that live traffic goes to, by the record (never by a Service's selector)."""
        return self.record.version(self.record.routing.traffic) if self.record.routing.traffic else None

    @cached_property
    def desired_digest(self) -> str:
        """The digest live traffic is to follow: an override, else ``primary.yaml``, else where it is (DESIGN §4)."""
        if self.record.routing.override:
            return self.record.routing.override.to_digest
        return self.named or self.record.routing.traffic

    @cached_property
    def incoming(self) -> Version | None:
        """The version traffic is on its way to, or None where it is where it should be."""
        if self.desired_digest == self.record.routing.traffic:
            return None
        return self.record.version(self.desired_digest)

    @cached_property
    def switch_kind(self) -> SwitchKind:
        """Why traffic would move to ``incoming``: forward unless it returns to where it may go without gates."""
        active, coming = self.active, self.incoming
        if active is None:
            return SwitchKind.FIRST
        if coming and (self.record.routing.override or leads_back(self.record, coming)):
            return SwitchKind.ROLLBACK
        return SwitchKind.PROMOTION

    @cached_property
    def candidate(self) -> Version | None:
        """The version of the target, while it is wanted and not live."""
        version = self.record.version(self.target_digest)
        if version is None or version.retiring or version.digest == self.record.routing.traffic:
            return None
        return version if version.stage is Stage.CANDIDATE else None

    @cached_property
    def rollback_target(self) -> Version | None:
        """Where a rollback leads: the version that served last before the active one, and may be gone back to."""
        return next(iter(self._good), None)

    @cached_property
    def last_proven(self) -> Version | None:
        """Where an abort leads: the last of these that had proven itself and still has its pods, else the last."""
        proven = (version for version in self._good if version.stage is Stage.LEGACY and not version.unproven)
        return next(proven, self.rollback_target)

    @cached_property
    def _good(self) -> tuple[Version, ...]:
        """All that traffic may go back to, the one that served last first.

        Only those whose snapshot is still at hand: somebody may have deleted the ReplicaSet that kept it.
        """
        record, order = self.record, {digest: place for place, digest in enumerate(self.record.routing.activations)}
        served = [
            version
            for version in record.versions
            if version.digest != record.routing.traffic and may_return_without_gates(record, version)
        ]
        served.sort(key=lambda version: (version.arrived, order.get(version.digest, -1)), reverse=True)
        return tuple(version for version in served if self.snapshot(version).text)

    @cached_property
    def unproven(self) -> bool:
        """Whether what serves has yet to prove itself: its probation, or the verdict after its promotion."""
        active, run = self.active, self.record.run(AnalysisStage.POST)
        if active is None:
            return False
        judged = run is not None and run.digest == active.digest and (run.running or run.paused)
        return judged or active.stabilization is not None

    # --- what stops whom ------------------------------------------------------------------------------------

    @cached_property
    def suspended(self) -> bool:
        """Whether ``spec.suspend`` is in force now."""
        suspend = self.spec.suspend
        return suspend is not None and (suspend.until is None or self.now < suspend.until)

    @property
    def retried_by(self) -> Source:
        """Who asked for the retry in ``app.yaml``, and by which commit; main's by nobody where that is not known."""
        return self.desired.retried_by or Source(self.desired.commit)

    @property
    def suspended_by(self) -> Source:
        """The same of who suspended the app, or ended that."""
        return self.desired.suspended_by or Source(self.desired.commit)

    @property
    def frozen(self) -> bool:
        """Whether nothing new may start: suspended, bad input, nobody has looked at Git, or the app has left it."""
        desired = self.desired
        return self.suspended or bool(desired.problems) or not desired.in_git or not desired.seen

    @property
    def main_counts(self) -> bool:
        """Whether main may be acted on and written to: it was read, is not older than the record's, went forward."""
        return self.desired.knowledge.counts and not self.desired.history_rewritten

    # --- what is live ---------------------------------------------------------------------------------------

    def replica_set(self, digest: str) -> ReplicaSetView | None:
        """The ReplicaSet of a version, if it is ours and not going away."""
        for view in self.observed.replica_sets:
            if view.snapshot.digest == digest and view.ours and not view.deleting:
                return view
        return None

    def auxiliary_object(self, auxiliary_object: AuxiliaryObject) -> AuxiliaryView | None:
        """An auxiliary object as it was seen; None where there is none."""
        return next(
            (view for view in self.observed.auxiliary_objects if view.auxiliary_object == auxiliary_object), None
        )

    def available(self, digest: str) -> int:
        """How many pods of a version are available (ready for ``minReadySeconds``)."""
        view = self.replica_set(digest)
        return view.available if view else 0

    def snapshot(self, version: Version) -> Snapshot:
        """The snapshot of a version with its text, wherever it is still to be had: record, Git, ReplicaSet."""
        if version.snapshot.text:
            return version.snapshot
        text = next(filter(None, self._texts(version.digest)), "")
        return replace(version.snapshot, text=text) if text else version.snapshot

    def _texts(self, digest: str) -> Iterator[str]:
        documents = (self.desired.primary, self.desired.target)
        yield from (one.snapshot.text for one in documents if one and self.resolve(one.snapshot) == digest)
        views = (view.snapshot for view in self.observed.replica_sets if view.snapshot.digest == digest)
        yield from (snapshot.text for snapshot in views if is_genuine(snapshot))

    @cached_property
    def active_services(self) -> tuple[tuple[str, ServiceView | None], ...]:
        """Every Service that is to carry live traffic, by name, with what is live of it.

        Last those that Git names no longer, as far as they are still to follow.
        """
        observed, strategy = self.observed, self.spec.strategy
        others = {view.name: view for view in observed.more_active_services}
        more = ((name, others.get(name)) for name in strategy.more_active_services)
        return ((strategy.active_service, observed.active_service), *more, *self._former_services)

    @property
    def _former_services(self) -> Iterator[tuple[str, ServiceView]]:
        """None that is gone, or somebody else's: it would never move."""
        followed = {each.name for each in self.record.routing.former_services if self.follows(each)}
        for view in self.observed.former_services if followed else ():
            if view.name in followed and view.ours:
                yield view.name, view

    def follows(self, former: FormerService) -> bool:
        """Whether a Service that Git no longer names still moves with live traffic."""
        until = self.followed_until(former)
        return until is None or self.now < until

    def followed_until(self, former: FormerService) -> datetime | None:
        """A whole delay after it left Git; None while it has not, or where the delay has no end."""
        seconds = self.spec.strategy.scale_down_delay_seconds
        return former.left_at + timedelta(seconds=seconds) if former.left_at and seconds is not None else None

    def is_selected(self, digest: str) -> bool:
        """Whether any live active Service selects a version, whatever the record says."""
        return any(view is not None and view.digest == short(digest) for _, view in self.active_services)

    def is_selected_by_all(self, digest: str) -> bool:
        """Whether every active Service is there and selects a version."""
        return all(view is not None and view.digest == short(digest) for _, view in self.active_services)

    # --- answers --------------------------------------------------------------------------------------------

    @cached_property
    def answers(self) -> dict[tuple[object, ...], tuple[object, Any]]:
        """What `answered_once` has worked out about this world."""
        return {}

    # --- copies ---------------------------------------------------------------------------------------------

    def with_record(self, record: Record) -> "World":
        """The same world with another record."""
        return replace(self, record=record)

    def with_part(self, part: Part) -> "World":
        """The same world in which ``part`` is the record's."""
        return replace(self, record=self.record.with_part(part))

    def with_version(self, version: Version) -> "World":
        """The same world with one version of the record replaced or added."""
        return self.with_record(self.record.with_version(version))

    def noting(
        self,
        event: Event,
        *,
        to: Version | None = None,
        origin: Version | None = None,
        commit: str = "",
        by: str = "",
        reason: str = "",
    ) -> "World":
        """The same world with one more ledger entry on its way to Git."""
        entry = LedgerEntry(
            sequence=self.record.sequence + 1,
            at=self.now,
            event=event,
            rollout=to.rollout if to else 0,
            from_version=origin.number if origin else None,
            from_digest=origin.digest if origin else "",
            to_version=to.number if to else None,
            to_digest=to.digest if to else "",
            commit=commit,
            source_commit=to.source.commit if to else "",
            by=by,
            reason=reason,
        )
        record = replace(self.record, sequence=entry.sequence, ledger=(*self.record.ledger, entry))
        return self.with_record(record)


def answered_once(question: Callable[Concatenate[World, P], T], /) -> Callable[Concatenate[World, P], T]:
    """Work a question out once for each world and each thing it is asked about: steps ask the same again and again.

    A world never changes, and whose record changes is another one. What is asked about is known by identity (to hash
    a version costs more than most answers), and kept with its answer, so that no other can take its place.
    """

    @wraps(question)
    def answer(world: World, /, *about: P.args, **none: P.kwargs) -> T:
        key = (question, *map(id, about))
        known = world.answers.get(key)
        if known is None:
            known = world.answers[key] = (about, question(world, *about, **none))
        found: T = known[1]
        return found

    return answer
