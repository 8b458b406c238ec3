"""The secrets that this process knows, hidden in all that it prints. It prints nothing itself."""

import re
import threading

from gitops_bg.core.text.masking import MASK, forms, pattern_of


class _Secrets:
    """The secrets registered so far, as one pattern; the longest match wins."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forms: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def add(self, secret: str) -> None:
        with self._lock:
            self._forms.update(forms(secret))
            self._pattern = pattern_of(self._forms)

    def clear(self) -> None:
        with self._lock:
            self._forms.clear()
            self._pattern = None

    def masked(self, text: str) -> str:
        pattern = self._pattern
        return pattern.sub(MASK, text) if pattern else text


_secrets = _Secrets()


def mask(secret: str | bytes) -> None:
    """Mask ``secret`` in every text that `masked` returns from now on; an empty one is ignored. Thread-safe."""
    _secrets.add(secret.decode("utf-8", "replace") if isinstance(secret, bytes) else secret)


def masked(text: str) -> str:
    """Return ``text`` with ``***`` in place of every registered secret, even quoted, escaped or URL-encoded."""
    return _secrets.masked(text)


def forget_secrets() -> None:
    """Forget all registered secrets: for tests."""
    _secrets.clear()
