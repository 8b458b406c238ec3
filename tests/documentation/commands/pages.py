"""Which pages are run, on what; and how one is run from its first block to its last."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from tests.documentation.commands.blocks import CONSOLE, Block, Command, blocks, commands
from tests.documentation.commands.calls import essence, said_by
from tests.documentation.commands.printed import differs
from tests.documentation.commands.shell import Shell
from tests.documentation.commands.world import ROOT, Start
from tests.support.waiting import eventually

PAGES_OF_THE_REPOSITORY = (
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")),
    "README.md",
    "CONTRIBUTING.md",
)


STORIES = {
    ("docs/start/first-app.md",): Start(has_the_template=False),
    ("docs/start/install.md", "docs/how-to/upgrade.md", "docs/how-to/uninstall.md"): Start(
        has_the_template=False, has_the_agent=False, needs_control_plane=True
    ),
    ("docs/how-to/other-installations.md",): Start(
        has_the_template=False, has_the_agent=False, needs_control_plane=True
    ),
    ("docs/how-to/adopt.md", "docs/features/alerts.md"): Start(needs_control_plane=True),
    ("docs/how-to/remove-an-app.md",): Start(),
    ("docs/how-to/rename-an-app.md",): Start(),
    ("docs/how-to/argo-cd-and-flux.md",): Start(),
    ("docs/how-to/environments.md",): Start(namespaces=("shop",)),
    ("docs/how-to/come-from-argo-rollouts.md",): Start(),
    ("docs/how-to/come-from-flagger.md", "docs/how-to/come-from-oam.md"): Start(),
    ("docs/how-to/ingress.md", "docs/how-to/warm-pods.md"): Start(),
    ("docs/how-to/rendered-manifests.md",): Start(needs_helm=True),
}
"""Pages that are run, and what is there before the first of each; one begins where the one before it ends.

Every other page says before each block of commands why it is not run, or what runs it.
"""
RUN = {path for paths in STORIES for path in paths}
PATIENCE = 120.0
"""Seconds until a look shows what it has to."""
_PAUSE = 0.7
"""Between two looks: each is a process, which costs more than all that it waits for."""
LOOKS = {
    "gitops-bg": ("get", "explain", "history", "plan", "diff", "status", "tree", "gate status"),
    "kubectl": ("get", "describe", "wait"),
    "git": ("fetch", "log", "show", "diff", "ls-remote"),
}
"""Commands that can be repeated until they show what happens by itself."""


def unexplained(path: str, page: str) -> list[str]:
    """The blocks of a page with commands that are neither run, nor say why not."""
    return [f"{path}:{block.line}: {trouble}" for block in blocks(page) if (trouble := _trouble(path, block))]


def _trouble(path: str, block: Block) -> str:
    if block.mark and block.mark.kind == "run by":
        if block.mark.words in RUN:
            return ""
        file, _, name = block.mark.words.partition("::")
        source = ROOT / file
        if not source.is_file() or f"def {name or 'test_'}" not in source.read_text():
            return f"there is no test {block.mark.words}"
        told = commands(block) if block.text.startswith("$ ") else []
        if missing := [each.text for each in told if not _is_run(essence(each.text), source)]:
            return f"no call in {file} does: {'; '.join(missing)}"
    if block.mark and block.mark.kind != "exits":
        return ""
    if block.language == CONSOLE:
        return "" if path in RUN else "run the page (tests/documentation/commands/pages.py), or mark the block"
    return "call the block `console`, and begin each command with `$ `" if block.looks_like_commands else ""


def _is_run(words: frozenset[str], source: Path) -> bool:
    """Whether one call of a test says all of it."""
    return any(words <= said for said in said_by(source))


def run(path: str, shell: Shell, perform: Callable[[str, Command, int, Shell], None] | None = None) -> None:
    """Do what the reader of a page does: write its files, type its commands; each is to end and print as it shows."""
    for block in blocks((ROOT / path).read_text()):
        if block.mark and block.mark.kind != "exits":
            continue
        if block.file:
            file = shell.folder / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        elif block.language == CONSOLE:
            *first, last = commands(block)
            for command in first:
                (perform or as_shown)(f"{path}:{command.line}", command, 0, shell)
            code = int(block.mark.words) if block.mark else 0
            (perform or as_shown)(f"{path}:{last.line}", last, code, shell)


def as_shown(place: str, command: Command, code: int, shell: Shell, patience: float = PATIENCE) -> None:
    """Run a command, which is to end with this code, and to print what the page shows."""

    def does() -> bool:
        done = shell(command.text)
        shown = "\n".join(command.printed)
        assert done.code == code, f"{place}: {command.text}: ends with {done.code}\n{done.printed}"
        assert not command.printed or not differs(command.printed, done.printed), (
            f"{place}: {command.text}\n--- the page shows\n{shown}\n--- printed is\n{done.printed}"
        )
        return True

    if _only_looks(command.text):
        eventually(does, patience, first=_PAUSE, every=_PAUSE, what=place)
    else:
        does()


def _only_looks(text: str) -> bool:
    words = [word for word in shlex.split(text.replace("\\\n", " ")) if not word.startswith("-")]
    if "&&" in words or ">" in words or not words:
        return False
    return any(" ".join(words[1:]).startswith(verb) for verb in LOOKS.get(Path(words[0]).name, ()))
