"""How the containers of a pod behave and end: by a table of images to read and to replace, and by their command. It
must do and run nothing itself.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from gitops_bg.sandbox.objects.objects import Manifest

# --- how a command ends: a very small shell, enough for the Jobs of demos and tests ---
# It knows `true`, `false`, `exit`, `sleep`, `echo` and `:`, alone or in `sh -c`, joined by `;`, `&&`, `||` or lines.
# Any other program is not there and ends with 127, what cannot be read with 2: as a shell says.

_SHELLS = ("sh", "bash", "ash", "dash")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_JOINTS = (";", "&&", "||")


@dataclass(frozen=True, slots=True)
class Ending:
    """After how many seconds (infinite: never) a container ends, and with which exit code."""

    after: float = 0.0
    exit_code: int = 0
    said: str = field(default="", compare=False, repr=False)
    """The last line of its log: what it echoed last."""


def last_words(container: Manifest, code: int) -> Manifest:
    """Return the end of the log as the status of a container that failed has it, where its author wants it there."""
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    said = ending_of(words).said if code and words else ""
    wanted = container.get("terminationMessagePolicy") == "FallbackToLogsOnError"
    return {"message": said} if said and wanted else {}


def endings_of(pod: Manifest, exit_code: int) -> dict[str, Ending]:
    """Return how each container of a pod ends: as its command does, at once with `exit_code` where it has none."""
    found = {}
    for container in pod["spec"]["containers"]:
        command = container.get("command") or []
        words = [*command, *(container.get("args") or ())]
        found[container["name"]] = ending_of(words) if command else Ending(exit_code=exit_code)
    return found


def ending_of(words: Sequence[str]) -> Ending:
    """Return how a command with its arguments ends.

    >>> ending_of(["sh", "-c", "sleep 2 && exit 3; echo never said"])
    Ending(after=2.0, exit_code=3)
    """
    program, *arguments = words
    name = program.rpartition("/")[2]
    try:
        if name not in _SHELLS:
            return _simple(name, arguments)
        return _script(next((word for word in arguments if not word.startswith(("-", "+"))), ""))
    except ValueError:  # an unclosed quote, or an invalid number
        return Ending(exit_code=2)


def _script(script: str) -> Ending:
    after, code, said = 0.0, 0, ""
    for joint, words in _commands(script):
        if (joint == "&&" and code) or (joint == "||" and not code):
            continue
        ending = _simple(words[0], words[1:])
        after, code, said = after + ending.after, ending.exit_code, ending.said or said
        if words[0] == "exit" or math.isinf(after):
            break
    return Ending(after, code, said)


def _commands(script: str) -> Iterator[tuple[str, list[str]]]:
    """Yield simple commands, each with what joins it to the one before."""
    joint, words = ";", list[str]()
    lexer = shlex.shlex(script.replace("\n", " ; "), posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    for token in [*lexer, ";"]:
        if token in _JOINTS:
            if words:
                yield joint, words
            joint, words = token, []
        else:
            words.append(token)


def _simple(name: str, arguments: Sequence[str]) -> Ending:
    match name:
        case "true" | ":":
            return Ending()
        case "echo":
            return Ending(said=" ".join(arguments))
        case "false":
            return Ending(exit_code=1)
        case "exit":
            return Ending(exit_code=int(arguments[0]) & 255 if arguments else 0)
        case "sleep":
            return Ending(after=sum(map(_seconds, arguments)))
        case _:
            return Ending(exit_code=127)


def _seconds(text: str) -> float:
    unit = _UNITS.get(text[-1:], 0)
    return float(text[:-1]) * unit if unit else float(text)


# --- how an image behaves ---

_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"^(?:[A-Za-z0-9.-]+(?::\d+)?/)?{_PART}(?:/{_PART})*(?::[A-Za-z0-9_][\w.-]{{0,127}})?(?:@[a-z0-9]+:[0-9a-f]{{32,}})?$"
)
"""https://github.com/distribution/reference/blob/main/reference.go"""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How the containers of a pod behave.

    `ready_after` seconds it is ready, unless `waiting` names the reason why it never will be
    (`ImagePullBackOff`, `InvalidImageName`, `CrashLoopBackOff`). Its HTTP server answers with
    `http_status` after `latency` seconds. In a Job, where nobody says a command (see `ending_of`),
    it ends at once with `exit_code`.
    """

    ready_after: float = 0.1
    waiting: str = ""
    http_status: int = 200
    latency: float = 0.0
    exit_code: int = 0

    @property
    def unpulled(self) -> str:
        """Return why its image cannot be pulled; empty where it can, whatever the container does."""
        return "" if self.waiting == "CrashLoopBackOff" else self.waiting


@dataclass(frozen=True, slots=True)
class ImageRule:
    """Images whose tag contains `word`, and their behaviour."""

    word: str
    behaviour: Behaviour


IMAGE_RULES = (
    ImageRule("bad", Behaviour(waiting="ImagePullBackOff")),
    ImageRule("missing", Behaviour(waiting="ImagePullBackOff")),
    ImageRule("crash", Behaviour(waiting="CrashLoopBackOff", exit_code=1)),
    ImageRule("error", Behaviour(http_status=500, exit_code=1)),
    ImageRule("slow", Behaviour(latency=0.5)),
)
"""The rules of the demo; the first whose word is in the tag wins."""


def tag_of(image: str) -> str:
    """Return the tag of an image reference, `latest` where it has none."""
    name = image.rpartition("/")[2].partition("@")[0]
    return name.partition(":")[2] or "latest"


def behaviour_of(image: str, rules: Sequence[ImageRule], ready_after: float) -> Behaviour:
    """Return how an image behaves: by the first rule that fits, else ready after `ready_after` seconds."""
    if not _REFERENCE.match(image):
        return Behaviour(ready_after, waiting="InvalidImageName")
    for rule in rules:
        if rule.word in tag_of(image):
            return replace(rule.behaviour, ready_after=ready_after)
    return Behaviour(ready_after)
