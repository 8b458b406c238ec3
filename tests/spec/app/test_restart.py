"""`restartAt` and `maxUnavailable` in app.yaml."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gitops_bg.core.model.spec import A_QUARTER, IntOrPercent
from gitops_bg.spec.app.load import AppConfig, load_app
from tests.spec.texts import TARGET, WEB, app_with, source_of


def load(*lines: str, blue_green: str = "") -> AppConfig:
    files = {"app.yaml": app_with(*lines, blue_green=blue_green).encode(), "target.yaml": TARGET.encode()}
    return load_app(WEB, files, source_of)


def test_time_is_read_in_any_zone() -> None:
    spec = load('restartAt: "2026-03-01T14:00:00+02:00"').spec
    assert spec is not None
    assert spec.restart_at == datetime(2026, 3, 1, 12, tzinfo=UTC)


SHARES = {
    "": A_QUARTER,
    "maxUnavailable: 0": IntOrPercent(0),
    "maxUnavailable: 2": IntOrPercent(2),
    'maxUnavailable: "0%"': IntOrPercent(0, percent=True),
    "maxUnavailable: 50%": IntOrPercent(50, percent=True),
    "maxUnavailable: 100%": IntOrPercent(100, percent=True),
}


@pytest.mark.parametrize("said", SHARES)
def test_share_is_a_number_or_a_percentage(said: str) -> None:
    spec = load(blue_green=said).spec
    assert spec is not None
    assert spec.strategy.max_unavailable == SHARES[said]


WRONG = {
    ("restartAt: tomorrow", ""): "spec.restartAt: must be a time with its zone, such as 2026-03-01T12:00:00Z",
    ('restartAt: "2026-03-01"', ""): "spec.restartAt: must be a time with its zone, such as 2026-03-01T12:00:00Z",
    **{
        (
            "",
            f"maxUnavailable: {value}",
        ): "spec.strategy.blueGreen.maxUnavailable: must be a number of pods, 0 or more, "
        'or a share of them from "0%" to "100%"'
        for value in ("-1", "101%", "1.5", "1.5%", "half", "true", '"2"')
    },
}


@pytest.mark.parametrize(("line", "blue_green"), WRONG)
def test_bad_input_is_refused_with_its_line(line: str, blue_green: str) -> None:
    problems = load(*filter(None, [line]), blue_green=blue_green).problems
    assert [str(problem) for problem in problems] == [f"apps/shop/web/app.yaml:8: {WRONG[line, blue_green]}"]
