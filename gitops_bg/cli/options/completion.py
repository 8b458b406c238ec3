"""What a shell offers while somebody types: apps, groups, versions, gates; from the live objects, or else from the
clone in the current directory. Options import it, so what asks a server is imported where it is asked.

Somebody waits at the keyboard: one request, two seconds at most, and where anything fails nothing is offered.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from gitops_bg.cluster.api.kinds import Kind, Object

Offers = list[tuple[str, str]]
"""What may be typed, each with a word about it."""
Typed = Mapping[str, Any]
"""The options and arguments so far, by their names in the code."""
_REST = "rest"
"""The key of the words that belong to no option: arguments are among them while an option still lacks its value."""


def _never_an_error(find: Callable[[Typed], Iterable[tuple[str, str]]]) -> Callable[[typer.Context, str], Offers]:
    """Return a function of what was typed and of the beginning of the word: what fits, or nothing."""

    def found(ctx: typer.Context, incomplete: str) -> Offers:
        from gitops_bg.core.foreign_text import printable

        try:
            typed = {**ctx.params, _REST: ctx.args}
            offers = {value: printable(about) for value, about in find(typed) if value.startswith(incomplete)}
        except Exception:  # a shell would print it into the line that is being typed
            return []
        return sorted(offers.items())

    found.__name__, found.__doc__ = find.__name__, find.__doc__
    return found


@_never_an_error
def apps(typed: Typed) -> Iterator[tuple[str, str]]:
    """Yield the apps, each with its phase: by name where a namespace is given, or the name is the only one; and in
    full.
    """
    from gitops_bg.cluster.api.kinds import APPS

    return _named(typed, APPS, "apps", "app.yaml")


@_never_an_error
def groups(typed: Typed) -> Iterator[tuple[str, str]]:
    """Yield the release groups, named as apps are, each with its phase."""
    from gitops_bg.cluster.api.kinds import RELEASE_GROUPS

    return _named(typed, RELEASE_GROUPS, "groups", "group.yaml")


def apps_and_groups(ctx: typer.Context, incomplete: str) -> Offers:
    """Return both, for verbs that are about either."""
    return [*apps(ctx, incomplete), *groups(ctx, incomplete)]


@_never_an_error
def versions(typed: Typed) -> Iterator[tuple[str, str]]:
    """Yield the versions of the app that was named, as its status remembers them, each with what it is."""
    from gitops_bg.cluster.api.kinds import APPS
    from gitops_bg.cluster.manifests.stored_record import unpacked
    from gitops_bg.core.model.version import short

    status = _one(typed, APPS, "app").get("status") or {}
    for version in (unpacked(status) or {}).get("versions") or []:
        yield f"v{version['number']}", version.get("tag") or short(version["snapshot"]["digest"])
    for role in ("candidate", "active"):
        if version := status.get(role):
            yield f"v{version['version']}", f"{role}, {version.get('image', '')}"


@_never_an_error
def group_versions(typed: Typed) -> Iterator[tuple[str, str]]:
    """Yield the versions of the group that was named, each with its stage."""
    from gitops_bg.cluster.api.kinds import RELEASE_GROUPS

    status = _one(typed, RELEASE_GROUPS, "group").get("status") or {}
    return ((each["name"], each["stage"]) for each in status.get("versions") or [])


@_never_an_error
def gates(typed: Typed) -> Iterator[tuple[str, str]]:
    """Yield the manual gates of the app, or the release group, that was named: hooks without an address."""
    from gitops_bg.cluster.api.kinds import APPS, RELEASE_GROUPS

    try:
        spec = _one(typed, APPS, "app").get("spec") or {}
    except ValueError:
        spec = _one(typed, RELEASE_GROUPS, "app").get("spec") or {}
    places = ((spec.get("strategy") or {}).get("blueGreen") or {}, spec.get("analysis") or {}, spec)
    hooks = (hook for place in places for hook in place.get("webhooks") or [])
    return ((hook["name"], hook.get("type", "")) for hook in hooks if not hook.get("url"))


def _named(typed: Typed, kind: "Kind", folder: str, file: str) -> Iterator[tuple[str, str]]:
    found = list(_live(typed, kind)) or list(_in_the_clone(folder, file))
    names = [name for _, name, _ in found]
    for namespace, name, phase in found:
        if typed.get("namespace") in ("", None, namespace):
            yield f"{namespace}/{name}", phase
            if typed.get("namespace") or names.count(name) == 1:
                yield name, phase


def _live(typed: Typed, kind: "Kind") -> Iterator[tuple[str, str, str]]:
    try:
        bodies = _listed(typed, kind, typed.get("namespace") or "")
    except Exception:  # without a cluster there may still be a clone
        return
    for body in bodies:
        yield body["metadata"]["namespace"], body["metadata"]["name"], (body.get("status") or {}).get("phase", "")


def _in_the_clone(folder: str, file: str) -> Iterator[tuple[str, str, str]]:
    from gitops_bg.cli.repository.user_git import asked

    top = asked("rev-parse", "--show-toplevel")
    for found in sorted(Path(top).glob(f"{folder}/*/*/{file}")) if top else ():
        yield found.parents[1].name, found.parent.name, "in this clone"


def _one(typed: Typed, kind: "Kind", argument: str) -> "Object":
    """Return the live object that an argument names. Raises where there is none, or more than one."""
    namespace, _, name = str(typed.get(argument) or typed[_REST][0]).rpartition("/")
    bodies = _listed(typed, kind, namespace or typed.get("namespace") or "")
    (found,) = (body for body in bodies if body["metadata"]["name"] == name)
    return found


def _listed(typed: Typed, kind: "Kind", namespace: str) -> list["Object"]:
    from gitops_bg.cluster.api.access import Access
    from gitops_bg.cluster.api.client import Client

    access = Access(typed.get("kubeconfig"), typed.get("context"), 1, 0.5, 1.5, plain_first=True)
    client = Client(access)
    try:
        return client.list(kind, namespace)
    finally:
        client.close()
