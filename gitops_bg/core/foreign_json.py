"""JSON from outside, and JSON for others: decoded with limits, written so that every reader understands it alike, and
packed to be kept. Of pod templates, it says what the images call a version: tags, as people read them in titles.

Tags are what an author wrote. Only what the grammar of image references allows is taken over, so that nothing can pass
for a line of a commit message.
"""

import json
import re
import zlib
from functools import lru_cache
from typing import Any

import msgspec

from gitops_bg.core.dataclass import dataclass

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
    """Return the JSON of a value with sorted keys: the same bytes for the same content.

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
        """Return the value, made anew: whoever gets it may change it."""
        return reread_json(zlib.decompress(self.packed))


_LONGEST = 30
_PARTS = re.compile(r"[^@]*?(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]*))?(?:@(?P<digest>[a-z0-9]+:[0-9a-f]{32,}))?")


def parts_of(image: str) -> tuple[str, str]:
    """Return the tag and the digest of an image reference; each empty where there is none.

    >>> parts_of("localhost:5000/web:1.4@sha256:" + "0" * 64)[0], parts_of("localhost:5000/web")
    ('1.4', ('', ''))
    """
    found = _PARTS.fullmatch(image.rpartition("/")[2])
    return (found["tag"] or "", found["digest"] or "") if found else ("", "")


def tag_of(template: str) -> str:
    """Return the tag of the first image of a pod template (JSON; empty: unknown), cut where it is long; or empty.

    >>> tag_of('{"spec":{"containers":[{"name":"web","image":"shop/web:2.5.0"}]}}'), tag_of("")
    ('2.5.0', '')
    """
    tag, _ = parts_of(next((image for _, image in images_in(template)), ""))
    return tag if len(tag) <= _LONGEST else f"{tag[: _LONGEST - 1]}…"


@dataclass(frozen=True, slots=True)
class ImageChange:
    """Another image of one container; ``before`` or ``after`` is empty where there is no such container."""

    container: str
    before: str
    after: str

    def __str__(self) -> str:
        """Return what changes, in words.

        >>> str(ImageChange("web", "shop/web:2.4.0", "shop/web:2.5.0")), str(ImageChange("proxy", "", "envoy:1"))
        ('image of web: 2.4.0 → 2.5.0', 'image of proxy: new → 1')
        """
        return f"image of {self.container}: {self.span}"

    @property
    def span(self) -> str:
        """From which image to which: by what tells them apart, their tags, else their digests, else all of it."""
        shown = [_in_short(each) for each in (self.before, self.after)]
        if shown[0] == shown[1]:
            shown = [self.before, self.after]
        return f"{shown[0] or 'new'} → {shown[1] or 'none'}"


def image_changes(before: str, after: str) -> tuple[ImageChange, ...]:
    """Return the containers of two pod templates (JSON) whose images differ; none where one of the two is unknown."""
    old, new = dict(images_in(before)), dict(images_in(after))
    names = dict.fromkeys((*new, *old)) if old and new else {}
    changes = (ImageChange(name, old.get(name, ""), new.get(name, "")) for name in names)
    return tuple(each for each in changes if each.before != each.after)


@lru_cache(maxsize=256)
def images_in(template: str) -> tuple[tuple[str, str], ...]:
    """Return each container of a pod template with its image, those of init containers last; or none."""
    try:
        spec: Any = read_json(template)["spec"] if template else {}
        containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        return tuple((str(each.get("name")), str(each.get("image") or "")) for each in containers)
    except (NotJson, LookupError, AttributeError, TypeError):
        return ()


def _in_short(image: str) -> str:
    """Return a tag, else the start of a digest, else the image.

    >>> _in_short("registry:5000/web:1.4.0"), _in_short("web@sha256:" + "0" * 64), _in_short("web")
    ('1.4.0', 'sha256:0000000000', 'web')
    """
    tag, digest = parts_of(image)
    kind, _, digits = digest.partition(":")
    return tag or (f"{kind}:{digits[:10]}" if digest else image)
