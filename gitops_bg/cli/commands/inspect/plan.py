"""`plan`: what the agent would do now, or after a push or a merge, from Git and the live cluster, or from a file.

Writes nothing to either.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from gitops_bg.cli.commands.inspect import plan_sources
from gitops_bg.cli.commands.inspect.plan_comment import markdown, pull_comment
from gitops_bg.cli.commands.inspect.plan_sources import Question, proposed_main
from gitops_bg.cli.commands.inspect.planning import Plan, PlanScope, plan_of
from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options import completion
from gitops_bg.cli.options.groups import Group, a_version_or_none
from gitops_bg.cli.options.names import an_app
from gitops_bg.cli.options.options import GitOptions, PlanFormat, PlanOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.planning.plan_views import drawn_planned, json_planned
from gitops_bg.cli.planning.planned import counted
from gitops_bg.cli.session.location import About, apps_named, group_named
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.groups.planned_group import drawn_plan, json_plan
from gitops_bg.cluster.observation.ownership import NOBODYS, Allegiance


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOptions:
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
    by: LiveOptions,
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
    by: LiveOptions,
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
    _tell(Output(at.out.ordinary), at.out.output, found, before)


def _plans(request: "_Request", question: Question | None) -> tuple[Plan | None, Plan]:
    """Return the plan that is asked for; of what would come to main, with that of main as it is.

    Both are of one moment, so that no running clock makes a difference.
    """
    with request.session(request.at.git) as session:
        if question is None:
            return None, request.plan(session, request.output.note)
        compared, moment = replace(request, scope=replace(request.scope, may_lack=True)), session.now
        with proposed_main(session.repository, request.at.git, question) as proposed:
            with request.session(proposed.git, session.follows, moment) as there:
                before = compared.plan(there, request.output.note)
            proposed.accept()
            with request.session(proposed.git, session.follows, moment) as there:
                after = compared.plan(there, lambda _: None)  # It was said once.
                if not before.outcomes and not after.outcomes:
                    request.plan(there, lambda _: None)  # Raises where nobody has what is named.
                return before, after.beyond(before)


@dataclass(frozen=True, slots=True)
class _Request:
    at: PlanOptions
    by: LiveOptions
    scope: PlanScope
    about: About

    @property
    def output(self) -> Output:
        return Output(self.at.out.ordinary)

    def session(self, git: GitOptions, follows: Allegiance = NOBODYS, moment: datetime | None = None) -> Session:
        """Return a session for the repository that the options name, or with what it ``follows`` already; ``moment`` is
        when it looks, None: now.
        """
        kube, about = None if self.by.observed else self.at.kube, replace(self.about, follows=follows)
        session = Session(git, kube, self.at.place, about=about, with_ledger=True, note=self.output.note)
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


def _tell(output: Output, how: PlanFormat, found: Plan, before: Plan | None = None) -> None:
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
