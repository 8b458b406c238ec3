"""What there is to complete: from the live objects, or else from the clone in the current directory.

Somebody waits at the keyboard: one request, two seconds at most, and where anything fails nothing is offered.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from gitops_bg.cli.clone.user_git import asked
from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import APPS, RELEASE_GROUPS, Kind, Object
from gitops_bg.cluster.manifests.stored_record import unpacked
from gitops_bg.core.model.digest import short
from gitops_bg.core.text.foreign_text import printable

Offers = list[tuple[str, str]]
"""What may be typed, each with a word about it."""
Typed = Mapping[str, Any]
"""The options and arguments so far, by their names in the code."""
REST = "rest"
"""The key of the words that belong to no option: arguments are among them while an option still lacks its value."""


def _never_an_error(find: Callable[[Typed], Iterable[tuple[str, str]]]) -> Callable[[Typed, str], Offers]:
    """Return a function of what was typed and of the beginning of the word: what fits, or nothing."""

    @wraps(find)
    def found(typed: Typed, begin: str) -> Offers:
        try:
            offers = {value: printable(about) for value, about in find(typed) if value.startswith(begin)}
        except Exception:  # a shell would print it into the line that is being typed
            return []
        return sorted(offers.items())

    return found


@_never_an_error
def apps(typed: Typed) -> Iterator[tuple[str, str]]:
    """Yield the apps: by name where a namespace is given, or the name is the only one; and in full."""
    return _named(typed, APPS, "apps", "app.yaml")


@_never_an_error
def groups(typed: Typed) -> Iterator[tuple[str, str]]:
    """Yield the release groups, named as apps are."""
    return _named(typed, RELEASE_GROUPS, "groups", "group.yaml")


@_never_an_error
def versions(typed: Typed) -> Iterator[tuple[str, str]]:
    """Yield the versions of an app that its status remembers."""
    status = _one(typed, APPS, "app").get("status") or {}
    for version in (unpacked(status) or {}).get("versions") or []:
        yield f"v{version['number']}", short(version["snapshot"]["digest"])
    for role in ("candidate", "active"):
        if version := status.get(role):
            yield f"v{version['version']}", f"{role}, {version.get('image', '')}"


@_never_an_error
def group_versions(typed: Typed) -> Iterator[tuple[str, str]]:
    """Yield the versions of a release group."""
    status = _one(typed, RELEASE_GROUPS, "group").get("status") or {}
    return ((each["name"], each["stage"]) for each in status.get("versions") or [])


@_never_an_error
def gates(typed: Typed) -> Iterator[tuple[str, str]]:
    """Yield the manual gates of an app, or a release group: hooks without an address."""
    try:
        spec = _one(typed, APPS, "app").get("spec") or {}
    except ValueError:
        spec = _one(typed, RELEASE_GROUPS, "app").get("spec") or {}
    places = ((spec.get("strategy") or {}).get("blueGreen") or {}, spec.get("analysis") or {}, spec)
    hooks = (hook for place in places for hook in place.get("webhooks") or [])
    return ((hook["name"], hook.get("type", "")) for hook in hooks if not hook.get("url"))


def _named(typed: Typed, kind: Kind, folder: str, file: str) -> Iterator[tuple[str, str]]:
    found = list(_live(typed, kind)) or list(_in_the_clone(folder, file))
    names = [name for _, name, _ in found]
    for namespace, name, phase in found:
        if typed.get("namespace") in ("", None, namespace):
            yield f"{namespace}/{name}", phase
            if typed.get("namespace") or names.count(name) == 1:
                yield name, phase


def _live(typed: Typed, kind: Kind) -> Iterator[tuple[str, str, str]]:
    try:
        bodies = _listed(typed, kind, typed.get("namespace") or "")
    except Exception:  # without a cluster there may still be a clone
        return
    for body in bodies:
        yield body["metadata"]["namespace"], body["metadata"]["name"], (body.get("status") or {}).get("phase", "")


def _in_the_clone(folder: str, file: str) -> Iterator[tuple[str, str, str]]:
    top = asked("rev-parse", "--show-toplevel")
    for found in sorted(Path(top).glob(f"{folder}/*/*/{file}")) if top else ():
        yield found.parents[1].name, found.parent.name, "in this clone"


def _one(typed: Typed, kind: Kind, argument: str) -> Object:
    """Return the live object that an argument names. Raises where there is none, or more than one."""
    namespace, _, name = str(typed.get(argument) or typed[REST][0]).rpartition("/")
    bodies = _listed(typed, kind, namespace or typed.get("namespace") or "")
    (found,) = (body for body in bodies if body["metadata"]["name"] == name)
    return found


def _listed(typed: Typed, kind: Kind, namespace: str) -> list[Object]:
    access = Access(typed.get("kubeconfig"), typed.get("context"), 1, 0.5, 1.5, plain_first=True)
    client = Client(access)
    try:
        return client.list(kind, namespace)
    finally:
        client.close()
