"""The world of one app as `decide` sees it: all inputs in one value, and the questions that everything asks of it.

Steps take a World and return one in which only the record differs; the actions then follow from the result.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.delivery.holds import can_roll_back_to, can_roll_back_without_gates
from gitops_bg.core.delivery.ledger import with_entry
from gitops_bg.core.model.analysis import AnalysisStage
from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.desired import Desired, Missing, Target
from gitops_bg.core.model.digest import is_genuine, same_snapshot
from gitops_bg.core.model.journal import SuspensionChanged
from gitops_bg.core.model.observed import AuxiliaryView, Observed, ReplicaSetView, ServiceView
from gitops_bg.core.model.record import Event, FormerService, LedgerEntry, Part, Record, SwitchKind
from gitops_bg.core.model.spec import SCALE_DOWN_DELAY_SECONDS, AppSpec, DeletionPolicy, Release
from gitops_bg.core.model.version import Snapshot, Source, Stage, SubjectKind, Version, short


def resolve(record: Record, snapshot: Snapshot) -> str:
    """Return the digest under which a record knows a snapshot: its own, or that of an equal snapshot with an unknown
    prefix.
    """
    if record.version(snapshot.digest):
        return snapshot.digest
    known = (version.snapshot for version in record.versions)
    return next((one.digest for one in known if same_snapshot(one, snapshot)), snapshot.digest)


@dataclass(frozen=True)
class World:
    """One app at one moment. ``now`` is UTC. Without slots, so that frequent answers can be cached."""

    spec: AppSpec
    desired: Desired
    observed: Observed
    record: Record
    now: datetime

    # --- what Git names -------------------------------------------------------------------------------------

    @property
    def target(self) -> Target | Missing:
        """The target of main, or why it is unknown."""
        return self.desired.target

    @property
    def knows_target(self) -> bool:
        """Whether main says what is wanted next, or that nothing is: an unread or broken file says neither."""
        return bool(self.target) or self.target is Missing.ABSENT

    @cached_property
    def target_digest(self) -> str:
        """The digest that the target names, or empty."""
        return self.resolve(self.desired.target.snapshot) if self.desired.target else ""

    @cached_property
    def primary_digest(self) -> str:
        """The digest that ``primary.yaml`` names, or empty."""
        return self.resolve(self.desired.primary.snapshot) if self.desired.primary else ""

    @property
    def named(self) -> str:
        """The digest that ``primary.yaml`` names, or named when it could last be read; empty where main has none."""
        if self.desired.primary:
            return self.primary_digest
        return "" if self.desired.primary is Missing.ABSENT else self.record.git.primary

    def resolve(self, snapshot: Snapshot) -> str:
        """Return the digest under which the record knows a snapshot: its own, or that of an equal snapshot with an
        unknown prefix.
        """
        return resolve(self.record, snapshot)

    @cached_property
    def full_size(self) -> int:
        """The replicas that the app should have: today's size where an autoscaler sets it, else the target's."""
        autoscaler = self.record.last_read.autoscaler
        if autoscaler is None:
            return self._size_asked_for
        serving = self.replica_set(self.record.routing.traffic) if self.record.routing.traffic else None
        return autoscaler.within(serving.replicas if serving else self._size_asked_for)

    @property
    def known_size(self) -> int | None:
        """The replicas that the target asks for, or last asked for; None where that is unknown. 0 is a size."""
        if self.target and self.target.replicas is None:
            return self.record.last_read.replicas or None
        return self.target.replicas if self.target else self.record.last_read.replicas

    @property
    def _size_asked_for(self) -> int:
        """The size that the target asks for.

        Where that is unknown, the largest ReplicaSet's and never 0: a missing target says nothing about the size.
        """
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
        """The digest that live traffic should follow: an override, else ``primary.yaml``, else the present one (DESIGN
        §4).
        """
        if self.record.override:
            return self.record.override.to_digest
        return self.named or self.record.routing.traffic

    @cached_property
    def incoming(self) -> Version | None:
        """The version that traffic should move to, or None where traffic is already there, or was given back."""
        if self.record.released or self.desired_digest == self.record.routing.traffic:
            return None
        return self.record.version(self.desired_digest)

    @cached_property
    def switch_kind(self) -> SwitchKind:
        """Why traffic would move to ``incoming``: forward, unless it goes back to a version without gates."""
        active, coming = self.active, self.incoming
        if active is None:
            return SwitchKind.FIRST
        if coming and (self.record.override or can_roll_back_to(self.record, coming)):
            return SwitchKind.ROLLBACK
        return SwitchKind.PROMOTION

    @cached_property
    def candidate(self) -> Version | None:
        """The version that the target names, while it is wanted and not live."""
        version = self.record.version(self.target_digest)
        if version is None or version.retiring or version.digest == self.record.routing.traffic:
            return None
        return version if version.stage is Stage.CANDIDATE else None

    @cached_property
    def rollback_target(self) -> Version | None:
        """The target of a rollback: the version that served last before the active one, and that traffic may go back
        to.
        """
        return next(iter(self._good), None)

    @cached_property
    def last_proven(self) -> Version | None:
        """The target of an abort: the last good version that was proven and still has its pods, else the
        last good one.
        """
        proven = (version for version in self._good if version.stage is Stage.LEGACY and not version.unproven)
        return next(proven, self.rollback_target)

    @cached_property
    def _good(self) -> tuple[Version, ...]:
        """All versions that traffic may go back to, the one that served last first.

        Only versions whose snapshot is still known: somebody may have deleted the ReplicaSet that kept it.
        """
        record, order = self.record, {digest: place for place, digest in enumerate(self.record.routing.activations)}
        served = [
            version
            for version in record.versions
            if version.digest != record.routing.traffic and can_roll_back_without_gates(record, version)
        ]
        served.sort(key=lambda version: (version.arrived, order.get(version.digest, -1)), reverse=True)
        return tuple(version for version in served if self.snapshot(version).text)

    @cached_property
    def unproven(self) -> bool:
        """Whether the serving version is not proven yet: it is on probation, or its analysis after promotion is not
        over.
        """
        active, run = self.active, self.record.run(AnalysisStage.POST)
        if active is None:
            return False
        judged = run is not None and run.digest == active.digest and run.open
        return judged or active.stabilization is not None

    # --- what stops whom ------------------------------------------------------------------------------------

    @cached_property
    def suspended(self) -> bool:
        """Whether ``spec.suspend`` is in force now."""
        suspend = self.spec.suspend
        return suspend is not None and suspend.lasts(self.now)

    @cached_property
    def resumed_at(self) -> datetime | None:
        """When the last suspension ended; None where there was none, or while the first one lasts."""
        return self.record.operator.resumed_by(self.now, suspended=self.suspended)

    def waits_since(self, moment: datetime) -> datetime:
        """Return when a wait with a deadline began, as it counts: anew with the end of a suspension.

        Nothing that could end the wait happens during one, so no suspension makes anything late.
        """
        return max(moment, self.resumed_at or moment)

    @property
    def suspended_by(self) -> Source:
        """Who suspended the app, or ended the suspension, and in which commit; where unknown, main's head without an
        author.
        """
        return self.desired.journal.by(SuspensionChanged) or Source(self.desired.commit)

    @property
    def frozen(self) -> bool:
        """Whether nothing new may start: the app is suspended, invalid, released, or gone from Git, main has not been
        read, or versions cannot be told apart.
        """
        desired = self.desired
        unclear = bool(desired.problems or desired.twins) or self.release is not None
        return self.suspended or unclear or not desired.in_git or not desired.seen

    @property
    def main_counts(self) -> bool:
        """Whether main may be acted on and written to: it was read, is not older than the record's, and
        went forward.
        """
        return self.desired.main.moves

    @property
    def lost(self) -> str:
        """The commit that main lacks although it was seen: as the record remembers, or this look found; or empty."""
        return self.record.git.lost or self.desired.history_rewritten

    @cached_property
    def release(self) -> Release | None:
        """What live traffic is to go back to: as somebody asks, or as it was begun (``Record.release``)."""
        return self.asked_release or (Release(self.record.release) if self.record.release else None)

    @cached_property
    def asked_release(self) -> Release | None:
        """What ``app.yaml`` asks to give live traffic back to, or the removal of the app's folder, which sends it
        nowhere else once it has begun to go back.
        """
        adopt, policy = self.spec.adopt, self.spec.deletion_policy
        reverts = policy is DeletionPolicy.REVERT_TO_TARGET and self.left_main and not self.moved
        if self.spec.release or adopt is None or not (adopt.deployment and reverts):
            return self.spec.release
        return Release(self.record.release or adopt.deployment)

    @property
    def in_main_for_sure(self) -> bool:
        """Whether main, as it was read now, has the folder of the app."""
        return self.main_counts and self.desired.seen and self.desired.in_git

    @property
    def left_main(self) -> bool:
        """Whether the folder of the app left main, and its ``deletionPolicy`` says what becomes of it (gitops.md §3).

        Not while the app is suspended, and not by a rewritten history: a force-push deletes nothing.
        """
        return not self.desired.in_git and not self.suspended and not self.desired.history_rewritten

    @property
    def moved(self) -> bool:
        """Whether the folder left main because the app got another name, as main says or said last."""
        return not self.desired.in_git and bool(self.desired.moved_to or self.record.last_read.moved_to)

    # --- what is live ---------------------------------------------------------------------------------------

    def replica_set(self, digest: str) -> ReplicaSetView | None:
        """Return the ReplicaSet of a version, if it is ours and is not being deleted."""
        for view in self.observed.replica_sets:
            if view.snapshot.digest == digest and view.ours and not view.deleting:
                return view
        return None

    def auxiliary_object(self, auxiliary_object: AuxiliaryObject) -> AuxiliaryView | None:
        """Return the observed state of an auxiliary object; None where there is none."""
        return next(
            (view for view in self.observed.auxiliary_objects if view.auxiliary_object == auxiliary_object), None
        )

    def on_every_node(self, digest: str) -> bool:
        """Return whether a DaemonSet runs a version."""
        version = self.record.version(digest)
        return version is not None and version.on_every_node

    def available(self, digest: str) -> int:
        """Return how many pods of a version are available (ready for ``minReadySeconds``)."""
        view = self.replica_set(digest)
        return view.available if view else 0

    def snapshot(self, version: Version) -> Snapshot:
        """Return the snapshot of a version with its text, from wherever it is still known: record, Git, ReplicaSet."""
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
        """Every Service that should carry live traffic, by name, with its live state.

        Services that Git no longer names come last, as long as they still follow.
        """
        observed, strategy = self.observed, self.spec.strategy
        others = {view.name: view for view in observed.more_active_services}
        more = ((name, others.get(name)) for name in strategy.more_active_services)
        return ((strategy.active_service, observed.active_service), *more, *self._former_services)

    @property
    def _former_services(self) -> Iterator[tuple[str, ServiceView]]:
        """The former Services that still follow, without those that are deleted or not ours: these never move."""
        followed = {each.name for each in self.record.last_read.former_services if self.follows(each)}
        for view in self.observed.former_services if followed else ():
            if view.name in followed and view.ours:
                yield view.name, view

    def follows(self, former: FormerService) -> bool:
        """Return whether a Service that Git no longer names for live traffic still moves with it."""
        until = self.followed_until(former)
        return not former.preview and (until is None or self.now < until)

    def is_followed(self, name: str) -> bool:
        """Return whether a Service carried live traffic until of late, and still moves with it, whatever it is named
        for.
        """
        return any(each.name == name and self.follows(each) for each in self.record.last_read.former_services)

    def followed_until(self, former: FormerService) -> datetime | None:
        """Return when a former Service stops to follow: a whole delay after it left Git.

        None while it is in Git, or where the delay has no end. One that is to show the preview has one: the default.
        """
        strategy = self.spec.strategy
        seconds = strategy.scale_down_delay_seconds
        if seconds is None and former.name == strategy.preview_service:
            seconds = SCALE_DOWN_DELAY_SECONDS
        return former.left_at + timedelta(seconds=seconds) if former.left_at and seconds is not None else None

    def is_selected(self, digest: str) -> bool:
        """Return whether any live active Service selects a version, whatever the record says."""
        return any(view is not None and view.digest == short(digest) for _, view in self.active_services)

    def is_selected_by_all(self, digest: str) -> bool:
        """Return whether every active Service exists and selects a version."""
        return all(view is not None and view.digest == short(digest) for _, view in self.active_services)

    # --- what the steps of `core.delivery` ask (`core.delivery.world.DeliveryWorld`) -------------------------

    @property
    def kind(self) -> SubjectKind:
        """That it is an app."""
        return self.spec.app.kind

    @property
    def is_in_main(self) -> bool:
        """Whether main has its folder."""
        return self.desired.in_git

    @property
    def ledger_at(self) -> tuple[str, int]:
        """The last entry that Git has of it, by epoch and number."""
        return self.observed.git.ledger_epoch, self.observed.git.ledger_sequence

    @property
    def history(self) -> tuple[str, str]:
        """The commit that main has lost, and the one that the ledger was told of; empty: none."""
        return self.record.git.lost, self.record.git.history

    def with_history(self, lost: str, told: str) -> "World":
        """Return the same world with that in its record."""
        return self.with_part(replace(self.record.git, lost=lost, history=told))

    def with_ledger_entry_of(
        self, event: Event, digest: str = "", *, reason: str = "", by: str = "", commit: str = ""
    ) -> "World":
        """Return the same world with one more ledger entry, about a version that may be forgotten, or about none."""
        return self.with_ledger_entry(event, to=self.record.version(digest), reason=reason, by=by, commit=commit)

    # --- answers --------------------------------------------------------------------------------------------

    @cached_property
    def known(self) -> dict[object, tuple[object, Any]]:
        """The answers that `answered_once` has computed for this world."""
        return {}

    # --- copies ---------------------------------------------------------------------------------------------

    def with_record(self, record: Record) -> "World":
        """Return the same world with another record: this very world, and what it has answered, for its own record."""
        return self if record is self.record else replace(self, record=record)

    def with_part(self, part: Part) -> "World":
        """Return the same world with ``part`` in its record."""
        return self.with_record(self.record.with_part(part))

    def with_version(self, version: Version) -> "World":
        """Return the same world with one version of the record replaced or added."""
        return self.with_record(self.record.with_version(version))

    def with_ledger_entry(
        self,
        event: Event,
        *,
        to: Version | None = None,
        origin: Version | None = None,
        commit: str = "",
        by: str = "",
        reason: str = "",
        approved_by: tuple[str, ...] = (),
    ) -> "World":
        """Return the same world with one more ledger entry to write to Git."""
        entry = LedgerEntry(
            sequence=0,
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
            approved_by=approved_by,
            from_tag=origin.tag if origin else "",
            to_tag=to.tag if to else "",
            release=to.release if to else None,
        )
        return self.with_record(with_entry(self.record, entry))
