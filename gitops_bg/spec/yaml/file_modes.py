"""The modes of mounted files: people write them in octal; JSON, which Kubernetes takes, has decimal numbers only."""

import re
from collections.abc import Sequence

LARGEST_MODE = 0o777
MODE_FIELDS = ("defaultMode", "mode")
"""The fields of volumes that hold one; the second also of a single item."""

_OCTAL = re.compile(r"0o?([0-7]{3,4})")


def mode_remedy(path: Sequence[str | int], text: str) -> str:
    """What to write for a mode in octal at a path; empty where it is none.

    >>> mode_remedy(["volumes", 0, "secret", "defaultMode"], "0400")
    'write 256, which is 0400 in octal'
    """
    found = _OCTAL.fullmatch(text) if path and path[-1] in MODE_FIELDS else None
    return f"write {int(found[1], 8)}, which is 0{found[1].lstrip('0')} in octal" if found else ""


def meant_in_octal(mode: int) -> int | None:
    """The mode that the digits of a number say in octal; None where they say none.

    >>> meant_in_octal(644), meant_in_octal(420), meant_in_octal(888)
    (420, 272, None)
    """
    digits = str(mode)
    if len(digits) != 3 or not set(digits) <= set("01234567"):
        return None
    return int(digits, 8)
