"""JSON that readers of JSON and readers of YAML understand alike.

YAML forbids some characters, takes some for ends of lines, and knows no escapes of half a character, of which JSON may
put two for one beyond the basic plane. The API server reads the body of an apply as YAML.
"""

import json
import re
from typing import Any

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
