"""The analyses of a group: which plans come of group.yaml and analysis/, and every mistake with its file and line."""

from __future__ import annotations

import pytest

from gitops_bg.core.groups.inputs import DesiredGroup
from gitops_bg.core.model.analysis import LATEST, STABLE, MeasurementPlan, Metric
from gitops_bg.core.model.version import GroupKey
from gitops_bg.spec.analysis.templates import load_templates
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.groups.load import load_group

STORE = GroupKey("shop", "store")
FOLDER = "groups/shop/store"
GROUP = """apiVersion: gitops-bg.dev/v1alpha1
kind: ReleaseGroup
metadata: {name: store, namespace: shop, labels: {team: blue}}
spec:
  active: v1
"""
HEAD = "apiVersion: gitops-bg.dev/v1alpha1\nkind: AnalysisTemplate\nmetadata: {name: smoke}\nspec:\n"
NAMES = ("group", "namespace", "version", "formerVersion", "path")
TEMPLATE = f"""{HEAD}  args: [{", ".join(f"{{name: {name}}}" for name in NAMES)}]
  metrics:
  - name: smoke
    provider:
      web:
        url: "http://cart-{{{{args.version}}}}.{{{{args.namespace}}}}/{{{{args.group}}}}/{{{{args.formerVersion}}}}/{{{{args.path}}}}"
"""


def load(more: str, template: str = TEMPLATE) -> DesiredGroup:
    files = {"group.yaml": (GROUP + more).encode(), "v1/cart/target.yaml": b""}
    return load_group(STORE, files, library=load_templates({"analysis/smoke.yaml": template.encode()})).desired


def block(stage: str = "pre", name: str = "smoke", args: str = "[{name: path, value: ready}]") -> str:
    return f"  {stage}PromotionAnalysis:\n    templates: [{{templateName: {name}}}]\n    args: {args}\n"


@pytest.mark.parametrize("stage", ["pre", "post"])
def test_a_template_gets_the_group_and_the_names_of_its_versions(stage: str) -> None:
    loaded = load(block(stage))
    assert (loaded.problems, loaded.spec is None) == ((), False)
    assert loaded.spec is not None
    plans = {"pre": loaded.spec.pre_promotion_analysis, "post": loaded.spec.post_promotion_analysis}
    query = f'{{"url":"http://cart-{LATEST}.shop/store/{STABLE}/ready"}}'
    assert plans.pop(stage) == MeasurementPlan((Metric("smoke", "web", query),))
    assert list(plans.values()) == [None]


def test_what_the_group_or_the_template_gives_wins_over_what_a_group_has_of_itself() -> None:
    declared = f"{HEAD}  args: [{{name: namespace, value: monitoring}}, {{name: version}}]\n"
    template = (
        declared + '  metrics: [{name: a, provider: {web: {url: "http://{{args.namespace}}/{{args.version}}"}}}]\n'
    )
    spec = load(block(args="[{name: version, value: mine}]"), template).spec
    assert spec is not None
    assert spec.pre_promotion_analysis == MeasurementPlan((Metric("a", "web", '{"url":"http://monitoring/mine"}'),))


MISTAKES = {
    "an unknown template": (
        block(name="smok"),
        f"{FOLDER}/group.yaml:7: spec.prePromotionAnalysis.templates[0].templateName: there is no AnalysisTemplate "
        "smok in analysis/ (add it; known: smoke)",
    ),
    "a missing argument": (
        block(args="[]"),
        f"{FOLDER}/group.yaml:8: spec.prePromotionAnalysis.args: the arg path has no value "
        '(add {name: path, value: "…"})',
    ),
    "a digest of pods": (
        block(args="[{name: path, valueFrom: {podTemplateHashValue: Latest}}]"),
        f"{FOLDER}/group.yaml:8: spec.prePromotionAnalysis.args[0]: the arg path: a release group has no pod "
        "template of its own, so no podTemplateHashValue (let the template declare the args version and formerVersion, "
        "without a value)",
    ),
    "a field that is not there": (
        block(args="[{name: path, valueFrom: {fieldRef: {fieldPath: metadata.labels.crew}}}]"),
        f"{FOLDER}/group.yaml:8: spec.prePromotionAnalysis.args[0]: the arg path: group.yaml has no field "
        "metadata.labels.crew (name a field that is there)",
    ),
}


@pytest.mark.parametrize("row", MISTAKES)
def test_a_mistake_in_an_analysis_has_its_line_shuts_promotions_and_leaves_the_way_back_open(row: str) -> None:
    more, said = MISTAKES[row]
    loaded = load(more)
    assert [str(problem) for problem in loaded.problems] == [said]
    assert loaded.spec is not None, "the group is usable: it can still go back"
    plan = loaded.spec.pre_promotion_analysis
    assert plan is not None
    assert plan.unknown == said


def test_check_names_the_mistake_of_a_group() -> None:
    more, said = MISTAKES["an unknown template"]
    files = {f"{FOLDER}/group.yaml": (GROUP + more).encode(), "analysis/smoke.yaml": TEMPLATE.encode()}
    assert said in [str(problem) for problem in check_repository(files.items()).problems]


def test_where_the_templates_are_not_read_nothing_counts_as_passed() -> None:
    files = {"group.yaml": (GROUP + block()).encode(), "v1/cart/target.yaml": b""}
    loaded = load_group(STORE, files).desired
    assert loaded.problems == ()
    assert loaded.spec is not None
    assert loaded.spec.pre_promotion_analysis == MeasurementPlan(unknown="the AnalysisTemplates were not read")


def test_a_group_that_measures_nothing_has_no_plans() -> None:
    spec = load("  prePromotionAnalysis: {templates: []}\n").spec
    assert spec is not None
    assert (spec.pre_promotion_analysis, spec.post_promotion_analysis) == (None, None)
