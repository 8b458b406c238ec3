"""Structured logs on the standard library's logging, JSON or for people, never with a secret. The command line masks
what it prints here, too, so this module knows nothing of decisions.

Other libraries log from WARNING up only: at DEBUG the Kubernetes client logs bodies, including Secrets. The secrets
that this process knows are hidden in all that it prints. This module does not decide what is worth a line.
"""

import json
import logging
import sys
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Literal, TextIO

from gitops_bg.core.foreign_text import forms, printable, without
from gitops_bg.core.model.version import AppOrGroup, short


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


ROOT = "gitops_bg"
"""The parent of every logger of ours: ``logging.getLogger(__name__)``."""

_FIELDS = "gitops_bg_fields"
_log = logging.getLogger(__name__)


def configure(format: Literal["json", "text"], level: int | str = "INFO", stream: TextIO | None = None) -> None:
    """Send all logs to ``stream`` (stderr), replacing what an earlier call set up.

    Raises ``ValueError`` for an unknown format or level.
    """
    formatters = {"json": JsonFormatter, "text": TextFormatter}
    if format not in formatters:
        raise ValueError(f"unknown log format {format!r}: use json or text")
    logging.getLogger(ROOT).setLevel(level.upper() if isinstance(level, str) else level)
    handler = _Handler(stream or sys.stderr)
    handler.setFormatter(formatters[format]())
    root = logging.getLogger()
    root.handlers = [*(other for other in root.handlers if not isinstance(other, _Handler)), handler]
    root.setLevel(logging.WARNING)


def fields(
    app: AppOrGroup | None = None,
    rollout: int | None = None,
    digest: str | None = None,
    commit: str | None = None,
    **more: object,
) -> dict[str, object]:
    """Return the ``extra`` of a log call: ``log.info("…", extra=fields(app=key, commit=id))``. Empty fields are left
    out; a release group is in a field of its own.

    >>> from gitops_bg.core.model.version import AppKey
    >>> fields(app=AppKey("shop", "web"), digest="")
    {'gitops_bg_fields': {'app': 'shop/web'}}
    """
    subject = {str(app.kind): str(app)} if app else {}
    named = {**subject, "rollout": rollout, "digest": digest, "commit": commit, **more}
    return {_FIELDS: {key: value for key, value in named.items() if value is not None and value != ""}}


def log_uncaught() -> None:
    """Send uncaught exceptions of all threads to the log (masked) instead of bare to stderr."""
    sys.excepthook = _uncaught
    threading.excepthook = _uncaught_in_thread


def rfc3339(when: datetime) -> str:
    """Format ``when`` in UTC, with milliseconds and a Z.

    >>> rfc3339(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    '2026-03-01T12:00:00.000Z'
    """
    return when.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ts, level, logger, msg, the fields, and ``error`` with the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one line."""
        line: dict[str, object] = {
            "ts": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": _message(record),
        }
        line |= {key: value for key, value in _fields(record).items() if key not in line}
        error = _error(self, record)
        text = json.dumps(line | ({"error": error} if error else {}), ensure_ascii=False)
        return text.encode(errors="backslashreplace").decode()  # a lone surrogate, as JSON writes it


class TextFormatter(logging.Formatter):
    """A line for people: time, level, app, sentence, other fields; ids are cut to ten digits."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one line; a traceback follows, indented."""
        named = _fields(record)
        app = f"[{named.pop('app')}] " if "app" in named else ""
        tail = " ".join(f"{key}={_brief(key, value)}" for key, value in named.items())
        line = f"{_time(record)} {record.levelname:<7} {app}{_message(record)}" + (f"  ({tail})" if tail else "")
        error = _error(self, record)
        return printable(line) + "".join(f"\n    {printable(row)}" for row in error.split("\n") if row)


class _Handler(logging.StreamHandler[TextIO]):
    """The handler that `configure` installs in place of its earlier one."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Stay silent: the standard handler would print the unmasked arguments of the call to stderr."""


def _time(record: logging.LogRecord) -> str:
    return rfc3339(datetime.fromtimestamp(record.created, UTC))


def _message(record: logging.LogRecord) -> str:
    try:
        return masked(record.getMessage())
    except Exception:  # a log call with wrong arguments must not lose the line, nor end the caller
        return masked(f"{record.msg} (the arguments of this log call do not fit)")


def _error(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    trace = formatter.formatException(record.exc_info) if record.exc_info and record.exc_info[0] else ""
    stack = formatter.formatStack(record.stack_info) if record.stack_info else ""
    return masked("\n".join(part for part in (trace, stack) if part))


def _fields(record: logging.LogRecord) -> dict[str, object]:
    given: Mapping[str, object] = getattr(record, _FIELDS, {})
    return {key: _plain(value) for key, value in given.items()}


def _plain(value: object) -> object:
    """Return ``value`` as JSON can carry it, masked at every depth."""
    match value:
        case None | bool() | int() | float():
            return value
        case datetime():
            return rfc3339(value)
        case Mapping():
            return {masked(str(key)): _plain(item) for key, item in value.items()}
        case Sequence() if not isinstance(value, str | bytes):
            return [_plain(item) for item in value]
        case _:
            return masked(str(value))


def _brief(key: str, value: object) -> str:
    if key == "digest":
        return short(str(value))
    if key.endswith("commit"):
        return str(value)[:10]
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        _log.critical("an error nobody caught", exc_info=(kind, error, trace))


def _uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is None or issubclass(args.exc_type, SystemExit):
        return
    name = args.thread.name if args.thread else "unknown"
    trace = (args.exc_type, args.exc_value, args.exc_traceback)
    _log.critical("an error nobody caught ended a thread", exc_info=trace, extra=fields(thread=name))
