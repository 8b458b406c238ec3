"""Prints what verbs found: for people by rich, for programs as JSON. No secret, no control character gets out."""

import json
import os
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from gitops_bg.agent.observability.logs import masked
from gitops_bg.cli.options.options import Format, OutputOptions

_WIDE = 4000
"""Columns where nobody's terminal limits them: a line in a file or a pipe is neither cut nor folded."""
_HIGH = 100
"""Lines; nothing is cut at them."""


def clean(text: str) -> str:
    """``text`` without secrets and control characters: what others wrote must not drive the reader's terminal."""
    return "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in masked(text))


def said(text: object, style: str = "") -> Text:
    """``text`` to be printed as it is, never read as markup."""
    return Text(clean(str(text)), style=style)


def console_for(options: OutputOptions, *, stderr: bool = False) -> Console:
    """A console on today's stdout or stderr."""
    stream = sys.stderr if stderr else sys.stdout
    # Both or none: rich takes the width alone for no answer where TERM says that the terminal is dumb.
    width, height = (None, None) if stream.isatty() or os.environ.get("COLUMNS") else (_WIDE, _HIGH)
    return Console(
        file=stream,
        width=width,
        height=height,
        no_color=options.no_color or None,
        highlight=False,
        markup=False,
        emoji=False,
    )


class Output:
    """Where one verb prints."""

    def __init__(self, options: OutputOptions) -> None:
        self.options = options
        self.json = options.output is Format.JSON
        self.console = console_for(options)

    def data(self, value: Any) -> None:
        """``value`` as JSON."""
        sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")
        sys.stdout.flush()

    def data_line(self, value: Any) -> None:
        """``value`` as JSON on one line: one of many."""
        sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
        sys.stdout.flush()

    def show(self, *renderables: RenderableType) -> None:
        """For people; nothing where JSON is asked for. No line is padded where nobody sees a screen."""
        for each in () if self.json else renderables:
            if self.console.is_terminal:
                self.console.print(each, soft_wrap=isinstance(each, Text))
            else:
                sys.stdout.write(self.drawn(each))
                sys.stdout.flush()

    def drawn(self, renderable: RenderableType) -> str:
        """The text that `show` prints where there is no screen."""
        with self.console.capture() as captured:
            self.console.print(renderable, soft_wrap=isinstance(renderable, Text))
        return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())

    def line(self, text: object, style: str = "") -> None:
        """One line for people; nothing where JSON is asked for."""
        self.show(said(text, style))

    def note(self, text: object) -> None:
        """One line beside the result, on stderr."""
        console_for(self.options, stderr=True).print(said(text), soft_wrap=True)

    def each(self, results: Iterable[tuple[Any, str]]) -> None:
        """The results of several apps in either form: an object ``apps``, or a line for each."""
        told = list(results)
        if self.json:
            self.data({"apps": [value for value, _ in told]})
        for _, sentence in told:
            self.line(sentence, "green")

    def both(self, value: Any, sentence: str, style: str = "green") -> None:
        """A result in either form."""
        if self.json:
            self.data(value)
        else:
            self.line(sentence, style)
