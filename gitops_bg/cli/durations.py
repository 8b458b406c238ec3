"""Durations as people write them, to seconds and back. Pure."""

import re

import typer

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def seconds(text: str | float) -> float:
    """The seconds of ``30s``, ``5m``, ``1h30m``; a bare number is seconds. Raises `typer.BadParameter`.

    >>> seconds("1h30m"), seconds("250ms"), seconds("10")
    (5400.0, 0.25, 10.0)
    """
    if isinstance(text, int | float):
        return float(text)
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if not re.fullmatch(f"(?:{_PART.pattern})+", text):
        raise typer.BadParameter(f"{text!r} is not a duration; write it as 30s, 5m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def positive_seconds(text: str | float) -> float:
    """The same for what must be more than nothing."""
    duration = seconds(text)
    if duration <= 0:
        raise typer.BadParameter(f"{text!r} is no time at all; write it as 30s, 5m or 1h30m")
    return duration


def spoken(duration: float) -> str:
    """A duration in its two largest units.

    >>> spoken(42), spoken(3661), spoken(90000), spoken(0.4)
    ('42s', '1h1m', '1d1h', '0s')
    """
    left = max(0, int(duration))
    if left < 60:
        return f"{left}s"
    sizes = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
    first = next(index for index, (_, size) in enumerate(sizes) if left >= size)
    text = ""
    for unit, size in sizes[first : first + 2]:
        count, left = divmod(left, size)
        text += f"{count}{unit}" if count else ""
    return text
