"""An import that cannot be whole has no files, and says every reason with file and line."""

from __future__ import annotations

import pytest

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.importing.convert import convert
from tests.spec.importing.texts import CANARY, DEPLOYMENT, EMPTY, ROLLOUT, SERVICE, imported, indented, manifest

NAMELESS = DEPLOYMENT.replace("name: web, namespace: shop", "namespace: shop")
MISSPELT = DEPLOYMENT.replace("Deployment", "Deploymnet")
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: once-}\n"
UNKNOWN = manifest("Spaceship", "example.com/v1", "a: b\n")
BAD_TEMPLATE = (
    "apiVersion: argoproj.io/v1alpha1\nkind: AnalysisTemplate\nmetadata: {name: errors}\nspec:\n  metrics:\n"
    "    - {name: a, successCondition: len(result) > 0, provider: {web: {url: http://a}}}\n"
)
WRONG = {
    "not YAML": ("a: [", "0.yaml:2: a: this is not YAML"),
    "no object": ("- a\n", "0.yaml:1: expected an object of Kubernetes, found a list"),
    "nothing at all": ("", "0.yaml:1: nothing was found to import: it has no object (name a file with a Rollout,"),
    "comments": ("# later\n---\n", "0.yaml:1: nothing was found to import"),
    "documents of nothing": ("null\n---\nnull\n", "0.yaml:1: nothing was found to import"),
    "an empty List": ("apiVersion: v1\nkind: List\nitems: []\n", "0.yaml:1: nothing was found to import"),
    "a template of helm": (
        DEPLOYMENT.replace("replicas: 3", "replicas: {{ .Values.replicas }}"),
        "0.yaml:5: holds {{ }}: it is a template, and nothing is rendered here (import what it renders to: `kubectl",
    ),
    "no kind": ("apiVersion: v1\n", "0.yaml:1: kind: is required"),
    "no name": (NAMELESS, "0.yaml:3: metadata.name: is required (add name)"),
    "an unknown kind": (UNKNOWN, "0.yaml:2: kind: a Spaceship of example.com/v1 is nothing that can be imported"),
    "a known kind of somebody else": (
        ROLLOUT.replace("argoproj.io", "example.com"),
        "0.yaml:2: kind: a Rollout of example.com/v1alpha1 is nothing that can be imported",
    ),
    "no namespace": (
        DEPLOYMENT.replace(", namespace: shop", ""),
        "0.yaml:3: metadata.namespace: is not there, and an app's folder is named after it (add it, or --namespace",
    ),
    "a name that is no folder": (
        DEPLOYMENT.replace("name: web, namespace", "name: ../../web, namespace"),
        "0.yaml:3: metadata.name: '../../web' is no name of a folder",
    ),
    "a namespace that is no folder": (
        DEPLOYMENT.replace("namespace: shop", "namespace: ../shop"),
        "0.yaml:3: metadata.namespace: '../shop' is no name of a folder",
    ),
    "a Canary without its target": (CANARY, "0.yaml:5: spec.targetRef.name: there is no Deployment shop/web among"),
    "a Rollout without its workload": (
        manifest("Rollout", "argoproj.io/v1alpha1", "workloadRef: {kind: Deployment, name: web}\n"),
        "0.yaml:5: spec.workloadRef.name: there is no Deployment shop/web among the files",
    ),
    "a Rollout with a workload of another kind": (
        manifest("Rollout", "argoproj.io/v1alpha1", "workloadRef: {kind: ReplicaSet, name: web}\n"),
        "0.yaml:5: spec.workloadRef.kind: is a ReplicaSet, and only a Deployment can be imported",
    ),
    "a Canary that names no target": (
        CANARY.replace(", name: web}\n  service", "}\n  service"),
        "0.yaml:5: spec.targetRef.name: is required (write the name of the Deployment)",
    ),
    "a Rollout without pods": (
        manifest("Rollout", "argoproj.io/v1alpha1", "replicas: 2\n"),
        "0.yaml:4: spec: has neither a pod template nor a workloadRef",
    ),
    "a missing template": (
        ROLLOUT.replace("web-preview}", "web-preview, prePromotionAnalysis: {templates: [{templateName: gone}]}}"),
        "0.yaml:14: spec.strategy.blueGreen.prePromotionAnalysis.templates[0].templateName: there is no "
        "AnalysisTemplate gone among the files, nor in analysis/ (add its file to the import)",
    ),
    "a template that is wrong here": (
        "apiVersion: argoproj.io/v1alpha1\nkind: AnalysisTemplate\nmetadata: {name: a}\nspec:\n  metrics:\n"
        "    - {name: a, successCondition: len(result) > 0, provider: {web: {url: http://a}}}\n",
        "0.yaml:6: spec.metrics[0].successCondition: is no CEL: there is no function len; write size(result)",
    ),
    "what would be wrong here": (
        ROLLOUT.replace("activeService: web", "activeService: Web"),
        "0.yaml:1: would be wrong as apps/shop/web/app.yaml: spec.strategy.blueGreen.activeService: 'Web' is not",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_keeps_an_import_from_being_whole(case: str) -> None:
    text, said = WRONG[case]
    found = imported(text)
    assert found.files == {}
    assert [str(each)[: len(said)] for each in found.problems] == [said]


@pytest.mark.parametrize("name", ["kustomization.yaml", "shop/Kustomization", "Chart.yaml", "values.yaml"])
def test_what_only_kustomize_or_helm_reads_is_no_manifest_and_says_how_to_get_one(name: str) -> None:
    found = convert([("0.yaml", DEPLOYMENT.encode()), (name, b"resources: [web.yaml]\n")], EMPTY)
    assert found.files == {}
    assert [str(each)[: len(name) + 20] for each in found.problems] == [
        f"{name}:1: is read by kustom"[: len(name) + 20]
    ]


def test_texts_of_a_config_map_may_be_templates_of_somebody_else() -> None:
    using = DEPLOYMENT + "          envFrom: [{configMapRef: {name: web}}]\n"
    text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\ndata: {a: "{{ .Values.a }}"}\n'
    assert imported(using, SERVICE, text).problems == ()


def test_an_empty_file_beside_others_is_none_of_their_business() -> None:
    assert imported("", DEPLOYMENT, SERVICE).problems == ()
    assert [each.file for each in imported("", "# nothing\n").problems] == ["0.yaml", "1.yaml"]


def test_every_reason_is_said_at_once_in_the_order_of_the_files() -> None:
    found = imported(CANARY, MISSPELT, "a: [", DEPLOYMENT)
    assert [str(each).partition(": ")[0] for each in found.problems] == ["1.yaml:2", "2.yaml:2"]
    found = imported(CANARY.replace("name: web}\n  service", "name: wep}\n  service"), MISSPELT, "a: [", DEPLOYMENT)
    assert [str(each).partition(": ")[0] for each in found.problems] == ["0.yaml:5", "1.yaml:2", "2.yaml:2"]


def test_a_kind_that_nobody_knows_is_left_out_beside_an_app() -> None:
    found = imported(DEPLOYMENT, UNKNOWN, JOB)
    assert found.problems == ()
    assert [str(each) for each in found.listed if each.file != "0.yaml"] == [
        "1.yaml:2: kind: a Spaceship of example.com/v1 is nothing that can be imported (apply it as before; it is left "
        "out: no imported app names it)",
        "2.yaml:2: kind: Job is left out (apply it as before)",
    ]


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (DEPLOYMENT.replace("apps/v1", "extensions/v1beta1"), "write apiVersion: apps/v1"),
        (MISSPELT, "did you mean Deployment?"),
        (ROLLOUT.replace("Rollout", "Rolout"), "did you mean Rollout?"),
    ],
)
def test_a_kind_that_is_meant_otherwise_is_refused_with_what_is_meant(text: str, remedy: str) -> None:
    found = imported(text, SERVICE, DEPLOYMENT.replace("name: web,", "name: other,"))
    assert found.files == {}
    assert [each.remedy for each in found.problems] == [remedy]


