"""`demo`: a whole day on one machine. The demo itself is `gitops_bg.cli.demo`."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write what happened as JSON.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave everything running, and say what to try.")] = False,
) -> int:
    """Show it all: push, promote, roll back; no cluster, no network. Exit 1 if anything is not as expected.

    Example: gitops-bg demo --report report.json
    """
    from gitops_bg.cli.demo import run_demo

    return run_demo(report, keep)
