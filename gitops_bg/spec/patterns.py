"""Regular expressions of users: RE2's syntax, as CEL has it, searched for in time linear in the text.

Python's own engine tries again and again: thirty characters of one author could hold every app up for hours.
"""

from dataclasses import dataclass

from gitops_bg.spec.analysis.expressions import BadExpression, NoAnswer, NoValue, value_of

_FOUND = "text.matches(pattern)"


@dataclass(frozen=True, slots=True)
class CompiledPattern:
    """A regular expression that is one."""

    pattern: str

    def __call__(self, text: str) -> bool:
        """Return whether it is found; a text that cannot be searched does not match."""
        try:
            return value_of(_FOUND, {"text": text, "pattern": self.pattern}) is True
        except (NoValue, NoAnswer):
            return False


def compile_pattern(pattern: str) -> CompiledPattern:
    """Return the compiled pattern; raise `BadExpression` with what is wrong with it.

    >>> [compile_pattern("^v[0-9]+$")(text) for text in ("v12", "latest")]
    [True, False]
    """
    try:
        value_of(_FOUND, {"text": "", "pattern": pattern})
    except (NoValue, NoAnswer) as error:
        raise BadExpression(f"{pattern!r} is no regular expression (RE2's syntax)") from error
    return CompiledPattern(pattern)
