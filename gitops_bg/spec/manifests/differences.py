"""The differences of two pod templates, as people read them: ``spec.containers[web].image: a → b``. Pure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import lines_of, printable

_SECRET_NAME = re.compile(r"PASSW|SECRET|TOKEN|CREDENTIAL|PRIVATE|APIKEY|API_KEY", re.IGNORECASE)
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. ``before`` or ``after`` is None where only the other side has a value."""

    path: str
    before: Any
    after: Any

    @property
    def lines(self) -> Iterator[str]:
        """The lines to show: one line, or, for texts of several lines, the lines that differ.

        >>> list(Difference("nginx", "a\\nb\\n", "a\\nc\\n").lines), list(Difference("nginx", None, "a\\nb\\n").lines)
        (['nginx:', '    a', '  - b', '  + c'], ['nginx:', '  + a', '  + b'])
        """
        texts = ["" if side is None else side for side in (self.before, self.after)]
        if all(isinstance(text, str) for text in texts) and any("\n" in text for text in texts):
            yield f"{self.path}:"
            yield from (f"  {line}" for line in _line_by_line(*texts))
        else:
            yield self.sentence

    @property
    def sentence(self) -> str:
        """The difference as one line.

        >>> Difference("spec.containers[web].image", "a", "b").sentence, Difference("x", None, {"y": "1\\n2"}).sentence
        ('spec.containers[web].image: a → b', 'x: + {y: "1\\\\n2"}')
        """
        if self.before is None:
            return f"{self.path}: + {_shown(self.after)}"
        if self.after is None:
            return f"{self.path}: - {_shown(self.before)}"
        return f"{self.path}: {_shown(self.before)} → {_shown(self.after)}"


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Difference]:
    """Return the differences, by path. Items of lists are matched by their ``name``, where all have one."""
    from deepdiff import DeepDiff

    marks = Marks()
    sides = (_by_name(without_secrets(side, marks)) for side in (before, after))
    tree = DeepDiff(*sides, view="tree", threshold_to_diff_deeper=0)
    found = [_difference(level) for levels in tree.values() for level in levels]
    return sorted(found, key=lambda each: each.path)


def _line_by_line(before: str, after: str) -> Iterator[str]:
    """Yield the lines that differ, with their context."""
    found = list(unified_diff(_lines(before), _lines(after), lineterm="", n=2))
    if not found:
        yield "(nothing but the line break at its end)"
    for line in found[3:]:  # without the names of the two texts, and the position of the first lines
        yield "…" if line.startswith("@@") else f"{line[0]} {line[1:]}"


def _lines(text: str) -> list[str]:
    """Return the lines of a text, none of an empty one; but for tabs, no character of it drives a terminal."""
    lines = lines_of(text.removesuffix("\n")) if text else []
    return ["\t".join(map(printable, line.split("\t"))) for line in lines]


def _difference(level: Any) -> Difference:
    return Difference(_written(level.path(output_format="list")), _present(level.t1), _present(level.t2))


def _present(side: Any) -> Any:
    """Return a side of a difference; None for DeepDiff's marker of a missing value."""
    return None if type(side).__name__ == "NotPresent" else _unnamed(side)


class Marks:
    """Replacements of secrets. Equal secrets get equal marks, so that a change is visible."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}

    def of(self, secret: str) -> str:
        """Return the mark of a secret."""
        return self._given.setdefault(secret, f"*** (#{len(self._given) + 1})")


def looks_secret(name: str) -> bool:
    """Return whether the name suggests that its value belongs in a Secret."""
    return _SECRET_NAME.search(name) is not None


def without_secrets(value: Any, marks: Marks) -> Any:
    """Replace values that are secrets by their names with marks (they belong in a Secret, but are not shown)."""
    if isinstance(value, Mapping):
        name, text = value.get("name"), value.get("value")
        if isinstance(name, str) and isinstance(text, str) and looks_secret(name):
            return {**value, "value": marks.of(text)}
        return {key: without_secrets(item, marks) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [without_secrets(item, marks) for item in value]
    return value


def _by_name(value: Any) -> Any:
    """Replace each list of named items by a map with keys ``[name]``, so that an insertion shifts nothing."""
    if isinstance(value, Mapping):
        return {key: _by_name(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        names = [item.get("name") for item in value if isinstance(item, Mapping)]
        if value and len(names) == len(value) and None not in names and len(set(names)) == len(names):
            return {f"[{item['name']}]": _by_name(item) for item in value}
        return [_by_name(item) for item in value]
    return value


def _unnamed(value: Any) -> Any:
    """Reverse `_by_name`."""
    if isinstance(value, Mapping):
        if value and all(str(key).startswith("[") for key in value):
            return [_unnamed(item) for item in value.values()]
        return {key: _unnamed(item) for key, item in value.items()}
    return [_unnamed(item) for item in value] if isinstance(value, list) else value


def _written(path: Sequence[Any]) -> str:
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.startswith("["):
            text += part
        else:
            text = field_of(text, part)
    return text or "(everything)"


def field_of(path: str, key: str) -> str:
    """Return the path of a key below a path.

    >>> field_of("data", "color"), field_of("data", "app.conf")
    ('data.color', 'data["app.conf"]')
    """
    if not _PLAIN_KEY.fullmatch(key):
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


def _shown(value: Any) -> str:
    return "".join(_flow(value))


def _flow(value: Any) -> Iterator[str]:
    """Yield a value on one line, as YAML writes it inside braces."""
    if isinstance(value, Mapping):
        yield "{" + ", ".join(f"{key}: {_shown(item)}" for key, item in value.items()) + "}"
    elif isinstance(value, list):
        yield "[" + ", ".join(_shown(item) for item in value) + "]"
    elif isinstance(value, bool):
        yield "true" if value else "false"
    elif isinstance(value, str) and "\n" in value:
        yield json.dumps(value, ensure_ascii=False)
    else:
        yield repr(value) if value == "" else str(value)
