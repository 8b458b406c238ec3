"""`group get`: the stages of groups. It only reads."""

from typing import Annotated, Any

import typer
from rich.table import Table

from gitops_bg.cli.commands.group.arguments import a_group
from gitops_bg.cli.commands.group.lookup import live, name_of
from gitops_bg.cli.options.options import LiveOptions
from gitops_bg.cli.session.connect import access
from gitops_bg.cli.views.output import Output, said
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import Object
from gitops_bg.spec.groups.status import GroupStatus


def get(
    at: LiveOptions,
    group: Annotated[
        str,
        typer.Argument(parser=lambda text: a_group(text) if text else "", metavar="[GROUP]", help="None: all of them."),
    ] = "",
) -> None:
    """Show the stages of groups: which version serves, which a rollback leads to, which may be promoted.

    Example: gitops-bg group get shop/store
    """
    output = Output(at.out)
    client = Client(access(at.kube))
    try:
        bodies = live(client, at.place.namespace, group)
    finally:
        client.close()
    if output.json:
        output.data({"groups": [_json(body) for body in bodies]})
    elif not bodies:
        output.note("no groups here yet: the agent makes them from the repository")
    elif group:
        _show(output, bodies[0])
    else:
        output.show(_list(bodies))


def _json(body: Object) -> dict[str, Any]:
    status = GroupStatus.read(body.get("status")).stored()
    status.pop("record", None)
    return {"namespace": body["metadata"]["namespace"], "name": body["metadata"]["name"], **status}


def _list(bodies: list[Object]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("GROUP", "ACTIVE", "LEGACY", "CANDIDATES", "PHASE"):
        table.add_column(title)
    for body in bodies:
        status = GroupStatus.read(body.get("status"))
        name = name_of(body)
        candidates = ", ".join(status.candidates or ())
        cells = (name, status.active, status.legacy, candidates, status.phase)
        table.add_row(*(said(cell or "-") for cell in cells))
    return table


def _show(output: Output, body: Object) -> None:
    status = GroupStatus.read(body.get("status"))
    output.line(f"{name_of(body)}  {status.phase or ''}  {status.message or ''}")
    for version in status.versions or ():
        output.line(f"  {version.name}  {version.stage}  {', '.join(version.services or ())}")
    if status.transition is not None:
        moving = status.transition
        output.line(f"  {moving.kind} {moving.source} -> {moving.target}: {moving.step}")
    for gate in status.gates or ():
        output.line(f"  {'open' if gate.open else 'shut'}  {gate.kind}: {gate.reason or ''}")
