"""The key ring that git's gpg gets: the listed keys and nothing else, in a home of its own.

The machine's key rings, its keyservers and its agent are not used.
"""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gitops_bg.core.foreign_text import lines_of, one_line
from gitops_bg.repo.git.output import lines, text
from gitops_bg.repo.git.runner import MEBIBYTE, OWN_GROUP, CommandLimits, running

PROGRAM = "gpg"
_PUBLIC = b"-----BEGIN PGP PUBLIC KEY BLOCK-----"
_PRIVATE = b"-----BEGIN PGP PRIVATE KEY BLOCK-----"
_SECONDS = 10.0
"""The deadline of one call of gpg."""
LIMITS = CommandLimits(256 * MEBIBYTE, cpu_seconds=10)
"""What each process of a check may use: keys and signatures are others' to write, and gpg unpacks what it is given."""
_LONGEST_OUTPUT = 1024 * 1024
_SETTINGS = """\
batch
no-tty
no-autostart
disable-dirmngr
no-auto-key-retrieve
no-auto-key-locate
trust-model always
"""
_TAKEN = re.compile(r"\[GNUPG:\] IMPORT_OK ")


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong with a file of keys."""

    message: str
    line: int | None = None


def make_keyring(home: Path, keys: bytes) -> Wrong | None:
    """Make a home of gpg with these armored public keys; return what is wrong with them, if anything.

    ``home`` is an empty folder that nobody else can read; the caller removes it. Raises ``OSError`` without room.
    """
    for number, line in enumerate(lines(keys), 1):
        if line.strip() == _PRIVATE:
            return Wrong("has a private key: only the public ones belong here", number)
    if _PUBLIC not in keys:
        return Wrong("has no armored OpenPGP public key", 1)
    (home / "gpg.conf").write_text(_SETTINGS, encoding="ascii")
    (home / "keys.asc").write_bytes(keys)
    said = _import(home)
    if said is None:
        return Wrong(f"is not read by {PROGRAM} within {_SECONDS:.0f} s")
    # Not by its exit status: it fails, too, where it has all keys, and only its agent would have too long a path.
    statuses, complaint = said
    if sum(_TAKEN.match(line) is not None for line in lines_of(statuses)) < keys.count(_PUBLIC):
        return Wrong(f"has a key that {PROGRAM} refuses: {complaint or 'it does not say why'}")
    return None


def _import(home: Path) -> tuple[str, str] | None:
    """The status lines and the complaints of gpg; None where it took too long or said too much."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "HOME": str(home)}
    gpg = (PROGRAM, "--homedir", str(home), "--status-fd", "1", "--import", str(home / "keys.asc"))
    process = subprocess.Popen(
        ["sh", "-c", f'{LIMITS.script}exec "$@"', "sh", *gpg],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=OWN_GROUP["start_new_session"],
    )
    output = bytearray()
    with running(process, _SECONDS) as one:
        for chunk in one.chunks():
            output += chunk
            if len(output) > _LONGEST_OUTPUT:
                return None
        one.end()
    return None if one.timed_out else (text(bytes(output)), one_line(text(one.complaint)))
