"""Whether a route would take requests that another one answers: not only where both are for the same, but also where
the path, host, method or headers of one are narrower.

By the precedence of the Gateway API (`core.inspect.answers`). Where that leaves it open, as with regular
expressions, it would.
"""

import re
from itertools import product

from gitops_bg.core.groups.model import RouteMatch
from gitops_bg.core.model.http_routes import PathKind

_SPECIAL = re.compile(r"[\\.\[\](){}*+?^$|]")


def takes(new: RouteMatch, old: RouteMatch, hosts: tuple[str, ...]) -> bool:
    """Whether some request that ``old`` is for would go by ``new``; ``hosts`` are those of matches that name none.

    >>> cart, narrower = RouteMatch("/cart"), RouteMatch("/cart/export")
    >>> takes(narrower, cart, ()), takes(cart, narrower, ()), takes(RouteMatch("/cartoon"), cart, ())
    (True, False, False)
    """
    if not (_same_method(new, old) and _same_headers(new, old) and _same_path(new, old)):
        return False
    pairs = product(_hosts(new, hosts), _hosts(old, hosts))
    return any(_goes_first(new, old, ours, theirs) for ours, theirs in pairs if _same_host(ours, theirs))


def _goes_first(new: RouteMatch, old: RouteMatch, ours: str, theirs: str) -> bool:
    if PathKind.REGEX in (new.kind, old.kind):
        return True
    return (_of_host(ours), *_rank(new)) >= (_of_host(theirs), *_rank(old))


def _rank(match: RouteMatch) -> tuple[bool, int, bool, int]:
    return match.kind is PathKind.EXACT, len(match.path.rstrip("/")), bool(match.methods), len(match.headers)


def _hosts(match: RouteMatch, hosts: tuple[str, ...]) -> tuple[str, ...]:
    return (match.host,) if match.host else hosts or ("",)


def _of_host(host: str) -> tuple[int, int]:
    """How specific a host is: a name before a wildcard, the longer one first."""
    return (0 if not host else 1 if host.startswith("*.") else 2), len(host)


def _same_host(one: str, other: str) -> bool:
    return not one or not other or one == other or _is_below_wildcard(one, other) or _is_below_wildcard(other, one)


def _is_below_wildcard(wildcard: str, host: str) -> bool:
    return wildcard.startswith("*.") and host.endswith(wildcard[1:])


def _same_method(one: RouteMatch, other: RouteMatch) -> bool:
    return not one.methods or not other.methods or bool(set(one.methods) & set(other.methods))


def _same_headers(one: RouteMatch, other: RouteMatch) -> bool:
    """Whether a request can have the headers of both."""
    mine = {name.lower(): value for name, value in one.headers}
    return all(mine.get(name.lower(), value) == value for name, value in other.headers)


def _same_path(one: RouteMatch, other: RouteMatch) -> bool:
    """Whether a request can have the path of both."""
    kinds = {one.kind, other.kind}
    if PathKind.REGEX in kinds:
        return _may_share(one, other)
    if kinds == {PathKind.EXACT}:
        return one.path == other.path
    if kinds == {PathKind.PREFIX}:
        return _is_below(one.path, other.path) or _is_below(other.path, one.path)
    exact, prefix = (one, other) if one.kind is PathKind.EXACT else (other, one)
    return _is_below(exact.path, prefix.path)


def _is_below(path: str, prefix: str) -> bool:
    return f"{path.rstrip('/')}/".startswith(f"{prefix.rstrip('/')}/")


def _may_share(one: RouteMatch, other: RouteMatch) -> bool:
    """Whether two paths, one of which is a regular expression, may be for the same request, told from what both begin
    with.
    """
    mine, theirs = _head(one), _head(other)
    return mine.startswith(theirs) or theirs.startswith(mine)


def _head(match: RouteMatch) -> str:
    """The text with which every path of a match begins."""
    if match.kind is not PathKind.REGEX:
        return match.path.rstrip("/")
    found = _SPECIAL.search(match.path)
    if found is None:
        return match.path
    if "|" in match.path:
        return ""
    optional = found[0] in "*?{"
    return match.path[: max(0, found.start() - optional)]
