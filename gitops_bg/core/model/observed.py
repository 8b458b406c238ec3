"""What Kubernetes and Git show of one app right now, as plain data. Adapters fill it; only the core reads it."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gitops_bg.core.model.analysis_runs import MeasurementResult
from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.hooks import HookResponse
from gitops_bg.core.model.pulls import PullRequest
from gitops_bg.core.model.stored import STORED_AS
from gitops_bg.core.model.version import NO_METADATA, Color, PodMetadata, ServicePorts, Snapshot


@dataclass(frozen=True, slots=True)
class ReplicaSetView:
    """One ReplicaSet that has the name or the labels of a version of the app."""

    name: str
    snapshot: Snapshot
    """From the annotations; an empty text where somebody removed it."""
    replicas: int
    available: int
    number: int = 0
    """The version number it is labelled with; 0 where the label is gone."""
    ours: bool = True
    """Labelled as ours and controlled by our BlueGreenDeployment (or by nobody: it is taken back)."""
    owner: str = ""
    """Whose it is, for the condition, where it is not ours."""
    deleting: bool = False
    min_ready_seconds: int = 0
    color: Color | None = None
    """The colour it is labelled with; None where the label is gone."""
    drifted: bool = False
    """Labels, annotations or template differ from what the version renders to."""
    pods: int = 0
    """How many pods there are, whatever their state."""
    ready: int = 0
    failure: str = ""
    """Why it cannot make or delete its pods: reason and message of its condition ReplicaFailure."""
    metadata: PodMetadata = NO_METADATA
    """What its template gives to new pods, beside what the snapshot says."""
    pods_outdated: bool = False
    """Older pods may not carry that yet, and no more of them are made."""


@dataclass(frozen=True, slots=True)
class ConfigurationView:
    """A live copy of a ConfigMap or Secret. Never what it holds."""

    kind: str
    name: str
    digest: str
    """Of what it really holds, whatever its annotations say."""
    ours: bool = True
    owner: str = ""
    """Whose it is, for the condition, where it is not ours."""
    deleting: bool = False
    drifted: bool = False
    """It is not immutable, or its labels or its owner are gone."""


@dataclass(frozen=True, slots=True)
class PodView:
    """One live pod that has not ended. ``digest`` is the short one of its label."""

    name: str
    uid: str
    digest: str
    created_at: datetime
    ready_since: datetime | None = None
    """None where it is not ready."""
    leaving: bool = False
    """It is being deleted."""


@dataclass(frozen=True, slots=True)
class ServiceView:
    """A live Service. ``digest`` is the short digest its selector carries, or empty where it is not one of ours."""

    name: str
    digest: str
    selector: tuple[tuple[str, str], ...]
    ours: bool = True
    owner: str = ""
    drifted: bool = False
    """Ports, type, labels differ from what Git asks for (the selector apart)."""
    ready_endpoints: int = 0
    """Ready addresses in its EndpointSlices: those that every one of its ports leads to."""
    other_endpoints: bool = False
    """Among them are some that are not pods of the version it selects."""
    ports: str = ""
    """Its ports, as JSON."""
    withdrawn: str = ""
    """The mark of the last switch that was withdrawn (``Record.withdrawn``)."""


@dataclass(frozen=True, slots=True)
class AuxiliaryView:
    """An auxiliary object that is live, or of which nobody can say whether it is."""

    auxiliary_object: AuxiliaryObject
    owner: str = ""
    """Whose it is, where it is not ours."""
    drifted: bool = False
    """It differs from what Git says, apart from what it scales."""
    scale_target: str = ""
    """Of an autoscaler: the name of the ReplicaSet that it scales."""
    deleting: bool = False
    trouble: str = ""
    """Why it cannot be made or read: the server does not have the kind, or the agent lacks the rights."""


class OperatorCommand(StrEnum):
    """What an operator may ask of the cluster directly (``gitops-bg abort``, ``promote``, ``rollback --offline``)."""

    PROMOTE = "promote"
    """Answer the pause of an inconclusive analysis, before or after promotion: a fresh run. It moves nothing itself."""
    PROMOTE_FULL = "promote-full"
    """Open pause and analyses, before and after promotion, and ``previewReplicaCount``, for the version that is on its
    way; with none on its way, end the analysis of what serves. It still waits for all pods and every other gate, and
    who promotes stays as it is: the agent where ``autoPromotionEnabled``, else a commit of ``primary.yaml``."""
    ABORT = "abort"
    ROLLBACK = "rollback"
    OPEN_GATE = "open-gate"
    CLOSE_GATE = "close-gate"


@dataclass(frozen=True, slots=True)
class Request:
    """An operator's request, kept as an annotation of the BlueGreenDeployment until it was carried out once."""

    id: str
    verb: OperatorCommand
    by: str
    at: datetime
    reason: str = ""
    to_version: int | None = None
    gate: str = ""
    """The manual gate to open or close."""
    force: bool = False
    """Of a rollback: also to a version that is on hold, or that came forward after the one that serves."""


