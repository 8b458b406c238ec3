"""Whether a program reads what a command says: known before the command is, so that every error can be an object."""

from collections.abc import Sequence

_OF_PROGRAMS = frozenset(("json", "yaml"))
_LONG, _SHORT = "--output", "-o"


def wants_programs(arguments: Sequence[str]) -> bool:
    """Return whether the arguments of a command ask for JSON or YAML; the last ``-o`` decides, as it does later.

    >>> [wants_programs(["get", *each]) for each in (["-o", "json"], ["--output=yaml"], ["-oyaml"])]
    [True, True, True]
    >>> wants_programs(["get", "-o", "json", "-o", "text"]), wants_programs(["get", "json", "-o"]), wants_programs([])
    (False, False, False)
    >>> wants_programs(["get", "--", "-o", "json"])
    False
    """
    own = list(arguments[: arguments.index("--")]) if "--" in arguments else list(arguments)
    wanted = ""
    for place, each in enumerate(own):
        if each in (_LONG, _SHORT):
            wanted = own[place + 1] if place + 1 < len(own) else ""
        elif each.startswith(f"{_LONG}="):
            wanted = each.partition("=")[2]
        elif each.startswith(_SHORT) and not each.startswith("--"):
            wanted = each.removeprefix(_SHORT)
    return wanted in _OF_PROGRAMS
