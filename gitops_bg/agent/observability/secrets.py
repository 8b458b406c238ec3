"""The secrets that this process knows, hidden in all that it prints. It prints nothing itself."""

import threading

from gitops_bg.core.foreign_text import forms, without


class _Secrets:
    """The secrets registered so far, in all their forms; the set is replaced, never changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forms: frozenset[str] = frozenset()

    def add(self, secret: str) -> None:
        with self._lock:
            self._forms = self._forms.union(forms(secret))

    def clear(self) -> None:
        with self._lock:
            self._forms = frozenset()

    def masked(self, text: str) -> str:
        return without(text, self._forms)


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
