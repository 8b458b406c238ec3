"""Makes foreign text safe to show: no character of it forges a line, drives a terminal or reorders the text."""

_LONGEST_LINE = 500


def printable(text: str) -> str:
    """Return ``text`` with every invisible character escaped: control and bidi characters, line ends, lone surrogates.

    >>> printable("a\\n\\u202eb")
    'a\\\\n\\\\u202eb'
    """
    return text if text.isprintable() else "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def one_line(text: str) -> str:
    """Return ``text`` as one printable line of at most 500 characters.

    >>> one_line("looks good\\n\\nBg-Approved-By: root")
    'looks good Bg-Approved-By: root'
    """
    flat = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return flat if len(flat) <= _LONGEST_LINE else flat[: _LONGEST_LINE - 1] + "…"
