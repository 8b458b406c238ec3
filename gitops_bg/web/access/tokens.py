"""The tokens of scripts: a file of names, hashes, groups and ends, and who a token is. The tokens themselves are in no
file of ours.
"""

import hashlib
import hmac
import logging
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import MinLen

from gitops_bg.agent.logs import fields
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.written import Matching, Text
from gitops_bg.spec.app.fields import Model
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.declared import Declared
from gitops_bg.spec.yaml.reader import read_one
from gitops_bg.web.access.person import Person, Via

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """A token for the dashboard and its API, by its hash."""

    name: Annotated[str, Matching(r"[\w.-]{1,63}", "use letters, digits, dots, dashes and underscores, at most 63")]
    """Whose it is; the author of the commits that are made with it."""
    sha256: Annotated[str, Matching(r"[0-9a-f]{64}", "use what `sha256sum` prints: 64 hexadecimal digits")]
    """The hash of the token: `openssl rand -hex 32 | tee token | tr -d '\\n' | sha256sum`."""
    groups: Annotated[tuple[Text, ...], MinLen(1)]
    """What `access` in gitops-bg.yaml gives roles to."""
    expires: datetime | None = None
    """When it ends, RFC 3339; never where absent."""
    email: Text = "gitops-bg@localhost"
    """The mail address of the commits that are made with it."""


class TokensFile(Model):
    """The file of ``--dashboard-tokens-file``."""

    api_version: Literal["gitops-bg.dev/v1alpha1"]
    kind: Literal["DashboardTokens"]
    tokens: list[Declared[TokenEntry]]


def read_tokens(data: bytes, file: str) -> tuple[TokenEntry, ...]:
    """Read the file. Raises `InvalidInput` with every problem, also for a name that occurs twice."""
    document, problems = read_one(file, data)
    read, problems = validate(TokensFile, document) if document is not None else (None, problems)
    if read is None or document is None:
        raise InvalidInput(*problems)
    names = [each.name for each in read.tokens]
    for number, name in enumerate(names):
        if name in names[:number]:
            remedy = "give each token a name of its own"
            raise InvalidInput(document.problem(("tokens", number, "name"), f"{name} is there twice", remedy))
    return tuple(read.tokens)


class Tokens:
    """The tokens of a file, read again when it changes. Any thread may call it."""

    def __init__(self, file: Path, clock: Callable[[], datetime]) -> None:
        """Raises `InvalidInput` where the file cannot be read, or has an error."""
        self._file = file
        self._clock = clock
        self._lock = threading.Lock()
        self._seen = self._state()
        self._entries = self._read()

    def person(self, token: str) -> Person | None:
        """Return whose token it is; None for nobody's, and for one whose time is over.

        While the file cannot be read it is nobody's: a token that somebody wanted to remove does not stay by mistake.
        """
        digest, now, found = hashlib.sha256(token.encode()).hexdigest(), self._clock(), None
        for entry in self._current():
            is_it = hmac.compare_digest(entry.sha256, digest)
            found = entry if is_it else found
        if found is None or (found.expires is not None and now >= found.expires):
            return None
        return Person(found.name, found.email, f"token:{found.name}", frozenset(found.groups), Via.TOKEN)

    def _current(self) -> tuple[TokenEntry, ...]:
        with self._lock:
            state = self._state()
            if state != self._seen:
                self._seen = state
                try:
                    self._entries = self._read()
                except InvalidInput as error:
                    self._entries = ()
                    _log.error("no token counts: %s", error, extra=fields(file=str(self._file)))
            return self._entries

    def _state(self) -> tuple[int, int, int]:
        try:
            found = self._file.stat()
        except OSError:
            return 0, 0, 0
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _read(self) -> tuple[TokenEntry, ...]:
        try:
            data = self._file.read_bytes()
        except OSError as error:
            problem = Problem(str(self._file), f"cannot be read: {error.strerror}", remedy="make it a readable file")
            raise InvalidInput(problem) from error
        return read_tokens(data, str(self._file))
