"""What a target is rendered from: which files count, when it is stale, and what becomes of what was rendered."""

from __future__ import annotations

import pytest
import yaml

from gitops_bg.core.errors import InvalidInput
from gitops_bg.spec.app.load import load_app
from gitops_bg.spec.app.models import Render
from gitops_bg.spec.rendered import digest_of, inputs_of, missing, rendered, what_is_stale
from tests.spec.texts import APP, TARGET, WEB, source_of

TREE = {
    "web/overlay/kustomization.yaml": b"resources: [../base]\npatches: [{path: patch.yaml}]\n"
    b"configMapGenerator: [{name: a, files: [settings=../shared/settings.txt]}]\n",
    "web/overlay/patch.yaml": b"a: b\n",
    "web/base/kustomization.yaml": b"resources:\n  - deployment.yaml\n  - https://example.com/x?ref=main\n",
    "web/base/deployment.yaml": b"kind: Deployment\n",
    "web/shared/settings.txt": b"x\n",
    "web/other/kustomization.yaml": b"resources: [nothing.yaml]\n",
    "charts/web/Chart.yaml": b"name: web\n",
    "charts/web/templates/deployment.yaml": b"kind: {{ .Values.kind }}\n",
    "charts/web-values.yaml": b"kind: Deployment\n",
    "secrets.yaml": b"a: b\n",
}
FOLDER = "apps/shop/web"
KUSTOMIZE = Render.model_validate({"kustomize": "web/overlay"})
HELM = Render.model_validate({"helm": {"chart": "charts/web", "values": ["charts/web-values.yaml"]}})


def below(place: str) -> dict[str, bytes]:
    return {path: data for path, data in TREE.items() if path == place or path.startswith(f"{place}/")}


def test_the_inputs_of_a_kustomization_are_its_folder_and_all_that_it_names() -> None:
    assert set(inputs_of(KUSTOMIZE, below)) == {
        "web/overlay/kustomization.yaml",
        "web/overlay/patch.yaml",
        "web/base/kustomization.yaml",
        "web/base/deployment.yaml",
        "web/shared/settings.txt",
    }


def test_the_inputs_of_a_chart_are_its_files_and_the_values() -> None:
    assert set(inputs_of(HELM, below)) == {path for path in TREE if path.startswith("charts/")}


def test_a_kustomization_that_names_itself_or_what_lies_outside_ends() -> None:
    tree = {"a/kustomization.yaml": b"resources: [., ../a, ../../etc, /etc, '']\n"}
    found = inputs_of(
        Render.model_validate({"kustomize": "a"}),
        lambda place: {path: data for path, data in tree.items() if path.startswith(place)},
    )
    assert set(found) == set(tree)


def test_what_is_not_there_is_missing() -> None:
    assert missing(KUSTOMIZE, below) == []
    assert missing(Render.model_validate({"kustomize": "web/gone"}), below) == ["web/gone"]


