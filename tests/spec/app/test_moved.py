"""`gitops-bg move`: what of a folder names the app, and gets its new name, and what stands in the way.

The result is read as the agent reads it: a folder that is whole under its former name is whole under the new one.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import yaml

from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.version import AppKey, Color, Source, Stage, Version
from gitops_bg.spec.app.load import AppConfig, load_app
from gitops_bg.spec.app.moved import in_the_way, moved, naming
from gitops_bg.spec.app.primary import render_primary
from gitops_bg.spec.yaml.reader import read_one
from tests.spec.manifests.test_auxiliary_objects import budget, config_map, hpa, scaled_object
from tests.spec.texts import APP, SERVICE, TARGET, WEB, app_with, source_of

FRONT = AppKey("shop", "front")


def primary() -> str:
    snapshot = snapshot_of(yaml.safe_load(TARGET)["spec"]["template"])
    made = datetime(2026, 3, 1, tzinfo=UTC)
    return render_primary(WEB, Version(7, snapshot, Color.BLUE, Stage.ACTIVE, Source("9be1" * 10), 7, made))


def folder(app: str = APP, **files: str) -> dict[str, bytes]:
    contents = {"app": app, "target": TARGET, "primary": primary(), "service": SERVICE, **files}
    return {f"{name}.yaml": text.encode() for name, text in contents.items()}


def read_as(app: AppKey, files: dict[str, bytes]) -> AppConfig:
    config = load_app(app, files, source_of)
    assert [str(each) for each in config.problems] == []
    return config


def changed(files: dict[str, bytes]) -> dict[str, bytes]:
    """What changes; the folder is sound before and after."""
    made = moved(read_as(WEB, files), files, FRONT)
    read_as(FRONT, {**files, **made})
    return made


BESIDE = {
    "an HPA": (hpa("maxReplicas: 5"), {"Deployment, name: web": "Deployment, name: front"}),
    "an HPA in two lines, with a comment": (
        hpa("maxReplicas: 5", aim="scaleTargetRef:\n    kind: Deployment\n    name: 'web' # ours"),
        {"name: 'web' # ours": "name: 'front' # ours"},
    ),
    "a ScaledObject": (scaled_object(), {"scaleTargetRef: {name: web}": "scaleTargetRef: {name: front}"}),
    "a query for Flagger": (
        scaled_object(query='rate(http{svc="web-canary",app="web"}[1m])'),
        {"scaleTargetRef: {name: web}": "scaleTargetRef: {name: front}", "web-canary": "front-canary"},
    ),
    "a budget by the label of the app": (
        budget("{maxUnavailable: 1, selector: {matchLabels: {gitops-bg.dev/app: web}}}"),
        {"gitops-bg.dev/app: web": "gitops-bg.dev/app: front"},
    ),
    "a budget by expressions": (
        budget(
            "{maxUnavailable: 1, selector: {matchExpressions: "
            "[{key: app, operator: In, values: [web]}, {key: gitops-bg.dev/app, operator: In, values: [x, web]}]}}"
        ),
        {"values: [x, web]": "values: [x, front]"},
    ),
    "a budget by a label of the template": (budget("{maxUnavailable: 1, selector: {matchLabels: {app: web}}}"), {}),
    "a ConfigMap called as the app": (config_map("web"), {}),
    "several in one file": (
        "---\n".join(
            [config_map("web"), hpa("maxReplicas: 5"), budget("{selector: {matchLabels: {gitops-bg.dev/app: web}}}")]
        ),
        {
            "Deployment, name: web": "Deployment, name: front",
            "gitops-bg.dev/app: web": "gitops-bg.dev/app: front",
        },
    ),
}


@pytest.mark.parametrize("name", BESIDE)
def test_what_names_the_app_as_its_workload_follows_it_and_every_other_byte_stays(name: str) -> None:
    text, replaced = BESIDE[name]
    expected = text
    for old, new in replaced.items():
        assert expected.count(old) == 1
        expected = expected.replace(old, new)
    files = folder(beside=text)
    made = changed(files)
    assert made.get("beside.yaml", files["beside.yaml"]).decode() == expected
    assert made.keys() - {"beside.yaml"} == {"app.yaml", "target.yaml", "primary.yaml"}


OF_OAM = """\
apiVersion: standard.oam.dev/v1alpha1
kind: PodSpecWorkload
metadata:
  name: web
%sspec:
  podSpec: {containers: [{name: web, image: "registry.example/shop/web:1.0.0"}]}
