"""`demo`: whole days on one machine. `gitops_bg.cli.demo` implements it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem


class StoryName(StrEnum):
    """The stories by name."""

    DAY = "day"
    GROUP = "group"
    ENVIRONMENTS = "environments"
    PULL_REQUESTS = "pull-requests"


def demo(
    story: Annotated[
        StoryName | None,
        typer.Argument(
            metavar="[STORY]",
            help="day, group, environments or pull-requests. Default: the day, and pull requests if Gitea is at hand.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write what happened as JSON.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep everything running, and print what to try.")] = False,
) -> int:
    """Show it all: push, promote, roll back; no cluster, no network. Exit 1 if anything is not as expected.

    Pull requests need Gitea: `gitea` on the PATH, or the folder that GITOPS_BG_FORGE names, with bin/gitea and static/.

    Example: gitops-bg demo environments --report report.json
    """
    from gitops_bg.cli.demo.demo import run_demo
    from gitops_bg.cli.demo.gitea import gitea_at_hand
    from gitops_bg.cli.demo.stories.day import DAY
    from gitops_bg.cli.demo.stories.environments import ENVIRONMENTS_STORY
    from gitops_bg.cli.demo.stories.group import GROUP_STORY
    from gitops_bg.cli.demo.stories.pull_requests import pull_requests

    assets = gitea_at_hand()
    if story is StoryName.PULL_REQUESTS and assets is None:
        remedy = "put `gitea` on the PATH, or set GITOPS_BG_FORGE to a folder with bin/gitea and static/"
        raise InvalidInput(Problem("pull-requests", "this story needs a Gitea server", remedy=remedy))
    stories = {StoryName.DAY: DAY, StoryName.GROUP: GROUP_STORY, StoryName.ENVIRONMENTS: ENVIRONMENTS_STORY}
    if assets is not None:
        stories[StoryName.PULL_REQUESTS] = pull_requests(assets)
    if story is not None:
        return run_demo(report, keep, [stories[story]])
    both = [StoryName.DAY] if keep else [StoryName.DAY, StoryName.PULL_REQUESTS]
    return run_demo(report, keep, [stories[name] for name in both if name in stories])
