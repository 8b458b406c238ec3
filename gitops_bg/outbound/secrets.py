"""What nobody is to see of an outgoing call: the Secrets of one measurement, read on demand and kept only to hide them
in its texts; and how much of an answer is shown to people, which is decided here alone (decision 52).

An author names an address, and the agent asks it from inside the cluster. So an error quotes only what a service says
about an error, where it says it in the way that was asked for, and only a line of that.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

import httpx

from gitops_bg.core.foreign_json import NotJson, read_json
from gitops_bg.core.foreign_text import hidden, printable

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
        """Return a credential, hidden from now on, without a trailing line break. Raises ``NoSuchKey``."""
        text = self.setting(name, key)
        if text is None:
            raise NoSuchKey(f"Secret {self._namespace}/{name} has no key {key}")
        self.hide(text)
        return text

    def setting(self, name: str, key: str) -> str | None:
        """Return a value of a Secret that is no credential, such as an address; None where the key is missing."""
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
        """Return the text without hidden parts."""
        return hidden(text, self._hidden)


LONGEST = 100
"""The most characters of an answer in one message."""
_MOST_READ = 16 * 1024
"""Characters that are kept until secrets are hidden in them: only then they are cut to `LONGEST`."""
_JSON = re.compile(r"application/(?:json|x-amz-json-1\.[01]|[a-z0-9.-]+\+json)")
_TEXTS = ("text/plain", "text/html")
"""Many frameworks call every text HTML, and chats do; a text with markup is a page, and is not quoted."""
_MEDIA_TYPE = re.compile(r"[a-z]{1,20}/[a-z0-9.+-]{1,40}")
_OF_AN_ERROR = frozenset(
    ["__type", "code", "detail", "error", "error_description", "errors", "errortype", "message", "reason", "title"]
)
"""The fields of an object in which services say what is wrong, in small letters."""


def status_line(status: int) -> str:
    """Return a status with its registered phrase: what a server writes there itself is its own text.

    >>> status_line(404), status_line(599)
    ('404 Not Found', '599')
    """
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type of an answer, whose headers have names in lower case; empty where it has none.

    >>> media_type({"content-type": "Application/JSON; charset=utf-8"})
    'application/json'
    """
    found = headers.get("content-type", "").partition(";")[0].strip().lower()
    return found if _MEDIA_TYPE.fullmatch(found) else ""


def is_json(kind: str) -> bool:
    """Return whether a media type is JSON, also AWS' own.

    >>> is_json("application/problem+json"), is_json("text/plain")
    (True, False)
    """
    return _JSON.fullmatch(kind) is not None


def words_in_json(kind: str, body: bytes) -> str:
    """Return what an answer of JSON says about an error; empty for any other media type, and any other field.

    >>> words_in_json("application/json", b'{"error": {"message": "no such query"}, "users": ["ida"]}')
    'no such query'
    >>> words_in_json("text/html", b'{"error": "no such query"}')
    ''
    """
    if not is_json(kind):
        return ""
    try:
        return words_of(read_json(body))
    except NotJson:
        return ""


def words_in_text(kind: str, body: bytes) -> str:
    """Return the same of an answer that may also be a text: a hook or a chat may answer with a sentence.

    >>> words_in_text("text/plain", b"change freeze"), words_in_text("text/html", b"<h1>Users</h1>")
    ('change freeze', '')
    """
    if kind not in _TEXTS:
        return words_in_json(kind, body)
    return "" if b"<" in body else body.decode("utf-8", "replace")[:_MOST_READ]


def words_of(value: Any) -> str:
    """Return the texts in the fields of an error, and of lists of errors.

    >>> words_of([{"errorType": "bad_data", "error": "parse error", "data": {"message": "x"}}])
    'bad_data: parse error'
    """
    return ": ".join(_words(value))[:_MOST_READ]


def quoted(words: str, clean: Callable[[str], str] = str) -> str:
    """Return words as they are shown: ``clean`` hides secrets, then they are one line of at most `LONGEST` characters.

    >>> quoted("no user\\n ida"), len(quoted("x" * 1000))
    ('no user ida', 100)
    """
    line = printable(" ".join(clean(words).split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _words(value: Any) -> Iterator[str]:
    """Yield a text that stands alone is none: whatever a service holds may look like that."""
    if isinstance(value, list):
        for each in value:
            yield from _words(each)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key.lower() in _OF_AN_ERROR:
                yield from _strings(item)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
    else:
        yield from _words(value)
