"""JSON that is kept for long and read now and then: compressed, which is a fifth where most of it is words of ours."""

import zlib
from dataclasses import dataclass
from typing import Any

import msgspec

from gitops_bg.core.text.foreign_json import reread_json

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
