"""`render` with real helm and kustomize, and `check`, which knows without them whether what they rendered is stale."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from gitops_bg.cli.main import app
from tests.spec.app.test_moved import primary
from tests.spec.texts import APP, SERVICE, SOUND_TARGET
from tests.support.cluster.helm import HOW_TO_GET_IT, helm_at_hand
from tests.support.printed import demand_documented

KUSTOMIZE = {
    "web/base/kustomization.yaml": "resources: [deployment.yaml, service.yaml]\n",
    "web/base/deployment.yaml": SOUND_TARGET.replace("  namespace: shop\n", ""),
    "web/base/service.yaml": SERVICE.replace(", namespace: shop", ""),
    "web/kustomization.yaml": "resources: [base]\nnamespace: shop\n"
    "images: [{name: registry.example/shop/web, newTag: 1.2.0}]\n",
}
CHART = {
    "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "charts/web/values.yaml": "tag: 1.0.0\n",
    "charts/web/templates/deployment.yaml": SOUND_TARGET.replace("web:1.0.0", "web:{{ .Values.tag }}").replace(
        "name: web\n  namespace: shop", "name: {{ .Release.Name }}\n  namespace: {{ .Release.Namespace }}", 1
    )
    + "          ports: [{name: http, containerPort: 8080}]\n",
    "charts/web/templates/account.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web}\n",
    "values/web.yaml": "tag: 1.2.0\n",
}
BY_KUSTOMIZE = "{kustomize: web}"
BY_HELM = "{helm: {chart: charts/web, values: [values/web.yaml]}}"
Repository = Callable[[str], Path]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Makes a repository whose app shop/web has this spec.render; helm and kubectl are on the PATH."""
    helm = helm_at_hand()
    if helm is None:
        pytest.skip(HOW_TO_GET_IT)
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl on the PATH: https://kubernetes.io/docs/tasks/tools/")
    monkeypatch.setenv("PATH", f"{helm.parent}:{os.environ['PATH']}")

    def make(render: str) -> Path:
        app_file = f"{APP}  render: {render}\n"
        files = {"gitops-bg.yaml": "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n", **KUSTOMIZE, **CHART}
        for path, text in {**files, "apps/shop/web/app.yaml": app_file}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        return tmp_path

    return make


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(arguments), env={"GITOPS_BG_REPO": "", "COLUMNS": "200"})
    assert result.exit_code == code, result.output
    demand_documented(arguments, result.stdout, result.stderr)
    return result


def image_in(root: Path) -> str:
    target = yaml.safe_load((root / "apps/shop/web/target.yaml").read_text())
    return str(target["spec"]["template"]["spec"]["containers"][0]["image"])


@pytest.mark.parametrize("render", [BY_KUSTOMIZE, BY_HELM], ids=["kustomize", "helm"])
def test_what_is_rendered_is_sound_and_renders_again_to_the_same(render: str, repository: Repository) -> None:
    root = repository(render)
    assert "run `gitops-bg render shop/web`" in run("check", str(root), code=1).stdout
    said = run("render", "shop/web", "--into", str(root)).stdout
    assert "shop/web: wrote apps/shop/web/target.yaml" in said
    assert ("ServiceAccount web is left out" in said) == (render == BY_HELM)
    assert (root / "apps/shop/web/rendered.yaml").exists() == (render == BY_KUSTOMIZE)
    assert image_in(root) == "registry.example/shop/web:1.2.0"
    run("check", str(root))
    assert "shop/web: nothing has changed" in run("render", "--into", str(root)).stdout


