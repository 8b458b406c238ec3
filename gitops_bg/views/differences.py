"""How two versions differ in their ConfigMaps and Secrets, and what is live of a release group from what is wanted, in
its HTTPRoutes and Services: rule by rule, by what each matches. Pure.

The values of ConfigMaps are shown, except those whose names say that they belong in a Secret, and those that a Secret
of the two versions also contains; the values of Secrets never. Of routes, what they say is compared, never
server-defaulted objects; a rule in between changes no line of another one.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import hidden
from gitops_bg.core.groups.inputs import LiveRoute, StableService
from gitops_bg.core.model.auxiliary import Backend, Deny, HttpMatch, HttpRoute, HttpRule, ParentRef, PathKind
from gitops_bg.core.model.version import ConfigurationRef, short
from gitops_bg.spec.app.primary import TYPE, ConfigurationChange, configuration_changes, entries_of
from gitops_bg.spec.manifests.configuration import SECRET, Configuration, find
from gitops_bg.spec.manifests.differences import Difference, Marks, field_of, looks_secret

_SHORTEST_SECRET = 4
"""A shorter text occurs by chance in unrelated texts."""


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One of two versions: its references, and the contents that are still available."""

    refs: Sequence[ConfigurationRef] = ()
    contents: Sequence[Configuration] = field(default=(), repr=False)

    def of(self, kind: str, name: str) -> tuple[ConfigurationRef | None, Configuration | None]:
        """Return the reference of this kind and name, and its content."""
        ref = next((each for each in self.refs if (each.kind, each.name) == (kind, name)), None)
        return ref, find(self.contents, ref) if ref else None


def configuration_differences(before: ComparedSide, after: ComparedSide) -> list[Difference]:
    """Return the differences, by `Kind/name.key`. If the content of one side is lost, say only that the
    digests differ.
    """
    marks, found = Marks(), list[Difference]()
    for kind, name in sorted({(ref.kind, ref.name) for side in (before, after) for ref in side.refs}):
        found += _of_one(kind, name, before.of(kind, name), after.of(kind, name), marks)
    return found


def changes_to(before: ComparedSide, after: ComparedSide) -> tuple[ConfigurationChange, ...]:
    """Return the differences by object and key; by object alone if the content of one is lost."""
    lost = {(ref.kind, ref.name) for side in (before, after) for ref in side.refs if not find(side.contents, ref)}
    known = ([each for each in side.contents if (each.ref.kind, each.ref.name) not in lost] for side in (before, after))
    blurred = (
        ConfigurationChange(*named, whole="changed" if old and new else "added" if new else "removed")
        for named in lost
        if (old := before.of(*named)[0]) != (new := after.of(*named)[0])
    )
    return tuple(sorted((*configuration_changes(*known), *blurred), key=lambda each: (each.kind, each.name)))


def without_secrets_of(found: Iterable[Difference], contents: Iterable[Configuration]) -> list[Difference]:
    """Remove the contents of Secrets from other values, in whatever encoding they occur there."""
    secrets = [text for each in contents if each.ref.kind == SECRET for text in _texts(each)]
    return [replace(each, before=_masked(each.before, secrets), after=_masked(each.after, secrets)) for each in found]


_Held = tuple[ConfigurationRef | None, Configuration | None]


def _of_one(kind: str, name: str, before: _Held, after: _Held, marks: Marks) -> Iterator[Difference]:
    path = f"{kind}/{name}"
    (old_ref, old), (new_ref, new) = before, after
    if old_ref == new_ref:
        return
    if (old_ref and not old) or (new_ref and not new):
        yield Difference(path, *(f"content {short(ref.digest)}" if ref else None for ref in (old_ref, new_ref)))
        return
    sides = tuple(_shown(each, marks) if each else None for each in (old, new))
    if old is None or new is None:
        yield Difference(path, *sides)
        return
    entries = [each or {} for each in sides]
    for key in sorted(entries_of(old).keys() | entries_of(new).keys()):
        values = [each.get(key) for each in entries]
        if values[0] != values[1]:
            yield Difference(field_of(path, key), *values)


def _shown(each: Configuration, marks: Marks) -> Mapping[str, Any]:
    """Return the content, by key, as it may be shown."""
    return {key: _value(each, key, value, marks) for key, value in entries_of(each).items()}


