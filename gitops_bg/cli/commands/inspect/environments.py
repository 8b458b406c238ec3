"""`environments` and `where`: which release is in which environment, and where one thing is on its way, from main and
the ledgers in Git. Asks no cluster.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import typer

from gitops_bg.agent.desired.releases import held_in_main, offered_releases
from gitops_bg.cli.errors import CommandFailed, NameNotFound
from gitops_bg.cli.options import completion
from gitops_bg.cli.options.options import GitOptions, OutputOptions, PlaceOptions
from gitops_bg.cli.options.values import an_app
from gitops_bg.cli.output import Output, literal
from gitops_bg.cli.session.location import ALL
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.listing import Column, Line, Listing
from gitops_bg.core.checks.policy_judge import proofs_asked_for, proofs_awaited
from gitops_bg.core.environments.model import Environments
from gitops_bg.core.model.policy_rules import After
from gitops_bg.core.model.version import AppKey, ReleaseId
from gitops_bg.repo.ledger.ledger import ClusterLedger
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import DEFAULT_TARGET_FILE, ENVIRONMENTS_FILE, POLICIES_FOLDER
from gitops_bg.spec.manifests.target import metadata_of
from gitops_bg.spec.policies.load import load_policies
from gitops_bg.spec.yaml.reader import read_one
from gitops_bg.views.environments import EnvironmentsRow, Has, InMain, environments_of, whereabouts
from gitops_bg.views.fleet import json_of_ledger, reports

_RELEASE = re.compile(r"r[1-9][0-9]*|r1:[0-9a-f]{7,64}")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


def environments(
    git: GitOptions,
    place: PlaceOptions,
    out: OutputOptions,
    app: Annotated[
        str | None,
        typer.Argument(
            parser=an_app,
            metavar="[APP]",
            autocompletion=completion.apps_and_groups,
            help="NAME or NAMESPACE/NAME. Default: all apps.",
        ),
    ] = None,
) -> None:
    """Show which release of each app is in which environment, and what the next one waits for.

    It asks no cluster: it reads main, and the ledgers in Git, each of which is as old as its last commit. Of one app it
    shows what each environment waits for.

    Example: gitops-bg environments shop/web
    """
    output = Output(out)
    with Session(git, None, place, about=ALL, note=output.notice) as session:
        there, ledgers, rows = rows_of(session.repository, place.namespace)
    rows = [each for each in rows if app in (None, each.app.name, str(each.app))]
    if app and not rows:
        raise NameNotFound(f"{app} is in no environment; `gitops-bg environments` shows what is")
    if output.json:
        items = [each.json() for each in rows]
        output.data({"clusters": [json_of_ledger(each) for each in ledgers], "items": items})
        return
    columns = (Column("APP"), *(Column(each.upper()) for each in there.names))
    output.show(Listing(columns, (_line(there, each) for each in rows)))
    for row in rows if app else ():
        for cell in row.cells:
            for said in filter(None, (cell.choice.waits, *(f"unclear, {each}" for each in cell.troubles))):
                output.line(f"{cell.environment}: {said}")
    for sentence in reports(ledgers, datetime.now(UTC)):
        output.notice(sentence)


def _line(shown: Environments, row: EnvironmentsRow) -> Line:
    cells = (row.cell(each) for each in shown.names)
    return Line((literal(str(row.app)), *(literal(cell.text if cell else "") for cell in cells)))


def where(
    git: GitOptions,
    place: PlaceOptions,
    out: OutputOptions,
    what: Annotated[
        str,
        typer.Argument(
            metavar="COMMIT|IMAGE|RELEASE",
            help="A commit of main, an image or its tag, or a release as `environments` names it: r12, or r1: and its "
            "digest.",
        ),
    ],
) -> None:
    """Show in which environments a commit, an image or a release is, and what it waits for in the others.

    An environment has a commit once it has a release that contains it. It asks no cluster, see `environments`.

    Example: gitops-bg where 9be1c03
    """
    output = Output(out)
    with Session(git, None, place, about=ALL, note=output.notice) as session:
        _, ledgers, rows = rows_of(session.repository, place.namespace)
        found = list(whereabouts(rows, _finder(session.repository, what)))
    if not found:
        raise NameNotFound(f"{what} serves in no environment, and is neither on its way nor on hold in any")
    if output.json:
        output.data({"clusters": [json_of_ledger(each) for each in ledgers], "items": [each.json() for each in found]})
        return
    columns = (Column("APP"), Column("ENVIRONMENT"), Column("RELEASE"), Column("STATE"))
    lines = (
        Line(
            (
                literal(str(each.app)),
                literal(each.environment),
                literal(each.release.name if each.release else "-"),
                literal(each.state),
            )
        )
        for each in found
    )
    output.show(Listing(columns, lines))


def rows_of(
    repository: Repository, namespace: str
) -> tuple[Environments, Sequence[ClusterLedger], list[EnvironmentsRow]]:
    """Return the environments of main, the ledgers of all clusters, and a row for each app. Raises `NameNotFound`
    where the repository has no environments, `CommandFailed` where nobody can tell. A file that has a mistake, or is
    gone, is read as agents do: its last valid content holds, and nothing comes in.
    """
    there, problems = repository.environments_in_force()
    if not there:
        if problems:
            raise CommandFailed("; ".join(map(str, problems)))
        raise NameNotFound(f"the repository has no {ENVIRONMENTS_FILE}, so it has no environments")
    ledgers, held, unclear = repository.ledgers.read(), partial(held_in_main, repository), "; ".join(map(str, problems))
    main = InMain(repository.placed, held, offered_releases(repository), unclear, _asked(repository))
    rows = environments_of(there, ledgers, repository.inner_folders(), main, namespace)
    return there, ledgers, rows


def _asked(repository: Repository) -> Callable[[AppKey, str], tuple[After, ...]]:
    """Return what policies of main ask of releases of an app in an environment."""
    files = {path: file.content for path, file in repository.files_below(POLICIES_FOLDER).items()}
    policies = [each.policy for each in load_policies(files).written if proofs_asked_for((each.policy,))]

    def asked(app: AppKey, environment: str) -> tuple[After, ...]:
        target = repository.text_file(f"{repository.places.folder(app)}/{DEFAULT_TARGET_FILE}") if policies else None
        document = read_one(DEFAULT_TARGET_FILE, target)[0] if isinstance(target, bytes) else None
        return proofs_awaited(policies, app, metadata_of(document, "labels"), environment)

    return asked


def _finder(repository: Repository, what: str) -> Has:
    """Tells whether a release has what somebody looks for."""
    if _RELEASE.fullmatch(what):
        return lambda _app, release, _tag: release.name == what or (":" in what and release.digest.startswith(what))
    commit = repository.mirror.commit(what) if _COMMIT.fullmatch(what) else ""
    if commit:
        touched = repository.apps_touched_by(commit)

        def has(app: AppKey, release: ReleaseId, _tag: str) -> bool:
            return app in touched and repository.mirror.is_ancestor(commit, release.commit)

        return has
    tag = what.rpartition("/")[2].partition("@")[0].rpartition(":")[2]
    return lambda _app, _release, known: bool(known) and known == tag