CHANGES: dict[str, tuple[Render, dict[str, bytes], bool]] = {
    "nothing": (KUSTOMIZE, {}, False),
    "a base": (KUSTOMIZE, {"web/base/deployment.yaml": b"kind: StatefulSet\n"}, True),
    "a file that is named": (KUSTOMIZE, {"web/shared/settings.txt": b"y\n"}, True),
    "a new file of the folder": (KUSTOMIZE, {"web/overlay/more.yaml": b""}, True),
    "something else": (KUSTOMIZE, {"web/other/kustomization.yaml": b""}, False),
    "values": (HELM, {"charts/web-values.yaml": b"kind: StatefulSet\n"}, True),
    "a template": (HELM, {"charts/web/templates/deployment.yaml": b"kind: Deployment\n"}, True),
    "the chart of another": (KUSTOMIZE, {"charts/web/Chart.yaml": b""}, False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_changes_with_what_is_rendered_from_and_with_nothing_else(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    render, files, differs = CHANGES[change]
    before = digest_of(WEB, render, inputs_of(render, below))
    for path, data in files.items():
        monkeypatch.setitem(TREE, path, data)
    assert (digest_of(WEB, render, inputs_of(render, below)) != before) == differs


def test_the_digest_is_of_how_it_is_rendered_too() -> None:
    other = Render.model_validate(
        {"helm": {"chart": "charts/web", "values": ["charts/web-values.yaml"], "release": "a"}}
    )
    assert digest_of(WEB, other, {}) != digest_of(WEB, HELM, {})


PRINTED = f"""\
{TARGET}---
apiVersion: v1
kind: Service
metadata: {{name: web}}
spec: {{selector: {{app: web}}, ports: [{{port: 80}}]}}
---
apiVersion: v1
kind: Secret
metadata: {{name: token}}
data: {{t: aHVzaGh1c2g=}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: web}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: hook, annotations: {{helm.sh/hook: pre-install}}}}
"""
INPUTS = "sha256:" + "0" * 64


def test_the_workload_becomes_the_target_and_the_rest_one_file_beside_it() -> None:
    found = rendered(FOLDER, KUSTOMIZE, "target.yaml", PRINTED.encode(), INPUTS)
    assert set(found.files) == {"target.yaml", "rendered.yaml"}
    assert yaml.safe_load(found.files["target.yaml"]) == yaml.safe_load(TARGET)
    assert yaml.safe_load(found.files["rendered.yaml"]) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"ports": [{"port": 80}]},
    }
    assert [each.message.partition(":")[0] for each in found.listed] == [
        "Secret token is left out",
        "ServiceAccount web is left out",
        "ConfigMap hook is left out",
    ]
    assert "aHVzaGh1c2g=" not in "".join([*found.files.values(), *map(str, found.listed)])


WRONG = {
    "": "has no workload called web, and its target has to be; it has none",
    TARGET.replace("name: web", "name: api"): "it has Deployment api (helm: set fullnameOverride",
    "a: [": "this is not YAML",
}


@pytest.mark.parametrize("printed", WRONG)
def test_what_renders_no_target_is_an_error(printed: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        rendered(FOLDER, KUSTOMIZE, "target.yaml", printed.encode(), INPUTS)
    assert WRONG[printed] in str(caught.value)


def test_the_workload_of_a_member_is_called_as_its_service_in_every_version() -> None:
    found = rendered("groups/shop/store/v2/web", KUSTOMIZE, "target.yaml", TARGET.encode(), INPUTS)
    assert set(found.files) == {"target.yaml"}


STALE = {
    "as it was written": ("", INPUTS, ""),
    "other inputs": ("", INPUTS.replace("0", "1"), "is stale: what it is rendered from has changed since"),
    "another line": ("replicas: 5\n", INPUTS, "was changed by hand after it was rendered"),
}


@pytest.mark.parametrize("case", STALE)
def test_a_file_knows_whether_it_is_what_its_inputs_render(case: str) -> None:
    more, inputs, said = STALE[case]
    text = rendered(FOLDER, KUSTOMIZE, "target.yaml", TARGET.encode(), INPUTS).files["target.yaml"]
    assert what_is_stale((text + more).encode(), inputs) == said


FIELDS = {
    "{}": "spec.render: must have exactly one of kustomize and helm (write kustomize: web/overlay)",
    "{kustomize: a, helm: {chart: b}}": "spec.render: must have exactly one of kustomize and helm (write",
    "{kustomize: ../web}": "spec.render.kustomize: '../web' is no path of the repository (write it from the",
    "{kustomize: /etc}": "spec.render.kustomize: '/etc' is no path of the repository",
    "{kustomize: --help}": "spec.render.kustomize: '--help' is no path of the repository",
    "{kustomize: 'https://example.com/x'}": "spec.render.kustomize: 'https://example.com/x' is no path",
    "{kustomize: apps/shop/web}": "spec.render.kustomize: lies in apps/, where every file is a manifest that the agent",
    "{helm: {values: [a]}}": "spec.render.helm.chart: is required (add chart)",
    "{helm: {chart: a, values: [-f]}}": "spec.render.helm.values[0]: '-f' is no path of the repository",
    "{kustomize: web/overlay}": "",
    "{helm: {chart: charts/web-1.2.tgz, values: [a.yaml], release: web}}": "",
}


def problems(**files: str) -> list[str]:
    found = load_app(WEB, {name.replace("_", "."): text.encode() for name, text in files.items()}, source_of)
    return [str(each).removeprefix("apps/shop/web/") for each in found.problems]


@pytest.mark.parametrize("field", FIELDS)
def test_paths_lie_in_the_repository_and_are_no_options(field: str) -> None:
    said = problems(app_yaml=f"{APP}  render: {field}\n", target_yaml=TARGET)
    assert [FIELDS[field] in each for each in said] == [True] * bool(FIELDS[field])


def test_a_target_that_was_not_rendered_yet_says_how() -> None:
    (said,) = problems(app_yaml=f"{APP}  render: {{kustomize: web}}\n")
    assert "run `gitops-bg render shop/web`, and commit what it writes" in said


IMAGE = "registry.example/shop/web:1.0.0"
TEMPLATES = {
    "a value of helm": ("target.yaml", TARGET.replace(IMAGE, '"{{ .Values.image }}"'), "target.yaml:18: holds {{ }}"),
    "braces that are no YAML": ("target.yaml", TARGET.replace(IMAGE, "{{ image }}"), "target.yaml:18: holds {{ }}"),
    "a block of helm": ("target.yaml", "{{- if .Values.on }}\n" + TARGET, "target.yaml:1: holds {{ }}"),
    "a service": (
        "service.yaml",
        'apiVersion: v1\nkind: Service\nmetadata: {name: "{{ include \\"web.name\\" . }}"}\n',
        "service.yaml:3: holds {{ }}",
    ),
    "a kustomization": ("kustomization.yaml", "resources: [deployment.yaml]\n", "kustomization.yaml:1: is not run"),
    "a kustomization without a suffix": ("Kustomization", "resources: []\n", "Kustomization:1: is not run"),
    "values": ("values.yaml", "image: a\n", "values.yaml:1: is not run"),
}


@pytest.mark.parametrize("case", TEMPLATES)
def test_what_nobody_renders_is_an_error_that_says_what_to_do(case: str) -> None:
    name, text, said = TEMPLATES[case]
    files = {"app.yaml": APP, "target.yaml": TARGET, name: text}
    found = [
        str(each).removeprefix("apps/shop/web/")
        for each in load_app(WEB, {key: each.encode() for key, each in files.items()}, source_of).problems
    ]
    assert [each[: len(said)] for each in found] == [said]
    assert "docs/how-to/rendered-manifests.md" in found[0]


def test_a_config_map_holds_whatever_templates_its_reader_likes() -> None:
    text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {chart: "{{ .Values.image }}"}\n'
    assert problems(app_yaml=APP, target_yaml=TARGET, settings_yaml=text) == []


def test_braces_that_somebody_else_reads_are_none_of_our_business() -> None:
    annotation = "annotations: {vault/template: '{{- with secret \"a\" }}{{ .Data }}{{ end }}'}\n      labels:"
    assert (
        problems(app_yaml=APP, target_yaml=TARGET.replace("labels:\n        app", f"{annotation}\n        app", 1))
        == []
    )
    broken = TARGET.replace("replicas: 3", "replicas: 010").replace("image: ", "image: &x ")
    assert "template" not in "".join(problems(app_yaml=APP, target_yaml=f"# {{{{ }}}}\n{broken}"))
