"""Hand-made worlds for tables: one app, its versions by number, every field as a case wants it.

Version ``n`` is the app at tag ``n``. Unlike the simulation, nothing here happens: a world is only looked at.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from gitops_bg.core import names
from gitops_bg.core.checks.versions import warm_until
from gitops_bg.core.engine import decide
from gitops_bg.core.model import actions as act
from gitops_bg.core.model.analysis import AnalysisPhase, Metric, MetricRun
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.desired import Desired, Missing, Primary, Target
from gitops_bg.core.model.journal import Entry, Journal, Named, Retried, SuspensionChanged, Targeted, in_order
from gitops_bg.core.model.main import SourceVerification, UnverifiedCommit, VerificationFailure
from gitops_bg.core.model.observed import GitView, Observed, ReplicaSetView, ServiceView
from gitops_bg.core.model.spec import AppSpec, Retry
from gitops_bg.core.model.version import Color, Retirement, Snapshot, Source, Stage, Version, short
from gitops_bg.core.world import World
from tests.core.consistency import contradictions, untimely
from tests.core.records import record_of
from tests.core.shown import Conditions, shown
from tests.core.simulation import APP, manual, template

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
EARLIER = NOW - timedelta(hours=1)
SECOND = timedelta(seconds=1)
HELD_MAIN = SourceVerification(
    UnverifiedCommit("1a2b3c4d5e" + 30 * "0", "Ada", VerificationFailure.NOT_SIGNED, last="9" * 40)
)
"""A look at main whose newest commit nobody signed."""


def digest(number: int) -> str:
    return template(str(number)).digest


def source(number: int, **changes: Any) -> Source:
    """The commit that brought version ``number`` into the target."""
    return replace(Source(f"{number:040x}", "Ada <ada@example.com>", EARLIER, f"web {number}", 2 * number), **changes)


def version(number: int, stage: Stage, **changes: Any) -> Version:
    served = EARLIER + timedelta(minutes=number) if stage in (Stage.ACTIVE, Stage.LEGACY) else None
    made = Version(
        number=number,
        snapshot=template(str(number)),
        color=Color.BLUE if number % 2 else Color.GREEN,
        stage=stage,
        source=source(number),
        rollout=number,
        rollout_started_at=EARLIER,
        activated_at=served,
        left_at=served if stage is Stage.LEGACY else None,
        tag=str(number),
    )
    return replace(made, **_on_its_way_out(changes))


def _on_its_way_out(changes: dict[str, Any]) -> dict[str, Any]:
    """``retiring``, ``retired_at`` and ``aborted`` are said as if they were the version's own; or ``scale_down_at``,
    where what served is kept for 300 seconds.
    """
    until = changes.pop("scale_down_at", None)
    since = changes.pop("retired_at", until - 300 * SECOND if until else NOW)
    retirement = Retirement(since, changes.pop("aborted", False))
    return changes | ({"retirement": retirement} if changes.pop("retiring", False) else {})


def candidate(number: int, **changes: Any) -> Version:
    """A candidate whose pods have been available for an hour."""
    return version(number, Stage.CANDIDATE, **{"available_since": EARLIER, **changes})


def rising(number: int, **changes: Any) -> Version:
    """A candidate whose pods are not available yet."""
    return version(number, Stage.CANDIDATE, **{"waiting_since": EARLIER, **changes})


def active(number: int, **changes: Any) -> Version:
    return version(number, Stage.ACTIVE, **{"available_since": EARLIER, **changes})


def legacy(number: int, **changes: Any) -> Version:
    """A version that served until an hour ago and is warm for five more minutes."""
    return version(number, Stage.LEGACY, **{"retiring": True, "scale_down_at": NOW + 300 * SECOND, **changes})


def archived(number: int, **changes: Any) -> Version:
    """A version that served once and is kept at 0 pods."""
    served = EARLIER + timedelta(minutes=number)
    return version(number, Stage.ARCHIVED, **{"activated_at": served, "left_at": served, **changes})


def pods(of: int, replicas: int = 3, available: int | None = None, **changes: Any) -> ReplicaSetView:
    """The ReplicaSet of version ``of``."""
    name = names.replica_set_name(APP, of, digest(of))
    ready = replicas if available is None else available
    return replace(ReplicaSetView(name, template(str(of)), replicas, ready, of), **changes)


def service(name: str, number: int, **changes: Any) -> ServiceView:
    """A Service that selects version ``number``; 0: somebody wiped its selector."""
    selector = tuple(sorted(names.selector(APP, digest(number)).items())) if number else (("app", "web"),)
    return replace(ServiceView(name, short(digest(number)) if number else "", selector, ready_endpoints=3), **changes)


def warm_for(state: World, number: int) -> float | None:
    """For how many seconds a version that is retired keeps its pods, once this world is decided; None: for ever."""
    record = decided(state).record
    version = record.numbered(number)
    assert version is not None
    if version.stage is Stage.ARCHIVED:
        return 0
    assert version.retiring
    until = warm_until(record, state.spec.strategy, version)
    return (until - state.now).total_seconds() if until else None


COUNTS: dict[AnalysisPhase, dict[str, int]] = {
    AnalysisPhase.RUNNING: {},
    AnalysisPhase.SUCCESSFUL: {"successful": 1, "consecutive_successes": 1},
    AnalysisPhase.FAILED: {"failed": 1},
    AnalysisPhase.INCONCLUSIVE: {"inconclusive": 1},
    AnalysisPhase.ERROR: {"error": 5, "consecutive_errors": 5},
}


def found(metric: Metric, phase: AnalysisPhase) -> MetricRun:
    """A metric of one measurement without any tolerance, as it stands once it found this."""
    return MetricRun(metric, **COUNTS[phase])


def target(number: int, replicas: int = 3, **changes: Any) -> Target:
    return Target(template(str(number)), replicas, source(number, **changes))


def primary(number: int, **changes: Any) -> Primary:
    commit = f"{number:08x}" + "a" * 32
    promotion = source(number, commit=commit, subject=f"promote {number}", landed=2 * number + 1)
    return Primary(template(str(number)), number, source(number), replace(promotion, **changes))


def journal(
    *,
    named: tuple[Snapshot, ...] | None = None,
    retried: tuple[tuple[Source, Retry], ...] = (),
    targeted: tuple[tuple[Source, Targeted], ...] = (),
    suspended_by: Source | None = None,
) -> Journal:
    """What main said, each in main's order; ``named`` None: nobody can tell."""
    told = in_order(
        [Entry(Source(""), Named(snapshot)) for snapshot in named or ()],
        [Entry(asked, Retried(retry)) for asked, retry in retried],
        [Entry(by, change) for by, change in targeted],
        [Entry(suspended_by, SuspensionChanged())] if suspended_by else [],
    )
    return Journal(told, since="" if named is None else "d" * 40)


