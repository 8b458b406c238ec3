"""Edits of a ``group.yaml`` that count for what their author saw. They read and write bytes, and fetch nothing."""

from collections.abc import Mapping

from gitops_bg.core.errors import WorldChanged
from gitops_bg.spec.groups.content import active_in
from gitops_bg.spec.yaml.edit import set_field


def with_fields(fields: Mapping[str, str | int], seen: str, path: str, data: bytes) -> bytes:
    """Return group.yaml with fields of its spec, ``active`` among them, unless it names the version already.

    Raises `WorldChanged` where it names neither that nor the version that was ``seen``.
    """
    if active_in(data) != fields["active"]:
        as_seen(seen, path, data)
    for name, value in fields.items():
        data = set_field(data, ("spec", name), value, path)
    return data


def as_seen(seen: str, path: str, data: bytes) -> bytes:
    """Return group.yaml unchanged where it names the version that was ``seen``.

    Raises `WorldChanged` otherwise: somebody else has asked for another one meanwhile, and only one of the two wins
    (versions-and-routes.md §10, X2: the check belongs into the transaction).
    """
    now = active_in(data)
    if now != seen:
        message = f"{path} names {now or 'no version'} and no longer {seen}: look at the versions, and ask again"
        raise WorldChanged(message)
    return data
