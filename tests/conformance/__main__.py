"""`python -m tests.conformance` prints the table of scenarios and fields; with --write-docs it goes to docs/."""

import argparse
import sys

from tests.conformance.document import PAGE, render


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--write-docs", action="store_true", help=f"write {PAGE.name} instead of printing it")
    if parser.parse_args().write_docs:
        PAGE.write_text(render())
    else:
        sys.stdout.write(render())


if __name__ == "__main__":
    main()
