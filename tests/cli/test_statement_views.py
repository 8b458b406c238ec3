"""What `explain` shows of who said what: of the versions that matter, in the order in which it counts."""

from datetime import UTC, datetime

from rich.console import Console, Group

from gitops_bg.cli.views.statements import drawn, json_of, telling
from gitops_bg.core.model.statements import Cause, Says, Statement

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SAID = (
    Statement("v1:9", Says.REFUSED, NOON, Cause.LATE, "long ago"),
    Statement("v1:2", Says.REFUSED, NOON, Cause.ROLLED_BACK, 'Revert "web 2"', "Ada", "9be1ab12cd" * 4),
    Statement("v1:2", Says.CLEARED, NOON, reason="retried", by="Bob"),
    Statement("v1:2", Says.REFUSED, NOON, Cause.LATE, "not available within 600 s"),
    Statement("v1:1", Says.WANTED, NOON, Cause.LATE, "not available within 600 s"),
)
NAMES = {"v1:1": "v1", "v1:2": "v2"}


def test_a_statement_says_what_was_said_when_by_whom_and_by_which_commit() -> None:
    console = Console(width=200, color_system=None, force_terminal=False)
    with console.capture() as shown:
        console.print(Group(*drawn(telling(SAID, {"v1:2"}), NAMES.__getitem__, 2)))
    assert [line.rstrip() for line in shown.get().splitlines()] == [
        '  v2 was refused at 2026-01-01 12:00:00Z by Ada, commit 9be1ab12cd: Revert "web 2"',
        "  v2 was cleared at 2026-01-01 12:00:00Z by Bob: retried",
        "  v2 was refused at 2026-01-01 12:00:00Z by the agent: not available within 600 s",
        "  v1 was wanted live at 2026-01-01 12:00:00Z by the agent: not available within 600 s",
    ]


def test_programs_get_the_same_with_the_name_of_the_version() -> None:
    refused, *others = json_of(telling(SAID, {"v1:2"}), NAMES.__getitem__)
    assert (refused["version"], refused["says"], refused["by"], refused["cause"]) == (
        "v2",
        "refused",
        "Ada",
        "rolled-back",
    )
    assert [each["says"] for each in others] == ["cleared", "refused", "wanted"]


def test_nobody_is_told_of_a_version_that_is_of_no_concern_but_always_where_traffic_goes() -> None:
    assert [each.says for each in telling(SAID, ())] == [Says.WANTED]
