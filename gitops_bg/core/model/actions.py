"""The actions that a decision asks for, as data. The text of each is one sentence: log line, Event, line of `plan`.

A new side effect starts here; `match` over `Action` ends in `assert_never`, so the type checker points at every place
that must learn it.
"""

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_json import tag_of
from gitops_bg.core.model.auxiliary import AuxiliaryObject, BackendPorts
from gitops_bg.core.model.record import Event, LedgerEntry, SwitchKind
from gitops_bg.core.model.spec import DeletionPolicy
from gitops_bg.core.model.version import (
    NO_METADATA,
    AntiAffinityTerm,
    Color,
    ConfigurationRef,
    PodMetadata,
    ReleaseId,
    ServicePorts,
    Snapshot,
    Version,
    WorkloadKind,
    short,
    version_name,
)


@dataclass(frozen=True, slots=True)
class ApplyApp:
    """Create the BlueGreenDeployment, or repair its spec where it differs from Git."""

    def __str__(self) -> str:
        return "apply the BlueGreenDeployment as Git describes it"


@dataclass(frozen=True, slots=True)
class DeleteApp:
    """Delete the BlueGreenDeployment; everything it owns goes with it, except what it lets go before.

    With ``orphan`` that is everything: each object stays as it is, without any mark of ours.
    """

    policy: DeletionPolicy = DeletionPolicy.DELETE
    auxiliary_objects: tuple[AuxiliaryObject, ...] = ()
    """Those that stay."""
    services: tuple[str, ...] = ()
    """Services that the live object does not name any more: they go with it, or stay, as those that it names."""
    moved_to: str = ""
    """The app that has its Services by now."""

    def __str__(self) -> str:
        if self.moved_to:
            return f"delete the app and its versions: it is the app {self.moved_to} now, which has its Services"
        what = {
            DeletionPolicy.ORPHAN: "let all objects of the app go, as they are, and delete the BlueGreenDeployment",
            DeletionPolicy.REVERT_TO_TARGET: "delete the app, whose traffic went back, and its versions",
        }.get(self.policy, "delete the app and all it owns")
        return f"{what}: its folder left main with deletionPolicy: {self.policy}"


@dataclass(frozen=True, slots=True)
class CreateReplicaSet:
    """Create or repair the ReplicaSet, or DaemonSet, of a version. ``min_ready_seconds`` is the spec's.

    ``anti_affinity`` counts at creation only: a repair keeps the term that the live object was created with.
    """

    number: int
    snapshot: Snapshot
    color: Color
    replicas: int
    min_ready_seconds: int = 0
    repair: bool = False
    anti_affinity: AntiAffinityTerm | None = None
    metadata: PodMetadata = NO_METADATA
    """What new pods get in addition to the snapshot; `SyncPodMetadata` brings it to existing pods."""
    reason: str = ""

    def __str__(self) -> str:
        verb = "repair" if self.repair else "create"
        apart = f", apart from {short(self.anti_affinity.digest)}" if self.anti_affinity else ""
        version = version_name(self.number, self.snapshot.digest, tag_of(self.snapshot.text))
        why = f": {self.reason}" if self.reason else ""
        kind, at = self.snapshot.workload, self.replicas
        size = f"at {at}" if kind is WorkloadKind.REPLICA_SET else "on its nodes" if at else "on no node"
        return f"{verb} the {self.color} {kind} of {version} {size}{apart}{why}"


