"""JSON from outside, and JSON for others: decoded with limits, written so that every reader understands it alike, and
packed to be kept. Of pod templates, it says what the images call a version: tags, as people read them in titles.

Tags are what an author wrote. Only what the grammar of image references allows is taken over, so that nothing can pass
for a line of a commit message.
"""

import json
import re
import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

# --- the one decoder of JSON from outside: with limits, and a result that can always be encoded again ---
# `read_json` is for a document of one author, and refuses what breaks a rule of `DocumentLimits`. `read_objects` is for
# answers that contain objects of many authors: what is nested too deep in one becomes null, and the others stay as they
# are.
# `reread_json` is for texts that this process wrote itself. Python's own decoder returns infinities and lone surrogates
# (which fail later, where they are encoded), and raises RecursionError for twenty thousand brackets. msgspec refuses
# all of these, and takes two thirds of the time (docs/decisions/0003). A server written in Go sends none of them, but
# brackets.

DEEPEST = 100
"""Levels of nesting; a Deployment has about 12. Python's own functions fail at some hundreds."""
LONGEST_NUMBER = 40
"""Digits of a whole number in a document; a 64-bit number has 20, and a hash written as a number 39."""

_decode = msgspec.json.decode
_ODD = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""What it raises for a text that is no JSON, and for what Python's own decoder reads and cannot encode again."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)


class NotJson(ValueError):
    """The text is not JSON that this module accepts; the message says why, without repeating the text."""


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """The limits of a document. ``bytes`` counts UTF-8 bytes of bytes, and characters of a text."""

    bytes: int = 16 * 1024 * 1024
    twice: bool = True
    """Whether a key may occur twice in an object, as nearly every reader of JSON allows; the last one counts."""


ORDINARY = DocumentLimits()
UNIQUE = DocumentLimits(twice=False)


def read_json(text: str | bytes, limits: DocumentLimits = ORDINARY) -> Any:
    """Decode a text of one author. Raises `NotJson`.

    >>> read_json('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    >>> read_json("1e999")
    Traceback (most recent call last):
    gitops_bg.core.foreign_json.NotJson: number out of range
    """
    if len(text) > limits.bytes:
        raise NotJson(f"it is longer than {limits.bytes:,}")
    value = _decoded(text)
    _bounded(value, DEEPEST)
    if not limits.twice:
        json.loads(text, object_pairs_hook=_no_key_twice)
    return value


def read_objects(text: bytes) -> Any:
    """Decode an answer with objects of many authors. Raises `NotJson` where it is no JSON at all.

    Anybody who may write a status can nest one as deep as Go reads: it hides none of the other objects.
    """
    try:
        return _decode(text)
    except RecursionError:
        return _decoded(_pruned(text.decode(errors="replace")))
    except _ODD as error:
        raise NotJson(_why(error)) from error


def reread_json(text: str | bytes) -> Any:
    """Decode a text that this process wrote itself; Python writes a measurement that is no number as NaN."""
    try:
        return _decode(text)
    except _ODD:
        return json.loads(text)


def sorted_json(value: Any) -> bytes:
    """The JSON of a value with sorted keys: the same bytes for the same content.

    >>> sorted_json({"b": [1, True], "a": None})
    b'{"a":null,"b":[1,true]}'
    """
    return msgspec.json.encode(value, order="sorted")


def _decoded(text: str | bytes) -> Any:
    try:
        return _decode(text)
    except _ODD as error:
        raise NotJson(_why(error)) from error


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeError):
        return "it is not UTF-8"
    if isinstance(error, RecursionError):
        return f"it is nested more than {DEEPEST} levels deep"
    said = str(error).partition(" - at ")[0].removeprefix("JSON is malformed: ")
    return said[:1].lower() + said[1:]


def _bounded(value: Any, levels: int) -> None:
    """Raise `NotJson` where a value is nested deeper, or has a number that nobody else reads."""
    if isinstance(value, int) and abs(value) >= 10**LONGEST_NUMBER:
        raise NotJson(f"it has a whole number of more than {LONGEST_NUMBER} digits")
    if isinstance(value, dict | list):
        if not levels:
            raise NotJson(f"it is nested more than {DEEPEST} levels deep")
        for each in value.values() if isinstance(value, dict) else value:
            _bounded(each, levels - 1)


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NotJson("a key stands twice in an object of it")
    return found


