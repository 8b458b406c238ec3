"""How people write apps, versions and durations on the command line. Asks no server."""

import re
from collections.abc import Iterable, Sequence

import typer

from gitops_bg.cli.errors import ObjectNotFound, UsageError
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_json import parts_of
from gitops_bg.core.foreign_text import seconds_of
from gitops_bg.core.model.version import version_name
from gitops_bg.spec.app.layout import is_dns_label

# --- an app: NAME or NAMESPACE/NAME, both names of Kubernetes ---
# https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names (RFC 1123).

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


def public_address(text: str) -> str:
    """Return ``text`` if it is empty or the address of a site, without a slash at the end. Raises `UsageError`.

    >>> public_address("https://bg.example.com/")
    'https://bg.example.com'
    """
    address = text.rstrip("/")
    if address and not re.fullmatch(
        r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?|https?://\[[0-9a-fA-F:]+\](:[0-9]{1,5})?", address
    ):
        raise UsageError(f"{text!r} is no address of a site; write it without a path, as in https://bg.example.com")
    return address


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


# --- a version: `v4`, `4`, a tag of its image, a digest or the beginning of one ---
# A bare number is always the number of a version, if there is one; every other name that fits several versions is
# refused with all of them.

_NUMBER = re.compile(r"(v?)([1-9][0-9]{0,8})")
_LEAST_OF_A_DIGEST = 4
HOW = "write its number (v4 or 4), a tag of its image (1.2.0), or the beginning of its digest"


@dataclass(frozen=True, slots=True)
class NamedVersion:
    """A version that may be meant."""

    number: int | None
    digest: str
    images: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the version as a list shows it.

        >>> str(NamedVersion(7, "v1:3f9c0123456789", ("shop/web:1.2.0",)))
        '1.2.0 (v7)'
        """
        tag, _ = parts_of(next(iter(self.images), ""))
        return version_name(self.number, self.digest, tag)


def a_version_name(text: str) -> str:
    """Return ``text`` as the name of a version, or empty. Raises `UsageError`."""
    if any(sign.isspace() for sign in text):
        raise UsageError(f"{text!r} names no version; {HOW}")
    return text


def number_of(text: str) -> int | None:
    """Return the number that a name is; None for a tag or a digest.

    >>> number_of("v4"), number_of("4"), number_of("1.2.0")
    (4, 4, None)
    """
    found = _NUMBER.fullmatch(text)
    return int(found[2]) if found else None


def the_one(text: str, versions: Iterable[NamedVersion], of: object) -> NamedVersion:
    """Return the version of ``of`` (an app) that a name means. Raises `ObjectNotFound`, `UsageError`."""
    known = list({each.digest: each for each in versions}.values())
    found = named(text, known)
    if len(found) > 1:
        raise UsageError(f"{text} is ambiguous for {of}: {_listed(found)}; {HOW}")
    if not found:
        raise ObjectNotFound(f"{of} has no version {text}" + (f"; it has {_listed(known)}" if known else ""))
    return found[0]


def named(text: str, versions: Sequence[NamedVersion]) -> list[NamedVersion]:
    """Return the versions that a name fits."""
    number = number_of(text)
    by_number = [each for each in versions if number is not None and each.number == number]
    if by_number and text.isdigit():
        return by_number
    return [each for each in versions if each in by_number or _has_tag(each, text) or _has_digest(each, text)]


def _has_tag(version: NamedVersion, text: str) -> bool:
    """Return whether it is an image of the version, its tag, or the beginning of its digest."""
    for image in version.images:
        reference, _, digest = image.partition("@")
        _, colon, tag = reference.rpartition("/")[2].partition(":")
        if text in (image, reference) or (colon and text == tag) or _begins(digest.partition(":")[2], text, "sha256:"):
            return True
    return False


def _has_digest(version: NamedVersion, text: str) -> bool:
    return _begins(version.digest.removeprefix("v1:"), text, "v1:")


def _begins(digest: str, text: str, prefix: str) -> bool:
    wanted = text.removeprefix(prefix)
    return len(wanted) >= _LEAST_OF_A_DIGEST and digest.startswith(wanted)


def _listed(versions: Iterable[NamedVersion]) -> str:
    return ", ".join(map(str, versions))


def seconds(text: str | float) -> float:
    """Return the seconds of ``30s``, ``5m``, ``1h30m``; a bare number is seconds. Raises `typer.BadParameter`.

    >>> seconds("1h30m"), seconds("250ms"), seconds("10")
    (5400.0, 0.25, 10.0)
    """
    if isinstance(text, int | float):
        return float(text)
    try:
        return seconds_of(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def positive_seconds(text: str | float) -> float:
    """Return the seconds of a duration that must be greater than zero. Raises `typer.BadParameter`."""
    duration = seconds(text)
    if duration <= 0:
        raise typer.BadParameter(f"{text!r} is no time at all; write it as 30s, 5m or 1h30m")
    return duration
