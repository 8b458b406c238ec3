"""docs/features/configuration.md: its examples are what they say, read as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from gitops_bg.spec.app.load import load_app
from gitops_bg.spec.manifests.configuration import MAX_BYTES, TABLE, is_tracked, references
from tests.spec.texts import APP, TARGET, WEB, source_of

PAGE = (Path(__file__).parents[3] / "docs/features/configuration.md").read_text()
SETTINGS, IN_TARGET, LEFT_OUT, PORTS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_first_example_is_part_of_the_version() -> None:
    target = TARGET + IN_TARGET
    files = {"app.yaml": APP.encode(), "target.yaml": target.encode(), "settings.yaml": SETTINGS.encode()}
    config = load_app(WEB, files, source_of)
    assert config.problems == ()
    (held,) = config.configuration
    assert held.content == {"kind": "ConfigMap", "name": "settings", "data": {"color": "blue"}}


def test_the_annotation_takes_it_out() -> None:
    manifest = {"kind": "ConfigMap", **yaml.safe_load(LEFT_OUT)}
    name = manifest["metadata"]["name"]
    assert not is_tracked(manifest, references({"spec": {"volumes": [{"configMap": {"name": name}}]}}))


def test_every_kind_of_reference_is_in_its_table() -> None:
    for path, _ in TABLE:
        word = next(part for part in path if part not in ("spec", "volumes", "containers", "initContainers"))
        assert {"env": "`env[]", "envFrom": "`envFrom`", "csi": "`csi."}.get(word, f"`{word}`") in PAGE


def test_the_limit_is_the_one_that_holds() -> None:
    assert f"{MAX_BYTES:,} bytes" in PAGE
