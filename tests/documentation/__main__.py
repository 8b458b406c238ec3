"""`python -m tests.documentation` prints docs/architecture/stages.md; with --write-docs it is written."""

import argparse
import sys

from tests.documentation.stages_page import PAGE, page


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(prog="python -m tests.documentation", description=__doc__)
    parser.add_argument("--write-docs", action="store_true", help="write it instead of printing it")
    if parser.parse_args().write_docs:
        PAGE.write_text(page())
    else:
        sys.stdout.write(page())


if __name__ == "__main__":
    main()
