"""Prints results on stdout and errors on stderr: for people with rich, for programs as JSON. Removes secrets and
control characters.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from gitops_bg.agent.logs import masked
from gitops_bg.cli.errors import BUG, code_of
from gitops_bg.cli.options.options import Format, OutputOptions
from gitops_bg.cli.views.listing import ENDLESS, paragraph
from gitops_bg.cli.views.templates import rendered
from gitops_bg.core.errors import GitopsBgError, InvalidInput
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.model.desired import Problem

if TYPE_CHECKING:
    from gitops_bg.spec.manifests.differences import Difference


_HIGH = 100
"""The lines; no output is cut at them."""


def clean(text: str) -> str:
    """Return ``text`` without secrets and control characters: text of others must not drive the reader's terminal."""
    return "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in masked(text))


def _as_yaml(text: str) -> str:
    from gitops_bg.spec.yaml.scalars import to_yaml

    return to_yaml(reread_json(text))


def literal(text: object, style: str = "") -> Text:
    """Return ``text`` to be printed literally, never read as markup."""
    return Text(clean(str(text)), style=style)


def console_for(options: OutputOptions, *, stderr: bool = False) -> Console:
    """Return a console on the present stdout or stderr."""
    stream = sys.stderr if stderr else sys.stdout
    # Set both or none: rich ignores a width without a height if TERM says that the terminal is dumb.
    fits = (stream.isatty() or os.environ.get("COLUMNS")) and options.output is not Format.WIDE
    width, height = (None, None) if fits else (ENDLESS, _HIGH)
    return Console(
        file=stream,
        width=width,
        height=height,
        no_color=options.no_color or None,
        highlight=False,
        markup=False,
        emoji=False,
    )


def _between_words(renderable: RenderableType) -> RenderableType:
    """Return a text so that it is wrapped between words, below its own first word; anything else as it is."""
    if not isinstance(renderable, Text):
        return renderable
    words = renderable.plain.lstrip(" ")
    return paragraph(renderable[len(renderable.plain) - len(words) :], len(renderable.plain) - len(words))


_HELD: ContextVar[list[Callable[[], None]] | None] = ContextVar("held", default=None)


@contextmanager
def notes_held_back(unless: type[Exception]) -> Iterator[None]:
    """Print the notes of what is tried here once it is over; none where it ends by an error of this kind."""
    held: list[Callable[[], None]] = []
    token = _HELD.set(held)
    try:
        yield
    except unless:
        held.clear()
        raise
    finally:
        _HELD.reset(token)
        for say in held:
            say()


