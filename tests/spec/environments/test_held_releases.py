"""`spec.heldReleases`: how `gitops-bg hold` writes it, and what the core has of it."""

import pytest

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.version import AppKey, Source
from gitops_bg.spec.app.load import load_app
from gitops_bg.spec.manifests.edit import set_held_release

ONE, OTHER = "r1:" + "1" * 64, "r1:" + "2" * 64
APP = b"""\
apiVersion: gitops-bg.dev/v1alpha1
kind: BlueGreenDeployment
metadata: {name: web, namespace: shop}  # ours
spec:
  strategy: {blueGreen: {activeService: web}}
"""


def held(app_yaml: bytes) -> dict[str, str]:
    spec = load_app(AppKey("shop", "web"), {"app.yaml": app_yaml}, lambda *_: Source("")).spec
    assert spec is not None
    return dict(spec.held_releases)


def test_a_release_is_held_and_let_in_again_and_the_rest_of_the_file_stays() -> None:
    once = set_held_release(APP, ONE, "r1: loses orders (Ada)", "app.yaml")
    twice = set_held_release(once, OTHER, "r2: slow (Bob)", "app.yaml")
    assert held(twice) == {ONE: "r1: loses orders (Ada)", OTHER: "r2: slow (Bob)"}
    assert b"# ours" in twice
    assert held(set_held_release(twice, ONE, None, "app.yaml")) == {OTHER: "r2: slow (Bob)"}
    assert set_held_release(once, ONE, None, "app.yaml") == APP


def test_what_is_so_already_changes_nothing() -> None:
    once = set_held_release(APP, ONE, "bad", "app.yaml")
    assert set_held_release(once, ONE, "bad", "app.yaml") == once
    assert set_held_release(APP, ONE, None, "app.yaml") == APP


def test_a_file_without_a_spec_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidInput, match=r"app\.yaml"):
        set_held_release(b"kind: BlueGreenDeployment\n", ONE, "bad", "app.yaml")


@pytest.mark.parametrize("named", ["r12", "r1:3f9c2ab8d1", "r1:" + "F" * 64])
def test_what_is_no_full_digest_is_refused_for_it_would_hold_nothing(named: str) -> None:
    text = APP + f'  heldReleases: {{"{named}": "r12: loses orders"}}\n'.encode()
    problems = load_app(AppKey("shop", "web"), {"app.yaml": text}, lambda *_: Source("")).problems
    said = [str(each) for each in problems if "heldReleases" in str(each)]
    assert len(said) == 1
    assert "is no full digest of a release" in said[0]
    assert "gitops-bg hold" in said[0]
