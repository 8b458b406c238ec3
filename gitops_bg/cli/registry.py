"""The list of verbs, in the order of `--help`. Their modules are imported here; each documents itself."""

import typer

from gitops_bg.cli.commands import agent, demo, init, policies, schema
from gitops_bg.cli.commands.group import change as group_change
from gitops_bg.cli.commands.group import diff as group_diff
from gitops_bg.cli.commands.group import explain as group_explain
from gitops_bg.cli.commands.group import get as group_get
from gitops_bg.cli.commands.group import history as group_history
from gitops_bg.cli.commands.group import plan as group_plan
from gitops_bg.cli.commands.group import tree as group_tree
from gitops_bg.cli.commands.inspect import check, diff, explain, get, history, plan, status, tree
from gitops_bg.cli.commands.operate import (
    abort,
    accept_history,
    approve,
    freeze,
    gate,
    promote,
    reconcile,
    restart,
    resume,
    retry,
    rollback,
    set_image,
    suspend,
    undo,
)
from gitops_bg.cli.options.option_groups import with_option_groups

START, LOOK, DECIDE = "Start", "Look", "Decide"

_VERBS = {
    START: (init.init, check.check, schema.schema, agent.agent, demo.demo),
    LOOK: (get.get, tree.tree, status.status, explain.explain, plan.plan, diff.diff, history.history),
    DECIDE: (
        set_image.set_image,
        promote.promote,
        approve.approve,
        rollback.rollback,
        undo.undo,
        abort.abort,
        retry.retry,
        restart.restart,
        resume.resume,
        suspend.suspend,
        suspend.pause,
        freeze.freeze,
        freeze.unfreeze,
        accept_history.accept_history,
        reconcile.reconcile,
    ),
}

_GROUP_VERBS = (
    group_get.get,
    group_tree.tree,
    group_explain.explain,
    group_plan.plan,
    group_diff.diff,
    group_history.history,
    group_change.promote,
    group_change.rollback,
    group_change.delete,
)


def add_verbs(app: typer.Typer) -> None:
    """Register every verb; a function ``set_image`` is the verb ``set-image``."""
    for panel, verbs in _VERBS.items():
        for verb in verbs:
            app.command(verb.__name__.replace("_", "-"), rich_help_panel=panel)(with_option_groups(verb))
    app.add_typer(_gate(), rich_help_panel=DECIDE)
    app.add_typer(_policies(), rich_help_panel=LOOK)
    app.add_typer(_group(), rich_help_panel=DECIDE)


def _policies() -> typer.Typer:
    told = "Try promotion policies: on cases, and on the past."
    group = typer.Typer(name="policies", help=told, no_args_is_help=True)
    group.command("test")(with_option_groups(policies.run_tests))
    group.command("replay")(with_option_groups(policies.replay))
    return group


def _group() -> typer.Typer:
    told = "Release groups: several services that are promoted and rolled back together."
    verbs = typer.Typer(name="group", help=told, no_args_is_help=True)
    for verb in _GROUP_VERBS:
        verbs.command(verb.__name__)(with_option_groups(verb))
    return verbs


def _gate() -> typer.Typer:
    group = typer.Typer(name="gate", help="Open, close or show the manual gates of an app.", no_args_is_help=True)
    for verb in (gate.open_, gate.close, gate.status):
        group.command(verb.__name__.strip("_"))(with_option_groups(verb))
    return group
