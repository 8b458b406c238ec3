"""The bench runs, on a few apps, and says something of every row; how fast is no business of a test."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench import report
from tests.bench.rows import KEYS, Row, percentile
from tests.bench.soak import Sample, verdicts
from tests.bench.stage import Size

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_quick_bench_on_the_sandbox_has_every_row() -> None:
    command = [sys.executable, "-m", "tests.bench", "--quick", "--apps", "24", "--cluster", "sandbox", "-o", "json"]
    keys = ["cold-start", "idle", "change", "cycle", "switch", "revert", "thousand", "decide", "forge", "command-line"]
    keys += ["restart", "scale", "environments"]
    command += ["--only", *keys]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert sorted({row["key"] for row in rows}) == sorted(keys)
    assert all(row["value"] >= 0 for row in rows if row["unit"] != "KiB")
    scale = [row for row in rows if row["key"] == "scale"]
    assert [row["apps"] for row in scale if row["work"] == "cold start"] == [1, 10, 24]
    assert {part["work"]: part["value"] for part in scale if part["unit"] == "KiB"}["… status"] > 1
    facts = {row["work"]: row for row in rows}
    assert facts["… commands started"]["detail"] == "1 ls-remote"
    assert facts["… requests to the API server"]["value"] == 0
    assert facts["… commits"]["value"] == 0
    assert facts["cold start, nothing to do"]["detail"].endswith("0 writes")


@pytest.mark.slow
@pytest.mark.real_forge
def test_a_few_agents_on_one_gitea_have_every_figure() -> None:
    command = [sys.executable, "-m", "tests.bench.fleets", "--agents", "4", "--processes", "2", "--poll", "1"]
    done = subprocess.run(
        [*command, "--idle", "2", "--pushes", "1"], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    for said in ("1 in dev, 1 in staging, 2 in prod", "live in all of prod", "push conflicts an hour", "nothing to do"):
        assert said in done.stdout


@pytest.mark.parametrize(
    ("apps", "rows", "auto"),
    [
        (10_000, KEYS, 1_000),
        (100, ["thousand", "change"], 79),
        (100, ["thousand"], 99),
        (100, ["change", "switch"], 0),
        (120, ["change"], 100),
    ],
)
def test_the_apps_that_promote_themselves_are_those_that_the_other_rows_leave(
    apps: int, rows: list[str], auto: int
) -> None:
    assert Size().with_apps(apps, rows).auto == auto


def test_too_few_apps_for_the_rows_are_said() -> None:
    with pytest.raises(ValueError, match="100 apps are too few for these rows; see --apps, --only and --quick"):
        Size().with_apps(100, KEYS)


@pytest.mark.slow
def test_a_short_soak_plays_rounds_and_ends_with_healthy_apps() -> None:
    command = [sys.executable, "-m", "tests.bench.soak", "--apps", "10", "--minutes", "0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert "10 apps, 6 rounds: 1.5 simulated days in " in done.stdout, done.stderr
    assert "10 apps are healthy at the end" in done.stdout


@pytest.mark.parametrize(
    ("memory", "is_flat"),
    [
        ([100.0] * 40, True),
        ([100.0 + number for number in range(20)] + [120.0] * 20, True),
        ([100.0] * 20 + [120.0, 119.0] * 10, True),
        ([100.0] * 39 + [900.0], True),
        ([100.0 + number % 2 for number in range(40)], True),
        ([100.0 + number / 2 for number in range(40)], False),
        ([100.0 + number / 2 + 30 * (number % 7 == 0) for number in range(40)], False),
    ],
    ids=["flat", "the start", "a step", "a peak", "up and down", "a slow leak", "a slow leak with peaks"],
)
def test_a_resource_is_flat_where_the_last_third_of_the_time_adds_nothing(memory: list[float], is_flat: bool) -> None:
    others = dict.fromkeys(("descriptors", "threads", "mirror", "packs"), 1.0)
    samples = [Sample(number, 1.0, {**others, "memory": each}) for number, each in enumerate(memory)]
    assert [each.is_flat for each in verdicts(samples)] == [is_flat, True, True, True, True]


@pytest.mark.parametrize(("shares", "is_below"), [([200.0, 490.0] * 20, True), ([200.0] * 39 + [501.0], False)])
def test_the_mirror_may_go_up_and_down_below_its_bound(shares: list[float], is_below: bool) -> None:
    others = dict.fromkeys(("descriptors", "threads", "memory", "packs"), 1.0)
    samples = [Sample(number, 1.0, {**others, "mirror": each}) for number, each in enumerate(shares)]
    assert {each.name: each.is_flat for each in verdicts(samples)} == {
        **dict.fromkeys(others, True),
        "mirror": is_below,
    }


def test_the_page_gets_the_table_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text("before\n<!-- bench -->\nold\n<!-- /bench -->\nafter\n")
    report.write_page([Row("idle", "idle tick", 12.0, "ms", 10.0, "sandbox", 10_000, "why")], page)
    text = page.read_text()
    assert text.startswith("before\n<!-- bench -->\n")
    assert text.endswith("\n<!-- /bench -->\nafter\n")
    assert "| idle tick | sandbox | 10,000 | 12 ms | 10 ms | MISSED | 1.20 | why |" in text
    assert "old" not in text


def test_a_page_without_marks_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text("nothing here\n")
    with pytest.raises(ValueError, match="<!-- bench -->"):
        report.write_page([], page)


def test_the_percentile_is_a_value_that_was_measured() -> None:
    assert percentile([5.0, 1.0, 3.0], 50) == 3.0
    assert percentile(list(map(float, range(1, 101))), 99) == 99.0
