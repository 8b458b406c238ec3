"""What `spec.revision` names, in the words of people."""

from __future__ import annotations

import pytest

from gitops_bg.core.model.spec import Revision


@pytest.mark.parametrize(
    ("revision", "said"),
    [(Revision(number=3), "v3"), (Revision(digest="v1:3f9c"), "v1:3f9c"), (Revision(commit="c0ffee"), "c0ffee")],
)
def test_a_revision_is_said_as_people_say_it(revision: Revision, said: str) -> None:
    assert str(revision) == said
