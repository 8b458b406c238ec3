"""The console script `kubectl_complete-bg`: kubectl runs it to complete `kubectl bg …`, and reads it as it reads Cobra.

The words after `bg` are its arguments, the last one is being typed. It prints an offer a line, with a tab and a word
about it, and at last what the shell does with them (kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins).
"""

import contextlib
import io
import os
import shlex
import sys

_FILES, _NO_FILES = ":0", ":4"
"""Cobra's directives: offer files where nothing else is offered, as our scripts for shells do, and no files besides."""


def complete() -> None:
    """Print what fits the words that were typed."""
    from gitops_bg.cli.main import app

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
