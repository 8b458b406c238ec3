"""What gitops-bg.yaml and app.yaml say of pull requests."""

import pytest

from gitops_bg.core.errors import InvalidInput
from gitops_bg.spec.app.settings import default_settings, load_settings

HEAD = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"


def test_no_forge_is_named_unless_somebody_names_one() -> None:
    assert default_settings().forge is None


def test_an_empty_block_is_enough() -> None:
    forge = load_settings(f"{HEAD}forge: {{}}\n".encode()).forge
    assert (forge.type, forge.url, forge.labels, forge.comment, forge.max_open_pull_requests) == (
        None,
        None,
        [],
        False,
        50,
    )


WRONG = {
    "forge: {type: bitbucket}": "gitops-bg.yaml:3: forge.type",
    "forge: {maxOpenPullRequests: 0}": "gitops-bg.yaml:3: forge.maxOpenPullRequests",
    "forge: {token: abc}": "gitops-bg.yaml:3: forge.token: there is no such field",
}


@pytest.mark.parametrize(("said", "problem"), WRONG.items())
def test_what_is_wrong_is_named_with_its_line(said: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_settings(f"{HEAD}{said}\n".encode())
    assert str(caught.value).startswith(problem)
