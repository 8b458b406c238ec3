"""`freeze` and `unfreeze`: a policy that stops every promotion, as a commit: who, why, until when; rollbacks continue.

Both touch only what `freeze` wrote: a file is known by its content, for people name policies ``freeze`` too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer

from gitops_bg.cli.clone.user_git import author
from gitops_bg.cli.commands.operate.suspend import moment_option
from gitops_bg.cli.edits.commits import Change, commit_change
from gitops_bg.cli.errors import CommandFailed, UsageError
from gitops_bg.cli.options.options import AppOptions, AuthorOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.session import Session
from gitops_bg.core.checks.policies.match import may_cover
from gitops_bg.core.checks.policies.windows import is_open, why_shut
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.policies.rules import Mode, Windows
from gitops_bg.repo.write.edits import Edit, EditOrNew
from gitops_bg.spec.policies.freeze import Freeze, freeze_file, freeze_files, read_freeze, write_freeze
from gitops_bg.spec.policies.load import load_policies


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
    with Session(at.git, at.kube, place, by, note=output.note) as session:
        edits = _instead(session, place.namespace, content, None if how.force else now)
        commit = commit_change(session, output, Change(edits, f"Freeze {_scope(place.namespace)}", how.reason))
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
    with Session(at.git, at.kube, place, by, note=output.note) as session:
        written = _freezes(session, place.namespace)
        others = _others(session, place.namespace, frozenset(written), now)
        if not written:
            raise CommandFailed(f"{scope}: no freeze is on main that `gitops-bg freeze` wrote{others}")
        removed = {path: _replaced(session, path, None) for path in written}
        commit = commit_change(session, output, Change(removed, f"Unfreeze {scope}"))
    said = f"{scope}: not frozen any more; commit {commit[:10]} removed {' and '.join(written)}{others}"
    output.both({"file": next(iter(written)), "commit": commit, "changed": bool(commit)}, said)


def _freezes(session: Session, namespace: str) -> Mapping[str, Freeze]:
    """The freezes of main that `freeze` wrote, by their files."""
    contents = {path: session.repository.text_file(path) for path in freeze_files(namespace)}
    read = {path: read_freeze(namespace, path, each) for path, each in contents.items() if isinstance(each, bytes)}
    return {path: each for path, each in read.items() if each}


def _instead(session: Session, namespace: str, content: bytes, now: datetime | None) -> Mapping[str, EditOrNew]:
    """The new file, in place of freezes that are over; ``now`` None: of any. Raises `CommandFailed` where something
    else is in its place.
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
    """The change of a file, as long as it is the one that was judged; None removes it."""
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
