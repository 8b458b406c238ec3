"""What a group that left main is to become, by what its file said last: the spec of its live ReleaseGroup."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from gitops_bg.core.model.spec import DeletionPolicy, Suspension
from gitops_bg.spec.app.to_core import suspension
from gitops_bg.spec.groups import models


def said_last(spec: Mapping[str, Any]) -> tuple[DeletionPolicy, Suspension | None]:
    """What becomes of the group, and who has suspended it. It is kept where nobody can read what it said.

    >>> said_last({"active": "v1", "deletionPolicy": "delete"})[0].value, said_last({"deletionPolicy": "dele"})[0].value
    ('delete', 'keep')
    """
    try:
        model = models.GroupSpec.model_validate(spec)
    except ValidationError:
        return DeletionPolicy.KEEP, None
    return DeletionPolicy(model.deletion_policy), suspension(model.suspend)
