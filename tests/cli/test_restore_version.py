"""The files for an older version, where the commit that brought it is lost: what the version holds is written anew."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gitops_bg.agent.operate.restore_version import Folder, edits_back
from gitops_bg.cli.errors import CommandFailed
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.version import AppKey, Color, Source, Stage, Version
from gitops_bg.spec.manifests.configuration import Configuration, configuration_of
from tests.fixtures.repos import texts
from tests.integration.repo.conftest import NOON

WEB = AppKey("shop", "web")
PLACE = "apps/shop/web"


def template(*names: tuple[str, str]) -> dict[str, Any]:
    """A pod template that takes these ConfigMaps and Secrets as variables."""
    fields = {"ConfigMap": "configMapRef", "Secret": "secretRef"}
    sources = [{fields[kind]: {"name": name}} for kind, name in names]
    container = {"name": "web", "image": "registry.example/web:1", "envFrom": sources}
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}


def manifest(kind: str, name: str, annotations: dict[str, str] | None = None, **data: str) -> str:
    metadata = {"name": name, "labels": {"team": "a"}, **({"annotations": annotations} if annotations else {})}
    return yaml.safe_dump({"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": data})


def folder(pods: dict[str, Any], **files: str) -> Folder:
    target = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": pods},
    }
    now = {"app.yaml": texts.app("shop", "web"), "target.yaml": yaml.safe_dump(target).encode()}
    return Folder(
        WEB, "apps/shop/web", "target.yaml", now | {f"{stem}.yaml": text.encode() for stem, text in files.items()}
    )


def version(pods: dict[str, Any], *contents: Configuration) -> Version:
    snapshot = snapshot_of(pods, [each.ref for each in contents])
    return Version(3, snapshot, Color.BLUE, Stage.ARCHIVED, Source("a" * 40), 1, NOON)


def held(kind: str, name: str, **data: str) -> Configuration:
    return configuration_of(kind, name, {"data": data})


def written(place: Folder, wanted: Version, *contents: Configuration) -> dict[str, Any]:
    """What the files of the folder say then, of those that change."""
    found = {}
    for path, edit in edits_back(place, wanted, contents).items():
        name = path.removeprefix(f"{PLACE}/")
        before = place.now.get(name, b"")
        assert isinstance(before, bytes)
        after = edit if isinstance(edit, bytes) else edit(before)
        if after != before:
            found[name] = yaml.safe_load(after)
    return found


SETTINGS = template(("ConfigMap", "settings"))


def test_the_content_is_put_in_place_of_what_is_there_and_the_rest_stays() -> None:
    old = held("ConfigMap", "settings", color="blue")
    place = folder(SETTINGS, config=manifest("ConfigMap", "settings", color="green", size="9"))
    [(name, body)] = written(place, version(SETTINGS, old), old).items()
    assert name == "config.yaml"
    assert body["data"] == {"color": "blue"}
    assert body["metadata"] == {"name": "settings", "labels": {"team": "a"}}


def test_an_annotation_that_took_it_out_of_the_version_goes() -> None:
    old = held("ConfigMap", "settings", color="blue")
    annotations = {"gitops-bg.dev/config-tracking": "disabled", "note": "stays"}
    place = folder(SETTINGS, config=manifest("ConfigMap", "settings", annotations, color="blue"))
    body = written(place, version(SETTINGS, old), old)["config.yaml"]
    assert body["metadata"]["annotations"] == {"note": "stays"}


def test_what_the_folder_no_longer_has_gets_files_of_its_own() -> None:
    pods = template(("ConfigMap", "settings"), ("Secret", "db"))
    contents = held("ConfigMap", "settings", color="blue"), held("Secret", "db", password="aHVzaA==")
    found = written(folder(template()), version(pods, *contents), *contents)
    assert found.keys() == {"target.yaml", "configmap-settings.yaml", "secret-db.yaml"}
    assert found["secret-db.yaml"]["data"] == {"password": "aHVzaA=="}


def test_nothing_is_written_where_all_is_so_already() -> None:
    old = held("ConfigMap", "settings", color="blue")
    place = folder(SETTINGS, config=manifest("ConfigMap", "settings", color="blue"))
    assert written(place, version(SETTINGS, old), old) == {}


def test_a_version_whose_content_is_lost_cannot_be_had() -> None:
    lost = held("ConfigMap", "settings", color="blue")
    with pytest.raises(CommandFailed, match=r"what ConfigMap settings of v3 .* held is nowhere to be found any more"):
        edits_back(folder(SETTINGS), version(SETTINGS, lost), ())


def test_a_version_that_did_not_have_what_the_folder_has_now_cannot_be_had_by_half() -> None:
    place = folder(template(), config=manifest("ConfigMap", "settings", color="blue"))
    with pytest.raises(CommandFailed, match=r"it did not have ConfigMap settings of this folder; `git revert`"):
        edits_back(place, version(SETTINGS), ())