def _pruned(text: str) -> str:
    """Return the text with null in place of everything nested deeper than `DEEPEST`."""
    kept: list[str] = []
    level = copied = 0
    for token in _TOKEN.finditer(text):
        sign = text[token.start()]
        if sign in "[{":
            level += 1
            if level == DEEPEST + 1:
                kept.append(text[copied : token.start()] + "null")
        elif sign != '"':
            if level == DEEPEST + 1:
                copied = token.end()
            level -= 1
    return "".join([*kept, text[copied:]]) if level <= DEEPEST else "".join(kept)


# --- JSON that readers of JSON and readers of YAML understand alike ---
# YAML forbids some characters, takes some for ends of lines, and knows no escapes of half a character, of which JSON
# may put two for one beyond the basic plane. The API server reads the body of an apply as YAML.

UNPRINTABLE = re.compile(r"[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""The opposite of what YAML takes as it is, and for no end of a line but `\\n` (YAML 1.1 has five)."""


def json_for_yaml(value: Any) -> str:
    """Write a value: each character as it is, or as the escape that both have; half a character becomes U+FFFD.

    >>> print(json_for_yaml({"🚀": "a\\u2028b\\n"}))
    {"🚀": "a\\u2028b\\n"}
    """
    return UNPRINTABLE.sub(_escaped, json.dumps(value, ensure_ascii=False))


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}"


# --- JSON that is kept for long and read now and then: compressed, to a fifth where most of it is words of ours ---

_LEVEL = 1
"""Of zlib: higher ones save hardly more here, and take longer."""


@dataclass(frozen=True, slots=True)
class PackedJson:
    """A value of JSON. Two are equal where their texts are."""

    packed: bytes

    @classmethod
    def of(cls, value: Any) -> "PackedJson":
        """Pack a value.

        >>> PackedJson.of({"a": [1, "ü"]}).read()
        {'a': [1, 'ü']}
        """
        return cls(zlib.compress(msgspec.json.encode(value), _LEVEL))

    def read(self) -> Any:
        """The value, made anew: whoever gets it may change it."""
        return reread_json(zlib.decompress(self.packed))


_LONGEST = 30
_PARTS = re.compile(r"[^@]*?(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]*))?(?:@(?P<digest>[a-z0-9]+:[0-9a-f]{32,}))?")


def parts_of(image: str) -> tuple[str, str]:
    """The tag and the digest of an image reference; each empty where there is none.

    >>> parts_of("localhost:5000/web:1.4@sha256:" + "0" * 64)[0], parts_of("localhost:5000/web")
    ('1.4', ('', ''))
    """
    found = _PARTS.fullmatch(image.rpartition("/")[2])
    return (found["tag"] or "", found["digest"] or "") if found else ("", "")


def tags_between(before: str, after: str) -> tuple[str, str]:
    """What tells two pod templates (JSON; empty: unknown) apart in the images of people: two tags, or both empty.

    The first image that differs speaks, the first container's where only one template is known. Where its tags are the
    same, their digests do; where nothing does, only the numbers of the versions tell them apart.

    >>> tags_between('{"spec":{"containers":[{"image":"web:1"}]}}', '{"spec":{"containers":[{"image":"web:2"}]}}')
    ('1', '2')
    """
    old, new = images_in(before), images_in(after)
    if not (old and new):
        (_, *one), (_, *other) = (next(iter(images), ("", "", "")) for images in (old, new))
        return _shown(*one), _shown(*other)
    left = {name: image for name, *image in old}
    pairs = ((left[name], image) for name, *image in new if name in left and left[name] != image)
    moved = next(pairs, None)
    if moved is None:
        return "", ""
    shown = [_shown(*image) for image in moved]
    if shown[0] == shown[1]:
        shown = [_shown("", digest) for _, digest in moved]
    return (shown[0], shown[1]) if all(shown) and shown[0] != shown[1] else ("", "")


@lru_cache(maxsize=256)
def images_in(template: str) -> tuple[tuple[str, str, str], ...]:
    """The name, the tag and the digest of each container of a pod template, those of init containers last; none for
    what is no pod template.
    """
    try:
        spec: Any = read_json(template)["spec"] if template else {}
        containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        return tuple((str(each.get("name")), *parts_of(str(each.get("image")))) for each in containers)
    except (NotJson, LookupError, AttributeError, TypeError):
        return ()


def _shown(tag: str, digest: str) -> str:
    """A tag, else the start of a digest."""
    text = tag or ":".join(part[:10] for part in digest.partition(":")[::2] if part)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
