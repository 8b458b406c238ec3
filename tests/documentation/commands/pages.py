"""Which pages are run, on what; and how one is run from its first block to its last."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
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
    ("docs/how-to/environments.md",): Start(),
    ("docs/how-to/environments-on-branches.md",): Start(namespaces=("shop",)),
    ("docs/how-to/come-from-argo-rollouts.md",): Start(),
    ("docs/how-to/come-from-flagger.md", "docs/how-to/come-from-oam.md"): Start(),
    ("docs/how-to/come-from-kargo.md",): Start(),
    ("docs/how-to/come-from-gitops-promoter.md",): Start(),
    ("docs/how-to/come-from-image-updater.md",): Start(),
    ("docs/how-to/three-clusters.md",): Start(clusters=("dev-1", "staging-1", "prod-1")),
    ("docs/how-to/ingress.md", "docs/how-to/warm-pods.md"): Start(),
    ("docs/how-to/database-changes.md",): Start(),
    ("docs/how-to/rendered-manifests.md",): Start(needs_helm=True),
}
"""Pages that are run, and what is there before the first of each; one begins where the one before it ends.

Every other page says before each block of commands why it is not run, or what runs it.
"""
RUN = {path for paths in STORIES for path in paths}


@dataclass(frozen=True)
class Section:
    """What a reader does who reads one section of a page: its files and commands, in order."""

    page: str
    heading: str
    start: int = 0
    end: int | None = None
    """Of its blocks of files and commands: which is the first, and the first that they leave out."""
    own: Mapping[str, str] = field(default_factory=dict)
    """Patterns of the page's words, each with what the reader has in their place."""

    @property
    def title(self) -> str:
        """What the section is called where steps are listed."""
        return f"{Path(self.page).stem}: {self.heading}"

    def blocks(self) -> Iterator[Block]:
        """Its files and commands, in the reader's words; fails where the page has none there."""
        found = [each for each in blocks((ROOT / self.page).read_text()) if each.heading == self.heading]
        chosen = [each for each in found if each.file or each.language == CONSOLE][self.start : self.end]
        assert chosen, f"{self.page} has no command below {self.heading!r}"
        for each in chosen:
            text = each.text
            for pattern, word in self.own.items():
                text = re.sub(pattern, word, text, flags=re.MULTILINE)
            yield replace(each, text=text)


_OWN = {
    r"\bweb\b": "orders",
    "merge the branch [^ ]+,": "merge https:…,",
    r"^([-+]) +image:": r"\1…image:",
    "^  next is": "  pull request #1 is to be merged: …\n  next is",
}
"""The reader of `first-app.md` has begun with a new app and without a forge, this one with what `adopt.md` has."""
_PUSHED, _PROMOTED, _REVERTED = ("3. Push a new version", "4. Promote it", "5. Take it back")
_MERGED = _OWN | {"Merge remote-tracking branch .*": "Merge pull request …", "Ada Pusher": "…", "deployed   ": "…"}
STRANGER = (
    Section("docs/start/install.md", "1. The program"),
    Section("docs/how-to/other-installations.md", "Helm"),
    Section("docs/how-to/adopt.md", "Adopt a live app"),
    Section("docs/start/first-app.md", "1. Write the app", end=2),
    Section("docs/features/pull-requests.md", "Switch it on", end=2),
    Section("docs/how-to/adopt.md", "1. Write it into the repository"),
    Section("docs/how-to/adopt.md", "2. Push it"),
    Section("docs/how-to/adopt.md", "3. Remove the Deployment"),
    Section("docs/start/first-app.md", _PUSHED, own=_OWN),
    Section("docs/start/first-app.md", _PROMOTED, end=1, own=_OWN),
    Section("docs/start/first-app.md", _PROMOTED, start=2, own=_OWN),
    Section("docs/start/first-app.md", _REVERTED, own=_MERGED),
    Section("docs/start/first-app.md", "6. What happened", own=_MERGED),
)
"""From nothing to a rollback with what a release has; `tests/integration/release/test_stranger.py` walks it."""
STRANGERS_TEST = "tests/integration/release/test_stranger.py"
PATIENCE = 120.0
"""Seconds until a look shows what it has to."""
_PAUSE = 0.7
"""Between two looks: each is a process, which costs more than all that it waits for."""
LOOKS = {
    "gitops-bg": (
        "get",
        "environments",
        "explain",
        "gate status",
        "history",
        "plan",
        "diff",
        "status",
        "tree",
        "where",
    ),
    "kubectl": ("get", "describe", "wait"),
    "git": ("fetch", "log", "show", "diff", "ls-remote"),
}
"""Commands that can be repeated until they show what happens by itself."""


def unexplained(path: str, page: str) -> list[str]:
    """The blocks of a page with commands that are neither run, nor say why not."""
    return [f"{path}:{block.line}: {trouble}" for block in blocks(page) if (trouble := _trouble(path, block))]


def _trouble(path: str, block: Block) -> str:
    if block.mark and block.mark.kind == "run by":
        walked = any((each.page, each.heading) == (path, block.heading) for each in STRANGER)
        if block.mark.words in RUN or (block.mark.words == STRANGERS_TEST and walked):
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
        if not block.mark or block.mark.kind == "exits":
            run_block(path, block, shell, perform or as_shown)


def run_block(path: str, block: Block, shell: Shell, perform: Callable[[str, Command, int, Shell], None]) -> None:
    """Write the file that a block is, or type its commands."""
    if block.file:
        file = shell.folder / block.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block.text)
    elif block.language == CONSOLE:
        *first, last = commands(block)
        for command in first:
            perform(f"{path}:{command.line}", command, 0, shell)
        code = int(block.mark.words) if block.mark and block.mark.kind == "exits" else 0
        perform(f"{path}:{last.line}", last, code, shell)


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
