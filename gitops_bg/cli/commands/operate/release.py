"""What people do with releases: `hold` one back from every further environment, or let it in again, and `enter` one
into an environment in spite of one that has not proven it. Each is one commit that says who and why.

Neither touches live traffic: where a release serves, it stays; what entered goes through the gates of its environment.
"""

from typing import Annotated

import typer

from gitops_bg.agent.desired.releases import held_in_main, release_change
from gitops_bg.agent.operate.commits import CommitPlan
from gitops_bg.cli.commands.inspect.environments import rows_of
from gitops_bg.cli.errors import OK, REFUSED, CommandFailed, NameNotFound, UsageError
from gitops_bg.cli.options.options import App, AppOptions, AuthorOptions, CommitOptions, PlaceOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.commits import commit_change, follow_push
from gitops_bg.cli.repository.user_git import author
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.session import Session
from gitops_bg.core.checks.release_choice import missing_in
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.proven import KnownRelease, newest_first
from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.actions import EnterRelease
from gitops_bg.core.model.version import ReleaseId
from gitops_bg.repo.git.errors import PushRefused
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.write.promotion import PrimaryResult
from gitops_bg.spec.app.layout import APP_FILE
from gitops_bg.spec.manifests.edit import set_held_release
from gitops_bg.views.environments import EnvironmentsRow, releases_in

Release = Annotated[
    str,
    typer.Option("--release", metavar="RELEASE", help="The release, as `environments` names it: r12, or its digest."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldOptions:
    """Which release, where, and why."""

    release: Release
    reason: Annotated[
        str, typer.Option("--reason", "-r", "--message", "-m", help="Why; shown wherever the release is waited for.")
    ] = ""
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="In all environments, which is what there is: say that you know it.")
    ] = False
    lift: Annotated[bool, typer.Option("--lift", help="Let it in again.")] = False


def hold(app: App, at: AppOptions, person: AuthorOptions, how: HoldOptions) -> None:
    """Keep a release from coming into any further environment; where it serves, it stays. `--lift` lets it in again.

    Example: gitops-bg hold shop/web --release r12 --everywhere --reason 'loses orders'
    """
    output = Output(at.out, dry_run=person.dry_run)
    if not (how.everywhere or how.lift):
        raise UsageError("say --everywhere; a revert of its promotion in one environment holds a release in that one")
    if not (how.reason or how.lift):
        raise UsageError("say why, by --reason: it is shown wherever the release is waited for")
    by = author(person.author)
    with Session(at.git, at.kube, at.place, by, about=apps_named(app), note=output.notice) as session:
        row = _row(session, at.place, app)
        release = _release(row, how.release)
        path = f"{session.repository.places.folder(row.app)}/{APP_FILE}"
        why = None if how.lift else f"{release.name}: {how.reason} ({by[0]})"
        subject = f"{row.app.name}: {'let in' if how.lift else 'hold'} {release.name}"
        plan = CommitPlan({path: lambda data: set_held_release(data, release.digest, why, path)}, subject, how.reason)
        commit = commit_change(session, output, plan)
    became = "comes in again" if how.lift else "comes into no further environment"
    said = f"{row.app}: {release.name} {became} {f'by commit {commit[:10]}' if commit else 'already'}"
    output.both({"app": str(row.app), "release": release.name, "commit": commit, "changed": bool(commit)}, said)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterOptions:
    """Which release, where, and in spite of which environments."""

    release: Release
    into: Annotated[str, typer.Option("--into", metavar="ENVIRONMENT", help="The environment that it comes into.")]
    skip: Annotated[
        list[str] | None,
        typer.Option("--skip", metavar="ENVIRONMENT", help="An environment before that has not proven it. Several."),
    ] = None


def enter(app: App, at: AppOptions, commit: CommitOptions, what: EnterOptions) -> int:
    """Let a release into an environment now, as a hotfix: commit release.yaml there. Exit 3 where main takes only pull
    requests.

    Every environment before that has not proven it has to be named by --skip, and the commit says so. Its traffic
    follows through the gates of its environment, as always.

    Example: gitops-bg enter shop/web --release r12 --into prod --skip staging -m 'INC-4711'
    """
    output = Output(at.out, dry_run=commit.person.dry_run)
    by = author(commit.person.author)
    with Session(at.git, at.kube, at.place, by, about=apps_named(app), note=output.notice) as session:
        row = _row(session, at.place, app)
        release, skipped = _release(row, what.release), tuple(what.skip or ())
        _demand_skipped(row, what.into, release, skipped, commit.message)
        repository = session.repository
        _demand_let_in(repository, row, what.into, release)
        former = tuple(each.environment for each in row.cells if each.environment != what.into)
        reason = commit.message or "a person asked for it"
        who = f"{by[0]} <{by[1]}>"
        action = EnterRelease(what.into, release, release.commit, former, reason, by=who, skipped=skipped)
        change = release_change(repository, row.app, action, repository.head, row.environments)
        output.would(f"would let {release.name} of {row.app} into {what.into}")
        branch = ""
        try:
            outcome = repository.promotions.commit([change])[row.app]
        except PushRefused:
            outcome = repository.promotions.offer([change])[row.app]
            branch = change.entry.branch if change.entry is not None else ""
        if outcome.result is PrimaryResult.SUPERSEDED:
            raise WorldChanged(f"{row.app}: somebody touched its files in main meanwhile; look, and run it again")
        changed = outcome.result is PrimaryResult.COMMITTED
        follow_push(session, output, outcome.commit if changed and not branch else "")
    where = f"is offered on {branch}: merge it" if branch else f"came into {what.into}"
    said = f"{row.app}: {release.name} {where}; commit {outcome.commit[:10]}"
    output.both(
        {
            "app": str(row.app),
            "release": release.name,
            "environment": what.into,
            "skipped": list(skipped),
            "commit": outcome.commit,
            "changed": changed,
            "branch": branch,
        },
        said,
    )
    return REFUSED if branch else OK