"""
LABELLED = {"none": "", "some": "  labels:\n    app: web\n", "its own": "  labels:\n    component.oam.dev/name: shop\n"}


@pytest.mark.parametrize("labels", LABELLED)
def test_a_podspecworkload_is_the_same_version_under_another_name(labels: str) -> None:
    files = folder(target=OF_OAM % LABELLED[labels])
    before, after = read_as(WEB, files).target, read_as(FRONT, {**files, **changed(files)}).target
    assert before is not None
    assert after is not None
    assert after.snapshot == before.snapshot


def test_the_autoscaler_and_its_query_mean_what_they_meant() -> None:
    files = folder(
        app_with("autoscalerRef: {kind: ScaledObject, name: web}"), as_=scaled_object(query='x{s="web-canary"}')
    )
    before = read_as(WEB, files).auxiliary_objects
    after = read_as(FRONT, {**files, **changed(files)}).auxiliary_objects
    assert (before.autoscaler, before.scaled_by) == (after.autoscaler, after.scaled_by)
    queries = [
        {key: manifest["spec"]["triggers"] for key, manifest in each.manifests.items()} for each in (before, after)
    ]
    assert queries[0] == queries[1]
    assert 's="web"' in str(queries)


def test_a_name_that_other_fields_share_is_refused_with_its_place() -> None:
    aim = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: &name web}"
    files = folder(beside=hpa("maxReplicas: 5", "behavior: {x: *name}", aim=aim))
    with pytest.raises(InvalidInput, match=r"beside\.yaml:5.*without changing more than spec\.scaleTargetRef\.name"):
        moved(read_as(WEB, files), files, FRONT)


NAMES = {
    "# about shop/web\n": True,
    "apps: [shop/web]\n": True,
    "cel: {expression: \"apps['shop/web'].healthy\"}\n": True,
    "shop/web: a\n": True,
    "It is shop/web.\n": True,
    "paths: ['apps/shop/web/**']\n": True,
    "path: ./apps/shop/web\n": True,
    "image: registry.example/shop/web:1.0.0\n": False,
    "image: shop/web:1.0.0\n": False,
    "image: shop/web\n": False,
    "images: [{name: a, newName: shop/web}]\n": False,
    "image: shop/web@sha256:00\n": False,
    "path: src/shop/web\n": False,
    "path: shop/web/app.py\n": False,
    "shop/web-admin, myshop/web, shop/web.old, apps/shop/web-admin\n": False,
}


@pytest.mark.parametrize("text", NAMES)
def test_a_file_names_an_app_by_a_whole_word_and_not_by_a_path_or_an_image(text: str) -> None:
    config = read_as(WEB, folder())
    assert list(naming(config, {"web/x.yaml": text.encode()}, FRONT)) == (["web/x.yaml"] if NAMES[text] else [])


def policy(spec: str) -> bytes:
    return (
        f"apiVersion: gitops-bg.dev/v1alpha1\nkind: PromotionPolicy\nmetadata: {{name: calm}}\nspec: {spec}\n".encode()
    )


POLICIES = {
    "{match: {apps: [web]}, rules: [{soak: {for: 1h}}]}": True,
    "{match: {apps: [w*]}, rules: [{soak: {for: 1h}}]}": True,
    "{match: {apps: [front]}, rules: [{soak: {for: 1h}}]}": True,
    "{rules: [{after: {app: web}}], match: {apps: [cart]}}": True,
    "{match: {apps: [web], namespaces: [other]}, rules: [{soak: {for: 1h}}]}": False,
    "{match: {namespaces: [shop]}, rules: [{soak: {for: 1h}}]}": False,
    "{rules: [{soak: {for: 1h}}]}": False,
}


@pytest.mark.parametrize("spec", POLICIES)
def test_a_policy_that_is_for_one_of_the_names_alone_is_named(spec: str) -> None:
    """It would stop to count, or begin to, without a word."""
    files = {"policies/calm.yaml": policy(spec)}
    assert bool(list(naming(read_as(WEB, folder()), files, FRONT))) is POLICIES[spec]


def reasons(app: str) -> list[str]:
    files = folder(app)
    document, _ = read_one("apps/shop/web/app.yaml", files["app.yaml"])
    assert document
    return [str(each) for each in in_the_way(read_as(WEB, files), document, FRONT)]


def test_an_app_that_would_revert_to_its_target_is_refused_since_its_new_name_has_none() -> None:
    (reason,) = reasons(app_with("deletionPolicy: revertToTarget", "adopt: {deployment: web}"))
    assert reason.startswith("apps/shop/web/app.yaml:8: spec.deletionPolicy: gives live traffic back to the Deployment")
    assert "`gitops-bg release shop/front --deployment NAME` still is a way back" in reason
    assert reasons(app_with("deletionPolicy: delete", "adopt: {deployment: web}")) == []


def test_a_rendered_app_is_refused_with_the_steps() -> None:
    (reason,) = reasons(app_with("render: {kustomize: web/overlay}"))
    assert reason.startswith("apps/shop/web/app.yaml:8: spec.render: what it renders has a workload called web")
    assert "call the workload front in what it is rendered from, but no Service otherwise" in reason
    assert "run `gitops-bg render shop/front`" in reason
