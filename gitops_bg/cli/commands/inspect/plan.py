"""`plan`: what the agent would do now, or after a push or a merge, from Git and the live cluster, or from a file.

Writes nothing to either.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options import completion
from gitops_bg.cli.options.names import an_app
from gitops_bg.cli.options.options import GitOptions, PlanFormat, PlanOptions
from gitops_bg.cli.planning import observed_file
from gitops_bg.cli.planning.plan_markdown import markdown
from gitops_bg.cli.planning.planned import counted
from gitops_bg.cli.planning.plans import Plan, PlanOfApp, plan_of
from gitops_bg.cli.planning.proposed_main import Question, proposed_main
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.pull_comment import pull_comment
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.groups.planned_group import drawn_plan, json_plan
from gitops_bg.cli.views.output import Output
from gitops_bg.cluster.observation.ownership import NOBODYS, Allegiance
from gitops_bg.spec.codec import to_json

if TYPE_CHECKING:
    from gitops_bg.cli.printed.apps import PlannedAppJson


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
    question, comment = proposal.question, pull_comment(at.pull, at.git.git_ca_file)
    before, found = _asked(_Asked(at, by, apps or []), question)
    if comment:
        comment.keep("plan", markdown(found.shown))
    _tell(Output(at.out.ordinary), at.out.output, found, before)


def _asked(asked: "_Asked", question: Question | None) -> tuple[Plan | None, Plan]:
    """Return the plan that is asked for; of what would come to main, with that of main as it is."""
    with asked.session(asked.at.git) as session:
        if question is None:
            return None, asked.plan(session, asked.output.note)
        with proposed_main(session.repository, asked.at.git, question) as proposed:
            with asked.session(proposed.git, session.follows) as there:
                before = asked.plan(there, asked.output.note)
            proposed.accept()
            with asked.session(proposed.git, session.follows) as there:
                return before, asked.plan(there, lambda _: None).beyond(before)  # It was said once.


@dataclass(frozen=True, slots=True)
class _Asked:
    at: PlanOptions
    by: LiveOptions
    apps: list[str]

    @property
    def output(self) -> Output:
        return Output(self.at.out.ordinary)

    def session(self, git: GitOptions, follows: Allegiance = NOBODYS) -> Session:
        """Return a session for the repository that the options name, or with what it ``follows`` already."""
        kube, about = None if self.by.observed else self.at.kube, replace(apps_named(*self.apps), follows=follows)
        return Session(git, kube, self.at.place, about=about, with_ledger=True, note=self.output.note)

    def plan(self, session: Session, note: Callable[[str], None]) -> Plan:
        """Return the plan of the session's repository; ``note`` is told what is left out."""
        by = self.by
        live = observed_file.load(by.observed) if by.observed else None
        found = plan_of(session, live, self.apps, self.at.place.namespace, note)
        if by.dump_observed:
            observed_file.dump(found.live, by.dump_observed)
        return found


def _tell(output: Output, how: PlanFormat, found: Plan, before: Plan | None = None) -> None:
    """Print a plan; ``before`` is that of main as it is, if it is about what would come to main."""
    if how is PlanFormat.MARKDOWN:
        sys.stdout.write(markdown(found.shown))
        sys.stdout.flush()
    elif output.json:
        told = {"commit": found.commit} | ({"from": before.commit, "unchanged": found.unchanged} if before else {})
        output.data({**told, "apps": list(map(_json, found.apps)), "groups": list(map(json_plan, found.groups))})
    else:
        _show(output, found, before)


def _json(each: PlanOfApp) -> "PlannedAppJson":
    last = each.last
    return {
        "app": str(each.app),
        "phase": last.phase,
        "actions": [
            {"action": type(action).__name__, "sentence": str(action), "arguments": to_json(action)}
            for action in each.actions
        ],
        "gates": [to_json(gate) | {"open": gate.open} for gate in last.gates],
        "problems": [to_json(problem) for problem in each.facts.desired.problems],
        "refused": each.obstacle or None,
        "wakeAt": last.wake_at.isoformat() if last.wake_at else None,
    }


def _show(output: Output, found: Plan, before: Plan | None) -> None:
    _show_apps(output, found.apps)
    for group in found.groups:
        output.show(drawn_plan(group))
    if before is None:
        busy = sum(bool(each.actions) for each in found.shown.subjects)
        said = f"{counted(found.outcomes)} at commit {found.commit[:10]}: {busy} with something to do"
    else:
        between = f"from {before.commit[:10]} to {found.commit[:10]}"
        said = f"{counted(found.outcomes)} would change {between}, {found.unchanged} would not"
    output.line(said, "dim")


def _show_apps(output: Output, apps: Sequence[PlanOfApp]) -> None:
    for each in apps:
        rests = not (each.actions or each.obstacle)
        output.line(f"{each.app}: {each.last.phase}" + (", nothing to do" if rests else ""), "bold")
        for problem in each.facts.desired.problems:
            output.line(f"  ! {problem}", "red")
        if each.obstacle:
            output.line(f"  ! {each.obstacle}", "red")
        for number, action in enumerate(each.actions, 1):
            output.line(f"  {number}. {action}")
        for gate in each.last.gates:
            if not gate.open:
                output.line(f"  waits for {gate.kind}: {gate.reason}", "yellow")
