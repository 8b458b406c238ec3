"""How a container image behaves in the sandbox: a table to read and to replace. It must do nothing itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    `http_status` after `latency` seconds. In a Job, where nobody says a command (see `commands.py`),
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
