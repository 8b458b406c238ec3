"""What a page shows that a command prints, for the tests that run it in a world of their own."""

from __future__ import annotations

from tests.documentation.commands.blocks import CONSOLE, blocks, commands
from tests.documentation.commands.printed import differs
from tests.documentation.commands.world import ROOT


def demand_as_shown(page: str, command: str, printed: str, **names: object) -> None:
    """A command, as the page has it, printed what the page shows; ``names`` are the page's, each with the test's own.

    A ``/`` in a name of the page is ``_`` here: ``shop_web=web.key``.
    """
    found = (
        each
        for block in blocks((ROOT / page).read_text())
        if block.language == CONSOLE and block.text.startswith("$ ")
        for each in commands(block)
    )
    (shown,) = (each.printed for each in found if each.text == command)
    for name, own in names.items():
        printed = printed.replace(str(own), name.replace("_", "/"))
    assert not differs(shown, printed), "\n".join([f"{page} shows", *shown, "--- printed is", printed])
