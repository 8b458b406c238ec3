"""Who asks, and what they may do: a `Person`, the `Access` that gitops-bg.yaml gives, and the forms that they post. Of
a request it knows what `guard` leaves in it.
"""

import hmac
from enum import StrEnum
from urllib.parse import parse_qsl

from starlette.requests import Request

from gitops_bg.core.dataclass import dataclass
from gitops_bg.spec.access import AccessRule, Role, has_role

__all__ = [
    "ANYBODY",
    "Access",
    "Person",
    "Role",
    "Via",
    "access_for",
    "forge_token",
    "form_token",
    "person_of",
    "posted_form",
    "refuse",
    "refused",
]


class Via(StrEnum):
    """How it is known who somebody is."""

    OIDC = "oidc"
    TOKEN = "token"  # noqa: S105 - a word
    LOOPBACK = "loopback"
    """There is no login, and only this machine can ask."""
    ANONYMOUS = "anonymous"
    """There is no login, and everybody can ask."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who asks. Name and mail address are the author of the commits that they make."""

    name: str
    email: str
    subject: str
    """Who they are for the one who vouches for it: ``ISSUER#SUBJECT``, or ``token:NAME``; never another person's."""
    groups: frozenset[str]
    via: Via

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


LARGEST_FORM_BYTES = 64 * 1024
ANYBODY = Person("anybody", "anybody@localhost", "anonymous", frozenset(), Via.ANONYMOUS)
"""Who asks where there is no login, and more than this machine can ask: they see, and never act."""


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of gitops-bg.yaml as main has them now."""

    rules: tuple[AccessRule, ...] = ()
    known: bool = True
    """Whether main was read. While it was not, nobody knows who may see what."""

    def may(self, person: Person | None, role: Role, namespace: str) -> bool:
        """Return whether a person has a role in a namespace. Who works on this machine without a login has every role:
        they could also use the command line.
        """
        if person is None:
            return False
        if person.via is Via.LOOPBACK:
            return True
        return self.known and has_role(self.rules, person.groups, role, namespace)


def person_of(request: Request) -> Person | None:
    """Return who asks; None for somebody who has to log in first."""
    person: Person | None = request.state.person
    return person


def access_for(request: Request) -> Access:
    """Return the rules that count for this request."""
    access: Access = request.state.access
    return access


def form_token(request: Request) -> str:
    """Return what each form of a page carries in its field ``token``, so that no page of another site can post it."""
    token: str = request.state.form_token
    return token


def forge_token(request: Request) -> str:
    """Return the token of who asks at the forge, where they logged in with their account there; else nothing."""
    token: str = request.state.forge_token
    return token


def refuse(request: Request, why: str) -> None:
    """Note why nothing is done for a request: `guard` writes down what was to change something."""
    request.state.refused = why


def refused(request: Request) -> str:
    """Return why nothing was done for a request; empty where it was."""
    why: str = getattr(request.state, "refused", "")
    return why


async def posted_form(request: Request) -> dict[str, str] | None:
    """Return the fields of a form that was posted; None for one that is not a form of ours, or carries another token
    than that of who asks. Scripts need none. Of a field that is there twice the last one counts.
    """
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > LARGEST_FORM_BYTES:
            return None
    try:
        fields = dict(parse_qsl(data.decode(), keep_blank_values=True, strict_parsing=bool(data), errors="strict"))
    except ValueError:
        return None
    expected: str = request.state.form_token
    return fields if hmac.compare_digest(fields.get("token", "").encode(), expected.encode()) else None
