"""Writes operators' requests beside those of others that nobody has answered yet: none of them is lost.

The object is read before, and its ``resourceVersion`` is the lock. What the record has answered goes.
"""

from collections.abc import Callable
from contextlib import suppress

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import NotFound
from gitops_bg.cluster.api.kinds import APPS
from gitops_bg.cluster.execution.writer import Writer
from gitops_bg.cluster.manifests.operator_requests import MOST, annotation_of, requests_of
from gitops_bg.cluster.observation.project import app_state
from gitops_bg.cluster.reporting.status import load
from gitops_bg.core import names
from gitops_bg.core.checks.operator_requests import is_too_late
from gitops_bg.core.errors import Refused, WorldChanged
from gitops_bg.core.model.observed import Request
from gitops_bg.core.model.version import AppKey

_ATTEMPTS = 20

Requests = tuple[Request, ...]


def add_request(client: Client, writer: Writer, app: AppKey, request: Request) -> None:
    """Write a request, once. Raises `NotFound`, `Refused` where too many wait, `Transient`."""

    def added(waiting: Requests) -> Requests:
        if len(waiting) >= MOST:
            raise Refused(f"{app}: {MOST} requests wait for an agent already; none of them has answered them")
        return (*waiting, request)

    _change(client, writer, app, request, added)


def withdraw_request(client: Client, writer: Writer, app: AppKey, request: Request) -> None:
    """Take a request back that nobody has answered yet. Raises `NotFound`, `Refused`, `Transient`."""
    _change(client, writer, app, request, lambda waiting: waiting)


def _change(
    client: Client, writer: Writer, app: AppKey, request: Request, change: Callable[[Requests], Requests]
) -> None:
    """Write what ``change`` makes of the other requests that wait; nothing where this one is answered."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(WorldChanged):  # the agent saved its record, or somebody asked for something, too
            return _change_once(client, writer, app, request, change)
    return _change_once(client, writer, app, request, change)


def _change_once(
    client: Client, writer: Writer, app: AppKey, request: Request, change: Callable[[Requests], Requests]
) -> None:
    found = client.get(APPS, app.namespace, app.name)
    if found is None:
        raise NotFound(f"{APPS.called(app.namespace, app.name)} does not exist in this cluster")
    state = app_state(found)
    operator = load(state).operator
    waiting = tuple(each for each in requests_of(state.request) if not operator.has_answered(each.id))
    others = tuple(each for each in waiting if each.id != request.id and not is_too_late(each, request.at))
    wanted = change(others)
    if operator.has_answered(request.id) or wanted == waiting:
        return
    metadata = {
        "resourceVersion": state.meta.version,
        "annotations": {names.REQUEST: annotation_of(wanted) or None},
    }
    writer.merge_patch(APPS, app.namespace, app.name, {"metadata": metadata})