def test_a_template_that_no_app_names_keeps_no_app_from_being_imported() -> None:
    found = imported(ROLLOUT, SERVICE, BAD_TEMPLATE)
    assert found.problems == ()
    assert not any(path.startswith("analysis/") for path in found.files)
    (said,) = [str(each) for each in found.listed if each.file == "2.yaml"]
    assert said.startswith("2.yaml:6: spec.metrics[0].successCondition: is no CEL: there is no function len; write")
    assert said.endswith("it is left out: no imported app names it)")


def test_a_template_that_another_one_names_is_named_by_the_app() -> None:
    whole = "apiVersion: argoproj.io/v1alpha1\nkind: AnalysisTemplate\nmetadata: {name: whole}\n"
    whole += "spec: {templates: [{templateName: errors}]}\n"
    names = ROLLOUT.replace("web-preview}", "web-preview, prePromotionAnalysis: {templates: [{templateName: whole}]}}")
    assert "0.yaml:6" in [str(each).partition(": ")[0] for each in imported(BAD_TEMPLATE, whole, names).problems]


OF_ALL = ROLLOUT.replace("activeService: web,", "activeService: Web,").replace("/shop/web:", "/Shop/web:")
OF_ALL = OF_ALL.replace("web-preview}", "web-preview, prePromotionAnalysis: {templates: [{templateName: gone}]}}")
AT_ONCE: dict[str, tuple[list[str], list[str]]] = {
    "of a Rollout: its analysis, its Service, its image": (
        [OF_ALL],
        [
            "0.yaml:1 would be wrong as apps/shop/web/app.yaml: spec.strategy.blueGreen.activeService",
            "0.yaml:1 would be wrong as apps/shop/web/target.yaml: spec.template.spec.containers[0].image",
            "0.yaml:14 there is no AnalysisTemplate gone among the files, nor in analysis/",
        ],
    ),
    "of a Canary without its target": (
        [CANARY.replace("interval: 30s", "interval: soon")],
        [
            "0.yaml:1 would be wrong as apps/shop/web/app.yaml: spec.analysis.interval",
            "0.yaml:5 there is no Deployment shop/web among the files",
        ],
    ),
    "of what says no namespace": (
        [DEPLOYMENT.replace(", namespace: shop", "").replace("/shop/web:", "/Shop/web:")],
        [
            "0.yaml:1 would be wrong as apps/no-namespace/web/target.yaml: spec.template.spec.containers[0].image",
            "0.yaml:3 is not there, and an app's folder is named after it",
        ],
    ),
    "of a file that is no YAML, and beside it": (
        ["a: [", DEPLOYMENT.replace("/shop/web:", "/Shop/web:"), MISSPELT],
        [
            "0.yaml:2 this is not YAML",
            "1.yaml:1 would be wrong as apps/shop/web/target.yaml: spec.template.spec.containers[0].image",
            "2.yaml:2 a Deploymnet of apps/v1 is nothing that can be imported",
        ],
    ),
    "of a template, of which no more is said in the app": (
        [BAD_TEMPLATE, OF_ALL.replace("gone", "errors")],
        [
            "0.yaml:6 is no CEL: there is no function len; write size(result)",
            "1.yaml:1 would be wrong as apps/shop/web/app.yaml: spec.strategy.blueGreen.activeService",
            "1.yaml:1 would be wrong as apps/shop/web/target.yaml: spec.template.spec.containers[0].image",
        ],
    ),
    "of an app whose folder is there": (
        [OF_ALL.replace("name: web, namespace", "name: there, namespace").replace("gone", "errors"), BAD_TEMPLATE],
        [
            "0.yaml:1 would be wrong as apps/shop/there/app.yaml: spec.strategy.blueGreen.activeService",
            "0.yaml:1 would be wrong as apps/shop/there/target.yaml: spec.template.spec.containers[0].image",
            "0.yaml:3 becomes the app shop/there, and the repository has apps/shop/there already",
            "1.yaml:6 is no CEL: there is no function len; write size(result)",
        ],
    ),
    "of the second object of a file": (
        [
            ROLLOUT,
            SERVICE + "---\n" + SERVICE.replace("name: web,", "name: web-preview,").replace("port: 80", "port: 0"),
        ],
        ["1.yaml:8 would be wrong as apps/shop/web/services.yaml: spec.ports[0].port"],
    ),
}


