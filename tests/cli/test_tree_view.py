"""The tree of one app: every line of it, from a sight made by hand; time alone changes ages and countdowns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from gitops_bg.cli.views.subject import picture_of
from gitops_bg.core.model.analysis import (
    Analyses,
    AnalysisPhase,
    AnalysisRun,
    AnalysisStage,
    Measurement,
    Metric,
    MetricRun,
)
from gitops_bg.core.model.auxiliary import Autoscaler, AuxiliaryObject
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.observed import ServiceView
from gitops_bg.core.model.record import LastRead, Record, Routing
from gitops_bg.core.model.spec import Strategy
from gitops_bg.core.model.statements import Hold
from gitops_bg.core.model.version import Color, Retirement, Source, Stage, Version, short
from gitops_bg.views.app import AppView, Pod, ReplicaSet
from gitops_bg.views.rows import Row
from gitops_bg.views.tree import Branch, json_tree_of_app, root_of, stage_in_a_word
from tests.core.records import statements_of

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def stamp(seconds: float) -> str:
    return ago(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def version(number: int, stage: Stage, **more: object) -> Version:
    snapshot = snapshot_of({"spec": {"containers": [{"name": "web", "image": f"shop/web:{number}"}]}})
    color = Color.BLUE if number % 2 else Color.GREEN
    made = Version(
        number, snapshot, color, stage, Source(f"c{number}"), number, ago(100 * (9 - number)), tag=str(number)
    )
    return replace(made, **more)  # type: ignore[arg-type]


OLD = version(6, Stage.LEGACY, activated_at=ago(999), retirement=Retirement(NOW - timedelta(seconds=579)))
LIVE = version(7, Stage.ACTIVE)
NEXT = version(8, Stage.CANDIDATE)

ERRORS = MetricRun(
    Metric("errors", "prometheus", count=5, interval=30, failure_limit=1),
    successful=2,
    failed=1,
    error=1,
    last_at=ago(18),
    measurements=(Measurement(AnalysisPhase.SUCCESSFUL, ago(18), "0.01"),),
)
LATENCY = MetricRun(Metric("latency", "web", count=1, dry_run=True), inconclusive=1)
RUN = AnalysisRun(AnalysisStage.PRE, NEXT.digest, 8, attempt=2, started_at=ago(75), metrics=(ERRORS, LATENCY))


def replica_set(of: Version, desired: int, available: int) -> ReplicaSet:
    name = f"web-v{of.number}-{short(of.digest)}"
    return ReplicaSet(name, short(of.digest), desired, desired, available, available, stamp(90))


SIGHT = AppView(
    row=Row("shop", "web", "AwaitingPromotion", 7, "blue", "shop/web:7", 8, "shop/web:8", "1/2", "nobody", stamp(3600)),
    gates=(
        {"kind": "availability", "open": True, "reason": "its pods are available", "until": stamp(-5)},
        {"kind": "pause", "open": False, "reason": "autoPromotionSeconds: 60", "until": stamp(-42)},
        {"kind": "approval", "open": False, "reason": "nobody merged"},
    ),
    record=Record(
        versions=(OLD, LIVE, NEXT),
        routing=Routing(traffic=LIVE.digest, preview=NEXT.digest),
        last_read=LastRead(replicas=2),
        analyses=Analyses(runs=(RUN,)),
    ),
    strategy=Strategy("web", "web-preview", auto_promotion_enabled=True, auto_promotion_seconds=60),
    services=(("active", ServiceView("web", short(LIVE.digest), (), ready_endpoints=2)),),
    replica_sets=(replica_set(OLD, 2, 2), replica_set(LIVE, 2, 2), replica_set(NEXT, 2, 1)),
    pods=(
        Pod("web-8-a", short(NEXT.digest), "Running", 1, 1, 3, stamp(60)),
        Pod("web-8-b", short(NEXT.digest), "ImagePullBackOff", 0, 1, 0, stamp(60)),
    ),
)


def drawn(app_view: AppView, now: datetime = NOW) -> list[str]:
    console = Console(width=200, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(picture_of(app_view, now))
    return [line.rstrip() for line in captured.get().splitlines()]


def words(line: str) -> str:
    return " ".join(line.split())


def test_the_whole_picture() -> None:
    assert [words(line) for line in drawn(SIGHT)] == [
        "Name: shop/web",
        "Phase: ॥ AwaitingPromotion",
        "Message: nobody",
        "Strategy: blue-green, promoted by itself after 60 s",
        "Images: shop/web:8 (preview, green)",
        "shop/web:7 (active, blue)",
        "shop/web:6 (green)",
        "Replicas: desired 2 current 6 updated 2 ready 2 available 2",
        "",
        "NAME KIND STATUS AGE INFO",
        "⟳ web App AwaitingPromotion 1h",
        "├─ ⊞ availability Gate open its pods are available",
        "├─ ⊞ pause Gate shut autoPromotionSeconds: 60, 42s left",
        "├─ ⊞ approval Gate shut nobody merged",
        "├─ # 8 (v8) green Version candidate 1m40s preview, of c8",
        f"│ ├─ ⧉ web-v8-{short(NEXT.digest)} ReplicaSet Progressing 1m30s 1/2 available",
        "│ │ ├─ □ web-8-a Pod Running 1m ready:1/1, restarts:3",
        "│ │ └─ □ web-8-b Pod ImagePullBackOff 1m ready:0/1",
        "│ └─ α pre-promotion analysis #2 AnalysisRun Running 1m15s ✔2 ✖1 ?1 ⚠1",
        "│ ├─ errors Metric Running ✔2 ✖1 ?0 ⚠1 of 5, last 0.01, next in 12s",
        "│ └─ latency Metric Inconclusive ✔0 ✖0 ?1 ⚠0 of 1, dry run",
        "├─ # 7 (v7) blue Version active 3m20s live, of c7",
        f"│ └─ ⧉ web-v7-{short(LIVE.digest)} ReplicaSet Healthy 1m30s 2/2 available",
        "├─ # 6 (v6) green Version legacy 5m of c6, 2/2 available, delay:21s",
        "└─ ⇄ web Service active → 7 (v7) blue, 2 ready endpoints",
    ]


def test_what_runs_of_a_version_behind_is_shown_where_all_is_asked_for() -> None:
    names = [each.name for each in branches(root_of(SIGHT, NOW, wide=True))]
    behind = names.index("# 6 (v6) green")
    assert names[behind + 1] == f"⧉ web-v6-{short(OLD.digest)}"
    assert not any(each.name == names[behind + 1] for each in branches(root_of(SIGHT, NOW)))


def test_deadlines_count_down() -> None:
    later = "\n".join(drawn(SIGHT, NOW + timedelta(seconds=5)))
    assert "delay:16s" in later
    assert "37s left" in later
    assert "next in 7s" in later
    passed = "\n".join(drawn(SIGHT, NOW + timedelta(seconds=60)))
    assert "delay:passed" in passed
    assert "measuring" in passed
    assert "left" not in passed


def branches(branch: Branch) -> Iterator[Branch]:
    yield branch
    for child in branch.children:
        yield from branches(child)


def of_version(changed: Version, strategy: Strategy | None = SIGHT.strategy, **record: object) -> Branch:
    changes = replace(SIGHT.record.with_version(changed), **record)  # type: ignore[arg-type]
    app_view = replace(SIGHT, record=changes, strategy=strategy)
    found = (each for each in branches(root_of(app_view, NOW)) if each.name.startswith(f"# {changed.name} "))
    return next(found)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (NEXT, "candidate"),
        (replace(NEXT, retirement=Retirement(NOW)), "withdrawn"),
        (replace(NEXT, retirement=Retirement(NOW, aborted=True)), "aborted"),
        (LIVE, "active"),
        (OLD, "legacy"),
        (replace(OLD, stage=Stage.ARCHIVED), "archived"),
    ],
)
def test_a_candidate_that_is_not_wanted_any_more_is_none(changed: Version, said: str) -> None:
    assert stage_in_a_word(changed) == said


def test_a_version_says_that_it_failed_and_why_it_is_on_hold() -> None:
    failed = replace(NEXT, failure="ProgressDeadlineExceeded")
    branch = of_version(failed, statements=statements_of(Hold(NEXT.digest, "it burned", NOW)))
    assert branch.info == "preview, on hold: it burned, failed: ProgressDeadlineExceeded, of c8"
    assert branch.children[0].status == "Degraded"


def test_an_autoscaler_is_said_to_size_what_serves() -> None:
    """And what is desired is what it says, not what the target asks for."""
    autoscaler = Autoscaler(AuxiliaryObject("HorizontalPodAutoscaler", "web-primary"), 2, 10)
    record = SIGHT.record.with_part(LastRead(2, autoscaler=autoscaler))
    scaled = replace(SIGHT, record=record, replica_sets=(replica_set(LIVE, 5, 5),))
    assert (
        "Replicas: desired 5 current 5 updated 0 ready 5 available 5 (2 to 10 by HorizontalPodAutoscaler web-primary)"
    ) in map(words, drawn(scaled))


@pytest.mark.parametrize(
    ("desired", "available", "status"), [(2, 2, "Healthy"), (2, 0, "Progressing"), (0, 0, "ScaledDown")]
)
def test_the_status_of_a_replica_set_is_in_argo_s_words(desired: int, available: int, status: str) -> None:
    assert replica_set(LIVE, desired, available).status == status


def test_a_version_that_is_warm_for_ever_has_no_deadline() -> None:
    branch = of_version(OLD, Strategy("web", scale_down_delay_seconds=None))
    assert branch.info.endswith("delay:none")


def test_nobody_can_tell_how_long_a_version_is_warm_whose_app_cannot_be_read() -> None:
    assert of_version(OLD, None).info == "of c6, 2/2 available"


def test_a_run_that_waits_for_its_metrics_says_so() -> None:
    waiting = replace(RUN, started_at=None, metrics=())
    branch = of_version(NEXT, analyses=Analyses(runs=(waiting,)))
    assert (branch.children[1].age, branch.children[1].info) == ("-", "waiting for its metrics")


def test_a_run_of_an_earlier_rollout_is_not_shown() -> None:
    assert [child.kind for child in of_version(replace(NEXT, rollout=9)).children] == ["ReplicaSet"]


def test_what_others_wrote_cannot_drive_the_terminal() -> None:
    app_view = replace(SIGHT, row=replace(SIGHT.row, message="a\x1b[2Jb"))
    assert "Message:   a [2Jb" in drawn(app_view)


def test_programs_get_moments_and_counts_in_camel_case() -> None:
    data = json.loads(json.dumps(json_tree_of_app(SIGHT)))
    assert data["candidateImage"] == "shop/web:8"
    oldest, _, newest = data["versions"]
    assert (oldest["scaleDownAt"], oldest["retiring"]) == ("2026-05-04T12:00:21+00:00", True)
    [run] = newest["analysisRuns"]
    assert (run["stage"], run["attempt"], run["phase"]) == ("pre", 2, "Running")
    errors = run["metrics"][0]
    assert [errors[key] for key in ("successful", "failed", "inconclusive", "error", "count")] == [2, 1, 0, 1, 5]
    assert errors["nextAt"] == "2026-05-04T12:00:12+00:00"
    assert errors["measurements"] == [{"phase": "Successful", "at": "2026-05-04T11:59:42Z", "value": "0.01"}]
