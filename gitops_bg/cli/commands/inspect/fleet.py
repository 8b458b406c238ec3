"""`fleet`: what serves in every cluster of the repository, from their ledgers in Git. Asks no cluster."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from gitops_bg.cli.errors import NameNotFound
from gitops_bg.cli.options.options import AppGroupOrAll, GitOptions, OutputOptions, PlaceOptions
from gitops_bg.cli.output import Output, literal
from gitops_bg.cli.session.location import ALL, apps_named
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.listing import Column, Line, Listing
from gitops_bg.views.fleet import FleetRow, fleet_of, json_of_ledger, reports

_COLUMNS = (
    Column("NAME"),
    Column("CLUSTER"),
    Column("ACTIVE"),
    Column("CANDIDATE", 1),
    Column("HOLDS", 3),
    Column("SINCE", 2),
    Column("LAST EVENT"),
)


def fleet(
    git: GitOptions,
    place: PlaceOptions,
    out: OutputOptions,
    app: AppGroupOrAll = None,
    differing: Annotated[
        bool,
        typer.Option("--differing", help="Show only what does not serve the same everywhere where it is."),
    ] = False,
) -> None:
    """Show what serves in every cluster of the repository, and what waits there, from their ledgers in Git.

    It asks no cluster; --cluster shows that one alone. A ledger is as old as its last commit: an agent writes only when
    something happens.

    Example: gitops-bg fleet --differing
    """
    output = Output(out)
    with Session(git, None, place, about=apps_named(app) if app else ALL, note=output.notice) as session:
        ledgers = session.repository.ledgers.read()
    known = [each for each in fleet_of(ledgers, place.namespace) if app in (None, each.about.name, str(each.about))]
    if app and not known:
        raise NameNotFound(f"no ledger knows {app}: there are those of {', '.join(each.cluster for each in ledgers)}")
    rows = [each for each in known if git.cluster in ("", each.cluster) and not (differing and each.agrees)]
    if output.json:
        output.data({"clusters": [json_of_ledger(each) for each in ledgers], "items": [each.json() for each in rows]})
        return
    if rows:
        output.show(Listing(_COLUMNS, (Line(_cells(each)) for each in rows)))
    else:
        output.line("every cluster that has an app serves the same version of it" if known else "no ledger has any app")
    for sentence in reports(ledgers, datetime.now(UTC)):
        output.notice(sentence)


def _cells(row: FleetRow) -> tuple[Text, ...]:
    holds = len(row.document.state.holds)
    since = f"{row.since:%Y-%m-%d %H:%M}Z" if row.since else "-"
    active = literal(row.active or "-", "" if row.agrees else "yellow")
    rest = (row.candidate or "-", str(holds or "-"), since, row.last or "-")
    return (literal(str(row.about)), literal(row.cluster), active, *map(literal, rest))
