"""The example of docs/features/routes.md: its HTTPRoute is what is made of its app.yaml."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from gitops_bg.cluster.manifests.services import named_version_of, with_named_version
from gitops_bg.spec.app.load import load_app
from tests.spec.texts import SERVICE, TARGET, WEB, source_of

PAGE = (Path(__file__).parents[3] / "docs" / "features" / "routes.md").read_text(encoding="utf-8")


def test_the_route_of_the_page_is_made_of_its_app() -> None:
    app, _, route = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    preview = SERVICE.replace("name: web", "name: web-preview")
    files = {"app.yaml": app, "target.yaml": TARGET, "web.yaml": SERVICE, "preview.yaml": preview}
    config = load_app(WEB, {name: text.encode() for name, text in files.items()}, source_of)
    assert config.problems == ()
    (manifest,) = config.auxiliary_objects.manifests.values()
    written = yaml.safe_load(route)
    made = with_named_version({**manifest}, named_version_of(written))
    assert made["spec"] == written["spec"]
    assert (made["kind"], made["metadata"]["name"]) == (written["kind"], written["metadata"]["name"])


def test_the_hosts_of_the_page_give_its_app_a_second_route() -> None:
    app, more, _ = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    body = yaml.safe_load(app)
    body["spec"]["strategy"]["blueGreen"] |= yaml.safe_load(more)
    files = {"app.yaml": yaml.safe_dump(body), "target.yaml": TARGET, "web.yaml": SERVICE}
    config = load_app(WEB, {name: text.encode() for name, text in files.items()}, source_of)
    assert config.problems == ()
    made = {one.name: manifest["spec"]["hostnames"] for one, manifest in config.auxiliary_objects.manifests.items()}
    assert made == {"web": ["shop.example.com"], "web.preview": ["{digest}.preview.example.com"]}
