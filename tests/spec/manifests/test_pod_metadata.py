"""`activeMetadata` and `previewMetadata` in app.yaml: what is read of them, and what is refused, with its line."""

from __future__ import annotations

import pytest

from gitops_bg.core.model.version import NO_METADATA, PodMetadata
from gitops_bg.spec.app.load import AppConfig, load_app
from tests.spec.texts import APP, TARGET, WEB, app_with, source_of

BOTH = "activeMetadata: {labels: {role: active, a.example/b: ''}, annotations: {note: any text}}"


def load(app: str, target: str = TARGET) -> AppConfig:
    return load_app(WEB, {"app.yaml": app.encode(), "target.yaml": target.encode()}, source_of)


def test_both_are_read() -> None:
    spec = load(app_with(blue_green=f"{BOTH}\n      previewMetadata: {{labels: {{role: preview}}}}")).spec
    assert spec is not None
    active = PodMetadata((("a.example/b", ""), ("role", "active")), (("note", "any text"),))
    assert (spec.strategy.active_metadata, spec.strategy.preview_metadata) == (
        active,
        PodMetadata((("role", "preview"),)),
    )


@pytest.mark.parametrize("said", ["", "activeMetadata:", "activeMetadata: {}", "activeMetadata: {labels: {}}"])
def test_nothing_is_nothing(said: str) -> None:
    spec = load(app_with(blue_green=said)).spec
    assert spec is not None
    assert spec.strategy.active_metadata == NO_METADATA


WRONG = {
    "activeMetadata: {labels: {app: other}}": "activeMetadata.labels.app: the target selects its pods by this label "
    "(spec.selector.matchLabels), so no role may change it (use a label of its own)",
    "previewMetadata: {labels: {tier: x}}": "previewMetadata.labels.tier: the target selects its pods by this label "
    "(spec.selector.matchExpressions), so no role may change it (use a label of its own)",
    "activeMetadata: {labels: {gitops-bg.dev/digest: x}}": 'activeMetadata.labels["gitops-bg.dev/digest"]: '
    "gitops-bg.dev/ is reserved for gitops-bg (use a prefix of your own)",
    "activeMetadata: {annotations: {x.gitops-bg.dev/a: x}}": 'activeMetadata.annotations["x.gitops-bg.dev/a"]: '
    "gitops-bg.dev/ is reserved for gitops-bg (use a prefix of your own)",
    "activeMetadata: {labels: {role: a b}}": "activeMetadata.labels.role: 'a b' is no value of a label (at most 63 "
    "letters, digits, - _ and ., letters or digits at both ends; an annotation takes any text)",
    "activeMetadata: {labels: {_role: a}}": "activeMetadata.labels._role: '_role' is no key that Kubernetes takes "
    "(at most 63 letters, digits, - _ and ., after a DNS name and / where you like)",
    "activeMetadata: {annotations: {Not_DNS/a: a}}": "activeMetadata.annotations[\"Not_DNS/a\"]: 'Not_DNS/a' is no key "
    "that Kubernetes takes (at most 63 letters, digits, - _ and ., after a DNS name and / where you like)",
    "activeMetadata: {annotations: {/a: a}}": "activeMetadata.annotations[\"/a\"]: '/a' is no key that "
    "Kubernetes takes (at most 63 letters, digits, - _ and ., after a DNS name and / where you like)",
    "activeMetadata: {labels: {role: 1}}": 'activeMetadata.labels.role: expected text, found a number (quote it: "1")',
    "activeMetadata: {label: {role: a}}": "activeMetadata.label: there is no such field (did you mean labels?)",
}


@pytest.mark.parametrize("said", WRONG)
def test_bad_input_is_refused_with_its_line_and_nothing_of_app_yaml_is_applied(said: str) -> None:
    expressions = "matchExpressions: [{key: tier, operator: DoesNotExist}]\n    matchLabels:"
    config = load(app_with(blue_green=said), TARGET.replace("matchLabels:", expressions))
    assert [str(problem) for problem in config.problems] == [
        f"apps/shop/web/app.yaml:8: spec.strategy.blueGreen.{WRONG[said]}"
    ]
    assert config.spec is None


def test_longest_label_is_taken() -> None:
    name = "a" * 63
    assert load(app_with(blue_green=f"activeMetadata: {{labels: {{{name}: {name}}}}}")).problems == ()
    assert load(app_with(blue_green=f"activeMetadata: {{labels: {{{name}a: b}}}}")).problems != ()
    assert load(app_with(blue_green=f"activeMetadata: {{labels: {{b: {name}a}}}}")).problems != ()


def test_it_is_no_part_of_the_version() -> None:
    without, with_it = load(APP).target, load(app_with(blue_green=BOTH)).target
    assert without is not None
    assert without == with_it
