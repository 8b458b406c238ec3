"""The table of stages: what can happen to a version in each, and that nothing else can."""

import pytest

from gitops_bg.core.model.version import NEXT, UNKNOWN, ImpossibleStage, Stage, StageEvent, can, stage_after

IMPOSSIBLE = [(stage, event) for stage in (UNKNOWN, *Stage) for event in StageEvent if (stage, event) not in NEXT]


@pytest.mark.parametrize(("stage", "event"), IMPOSSIBLE)
def test_what_the_table_does_not_have_is_refused(stage: Stage | None, event: StageEvent) -> None:
    with pytest.raises(ImpossibleStage, match=f"{event} cannot happen to a version that is {stage or 'unknown'}"):
        stage_after(stage, event)


@pytest.mark.parametrize(
    ("stage", "event", "why"),
    [
        (Stage.ARCHIVED, StageEvent.TRAFFIC_CAME, "it has no pods: it is recalled first"),
        (Stage.ACTIVE, StageEvent.EXPIRED, "live traffic goes to it"),
        (Stage.ACTIVE, StageEvent.WANTED, "it serves already: there is nothing to bring forward"),
        (Stage.LEGACY, StageEvent.FORGOTTEN, "it may have pods: it is archived first"),
    ],
)
def test_traffic_is_safe_from(stage: Stage, event: StageEvent, why: str) -> None:
    assert not can(stage, event), why


def test_only_an_active_version_can_be_left_by_traffic_and_only_an_archived_one_forgotten() -> None:
    assert [stage for stage in Stage if can(stage, StageEvent.TRAFFIC_LEFT)] == [Stage.ACTIVE]
    assert [stage for stage in Stage if can(stage, StageEvent.FORGOTTEN)] == [Stage.ARCHIVED]
