"""The Events of rollouts and analyses: each once, in the words of Argo Rollouts (argo-rollouts.md §4)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_bg.core.model.analysis import AnalysisPhase, AnalysisRun, AnalysisStage, Measurement, Metric, MetricRun
from gitops_bg.core.model.decision import RolloutEnd
from gitops_bg.core.model.record import Event, LedgerEntry, Rollout, RolloutOutcome, Switch, SwitchKind
from gitops_bg.core.status.events import app_events, entry_message, waited
from tests.core.records import record_of
from tests.core.simulation import APP, deployed, manual
from tests.core.stories import kubernetes_events
from tests.core.worlds import EARLIER, NOW, digest

MINUTE = timedelta(minutes=1)
BEGUN = Rollout(7, 2, digest(2), EARLIER)
BEGINS = LedgerEntry(3, EARLIER, Event.CANDIDATE, rollout=7, to_version=2, to_digest=digest(2))
WAITING = replace(BEGUN, waiting_since=EARLIER)
PROMOTED = replace(BEGUN, outcome=RolloutOutcome.PROMOTED, finished_at=EARLIER)
SETTLED = replace(PROMOTED, settled_at=EARLIER + MINUTE)
BACK = replace(SETTLED, outcome=RolloutOutcome.ROLLED_BACK)

SWITCH = Switch(digest(1), digest(2), SwitchKind.PROMOTION, EARLIER)
WENT_BACK = LedgerEntry(
    4, EARLIER, Event.ROLLED_BACK, 6, 2, digest(2), 1, digest(1), reason="errors", from_tag="2", to_tag="1"
)
OF_ANOTHER = replace(WENT_BACK, from_version=3, from_digest=digest(3))

ERRORS = MetricRun(Metric("errors", "web"))
DRY = MetricRun(Metric("slow", "web", dry_run=True), failed=1)
RUN = AnalysisRun(AnalysisStage.POST, digest(2), 7, started_at=EARLIER, metrics=(ERRORS,))
OVER = replace(RUN, stage=AnalysisStage.PRE, phase=AnalysisPhase.SUCCESSFUL)
FAILED_METRIC = replace(
    ERRORS,
    failed=1,
    measurements=(Measurement(AnalysisPhase.FAILED, EARLIER, "9", "9 > 1"),),
)


def book(rollout: Rollout | None) -> dict[str, Any]:
    return {"rollouts": (rollout,) if rollout else ()}


def analysis(run: AnalysisRun | None) -> dict[str, Any]:
    return {"analysis": (run,) if run else ()}


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[tuple[str, bool]]]] = {
    "nothing": (book(BEGUN), book(BEGUN), []),
    "a rollout begins": (book(None), book(BEGUN), [("RolloutStarted", False)]),
    "the rollout of a candidate begins": (book(None), book(BEGUN) | {"ledger": (BEGINS,)}, []),
    "a rollout begins when another candidate is told": (
        book(None),
        book(BEGUN) | {"ledger": (replace(BEGINS, rollout=BEGUN.number + 1),)},
        [("RolloutStarted", False)],
    ),
    "a rollout begins whose candidate was told before": (
        book(None) | {"ledger": (BEGINS,), "sequence": 3},
        book(BEGUN) | {"ledger": (BEGINS,), "sequence": 3},
        [("RolloutStarted", False)],
    ),
    "it waits for people": (book(BEGUN), book(WAITING), [("RolloutPaused", False)]),
    "it goes on": (book(WAITING), book(replace(BEGUN, waited_seconds=9)), [("RolloutResumed", False)]),
    "it waits no more because it has ended": (
        book(WAITING),
        book(replace(BEGUN, outcome=RolloutOutcome.SUPERSEDED)),
        [("RolloutNotCompleted", False)],
    ),
    "it waits no more because it is promoted": (
        book(WAITING),
        book(replace(BEGUN, outcome=RolloutOutcome.PROMOTED)),
        [("RolloutResumed", False)],
    ),
    "it goes on to live traffic: the promotion is told": (
        book(WAITING),
        book(replace(BEGUN, waited_seconds=9)) | {"switch": SWITCH},
        [],
    ),
    "it goes on, while traffic moves elsewhere": (
        book(WAITING),
        book(replace(BEGUN, waited_seconds=9)) | {"switch": replace(SWITCH, to_digest=digest(3))},
        [("RolloutResumed", False)],
    ),
    "it was promoted, and the endpoints have not followed": (book(BEGUN), book(PROMOTED), []),
    "it was promoted in full": (book(BEGUN), book(replace(PROMOTED, outcome=RolloutOutcome.FAST_PROMOTED)), []),
    "it is complete": (book(PROMOTED), book(SETTLED), [("RolloutCompleted", False)]),
    "traffic went back from it": (book(SETTLED), book(BACK), [("RolloutNotCompleted", False)]),
    "traffic went back from it, as its entry tells": (
        book(SETTLED) | {"epoch": "e", "sequence": 3},
        book(BACK) | {"epoch": "e", "sequence": 4, "ledger": (WENT_BACK,)},
        [],
    ),
    "traffic went back from it, and an entry tells of another": (
        book(SETTLED) | {"epoch": "e", "sequence": 3},
        book(BACK) | {"epoch": "e", "sequence": 4, "ledger": (OF_ANOTHER,)},
        [("RolloutNotCompleted", False)],
    ),
    "traffic went back from it, after an entry that is known": (
        book(SETTLED) | {"epoch": "e", "sequence": 4},
        book(BACK) | {"epoch": "e", "sequence": 4, "ledger": (WENT_BACK,)},
        [("RolloutNotCompleted", False)],
    ),
    "it was promoted in full, and is still to settle": (
        book(BEGUN),
        book(replace(BEGUN, outcome=RolloutOutcome.FAST_PROMOTED)),
        [],
    ),
    "it was aborted": (
        book(BEGUN),
        book(replace(BEGUN, outcome=RolloutOutcome.ABORTED)),
        [("RolloutNotCompleted", False)],
    ),
    "a run that waits for its metrics": (analysis(None), analysis(replace(RUN, started_at=None, metrics=())), []),
    "a run begins": (analysis(None), analysis(RUN), [("AnalysisRunRunning", False)]),
    "a metric fails, and with it the run": (
        analysis(RUN),
        analysis(replace(RUN, phase=AnalysisPhase.FAILED, metrics=(FAILED_METRIC,))),
        [("MetricFailed", True), ("AnalysisRunFailed", True)],
    ),
    "a dry run fails": (analysis(RUN), analysis(replace(RUN, metrics=(ERRORS, DRY))), [("MetricFailed", False)]),
    "a run is good": (
        analysis(RUN),
        analysis(replace(RUN, phase=AnalysisPhase.SUCCESSFUL)),
        [("AnalysisRunSuccessful", False)],
    ),
    "a run has no answer": (
        analysis(RUN),
        analysis(replace(RUN, phase=AnalysisPhase.INCONCLUSIVE)),
        [("AnalysisRunInconclusive", True)],
    ),
    "a run that is over before anybody heard of it": (
        analysis(None),
        analysis(replace(RUN, phase=AnalysisPhase.SUCCESSFUL)),
        [("AnalysisRunRunning", False), ("AnalysisRunSuccessful", False)],
    ),
    "a run begins beside one that is over, of which all was told": (
        {"analysis": (OVER,)},
        {"analysis": (OVER, RUN)},
        [("AnalysisRunRunning", False)],
    ),
    "a fresh attempt": (
        analysis(replace(RUN, phase=AnalysisPhase.INCONCLUSIVE)),
        analysis(replace(RUN, attempt=2)),
        [("AnalysisRunRunning", False)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_news_where(case: str) -> None:
    before, after, expected = CASES[case]
    assert [(one.reason, one.warning) for one in kubernetes_events(record_of(**before), record_of(**after))] == expected
    assert list(kubernetes_events(record_of(**after), record_of(**after))) == []


FIRST = LedgerEntry(1, EARLIER, Event.DEPLOYED, to_version=1, to_digest=digest(1), reason="web: deploy v1", to_tag="1")
SENTENCES = {
    WENT_BACK: "rolled-back: live traffic goes from 2 (v2) to 1 (v1): errors",
    FIRST: "deployed: live traffic goes to 1 (v1): web: deploy v1",
    LedgerEntry(
        2, EARLIER, Event.CANDIDATE, to_version=2, to_digest=digest(2), reason="web v2", to_tag="2"
    ): "candidate: 2 (v2): web v2",
    LedgerEntry(2, EARLIER, Event.PROMOTED, from_version=1, to_version=2): "promoted: live traffic goes from v1 to v2",
    LedgerEntry(2, EARLIER, Event.HOOK_REFUSED, to_version=2, reason="not yet"): "hook-refused: v2: not yet",
    LedgerEntry(
        2, EARLIER, Event.CANDIDATE, rollout=2, to_version=2, to_digest=digest(2), reason="web v2", to_tag="2"
    ): "candidate: rollout 2 of 2 (v2) begins: web v2",
    LedgerEntry(3, EARLIER, Event.VALID): "valid",
}


@pytest.mark.parametrize("entry", SENTENCES, ids=lambda entry: entry.event)
def test_the_event_of_an_entry_says_where_traffic_goes(entry: LedgerEntry) -> None:
    assert entry_message(entry) == SENTENCES[entry]


def test_sentence_says_which_rollout_and_why() -> None:
    failed = replace(RUN, phase=AnalysisPhase.FAILED, metrics=(FAILED_METRIC,))
    said = [one.message for one in kubernetes_events(record_of(**analysis(RUN)), record_of(**analysis(failed)))]
    assert said[1] == "post-promotion analysis of rollout 7: errors ✔0 ✖1 ?0 ⚠0 of 1: 9 > 1 (measured 9)"


def test_what_is_decided_again_because_it_was_not_saved_has_happened_once() -> None:
    world = deployed(manual())
    world.push("2")
    first, again = world.decide(), world.decide()
    assert first.events == again.events != ()
    world.record = first.record
    assert first.events != world.decide().events, "a restart goes on from the saved record"
    world.settle()
    assert world.decide().events == ()


def test_clean_update_is_told_in_order() -> None:
    world = deployed(manual())
    before = world.record
    said = []
    world.push("2")
    for act in (lambda: None, world.merge):
        act()
        for _ in range(20):
            world.step()
            world.pods_come_up()
            said += [one.reason for one in kubernetes_events(before, world.record)]
            before = world.record
    assert said == ["RolloutPaused", "RolloutCompleted"], "the entry of the candidate says that it begins"


def ended(before: Rollout, after: Rollout) -> list[RolloutOutcome]:
    happened = app_events(APP, record_of(**book(before)), record_of(**book(after)), NOW)
    return [one.fact.outcome for one in happened if isinstance(one.fact, RolloutEnd)]


def test_rollout_that_is_rolled_back_ends_twice() -> None:
    first, second = ended(BEGUN, PROMOTED), ended(SETTLED, BACK)
    assert (first, second) == ([RolloutOutcome.PROMOTED], [RolloutOutcome.ROLLED_BACK])
    assert ended(BACK, BACK) == []


@pytest.mark.parametrize(
    ("rollout", "seconds"),
    [
        (replace(PROMOTED, waited_seconds=7), 7),
        (replace(BEGUN, waited_seconds=7, waiting_since=EARLIER), 7),
        (replace(WAITING, waited_seconds=7, finished_at=EARLIER + MINUTE), 67),
    ],
)
def test_waited_for_people(rollout: Rollout, seconds: int) -> None:
    assert waited(rollout) == seconds
