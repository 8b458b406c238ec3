"""The spans of a rollout: each once, when it has ended, with the ids and times that another agent would give it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, AnalysisStage, Metric, MetricRun
from gitops_bg.core.model.decision import Span
from gitops_bg.core.model.hooks import HookAnswer, HookRun, HookType
from gitops_bg.core.model.record import Event, LedgerEntry, Record, Rollout, RolloutOutcome
from gitops_bg.core.model.statements import Hold
from gitops_bg.core.model.version import AppKey, Stabilization, Stage
from gitops_bg.core.status.events import app_events
from tests.core.records import record_of
from tests.core.simulation import Simulation, automatic, manual
from tests.core.worlds import EARLIER, digest, source, version

APP = AppKey("shop", "web")


def at(minutes: float) -> datetime:
    return EARLIER + timedelta(minutes=minutes)


NOW = at(60)
BEGUN = Rollout(7, 2, digest(2), EARLIER)
READY = replace(BEGUN, available_at=at(1))
NAMED = replace(READY, promoted_at=at(9), commit="c0ffee")
MOVED = replace(NAMED, switched_at=at(10), outcome=RolloutOutcome.PROMOTED, finished_at=at(10))
SETTLED = replace(MOVED, settled_at=at(11))
BACK = replace(SETTLED, outcome=RolloutOutcome.ROLLED_BACK, finished_at=at(20))
ABORTED = replace(READY, outcome=RolloutOutcome.ABORTED, finished_at=at(5))
WAITING = replace(READY, waiting_since=at(2))
RUN = AnalysisRun(AnalysisStage.PRE, digest(2), 7, started_at=at(2), metrics=(MetricRun(Metric("errors", "web")),))
PASSED = replace(RUN, phase=AnalysisPhase.SUCCESSFUL, finished_at=at(4))
FAILED = replace(RUN, phase=AnalysisPhase.FAILED, finished_at=at(4))
HOOK = HookRun(
    "tests", HookType.PRE_ROLLOUT, digest(2), 7, since=at(1), tries=1, last_at=at(2), answer=HookAnswer.UNANSWERED
)
ENTRY = LedgerEntry(4, at(1), Event.CANDIDATE, 7, to_version=2, to_digest=digest(2), by="Ada <ada@example.com>")
SERVING = version(2, Stage.ACTIVE, rollout=7, activated_at=at(10))
PROVING = replace(SERVING, stabilization=Stabilization(3, at(10)))


def book(rollout: Rollout | None = READY, **more: Any) -> Record:
    return record_of(**{"epoch": "5eed", "sequence": 3, "rollouts": (rollout,) if rollout else (), **more})


def spans(app: AppKey, before: Record, after: Record, now: datetime) -> list[Span]:
    return [one.span for one in app_events(app, before, after, now) if one.span is not None]


def said(found: list[Span]) -> list[tuple[str, float, float, str]]:
    """Name, beginning and end in minutes, and what failed."""
    minutes = [
        ((one.start - EARLIER) / timedelta(minutes=1), (one.end - EARLIER) / timedelta(minutes=1)) for one in found
    ]
    return [(one.name, *times, one.error) for one, times in zip(found, minutes, strict=True)]


ROOT = "rollout web v2"
CASES: dict[str, tuple[Record, Record, list[tuple[str, float, float, str]]]] = {
    "nothing happened": (book(), book(), []),
    "a rollout begins": (book(None), book(BEGUN), []),
    "a record without an epoch is of no app yet": (Record(), record_of(rollouts=(SETTLED,)), []),
    "its pods are available": (book(BEGUN), book(READY), [("deploy", 0, 1, "")]),
    "main names it": (book(READY), book(NAMED), [("gates", 1, 9, "")]),
    "traffic moved": (book(NAMED), book(MOVED), [("switch", 9, 10, "")]),
    "it is settled": (book(MOVED), book(SETTLED), [("settle", 10, 11, ""), (ROOT, 0, 11, "")]),
    "it was settled before": (book(SETTLED), book(SETTLED, replicas=4), []),
    "all of it in one pass": (
        book(None),
        book(SETTLED),
        [("deploy", 0, 1, ""), ("gates", 1, 9, ""), ("switch", 9, 10, ""), ("settle", 10, 11, ""), (ROOT, 0, 11, "")],
    ),
    "somebody merged before its pods were available": (
        book(BEGUN),
        book(replace(BEGUN, available_at=at(3), promoted_at=at(2))),
        [("deploy", 0, 3, ""), ("gates", 3, 3, "")],
    ),
    "it was aborted": (
        book(READY),
        book(ABORTED, holds=(Hold(digest(2), "9 > 1", at(5)),)),
        [(ROOT, 0, 5, "9 > 1")],
    ),
    "it was aborted, and nothing says why": (
        book(READY),
        book(ABORTED),
        [(ROOT, 0, 5, f"v2 ({digest(2)[3:13]}): Aborted")],
    ),
    "another one took its place": (
        book(READY),
        book(replace(ABORTED, outcome=RolloutOutcome.SUPERSEDED)),
        [(ROOT, 0, 5, "")],
    ),
    "it went back after it had settled": (
        book(SETTLED),
        book(BACK, past_holds=(Hold(digest(2), "5xx", at(20)),)),
        [("way back", 11, 20, "5xx")],
    ),
    "it went back before it had settled": (
        book(MOVED),
        book(replace(BACK, settled_at=None), holds=(Hold(digest(2), "5xx", at(20)),)),
        [(ROOT, 0, 20, "5xx")],
    ),
    "it waits for people": (book(READY), book(WAITING), []),
    "it still waits": (book(WAITING), book(WAITING, replicas=4), []),
    "it waited for people until now": (book(WAITING), book(READY), [("waiting for people", 2, 60, "")]),
    "it waited until it ended": (
        book(WAITING),
        book(replace(ABORTED, outcome=RolloutOutcome.CANCELLED, waiting_since=at(2))),
        [("waiting for people", 2, 5, ""), (ROOT, 0, 5, "")],
    ),
    "an analysis begins": (book(), book(analysis=(RUN,)), []),
    "an analysis passed": (book(analysis=(RUN,)), book(analysis=(PASSED,)), [("pre-promotion analysis", 2, 4, "")]),
    "an analysis had passed": (book(analysis=(PASSED,)), book(analysis=(PASSED,), replicas=4), []),
    "an analysis of a rollout that is forgotten": (book(None), book(None, analysis=(PASSED,)), []),
    "a hook does not answer": (book(), book(hooks=(HOOK,)), []),
    "a hook accepted": (
        book(hooks=(HOOK,)),
        book(hooks=(replace(HOOK, answer=HookAnswer.ACCEPTED, accepted=1, since=at(3), last_at=at(3)),)),
        [("hook tests", 1, 3, "")],
    ),
    "a hook is given up": (
        book(hooks=(HOOK,)),
        book(hooks=(replace(HOOK, expired=True),)),
        [("hook tests", 1, 2, "pre-rollout hook tests expired")],
    ),
    "a ledger entry": (book(), book(ledger=(ENTRY,), sequence=4), [("candidate", 1, 1, "")]),
    "an entry that was there before": (
        book(sequence=4, ledger=(ENTRY,)),
        book(NAMED, sequence=4, ledger=(ENTRY,)),
        [("gates", 1, 9, "")],
    ),
    "an entry of no rollout": (book(), book(ledger=(replace(ENTRY, rollout=0),), sequence=4), []),
    "an entry that is an error": (
        book(),
        book(ledger=(replace(ENTRY, event=Event.FAILED, by="", reason="no pods"),), sequence=4),
        [("failed", 1, 1, "no pods")],
    ),
    "a version is on probation": (book(SETTLED), book(SETTLED, versions=(PROVING,)), []),
    "a version was proven": (
        book(SETTLED, versions=(PROVING,)),
        book(SETTLED, versions=(SERVING,)),
        [("probation", 10, 60, "")],
    ),
    "traffic left a version on probation": (
        book(SETTLED, versions=(PROVING,)),
        book(SETTLED, versions=(replace(SERVING, stage=Stage.LEGACY, unproven=True),)),
        [("probation", 10, 60, "traffic left it before it was proven")],
    ),
    "a version on probation is in its next rollout": (
        book(SETTLED, versions=(replace(PROVING, rollout=8),)),
        book(SETTLED, versions=(replace(SERVING, rollout=8),)),
        [],
    ),
}


@pytest.mark.parametrize(("before", "after", "ended"), CASES.values(), ids=list(CASES))
def test_what_ends_is_a_span(before: Record, after: Record, ended: list[tuple[str, float, float, str]]) -> None:
    assert said(spans(APP, before, after, NOW)) == ended


def test_a_failed_analysis_says_which_metric_failed() -> None:
    (span,) = spans(APP, book(analysis=(RUN,)), book(analysis=(FAILED,)), NOW)
    assert span.error
    assert dict(span.attributes)["gitops_bg.analysis.phase"] == "Failed"
    assert dict(span.attributes)["gitops_bg.analysis.metrics"] == "errors"


def test_a_span_says_of_which_app_version_and_commit_it_is() -> None:
    versions = (version(2, Stage.ACTIVE, rollout=7, source=source(2)),)
    root = spans(APP, book(MOVED, versions=versions), book(SETTLED, versions=versions), NOW)[-1]
    assert dict(root.attributes) == {
        "k8s.namespace.name": "shop",
        "gitops_bg.app": "web",
        "gitops_bg.rollout": 7,
        "gitops_bg.version": "v2",
        "gitops_bg.digest": digest(2),
        "gitops_bg.commit": source(2).commit,
        "gitops_bg.author": source(2).author,
        "gitops_bg.outcome": "Promoted",
        "gitops_bg.waited_seconds": 0,
    }


def test_the_gates_name_the_commit_that_promoted_it() -> None:
    (gates,) = spans(APP, book(READY), book(NAMED), NOW)
    assert dict(gates.attributes)["gitops_bg.promotion.commit"] == "c0ffee"


def test_a_ledger_entry_says_who() -> None:
    (moment,) = spans(APP, book(), book(ledger=(ENTRY,), sequence=4), NOW)
    said = dict(moment.attributes)
    assert (said["gitops_bg.event"], said["gitops_bg.by"]) == ("candidate", "Ada <ada@example.com>")
    assert "gitops_bg.reason" not in said


def test_children_lead_to_the_span_they_are_part_of() -> None:
    versions = (PROVING,)
    before = book(replace(MOVED, waiting_since=at(2)), analysis=(RUN,), hooks=(HOOK,), versions=versions)
    post = replace(PASSED, stage=AnalysisStage.POST, started_at=at(10), finished_at=at(11))
    answered = replace(HOOK, accepted=1, answer=HookAnswer.ACCEPTED)
    after = book(SETTLED, analysis=(PASSED, post), hooks=(answered,), versions=(SERVING,), ledger=(ENTRY,), sequence=4)
    found = {one.name: one for one in spans(APP, before, after, NOW)}
    gates = spans(APP, book(READY), book(NAMED), NOW)[0].span_id
    parents = {name: one.parent_id for name, one in found.items()}
    root, settle = found[ROOT].span_id, found["settle"].span_id
    assert parents == {
        "candidate": root,
        "pre-promotion analysis": gates,
        "post-promotion analysis": settle,
        "hook tests": gates,
        "settle": root,
        "waiting for people": gates,
        "probation": root,
        ROOT: "",
    }
    assert len({one.span_id for one in found.values()}) == len(found)
    assert len({one.trace_id for one in found.values()}) == 1


def test_the_trace_on_the_page_has_the_spans_of_a_rollout_each_below_its_parent() -> None:
    page = (Path(__file__).parents[3] / "docs" / "features" / "monitoring.md").read_text()
    tree = page.partition(f"```\n{ROOT}\n")[2].partition("```")[0].splitlines()
    below, shown = "", {ROOT: ""}
    for line in tree:
        name, is_inner = line.lstrip("│├└─ "), line.startswith("│")
        shown[name] = below if is_inner else ROOT
        below = below if is_inner else name
    steps = [book(None), book(replace(WAITING, promoted_at=None), analysis=(RUN,), versions=(PROVING,))]
    promoted = replace(ENTRY, sequence=5, event=Event.PROMOTED)
    steps.append(book(SETTLED, analysis=(PASSED,), versions=(SERVING,), ledger=(ENTRY, promoted), sequence=5))
    found = {one.span_id: one for old, new in pairwise(steps) for one in spans(APP, old, new, NOW)}
    parents = {one.name: found[one.parent_id].name if one.parent_id else "" for one in found.values()}
    assert shown == parents


@pytest.mark.parametrize(
    ("app", "record", "same"),
    [
        (APP, book(SETTLED), True),
        (AppKey("shop", "api"), book(SETTLED), False),
        (APP, book(replace(SETTLED, number=8)), False),
        (APP, book(SETTLED, epoch="another life"), False),
    ],
)
def test_a_trace_is_that_of_one_rollout_of_one_life_of_an_app(app: AppKey, record: Record, same: bool) -> None:
    one = spans(APP, book(None), book(SETTLED), NOW)[0]
    other = spans(app, replace(record, rollouts=()), record, NOW)[0]
    assert (one.trace_id == other.trace_id, one.span_id == other.span_id) == (same, same)
    assert (len(one.trace_id), len(one.span_id)) == (32, 16)


class Traced(Simulation):
    """Keeps the spans of each pass."""

    def step(self, writes: int | None = None) -> Any:
        before = self.record
        try:
            return super().step(writes)
        finally:
            self.found = [*getattr(self, "found", ()), *spans(APP, before, self.record, self.now)]


@pytest.mark.parametrize("spec", [automatic(), manual()])
def test_whole_rollouts_have_one_root_each_and_no_span_twice(spec: Any) -> None:
    world = Traced(spec)
    for tag in ("1", "2", "3"):
        world.push(tag)
        world.settle()
        if not spec.strategy.auto_promotion_enabled and world.live != tag:
            world.later(minutes=5)
            world.merge()
            world.settle()
    world.revert_promotion()
    world.settle()
    assert len({one.span_id for one in world.found}) == len(world.found)
    roots = [one for one in world.found if not one.parent_id]
    assert [one.name for one in roots][:3] == ["rollout web v1", "rollout web v2", "rollout web v3"]
    known = {one.span_id for one in world.found}
    assert all(one.parent_id in known for one in world.found if one.parent_id), "a parent that never comes"
    assert "way back" in [one.name for one in world.found]
