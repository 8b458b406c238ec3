"""How the command line names an app: NAME or NAMESPACE/NAME, both names of Kubernetes. Asks no server.

https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names (RFC 1123).
"""

import re

from gitops_bg.cli.errors import UsageError
from gitops_bg.spec.dns_labels import is_dns_label

_RULE = "lower-case letters, digits and '-', first and last no '-', at most 63"
_HOW = "write NAME or NAMESPACE/NAME, as in shop/web"


def app_name(text: str) -> tuple[str, str]:
    """Return the namespace (empty if not given) and the name in ``text``. Raises `UsageError`.

    >>> app_name("shop/web"), app_name("web")
    (('shop', 'web'), ('', 'web'))
    """
    namespace, slash, name = text.partition("/")
    if not slash:
        return "", _demanded("app", text, text)
    if "/" in name and name.strip("/"):
        raise UsageError(f"{text!r} names no app: it has more than one slash; {_HOW}")
    return _demanded("namespace", namespace, text), _demanded("app", name, text)


def namespace_name(text: str) -> str:
    """Return ``text`` if it is empty or the name of a namespace. Raises `UsageError`."""
    return _demanded("namespace", text, text) if text else ""


def service_account_name(text: str) -> str:
    """Return ``text`` if it is empty or the name of a ServiceAccount. Raises `UsageError`."""
    return _demanded("ServiceAccount", text, text) if text else ""


def one_namespace_name(text: str) -> str:
    """Return ``text`` if it is the name of a namespace. Raises `UsageError`."""
    return _demanded("namespace", text, text)


def an_app(text: str) -> str:
    """Return ``text`` as an argument APP; an invalid name is refused before any server is asked."""
    app_name(text)
    return text


def an_app_or_none(text: str) -> str:
    """Return ``text`` as an optional argument APP."""
    return an_app(text) if text else ""


def _demanded(what: str, name: str, text: str) -> str:
    if is_dns_label(name):
        return name
    if not name.strip("/"):
        raise UsageError(f"{text!r} names no app: the name of the {what} is missing; {_HOW}")
    likely = re.sub(r"[^a-z0-9-]+", "-", name.lower())[:63].strip("-")
    better = f"; {likely}?" if is_dns_label(likely) else ""
    raise UsageError(f"{name!r} is no name of {'an' if what == 'app' else 'a'} {what}: {_RULE}{better}")
