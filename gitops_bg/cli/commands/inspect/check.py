"""`check`: every file of a repository, read as the agent would read it. Reads only; reports nothing about clusters."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gitops_bg.cli.commands.inspect.check_report import Report, annotations, code_quality, report_json, sarif
from gitops_bg.cli.errors import ObjectNotFound, UsageError
from gitops_bg.cli.options.options import CheckFormat, CheckOutputOptions, ClusterOptions, GitOptions
from gitops_bg.cli.output import Output, problem_line
from gitops_bg.cli.repository.rendering import stale_targets
from gitops_bg.cli.repository.user_git import promotions_with_company
from gitops_bg.cli.repository.worktree import files_of
from gitops_bg.cluster.lint import lint
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.desired import Problem
from gitops_bg.outbound.addresses import refused_addresses
from gitops_bg.repo.settings import MAIN
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.app.layout import (
    ALERTS_FOLDER,
    ANALYSIS_FOLDER,
    APPS_FOLDER,
    ENVIRONMENTS_FILE,
    GROUPS_FOLDER,
    POLICIES_FOLDER,
    SETTINGS_FILE,
    SIGNERS_FILE,
)
from gitops_bg.spec.lint.app_folder import PROBLEM, STALE, Finding, LintSeverity
from gitops_bg.spec.lint.rules import RULES
from gitops_bg.spec.yaml.scalars import nearest

if TYPE_CHECKING:
    from gitops_bg.repo.repository import Repository

Content = bytes | Problem


def check(
    git: GitOptions,
    out: CheckOutputOptions,
    kube: ClusterOptions,
    path: Annotated[Path | None, typer.Argument(metavar="[PATH]", help="A work tree.", show_default="here")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 also where there are only notes.")] = False,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="RULE", help="Leave out the notes of this rule; may be repeated."),
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="Also ask the cluster for what files need: kinds, namespaces, Gateways."),
    ] = False,
) -> int:
    """Check every file of a repository; exit 1 if any has an error. Notes say what has no effect.

    Reads the work tree at PATH as it is, committed or not; without PATH, and with --repo or GITOPS_BG_REPO, the branch
    of that remote. Where it is a clone, promotions that come together with policies, or with other files, are errors,
    too: traffic waits for them.
    A target with spec.render is an error where it is not what it would be rendered to now; nothing is rendered.
    With --live, so is an app whose namespace does not exist, and a host that no listener of its Gateway serves.

    Example: gitops-bg check .
    """
    output = Output(out.ordinary)
    try:
        report = _report(git, path, strict, _ignorable(ignore or []), kube if live else None)
    except GitopsBgError as error:
        if out.output is not CheckFormat.TEXT:
            _show(output, out.output, Report(error=error), path or Path())
        raise
    _show(output, out.output, report, path or Path())
    return report.exit_code


def _report(
    git: GitOptions, path: Path | None, strict: bool, ignored: frozenset[str], cluster: ClusterOptions | None
) -> Report:
    contents, stray = _contents(git, path)
    checked = check_repository(contents.items(), lint, datetime.now(UTC), refused_addresses)
    findings = (each for each in _with_stray(checked.findings, stray) if each.rule.name not in ignored)
    lacking = _lacking(cluster, contents) if cluster else ()
    stale = [Finding(STALE, each) for each in stale_targets(path or Path(), contents)] if path or not git.repo else []
    return Report(tuple(_by_place([*findings, *stale, *lacking])), len(contents), strict)


def _lacking(kube: ClusterOptions, contents: dict[str, Content]) -> list[Finding]:
    from gitops_bg.cli.session.live_check import live_problems
    from gitops_bg.cli.session.session import Session

    with Session(kube=kube) as session:
        return [Finding(PROBLEM, problem) for problem in live_problems(session.cluster, contents)]


def _ignorable(names: list[str]) -> frozenset[str]:
    """Return the names of rules to leave out. Raises `UsageError` for one that there is not, or that finds errors."""
    notes = [rule.name for rule in RULES if rule.severity is LintSeverity.NOTE]
    for name in names:
        if name not in notes:
            guess = nearest(name, notes)
            remedy = f"did you mean {guess}?" if guess else f"there are {', '.join(notes)}"
            if any(rule.name == name for rule in RULES):
                remedy = "it finds errors"
            raise UsageError(f"--ignore: no rule {name} finds notes; {remedy}")
    return frozenset(names)


def _show(output: Output, how: CheckFormat, report: Report, path: Path) -> None:
    folder = _folder(path)
    match how:
        case CheckFormat.JSON:
            output.data(report_json(report).model_dump(by_alias=True))
        case CheckFormat.SARIF:
            output.data(sarif(report, folder))
        case CheckFormat.GITLAB:
            output.data(code_quality(report, folder))
        case CheckFormat.GITHUB:
            for annotation in annotations(report, folder):
                output.line(annotation)
        case CheckFormat.TEXT:
            _print_report(output, report)


def _print_report(output: Output, report: Report) -> None:
    for severity, before, style in ((LintSeverity.ERROR, "", ""), (LintSeverity.NOTE, "note: ", "dim")):
        for each in (each for each in report.findings if each.rule.severity is severity):
            output.line(f"{before}{problem_line(each.problem)}", style)
    output.line(_verdict(report), "red" if report.exit_code else "green")


def _folder(path: Path) -> str:
    """Return where the checked files are, as seen from here; empty: here, or elsewhere."""
    here, there = Path.cwd(), path.absolute()
    found = there.relative_to(here).as_posix() if there.is_relative_to(here) else "."
    return "" if found == "." else found


def _contents(git: GitOptions, path: Path | None) -> tuple[dict[str, Content], list[Problem]]:
    """Return the files to check, by path, and the problems: of places without a file, and of proposed changes."""
    if path or not git.repo:
        tree = path or Path()
        if not tree.is_dir():
            raise ObjectNotFound(f"{tree} is no folder; name a work tree, or a remote with --repo")
        return dict(files_of(tree)), list(promotions_with_company(tree, git.branch or MAIN))
    from gitops_bg.cli.session.session import Session  # an agent's eyes: half of the time that all of this takes

    with Session(git) as session:
        return dict(_committed(session.repository)), list(session.repository.misplaced())


def _committed(repository: "Repository") -> Iterator[tuple[str, Content]]:
    settings = repository.settings_file()
    if settings is not None:
        yield SETTINGS_FILE, settings
    for path in (ENVIRONMENTS_FILE, SIGNERS_FILE):
        content = repository.text_file(path)
        if content is not None:
            yield path, content
    for folder in (APPS_FOLDER, GROUPS_FOLDER, ANALYSIS_FOLDER, ALERTS_FOLDER, POLICIES_FOLDER):
        for path, file in repository.files_below(folder).items():
            yield path, file.content


def _with_stray(findings: tuple[Finding, ...], stray: list[Problem]) -> list[Finding]:
    """Join both lists; where both report a place, keep the problem found in the content."""
    known = {each.problem.file for each in findings if each.rule.severity is LintSeverity.ERROR}
    return [*findings, *(Finding(PROBLEM, problem) for problem in stray if problem.file not in known)]


def _by_place(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda each: (each.problem.file, each.problem.line or 0, each.problem.column or 0))


def _verdict(report: Report) -> str:
    """Return one line about all of it.

    >>> _verdict(Report(files=7))
    '7 files, no problem'
    """
    problems, notes = report.count(LintSeverity.ERROR), report.count(LintSeverity.NOTE)
    if problems:
        return f"{problems} problem{'s' if problems > 1 else ''} in {report.files} files"
    also = f", but {notes} note{'s' if notes > 1 else ''} (--strict)" if report.strict and notes else ""
    return f"{report.files} files, no problem{also}"
