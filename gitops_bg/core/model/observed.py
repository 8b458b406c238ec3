"""What Kubernetes and Git show of one app at present, as plain data. Adapters fill it; only the core reads it."""

from dataclasses import field
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.analysis import MeasurementResult
from gitops_bg.core.model.auxiliary import AuxiliaryObject, BackendPorts, RivalRoute
from gitops_bg.core.model.drift import DriftLoop
from gitops_bg.core.model.hooks import HookResponse
from gitops_bg.core.model.journal import Merge, PullRequest
from gitops_bg.core.model.main import SourceVerification, UnreadReason
from gitops_bg.core.model.version import NO_METADATA, Color, PodMetadata, ServicePorts, Snapshot


@dataclass(frozen=True, slots=True)
class ReplicaSetView:
    """One ReplicaSet with the name or the labels of a version of the app."""

    name: str
    snapshot: Snapshot
    """Read from the annotations; the text is empty where somebody removed it."""
    replicas: int
    available: int
    number: int = 0
    """The version number of its label; 0 where the label is missing."""
    ours: bool = True
    """It has our labels, and our BlueGreenDeployment controls it (or nobody does: the agent adopts it)."""
    owner: str = ""
    """The owner where it is not ours, for the condition."""
    deleting: bool = False
    min_ready_seconds: int = 0
    color: Color | None = None
    """The color of its label; None where the label is missing."""
    drifted: bool = False
    """Labels, annotations or template differ from what the version renders to."""
    pods: int = 0
    """The number of pods, whatever their state."""
    ready: int = 0
    failure: str = ""
    """Why it cannot create or delete pods: reason and message of its condition ReplicaFailure."""
    metadata: PodMetadata = NO_METADATA
    """What its template gives to new pods in addition to the snapshot."""
    pods_outdated: bool = False
    """Older pods may lack that metadata, and no pod is created without it any more."""
    metadata_pending: bool = False
    """Some pods may lack that metadata."""


@dataclass(frozen=True, slots=True)
class ConfigurationView:
    """A live copy of a ConfigMap or Secret, without its content."""

    kind: str
    name: str
    digest: str
    """The digest of its real content, whatever its annotations say."""
    ours: bool = True
    owner: str = ""
    """The owner where it is not ours, for the condition."""
    deleting: bool = False
    drifted: bool = False
    """It is not immutable, or its labels or its owner are missing."""


@dataclass(frozen=True, slots=True)
class PodView:
    """One live pod that has not ended. ``digest`` is the short digest of its label."""

    name: str
    uid: str
    digest: str
    created_at: datetime
    ready_since: datetime | None = None
    """None where the pod is not ready."""
    leaving: bool = False
    """The pod is being deleted."""
    unschedulable: str = ""
    """Why no node takes it, in the words of the scheduler; empty where it has one."""
    waiting: str = ""
    """Why its containers do not start, in the words of the kubelet; empty where they do, or are about to."""
    shut_gate: str = ""
    """The first of its ``readinessGates`` that nobody has set although its containers are ready; empty where none."""


@dataclass(frozen=True, slots=True)
class SelectedPods:
    """The pods that a Service selects once it is handed back, whether it does already or not."""

    apps: tuple[str, ...] = ()
    """The apps that have pods among them, sorted: live traffic that nobody gave these would reach them."""
    trouble: str = ""
    """Why the pods cannot be listed; empty where they were."""


@dataclass(frozen=True, slots=True)
class ServiceView:
    """A live Service. ``digest`` is the short digest of its selector, or empty where that is none of ours."""

    name: str
    digest: str
    selector: tuple[tuple[str, str], ...]
    ours: bool = True
    owner: str = ""
    drifted: bool = False
    """Ports, type or labels differ from what Git asks for (the selector is not compared)."""
    ready_endpoints: int = 0
    """The ready addresses in its EndpointSlices that every one of its ports leads to."""
    other_endpoints: bool = False
    """Some ready addresses are not pods of the version that it selects; of one that was handed back: they are pods of
    an app, or no pods that are there.
    """
    ports: str = ""
    """The JSON of its ports."""
    withdrawn: str = ""
    """The mark of the last withdrawn switch (``Record.withdrawn``)."""
    unclaimed: bool = False
    """It is not ours, but no controller and no other app has it: the consent of an app suffices to take it over."""
    app: str = ""
    """The other app of the namespace whose pods alone it selects, and that controls it, or nobody does; else empty."""
    before: tuple[tuple[str, str], ...] = ()
    """The selector that it had before it was taken over; empty where it was not."""
    selected: SelectedPods | None = None
    """Who gets its traffic once it is handed back; None: nobody looked."""


@dataclass(frozen=True, slots=True)
class Successor:
    """The app that has the Services of one that got another name, as far as a route in front of them matters."""

    wants_route: bool
    """Its live object asks for a route of its own."""
    has_route: bool = False
    """That is live, and every Gateway that has taken the route of before has taken it."""


