"""`python -m tests.documentation` prints the pages that are made from tables and models; --write-docs writes them."""

import argparse
import sys

from tests.documentation import (
    checks_page,
    events_page,
    metrics_page,
    stages_page,
    status_page,
    verbs_page,
)
from tests.documentation.release import chart_page, compatibility_page


def main() -> None:
    """Print the pages, or write them."""
    parser = argparse.ArgumentParser(prog="python -m tests.documentation", description=__doc__)
    parser.add_argument("--write-docs", action="store_true", help="write them instead of printing them")
    write = parser.parse_args().write_docs
    for each in (
        stages_page,
        events_page,
        status_page,
        checks_page,
        metrics_page,
        verbs_page,
        chart_page,
        compatibility_page,
    ):
        if write:
            each.PAGE.write_text(each.page())
        else:
            sys.stdout.write(each.page())


if __name__ == "__main__":
    main()
