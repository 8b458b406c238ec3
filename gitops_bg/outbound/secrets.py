"""The Secrets of one measurement: read on demand, kept only to hide them in its texts."""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from gitops_bg.core.foreign_text import hidden

REFERENCE = re.compile(r"\{\{secret:([^/}]+)/([^}]+)\}\}")


ReadSecret = Callable[[str, str], Mapping[str, bytes]]
"""Returns the data of the Secret of this namespace and name. Raises the errors of ``core.errors``."""


class NoSuchKey(Exception):
    """The Secret exists, and lacks the key."""


class Secrets:
    """The Secrets of one namespace, for one measurement; discarded after it."""

    def __init__(self, namespace: str, read: ReadSecret) -> None:
        self._namespace = namespace
        self._read = read
        self._seen: dict[str, Mapping[str, bytes]] = {}
        self._hidden: set[str] = set()

    def value(self, name: str, key: str) -> str:
        """A credential, hidden from now on, without a trailing line break. Raises ``NoSuchKey``."""
        text = self.setting(name, key)
        if text is None:
            raise NoSuchKey(f"Secret {self._namespace}/{name} has no key {key}")
        self.hide(text)
        return text

    def setting(self, name: str, key: str) -> str | None:
        """A value of a Secret that is no credential, such as an address; None where the key is missing."""
        if name not in self._seen:
            self._seen[name] = self._read(self._namespace, name)
        data = self._seen[name].get(key)
        return data.decode("utf-8", "replace").rstrip("\r\n") if data is not None else None

    def hide(self, text: str) -> None:
        """Hide this text in all texts of the measurement from now on."""
        self._hidden.add(text)

    def fill(self, value: Any) -> Any:
        """Resolve every reference ``{{secret:NAME/KEY}}`` in JSON. What HTTP makes of such a URL is hidden, too."""
        if isinstance(value, str):
            filled = REFERENCE.sub(lambda found: self.value(found[1], found[2]), value)
            if filled != value:
                self._hide_login(filled)
            return filled
        if isinstance(value, Mapping):
            return {key: self.fill(item) for key, item in value.items()}
        return [self.fill(item) for item in value] if isinstance(value, list) else value

    def _hide_login(self, text: str) -> None:
        """Hide the password of a URL without its percent-encoding, and what is sent of its user and password."""
        try:
            url = httpx.URL(text)
        except (httpx.InvalidURL, ValueError):
            return
        if url.userinfo:
            self.hide(url.password)
            self.hide(b64encode(f"{url.username}:{url.password}".encode()).decode())

    def clean(self, text: str) -> str:
        """The text without hidden parts."""
        return hidden(text, self._hidden)
