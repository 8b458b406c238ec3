"""What others wrote, as it may be shown: nothing in it forges a line, drives a terminal or reorders what is read."""


def printable(text: str) -> str:
    """``text`` with everything that cannot be seen escaped: control and bidi characters, line ends, lone surrogates.

    >>> printable("a\\n\\u202eb")
    'a\\\\n\\\\u202eb'
    """
    return text if text.isprintable() else "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
