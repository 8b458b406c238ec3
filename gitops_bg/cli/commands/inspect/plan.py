"""`plan`: what the agent would do now, or after a push or a merge, from Git and the live cluster, or from a file; drawn
for a terminal of 80 columns.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group as Parts
from rich.console import RenderableType

from gitops_bg.cli.commands.inspect import plan_sources
from gitops_bg.cli.commands.inspect.plan_comment import markdown, pull_comment
from gitops_bg.cli.commands.inspect.plan_sources import Question, proposed_main
from gitops_bg.cli.commands.inspect.planning import Plan, PlanScope, plan_of
from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options import completion
from gitops_bg.cli.options.groups import Group, a_version_or_none
from gitops_bg.cli.options.options import GitOptions, PlanFormat, PlanOptions
from gitops_bg.cli.options.values import an_app
from gitops_bg.cli.output import Output, literal
from gitops_bg.cli.session.location import About, apps_named, group_named
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.listing import Column, Line, Listing
from gitops_bg.cli.views.subject import gate_table, indented
from gitops_bg.cluster.observation.ownership import UNOWNED, Ownership
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.groups.forecast import DENIED, NOT_FOUND, Changed
from gitops_bg.views.explanation import ShownGate
from gitops_bg.views.plan import PlannedGroup, PlannedSubject, counted, json_plan, json_planned
from gitops_bg.views.words import style_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedOptions:
    """Where what is live is read, and kept."""

    observed: Annotated[
        Path | None,
        typer.Option("--observed", metavar="FILE", help="Read what is live from a file instead of a cluster."),
    ] = None
    dump_observed: Annotated[
        Path | None, typer.Option("--dump-observed", metavar="FILE", help="Also write what is live to a file.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalOptions:
    """What would come to main."""

    worktree: Annotated[
        Path | None,
        typer.Option(
            "--worktree",
            metavar="[DIR]",
            help="What a push of this work tree would do, committed or not. Default: the one you are in.",
        ),
    ] = None
    base: Annotated[
        str, typer.Option("--from", metavar="REF", help="With --to: into which commit. Default: the deployed branch.")
    ] = ""
    head: Annotated[
        str, typer.Option("--to", metavar="REF", help="What a merge of this branch, tag or commit would do.")
    ] = ""

    @property
    def question(self) -> Question | None:
        """What is asked; None: about main as it is. Raises `UsageError`."""
        if self.worktree is not None and (self.base or self.head):
            raise UsageError("--worktree, or --from and --to: give one of them")
        if self.base and not self.head:
            raise UsageError("--from needs --to: what would be merged into it?")
        return Question(self.worktree, self.base, self.head) if self.worktree is not None or self.head else None


def plan(
    at: PlanOptions,
    by: ObservedOptions,
    proposal: ProposalOptions,
    apps: Annotated[
        list[str] | None,
        typer.Argument(
            parser=an_app,
            metavar="[APP]...",
            autocompletion=completion.apps_and_groups,
            help="Apps, or one release group. Default: all apps and groups.",
        ),
    ] = None,
) -> None:
    """Show what would be done now, changing nothing: neither the cluster nor Git.

    With --worktree, or --to, it is what a push or a merge would change: the apps and groups for which the plan is
    another one then. With -o markdown it is for a pull request; with --comment it is a comment there, which the next
    plan replaces.

    Example: gitops-bg plan --worktree
    """
    names = tuple(apps or ())
    _plan(_Request(at, by, PlanScope(names, at.place.namespace), apps_named(*names)), proposal)


def of_group(
    at: PlanOptions,
    by: ObservedOptions,
    proposal: ProposalOptions,
    group: Group,
    version: Annotated[
        str,
        typer.Argument(
            parser=a_version_or_none,
            metavar="[VERSION]",
            autocompletion=completion.group_versions,
            help="As if group.yaml asked for it; none: as it does.",
        ),
    ] = "",
) -> None:
    """Show what would be done to a group now, changing nothing: what `plan` shows, also as if main asked for VERSION.

    With --branch it is for the pull request of a branch.

    Example: gitops-bg group plan shop/store v2
    """
    scope = PlanScope((group,), at.place.namespace, groups_only=True, version=version)
    _plan(_Request(at, by, scope, replace(group_named(group), if_branch=True)), proposal)


def _plan(request: "_Request", proposal: ProposalOptions) -> None:
    at = request.at
    question, comment = proposal.question, pull_comment(at.pull, at.git.git_ca_file)
    before, found = _plans(request, question)
    if comment:
        comment.keep("plan", markdown(found.shown))
    _print_plan(Output(at.out.ordinary), at.out.output, found, before)


def _plans(request: "_Request", question: Question | None) -> tuple[Plan | None, Plan]:
    """Return the plan that is asked for; of what would come to main, with that of main as it is.

    Both are of one moment, so that no running clock makes a difference.
    """
    with request.session(request.at.git) as session:
        if question is None:
            return None, request.plan(session, request.output.notice)
        compared, moment = replace(request, scope=replace(request.scope, may_lack=True)), session.now
        with proposed_main(session.repository, request.at.git, question) as proposed:
            with request.session(proposed.git, session.follows, moment) as there:
                before = compared.plan(there, request.output.notice)
            proposed.accept()
            with request.session(proposed.git, session.follows, moment) as there:
                after = compared.plan(there, lambda _: None)  # It was said once.
                if not before.outcomes and not after.outcomes:
                    request.plan(there, lambda _: None)  # Raises where nobody has what is named.
                return before, after.beyond(before)


@dataclass(frozen=True, slots=True)
class _Request:
    at: PlanOptions
    by: ObservedOptions
    scope: PlanScope
    about: About

    @property
    def output(self) -> Output:
        return Output(self.at.out.ordinary)

    def session(self, git: GitOptions, follows: Ownership = UNOWNED, moment: datetime | None = None) -> Session:
        """Return a session for the repository that the options name, or with what it ``follows`` already; ``moment`` is
        when it looks, None: now.
        """
        kube, about = None if self.by.observed else self.at.kube, replace(self.about, follows=follows)
        session = Session(git, kube, self.at.place, about=about, with_ledger=True, note=self.output.notice)
        session.moment = moment
        return session

    def plan(self, session: Session, note: Callable[[str], None]) -> Plan:
        """Return the plan of the session's repository; ``note`` is told what is left out."""
        by = self.by
        live = plan_sources.load(by.observed) if by.observed else None
        found = plan_of(session, live, self.scope, note)
        if by.dump_observed and found.groups and not found.apps:
            raise UsageError("--dump-observed: what is live of release groups goes into no file; name apps, or nothing")
        if by.dump_observed:
            plan_sources.dump(found.live, by.dump_observed)
        return found


