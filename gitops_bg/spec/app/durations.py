"""Converts durations in files and on the command line to seconds. Pure."""

import re

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", re.ASCII)


def seconds_of(text: str) -> float:
    """The seconds of ``30s``, ``5m``, ``1h30m``; a bare number is seconds. Raises ``ValueError``.

    >>> seconds_of("1h30m"), seconds_of("250ms"), seconds_of("10")
    (5400.0, 0.25, 10.0)
    """
    if re.fullmatch(r"\d+(\.\d+)?", text, flags=re.ASCII):
        return float(text)
    if not re.fullmatch(f"(?:{_PART.pattern})+", text):
        raise ValueError(f"{text!r} is not a duration; write it as 30s, 5m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
