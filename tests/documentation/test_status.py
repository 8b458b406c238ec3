"""The table in docs/reference/status.md is what the model of the status says."""

from gitops_bg.spec.status import Status
from tests.documentation.status_page import ARGO_ROLLOUTS, COMMAND, PAGE, page


def test_table_of_the_status_is_as_its_model_is():
    assert PAGE.read_text() == page(), f"docs/reference/status.md is stale: run `{COMMAND}`"


def test_every_field_is_described_and_only_fields_are_compared():
    assert not [name for name, field in Status.model_fields.items() if not field.description]
    assert ARGO_ROLLOUTS.keys() <= Status.model_fields.keys()
