"""Addresses in users' files that an agent refuses to call by default. For `check`; resolves no name."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from gitops_bg.core.model.desired import Problem
from gitops_bg.outbound.addresses import ORDINARY
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.reader import Document

_NAMES = {"localhost": "127.0.0.1", "metadata.google.internal": "169.254.169.254"}
"""Names that lead to the same address everywhere."""
_FIELDS = ("url", "address")
_REMEDY = "call a Service by its name; if it is meant, the agent needs --allow-address"


def refused_addresses(document: Document) -> Iterator[Problem]:
    """The fields of templates, hooks and alerts with an address that the agent refuses to call."""
    for path, text in _addresses(document.value, ()):
        if why := _refusal(text):
            yield document.problem(path, f"the agent refuses to call it: {why}", _REMEDY)


def _addresses(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            if key in _FIELDS and isinstance(each, str):
                yield (*path, key), each
            else:
                yield from _addresses(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _addresses(each, (*path, number))


def _refusal(text: str) -> str:
    """Why no call may go there; empty where one may, or where it is known only later.

    >>> _refusal("http://169.254.169.254/latest"), _refusal("http://{{args.host}}/")
    ('169.254.169.254 is link-local, as the metadata of clouds are', '')
    """
    try:
        host = urlsplit(text).hostname or ""
    except ValueError:
        return ""
    name = host.rstrip(".")
    known = _NAMES.get("localhost" if name.endswith(".localhost") else name, host)
    return ORDINARY.refusal_of_literal(known).partition(": --allow-address")[0]
