"""What an app.yaml says of a suspension, whatever else is wrong with the file. Edits nothing."""

from pydantic import ValidationError

from gitops_bg.core.model.spec import Suspension
from gitops_bg.spec.app.models import Suspend
from gitops_bg.spec.app.to_core import suspension
from gitops_bg.spec.yaml.reader import read_one
from gitops_bg.spec.yaml.values import as_map


def suspension_in(data: bytes, file: str) -> Suspension | None:
    """Return the suspension of an app.yaml, over or not; None where there is none, or no YAML.

    One that cannot be read is one without an end: unknown is not absent.
    """
    document, _ = read_one(file, data)
    written = as_map(as_map(document.value).get("spec")).get("suspend") if document else None
    if written is None:
        return None
    try:
        return suspension(Suspend.model_validate(written))
    except ValidationError:
        return Suspension(f"spec.suspend of {file} cannot be read")
