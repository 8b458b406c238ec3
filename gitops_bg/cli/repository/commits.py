"""Commits of edits that verbs make on main: what `check` would report after one, the push, the message shown where main
refuses, and the clone here, which follows the push where the user loses nothing by that. No verb's rules.

The clone is only fast-forwarded by the one commit, with the user's own git; otherwise a note says what the user can do.
"""

from collections.abc import Mapping
from difflib import unified_diff

from gitops_bg.agent.operate.commits import CommitPlan, commit, in_app_files
from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.user_git import asked, repository_url, succeeds
from gitops_bg.cli.session.session import Session
from gitops_bg.cluster.lint import lint
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.write.main_branch import Edit, Edited
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.app.layout import (
    ALERTS_FOLDER,
    ANALYSIS_FOLDER,
    APP_FILE,
    ENVIRONMENTS_FILE,
    GROUP_FILE,
    POLICIES_FOLDER,
    SETTINGS_FILE,
)

_SHOWN = (APP_FILE, SETTINGS_FILE, GROUP_FILE)
"""The files whose changes a dry run shows: they hold no values of pods."""


def commit_change(session: Session, output: Output, change: CommitPlan) -> str:
    """Commit the change to main; return the commit, or empty if main has it already.

    Raises `PushRefused` with a remedy.

    The user's clone follows (`follow_push`).
    """
    edited = _committed(session, output, change)
    return edited.commit if edited.changed else ""


def commit_to_apps(
    session: Session, output: Output, edits: Mapping[AppKey, Edit], subject: str, reason: str = ""
) -> Mapping[AppKey, str]:
    """Commit edits of the app.yaml of several apps, all or none; return each app's commit, empty if main has it
    already.
    """
    paths = {app: session.app_file(app) for app in edits}
    edited = _committed(session, output, in_app_files(session.repository, edits, subject, reason))
    return {app: edited.commit if path in edited.paths else "" for app, path in paths.items()}


def demand_sound(repository: Repository, app: AppKey, changed: Mapping[str, bytes]) -> None:
    """Check that an app's folder has no error once some of its files, by name, have this content.

    Raises `InvalidInput`.

    Asked before the commit is pushed; reads main, and changes nothing.
    """
    files = {SETTINGS_FILE: repository.settings_file() or b""}
    for shared in (ANALYSIS_FOLDER, ALERTS_FOLDER):
        files |= {path: file.content for path, file in repository.files_below(shared).items()}
    path = repository.places.folder(app)
    folder = {name: file.content for name, file in repository.files_below(path).items()}
    files |= folder | {f"{path}/{name}": content for name, content in changed.items()}
    environments = repository.text_file(ENVIRONMENTS_FILE)
    files |= {ENVIRONMENTS_FILE: environments} if environments is not None else {}
    problems = check_repository(files.items(), lint).problems
    ours = [problem for problem in problems if problem.file.startswith(f"{path}/")]
    if ours:
        raise InvalidInput(*ours)


def print_planned_commit(session: Session, output: Output, change: CommitPlan) -> None:
    """Say which commit would be made, and how it changes files, where nothing is to be written; then end the verb."""
    if output.dry_run:
        changed = session.repository.edits.changed(change.edits, session.repository.head)
        files = {path: _difference(session, path, after) for path, after in changed.items()}
        branch = session.repository.settings.branch
        output.would(
            f"would commit to {branch}: {one_line(change.subject)}" if files else f"{branch} has it", files=files
        )


def _difference(session: Session, path: str, after: bytes | None) -> str:
    """Return the lines of a file that would change. Of files that may hold what nobody is to see on a screen only the
    path.
    """
    before = session.repository.text_file(path)
    if path.rpartition("/")[2] not in _SHOWN and not path.startswith(f"{POLICIES_FOLDER}/"):
        return f"{'D' if after is None else 'M' if before is not None else 'A'} {path}\n"
    old, new = (_lines(each if isinstance(each, bytes) else None) for each in (before, after))
    return "".join(unified_diff(old, new, path, path, n=0))


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode(errors="replace").splitlines(keepends=True)


def _committed(session: Session, output: Output, change: CommitPlan) -> Edited:
    print_planned_commit(session, output, change)
    edited = commit(session.repository, change)
    follow_push(session, output, edited.commit if edited.changed else "")
    return edited


def follow_push(session: Session, output: Output, commit: str) -> None:
    """Move the clone here to a commit that was pushed to main (empty: none was), or print a note on what to do."""
    settings = session.repository.settings
    note = _moved_along(settings.branch, commit) if commit and _is_clone_of(settings.url) else ""
    if note:
        output.notice(note)


def _is_clone_of(url: str) -> bool:
    try:
        return repository_url("") == url
    except UsageError:
        return False


def _moved_along(branch: str, commit: str) -> str:
    """Fast-forward; return what the user must do if we may not, empty if it is done."""
    if asked("symbolic-ref", "--quiet", "--short", "HEAD") != branch:
        return f"{branch} is not checked out here; `git fetch origin {branch}:{branch}` brings it along"
    if not succeeds("fetch", "--quiet", "origin", branch):
        return f"{branch} of this clone is behind, and origin could not be asked: `git pull` brings it along"
    if asked("rev-parse", "HEAD") != asked("rev-parse", f"{commit}^"):
        return f"{branch} of this clone is not at the commit before it: `git pull` brings it along"
    if not succeeds("merge", "--quiet", "--ff-only", commit):
        return f"{branch} of this clone is behind, because of changes here: commit them, then `git pull --rebase`"
    return ""
