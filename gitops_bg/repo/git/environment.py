"""The variables of the machine's environment that may reach git: a short list of names, each with its reason.

GitPython passes its own process's environment on and reads variables of its own, so every other variable is removed by
name before each command: a value may be a secret, and arguments are visible to everybody.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_PROXIES = {f"{scheme}_PROXY": "how to get out" for scheme in ("HTTP", "HTTPS", "ALL", "NO")}
LET_THROUGH: Mapping[str, str] = {
    "PATH": "where git and ssh are",
    "LD_LIBRARY_PATH": "where their libraries are",
    "TMPDIR": "where temporary files may be",
    "HOME": "ssh's helpers (ProxyCommand) and curl's .netrc; git's own files in it are shut off one by one",
    "SSH_AUTH_SOCK": "the keys of a user's ssh agent",
    "KRB5CCNAME": "single sign-on of ssh and https",
    "KRB5_CONFIG": "single sign-on of ssh and https",
    "SSL_CERT_FILE": "the certificates this machine trusts",
    "SSL_CERT_DIR": "the certificates this machine trusts",
    "NIX_SSL_CERT_FILE": "the certificates this machine trusts",
    **_PROXIES,
    **{name.lower(): why for name, why in _PROXIES.items()},
}
"""No ``GIT_…`` and no ``XDG_…``: only the agent's own settings control its git."""

LOCKED_DOWN: Mapping[str, str] = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ASKPASS": "true",
    "LC_ALL": "C",
    "LANGUAGE": "C",
}
"""The environment of every git command: no configuration of the machine, no prompt, one language."""


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_READ_ONLY = frozenset(("PPID", "UID", "EUID", "SHELLOPTS", "BASHOPTS", "BASH_VERSINFO"))
"""What some shells refuse to unset, and end for."""


def without_the_machine(ours: Mapping[str, str], first: str) -> list[str]:
    """The words before a command that remove variables that are neither ours nor let through (pitfalls.md §2.1).

    A shell does so, after ``first``, and then becomes the command: a process of ``env`` in between costs as much as a
    third of git. It is left what a shell cannot remove.
    """
    foreign = [name for name in os.environ if name not in ours and name not in LET_THROUGH]
    plain = [name for name in foreign if _PLAIN.fullmatch(name) and name not in _READ_ONLY]
    odd = [f"-u{name}" for name in foreign if name not in plain]
    unset = f"unset {' '.join(plain)}; " if plain else ""
    return ["sh", "-c", f'{first}{unset}exec "$@"', "sh", *(["env", *odd] if odd else [])]


@contextmanager
def no_git_variables() -> Iterator[None]:
    """Hide git's variables while GitPython is imported: it then reads ``GIT_PYTHON_…`` and runs git."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("GIT_")}
    for name in kept:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(kept)
