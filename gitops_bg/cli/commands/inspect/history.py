"""`history`: all past events of an app or a release group, from the ledger. Reads the state branch; asks no cluster."""

from collections.abc import Iterable
from dataclasses import replace
from types import UnionType
from typing import Annotated

import typer
from rich.text import Text

from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options.groups import OptionalGroup
from gitops_bg.cli.options.options import AppGroupOrAll, AppOptions
from gitops_bg.cli.output import Output, literal
from gitops_bg.cli.session.ledger import demanded, report_unverified_entries
from gitops_bg.cli.session.location import ALL, About, apps_named, group_named
from gitops_bg.cli.session.session import Session, group_meant
from gitops_bg.cli.views.listing import Column, Line, Listing
from gitops_bg.cluster.api.kinds import RELEASE_GROUPS
from gitops_bg.core.model.record import Event
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey
from gitops_bg.repo.repository import Repository
from gitops_bg.views.history import HistoryRow, contents_of, with_policies

Overrides = Annotated[
    bool, typer.Option("--overrides", help="Show only promotions that overrode a policy, of the one named, or of all.")
]
Limit = Annotated[int, typer.Option("--limit", "-l", min=1, help="Show at most so many, newest first.")]
_ENDLESS = 1_000_000


def history(
    at: AppOptions,
    app: AppGroupOrAll = None,
    overrides: Overrides = False,
    limit: Limit = _ENDLESS,
) -> None:
    """Show the history of an app: what, when, from which version to which, by whom, why.

    Changes of promotion policies are of all apps, and stand between the entries. Of all apps it shows --overrides only.

    Example: gitops-bg history shop/web
    """
    if app is None and not overrides:
        raise UsageError("which app? Name one, or ask for `gitops-bg history --overrides` of all")
    with _reading(at, apps_named(app) if app else ALL) as session:
        if app is None:
            _show_overrides(Output(at.out), session.repository, at.place.namespace, AppOrGroup, limit)
        else:
            _show(Output(at.out), session.repository, session.app(app), limit, overrides=overrides)


def of_group(
    at: AppOptions,
    group: OptionalGroup = "",
    overrides: Overrides = False,
    limit: Limit = _ENDLESS,
) -> None:
    """Show the history of a group: what `history` shows, also of one whose folder left main.

    Of all groups it shows --overrides alone.

    Example: gitops-bg group history shop/store
    """
    if not group and not overrides:
        raise UsageError("which group? Name one, or ask for `gitops-bg group history --overrides` of all")
    with _reading(at, group_named(group) if group else replace(ALL, kind=RELEASE_GROUPS)) as session:
        if not group:
            _show_overrides(Output(at.out), session.repository, at.place.namespace, GroupKey, limit)
        else:
            named = group_meant(session, group, at.place.namespace)
            _show(Output(at.out), session.repository, named, limit, overrides=overrides)


def _reading(at: AppOptions, about: About) -> Session:
    """Return a session that reads the ledger; one that is named is that of another cluster, or of none any more."""
    kube = None if at.git.cluster else at.kube
    return Session(at.git, kube, at.place, about=about, with_ledger=True, note=Output(at.out).notice)


def _show(output: Output, repository: Repository, about: AppOrGroup, limit: int, *, overrides: bool) -> None:
    """Show the entries of an app or a group, newest first, with the changes of policies between them; or its overrides
    alone.
    """
    entries = demanded(repository, about, repository.history.of(about, limit), may_be_new=overrides)
    report_unverified_entries(repository, output, about)
    if overrides:
        _show_overridden(output, repository, [about], limit)
        return
    held = contents_of(repository.primaries(about), about) if isinstance(about, AppKey) else {}
    told = with_policies([HistoryRow(each, about, held) for each in entries], repository.policy_log.changes())[:limit]
    if output.json:
        branch = repository.settings.state_branch
        output.data({about.kind: str(about), "ledger": branch, "entries": [each.json for each in told]})
    else:
        output.show(table_of(told))


def _show_overrides(
    output: Output, repository: Repository, namespace: str, kind: type[AppKey] | type[GroupKey] | UnionType, limit: int
) -> None:
    """Show every promotion in spite of a policy, of all of a kind, or of both."""
    known = repository.ledger.positions()
    asked = (each for each in known if isinstance(each, kind) and namespace in ("", each.namespace))
    report_unverified_entries(repository, output)
    _show_overridden(output, repository, sorted(asked, key=str), limit)


def _show_overridden(output: Output, repository: Repository, about: Iterable[AppOrGroup], limit: int) -> None:
    """Show the promotions of these in spite of a policy, newest first."""
    found = (HistoryRow(each, one) for one in about for each in repository.history.of(one))
    rows = sorted((each for each in found if each.event is Event.OVERRIDDEN), key=lambda row: row.at, reverse=True)
    if output.json:
        entries = [each.named | each.json for each in rows[:limit]]
        output.data({"ledger": repository.settings.state_branch, "entries": entries})
    elif rows:
        output.show(table_of(rows[:limit], with_name=True))
    else:
        output.line(f"no policy was overridden, says {repository.settings.state_branch}")


_COLUMNS = (
    Column("WHEN"),
    Column("NAME"),
    Column("EVENT"),
    Column("FROM", 1),
    Column("TO"),
    Column("BY"),
    Column("COMMIT", 2),
    Column("REASON"),
)


def table_of(rows: list[HistoryRow], *, with_name: bool = False) -> Listing:
    """Return the entries as a table."""
    columns = [each for each in _COLUMNS if with_name or each.title != "NAME"]
    return Listing(columns, (Line(_cells(row, with_name)) for row in rows))


def _cells(row: HistoryRow, with_name: bool) -> tuple[Text, ...]:
    when, name = literal(f"{row.at:%Y-%m-%d %H:%M:%SZ}"), [literal(row.about)] if with_name else []
    return (when, *name, literal(row.event, row.style), *map(literal, row.cells))
