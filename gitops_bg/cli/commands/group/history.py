"""`group history`: the last promotions and rollbacks of a group, from its live object."""

from collections.abc import Iterable

from rich.table import Table

from gitops_bg.cli.commands.group.arguments import Group
from gitops_bg.cli.commands.group.live import full_name, live_groups
from gitops_bg.cli.options.options import LiveOptions
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.output import Output, said
from gitops_bg.spec.groups.status import GroupMoveStatus, GroupStatus


def history(at: LiveOptions, group: Group) -> None:
    """Show the last promotions and rollbacks of a group, the newest first, with the commit of main that each followed.

    Example: gitops-bg group history shop/store
    """
    output = Output(at.out)
    with Session(kube=at.kube, place=at.place) as session:
        (body,) = live_groups(session.cluster.client, at.place.namespace, group)
    moves = GroupStatus.read(body.get("status")).history or ()
    if output.json:
        output.data({"group": full_name(body), "history": [move.stored() for move in moves]})
    elif not moves:
        output.note(f"{full_name(body)} was neither promoted nor rolled back yet")
    else:
        output.show(_history(moves))


def _history(moves: Iterable[GroupMoveStatus]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("AT", "WHAT", "FROM", "TO", "COMMIT", "WHY"):
        table.add_column(title)
    for move in moves:
        commit = (move.commit or "-")[:10]
        cells = (str(move.at or "-"), move.kind, move.source, move.target, commit, move.reason or "-")
        table.add_row(*(said(cell) for cell in cells))
    return table
