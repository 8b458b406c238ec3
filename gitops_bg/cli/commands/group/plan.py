"""`group plan`: what main, the branch of a pull request, or another `active` would do to the live group now.

Writes nothing.
"""

from dataclasses import replace
from typing import Annotated

import typer

from gitops_bg.cli.commands.group.arguments import Group, a_version_or_none
from gitops_bg.cli.options import completion
from gitops_bg.cli.options.options import AppOptions
from gitops_bg.cli.planning.group_plans import planned_group
from gitops_bg.cli.session.group_session import asking_for, group_facts, group_in_git
from gitops_bg.cli.session.location import group_named
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.groups.planned_group import drawn_plan, json_plan
from gitops_bg.cli.views.output import Output


def plan(
    group: Group,
    at: AppOptions,
    version: Annotated[
        str,
        typer.Argument(
            parser=a_version_or_none,
            metavar="[VERSION]",
            autocompletion=completion.group_versions,
            help="As if group.yaml asked for it; none: as it does.",
        ),
    ] = "",
) -> None:
    """Show what would be done to a group now, changing nothing: moves, gates, and who answers which request then.

    With --branch it is for the pull request of a branch, with VERSION as if group.yaml asked for that.

    Example: gitops-bg group plan shop/store v2
    """
    output, about = Output(at.out), replace(group_named(group), if_branch=True)
    with Session(at.git, at.kube, at.place, about=about, note=output.note) as session:
        facts = group_facts(session, group_in_git(session, group, at.place.namespace))
        asking = asking_for(facts, version)
        found = planned_group(asking, session.now, asked_for=version if asking is not facts else "")
    if output.json:
        output.data(json_plan(found))
    else:
        output.show(drawn_plan(found))
        output.line(f"at commit {found.commit[:10]}", "dim")
