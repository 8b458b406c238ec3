"""`group get`: what `get` shows, of groups alone. It only reads."""

import math

from gitops_bg.cli.commands.group.arguments import OptionalGroup
from gitops_bg.cli.commands.group.live import live_groups
from gitops_bg.cli.commands.group.tree import show_group
from gitops_bg.cli.commands.inspect.get import Everywhere, Listed, show_all
from gitops_bg.cli.commands.inspect.watch import heard
from gitops_bg.cli.options.options import LiveOptions, Watch, WatchTimeout
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.groups.group_tree import GroupView, drawn_group, json_tree, read_group
from gitops_bg.cli.views.output import Output
from gitops_bg.cli.views.watching.watch_view import follow, picture_screen
from gitops_bg.core import names


def get(
    at: LiveOptions,
    group: OptionalGroup = "",
    watch: Watch = False,
    everywhere: Everywhere = False,
    timeout: WatchTimeout = math.inf,
) -> None:
    """List groups, or show one as a tree: the same as `get`, of groups alone.

    Example: gitops-bg group get shop/store -w
    """
    output = Output(at.out)
    with Session(kube=at.kube, place=at.place) as session:
        if not group:
            namespace = "" if everywhere else at.place.namespace
            listed = Listed(session, output, namespace, groups_only=True)
            show_all(listed, at, timeout, watch=watch)
            return

        def read() -> GroupView:
            (body,) = live_groups(session.client, at.place.namespace, group)
            return read_group(session, body)

        seen = read()
        if not watch:
            show_group(output, seen, session.now)
            return
        with (
            heard(at, seen.group.namespace, names.APP) as wait,
            picture_screen(output, drawn_group, json_tree) as screen,
        ):
            follow(read, screen, wait, timeout)
