"""`check`: every file of a repository, read as the agent would read it. Reads only; reports nothing about clusters."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from gitops_bg.cli.errors import ObjectNotFound
from gitops_bg.cli.exit_codes import NOT_SO, OK
from gitops_bg.cli.options.options import GitOptions, OutputOptions
from gitops_bg.cli.reporting import problem_line
from gitops_bg.cli.session.proposed_changes import promotions_with_company
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.session.worktree import files_of
from gitops_bg.cli.views.output import Output
from gitops_bg.cluster.lint import lint
from gitops_bg.core.model.desired import Problem
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.app.layout import (
    ALERTS_FOLDER,
    ANALYSIS_FOLDER,
    APPS_FOLDER,
    POLICIES_FOLDER,
    SETTINGS_FILE,
    SIGNERS_FILE,
)
from gitops_bg.spec.codec import to_json
from gitops_bg.spec.groups.layout import GROUPS_FOLDER

Content = bytes | Problem


def check(
    git: GitOptions,
    out: OutputOptions,
    path: Annotated[Path, typer.Argument(metavar="[PATH]", help="A work tree.", show_default="here")] = Path(),
) -> int:
    """Check every file of a repository; exit 1 if any has an error. Notes say what has no effect.

    Reads the work tree at PATH as it is, committed or not; with --repo it reads the branch of a remote. Where it is a
    clone, promotions that come together with policies, or with other files, are errors, too: traffic waits for them.

    Example: gitops-bg check .
    """
    contents, stray = _contents(git, path)
    checked = check_repository(contents.items(), lint, datetime.now(UTC))
    problems = _with_stray(checked.problems, stray)
    output = Output(out)
    if output.json:
        notes = [to_json(note) for note in checked.notes]
        output.data({"files": len(contents), "problems": [to_json(problem) for problem in problems], "notes": notes})
    else:
        for problem in problems:
            output.line(problem_line(problem))
        for note in checked.notes:
            output.line(f"note: {problem_line(note)}", "dim")
        output.line(_verdict(len(contents), len(problems)), "red" if problems else "green")
    return NOT_SO if problems else OK


def _contents(git: GitOptions, path: Path) -> tuple[dict[str, Content], list[Problem]]:
    """Return the files to check, by path, and the problems: of places without a file, and of proposed changes."""
    if not git.repo or path != Path():
        if not path.is_dir():
            raise ObjectNotFound(f"{path} is no folder; name a work tree, or a remote with --repo")
        return dict(files_of(path)), list(promotions_with_company(path, git.branch))
    with Session(git) as session:
        return dict(_committed(session.repository)), list(session.repository.misplaced())


def _committed(repository: Repository) -> Iterator[tuple[str, Content]]:
    settings = repository.settings_file()
    if settings is not None:
        yield SETTINGS_FILE, settings
    signers = repository.text_file(SIGNERS_FILE)
    if signers is not None:
        yield SIGNERS_FILE, signers
    for folder in (APPS_FOLDER, GROUPS_FOLDER, ANALYSIS_FOLDER, ALERTS_FOLDER, POLICIES_FOLDER):
        for path, file in repository.files_below(folder).items():
            yield path, file.content


def _with_stray(problems: list[Problem], stray: list[Problem]) -> list[Problem]:
    """Join both lists by place; where both report a place, keep the problem found in the content."""
    known = {problem.file for problem in problems}
    both = [*problems, *(problem for problem in stray if problem.file not in known)]
    return sorted(both, key=lambda each: (each.file, each.line or 0, each.column or 0))


def _verdict(files: int, problems: int) -> str:
    if problems:
        return f"{problems} problem{'s' if problems > 1 else ''} in {files} files"
    return f"{files} files, no problem"
