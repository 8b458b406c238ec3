"""How a container image behaves in the sandbox: a table to read and to replace. It must do nothing itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What becomes of a pod.

    `ready_after` seconds it is ready, unless `waiting` names the reason why it never will be
    (`ImagePullBackOff`, `CrashLoopBackOff`). Its HTTP server answers with `http_status` after
    `latency` seconds.
    """

    ready_after: float = 0.1
    waiting: str = ""
    http_status: int = 200
    latency: float = 0.0


@dataclass(frozen=True, slots=True)
class ImageRule:
    """Images whose tag contains `word` behave like this."""

    word: str
    behaviour: Behaviour


IMAGE_RULES = (
    ImageRule("bad", Behaviour(waiting="ImagePullBackOff")),
    ImageRule("missing", Behaviour(waiting="ImagePullBackOff")),
    ImageRule("crash", Behaviour(waiting="CrashLoopBackOff")),
    ImageRule("error", Behaviour(http_status=500)),
    ImageRule("slow", Behaviour(latency=0.5)),
)
"""The rules of the demo; the first whose word is in the tag wins."""


def tag_of(image: str) -> str:
    """Return the tag of an image reference, `latest` where it has none."""
    name = image.rpartition("/")[2].partition("@")[0]
    return name.partition(":")[2] or "latest"


def behaviour_of(image: str, rules: Sequence[ImageRule], ready_after: float) -> Behaviour:
    """Return how an image behaves: by the first rule that fits, else ready after `ready_after` seconds."""
    for rule in rules:
        if rule.word in tag_of(image):
            own = rule.behaviour
            return Behaviour(ready_after, own.waiting, own.http_status, own.latency)
    return Behaviour(ready_after)
