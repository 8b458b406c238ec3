"""How the verbs of release groups name a group and a version, and which live groups a person means by a name."""

from typing import Annotated, Any

import typer

from gitops_bg.cli.errors import NameNotFound, UsageError
from gitops_bg.cli.options import completion
from gitops_bg.cli.options.values import app_name
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import RELEASE_GROUPS, Object
from gitops_bg.core.model.version import GroupKey
from gitops_bg.spec.app.layout import is_version


def a_group(text: str) -> str:
    """Return ``text`` as an argument GROUP; an invalid name is refused before any server is asked."""
    app_name(text)
    return text


def a_group_or_none(text: str) -> str:
    """Return ``text`` as an optional argument GROUP."""
    return a_group(text) if text else ""


def a_version(text: str) -> str:
    """Return ``text`` (``v2``, ``2``) as an argument VERSION, as its folder is called. Raises `UsageError`.

    >>> a_version("v2"), a_version("2")
    ('v2', 'v2')
    """
    version = f"v{text}" if text.isdigit() else text
    if not is_version(version):
        raise UsageError(f"{text!r} is no version; write v1, v2, … as its folder is called, or the number alone")
    return version


def a_version_or_none(text: str) -> str:
    """Return ``text`` as an optional argument VERSION. Raises `UsageError`."""
    return a_version(text) if text else ""


Group = Annotated[
    str,
    typer.Argument(parser=a_group, metavar="GROUP", help="NAME or NAMESPACE/NAME.", autocompletion=completion.groups),
]
OptionalGroup = Annotated[
    str,
    typer.Argument(
        parser=a_group_or_none,
        metavar="[GROUP]",
        autocompletion=completion.groups,
        help="NAME or NAMESPACE/NAME; none: all of them.",
    ),
]
"""The argument GROUP of a verb that is of all groups without it."""
Version = Annotated[
    str,
    typer.Argument(
        parser=a_version, metavar="VERSION", help="Such as v2, or 2.", autocompletion=completion.group_versions
    ),
]
_ONE = "Such as v2, or 2; none: the only one that may be meant."
OneVersion = Annotated[
    str,
    typer.Argument(parser=a_version_or_none, metavar="[VERSION]", help=_ONE, autocompletion=completion.group_versions),
]


def group_version_option(says: str) -> Any:
    """Return the option `--to VERSION` of a verb about a group; ``says`` is its help."""
    return typer.Option(
        "--to", parser=a_version_or_none, metavar="VERSION", autocompletion=completion.group_versions, help=says
    )


ToVersion = Annotated[str, group_version_option("The same, as for an app.")]


def one_version(argument: str, option: str) -> str:
    """Return the version that was named in either way, or empty. Raises `UsageError` where both name one."""
    if argument and option and argument != option:
        raise UsageError(f"is it {argument} or {option}?")
    return argument or option


def live_group(client: Client, namespace: str, name: str) -> GroupKey:
    """Return the one live group that a person means. Raises as `live_groups`."""
    metadata = live_groups(client, namespace, name)[0]["metadata"]
    return GroupKey(metadata["namespace"], metadata["name"])


def live_groups(client: Client, namespace: str, name: str) -> list[Object]:
    """Return the live group of a name, or all of a namespace (empty: of every one), by name. Raises `ObjectNotFound`,
    `UsageError`.
    """
    in_name, name = app_name(name) if name else ("", "")
    bodies = client.list(RELEASE_GROUPS, in_name or namespace)
    found = [body for body in bodies if not name or body["metadata"]["name"] == name]
    if name and not found:
        raise NameNotFound(f"the cluster has no group {name}")
    if name and len(found) > 1:
        raise UsageError(f"{name} is ambiguous; name one of them in full: NAMESPACE/{name}")
    return sorted(found, key=lambda body: (body["metadata"]["namespace"], body["metadata"]["name"]))