@dataclass(frozen=True, slots=True)
class ScaleReplicaSet:
    """Set the replicas of a ReplicaSet, or say whether a DaemonSet runs.

    A scale-down is refused while the live active Service selects it (I2).

    A ``serving`` ReplicaSet with more replicas than the target asks for is the exception: it keeps its full size.
    An ``unpromoted`` version is the other: what serves is behind the same Service and stays, so only a Service that
    selects the version alone counts.
    """

    digest: str
    number: int
    current: int
    replicas: int
    reason: str
    serving: bool = False
    workload: WorkloadKind = WorkloadKind.REPLICA_SET
    """A DaemonSet is put on its nodes, or taken off them."""
    unpromoted: bool = False
    tag: str = ""

    def __str__(self) -> str:
        version = version_name(self.number, self.digest, self.tag)
        if self.workload is WorkloadKind.DAEMON_SET:
            where = "put {} on its nodes" if self.replicas else "take {} off its nodes"
            return f"{where.format(version)}: {self.reason}"
        return f"scale {version} from {self.current} to {self.replicas}: {self.reason}"


@dataclass(frozen=True, slots=True)
class SyncPodMetadata:
    """Give the live pods of a version the metadata that its ReplicaSet gives to new ones; no pod is restarted."""

    digest: str
    number: int
    metadata: PodMetadata
    tag: str = ""

    def __str__(self) -> str:
        return f"give the pods of {version_name(self.number, self.digest, self.tag)} {self.metadata}"


@dataclass(frozen=True, slots=True)
class EvictPod:
    """Have Kubernetes evict a pod, which PodDisruptionBudgets may refuse; its ReplicaSet makes a new one."""

    name: str
    uid: str
    digest: str
    number: int
    tag: str = ""

    def __str__(self) -> str:
        return f"restart pod {self.name} of {version_name(self.number, self.digest, self.tag)}: evict it"


@dataclass(frozen=True, slots=True)
class ApplyConfiguration:
    """Create the copy of a ConfigMap or Secret that pods use, or recreate it where somebody changed or replaced it.

    The content stands in Git; an action never carries it.
    """

    ref: ConfigurationRef
    name: str
    number: int
    """The number of the version that needs the copy; the newest where several do."""
    repair: bool = False

    def __str__(self) -> str:
        verb = "repair" if self.repair else "make"
        return f"{verb} {self.name}, the copy of {self.ref} for v{self.number}"


@dataclass(frozen=True, slots=True)
class DeleteConfiguration:
    """Delete a copy. Refused while a live ReplicaSet uses it."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"delete {self.kind} {self.name}: no version uses this copy any more"


@dataclass(frozen=True, slots=True)
class DeleteReplicaSet:
    """Delete the workload of an archived version or of an unknown one.

    Refused under the same condition as a scale-down.
    """

    name: str
    digest: str
    reason: str
    workload: WorkloadKind = WorkloadKind.REPLICA_SET

    def __str__(self) -> str:
        return f"delete {self.workload} {self.name}: {self.reason}"


class ServiceRole:
    """Which of the app's Services is meant; plain strings, because they are part of sentences."""

    ACTIVE = "active"
    PREVIEW = "preview"


@dataclass(frozen=True, slots=True)
class RepairSelector:
    """Lead an active Service back to ``digest``: compare-and-swap on ``expected_selector``, and nothing else that Git
    says of it, which the API server may refuse.

    ``ports`` is the JSON of the ports that come with the selector; empty: the Service keeps its own.
    """

    name: str
    expected_selector: tuple[tuple[str, str], ...]
    digest: str
    reason: str
    ports: str = ""

    def __str__(self) -> str:
        return f"lead the active Service {self.name} back to {short(self.digest)}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ApplyService:
    """Create a Service with the selector of ``digest``, or repair what else somebody changed on it.

    ``ports`` is the JSON of the ports that this version is served with. Empty: use those of Git or of the template, or
    leave the live ones.
    """

    role: str
    name: str
    digest: str
    reason: str
    ports: str = ""
    create: bool = False
    """It does not exist."""

    def __str__(self) -> str:
        return f"apply the {self.role} Service {self.name} -> {short(self.digest)}: {self.reason}"