def _print_plan(output: Output, how: PlanFormat, found: Plan, before: Plan | None = None) -> None:
    """Print a plan; ``before`` is that of main as it is, if it is about what would come to main."""
    if how is PlanFormat.MARKDOWN:
        sys.stdout.write(markdown(found.shown))
        sys.stdout.flush()
    elif output.json:
        told = {"commit": found.commit} | ({"from": before.commit, "unchanged": found.unchanged} if before else {})
        output.data(
            {
                **told,
                "apps": [json_planned(each.shown) | {"app": str(each.app)} for each in found.apps],
                "groups": list(map(json_plan, found.groups)),
            }
        )
    else:
        _show(output, found, before)


def _show(output: Output, found: Plan, before: Plan | None) -> None:
    for app in found.apps:
        output.show(*drawn_planned(app.shown, datetime.now(UTC)))
    output.show(*map(drawn_plan, found.groups))
    if before is None:
        said = found.shown.summary
    else:
        between = f"from {before.commit[:10]} to {found.commit[:10]}"
        said = f"{counted(found.outcomes)} would change {between}, {found.unchanged} would not"
    output.line(said, "dim")


def drawn_planned(
    found: PlannedSubject,
    now: datetime,
    ahead: Iterable[RenderableType] = (),
    then: Iterable[RenderableType] = (),
    *,
    is_quiet: bool = True,
) -> Iterator[RenderableType]:
    """Yield it for people: what is wrong, what is ``ahead``, what is done at once, which gates are in the way of the
    rest, and how it is ``then``. ``is_quiet``: nothing but this is to be done, now or later.
    """
    quiet = is_quiet and not (found.actions or found.problems or found.refused)
    yield literal(f"{found.named}: {found.phase}{', nothing to do' if quiet else ''}", f"bold {style_of(found.phase)}")
    for problem in (*found.problems, *filter(None, [found.refused])):
        yield indented(f"! {problem}", "red")
    yield from ahead
    for number, action in enumerate(found.actions, 1):
        yield indented(f"{number}. {action}")
    if found.shut:
        yield indented("it waits for:")
        yield gate_table((ShownGate(gate, gate.reason) for gate in found.shut), now, indent=2)
    yield from then


def drawn_plan(found: PlannedGroup) -> Parts:
    """Return the plan for people, without its commit."""
    ahead = found.forecast
    is_quiet = not (ahead.ahead or ahead.answers or ahead.followers)
    return Parts(*drawn_planned(found.shown, found.now, _ahead(found), _then(found), is_quiet=is_quiet))


def _ahead(found: PlannedGroup) -> Iterator[RenderableType]:
    if found.asked_for:
        yield indented(f"as if group.yaml asked for {found.asked_for}; policies are asked once it does", "dim")
    for rejection in found.rejections:
        yield indented(f"rejected: {rejection.reason}: {rejection.message}", "red")
    if found.forecast.ahead is not None:
        yield indented(_move(found), "bold")


def _then(found: PlannedGroup) -> Iterator[RenderableType]:
    ahead = found.forecast
    if ahead.stages:
        yield _table(("VERSION", "NOW", "THEN"), map(_change, ahead.stages))
    if ahead.answers:
        rows = ((str(each.request), each.before, each.after) for each in ahead.answers)
        yield _table(("REQUEST", "NOW", "THEN"), rows)
    if ahead.answers or ahead.same_answers:
        yield indented(f"{_answered_as_now(ahead.same_answers)} answered as now", "dim")
    if ahead.followers:
        yield _table(("SERVICE", "NOW", "THEN"), map(_change, ahead.followers))


def _move(found: PlannedGroup) -> str:
    ahead = found.forecast.ahead
    assert ahead is not None
    moving = found.decision.record.transition
    how = f", at the step {moving.step}" if moving else ""
    return f"{ahead.kind} from {ahead.source} to {ahead.target}{how}"


def _answered_as_now(same: int) -> str:
    return f"{same} {'request is' if same == 1 else 'requests are'}"


def _change(each: Changed) -> tuple[str, str, str]:
    return each.name, each.before or "-", each.after or "deleted"


_STYLES = {NOT_FOUND: "yellow", DENIED: "yellow", "deleted": "red"}


def _table(titles: Iterable[str], rows: Iterable[tuple[str, str, str]]) -> Listing:
    lines = (
        Line((literal(name), literal(before, _STYLES.get(before, "")), literal(after, _STYLES.get(after, ""))))
        for name, before, after in rows
    )
    return Listing([Column(title) for title in titles], lines, indent=2)
