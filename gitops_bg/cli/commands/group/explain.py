"""`group explain`: why a group is as it is: decides on fresh facts with the engine; writes nothing."""

from typing import Annotated

import typer

from gitops_bg.cli.commands.group.arguments import Group
from gitops_bg.cli.exit_codes import NOT_SO, OK
from gitops_bg.cli.options.options import AppOptions
from gitops_bg.cli.session.group_session import group_facts, group_in_git
from gitops_bg.cli.session.heard_gates import with_heard_gates_of_group
from gitops_bg.cli.session.location import group_named
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.groups.explanation import Explanation, drawn_explanation, json_explanation
from gitops_bg.cli.views.output import Output
from gitops_bg.core.model.conditions import Phase


def explain(
    group: Group,
    at: AppOptions,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 unless the group is Healthy.")] = False,
) -> int:
    """Explain what a group waits for: its versions, their services, each gate, what comes next, and what to do.

    Example: gitops-bg group explain shop/store
    """
    output = Output(at.out)
    with Session(at.git, at.kube, at.place, about=group_named(group), note=output.note) as session:
        facts, now = group_facts(session, group_in_git(session, group, at.place.namespace)), session.now
        decision = with_heard_gates_of_group(facts.decide(now), facts)
        found = Explanation(facts.group, facts.desired, facts.observed, decision, now)
    if output.json:
        output.data(json_explanation(found))
    else:
        output.show(drawn_explanation(found))
    return NOT_SO if exit_code and found.decision.phase is not Phase.HEALTHY else OK