@pytest.mark.parametrize("case", AT_ONCE)
def test_what_is_wrong_is_one_list_that_mending_it_does_not_make_longer(case: str) -> None:
    texts, said = AT_ONCE[case]
    there: dict[str, bytes | Problem] = {**EMPTY, "apps/shop/there/services.yaml": SERVICE.encode()}
    found = imported(*texts, repository=there)
    assert found.files == {}
    lines = [f"{each.file}:{each.line} {each.message}" for each in found.problems]
    assert [line[: len(start)] for line, start in zip(lines, said, strict=True)] == said


def test_bytes_that_are_no_text_are_a_problem_of_their_file() -> None:
    found = convert([("0.yaml", b"kind: \xff")], EMPTY)
    assert [str(each)[:37] for each in found.problems] == ["0.yaml:1: the file is not UTF-8 (save"]


EVIL = {
    "AlertProvider": "type: slack\naddress: https://a.example/x\n",
    "MetricTemplate": "provider: {type: prometheus, address: http://a}\nquery: up\n",
}


@pytest.mark.parametrize("kind", EVIL)
@pytest.mark.parametrize("is_in_a_list", [False, True])
def test_no_name_leads_out_of_the_repository(kind: str, is_in_a_list: bool) -> None:
    text = manifest(kind, "flagger.app/v1beta1", EVIL[kind], name="../../../evil")
    found = imported(f"kind: List\napiVersion: v1\nitems:\n- {indented(text).strip()}\n" if is_in_a_list else text)
    assert found.files == {}
    assert "'../../../evil' is not allowed" in str(found.problems[0])