def world(
    *versions: Version,
    spec: AppSpec | None = None,
    wants: int | None = None,
    names_: int | None = None,
    live: int | None = None,
    sets: tuple[ReplicaSetView, ...] | None = None,
    desired: dict[str, Any] | None = None,
    observed: dict[str, Any] | None = None,
    record: dict[str, Any] | None = None,
    now: datetime = NOW,
) -> World:
    """A settled world: the newest version is the target, the active one is the primary and live, all pods are up.

    ``wants`` is the target's number, ``names_`` that of ``primary.yaml``, ``live`` that of the traffic; 0: none.
    """
    serving = next((one.number for one in versions if one.stage is Stage.ACTIVE), 0)
    live = serving if live is None else live
    wants = max((one.number for one in versions), default=0) if wants is None else wants
    names_ = live if names_ is None else names_
    if sets is None:
        sets = tuple(pods(one.number, 0 if one.stage is Stage.ARCHIVED else 3) for one in versions)
    remembered = {
        "epoch": "5eed",
        "versions": versions,
        "last_version": max((one.number for one in versions), default=0),
        "rollout": max((one.rollout for one in versions), default=0),
        "traffic": digest(live) if live else "",
        "preview": digest(live) if live else "",
        "primary": digest(names_) if names_ else "",
        "primary_by": primary(names_).changed_by.commit if names_ else "",
        "activations": tuple(one.digest for one in versions if one.was_active),
        "replicas": 3,
    }
    seen = {
        "app_uid": "5eed",
        "replica_sets": sets,
        "active_service": service("web", live) if live else None,
        "preview_service": service("web-preview", live) if live else None,
        "git": GitView(ledger_epoch="5eed"),
    }
    spec = spec or manual()
    wanted = {
        "journal": journal(retried=((Source("c" * 40), spec.retry),) if spec.retry is not None else ()),
        "target": target(wants) if wants else Missing.ABSENT,
        "primary": primary(names_) if names_ else Missing.ABSENT,
    }
    made = World(
        spec,
        Desired(**{"commit": "c" * 40, **wanted, **(desired or {})}),
        Observed(**{**seen, **(observed or {})}),
        record_of(**{**remembered, **(record or {})}),
        now,
    )
    impossible = list(contradictions(made))
    assert not impossible, f"this cannot be: {'; '.join(impossible)}"
    return made


def decided(state: World) -> Decision:
    decision = decide(state.spec, state.desired, state.observed, state.record, state.now)
    wrong = list(untimely(decision, state.now))
    assert not wrong, "; ".join(wrong)
    return decision


def sentences(state: World) -> list[str]:
    """What is to be done, in words."""
    return [str(action) for action in decided(state).actions]


def did(state: World, *kinds: type) -> list[str]:
    """What is to be done of these kinds, in words."""
    return [str(action) for action in decided(state).actions if isinstance(action, kinds)]


def conditions(state: World) -> Conditions:
    """What people are shown, by type."""
    return shown(decided(state))


def size_after(state: World, number: int) -> int:
    """How many pods a version has once the decision is carried out."""
    return given(state, number)[0]


def given(state: World, number: int) -> tuple[int, tuple[tuple[str, str], ...]]:
    """How many pods a version has once the decision is carried out, and the labels that new ones get beside its own."""
    decision = decided(state)
    version = decision.record.numbered(number)
    assert version is not None
    view = state.replica_set(version.digest)
    size, labels = (view.replicas, view.metadata.labels) if view else (0, ())
    for action in decision.actions:
        match action:
            case act.CreateReplicaSet() if action.snapshot.digest == version.digest:
                size, labels = action.replicas, action.metadata.labels
            case act.ScaleReplicaSet() if action.digest == version.digest:
                size = action.replicas
    return size, labels
