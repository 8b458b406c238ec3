"""What stops promotions, and what lets them go on: `suspend` (Argo Rollouts' `pause`) and `resume` of an app, `freeze`
and `unfreeze` of all of a repository or a namespace, `accept-history` of a main that was rewritten. Each is one commit
that says who, why and until when; rollbacks go on.

None replaces what is in force, unless somebody says so: that may be a colleague's, and last longer. `unfreeze` touches
only what `freeze` wrote: a file is known by its content, for people name policies ``freeze`` too.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from gitops_bg.agent.operate.commits import CommitPlan, lifting, resumed, resuming, suspended, suspending
from gitops_bg.cli.errors import CommandFailed, UsageError
from gitops_bg.cli.options.options import (
    AppOptions,
    Apps,
    AuthorOptions,
    ClusterOptions,
    CommitOptions,
    GitOptions,
    OutputOptions,
)
from gitops_bg.cli.options.values import seconds
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.commits import commit_change, commit_to_apps
from gitops_bg.cli.repository.user_git import author
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.session import Session
from gitops_bg.core.checks.policy_judge import may_cover
from gitops_bg.core.checks.policy_rules import is_open, why_shut
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.conditions import HISTORY_REWRITTEN
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.policy_rules import Mode, Windows
from gitops_bg.core.model.spec import Suspension
from gitops_bg.repo.write.main_branch import Edit, EditOrNew
from gitops_bg.spec.app.layout import SETTINGS_FILE
from gitops_bg.spec.app.settings import load_settings, new_settings
from gitops_bg.spec.manifests.edit import set_history_generation
from gitops_bg.spec.policies.freeze import Freeze, freeze_file, freeze_files, read_freeze, write_freeze
from gitops_bg.spec.policies.load import load_policies


def moment_option(text: str) -> datetime:
    """Parse a time with its zone, or a duration from now. Raises ``typer.BadParameter``."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds(text))
    if moment.tzinfo is None:
        raise typer.BadParameter(f"{text!r} has no zone; write 2026-03-01T12:00:00Z, or a duration such as 2h")
    return moment


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspendOptions:
    """The reason, and the end."""

    reason: Annotated[
        str, typer.Option("--reason", "-r", "--message", "-m", help="Why; shown with the app everywhere.")
    ] = "suspended by hand"
    until: Annotated[
        datetime | None,
        typer.Option(parser=moment_option, metavar="TIME", help="When it ends: a time, or 2h from now."),
    ] = None
    force: Annotated[
        bool, typer.Option("--force", help="Also replace a suspension that is in force: its reason, author and end.")
    ] = False


def suspend(apps: Apps, at: AppOptions, person: AuthorOptions, how: SuspendOptions) -> None:
    """Suspend apps: no candidate, no promotion; live traffic stays, and rollbacks still work. `resume` ends it.

    Example: gitops-bg suspend shop/web --reason 'incident 4711' --until 2h
    """
    output = Output(at.out, dry_run=person.dry_run)
    by = author(person.author)
    suspension = Suspension(how.reason, f"{by[0]} <{by[1]}>", how.until)
    with Session(at.git, at.kube, at.place, by, about=apps_named(*apps), note=output.notice) as session:
        keys = session.apps_in_git(apps)
        edits = {key: suspending(key, session.app_file(key), suspension, force=how.force) for key in keys}
        made = commit_to_apps(session, output, edits, "suspend", how.reason)
    output.each(
        ({"app": str(key), "commit": commit, "changed": bool(commit)}, suspended(key, commit))
        for key, commit in made.items()
    )


def pause(apps: Apps, at: AppOptions, person: AuthorOptions, how: SuspendOptions) -> None:
    """Suspend apps: the same as `suspend`, under Argo Rollouts' name. `resume` ends it.

    Example: gitops-bg pause shop/web shop/api --reason 'incident 4711'
    """
    suspend(apps, at, person, how)