def _value(each: Configuration, key: str, value: str, marks: Marks) -> str:
    if key == TYPE:
        return value
    if each.ref.kind == SECRET or looks_secret(key):
        return marks.of(value)
    return _size(value) if key in each.content.get("binaryData", {}) else value


def _size(encoded: str) -> str:
    """Describe binary data by its size and hash."""
    data = base64.b64decode(encoded)
    return f"{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()[:10]}"


def _texts(secret: Configuration) -> Iterator[str]:
    for value in secret.content.get("data", {}).values():
        text = base64.b64decode(value).decode("utf-8", "replace").strip()
        if len(text) >= _SHORTEST_SECRET:
            yield text


def _masked(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        return hidden(value, secrets)
    if isinstance(value, Mapping):
        return {key: _masked(item, secrets) for key, item in value.items()}
    return [_masked(item, secrets) for item in value] if isinstance(value, list) else value


def route_differences(live: Mapping[str, LiveRoute], wanted: Mapping[str, HttpRoute]) -> Iterator[Difference]:
    """Yield them by the names of the HTTPRoutes; ``wanted`` are as they read back from a cluster."""
    for name in sorted({*live, *wanted}):
        yield from _of_route(f"HTTPRoute {name}", live.get(name), wanted.get(name))


def service_differences(live: Mapping[str, StableService], wanted: Mapping[str, str]) -> Iterator[Difference]:
    """Yield the Services that follow another member than the wanted one, by name."""
    for name in sorted({*live, *wanted}):
        before = _followed(live[name]) if name in live else None
        after = f"follows {wanted[name]}" if name in wanted else None
        if before != after:
            yield Difference(f"Service {name}", before, after)


def _followed(service: StableService) -> str:
    return service.foreign or f"follows {service.member or 'no member'}"


def _of_route(name: str, live: LiveRoute | None, wanted: HttpRoute | None) -> Iterator[Difference]:
    if live is not None and (live.foreign or live.route is None):
        after = "as main asks for it" if wanted else None
        yield Difference(name, live.foreign or "says what no agent writes", after)
        return
    route = live.route if live is not None else None
    before, after_lines = (_lines(each) if each else {} for each in (route, wanted))
    found = [
        Difference(f"{name}: {key}", before.get(key), after_lines.get(key))
        for key in {**before, **after_lines}
        if before.get(key) != after_lines.get(key)
    ]
    yield from found
    if not found and route != wanted:
        yield Difference(f"{name}: its rules", "in another order", "in the wanted order")


def _lines(route: HttpRoute) -> dict[str, str]:
    """Return what a route says: its parents, its hosts, and where each match leads. Of two that are alike the first
    one wins.
    """
    said = {"parentRefs": ", ".join(map(_parent, route.parents)), "hostnames": ", ".join(route.hosts) or "all"}
    for rule in route.rules:
        for match in rule.matches:
            said.setdefault(match_text(match), _to(rule))
    return said


def match_text(match: HttpMatch) -> str:
    """Return what a rule matches.

    >>> match_text(HttpMatch("/cart", PathKind.EXACT, (("X-Version", "v2"),), "GET"))
    'GET /cart (Exact), X-Version: v2'
    """
    kind = "" if match.kind is PathKind.PREFIX else f" ({match.kind})"
    headers = (f"{name}: {value}" for name, value in match.headers)
    return ", ".join((f"{match.method} {match.path}{kind}".strip(), *headers))


def _to(rule: HttpRule) -> str:
    rewrite = f", rewritten to {rule.rewrite}" if rule.rewrite else ""
    timeout = f", at most {rule.timeout}" if rule.timeout else ""
    return _target(rule.to) + rewrite + timeout


def _target(to: Backend | Deny) -> str:
    backend = to if isinstance(to, Backend) else to.backend
    if backend is not None:
        return f"{backend.service}:{backend.port}"
    extension = to.extension if isinstance(to, Deny) else None
    return f"{extension.kind} {extension.name}" if extension else "no backend"


def _parent(ref: ParentRef) -> str:
    place = f"{ref.namespace}/" if ref.namespace else ""
    section = f", section {ref.section}" if ref.section else ""
    return f"{ref.kind} {place}{ref.name}{section}" + (f", port {ref.port}" if ref.port else "")