class Output:
    """Where one verb prints."""

    def __init__(self, options: OutputOptions, *, dry_run: bool = False, template: str = "") -> None:
        self.options = options
        self._template = template
        """What is taken out of the JSON; empty: all of it (`cli.views.templates`)."""
        self.dry_run = dry_run
        """Whether the verb writes nothing, and only says what it would do."""
        self.json = options.output in (Format.JSON, Format.YAML)
        """Whether a program reads it."""
        self.wide = options.output is Format.WIDE
        self.console = console_for(options)

    def data(self, value: Any) -> None:
        """Print ``value`` as JSON, or as YAML, or what the template takes out of it."""
        if self._template:
            sys.stdout.write(rendered(self._template, value))
            sys.stdout.flush()
            return
        text = json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n"
        sys.stdout.write(_as_yaml(text) if self.options.output is Format.YAML else text)
        sys.stdout.flush()

    def one(self, value: Any) -> None:
        """Print one thing as a list of one, as kubectl's `get` does not; a template is about the thing itself."""
        self.data(value if self._template else {"items": [value]})

    def text(self, text: str) -> None:
        """Print a text that another program reads, as it is; nothing with --output json."""
        if not self.json:
            sys.stdout.write(text)
            sys.stdout.flush()

    def data_line(self, value: Any) -> None:
        """Print ``value`` as JSON on one line, or as a YAML document: one of many."""
        if self._template:
            self.data(value)
            return
        text = json.dumps(value, ensure_ascii=False, default=str) + "\n"
        sys.stdout.write(f"---\n{_as_yaml(text)}" if self.options.output is Format.YAML else text)
        sys.stdout.flush()

    def show(self, *renderables: RenderableType) -> None:
        """Print for people; nothing with --output json. Lines are not padded unless on a terminal."""
        for each in () if self.json else renderables:
            if self.console.is_terminal:
                self.console.print(_between_words(each), crop=False, overflow="ignore")
            else:
                sys.stdout.write(self.drawn(each))
                sys.stdout.flush()

    def drawn(self, renderable: RenderableType) -> str:
        """Return the text that `show` prints without a terminal."""
        with self.console.capture() as captured:
            self.console.print(renderable, soft_wrap=isinstance(renderable, Text), crop=False)
        return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())

    def line(self, text: object, style: str = "") -> None:
        """Print one line for people; nothing with --output json."""
        self.show(literal(text, style))

    def differences(self, found: "Sequence[Difference]", title: str, facts: Mapping[str, Any]) -> None:
        """Print differences below a title; with --output json ``facts`` and the differences."""
        if self.json:
            rows = [{"path": each.path, "before": each.before, "after": each.after} for each in found]
            self.data({**facts, "equal": not found, "differences": rows})
            return
        self.line(title, "bold")
        for line in (line for each in found for line in each.lines):
            self.line(f"  {line}", "yellow")
        if not found:
            self.line("  no difference", "green")

    def notice(self, text: object) -> None:
        """Print one line beside the result, on stderr; for programs an object ``note``."""
        held = _HELD.get()
        if held is None:
            self._notice(text)
        else:
            held.append(partial(self._notice, text))

    def detail(self, text: object) -> None:
        """Print one line beside the result that only who asked for details is told, by -v."""
        if self.options.verbose:
            self.notice(text)

    def _notice(self, text: object) -> None:
        if self.json:
            sys.stderr.write(json.dumps({"note": clean(str(text))}, ensure_ascii=False) + "\n")
            return
        console_for(self.options, stderr=True).print(literal(text), soft_wrap=True)

    def each(self, results: Iterable[tuple[Any, str]]) -> None:
        """Print the results of several apps in the chosen format: an object ``apps``, or one line each."""
        told = list(results)
        if self.json:
            self.data({"apps": [value for value, _ in told]})
        for _, sentence in told:
            self.line(sentence, "green")

    def would(self, *sentences: str, files: Mapping[str, str] | None = None) -> None:
        """Say what is about to be done, and end the verb, where it is to write nothing (``--dry-run``).

        ``files``: how each file would change, by its path.
        """
        if not self.dry_run:
            return
        if self.json:
            self.data({"dryRun": True, "would": list(sentences), "files": dict(files or {})})
        for sentence in sentences:
            self.line(sentence, "yellow")
        for change in (files or {}).values():
            self.text(change)
        self.line("nothing was written (--dry-run)", "dim")
        raise typer.Exit

    def writes(self) -> None:
        """Refuse a write that a dry run has come to: a verb must say what it would do before it (`would`)."""
        if self.dry_run:
            raise AssertionError("a dry run was about to write")

    def both(self, value: Any, sentence: str, style: str = "green") -> None:
        """Print a result in the chosen format."""
        if self.json:
            self.data(value)
        else:
            self.line(sentence, style)


def problem_line(problem: Problem) -> str:
    """Return ``file:line:column: field: message (remedy)``, without the parts that are unknown.

    >>> problem_line(Problem("a.yaml", "is wrong", 3, 5, "spec.x", "remove it"))
    'a.yaml:3:5: spec.x: is wrong (remove it)'
    """
    place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part is not None)
    field = f"{problem.field}: " if problem.field else ""
    remedy = f" ({problem.remedy})" if problem.remedy else ""
    return f"{place}: {field}{problem.message}{remedy}"


def report(error: GitopsBgError, *, for_programs: bool = False) -> None:
    """Print an error, or, for programs, write it as an object (docs/reference/cli.md)."""
    problems = error.problems if isinstance(error, InvalidInput) else ()
    if for_programs:
        report_object(error.reason, str(error), code_of(error), problems)
        return
    for line in [problem_line(each) for each in problems] or [str(error)]:
        console_for(OutputOptions(), stderr=True).print(literal(f"error: {line}", "red"), soft_wrap=True)


def report_object(reason: str, message: str, exit_code: int, problems: Iterable[Problem] = (), **more: str) -> None:
    """Write one line of JSON on stderr: an object ``error``."""
    from gitops_bg.spec.codec import to_json

    said: dict[str, Any] = {"reason": reason, "message": clean(message), "exitCode": exit_code}
    said |= {"problems": [to_json(each) for each in problems]} | more
    sys.stderr.write(json.dumps({"error": said}, ensure_ascii=False) + "\n")
    sys.stderr.flush()


def report_bug(error: Exception, *, for_programs: bool = False) -> None:
    """Report an unexpected exception, with what is needed to find its cause."""
    trace = clean("".join(traceback.format_exception(error)))
    if for_programs:
        report_object("Bug", f"{type(error).__name__}: {error}", BUG, trace=trace)
    else:
        sys.stderr.write(f"{trace}\nThis is a bug in gitops-bg; please report it with the lines above.\n")