CHANGES = {
    "an overlay": (BY_KUSTOMIZE, "web/kustomization.yaml", "1.2.0", "1.3.0"),
    "its base": (BY_KUSTOMIZE, "web/base/deployment.yaml", "replicas: 3", "replicas: 4"),
    "values": (BY_HELM, "values/web.yaml", "1.2.0", "1.3.0"),
    "a template": (BY_HELM, "charts/web/templates/deployment.yaml", "replicas: 3", "replicas: 4"),
    "the target by hand": (BY_HELM, "apps/shop/web/target.yaml", "1.2.0", "1.3.0"),
    "what is beside it by hand": (BY_KUSTOMIZE, "apps/shop/web/rendered.yaml", "port: 80", "port: 81"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_check_says_when_it_is_stale_and_needs_no_helm_for_that(
    case: str, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    render, path, before, after = CHANGES[case]
    root = repository(render)
    run("render", "--into", str(root))
    with monkeypatch.context() as without_programs:
        without_programs.setenv("PATH", "/nowhere")
        run("check", str(root))
        text = (root / path).read_text()
        assert before in text
        (root / path).write_text(text.replace(before, after))
        found = json.loads(run("check", str(root), "-o", "json", code=1).stdout)["problems"]
    assert {each["rule"] for each in found} == {"stale-render"}
    assert {each["remedy"] for each in found} == {"run `gitops-bg render shop/web`, and commit what it writes"}
    assert ("by hand" in found[0]["message"]) == ("by hand" in case)
    run("render", "--into", str(root))
    run("check", str(root))


def test_what_is_not_rendered_any_more_goes(repository: Repository) -> None:
    root = repository(BY_KUSTOMIZE)
    run("render", "--into", str(root))
    (root / "web/base/kustomization.yaml").write_text("resources: [deployment.yaml]\n")
    assert "rendered.yaml" in run("render", "--into", str(root)).stdout
    assert not (root / "apps/shop/web/rendered.yaml").exists()


def test_a_dry_run_writes_nothing_and_programs_get_what_would_change(repository: Repository) -> None:
    root = repository(BY_HELM)
    found = json.loads(run("render", "web", "--into", str(root), "--dry-run", "-o", "json").stdout)
    assert found["written"] is False
    assert found["apps"][0]["changed"] == ["apps/shop/web/target.yaml"]
    assert [each["field"] for each in found["apps"][0]["listed"]] == ["kind"]
    assert not (root / "apps/shop/web/target.yaml").exists()


WRONG = {
    "a place that is not there": ("{kustomize: gone}", "apps/shop/web/app.yaml:9:1", "gone is not in the repository"),
    "a wrong field": (
        "{kustomise: web}",
        "apps/shop/web/app.yaml:8",
        "there is no such field (did you mean kustomize?)",
    ),
    "a chart that fails": ("{helm: {chart: values}}", "helm template web ./values", "failed"),
    "another name": ("{helm: {chart: charts/web, release: api}}", "it has Deployment api", "fullnameOverride"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_rendered_says_why_and_writes_nothing(case: str, repository: Repository) -> None:
    render, *said = WRONG[case]
    root = repository(render)
    printed = run("render", "--into", str(root), code=1).stderr
    assert [words in printed for words in said[1:]] == [True] * (len(said) - 1), printed
    assert not (root / "apps/shop/web/target.yaml").exists()


def test_wrong_use(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(BY_HELM)
    assert "no app.yaml of shop/api has spec.render" in run("render", "shop/api", "--into", str(root), code=5).stderr
    assert "is no folder" in run("render", "--into", str(root / "none"), code=5).stderr
    monkeypatch.setenv("PATH", "/nowhere")
    assert "there is no helm on the PATH" in run("render", "--into", str(root), code=1).stderr
    (root / "apps/shop/web/app.yaml").write_text(APP)
    assert "no app has spec.render" in run("render", "--into", str(root), code=5).stderr


def test_links_are_not_followed(repository: Repository, tmp_path: Path) -> None:
    root = repository(BY_KUSTOMIZE)
    outside = tmp_path / "outside.yaml"
    outside.write_text("mine")
    (root / "apps/shop/web/target.yaml").symlink_to(outside)
    assert "symbolic link" in run("render", "--into", str(root), code=1).stderr
    assert outside.read_text() == "mine"


def test_a_rendered_app_is_moved_by_the_steps_that_its_refusal_names(repository: Repository) -> None:
    root = repository(BY_KUSTOMIZE)
    run("render", "--into", str(root))
    folder, moved = root / "apps/shop/web", root / "apps/shop/front"
    (folder / "primary.yaml").write_text(primary())
    move = ("move", "shop/web", "shop/front", "--checkout", str(root))
    assert "take render out of app.yaml; move; put render back" in " ".join(run(*move, code=1).stderr.split())

    workload = root / "web/base/deployment.yaml"
    workload.write_text(workload.read_text().replace("name: web\n", "name: front\n", 1))
    (folder / "app.yaml").write_text(APP)
    run(*move)
    template = yaml.safe_load((moved / "target.yaml").read_text())["spec"]["template"]
    with (moved / "app.yaml").open("a") as file:
        file.write(f"  render: {BY_KUSTOMIZE}\n")
    run("render", "shop/front", "--into", str(root))
    run("check", str(root))
    target = yaml.safe_load((moved / "target.yaml").read_text())
    assert (target["metadata"]["name"], target["spec"]["template"]) == ("front", template), "it is no new version"
    assert yaml.safe_load((moved / "rendered.yaml").read_text())["metadata"]["name"] == "web", "the Service stays"