@dataclass(frozen=True, slots=True)
class PointPreview:
    """Move the preview Service to ``digest``, with its ports: one write, compare-and-swap on ``expected_selector``."""

    name: str
    expected_selector: tuple[tuple[str, str], ...]
    digest: str
    ports: str = ""
    adopts: bool = False
    """It is still that of the app that this one was before: the same write makes it ours."""

    def __str__(self) -> str:
        said = f"point the preview Service {self.name} to {short(self.digest)}"
        return f"{said}: it goes along with live traffic, which was taken over" if self.adopts else said


@dataclass(frozen=True, slots=True)
class SwitchTraffic:
    """Move live traffic: selector and ports in one write, compare-and-swap on ``expected_selector`` (DESIGN §4.3).

    The executor reads the ReplicaSet of ``digest`` live and refuses if it has fewer than ``needs_available`` available
    pods. ``create`` is set where there is no active Service yet.
    """

    name: str
    expected_selector: tuple[tuple[str, str], ...]
    from_number: int | None
    from_digest: str
    number: int
    digest: str
    switch_kind: SwitchKind
    needs_available: int
    create: bool = False
    several: bool = False
    """Other Services move as well: each in a write of its own, all in one switch."""
    ports: str = ""
    """The JSON of the ports that the version is served with; empty: the Service keeps its ports."""
    adopts: bool = False
    """The Service is somebody else's until this write, which makes it ours and remembers what it selected."""
    from_tag: str = ""
    tag: str = ""

    def __str__(self) -> str:
        to = version_name(self.number, self.digest, self.tag)
        if self.adopts:
            pairs = ",".join(f"{key}={value}" for key, value in self.expected_selector)
            return f"take over Service {self.name} from {pairs} to {to}"
        origin = f" from {version_name(self.from_number, self.from_digest, self.from_tag)}" if self.from_digest else ""
        verb = "roll live traffic back" if self.switch_kind is SwitchKind.ROLLBACK else "switch live traffic"
        which = f", Service {self.name}" if self.several else ""
        return f"{verb}{origin} to {to}{which}"


@dataclass(frozen=True, slots=True)
class MarkService:
    """Mark an active Service to say that a switch was withdrawn, so that any write of that switch still under way
    fails.

    A switch replaces exactly the Service that was read before (``cluster.execution.services``). A write of it that is
    delayed, in a frozen process or in the network, therefore fails for good. Compare-and-swap on ``expected_selector``.
    """

    name: str
    expected_selector: tuple[tuple[str, str], ...]
    withdrawn: str
    adopts: bool = False
    """The Service is still somebody else's; the app's file agreed to the switch."""

    def __str__(self) -> str:
        return f"mark Service {self.name}: a switch that was on its way is withdrawn"


@dataclass(frozen=True, slots=True)
class HandBack:
    """Give a Service that was taken over back what it had before, in one write: compare-and-swap on
    ``expected_selector``. It is nobody's of ours afterwards.
    """

    name: str
    expected_selector: tuple[tuple[str, str], ...]
    selector: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        pairs = ",".join(f"{key}={value}" for key, value in self.selector)
        return f"hand Service {self.name} back, to {pairs}"


@dataclass(frozen=True, slots=True)
class ScaleDeployment:
    """Scale the Deployment that an app was adopted from, from exactly ``current``. Fewer pods are refused while a live
    active Service selects them (I2).
    """

    name: str
    current: int
    replicas: int
    reason: str

    def __str__(self) -> str:
        return f"scale Deployment {self.name} from {self.current} to {self.replicas}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ApplyAuxiliaryObject:
    """Create an auxiliary object, or repair it to what Git says. An autoscaler scales the version of ``digest``; of a
    route, requests reach that version by naming it.
    """

    auxiliary_object: AuxiliaryObject
    reason: str
    digest: str = ""
    number: int | None = None
    ports: BackendPorts = ()
    """Of a route: where it leads."""
    stays: bool = False
    """Of a route: it keeps its Gateways and hosts, whatever Git says."""
    tag: str = ""

    def __str__(self) -> str:
        target = f" -> {version_name(self.number, self.digest, self.tag)}" if self.digest else ""
        return f"apply {self.auxiliary_object}{target}: {self.reason}"


