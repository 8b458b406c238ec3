"""Durations as people write them, parsed to seconds and formatted. Pure."""

import typer

from gitops_bg.core.text.foreign_text import seconds_of


def seconds(text: str | float) -> float:
    """Return the seconds of ``30s``, ``5m``, ``1h30m``; a bare number is seconds. Raises `typer.BadParameter`.

    >>> seconds("1h30m"), seconds("250ms"), seconds("10")
    (5400.0, 0.25, 10.0)
    """
    if isinstance(text, int | float):
        return float(text)
    try:
        return seconds_of(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def positive_seconds(text: str | float) -> float:
    """Return the seconds of a duration that must be greater than zero. Raises `typer.BadParameter`."""
    duration = seconds(text)
    if duration <= 0:
        raise typer.BadParameter(f"{text!r} is no time at all; write it as 30s, 5m or 1h30m")
    return duration


def spoken(duration: float) -> str:
    """Format a duration in its two largest units.

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
