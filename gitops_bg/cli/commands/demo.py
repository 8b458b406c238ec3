"""`demo`: whole days on one machine. `gitops_bg.cli.demo` implements it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem


class StoryName(StrEnum):
    """The values of `--story`."""

    DAY = "day"
    PULL_REQUESTS = "pull-requests"


def demo(
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write what happened as JSON.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep everything running, and print what to try.")] = False,
    story: Annotated[
        StoryName | None,
        typer.Option(
            "--story", help="Tell this one only. Default: both where a Gitea server is at hand, else the day."
        ),
    ] = None,
) -> int:
    """Show it all: push, promote, roll back; no cluster, no network. Exit 1 if anything is not as expected.

    Pull requests need Gitea: `gitea` on the PATH, or the folder that GITOPS_BG_FORGE names, with bin/gitea and static/.

    Example: gitops-bg demo --report report.json
    """
    from gitops_bg.cli.demo.day import DAY
    from gitops_bg.cli.demo.demo import run_demo
    from gitops_bg.cli.demo.gitea import gitea_at_hand
    from gitops_bg.cli.demo.pull_requests import pull_requests

    assets = gitea_at_hand()
    if story is StoryName.PULL_REQUESTS and assets is None:
        remedy = "put `gitea` on the PATH, or set GITOPS_BG_FORGE to a folder with bin/gitea and static/"
        raise InvalidInput(Problem("--story", "the story of pull requests needs a Gitea server", remedy=remedy))
    stories = [] if story is StoryName.PULL_REQUESTS else [DAY]
    wants_more = story is StoryName.PULL_REQUESTS or (story is None and not keep)
    if assets is not None and wants_more:
        stories.append(pull_requests(assets))
    return run_demo(report, keep, stories)
