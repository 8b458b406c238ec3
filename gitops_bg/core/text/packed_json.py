"""JSON that is kept for long and read now and then: compressed, which is a fifth where most of it is words of ours."""

import json
import zlib
from dataclasses import dataclass
from typing import Any

import msgspec

from gitops_bg.core.text.foreign_json import reread_json

_LEVEL = 1
"""Of zlib: higher ones save hardly more here, and take longer."""
_HALVES = "surrogatepass"
"""Half a character stays as it is, as in a text."""


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
        return cls(zlib.compress(_text_of(value), _LEVEL))

    def read(self) -> Any:
        """The value, made anew: whoever gets it may change it."""
        return reread_json(zlib.decompress(self.packed))


def _text_of(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(errors=_HALVES)
