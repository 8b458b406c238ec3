"""release.yaml: what is written is read back as the same release, with the same bytes; an edit by hand is an error."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from gitops_bg.core.errors import InternalError
from gitops_bg.core.model.version import AppKey, Source
from gitops_bg.spec.environments.release import Release, read_release, release_document, release_of
from gitops_bg.spec.manifests.configuration import configuration_of
from gitops_bg.spec.yaml.reader import read_one

WEB = AppKey("shop", "web")
FILE = "apps/shop/web/prod/release.yaml"
SOURCE = Source("9be1" * 10, "Ada", datetime(2026, 3, 1, 12, tzinfo=UTC))
SETTINGS = configuration_of("ConfigMap", "settings", {"data": {"mode": "fast"}})


def deployment(image: str = "web:1", **more: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": image, "resources": {}}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "annotations": {"built-by": "ci"}},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template, **more},
    }


def release(number: int = 12, image: str = "web:1") -> Release:
    return release_of(deployment(image), [SETTINGS], SOURCE, number)


def read_back(text: str) -> tuple[Release | None, tuple[str, ...]]:
    document, problems = read_one(FILE, text.encode())
    assert document is not None, problems
    found, problems = read_release(document, WEB)
    return found, tuple(map(str, problems))


def test_what_is_written_is_read_back_and_written_again_with_the_same_bytes() -> None:
    text = release_document(WEB, release(), FILE)
    found, problems = read_back(text)
    assert not problems
    assert found == release()
    assert release_document(WEB, found, "apps/shop/web/staging/release.yaml") == text


def test_the_file_reads_like_this() -> None:
    text = release_document(WEB, release(), FILE)
    digest = release().id.digest
    assert text[text.index("apiVersion") :] == (
        "apiVersion: gitops-bg.dev/v1alpha1\n"
        "kind: Release\n"
        "metadata:\n  name: web\n  namespace: shop\n"
        "release: 12\n"
        f"digest: {digest}\n"
        f'source:\n  commit: {"9be1" * 10}\n  author: Ada\n  date: "2026-03-01T12:00:00Z"\n'
        "target:\n  apiVersion: apps/v1\n  kind: Deployment\n  metadata:\n    name: web\n    namespace: shop\n"
        "  spec:\n    replicas: 3\n    selector:\n      matchLabels:\n        app: web\n    template:\n"
        "      metadata:\n        labels:\n          app: web\n"
        "      spec:\n        containers:\n          - image: web:1\n            name: web\n            resources: {}\n"
        "configuration:\n  - kind: ConfigMap\n    name: settings\n    data:\n      mode: fast\n"
    )


def test_the_digest_of_a_release_is_golden() -> None:
    """A release that is on its way must stay the same release with every version of the agent."""
    assert release().id.digest == "r1:8794fbce3f32a76090871a0d75d2e18e53bcd92ce64283362cc63be038bb9136"


def test_number_source_and_annotations_are_no_part_of_the_digest_and_all_else_is() -> None:
    first = release()
    assert release(13).id.digest == first.id.digest
    assert release_of(deployment(), [SETTINGS], Source("a" * 40), 12).id.digest == first.id.digest
    without = {**deployment(), "metadata": {"name": "web", "namespace": "shop"}}
    assert release_of(without, [SETTINGS], SOURCE).id.digest == first.id.digest
    other = configuration_of("ConfigMap", "settings", {"data": {"mode": "slow"}})
    changed = [
        release(image="web:2"),
        release_of(deployment(replicas=4), [SETTINGS], SOURCE),
        release_of(deployment(), [], SOURCE),
        release_of(deployment(), [other], SOURCE),
    ]
    assert len({first.id.digest, *(each.id.digest for each in changed)}) == 5


@pytest.mark.parametrize(
    ("before", "after", "line", "said"),
    [
        ("image: web:1", "image: web:2", 9, "it was edited by hand or by a bot, or merged badly"),
        ("mode: fast", "mode: slow", 9, "it was edited by hand or by a bot, or merged badly"),
        ("name: web\n  namespace", "name: api\n  namespace", 6, "api is not the name of the folder"),
        ("digest: r1:", "digest: v1:", 9, "is no digest of a release"),
        ("release: 12", "release: 0", 8, ""),
        ("kind: Release", "kind: Primary", 4, "write Release"),
    ],
)
def test_an_edit_by_hand_is_an_error_with_its_line(before: str, after: str, line: int, said: str) -> None:
    text = release_document(WEB, release(), FILE).replace(before, after, 1)
    found, problems = read_back(text)
    assert found is None
    assert any(said in each and each.startswith(f"{FILE}:{line}:") for each in problems), problems


def test_a_release_that_nobody_could_read_is_not_written() -> None:
    with pytest.raises(InternalError, match="cannot be written to main"):
        release_document(WEB, release(number=0), FILE)