@dataclass(frozen=True, slots=True)
class DeploymentView:
    """The Deployment that an app was adopted from, read while its pods are to go."""

    name: str
    replicas: int = 0
    labels: tuple[tuple[str, str], ...] = ()
    """Those of its pod template, sorted."""
    controller: str = ""
    """Kind and name of what controls it; empty where nothing does."""
    gone: bool = False
    """There is no such Deployment."""
    trouble: str = ""
    """Why it cannot be read, or empty."""
    available: int = 0
    """Available pods of its present template; 0 where its controller has not seen the newest generation."""


@dataclass(frozen=True, slots=True)
class AuxiliaryView:
    """An auxiliary object that is live, or whose existence is unknown."""

    auxiliary_object: AuxiliaryObject
    owner: str = ""
    """The owner where it is not ours."""
    former: bool = False
    """It is that of the app that this one was before (``spec.adopt.app``), and becomes ours with live traffic."""
    drifted: bool = False
    """It differs from what Git says; a scale target, and the version and the ports of a route are not compared."""
    scale_target: str = ""
    """Of an autoscaler: the name of the ReplicaSet that it scales."""
    deleting: bool = False
    trouble: str = ""
    """Why it cannot be created or read: the server lacks the kind, or the agent lacks the rights."""
    names_version: str = ""
    """Of a route: the short digest of the version that requests reach by naming it."""
    ports: BackendPorts = ()
    """Of a route: where it leads."""
    refused: str = ""
    """Of a route: why a Gateway refuses it as it is."""
    moves: bool = False
    """Of a route: its Gateways or hosts are not those of Git."""
    taken: bool | None = None
    """Of a route: whether every Gateway has taken it as it is; None where one says nothing."""
    answered: bool = False
    """Of a route: whether a Gateway ever said anything of it."""
    born: str = ""
    """Of a route: when it was created."""


class OperatorCommand(StrEnum):
    """What an operator may ask of the cluster directly (``gitops-bg abort``, ``promote``, ``rollback --offline``)."""

    PROMOTE = "promote"
    """Answer the pause of an inconclusive analysis, before or after promotion, with a new run. Moves no
    traffic itself.
    """
    PROMOTE_FULL = "promote-full"
    """Open pause and analyses, before and after promotion, and lift ``previewReplicaCount``, for the version on its
    way; with none on its way, end the analysis of the serving version. The version still waits for all pods and every
    other gate, and the promoter stays the same: the agent where ``autoPromotionEnabled``, else a commit of
    ``primary.yaml``.
    """
    ABORT = "abort"
    ROLLBACK = "rollback"
    OPEN_GATE = "open-gate"
    CLOSE_GATE = "close-gate"


@dataclass(frozen=True, slots=True)
class Request:
    """An operator's request, kept as an annotation of the BlueGreenDeployment until it has been carried out once."""

    id: str
    verb: OperatorCommand
    by: str
    at: datetime
    reason: str = ""
    to_version: int | None = None
    gate: str = ""
    """The manual gate to open or close."""
    force: bool = False
    """Of a rollback: allow a version on hold, or one that was first promoted after the serving one."""
    about: tuple[str, ...] = ()
    """The digests of the versions to stop, to measure again or to promote, as its writer saw them. Empty where it is
    about none: then it is about what the agent sees.
    """
    live: str = ""
    """The digest that its writer saw live; empty where nothing was."""