TWICE = {
    "the same object": (
        DEPLOYMENT,
        DEPLOYMENT,
        "1.yaml:3: metadata.name: there is a Deployment web already: 0.yaml:1,",
    ),
    "one app of two objects": (
        ROLLOUT,
        DEPLOYMENT,
        "1.yaml:3: metadata.name: becomes the app shop/web, and so does 0.yaml:1, Rollout web (import one of the two)",
    ),
    "two Canaries with one target": (
        DEPLOYMENT + "---\n" + CANARY,
        CANARY.replace("{name: web, namespace: shop}", "{name: other, namespace: shop}"),
        "1.yaml:5: spec.targetRef.name: Deployment shop/web is the workload of another app already",
    ),
}


@pytest.mark.parametrize("case", TWICE)
def test_nothing_is_imported_twice(case: str) -> None:
    first, second, said = TWICE[case]
    found = imported(first, second)
    assert found.files == {}
    assert str(found.problems[0]).startswith(said) or any(str(each).startswith(said) for each in found.problems)


def test_a_folder_that_is_there_already_is_never_touched() -> None:
    there: dict[str, bytes | Problem] = {**EMPTY, "apps/shop/web/app.yaml": b"mine"}
    found = imported(DEPLOYMENT, SERVICE, repository=there)
    assert found.files == {}
    assert [str(each) for each in found.problems] == [
        "0.yaml:3: metadata.name: becomes the app shop/web, and the repository has apps/shop/web already "
        "(remove the folder first, or leave this out)"
    ]


PROVIDER = manifest(
    "AlertProvider", "flagger.app/v1beta1", "type: slack\naddress: https://a.example/x\n", name="on-call"
)
SHARED = {
    "the same": (PROVIDER, None),
    "the same with a comment": (f"# mine\n{PROVIDER}", None),
    "something else": (
        PROVIDER.replace("/x", "/y"),
        "0.yaml:3: metadata.name: becomes alerts/on-call.yaml, which the repository has already, and which says "
        "something else (remove it first, or leave this out)",
    ),
}


@pytest.mark.parametrize("case", SHARED)
def test_a_shared_file_that_says_the_same_is_kept_as_it_is(case: str) -> None:
    text, said = SHARED[case]
    found = imported(PROVIDER, repository={**EMPTY, "alerts/on-call.yaml": text.encode()})
    assert found.files == {}
    assert [str(each) for each in found.problems] == ([said] if said else [])


def test_a_service_of_another_app_is_no_whole_import() -> None:
    first = imported(DEPLOYMENT, SERVICE)
    there: dict[str, bytes | Problem] = {path: text.encode() for path, text in first.files.items()}
    other = ROLLOUT.replace("{name: web, namespace: shop}", "{name: api, namespace: shop}")
    found = imported(other, repository={**EMPTY, **there})
    assert found.files == {}
    assert "the Service web belongs to shop/api already" in str(found.problems[0])


def test_a_namespace_for_manifests_that_say_none() -> None:
    bare = [text.replace(", namespace: shop", "") for text in (DEPLOYMENT, SERVICE)]
    found = imported(*bare, namespace="test")
    assert [str(each) for each in found.apps] == ["test/web"]
    assert found.problems == ()


LEFT_OUT = ["Namespace", "Ingress", "HTTPRoute", "ServiceAccount", "ReplicaSet", "Experiment", "Job", "VirtualService"]


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_objects_that_have_no_place_in_a_folder_are_listed_with_where_they_belong(kind: str) -> None:
    found = imported(DEPLOYMENT, SERVICE, f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: a}}\n")
    assert len(found.files) == 3
    ((said, remedy),) = [(each.message, each.remedy) for each in found.listed]
    assert said == f"{kind} a is left out"
    assert remedy


def test_a_name_never_becomes_more_than_a_comment() -> None:
    evil = SERVICE.replace("{name: web,", '{name: "web\\nkind: Evil",')
    found = imported(DEPLOYMENT, SERVICE, evil)
    assert "kind: Evil" not in "".join(found.files.values()).split("\n")
