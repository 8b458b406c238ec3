"""The shapes of what is shown of apps, one for each serialiser, and what shapes are made of: closed objects, and what
the codec makes of the core's dataclasses.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, with_config
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict

from gitops_bg.core.foreign_json import ImageChange
from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisStage, Measurement
from gitops_bg.core.model.conditions import Condition, Meaning, Phase
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.journal import PullRequest
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.statements import Statement
from gitops_bg.core.model.version import Color, ConfigurationRef, Stage
from gitops_bg.repo.ledger.policy_log import PolicyChange
from gitops_bg.spec.app.primary import ConfigurationChange
from gitops_bg.spec.codec import encoded_schema
from gitops_bg.spec.crd import status_schema
from gitops_bg.spec.status import Gate, StatusPart
from gitops_bg.views.obstacles import NotLive, Trouble
from gitops_bg.views.rows import Row

CLOSED = ConfigDict(extra="forbid", use_attribute_docstrings=True)
"""Of a TypedDict: it has no further keys, and the text below a key describes it."""


class Encoded:
    """Annotates what `codec.to_json` makes of a dataclass, or what is stored of a status, with ``more`` keys beside it,
    and, where something has a ``meaning`` of another dataclass, the keys of that.
    """

    def __init__(self, kind: type, meaning: type | None = None, /, **more: Any) -> None:
        self._kind = kind
        self._meaning = meaning
        self._more = more

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return what pydantic asks of an annotation: the keys beside those of the dataclass."""
        fields = {
            name: core_schema.typed_dict_field(handler.generate_schema(kind), required=True)
            for name, kind in self._more.items()
        }
        return core_schema.typed_dict_schema(fields, metadata={"pydantic_js_functions": [self._json_schema]})

    def _json_schema(self, beside: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        more, own = handler(beside), _schema_of(self._kind)
        meaning = encoded_schema(self._meaning)["properties"] if self._meaning else {}
        required = dict.fromkeys([*own["required"], *more.get("required", ())])
        return {
            **own,
            "properties": {**own["properties"], **meaning, **more.get("properties", {})},
            "required": list(required),
        }


def _schema_of(kind: type) -> dict[str, Any]:
    if issubclass(kind, StatusPart):
        return {"required": [], **status_schema(kind), "additionalProperties": False}
    return encoded_schema(kind)


ConditionJson = Annotated[dict[str, Any], Encoded(Condition, Meaning)]
ProblemJson = Annotated[dict[str, Any], Encoded(Problem)]
ChangeJson = Annotated[dict[str, Any], Encoded(ConfigurationChange)]
RowJson = Annotated[dict[str, Any], Encoded(Row, kind=Literal["app"], demands=list[ConditionJson])]


@with_config(CLOSED)
class MetricJson(TypedDict):
    """One metric of an analysis run."""

    name: str
    phase: AnalysisPhase
    count: int
    """How many measurements it takes; 0: until the run ends."""
    successful: int
    failed: int
    inconclusive: int
    error: int
    dryRun: bool
    terminated: bool
    """The run was over before this metric was."""
    nextAt: str | None
    """When it is measured next."""
    measurements: list[Annotated[dict[str, Any], Encoded(Measurement)]]


@with_config(CLOSED)
class RunJson(TypedDict):
    """One analysis run."""

    stage: AnalysisStage
    rollout: int
    attempt: int
    phase: AnalysisPhase
    startedAt: str | None
    finishedAt: str | None
    metrics: list[MetricJson]


@with_config(CLOSED)
class ReplicaSetJson(TypedDict):
    """One ReplicaSet."""

    name: str
    replicas: int
    available: int


@with_config(CLOSED)
class PodJson(TypedDict):
    """One pod."""

    name: str
    phase: str
    message: str
    ready: bool
    restarts: int


@with_config(CLOSED)
class VersionJson(TypedDict):
    """One version of an app, with all that runs of it."""

    version: int
    digest: str
    color: Color
    stage: Stage
    retiring: bool
    live: bool
    """Live traffic goes to it."""
    preview: bool
    """The preview Service leads to it."""
    onHold: bool
    failure: str
    sourceCommit: str
    configuration: list[Annotated[dict[str, Any], Encoded(ConfigurationRef)]]
    configurationChanges: list[ChangeJson]
    """Of the newest version: how its configuration differs from that of the live version."""
    scaleDownAt: str | None
    replicaSets: list[ReplicaSetJson]
    pods: list[PodJson]
    analysisRuns: list[RunJson]


@with_config(CLOSED)
class ServiceJson(TypedDict):
    """One Service of an app."""

    role: str
    name: str
    version: int | None
    """The number of the version that it selects."""
    readyEndpoints: int


TreeJson = Annotated[
    dict[str, Any],
    Encoded(
        Row,
        kind=Literal["app"],
        demands=list[ConditionJson],
        versions=list[VersionJson],
        services=list[ServiceJson],
        gates=list[Annotated[dict[str, Any], Encoded(Gate)]],
    ),
]


@with_config(CLOSED)
class TreesJson(TypedDict):
    """What `tree` and `get APP` print."""

    items: list[TreeJson]


class _PulledStatus(TypedDict, total=False):
    pullRequest: str
    """Its number, address and state."""


@with_config(CLOSED)
class StatusJson(_PulledStatus):
    """What `status` prints, on one line, for each phase and reason."""

    app: str
    phase: str
    message: str
    code: int
    """The exit code, if the wait ends now."""
    at: str
    demands: list[ConditionJson]


@with_config(CLOSED)
class ExplainedJson(TypedDict):
    """What `explain` prints of an app and of a release group alike."""

    phase: Phase
    active: str | None
    """The version that serves."""
    next: str | None
    """The version that the gates are about."""
    pullRequest: Annotated[dict[str, Any], Encoded(PullRequest, state=str)] | None
    gates: list[
        Annotated[dict[str, Any], Encoded(GateResult, open=bool, counts=str, remainingSeconds=float | None, advice=str)]
    ]
    conditions: list[ConditionJson]
    statements: list[Annotated[dict[str, Any], Encoded(Statement, version=str)]]
    """Who said what of these versions: what holds one, what lifted that, where traffic goes in spite of main."""
    actions: list[str]
    wakeAt: str | None


@with_config(CLOSED)
class ExplanationJson(ExplainedJson):
    """What `explain` prints of an app."""

    app: str
    environment: str | None
    """The environment of the repository that it is in."""
    release: str | None
    """The release that the active version is of: its number and its digest."""
    configuration: list[ChangeJson]
    images: list[Annotated[dict[str, Any], Encoded(ImageChange)]]
    targetWentBack: Annotated[dict[str, Any], Encoded(NotLive)] | None
    targetHeldBack: Annotated[dict[str, Any], Encoded(NotLive)] | None
    """Why the target is not run: ``spec.revision`` names another version."""
    troubles: list[Annotated[dict[str, Any], Encoded(Trouble)]]


@with_config(CLOSED)
class LogJson(TypedDict):
    """The last lines of one pod."""

    pod: str
    log: str


@with_config(CLOSED)
class LogsJson(TypedDict):
    """What `logs` prints."""

    app: str
    version: int
    pods: list[LogJson]


@with_config(CLOSED)
class AddressJson(TypedDict):
    """What `open` prints."""

    app: str
    what: str
    """preview, dashboard, or pull request."""
    address: str


@with_config(CLOSED)
class AgentJson(TypedDict):
    """An agent that the cluster has."""

    name: str
    """Its Deployment, with the namespace."""
    image: str


@with_config(CLOSED)
class ReleasesJson(TypedDict):
    """What `version` prints."""

    client: str
    agents: list[AgentJson]


@with_config(CLOSED)
class ActionJson(TypedDict):
    """One action of a plan."""

    action: str
    """Its kind."""
    sentence: str
    arguments: dict[str, Any]
    """Those of its kind; every release may have others."""


@with_config(CLOSED)
class PlannedJson(TypedDict):
    """What a plan has of an app and of a release group alike."""

    phase: Phase
    actions: list[ActionJson]
    gates: list[Annotated[dict[str, Any], Encoded(GateResult)]]
    problems: list[ProblemJson]
    refused: str | None
    wakeAt: str | None
    environment: str | None
    """The environment of an app that is in one."""
    release: str | None
    """The release that the environment has of it by main."""


@with_config(CLOSED)
class PlannedAppJson(PlannedJson):
    """The plan of one app."""

    app: str


@with_config(CLOSED)
class DifferenceJson(TypedDict):
    """One difference."""

    path: str
    before: Any
    after: Any


@with_config(CLOSED)
class ComparedJson(TypedDict):
    """Two versions."""

    live: str | None
    """The version that serves."""
    to: str
    """The version that it is compared with: the one that was asked for, or else the one that main asks for."""
    commit: str
    """The commit of main that has it; empty where nobody knows that."""


class _Differences(ComparedJson):
    equal: bool
    differences: list[DifferenceJson]


@with_config(CLOSED)
class DiffJson(_Differences):
    """What `diff` prints of an app."""

    app: str


@with_config(CLOSED)
class ComparisonJson(TypedDict):
    """Two versions of an app, compared on the dashboard."""

    app: str
    before: str
    after: str
    equal: bool
    differences: list[DifferenceJson]


@with_config(CLOSED)
class InEnvironmentJson(TypedDict):
    """What one environment has of an app."""

    environment: str
    release: str | None
    version: str | None
    """The version that it serves by main."""
    digest: str | None
    """Of that, or of what it would run."""


@with_config(CLOSED)
class EnvironmentsComparedJson(TypedDict):
    """Two environments of an app."""

    app: str
    before: InEnvironmentJson
    after: InEnvironmentJson


@with_config(CLOSED)
class EnvironmentsDiffJson(EnvironmentsComparedJson):
    """What `diff --from` prints."""

    equal: bool
    differences: list[DifferenceJson]


@with_config(CLOSED)
class GroupDiffJson(_Differences):
    """What `diff` prints of a release group."""

    group: str


_OF_LEDGER: dict[str, Any] = {"configuration": list[ChangeJson], "epoch": str, "ledgerCommit": str}
EntryJson = Annotated[dict[str, Any], Encoded(LedgerEntry, **_OF_LEDGER)]
PolicyEntryJson = Annotated[dict[str, Any], Encoded(PolicyChange, event=Literal[Event.POLICY_CHANGED], at=str | None)]


class _Entries(TypedDict):
    ledger: str
    entries: list[EntryJson | PolicyEntryJson]


@with_config(CLOSED)
class HistoryJson(_Entries):
    """What `history` prints of an app."""

    app: str


@with_config(CLOSED)
class GroupHistoryJson(_Entries):
    """What `history` prints of a release group."""

    group: str


@with_config(CLOSED)
class OverridesJson(TypedDict):
    """What `history --overrides` prints."""

    ledger: str
    entries: list[
        Annotated[dict[str, Any], Encoded(LedgerEntry, **_OF_LEDGER, app=str)]
        | Annotated[dict[str, Any], Encoded(LedgerEntry, **_OF_LEDGER, group=str)]
    ]
    """Each with the name of its app, or of its group."""


@with_config(CLOSED)
class ServingJson(TypedDict):
    """A version that serves in a cluster, or is to follow there."""

    version: int
    digest: str
    """Empty for a version of a release group."""
    tag: str
    sourceCommit: str
    since: str | None
    """When live traffic came to it; null for a candidate."""


@with_config(CLOSED)
class HeldJson(TypedDict):
    """A version that is on hold."""

    digest: str
    reason: str


@with_config(CLOSED)
class LastEventJson(TypedDict):
    """What happened last to an app or a release group in a cluster."""

    event: Event
    at: str
    by: str


@with_config(CLOSED)
class FleetItemJson(TypedDict):
    """An app, or a release group, in a cluster."""

    app: NotRequired[str]
    group: NotRequired[str]
    cluster: str
    agrees: bool
    """Whether the same version serves in every cluster that has it."""
    active: ServingJson | None
    candidate: ServingJson | None
    holds: list[HeldJson]
    lastEvent: LastEventJson | None


@with_config(CLOSED)
class LedgerJson(TypedDict):
    """The ledger of a cluster."""

    cluster: str
    commit: str
    """Its last one; empty where it could not be read."""
    written: str | None
    """When the agent there wrote last."""
    trouble: str
    """What is amiss with it; empty where nothing is."""


@with_config(CLOSED)
class FleetJson(TypedDict):
    """What `fleet` prints."""

    clusters: list[LedgerJson]
    items: list[FleetItemJson]


@with_config(CLOSED)
class FetchedFleetJson(FleetJson):
    """The fleet, as an agent fetched the ledgers last."""

    readAt: str
    """When that was."""
    trouble: str
    """Why they could not be fetched again since; empty where they could."""
