"""Moves the clone that a verb was called in to what the verb pushed, if the user loses nothing by that.

It only fast-forwards by the one commit, with the user's own git; otherwise it prints what the user can do.
"""

from gitops_bg.cli.clone.user_git import asked, repository_url, succeeds
from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.session import Session


def follow_push(session: Session, output: Output, commit: str) -> None:
    """Move the clone here to a commit that was pushed to main (empty: none was), or print a note on what to do."""
    settings = session.repository.settings
    note = _moved_along(settings.branch, commit) if commit and _is_clone_of(settings.url) else ""
    if note:
        output.note(note)


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