def _row(session: Session, place: PlaceOptions, app: str) -> EnvironmentsRow:
    rows = [each for each in rows_of(session.repository, place.namespace)[2] if app in (each.app.name, str(each.app))]
    if len(rows) > 1:
        raise UsageError(f"there are {' and '.join(str(each.app) for each in rows)}: name one with its namespace")
    if not rows:
        raise NameNotFound(f"{app} is in no environment; `gitops-bg environments` shows what is")
    return rows[0]


def _release(row: EnvironmentsRow, named: str) -> ReleaseId:
    """Return the release of this name that a ledger knows, of one content the newest. Raises `NameNotFound`, and
    `UsageError` where several have the name: replicas that changed without a new version, or numbers of a time before
    ``primary.yaml`` named one.
    """
    known = releases_in(row)
    found = [each for each in known if each.name == named or (":" in named and each.digest.startswith(named))]
    if not found:
        there = ", ".join(dict.fromkeys(each.name for each in known)) or "none"
        raise NameNotFound(f"no ledger knows a release {named} of {row.app}: there are {there}")
    contents = {each.digest: each for each in found}
    if len(contents) > 1:
        said = " or ".join(f"{each.digest} (commit {each.commit[:10]})" for each in contents.values())
        raise UsageError(f"{len(contents)} releases of {row.app} are called {named}: give the digest, {said}")
    return found[-1]


def _demand_skipped(row: EnvironmentsRow, into: str, release: ReleaseId, skipped: tuple[str, ...], reason: str) -> None:
    """Raise unless each environment before that has not proven a release is named."""
    cell = row.cell(into)
    if cell is None:
        there = ", ".join(each.environment for each in row.cells)
        raise NameNotFound(f"{row.app} is in no environment {into}: there are {there}")
    if not cell.formers:
        raise CommandFailed(f"{into} is the first environment of {row.app}: push to its target instead")
    missing = missing_in(cell.formers, release)
    left = [name for name in missing if name not in skipped]
    if left:
        told = "; ".join(missing[name] for name in left)
        raise CommandFailed(
            f"{release.name} is not proven before {into}: {told}. To let it in all the same, add --skip {left[0]}"
        )
    strange = [name for name in skipped if name not in {former.name for former in cell.formers}]
    if strange:
        raise UsageError(f"{into} does not follow {strange[0]}; it follows {', '.join(f.name for f in cell.formers)}")
    if missing and not reason:
        raise UsageError("say why, by --reason: the commit has it, beside what it skips")


def _demand_let_in(repository: Repository, row: EnvironmentsRow, into: str, release: ReleaseId) -> None:
    """Raise where a release is on hold, or where a newer one would take its place again with the agent's next look."""
    cell = row.cell(into)
    held = held_in_main(repository, row.app, into)
    if isinstance(held, str):
        raise CommandFailed(f"nobody can tell which releases of {row.app} are on hold: {held}")
    if (why := held.get(release.digest)) is not None:
        lift = f"gitops-bg hold {row.app} --release {release.name} --lift"
        raise CommandFailed(f"{release.name} of {row.app} is on hold: {why}. To let it in again: {lift}")
    here = cell.held if cell is not None else ()
    if release.digest in {each.digest for each in here}:
        said = f"a version of {release.name} is on hold in {into}: it was left there"
        raise CommandFailed(
            f"{said}. To let it come back: gitops-bg retry {row.app}, or revert the commit that left it"
        )
    wanted = repository.placed(release)
    let_in = (each for each in releases_in(row) if each.digest not in {release.digest, *held})
    newer = [each for each in newest_first(map(repository.placed, let_in)) if _is_after(each, wanted)]
    back = [each.id for each in newer if cell is not None and not missing_in(cell.formers, each.id)]
    if back:
        hold_first = f"gitops-bg hold {row.app} --release {back[0].name} --everywhere --reason ..."
        said = f"{back[0].name} is newer than {release.name}, and would take its place in {into} at once"
        raise CommandFailed(f"{said}. To keep it out, run this first: {hold_first}")


def _is_after(one: KnownRelease, other: KnownRelease) -> bool:
    return one.landed is not None and other.landed is not None and one.landed > other.landed
