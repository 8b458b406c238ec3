"""The webhooks of a group: those of an app with the same fields, but for what only an app can do."""

from __future__ import annotations

import json

import pytest

from gitops_bg.core.groups.inputs import DesiredGroup
from gitops_bg.core.model.hooks import HookType
from gitops_bg.core.model.version import GroupKey
from gitops_bg.spec.groups.load import load_group

STORE = GroupKey("shop", "store")
GROUP = """apiVersion: gitops-bg.dev/v1alpha1
kind: ReleaseGroup
metadata: {name: store, namespace: shop}
spec:
  active: v1
  webhooks:
"""


def load(*webhooks: str) -> DesiredGroup:
    text = GROUP + "".join(f"  - {each}\n" for each in webhooks)
    return load_group(STORE, {"group.yaml": text.encode(), "v1/cart/target.yaml": b""}).desired


def test_hooks_are_read_in_their_order_with_the_fields_of_an_app() -> None:
    desired = load(
        "{name: may-i, type: confirm-promotion, url: 'http://changes/', interval: 5s}",
        "{name: smoke, type: pre-rollout, url: 'http://tests/', metadata: {team: blue}, failureLimit: 2, deadline: 1m}",
    )
    assert desired.problems == ()
    assert desired.spec is not None
    may_i, smoke = desired.spec.hooks
    assert not may_i.manual
    assert (may_i.name, may_i.type, may_i.interval) == ("may-i", HookType.CONFIRM_PROMOTION, 5)
    assert (smoke.failure_limit, smoke.deadline) == (2, 60)
    assert json.loads(smoke.request)["metadata"] == {"team": "blue"}


@pytest.mark.parametrize(
    ("webhooks", "line", "said"),
    [
        (["{name: a, type: confirm-rollout, url: 'http://x/'}"], 7, "confirm-rollout means nothing for a group"),
        (["{name: a, type: pre-rollout}"], 7, "is required for the type pre-rollout"),
        (["{name: a, url: 'http://x/'}", "{name: a, url: 'http://y/'}"], 8, "there are two hooks called a"),
        (["{name: a, type: whenever, url: 'http://x/'}"], 7, "whenever"),
        (["{name: a, url: 'ftp://x/'}"], 7, "must be an address such as"),
        (["{name: a, url: 'http://x/', deadline: 0s}"], 7, "is 0, so it would never be called"),
    ],
)
def test_a_mistake_is_named_with_its_line(webhooks: list[str], line: int, said: str) -> None:
    desired = load(*webhooks)
    (problem,) = desired.problems
    assert desired.spec is None
    assert (problem.file, problem.line) == ("groups/shop/store/group.yaml", line)
    assert said in str(problem)
