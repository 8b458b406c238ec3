"""How Argo CD, Flux and Helm know their objects: none of it stays on an object that the agent applies from now on."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_bg.spec.importing.tools import INSTANCE, tool_of, without_marks
from tests.spec.importing.test_deployments import HPA, USING
from tests.spec.importing.texts import CANARY, DEPLOYMENT, SERVICE, imported, value_of

Json = dict[str, Any]


def written_by(manager: str, *labels: str) -> Json:
    fields = {"f:metadata": {"f:labels": {f"f:{label}": {} for label in labels}}}
    return {"managedFields": [{"manager": "kubectl"}, {"manager": manager, "fieldsV1": fields}]}


INSTANCED = {"labels": {INSTANCE: "shop", "app": "web"}}
TRACKED = "argocd.argoproj.io/tracking-id"
MARKS: dict[str, tuple[Json, str, Json]] = {
    "nothing": ({"name": "web"}, "", {"name": "web"}),
    "labels and annotations of people": (
        {"labels": {"app": "web"}, "annotations": {"owner": "ada"}},
        "",
        {"labels": {"app": "web"}, "annotations": {"owner": "ada"}},
    ),
    "Argo CD's label": (
        {"labels": {"argocd.argoproj.io/instance": "shop", "a": "b"}},
        "Argo CD",
        {"labels": {"a": "b"}},
    ),
    "Argo CD's annotations": ({"annotations": {TRACKED: "x", "argocd.argoproj.io/sync-wave": "1"}}, "Argo CD", {}),
    "the label that Argo CD itself wrote": (
        {**INSTANCED, **written_by("argocd-controller", INSTANCE)},
        "Argo CD",
        {"labels": {"app": "web"}, **written_by("argocd-controller", INSTANCE)},
    ),
    "the same label of a chart": (
        {**INSTANCED, **written_by("helm", INSTANCE)},
        "",
        {**INSTANCED, **written_by("helm", INSTANCE)},
    ),
    "the same label in a file": (INSTANCED, "", INSTANCED),
    "another label that Argo CD wrote": (
        {**INSTANCED, **written_by("argocd-controller", "app")},
        "",
        {**INSTANCED, **written_by("argocd-controller", "app")},
    ),
    "the label of a chart, while Argo CD tracks by its annotation": (
        {**INSTANCED, **written_by("argocd-controller", INSTANCE), "annotations": {TRACKED: "x"}},
        "Argo CD",
        {**INSTANCED, **written_by("argocd-controller", INSTANCE)},
    ),
    "a Kustomization of Flux": (
        {
            "labels": {"kustomize.toolkit.fluxcd.io/name": "x", "kustomize.toolkit.fluxcd.io/namespace": "y"},
            "annotations": {"kustomize.toolkit.fluxcd.io/prune": "disabled"},
        },
        "Flux",
        {},
    ),
    "a HelmRelease of Flux": (
        {"labels": {"helm.toolkit.fluxcd.io/name": "x", "app.kubernetes.io/managed-by": "Helm"}},
        "Flux",
        {},
    ),
    "a release of Helm": (
        {"labels": {"app.kubernetes.io/managed-by": "Helm"}, "annotations": {"meta.helm.sh/release-name": "web"}},
        "Helm",
        {},
    ),
    "what Helm has taken over": ({"annotations": {"meta.helm.sh/release-name": "web"}}, "Helm", {}),
    "the agent": ({"labels": {"app.kubernetes.io/managed-by": "gitops-bg"}}, "", {}),
}


@pytest.mark.parametrize("name", MARKS)
def test_the_tool_that_applies_an_object_and_what_stays_without_it(name: str) -> None:
    metadata, tool, rest = MARKS[name]
    assert (tool_of(metadata), without_marks(metadata)) == (tool, rest)


CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\ndata: {a: b}\n"
MARK = "name: web, labels: {argocd.argoproj.io/instance: shop, team: web}"


def test_no_file_of_an_import_has_a_mark_and_each_is_listed() -> None:
    texts = [
        each.replace("name: web", MARK, 1)
        for each in (USING.replace("name: settings", "name: web"), SERVICE, HPA, CONFIG)
    ]
    found = imported(*texts)
    assert not found.problems
    assert [path for path, text in found.files.items() if "argocd" in text] == []
    assert [path for path, text in found.files.items() if "team: web" not in text] == []
    assert {(each.file, each.field, each.message) for each in found.listed} == {
        (
            f"{number}.yaml",
            'metadata.labels["argocd.argoproj.io/instance"]',
            "is how another tool knows this object, which it does not apply any more",
        )
        for number in range(4)
    }


def test_the_target_of_a_canary_and_flaggers_copies_lose_theirs_too() -> None:
    canary = CANARY.replace("spec:\n", "spec:\n  autoscalerRef: {kind: HorizontalPodAutoscaler, name: web}\n", 1)
    copy = HPA.replace("name: web", "name: web-primary")
    found = imported(DEPLOYMENT.replace("name: web", MARK, 1), canary, HPA, copy)
    assert value_of(found, "apps/shop/web/target.yaml")["metadata"]["labels"] == {"team": "web"}
    assert [f"{each.file} {each.field}: {each.message}" for each in found.listed] == [
        '0.yaml metadata.labels["argocd.argoproj.io/instance"]: is how another tool knows this object, which it does '
        "not apply any more",
        "3.yaml metadata.name: is what Flagger made of web, and goes with the Canary",
    ]
