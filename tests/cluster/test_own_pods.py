"""Terms about an app's own pods mean those of one version; every other term stays as it is."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from gitops_bg.cluster.manifests import pod_templates
from gitops_bg.core import names
from gitops_bg.core.model.version import AppKey

APP, DIGEST = AppKey("shop", "web"), "v1:" + 64 * "a"
OWN = {"app": "web", "part": "ui"}
LABELS = {**OWN, "team": "shop"}
VERSION = names.selector(APP, DIGEST)

BY_LABELS = {"matchLabels": OWN}
BY_EXPRESSIONS = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]} for key, value in OWN.items()]}
OWN_TERMS: dict[str, Any] = {
    "by the labels of the target's selector": {"labelSelector": BY_LABELS},
    "by expressions that say the same": {"labelSelector": BY_EXPRESSIONS},
    "by one more label of the pods": {"labelSelector": {"matchLabels": LABELS}},
    "and by what they have not": {
        "labelSelector": {**BY_LABELS, "matchExpressions": [{"key": "canary", "operator": "DoesNotExist"}]}
    },
    "in the namespace of the app, by its name": {"labelSelector": BY_LABELS, "namespaces": ["shop"]},
    "with the keys by which Kubernetes narrows": {"labelSelector": BY_LABELS, "matchLabelKeys": ["pod-template-hash"]},
}
OTHER_TERMS: dict[str, Any] = {
    "of the whole team": {"labelSelector": {"matchLabels": {"team": "shop"}}},
    "by a part of what names the app": {"labelSelector": {"matchLabels": {"app": "web"}}},
    "of another app": {"labelSelector": {"matchLabels": {"app": "db", "part": "ui"}}},
    "by a label that its pods do not have": {"labelSelector": {"matchLabels": {**OWN, "disk": "ssd"}}},
    "of what is not the app": {
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}
    },
    "of several apps": {
        "labelSelector": {
            "matchLabels": {"part": "ui"},
            "matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}],
        }
    },
    "in other namespaces": {"labelSelector": BY_LABELS, "namespaces": ["shop", "pay"]},
    "in namespaces by label": {"labelSelector": BY_LABELS, "namespaceSelector": {}},
    "of every pod": {"labelSelector": {}},
    "of no pod": {},
    "that nobody understands": {"labelSelector": {"matchLabels": [1]}},
}


def spread(term: Any) -> Any:
    return {"topologySpreadConstraints": [{"topologyKey": "zone", "maxSkew": 1, **term}]}


def required(kind: str, term: Any) -> Any:
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", **term}]}}}


def preferred(kind: str, term: Any) -> Any:
    weighted = [{"weight": 1, "podAffinityTerm": {"topologyKey": "zone", **term}}]
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}}


PLACES: dict[str, Any] = {
    "topology spread": spread,
    **{f"required {kind}": lambda term, kind=kind: required(kind, term) for kind in ("podAffinity", "podAntiAffinity")},
    **{
        f"preferred {kind}": lambda term, kind=kind: preferred(kind, term)
        for kind in ("podAffinity", "podAntiAffinity")
    },
}


def narrowed(spec: Any, own: Any = OWN) -> Any:
    template = {"metadata": {"labels": LABELS}, "spec": copy.deepcopy(spec)}
    return pod_templates.narrow(template, APP, DIGEST, own)["spec"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", OWN_TERMS)
def test_a_term_about_own_pods_gets_the_label_of_the_version(name: str, place: str) -> None:
    term = OWN_TERMS[name]
    selector = term["labelSelector"]
    wanted = {**selector, "matchLabels": {**selector.get("matchLabels", {}), **VERSION}}
    assert narrowed(PLACES[place](term)) == PLACES[place]({**term, "labelSelector": wanted})


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", OTHER_TERMS)
def test_any_other_term_stays_as_it_is(name: str, place: str) -> None:
    written = PLACES[place](OTHER_TERMS[name])
    assert narrowed(written) == written


@pytest.mark.parametrize("spec", [{}, {"affinity": None}, {"affinity": {"podAffinity": None}}, spread({})])
def test_a_template_without_such_terms_is_as_before(spec: Any) -> None:
    assert narrowed(spec) == spec


def test_a_target_that_selects_by_no_label_has_no_own_terms() -> None:
    written = spread({"labelSelector": BY_LABELS})
    assert narrowed(written, {}) == written


@pytest.mark.parametrize("text", ["", "x", "[]", "null"])
def test_an_annotation_that_says_nothing_names_no_pods(text: str) -> None:
    assert pod_templates.read_labels(text) == {}


def test_an_annotation_comes_back_as_it_was_written() -> None:
    assert pod_templates.read_labels(pod_templates.written_labels(OWN)) == OWN
    assert pod_templates.written_labels({}) == ""
