"""What the file of a group said last, where only the spec of its live ReleaseGroup is asked: without Git."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from gitops_bg.core.model.hooks import Hook
from gitops_bg.core.model.spec import DeletionPolicy, Suspension
from gitops_bg.spec.app.to_core import suspension
from gitops_bg.spec.groups import models
from gitops_bg.spec.notifications.webhooks import to_hook


def last_spec(spec: Mapping[str, Any]) -> tuple[DeletionPolicy, Suspension | None]:
    """What becomes of the group, and who has suspended it. It is kept where nobody can read what it said.

    >>> last_spec({"active": "v1", "deletionPolicy": "delete"})[0].value, last_spec({"deletionPolicy": "dele"})[0].value
    ('delete', 'keep')
    """
    model = _read(spec)
    return (DeletionPolicy(model.deletion_policy), suspension(model.suspend)) if model else (DeletionPolicy.KEEP, None)


def manual_gates(spec: Mapping[str, Any]) -> tuple[Hook, ...]:
    """The hooks of a group that people answer; none where nobody can read what its file said."""
    model = _read(spec)
    webhooks = (model.webhooks or ()) if model else ()
    return tuple(to_hook(each) for each in webhooks if each.url is None)


def _read(spec: Mapping[str, Any]) -> models.GroupSpec | None:
    try:
        return models.GroupSpec.model_validate(spec)
    except ValidationError:
        return None
