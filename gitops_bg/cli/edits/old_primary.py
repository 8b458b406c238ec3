"""Reads a former primary.yaml of main as a version, for a rollback to a version that the record has forgotten."""

from datetime import UTC, datetime

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.version import AppKey, Color, Stage, Version
from gitops_bg.spec.app.layout import PRIMARY_FILE
from gitops_bg.spec.app.primary import read_primary
from gitops_bg.spec.yaml.reader import read_one


def version_in(content: bytes, app: AppKey, folder: str) -> Version:
    """Return the version in the text. ``folder`` is the app's, named in errors.

    Its color and times mean nothing: the agent sets new ones. Raises `InvalidInput`.
    """
    document, problems = read_one(f"{folder}/{PRIMARY_FILE}", content)
    primary = None
    if document is not None:
        primary, problems = read_primary(document, app)
    if primary is None:
        raise InvalidInput(*problems)
    began = primary.source.date or datetime.fromtimestamp(0, UTC)
    return Version(primary.version, primary.snapshot, Color.BLUE, Stage.ARCHIVED, primary.source, 0, began)
