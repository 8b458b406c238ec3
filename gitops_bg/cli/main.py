"""The console script `gitops-bg`: turns errors into messages and exit codes. No verb is here."""

import sys
from typing import Annotated, Any

import typer

from gitops_bg import __version__
from gitops_bg.cli import exit_codes
from gitops_bg.cli.lazy_commands import LazyGroup
from gitops_bg.cli.registry import commands
from gitops_bg.core.errors import GitopsBgError


class Verbs(LazyGroup):
    """The verbs; reports our errors in one place."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for command in commands():
            self.add_command(command)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; a number that it returns is the exit code."""
        try:
            code = super().invoke(ctx)
        except GitopsBgError as error:
            from gitops_bg.cli.reporting import report

            report(error)
            raise typer.Exit(exit_codes.code_of(error)) from error
        if isinstance(code, int) and code:
            raise typer.Exit(code)
        return code


app = typer.Typer(
    name="gitops-bg",
    cls=Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=exit_codes.help_text(),
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


def main() -> None:
    """Run the command line; never returns."""
    try:
        app()
    except Exception as error:
        from gitops_bg.cli.reporting import report_bug

        report_bug(error)
        sys.exit(exit_codes.BUG)
