"""The shapes of what verbs that decide something report: promotions, suspensions, gates, policies, and errors."""

from typing import Literal

from pydantic import with_config
from typing_extensions import TypedDict

from gitops_bg.core.checks.policy_judge import Outcome
from gitops_bg.core.model.hooks import HookType
from gitops_bg.core.model.record import Event
from gitops_bg.views.shapes.apps import CLOSED, ChangeJson, ProblemJson


@with_config(CLOSED)
class DryRunJson(TypedDict):
    """What a verb that decides prints with --dry-run: it has written nothing."""

    dryRun: Literal[True]
    would: list[str]
    """What it would do, a sentence each."""
    files: dict[str, str]
    """How each file would change, by its path: the changed lines, or its path where they may hold a value of pods."""


@with_config(CLOSED)
class ReleasedJson(TypedDict):
    """What `release` prints."""

    app: str
    deployment: str
    commit: str
    changed: bool


@with_config(CLOSED)
class ImagesJson(TypedDict):
    """What `set-image` prints."""

    app: str
    images: dict[str, str]
    """The images by their containers."""
    commit: str
    changed: bool


_Movement = TypedDict("_Movement", {"from": int | None, "to": int | None})


class _Asked(TypedDict, total=False):
    asked: str
    """What else the agent was asked to do."""


@with_config(CLOSED)
class ProposalJson(_Movement, _Asked):
    """What `promote` and `rollback` print. ``from`` and ``to`` are numbers of versions."""

    app: str
    event: Event
    digest: str
    commit: str
    changed: bool
    offeredOn: str | None
    """The branch to merge, where main takes no commit."""
    refused: str | None
    waitsFor: list[str]
    configuration: list[ChangeJson]


@with_config(CLOSED)
class StaysLiveJson(TypedDict):
    """What `promote` prints where nothing is to be promoted, and what serves was judged."""

    app: str
    changed: bool
    asked: str


class Done(TypedDict, total=False):
    """Who did it, where something was done."""

    byAgent: bool
    """Whether the agent did it; else the command, on the cluster itself."""


@with_config(CLOSED)
class OfflineJson(Done):
    """What `rollback --offline` prints."""

    app: str
    to: int
    changed: bool


@with_config(CLOSED)
class UndoneJson(TypedDict):
    """What `undo` prints."""

    app: str
    to: int
    digest: str
    commit: str
    changed: bool


@with_config(CLOSED)
class AbortedAppJson(TypedDict):
    """One app that was aborted."""

    app: str
    held: list[str]
    """The digests that are on hold now."""
    stopped: list[int]
    """The numbers of the versions that were stopped."""
    live: str | None
    byAgent: bool
    dryRun: bool
    """true with --dry-run: nothing was done; `stopped` and `live` are what would be."""


@with_config(CLOSED)
class AbortedGroupJson(TypedDict):
    """One release group that was aborted."""

    group: str
    held: list[str]
    """The versions that are on hold now, with what their folders say."""
    stopped: list[str]
    live: str | None
    byAgent: bool
    dryRun: bool
    """As of an app."""


@with_config(CLOSED)
class AbortedJson(TypedDict):
    """What `abort` prints."""

    apps: list[AbortedAppJson | AbortedGroupJson]


@with_config(CLOSED)
class RetriedAppJson(TypedDict):
    """One app whose target is tried again."""

    app: str
    digest: str
    number: int
    commit: str


@with_config(CLOSED)
class RetriedJson(TypedDict):
    """What `retry` prints."""

    apps: list[RetriedAppJson]


@with_config(CLOSED)
class RestartedAppJson(TypedDict):
    """One app whose pods restart."""

    app: str
    restartAt: str
    commit: str


@with_config(CLOSED)
class RestartedJson(TypedDict):
    """What `restart` prints."""

    apps: list[RestartedAppJson]


@with_config(CLOSED)
class CommittedAppJson(TypedDict):
    """One app that a commit changed."""

    app: str
    commit: str
    changed: bool


@with_config(CLOSED)
class SuspendedJson(TypedDict):
    """What `suspend` and `pause` print."""

    apps: list[CommittedAppJson]


@with_config(CLOSED)
class ResumedAppJson(CommittedAppJson):
    """One app that goes on."""

    holdLifted: bool


@with_config(CLOSED)
class ResumedJson(TypedDict):
    """What `resume` prints."""

    apps: list[ResumedAppJson]


@with_config(CLOSED)
class FreezeJson(TypedDict):
    """What `freeze` and `unfreeze` print."""

    file: str
    commit: str
    changed: bool


@with_config(CLOSED)
class AcceptedJson(TypedDict):
    """What `accept-history` prints."""

    accepted: str
    """The commit."""
    generation: int
    commit: str
    changed: bool


@with_config(CLOSED)
class ReconcileJson(TypedDict):
    """What `reconcile` prints."""

    app: str
    requestedAt: str


@with_config(CLOSED)
class GateJson(TypedDict):
    """One manual gate."""

    gate: str
    type: HookType
    open: bool
    by: str | None
    at: str | None
    reason: str | None


@with_config(CLOSED)
class GatesJson(TypedDict):
    """What `gate status` prints."""

    app: str
    gates: list[GateJson]


@with_config(CLOSED)
class SetGateJson(GateJson, Done):
    """What `gate open` and `gate close` print."""

    app: str
    changed: bool


@with_config(CLOSED)
class CaseJson(TypedDict):
    """One test case of policies."""

    file: str
    line: int
    name: str
    ok: bool
    wrong: list[str]


@with_config(CLOSED)
class CasesJson(TypedDict):
    """What `policies test` prints."""

    cases: list[CaseJson]
    problems: list[str]


@with_config(CLOSED)
class ReplayedJson(TypedDict):
    """One promotion of the past."""

    app: str
    at: str
    commit: str
    outcome: Outcome
    until: str | None
    policies: dict[str, Outcome]
    reasons: list[str]


@with_config(CLOSED)
class ReplayJson(TypedDict):
    """What `policies replay` prints."""

    promotions: list[ReplayedJson]
    policies: dict[str, dict[str, int]]
    """How often each policy came to each outcome, and ``delaySeconds`` in all."""


class _Trace(TypedDict, total=False):
    trace: str
    """Of a bug: where it is."""


@with_config(CLOSED)
class FailureJson(_Trace):
    """Why a verb failed."""

    reason: str
    """The kind of error, in CamelCase."""
    message: str
    exitCode: int
    problems: list[ProblemJson]


@with_config(CLOSED)
class ErrorJson(TypedDict):
    """What every verb prints on stderr where it fails."""

    error: FailureJson


@with_config(CLOSED)
class WarningJson(TypedDict):
    """What a verb prints on stderr where something is worth knowing."""

    note: str


@with_config(CLOSED)
class GroupGatesJson(TypedDict):
    """What `gate status` prints of a group."""

    group: str
    gates: list[GateJson]


@with_config(CLOSED)
class SetGroupGateJson(GateJson, Done):
    """What `gate open` and `gate close` print of a group."""

    group: str
    changed: bool


@with_config(CLOSED)
class GroupChangeJson(TypedDict):
    """What `group promote`, `group rollback` and `group delete` print."""

    group: str
    version: str
    commit: str
    """Empty where main says so already."""
    changed: bool
    offeredOn: str | None
    """The branch to merge, where main takes no commit."""
    refused: str | None
    """Why main takes none."""
