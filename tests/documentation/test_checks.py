"""docs/reference/checks.md is what the rules say."""

from tests.documentation.checks_page import COMMAND, PAGE, page


def test_page_is_as_the_rules_are():
    assert PAGE.read_text() == page(), f"docs/reference/checks.md is stale: run `{COMMAND}`"