@dataclass(frozen=True, slots=True)
class PromotionBranch:
    """What the promotion branch of the app holds: the digest it would promote, and main's digest it starts from."""

    digest: str
    base_digest: str
    services: tuple[ServicePorts, ...] = ()
    """The ports that it would promote with the digest."""
    asks_for: str = ""
    """What its commit says it asks for (the trailer ``Bg-Event``); empty where it does not say."""
    commit: str = ""
    """Its head."""


@dataclass(frozen=True, slots=True)
class GitView:
    """What Git showed last: the promotion branch, what main refused, how far the ledger got."""

    promotion: PromotionBranch | None = None
    main_refused: str = ""
    """Why main refuses the agent's pushes (a protected branch), or empty."""
    unreachable: str = ""
    """Why the remote cannot be reached, or empty."""
    offer_refused: str = ""
    """Why the remote does not take the promotion branch of this app, in its words, or empty."""
    ledger_refused: str = ""
    """Why it does not take the ledger of this cluster, or empty."""
    ledger_epoch: str = ""
    ledger_sequence: int = 0
    """The last ledger entry of this app that is in Git, with the epoch it belongs to."""
    pull: PullRequest | None = None
    """The pull request of the promotion branch; None where there is none, or no forge is known."""
    pull_queued: str = ""
    """Why there is none yet, though nothing is wrong: others are before it; else empty."""
    pull_trouble: str = ""
    """Why the forge cannot be told or asked, and who must do what; empty where it can, or none is known."""


@dataclass(frozen=True, slots=True)
class Observed:
    """The live world of one app. ``app_uid`` is empty as long as there is no BlueGreenDeployment."""

    app_uid: str = ""
    app_drifted: bool = False
    """The live spec of the BlueGreenDeployment is not what Git says."""
    app_going: bool = False
    """Somebody deletes it: it is still there, and owns nothing any more."""
    app_foreign: str = ""
    """Whose BlueGreenDeployment it is, where it is not ours."""
    app_claimed: str = ""
    """Which other repository has this app, too, and leaves it alone; empty where none does."""
    replica_sets: tuple[ReplicaSetView, ...] = ()
    configurations: tuple[ConfigurationView, ...] = ()
    """The copies of ConfigMaps and Secrets, as far as they may be listed."""
    unlisted: tuple[str, ...] = ()
    """The kinds of them that may not be: nothing is concluded from one that is not here."""
    active_service: ServiceView | None = None
    more_active_services: tuple[ServiceView, ...] = ()
    """The others that carry live traffic, as far as they exist."""
    former_services: tuple[ServiceView, ...] = ()
    """Those that the live BlueGreenDeployment or the record names as active, and Git no longer names."""
    preview_service: ServiceView | None = None
    auxiliary_objects: tuple[AuxiliaryView, ...] = field(default=(), metadata={STORED_AS: "companions"})
    pods: tuple[PodView, ...] | None = None
    """The pods of the app; None unless a restart has begun: nobody else looks at them."""
    pods_refused: str = ""
    """Why the pods may not be listed, or empty."""
    request: Request | None = None
    refused: str = ""
    """Why a write that the app needs was refused last (missing rights, an invalid object), or empty."""
    clock_skew: int = 0
    """Seconds by which the API server's clock is ahead of ours (behind: negative); 0 where that is nothing to tell."""
    calls: tuple[HookResponse, ...] = ()
    """What hooks answered since the record was saved; also others, which are passed over."""
    measurements: tuple[MeasurementResult, ...] = ()
    """Those that were taken since the record was saved; also others, which are passed over."""
    git: GitView = field(default_factory=GitView)
