"""docs/reference/events.md is what the table of events says."""

from tests.documentation.events_page import COMMAND, PAGE, page


def test_page_is_as_the_table_of_events_is():
    assert PAGE.read_text() == page(), f"docs/reference/events.md is stale: run `{COMMAND}`"
