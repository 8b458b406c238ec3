"""`group tree`: a group with its versions, their services, ReplicaSets and pods. It only reads."""

from datetime import datetime

from gitops_bg.cli.commands.group.arguments import Group
from gitops_bg.cli.commands.group.live import live_groups
from gitops_bg.cli.options.options import LiveOptions
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.groups.group_tree import GroupView, drawn_group, json_tree, read_group
from gitops_bg.cli.views.output import Output


def tree(group: Group, at: LiveOptions) -> None:
    """Show a group as a tree: its versions, their services with ReplicaSets and pods, its Services, routes and gates.

    Example: gitops-bg group tree shop/store
    """
    output = Output(at.out)
    with Session(kube=at.kube, place=at.place) as session:
        (body,) = live_groups(session.client, at.place.namespace, group)
        show_group(output, read_group(session, body), session.now)


def show_group(output: Output, view: GroupView, now: datetime) -> None:
    """Show one group, in either format."""
    if output.json:
        output.data({"items": [json_tree(view)]})
    output.show(drawn_group(view, now))
