"""The list of verbs, in the order of `--help`. Their modules are imported here; each documents itself."""

import typer

from gitops_bg.cli.commands import agent, demo, init, policies
from gitops_bg.cli.commands.group import decide as decide_group
from gitops_bg.cli.commands.group import explain as explain_group
from gitops_bg.cli.commands.group import get as get_group
from gitops_bg.cli.commands.group import history as history_of_group
from gitops_bg.cli.commands.group import plan as plan_group
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
    START: (init.init, check.check, agent.agent, demo.demo),
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
    looking = (get_group.get, explain_group.explain, plan_group.plan, history_of_group.history)
    for verb in (*looking, decide_group.promote, decide_group.rollback, decide_group.delete):
        verbs.command(verb.__name__)(with_option_groups(verb))
    return verbs


def _gate() -> typer.Typer:
    group = typer.Typer(name="gate", help="Open, close or show the manual gates of an app.", no_args_is_help=True)
    for verb in (gate.open_, gate.close, gate.status):
        group.command(verb.__name__.strip("_"))(with_option_groups(verb))
    return group
