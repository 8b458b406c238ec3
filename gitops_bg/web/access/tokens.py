"""The tokens of scripts: who a token is. The tokens themselves are in no file of ours."""

import hashlib
import hmac
import logging
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from gitops_bg.agent.logs import fields
from gitops_bg.core.errors import InvalidInput
from gitops_bg.web.access.login_file import TokenEntry, read_login_file
from gitops_bg.web.access.person import Person, Via

_log = logging.getLogger(__name__)


class Tokens:
    """The tokens of a file, read again when it changes. Any thread may call it."""

    def __init__(self, file: Path, clock: Callable[[], datetime]) -> None:
        """Raise `InvalidInput` where the file cannot be read, or has an error."""
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
        return tuple(read_login_file(self._file).tokens)
