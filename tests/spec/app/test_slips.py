"""What people write in another form, at another place or under another name: each is told how it is written."""

from __future__ import annotations

import pytest

from gitops_bg.cluster.lint import lint
from gitops_bg.spec.app.check import check_repository
from tests.spec.lint.folder import APP, FOLDER, GOOD, TARGET

SETTINGS = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"
IMAGE = "image: registry.example/shop/web:1.0.0"
ONE = TARGET[TARGET.index("        - name: web") :]
STRATEGY = "  strategy:\n    blueGreen:\n      activeService: web\n      previewService: web-preview\n"
PODS = "spec.template.spec.containers"
# the file, what of it is written otherwise, and how: what is said of it
SLIPS: list[tuple[str, str, str, str]] = [
    ("target.yaml", IMAGE, "image:", f"12: {PODS}[0].image: expected text, found nothing (such as registry.example"),
    ("target.yaml", IMAGE, "image: ''", f"12: {PODS}[0].image: must not be empty (such as registry.example"),
    (
        "target.yaml",
        ONE,
        "        web: {image: 'a:1'}\n",
        f"10: {PODS}: expected a list, found a mapping (such as [{{name: web, image: registry.example",
    ),
    (
        "target.yaml",
        "httpGet: {path: /healthz, port: http}",
        "httpGet: /healthz",
        f"14: {PODS}[0].readinessProbe.httpGet: expected a mapping, found text (such as {{path: /healthz, port:",
    ),
    (
        "target.yaml",
        "resources: {requests: {cpu: 50m, memory: 64Mi}}",
        "resources: {cpu: 50m}",
        f"15: {PODS}[0].resources.cpu: there is no such field (write it below requests or limits)",
    ),
    (
        "target.yaml",
        "spec:\n  selector",
        "spec:\n  promotion: {via: commit}\n  selector",
        "5: spec.promotion: there is no such field (write it as spec.promotion in app.yaml)",
    ),
    (
        "target.yaml",
        "kind: Deployment",
        "kind: deployment",
        "2: kind: apps/v1 has no workload called deployment (write kind: Deployment)",
    ),
    (
        "app.yaml",
        STRATEGY,
        "  blueGreen:\n    activeService: web\n",
        "5: spec.blueGreen: there is no such field (write it as spec.strategy.blueGreen)",
    ),
    (
        "app.yaml",
        STRATEGY,
        "  strategy:\n    activeService: web\n",
        "6: spec.strategy.activeService: there is no such field (write it as spec.strategy.blueGreen.activeService)",
    ),
    (
        "app.yaml",
        STRATEGY,
        f"{STRATEGY}      promotion: {{via: commit}}\n",
        "9: spec.strategy.blueGreen.promotion: there is no such field (write it as spec.promotion)",
    ),
    (
        "app.yaml",
        STRATEGY,
        f"{STRATEGY}  commitAuthor: a\n",
        "9: spec.commitAuthor: there is no such field (write it as commitAuthor in gitops-bg.yaml)",
    ),
    (
        "app.yaml",
        STRATEGY,
        f"{STRATEGY}  suspend: true\n",
        "9: spec.suspend: expected a mapping, found a truth value (such as {reason: text})",
    ),
]


def said(files: dict[str, str], settings: str = SETTINGS) -> list[str]:
    contents = {"gitops-bg.yaml": settings, **{f"{FOLDER}/{name}": text for name, text in files.items()}}
    found = check_repository([(path, text.encode()) for path, text in contents.items()], lint).problems
    return [str(each).removeprefix(f"{FOLDER}/") for each in found]


@pytest.mark.parametrize(("file", "right", "written", "told"), SLIPS, ids=lambda each: str(each).strip()[:30])
def test_a_slip_is_told_how_it_is_written(file: str, right: str, written: str, told: str) -> None:
    assert right in GOOD[file]
    found = said({**GOOD, file: GOOD[file].replace(right, written)})
    assert [each for each in found if each.startswith(f"{file}:{told}")], found


@pytest.mark.parametrize(
    ("name", "written", "told"),
    [
        ("app.yaml", "app.yml", "app.yaml: is missing (rename app.yml to app.yaml)"),
        ("app.yaml", "App.yaml", "app.yaml: is missing (rename App.yaml to app.yaml)"),
        (
            "target.yaml",
            "target.yml",
            "app.yaml:4: spec.target: target.yaml is not in the folder (rename target.yml to target.yaml)",
        ),
    ],
)
def test_a_file_under_another_name_is_to_be_renamed(name: str, written: str, told: str) -> None:
    files = {**GOOD, written: GOOD[name]}
    del files[name]
    assert told in said(files)


def test_a_field_of_an_app_in_the_settings_is_told_its_file() -> None:
    told = "there is no such field (write it as spec.promotion in app.yaml)"
    assert said(GOOD, f"{SETTINGS}promotion: {{via: commit}}\n") == [f"gitops-bg.yaml:3: promotion: {told}"]
    top = "gitops-bg.yaml:3: spec: there is no such field (write what is below it at the top of the file)"
    assert said(GOOD, f"{SETTINGS}spec: {{promotion: {{via: commit}}}}\n") == [top]


def test_what_is_right_is_told_nothing() -> None:
    assert said(GOOD) == []
    assert said({**GOOD, "app.yaml": f"{APP}  promotion: {{via: commit}}\n"}) == []