@dataclass(frozen=True, slots=True)
class PromotionBranch:
    """The content of the app's promotion branch: the digest it would promote, and main's digest that it starts from."""

    digest: str
    base_digest: str
    services: tuple[ServicePorts, ...] = ()
    """The ports that it would promote with the digest."""
    asks_for: str = ""
    """The event that its commit asks for (the trailer ``Bg-Event``); empty where the commit does not say."""
    commit: str = ""
    """The head of the branch."""
    own_commits: int = 1
    """How many commits its line of first parents has that main does not contain."""
    offered_here: bool | None = None
    """Whether its commit says that it is of this cluster; None where it does not say of which."""
    asked_by: str = ""
    """Who asks for it, and why, as its commit says (trailers ``Bg-By``, ``Bg-Reason``); empty where it does not."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GitView:
    """What Git showed last of an app or a group: refusals of main and of its branch, how far the ledger got."""

    promotion: PromotionBranch | None = None
    """The promotion branch of an app."""
    main_refused: str = ""
    """Why main refuses the agent's pushes (a protected branch), or empty."""
    unreachable: str = ""
    """Why main cannot be read, and how old what is known of it is (``core.model.main``), or empty."""
    unread_reason: UnreadReason = UnreadReason.UNREACHABLE
    """What keeps it from being read, where it cannot be."""
    verification: SourceVerification | None = None
    """What became of the commits of main, where they are verified; None where they are not."""
    offer_refused: str = ""
    """Why the remote refuses its promotion branch, in its words, or empty."""
    ledger_refused: str = ""
    """Why the remote refuses the ledger of this cluster, or empty."""
    ledger_epoch: str = ""
    ledger_sequence: int = 0
    """Its last ledger entry that is in Git, with the epoch that belongs to."""
    ledger_is_known: bool = False
    """Whether there is a state branch that was read: without an epoch, nothing of it is there."""
    ledger_doubt: str = ""
    """Why its file in the ledger, as it stands, is not believed: it is none, or somebody else wrote it. Empty
    where it is; otherwise epoch and sequence are those of the last file that the agent itself wrote.
    """
    pull: PullRequest | None = None
    """The pull request of the promotion branch; None where there is none, or no forge is configured."""
    entry_pull: PullRequest | None = None
    """The pull request of the branch that asks for a release in the app's environment; None where there is none."""
    pull_queued: str = ""
    """Why the pull request does not exist yet although nothing is wrong: others come first. Empty otherwise."""
    pull_trouble: str = ""
    """Why the forge cannot be read or written, and who must do what; empty where it can, or none is configured."""
    has_forge: bool = False
    """Whether main names a forge that can be asked."""
    merges: tuple[Merge, ...] = ()
    """What the forge answered of the promotions that the record asks about (``SeenInGit.asked_merges``)."""

    @property
    def ledger_at(self) -> tuple[str, int] | None:
        """The last entry that Git has of it, by epoch and number; None where nobody can tell."""
        return (self.ledger_epoch, self.ledger_sequence) if self.ledger_is_known or self.ledger_epoch else None


@dataclass(frozen=True, slots=True)
class Observed:
    """The live world of one app. ``app_uid`` is empty as long as there is no BlueGreenDeployment."""

    app_uid: str = ""
    app_drifted: bool = False
    """The live spec of the BlueGreenDeployment differs from Git."""
    app_going: bool = False
    """Somebody is deleting the BlueGreenDeployment: it still exists, and owns nothing any more."""
    app_foreign: str = ""
    """The owner of the BlueGreenDeployment where it is not ours."""
    app_claimed: str = ""
    """The other repository that has this app as well, and leaves it alone; empty where none does."""
    replica_sets: tuple[ReplicaSetView, ...] = ()
    configurations: tuple[ConfigurationView, ...] = ()
    """The copies of ConfigMaps and Secrets, as far as the agent may list them."""
    unlisted: tuple[str, ...] = ()
    """The kinds of copies that the agent may not list: nothing is concluded from a missing copy of them."""
    active_service: ServiceView | None = None
    more_active_services: tuple[ServiceView, ...] = ()
    """The existing ones of the other Services that carry live traffic."""
    former_services: tuple[ServiceView, ...] = ()
    """Services that the live BlueGreenDeployment or the record names as active, and Git no longer does, or for the
    preview only; and `former_preview`.
    """
    former_preview: str = ""
    """The preview Service that the live BlueGreenDeployment names, and Git no longer does; empty where it does."""
    preview_service: ServiceView | None = None
    other_services: tuple[ServiceView, ...] | None = None
    """The Services of the namespace that are not the app's own, and may have the pods of any version: whose selector
    tells no versions apart, and that nobody agreed to (`names.ALL_VERSIONS`). None where they are not known, or nobody
    has to look at them (`core.checks.onboarding`).
    """
    other_services_refused: str = ""
    """Why the agent may not list them, or empty."""
    deployment: DeploymentView | None = None
    """The Deployment that the app was adopted from; None where nobody has to look at it."""
    successor: Successor | None = None
    """What became of the app under another name; None unless it got one and has a route itself."""
    auxiliary_objects: tuple[AuxiliaryView, ...] = ()
    rivals: tuple[RivalRoute, ...] = ()
    """The HTTPRoutes of the namespace that are somebody else's, where the app has one, in the order of their names."""
    pods: tuple[PodView, ...] | None = None
    """The pods of the app; None unless a restart has begun or a version is late (`checks.pods`)."""
    pods_refused: str = ""
    """Why the agent may not list the pods, or empty."""
    requests: tuple[Request, ...] = ()
    """What operators asked for, oldest first; the record knows which are answered (`OperatorState.has_answered`)."""
    contests: tuple[DriftLoop, ...] = ()
    """The repairs of late, of what others changed; as far as this process made them."""
    refused: str = ""
    """Why a write that the app needs was refused last (missing rights, an invalid object), or empty."""
    clock_skew: int = 0
    """Seconds by which the API server's clock is ahead of ours (negative: behind); 0 where that is too little to
    report.
    """
    calls: tuple[HookResponse, ...] = ()
    """The answers of hooks since the record was saved; answers that do not matter are ignored."""
    measurements: tuple[MeasurementResult, ...] = ()
    """The measurements since the record was saved; measurements that do not matter are ignored."""
    git: GitView = field(default_factory=GitView)
