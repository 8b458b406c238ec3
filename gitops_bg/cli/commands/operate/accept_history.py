"""`accept-history`: accepts a rewritten main, by a commit that begins the next generation of its history."""

from typing import Annotated

import typer

from gitops_bg.cli.clone.user_git import author
from gitops_bg.cli.edits.commits import Change, commit_change
from gitops_bg.cli.errors import CommandFailed
from gitops_bg.cli.options.options import ClusterOptions, CommitOptions, GitOptions, OutputOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.session import Session
from gitops_bg.core.model.conditions import HISTORY_REWRITTEN
from gitops_bg.repo.write.edits import EditOrNew
from gitops_bg.spec.app.layout import SETTINGS_FILE
from gitops_bg.spec.app.settings import load_settings, new_settings
from gitops_bg.spec.yaml.edit import set_history_generation


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
    with Session(git, kube, author=author(by.person.author), note=output.note) as session:
        sha = accepted or session.repository.head
        if not session.repository.contains(sha):
            raise CommandFailed(f"main does not contain {sha}; name a full commit id of the history to accept")
        generation = _next_generation(session)
        edit = _edit(session, generation)
        made = commit_change(session, output, Change({SETTINGS_FILE: edit}, _subject(sha, generation), by.message))
    sentence = f"accepted the history of {sha[:10]} as generation {generation} by commit {made[:10]}"
    output.both({"accepted": sha, "generation": generation, "commit": made, "changed": bool(made)}, sentence)


def _subject(sha: str, generation: int) -> str:
    return f"accept the history of {sha[:10]} as generation {generation}"


def _next_generation(session: Session) -> int:
    """Return the generation after all that agents and main know. Raises `CommandFailed` where nothing was rewritten."""
    mains = session.remembered()
    lost = session.repository.lost({main.commit for main in mains if main.commit})
    if not lost and not _is_said(session):
        raise CommandFailed("nothing was rewritten: main contains all that the agents of this cluster have seen of it")
    content = session.repository.settings_file()
    known = load_settings(content).history_generation if isinstance(content, bytes) else 0
    return max([known, *(main.generation for main in mains)]) + 1


def _is_said(session: Session) -> bool:
    """Return whether the agent reports a rewrite for any app: it may have seen more of main than any record names."""
    statuses = (state.status.read() for state in session.cluster.bgds().values())
    conditions = (each for status in statuses for each in status.get("conditions") or ())
    return any(each["type"] == HISTORY_REWRITTEN and each["status"] == "True" for each in conditions)


def _edit(session: Session, generation: int) -> EditOrNew:
    """Return the edit of the present settings, or a new file with the generation alone."""
    if session.repository.settings_file() is None:
        return new_settings(generation)
    return lambda data: set_history_generation(data, generation)
