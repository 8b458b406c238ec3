"""Who may do what on the dashboard: roles by the groups of a login and by namespace, as ``access:`` of gitops-bg.yaml
declares them (`core.written`).
"""

from collections.abc import Iterable
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated

from annotated_types import MinLen

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.written import Glob, Text


class Role(StrEnum):
    """What a person may do on the dashboard."""

    VIEWER = "viewer"
    """Sees everything."""
    OPERATOR = "operator"
    """Promotes, rolls back, aborts, retries, suspends and resumes."""
    APPROVER = "approver"
    """Opens and closes manual gates."""
    ADMIN = "admin"
    """All of that, and overrides what a policy lets be overridden."""


_INCLUDED = {
    Role.VIEWER: frozenset({Role.VIEWER}),
    Role.OPERATOR: frozenset({Role.VIEWER, Role.OPERATOR}),
    Role.APPROVER: frozenset({Role.VIEWER, Role.APPROVER}),
    Role.ADMIN: frozenset(Role),
}
"""The roles that a role brings with it."""


@dataclass(frozen=True, slots=True)
class AccessRule:
    """Gives a role to everybody in one of some groups, in some namespaces."""

    role: Role
    """`viewer` sees; `operator` promotes, rolls back, aborts, retries, suspends and resumes; `approver` opens and
    closes manual gates; `admin` may all of that, and override policies.
    """
    groups: Annotated[tuple[Text, ...], MinLen(1)]
    """The groups of the login, or of a token, that have the role."""
    namespaces: tuple[Glob, ...] = ()
    """Where: names, or patterns such as `pay-*`. Default: everywhere."""

    def gives(self, groups: Iterable[str], role: Role, namespace: str) -> bool:
        """Return whether it gives the role to somebody in these groups there."""
        is_there = not self.namespaces or any(fnmatchcase(namespace, glob) for glob in self.namespaces)
        return is_there and role in _INCLUDED[self.role] and not set(self.groups).isdisjoint(groups)


def has_role(rules: Iterable[AccessRule], groups: Iterable[str], role: Role, namespace: str) -> bool:
    """Return whether somebody in these groups has a role in a namespace.

    Everybody may see everything until a rule says who is a viewer; nobody may act until a rule says so.
    """
    listed, belongs = tuple(rules), frozenset(groups)
    if role is Role.VIEWER and not any(rule.role is Role.VIEWER for rule in listed):
        return True
    return any(rule.gives(belongs, role, namespace) for rule in listed)
