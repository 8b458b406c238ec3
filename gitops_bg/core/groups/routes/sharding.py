"""Packs rules into HTTPRoutes within the limits of the Gateway API, so that packing never changes who answers.

Rules that can be equally specific have the same path, and all rules of a path are in one HTTPRoute: which of two wins
then depends on their order alone, never on the age of objects. A path is always in the shard that a hash of it names;
there are as many shards as are needed, always a power of two, so that one more path moves few others.

Matches share a rule only where they name a version by its header. Some implementations rank a whole rule by the length
of its text: many matches without the header in one rule would beat a shorter rule with it, and lead those who name a
version to another one (docs/decisions/0037).
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gitops_bg.core.groups.model import GroupGateway
from gitops_bg.core.model.http_routes import HttpRoute, HttpRule
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.names import fit

# https://gateway-api.sigs.k8s.io/reference/spec/#httproutespec, and the CustomResourceDefinition's own validation.
MOST_RULES, MOST_MATCHES_OF_A_RULE, MOST_MATCHES = 16, 64, 128
_MOST_SHARDS = 4096

Hosts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostRule:
    """A rule, and the hosts that it is for (empty: all)."""

    hosts: Hosts
    rule: HttpRule


def sharded(group: GroupKey, gateway: GroupGateway, rules: Iterable[HostRule]) -> tuple[HttpRoute, ...]:
    """Return the HTTPRoutes of these rules, which keep their order, by name."""
    by_hosts: dict[Hosts, list[HttpRule]] = {}
    for each in rules:
        by_hosts.setdefault(each.hosts, []).append(each.rule)
    routes = [
        HttpRoute(_shard_name(group, gateway, hosts, number, part), hosts, gateway.parents, packed)
        for hosts, own in by_hosts.items()
        for number, parts in _shards(own, gateway.version_header).items()
        for part, packed in enumerate(parts)
    ]
    return tuple(sorted(routes, key=lambda route: route.name))


def _shards(rules: list[HttpRule], version_header: str) -> Mapping[int, list[tuple[HttpRule, ...]]]:
    """Return the rules of each shard by its number; more than one part only where one path alone is too much."""
    count = 1
    while True:
        found: dict[int, list[HttpRule]] = {}
        for rule in rules:
            found.setdefault(_number(rule) % count, []).append(rule)
        packed = {number: _packed(own, version_header) for number, own in found.items()}
        if all(_fits(each) or _is_one_path(each) for each in packed.values()) or count == _MOST_SHARDS:
            return {number: _parts(each) for number, each in sorted(packed.items())}
        count *= 2


def _number(rule: HttpRule) -> int:
    """Return the same number for all rules of a path."""
    match = rule.matches[0]
    return int.from_bytes(hashlib.sha256(f"{match.kind} {match.path}".encode()).digest()[:4], "big")


def _packed(rules: list[HttpRule], version_header: str) -> tuple[HttpRule, ...]:
    """Put matches that name a version and lead to the same place into one rule.

    Only where no other rule in between is for the same path.
    """
    packed: list[HttpRule] = []
    for rule in rules:
        alone = rule.rewrite or not _names_version(rule, version_header)
        place = None if alone else _last_to_join(packed, rule, version_header)
        if place is None:
            packed.append(rule)
        else:
            packed[place] = replace(packed[place], matches=(*packed[place].matches, *rule.matches))
    return tuple(packed)


def _names_version(rule: HttpRule, version_header: str) -> bool:
    return all(version_header in dict(match.headers) for match in rule.matches)


def _last_to_join(packed: list[HttpRule], rule: HttpRule, version_header: str) -> int | None:
    """Return the last rule that this one may join without overtaking a rule for one of its paths."""
    paths = {(match.kind, match.path) for match in rule.matches}
    for place in range(len(packed) - 1, -1, -1):
        other = packed[place]
        same = (other.to, other.rewrite, other.timeout) == (rule.to, rule.rewrite, rule.timeout)
        fits = len(other.matches) + len(rule.matches) <= MOST_MATCHES_OF_A_RULE
        if same and fits and _names_version(other, version_header):
            return place
        if any((match.kind, match.path) in paths for match in other.matches):
            return None
    return None


def _fits(rules: tuple[HttpRule, ...]) -> bool:
    return len(rules) <= MOST_RULES and sum(len(rule.matches) for rule in rules) <= MOST_MATCHES


def _is_one_path(rules: tuple[HttpRule, ...]) -> bool:
    return len({(match.kind, match.path) for rule in rules for match in rule.matches}) == 1


def _parts(rules: tuple[HttpRule, ...]) -> list[tuple[HttpRule, ...]]:
    """Cut what is too much for one HTTPRoute: rules of one path, most of which exclude each other by their version.

    Those with other headers do not: where two parts have equally specific rules for a request, the older object wins.
    """
    parts: list[tuple[HttpRule, ...]] = [()]
    for rule in rules:
        if not _fits((*parts[-1], rule)):
            parts.append(())
        parts[-1] = (*parts[-1], rule)
    return parts


def _shard_name(group: GroupKey, gateway: GroupGateway, hosts: Hosts, number: int, part: int) -> str:
    """Return the plain name for the first shard of the group's own hosts; a hash keeps others apart from those of other
    groups.
    """
    base = gateway.base or group.name
    if hosts == gateway.hosts and not number and not part:
        return fit(base)
    identity = " ".join((base, *hosts, str(number), str(part)))
    return fit(f"{base}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}")
