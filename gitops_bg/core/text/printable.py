"""Makes foreign text safe to show: no character of it forges a line, drives a terminal or reorders the text."""


def printable(text: str) -> str:
    """Return ``text`` with every invisible character escaped: control and bidi characters, line ends, lone surrogates.

    >>> printable("a\\n\\u202eb")
    'a\\\\n\\\\u202eb'
    """
    return text if text.isprintable() else "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
