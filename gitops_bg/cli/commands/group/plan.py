"""`group plan`: what a promotion or a rollback of a group would change. It only reads."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table

from gitops_bg.agent.groups.facts import GroupFacts
from gitops_bg.cli.commands.group.arguments import Group, a_version
from gitops_bg.cli.commands.group.looking import look
from gitops_bg.cli.errors import CommandFailed, ObjectNotFound
from gitops_bg.cli.options.options import AppOptions
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.gate_rows import gate_rows, json_of_gate
from gitops_bg.cli.views.output import Output, said
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.groups.forecast import Difference, Forecast, forecast
from gitops_bg.core.groups.gates import gates_of
from gitops_bg.core.groups.model import PromotionRejected, Rejection, VersionStage
from gitops_bg.core.groups.world import GroupWorld


def plan(
    group: Group,
    at: AppOptions,
    version: Annotated[
        str,
        typer.Argument(
            parser=lambda text: a_version(text) if text else "",
            metavar="[VERSION]",
            help="None: what group.yaml asks for, else the newest candidate.",
        ),
    ] = "",
) -> None:
    """Show what a promotion or a rollback of a group would change: stages, who answers which request, and Services.

    Example: gitops-bg group plan shop/store v2
    """
    output = Output(at.out)
    with Session(at.git, at.kube, at.place) as session:
        facts, now = look(session, group), session.now
        world = facts.world(facts.decide(now).record, now)
        if world is None:
            raise InvalidInput(*facts.desired.problems)
        if not world.record.state.versions:
            raise CommandFailed(f"nothing of {facts.key} is registered yet: see gitops-bg group explain {facts.key}")
        target = version or _meant(world)
        if not target:
            raise CommandFailed(f"{facts.key} has no candidate: {world.spec.active} serves, as group.yaml asks")
        foreseen = _foreseen(world, target)
        if output.json:
            output.data(_json(facts, world, foreseen))
        else:
            _show(output, facts, world, foreseen)


def _foreseen(world: GroupWorld, target: str) -> Forecast:
    try:
        return forecast(world, target)
    except PromotionRejected as error:
        if error.why is Rejection.NO_SUCH_VERSION:
            known = ", ".join(each.name for each in world.record.state.versions)
            raise ObjectNotFound(f"{world.key} has no version {target}; it has {known}") from error
        raise CommandFailed(str(error)) from error


def _meant(world: GroupWorld) -> str:
    """The version that group.yaml asks for, else the newest candidate; empty for none."""
    state = world.record.state
    if state.stage(world.spec.active) is not VersionStage.ACTIVE:
        return world.spec.active
    return next(reversed(state.at(VersionStage.CANDIDATE)), "")


def _json(facts: GroupFacts, world: GroupWorld, foreseen: Forecast) -> dict[str, Any]:
    gates = gates_of(world, foreseen.target)
    return {
        "group": str(facts.key),
        "asked": world.spec.active == foreseen.target,
        **asdict(foreseen),
        "gates": [json_of_gate(gate, world.now) for gate in gates],
    }


def _show(output: Output, facts: GroupFacts, world: GroupWorld, foreseen: Forecast) -> None:
    output.line(f"{facts.key}: {foreseen.kind.lower()} from {foreseen.source} to {foreseen.target}", "bold")
    header = world.spec.gateway.version_header if world.spec.gateway else "a header"
    for table in tables(foreseen, header):
        output.show(Padding(table, (0, 0, 0, 2)))
    output.line("  before that:")
    output.show(Padding(gate_rows(gates_of(world, foreseen.target), world.now), (0, 0, 0, 2)))
    if world.spec.active != foreseen.target:
        output.line("  policies are asked once group.yaml asks for it", "dim")


def tables(foreseen: Forecast, header: str) -> Iterator[Table]:
    """Yield what would be different; ``header`` names the versions of requests."""
    found = (
        ("VERSION", foreseen.stages, "deleted"),
        (f"REQUESTS WITHOUT {header}", foreseen.requests, "nobody"),
        ("SERVICE", foreseen.services, "deleted"),
    )
    yield from (_table(title, rows, gone) for title, rows, gone in found if rows)


def _table(title: str, rows: tuple[Difference, ...], gone: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in (title, "NOW", "AFTER"):
        table.add_column(column)
    for each in rows:
        table.add_row(said(each.what), said(each.now or "-"), said(each.after or gone))
    return table