def resume(apps: Apps, at: AppOptions, commit: CommitOptions) -> None:
    """Go on: remove the suspension, and let the target be promoted again if it is on hold.

    Example: gitops-bg resume shop/web
    """
    output = Output(at.out, dry_run=commit.person.dry_run)
    by = author(commit.person.author)
    with Session(at.git, at.kube, at.place, by, about=apps_named(*apps), note=output.notice) as session:
        keys = session.apps_in_git(apps)
        lifted = {key: lifting(session.facts(key), f"{by[0]} <{by[1]}>", session.now) for key in keys}
        edits = {key: resuming(session.app_file(key), lifted[key]) for key in keys}
        made = commit_to_apps(session, output, edits, "resume", commit.message)
        for key in keys:
            session.nudge(key)
    output.each(
        (
            {"app": str(key), "commit": made[key], "changed": bool(made[key]), "holdLifted": bool(lifted[key])},
            resumed(key, made[key], lifted[key]),
        )
        for key in keys
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeOptions:
    """The reason, and the end."""

    reason: Annotated[
        str, typer.Option("--reason", "-r", "--message", "-m", help="Why; shown wherever something waits for it.")
    ]
    until: Annotated[
        datetime | None,
        typer.Option(parser=moment_option, metavar="TIME", help="When it ends by itself: a time, or 2h from now."),
    ] = None
    force: Annotated[
        bool, typer.Option("--force", help="Also replace a freeze that is not over: its reason and end.")
    ] = False


def freeze(at: AppOptions, person: AuthorOptions, how: FreezeOptions) -> None:
    """Stop every promotion, of all apps or those of a namespace; rollbacks go on. `unfreeze` ends it.

    Example: gitops-bg freeze --reason 'INC-4711, ask Ada' --until 4h
    """
    place = at.place
    output, by, now = (
        Output(at.out, dry_run=person.dry_run),
        author(person.author),
        datetime.now(UTC).replace(microsecond=0),
    )
    if how.until and how.until <= now:
        raise UsageError(f"--until {_moment(how.until)} is over already")
    path = freeze_file(place.namespace)
    content = write_freeze(Freeze(place.namespace, now, how.until, how.reason))
    with Session(at.git, at.kube, place, by, note=output.notice) as session:
        edits = _instead(session, place.namespace, content, None if how.force else now)
        commit = commit_change(session, output, CommitPlan(edits, f"Freeze {_scope(place.namespace)}", how.reason))
    end = f" until {_moment(how.until)}" if how.until else " until `gitops-bg unfreeze`"
    said = f"{_scope(place.namespace)}: nothing is promoted{end}; commit {commit[:10]} wrote {path}"
    output.both({"file": path, "commit": commit, "changed": bool(commit)}, said)


def unfreeze(at: AppOptions, person: AuthorOptions) -> None:
    """End a freeze: what was merged meanwhile goes on.

    Example: gitops-bg unfreeze
    """
    place = at.place
    output, by, now = Output(at.out, dry_run=person.dry_run), author(person.author), datetime.now(UTC)
    scope = _scope(place.namespace)
    with Session(at.git, at.kube, place, by, note=output.notice) as session:
        written = _freezes(session, place.namespace)
        others = _others(session, place.namespace, frozenset(written), now)
        if not written:
            raise CommandFailed(f"{scope}: no freeze is on main that `gitops-bg freeze` wrote{others}")
        removed = {path: _replaced(session, path, None) for path in written}
        commit = commit_change(session, output, CommitPlan(removed, f"Unfreeze {scope}"))
    said = f"{scope}: not frozen any more; commit {commit[:10]} removed {' and '.join(written)}{others}"
    output.both({"file": next(iter(written)), "commit": commit, "changed": bool(commit)}, said)


def _freezes(session: Session, namespace: str) -> Mapping[str, Freeze]:
    """Return the freezes of main that `freeze` wrote, by their files."""
    contents = {path: session.repository.text_file(path) for path in freeze_files(namespace)}
    read = {path: read_freeze(namespace, path, each) for path, each in contents.items() if isinstance(each, bytes)}
    return {path: each for path, each in read.items() if each}


def _instead(session: Session, namespace: str, content: bytes, now: datetime | None) -> Mapping[str, EditOrNew]:
    """Return the new file, in place of freezes that are over; ``now`` None: of any. Raises `CommandFailed` where
    something else is in its place.
    """
    freezes, path = _freezes(session, namespace), freeze_file(namespace)
    for standing, each in freezes.items():
        if now and not each.is_over(now):
            raise CommandFailed(_frozen_already(session, standing, each))
    ended = {each: _replaced(session, each, None) for each in freezes if each != path}
    if path in freezes:
        return {**ended, path: _replaced(session, path, content)}
    if session.repository.text_file(path) is not None:
        raise CommandFailed(f"{path} is not as `freeze` writes it, so it stays; rename or delete it, then freeze again")
    return {**ended, path: content}


def _frozen_already(session: Session, path: str, standing: Freeze) -> str:
    end = f"until {_moment(standing.end)}" if standing.end else "until `gitops-bg unfreeze`"
    source = session.repository.brought_by(path)
    by = f" by {source.author}" if source and source.author else ""
    scope = _scope(standing.namespace)
    return f"{scope}: frozen already {end}{by}: {standing.reason}; to replace that, say so by --force"


def _replaced(session: Session, path: str, content: bytes | None) -> Edit:
    """Return the change of a file, as long as it is the one that was judged; None removes it."""
    seen = session.repository.text_file(path)

    def change(before: bytes) -> bytes | None:
        if before != seen:
            raise InvalidInput(Problem(path, "somebody has just changed it", remedy="run the command again"))
        return content

    return change


def _others(session: Session, namespace: str, known: frozenset[str], now: datetime) -> str:
    """Name what else stops promotions now by its windows; empty where nothing does."""
    policies = load_policies(session.repository.policy_log.at(session.repository.head).files).written
    shut = [
        f"{each.document.file} ({each.policy.name}: {why_shut(rule, now)})"
        for each in policies
        if each.document.file not in known
        and each.policy.mode is Mode.ENFORCE
        and may_cover(each.policy.match, namespace)
        for rule in each.policy.rules
        if isinstance(rule, Windows) and not is_open(rule, now)
    ]
    return f"; promotions are still stopped by {', '.join(shut)}" if shut else ""


def _scope(namespace: str) -> str:
    return f"the namespace {namespace}" if namespace else "all apps"


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def accept_history(
    git: GitOptions,
    kube: ClusterOptions,
    by: CommitOptions,
    out: OutputOptions,
    accepted: Annotated[
        str, typer.Option("--commit", metavar="SHA", help="Refuse unless main contains it. Default: main's head.")
    ] = "",
) -> None:
    """Accept main as it is after somebody rewrote its history, so that it moves traffic again.

    Example: gitops-bg accept-history -m 'secrets were removed from the history'
    """
    output = Output(out, dry_run=by.person.dry_run)
    with Session(git, kube, author=author(by.person.author), note=output.notice) as session:
        sha = accepted or session.repository.head
        if not session.repository.contains(sha):
            raise CommandFailed(f"main does not contain {sha}; name a full commit id of the history to accept")
        generation = _next_generation(session)
        edit = _edit(session, generation)
        made = commit_change(session, output, CommitPlan({SETTINGS_FILE: edit}, _subject(sha, generation), by.message))
    sentence = f"accepted the history of {sha[:10]} as generation {generation} by commit {made[:10]}"
    output.both({"accepted": sha, "generation": generation, "commit": made, "changed": bool(made)}, sentence)


def _subject(sha: str, generation: int) -> str:
    return f"accept the history of {sha[:10]} as generation {generation}"


def _next_generation(session: Session) -> int:
    """Return the generation after all that agents and main know. Raises `CommandFailed` where nothing was rewritten."""
    mains = session.remembered()
    lost = session.repository.lost({main.commit for main in mains if main.commit})
    if not lost and not _rewrite_is_reported(session):
        raise CommandFailed("nothing was rewritten: main contains all that the agents of this cluster have seen of it")
    content = session.repository.settings_file()
    known = load_settings(content).history_generation if isinstance(content, bytes) else 0
    return max([known, *(main.generation for main in mains)]) + 1


def _rewrite_is_reported(session: Session) -> bool:
    """Return whether the agent reports a rewrite for any app: it may have seen more of main than any record names."""
    statuses = (state.status.read() for state in session.cluster.bgds().values())
    conditions = (each for status in statuses for each in status.get("conditions") or ())
    return any(each["type"] == HISTORY_REWRITTEN and each["status"] == "True" for each in conditions)


def _edit(session: Session, generation: int) -> EditOrNew:
    """Return the edit of the present settings, or a new file with the generation alone."""
    if session.repository.settings_file() is None:
        return new_settings(generation)
    return lambda data: set_history_generation(data, generation)
