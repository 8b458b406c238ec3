"""The lines of a text that came from outside. Pure."""


def lines_of(text: str) -> list[str]:
    """The parts of a text between line feeds, at least one; a carriage return at the end of a line is part of it.

    ``str.splitlines`` takes U+2028, U+0085 and six more for the end of a line, which people can write into anything.

    >>> lines_of("a\\x85b\\r\\n\\nc")
    ['a\\x85b\\r', '', 'c']
    """
    return text.split("\n")
