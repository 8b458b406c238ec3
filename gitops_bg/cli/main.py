"""The console scripts: `gitops-bg` and `kubectl-bg`, which turn errors into messages and exit codes, and
`kubectl_complete-bg`. No verb is here.

kubectl runs the last one to complete `kubectl bg …`, and reads it as it reads Cobra: the words after `bg` are its
arguments, the last one is being typed. It prints an offer a line, with a tab and a word about it, and at last what the
shell does with them (kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins).
"""

import contextlib
import gc
import io
import os
import shlex
import sys
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from gitops_bg import __version__
from gitops_bg.cli import errors
from gitops_bg.cli.lazy_commands import LazyGroup, wants_programs
from gitops_bg.cli.registry import commands
from gitops_bg.core.errors import GitopsBgError

_SELDOM = 500_000, 20, 20
"""New objects before a collection of the youngest generation, and so on; with Python's own 700, a fifth of the CPU of a
start goes into looking for garbage. What is outside of cycles is still freed at once.
"""
_FOR_PROGRAMS = "gitops_bg.for_programs"


class Verbs(LazyGroup):
    """The verbs; reports our errors in one place."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for command in commands():
            self.add_command(command)

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the options before the verb; note whether a program reads what is said, errors as well."""
        ctx.meta[_FOR_PROGRAMS] = wants_programs(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; a number that it returns is the exit code."""
        for_programs = bool(ctx.meta.get(_FOR_PROGRAMS))
        try:
            code = super().invoke(ctx)
        except GitopsBgError as error:
            from gitops_bg.cli.output import report

            report(error, for_programs=for_programs)
            raise typer.Exit(errors.code_of(error)) from error
        except TyperException as error:
            if not for_programs:
                raise
            from gitops_bg.cli.output import report_object

            report_object("UsageError", error.format_message(), error.exit_code)
            raise typer.Exit(error.exit_code) from error
        if isinstance(code, int) and code:
            raise typer.Exit(code)
        return code


app = typer.Typer(
    name="gitops-bg",
    cls=Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=errors.help_text(),
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"gitops-bg {__version__}")
        raise typer.Exit


@app.callback()
def _gitops_bg(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Blue-green deployments of Kubernetes workloads out of a Git repository.

    Push to preview, merge to promote, revert to roll back. Verbs that decide something do it through Git.
    """


def kubectl_plugin() -> None:
    """Run the command line as `kubectl bg`; never returns."""
    main("kubectl bg")


def main(called: str | None = None) -> None:
    """Run the command line, under the name that it was ``called`` by; never returns."""
    gc.set_threshold(*_SELDOM)
    try:
        app(prog_name=called) if called else app()
    except Exception as error:
        from gitops_bg.cli.output import report_bug

        report_bug(error, for_programs=wants_programs(sys.argv[1:]))
        sys.exit(errors.BUG)
    finally:
        gc.freeze()  # At its end Python looks for garbage once more, through all modules: a fifth of a verb's CPU.


_FILES, _NO_FILES = ":0", ":4"
"""Cobra's directives: offer files where nothing else is offered, as our scripts for shells do, and no files besides."""


def complete() -> None:
    """Print what fits the words that were typed."""
    words, begin = sys.argv[1:-1], sys.argv[-1] if len(sys.argv) > 1 else ""
    # typer answers fish in the same lines.
    os.environ |= {
        "_KUBECTL_BG_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_ARGS": f"{shlex.join(['kubectl-bg', *words])} {shlex.quote(begin) if begin else ''}",
    }
    offers = io.StringIO()
    with contextlib.redirect_stdout(offers), contextlib.suppress(SystemExit):
        app(prog_name="kubectl-bg")
    lines = [line for line in offers.getvalue().splitlines() if line]
    sys.stdout.write("".join(f"{line}\n" for line in [*lines, _NO_FILES if lines else _FILES]))
