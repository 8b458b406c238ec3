"""`python -m tests.conformance` prints the tables of scenarios and fields; with --write-docs they go to docs/."""

import argparse
import sys

from tests.conformance.document import PAGES


def main() -> None:
    """Print the pages, or write them."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--write-docs", action="store_true", help="write them instead of printing them")
    writes = parser.parse_args().write_docs
    for page, write in PAGES.items():
        text = write()
        if writes:
            page.write_text(text)
        else:
            sys.stdout.write(text)


if __name__ == "__main__":
    main()