@dataclass(frozen=True, slots=True)
class DeleteAuxiliaryObject:
    """Delete an auxiliary object that the agent created."""

    auxiliary_object: AuxiliaryObject
    reason: str
    owner: str = ""
    """Of a route: whose it is, where it is another app's or a group's that left main (`RivalRoute.owner`)."""

    def __str__(self) -> str:
        return f"delete {self.auxiliary_object}: {self.reason}"


@dataclass(frozen=True, slots=True)
class CommitPrimary:
    """Commit ``primary.yaml`` to main: a promotion, the first deployment, or a rollback that Git did not ask for."""

    version: Version
    event: Event
    from_digest: str
    from_number: int | None
    reason: str
    by: str = ""
    services: tuple[ServicePorts, ...] = ()
    """The ports that live traffic gets with this version."""
    from_tag: str = ""

    def __str__(self) -> str:
        return f"commit primary.yaml = {self.version.name} to main: {self.reason}"


@dataclass(frozen=True, slots=True)
class OfferPromotion:
    """Put the commit of ``primary.yaml`` on the promotion branch, for somebody to merge."""

    version: Version
    event: Event
    from_digest: str
    from_number: int | None
    reason: str
    by: str = ""
    services: tuple[ServicePorts, ...] = ()
    """The ports that live traffic gets with this version."""
    from_tag: str = ""

    def __str__(self) -> str:
        return f"offer {self.version.name} on the promotion branch: {self.reason}"


@dataclass(frozen=True, slots=True)
class WithdrawPromotion:
    """Delete the promotion branch: its offer was merged, cancelled or held, or nothing is offered any more."""

    reason: str

    def __str__(self) -> str:
        return f"delete the promotion branch: {self.reason}"


@dataclass(frozen=True, slots=True)
class EnterRelease:
    """Commit ``release.yaml`` of an environment to main, or, ``offered``, put it on the branch that asks for it: byte
    for byte what the environment before has.
    """

    environment: str
    release: ReleaseId
    commit: str
    """The commit that brought the release."""
    former: tuple[str, ...]
    """The environments that have it, one of which says its content."""
    reason: str
    offered: bool = False
    by: str = ""
    skipped: tuple[str, ...] = ()
    """The environments before that have not proven it, as a person says."""

    def __str__(self) -> str:
        how = "offer" if self.offered else "let"
        where = f"for {self.environment}" if self.offered else f"into {self.environment}"
        return f"{how} {self.release.name} {where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class WithdrawRelease:
    """Delete the branch that asks for a release in an environment."""

    environment: str
    reason: str

    def __str__(self) -> str:
        return f"delete the branch that asks for a release in {self.environment}: {self.reason}"


@dataclass(frozen=True, slots=True)
class PublishLedger:
    """Write these entries to the state branch; they stay in the record until Git has them."""

    epoch: str
    entries: tuple[LedgerEntry, ...]

    def __str__(self) -> str:
        count = len(self.entries)
        return f"write {count} ledger {'entry' if count == 1 else 'entries'}: " + ", ".join(
            entry.event for entry in self.entries
        )


ClusterAction = (
    ApplyApp
    | DeleteApp
    | ApplyConfiguration
    | DeleteConfiguration
    | CreateReplicaSet
    | ScaleReplicaSet
    | SyncPodMetadata
    | EvictPod
    | DeleteReplicaSet
    | RepairSelector
    | ApplyService
    | PointPreview
    | SwitchTraffic
    | MarkService
    | ScaleDeployment
    | HandBack
    | ApplyAuxiliaryObject
    | DeleteAuxiliaryObject
)
GitAction = CommitPrimary | OfferPromotion | WithdrawPromotion | EnterRelease | WithdrawRelease | PublishLedger
Action = ClusterAction | GitAction
