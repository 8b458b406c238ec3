"""`policies test` and `policies replay`: the verdicts of policies on test cases, and on the past. Reads only."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gitops_bg.cli.errors import NOT_SO, OK, CommandFailed, ObjectNotFound, UsageError
from gitops_bg.cli.options.options import AppOptions, OutputOptions
from gitops_bg.cli.options.values import seconds
from gitops_bg.cli.output import Output, literal, problem_line
from gitops_bg.cli.session.ledger import Chain, past_promotions, report_unverified_entries
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.listing import Column, Line, Listing
from gitops_bg.core.checks.policy_judge import Outcome, Replayed
from gitops_bg.core.checks.policy_judge import replay as replayed
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.policy_rules import Policy
from gitops_bg.spec.app.layout import PEOPLE_FILE, POLICIES_FOLDER, POLICY_TEST_SUFFIX, is_manifest
from gitops_bg.spec.policies.cases import CaseResult, run_cases
from gitops_bg.spec.policies.load import load_people, load_policies
from gitops_bg.spec.policies.people import Directory

if TYPE_CHECKING:
    from gitops_bg.views.shapes.decisions import CaseJson, ReplayedJson


def run_tests(
    out: OutputOptions,
    path: Annotated[Path, typer.Argument(metavar="[DIR]", help="A folder of policies.")] = Path(POLICIES_FOLDER),
) -> int:
    """Run the test cases of a folder of policies (`*.test.yaml`); exit 1 where one is not as expected.

    Example: gitops-bg policies test policies
    """
    policies, files = _folder(path)
    results: list[CaseResult] = []
    problems: list[Problem] = []
    for file in sorted(each for each in files if each.endswith(POLICY_TEST_SUFFIX)):
        found, wrong = run_cases(str(path / Path(file).name), files[file], policies)
        results += found
        problems += wrong
    output = Output(out)
    failed = [each for each in results if each.wrong]
    if output.json:
        output.data({"cases": [_case_json(each) for each in results], "problems": [str(each) for each in problems]})
    else:
        for problem in problems:
            output.line(problem_line(problem))
        for each in failed:
            output.line(f"{each.file}:{each.line}: {each.name}: {'; '.join(each.wrong)}", "red")
        cases = "1 case" if len(results) == 1 else f"{len(results)} cases"
        many = f"{len(failed)} of {cases} not" if failed else f"{cases}, all"
        output.line(f"{many} as expected", "red" if failed or problems else "green")
    return NOT_SO if failed or problems else OK


def _case_json(each: CaseResult) -> "CaseJson":
    return {"file": each.file, "line": each.line, "name": each.name, "ok": not each.wrong, "wrong": list(each.wrong)}


def _folder(path: Path) -> tuple[tuple[Policy, ...], dict[str, bytes]]:
    """Return the policies directly in a folder, and its files as if it were ``policies/``. Raises where one
    is broken.
    """
    if not path.is_dir():
        raise ObjectNotFound(f"{path} is no folder; name one with policies")
    names = sorted(each.name for each in path.iterdir() if each.is_file() and is_manifest(each.name))
    files = {f"{POLICIES_FOLDER}/{name}": (path / name).read_bytes() for name in names}
    folder = load_policies(files)
    if folder.problems:
        raise InvalidInput(*folder.problems)
    return tuple(each.policy for each in folder.written), files


def replay(
    at: AppOptions,
    policies: Annotated[
        Path | None, typer.Option("--policies", metavar="DIR", help="The policies to try. Default: those of main.")
    ] = None,
    as_they_were: Annotated[
        bool, typer.Option("--as-they-were", help="Judge each promotion by the policies that main had before it.")
    ] = False,
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="How far back: 90d, 12h.")] = "90d",
    expect: Annotated[
        Path | None,
        typer.Option("--expect", metavar="FILE", help="Compare with an earlier -o json; exit 1 if it differs."),
    ] = None,
) -> int:
    """Judge every promotion of the ledger by policies, as of its own time: allowed, would have waited, refused.

    What the past does not say (how long a version was up; who approved, where no forge told) is unknown, and is never
    counted as allowed.

    Example: gitops-bg policies replay --since 90d --policies ./policies
    """
    place, output = at.place, Output(at.out)
    with Session(at.git, None if at.git.cluster else at.kube, place, with_ledger=True, note=output.notice) as session:
        if policies and as_they_were:
            raise UsageError("--policies and --as-they-were say which policies to judge by: give one of them")
        given = () if as_they_were else _folder(policies)[0] if policies else _of_main(session)
        apps = [app for app in session.repository.apps() if place.namespace in ("", app.namespace)]
        begin = datetime.now(UTC) - timedelta(seconds=seconds(since))
        people = _people(session, policies)
        report_unverified_entries(session.repository, output)
        chain = Chain(session.repository)
        past = [each for app in sorted(apps) for each in past_promotions(session.repository, app, begin, people, chain)]
        past.sort(key=lambda each: each.at)
        if as_they_were:
            found = [each for one in past for each in replayed(_before(session, one.commit), [one])]
        else:
            found = replayed(given, past)
    data = {"promotions": [_json(each) for each in found], "policies": _by_policy(found)}
    if output.json:
        output.data(data)
    else:
        output.show(table_of(found))
        output.show(_summary(data["policies"]))  # type: ignore[arg-type]
    if expect is not None and _promotions_of(expect) != data["promotions"]:
        output.line(f"it is not as {expect} says", "red")
        return NOT_SO
    return OK


def _of_main(session: Session) -> tuple[Policy, ...]:
    files = {path: file.content for path, file in session.repository.files_below(POLICIES_FOLDER).items()}
    folder = load_policies(files)
    if folder.problems:
        raise InvalidInput(*folder.problems)
    if not folder.written:
        raise CommandFailed("main has no policies; name a folder with --policies")
    return tuple(each.policy for each in folder.written)


def _people(session: Session, policies: Path | None) -> Directory:
    """Return the people of the tried folder, or, if it has none, of main."""
    file = policies / Path(PEOPLE_FILE).name if policies else None
    if file is not None and file.is_file():
        return Directory(load_people(file.read_bytes()).people)
    found = session.repository.files_below(POLICIES_FOLDER).get(PEOPLE_FILE)
    return Directory(load_people(found.content).people) if found else Directory()


def _before(session: Session, commit: str) -> tuple[Policy, ...]:
    """Return the policies that main had before a commit; those that could not be read then are shut, as they were."""
    parent = session.repository.around(commit, ()).parent
    if not parent:
        why = f"nobody can read commit {commit[:10]} any more, and what policies said before it"
        return (Policy("policies", broken=why),)
    folder = load_policies(session.repository.policy_log.at(parent).files)
    broken = (
        Policy(name, broken=str(file.problems[0]))
        for file in folder.files.values()
        if file.problems
        for name in file.names or (file.path,)
    )
    return (*(each.policy for each in folder.written), *broken)


def _promotions_of(file: Path) -> object:
    try:
        return read_json(file.read_bytes())["promotions"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"--expect: {file} is no output of `policies replay -o json`") from error


def _json(each: Replayed) -> "ReplayedJson":
    return {
        "app": str(each.app),
        "at": f"{each.at:%Y-%m-%dT%H:%M:%SZ}",
        "commit": each.commit,
        "outcome": each.outcome,
        "until": f"{each.until:%Y-%m-%dT%H:%M:%SZ}" if each.until else None,
        "policies": dict(each.policies),
        "reasons": list(each.reasons),
    }


def _by_policy(found: list[Replayed]) -> dict[str, dict[str, int]]:
    counts: defaultdict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys((*Outcome, "delaySeconds"), 0))
    for each in found:
        for name, outcome in each.policies:
            counts[name][outcome] += 1
        for name, until in each.untils:
            counts[name]["delaySeconds"] += round((until - each.at).total_seconds())
    return dict(counts)


_COLUMNS = (Column("WHEN", 1), Column("APP"), Column("OUTCOME"), Column("UNTIL", 2), Column("WHY"))


def table_of(found: Iterable[Replayed]) -> Listing:
    """Return the verdicts as a table."""
    return Listing(_COLUMNS, map(_line, found))


def _line(each: Replayed) -> Line:
    until = f"{each.until:%Y-%m-%d %H:%MZ}" if each.until else "-"
    why = "\n".join(each.reasons) or "-"
    return Line(tuple(map(literal, (f"{each.at:%Y-%m-%d %H:%MZ}", str(each.app), str(each.outcome), until, why))))


def _summary(counts: Mapping[str, Mapping[str, int]]) -> Listing:
    titles = ("POLICY", *(str(each).upper() for each in Outcome), "DELAY")
    return Listing([Column(title) for title in titles], (_counts(*each) for each in sorted(counts.items())))


def _counts(name: str, of: Mapping[str, int]) -> Line:
    delay = str(timedelta(seconds=of["delaySeconds"]))
    return Line(tuple(map(literal, (name, *(str(of[each]) for each in Outcome), delay))))
