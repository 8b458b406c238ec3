"""The folder of an app: the result for each file, and for a folder with a broken one."""

from __future__ import annotations

import json

import pytest

from gitops_bg.core.model.desired import Primary, Problem, Target
from gitops_bg.core.model.digest import snapshot_of
from gitops_bg.core.model.version import AppKey, Source, WorkloadKind
from gitops_bg.spec.app.load import AppConfig, load_app
from gitops_bg.spec.manifests.edit import set_image
from tests.spec.texts import APP, SERVICE, TARGET, WEB, app_with, source_of

TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "registry.example/shop/web:1.0.0"}]},
}
SNAPSHOT = snapshot_of(TEMPLATE)
PRIMARY = f"""\
apiVersion: gitops-bg.dev/v1alpha1
kind: Primary
metadata: {{name: web, namespace: shop}}
version: 7
digest: {SNAPSHOT.digest}
source: {{commit: "9be1", author: Ann}}
template: {json.dumps(TEMPLATE)}
"""


def load(**files: str | Problem | None) -> AppConfig:
    """A good folder with some files (by name without suffix) replaced, added, or removed by None."""
    good: dict[str, str | Problem | None] = {"app": APP, "target": TARGET, "service": SERVICE, "primary": PRIMARY}
    contents = {f"{name}.yaml": text for name, text in {**good, **files}.items() if text is not None}
    encoded = {name: text.encode() if isinstance(text, str) else text for name, text in contents.items()}
    return load_app(WEB, encoded, source_of)


def complaints(config: AppConfig) -> list[str]:
    return [str(problem).removeprefix("apps/shop/web/") for problem in config.problems]


def test_a_good_folder() -> None:
    config = load()
    assert config.problems == ()
    assert config.spec is not None
    assert config.target == Target(SNAPSHOT, 3, Source("commit of target.yaml"))
    assert config.primary == Primary(SNAPSHOT, 7, Source("9be1", "Ann"), changed_by=Source("commit of primary.yaml"))
    assert config.services["web"]["spec"]["ports"] == [{"port": 80}]
    assert config.target_file == "target.yaml"


def test_replicas_are_1_where_the_target_does_not_say() -> None:
    target = load(target=TARGET.replace("  replicas: 3\n", "")).target
    assert target is not None
    assert target.replicas == 1


def test_an_app_may_name_another_target() -> None:
    config = load(app=app_with("target: next.yaml"), target=None, next=TARGET)
    assert config.problems == ()
    assert config.target is not None
    assert config.target.source == Source("commit of next.yaml")


def test_a_folder_without_primary_was_never_promoted() -> None:
    config = load(primary=None)
    assert (config.primary, config.problems) == (None, ())


BROKEN = "a: [1"


@pytest.mark.parametrize("broken", ["app", "target", "primary", "service"])
def test_a_broken_file_leaves_the_others_usable(broken: str) -> None:
    config = load(**{broken: BROKEN})
    usable = {"app": config.spec, "target": config.target, "primary": config.primary, "service": config.services}
    assert [name for name, part in usable.items() if not part] == [broken]
    assert {problem.file for problem in config.problems} == {f"apps/shop/web/{broken}.yaml"}


def test_commits_are_asked_for_only_where_the_file_is_good() -> None:
    asked: list[str] = []

    def source(filename: str) -> Source:
        asked.append(filename)
        return Source("c")

    files: dict[str, bytes | Problem] = {
        "app.yaml": APP.encode(),
        "target.yaml": BROKEN.encode(),
        "primary.yaml": PRIMARY.encode(),
    }
    load_app(WEB, files, source)
    assert asked == ["primary.yaml"]


def test_what_git_found_already_is_passed_on_and_nothing_is_said_twice() -> None:
    symlink = Problem("apps/shop/web/target.yaml", "is a symbolic link", remedy="commit the file itself")
    extra = Problem("apps/shop/web/extra.yaml", "is a submodule")
    config = load(target=symlink, extra=extra)
    assert config.problems == (symlink, extra)
    assert config.target is None


def test_a_readme_in_the_folder_is_nobodys_business() -> None:
    files = {"app.yaml": APP.encode(), "target.yaml": TARGET.encode(), "README.md": b"\xff: ["}
    assert load_app(WEB, files, source_of).problems == ()


def test_a_folder_without_app_or_target() -> None:
    assert complaints(load(app=None, target=None)) == [
        "app.yaml: is missing (add it, or delete the folder)",
        "app.yaml: spec.target: target.yaml is not in the folder (add it to apps/shop/web)",
    ]


def test_a_target_that_is_not_there_is_a_mistake_in_app_yaml() -> None:
    assert complaints(load(app=app_with("target: nxt.yaml"), target=None)) == [
        "app.yaml:8: spec.target: nxt.yaml is not in the folder (add it to apps/shop/web)"
    ]


def test_a_folder_with_a_name_kubernetes_does_not_take() -> None:
    config = load_app(AppKey("shop", "Web_1"), {}, source_of)
    assert str(config.problems[0]) == (
        "apps/shop/Web_1: 'Web_1' is not a name that Kubernetes takes "
        "(rename the folder: at most 63 small letters, digits and -)"
    )


# what is replaced in target.yaml, and by what: the complaint
WRONG_TARGET = {
    # A misspelt field would leave the app with another size than its author wants.
    ("  replicas: 3", "  replica: 3"): "target.yaml:7: spec.replica: there is no such field (did you mean replicas?)",
    ("  replicas: 3", "  replicas: 3\n  minReadySecond: 5"): "target.yaml:8: spec.minReadySecond: there is no such "
    "field (did you mean minReadySeconds?)",
    ("kind: Deployment", "kind: DaemonSet"): "target.yaml:7: spec.replicas: a DaemonSet has one pod on each of its "
    "nodes (remove it, or write a Deployment)",
    ("kind: Deployment", "kind: Job"): "target.yaml:2: kind: a Job ends, and live traffic needs pods that do not "
    "(write a Deployment)",
    ("apps/v1", "apps/v1beta1"): "target.yaml:1: apiVersion: a Deployment is of apps/v1, "
    "found Deployment of apps/v1beta1 (write apiVersion: apps/v1)",
    ("kind: Deployment", "kind: PodTemplate"): "target.yaml:1: apiVersion: a PodTemplate is of v1, "
    "found PodTemplate of apps/v1 (write apiVersion: v1)",
    ("kind: Deployment", "kind: StatefulSet"): "target.yaml:2: kind: a StatefulSet gives each pod a name and storage "
    "of its own that stay, and two versions cannot both have them "
    "(write a Deployment where its pods need neither; else apply it as before)",
    ("kind: Deployment\n", ""): "target.yaml:1: kind: the target must be a workload with a pod template, "
    "found no kind of apps/v1 (write apiVersion: apps/v1 and kind: Deployment)",
    ("namespace: shop", "namespace: pay"): "target.yaml:5: metadata.namespace: pay is not the namespace of the folder "
    "apps/shop/web (write shop, or move the file to apps/pay/)",
    ("  name: web\n", "  name: api\n"): "target.yaml:4: metadata.name: api is not the name of the folder "
    "apps/shop/web (write web, or rename the folder)",
    ("replicas: 3", 'replicas: "3"'): "target.yaml:7: spec.replicas: expected a whole number, found text "
    "(remove the quotes)",
    ("      app: web\n", "      app: api\n"): "target.yaml:10: spec.selector.matchLabels.app: api is not what the "
    "template's labels say (web) (add app: api to spec.template.metadata.labels, or change the selector)",
    ("      app: web\n", "      tier: a\n"): "target.yaml:10: spec.selector.matchLabels.tier: a is not what the "
    "template's labels say (nothing) (add tier: a to spec.template.metadata.labels, or change the selector)",
    ("    matchLabels:\n      app: web\n", "    {}\n"): "target.yaml:8: spec.selector: selects nothing "
    "(add matchLabels)",
    ("        app: web\n", "        app: web\n        gitops-bg.dev/digest: x\n"): "target.yaml:15: "
    'spec.template.metadata.labels["gitops-bg.dev/digest"]: gitops-bg.dev/ is reserved for gitops-bg (remove it)',
    ("      labels:\n", "      annotations: {gitops-bg.dev/x: z}\n      labels:\n"): "target.yaml:13: "
    'spec.template.metadata.annotations["gitops-bg.dev/x"]: gitops-bg.dev/ is reserved for gitops-bg (remove it)',
    ("    spec:\n", "    spec:\n      restartPolicy: Never\n"): "target.yaml:16: spec.template.spec.restartPolicy: "
    "Never is not possible in a Deployment (write Always, or remove the field)",
    ("    spec:\n", "    spec:\n      initContainers: [{name: web, image: x}]\n"): "target.yaml:18: "
    "spec.template.spec.containers[0].name: two containers are called web (rename one)",
    ("        - name: web\n          image: registry.example/shop/web:1.0.0\n", "        []\n"): "target.yaml:16: "
    "spec.template.spec.containers: must not be empty (write at least one)",
    ("          image: registry.example/shop/web:1.0.0\n", ""): "target.yaml:17: "
    "spec.template.spec.containers[0].image: is required (add image)",
    ("image: registry", "image: [registry]  #"): "target.yaml:18: spec.template.spec.containers[0].image: "
    "expected text, found a list",
    ("        - name: web\n", '        - name: "web_1"\n'): "target.yaml:17: spec.template.spec.containers[0].name: "
    "'web_1' is not allowed (use a DNS name: at most 63 small letters, digits and -)",
}


@pytest.mark.parametrize("change", WRONG_TARGET, ids=lambda change: " -> ".join(change).replace("\n", "|"))
def test_what_is_wrong_with_a_target(change: tuple[str, str]) -> None:
    assert change[0] in TARGET
    config = load(target=TARGET.replace(*change, 1))
    assert complaints(config) == [WRONG_TARGET[change]]
    assert config.target is None


# matchExpressions: whether it matches the labels app: web
EXPRESSIONS = {
    "{key: app, operator: In, values: [web, x]}": True,
    "{key: app, operator: In, values: [x]}": False,
    "{key: app, operator: NotIn, values: [x]}": True,
    "{key: app, operator: NotIn, values: [web]}": False,
    "{key: app, operator: Exists}": True,
    "{key: tier, operator: Exists}": False,
    "{key: tier, operator: DoesNotExist}": True,
    "{key: app, operator: DoesNotExist}": False,
    "{key: app, operator: Like}": False,
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_template_must_match_the_selectors_expressions(expression: str) -> None:
    config = load(
        target=TARGET.replace("    matchLabels:\n      app: web\n", f"    matchExpressions: [{expression}]\n")
    )
    assert (config.target is not None) == EXPRESSIONS[expression]
    assert all("does not match the template's labels" in complaint for complaint in complaints(config))


def test_a_template_that_does_not_fit_into_an_annotation() -> None:
    config = load(target=TARGET + '          command: ["' + "x" * 200_001 + '"]\n')
    assert "bytes; a version may have 200,000 (move data into a ConfigMap)" in complaints(config)[0]


# what is replaced in primary.yaml, and by what: the complaint
WRONG_PRIMARY = {
    ("1.0.0", "1.0.1"): "primary.yaml:5: digest: what is below it has the digest ",
    ("name: web, ", "name: api, "): "primary.yaml:3: metadata.name: api is not the name of the folder",
    ("version: 7", "version: 0"): "primary.yaml:4: version: 0 is too small (write 1 or more)",
    ('commit: "9be1"', 'commit: ""'): "primary.yaml:6: source.commit: must not be empty",
    ("digest: v1:", "digest: "): "primary.yaml:5: digest: ",
    (json.dumps(TEMPLATE), "{}"): "primary.yaml:7: template: must not be empty (write at least one)",
}


@pytest.mark.parametrize("change", WRONG_PRIMARY, ids=lambda change: change[0][:20])
def test_what_is_wrong_with_a_primary(change: tuple[str, str]) -> None:
    config = load(primary=PRIMARY.replace(*change))
    assert config.primary is None
    assert [complaint[: len(WRONG_PRIMARY[change])] for complaint in complaints(config)] == [WRONG_PRIMARY[change]]


def test_a_primary_edited_by_hand_is_told_what_to_do() -> None:
    (problem,) = load(primary=PRIMARY.replace("1.0.0", "1.0.1")).problems
    assert problem.message.endswith("it was edited by hand or by a bot, or merged badly")
    assert problem.remedy == (
        "revert the edit, change target.yaml instead, and run `gitops-bg promote shop/web`; "
        "leave primary.yaml out of what bots change (docs/how-to/ci.md)"
    )


def test_a_digest_of_a_newer_release_is_taken_as_it_is() -> None:
    newer = "v9:" + "0" * 64
    primary = load(primary=PRIMARY.replace(SNAPSHOT.digest, newer)).primary
    assert primary is not None
    assert (primary.snapshot.digest, primary.snapshot.text) == (newer, SNAPSHOT.text)


HPA = (
    "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\n"
    "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 9}\n"
)
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\n"

# other.yaml: the complaints
MANIFESTS = {
    HPA: [],
    CONFIG: [],
    CONFIG.replace("ConfigMap", "Secret"): [],
    "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: {selector: {}}\n": [],
    "# nothing\n": [],
    f"{CONFIG}---\n{HPA}": [],
    f"{CONFIG}---\n{CONFIG}": [
        "other.yaml:7: metadata.name: ConfigMap web is in the folder twice (keep one of the two)"
    ],
    SERVICE: ["service.yaml:3: metadata.name: Service web is in the folder twice (keep one of the two)"],
    CONFIG.replace("shop", "pay"): [
        "other.yaml:3: metadata.namespace: pay is not the namespace of the folder apps/shop/web "
        "(write shop, or move the file to apps/pay/)"
    ],
    CONFIG.replace("ConfigMap", "Ingress"): [
        "other.yaml:2: kind: Ingress is not supported here (it leads to the active Service, whose name never changes: "
        "gitops-bg does not apply it; move it out of apps/, to where Flux, Argo CD or kubectl does)"
    ],
    CONFIG.replace("ConfigMap", "StatefulSet"): [
        "other.yaml:2: kind: StatefulSet is not supported here (two versions cannot both have the names and the "
        "storage of its pods: gitops-bg does not apply it; move it out of apps/, to where Flux, Argo CD or kubectl "
        "does)"
    ],
    CONFIG.replace("ConfigMap", "Gizmo"): [
        "other.yaml:2: kind: Gizmo is not supported here (allowed: Service, ConfigMap, Secret, "
        "HorizontalPodAutoscaler, ScaledObject, PodDisruptionBudget; gitops-bg does not apply it; move it out of "
        "apps/, to where Flux, Argo CD or kubectl does)"
    ],
    HPA.replace("/v2", "/v3"): [
        "other.yaml:1: apiVersion: autoscaling/v3 is no version of HorizontalPodAutoscaler "
        "(write autoscaling/v2 or autoscaling/v1 or autoscaling/v2beta2)"
    ],
    "kind: ConfigMap\n": [
        "other.yaml:1: apiVersion: is required (add apiVersion)",
        "other.yaml:1: metadata: is required (add metadata)",
    ],
    "- a\n": ["other.yaml:1: expected a mapping, found a list"],
}


@pytest.mark.parametrize("text", MANIFESTS, ids=lambda text: text.replace("\n", "|")[:60])
def test_other_manifests_are_checked(text: str) -> None:
    assert complaints(load(other=text)) == MANIFESTS[text]


def test_an_external_name_has_no_traffic_to_move() -> None:
    text = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: ExternalName, externalName: x.example}\n"
    assert complaints(load(service=text)) == [
        "service.yaml:4: spec.type: ExternalName has no pods behind it, so its traffic cannot be moved "
        "(write ClusterIP)"
    ]


def test_a_service_nobody_switches_may_be_anything() -> None:
    text = "apiVersion: v1\nkind: Service\nmetadata: {name: db}\nspec: {type: ExternalName, externalName: x.example}\n"
    config = load(db=text)
    assert config.problems == ()
    assert set(config.services) == {"web", "db"}


POD_TEMPLATE = """\
apiVersion: v1
kind: PodTemplate
metadata: {name: web, namespace: shop}
template:
""" + TARGET.partition("  template:\n")[2].replace("\n  ", "\n").removeprefix("  ")
NO_SELECTOR = TARGET.replace("  selector:\n    matchLabels:\n      app: web\n", "")
WORKLOADS = {
    "ReplicaSet": (TARGET.replace("kind: Deployment", "kind: ReplicaSet"), 3),
    "Rollout of Argo": (
        TARGET.replace("apps/v1", "argoproj.io/v1alpha1").replace("kind: Deployment", "kind: Rollout"),
        3,
    ),
    "a kind of somebody's, without a selector": (
        NO_SELECTOR.replace("apps/v1", "example.com/v1").replace("kind: Deployment", "kind: Thing"),
        3,
    ),
    "PodTemplate": (POD_TEMPLATE, 1),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_any_workload_with_a_pod_template_may_be_the_target(name: str) -> None:
    text, replicas = WORKLOADS[name]
    config = load(target=text)
    assert config.problems == ()
    assert config.target is not None
    deployment = load().target
    assert deployment is not None
    assert (config.target.snapshot, config.target.replicas) == (deployment.snapshot, replicas)


OF_OAM = """\
apiVersion: standard.oam.dev/v1alpha1
kind: PodSpecWorkload
metadata: {name: web, namespace: shop, labels: {app: web}, annotations: {team: shop}}
spec:
  replicas: 3
  podSpec:
    containers:
      - name: web
        image: registry.example/shop/web:1.0.0
"""


def test_the_pods_of_a_podspecworkload_have_its_metadata_and_the_label_of_oam() -> None:
    config = load(target=OF_OAM)
    assert config.problems == ()
    assert config.target is not None
    labels = {"component.oam.dev/name": "web", "app": "web"}
    template = {"metadata": {"labels": labels, "annotations": {"team": "shop"}}, "spec": TEMPLATE["spec"]}
    assert (config.target.snapshot, config.target.replicas) == (snapshot_of(template), 3)
    assert config.selector == {"component.oam.dev/name": "web"}
    assert set_image(OF_OAM.encode(), "web", "registry.example/shop/web:2.0.0").decode() == OF_OAM.replace(
        "web:1.0.0", "web:2.0.0"
    )


def test_a_podspecworkload_needs_no_labels_and_no_size() -> None:
    bare = OF_OAM.replace(", labels: {app: web}, annotations: {team: shop}", "").replace("  replicas: 3\n", "")
    config = load(target=bare)
    assert config.problems == ()
    assert config.target is not None
    template = {"metadata": {"labels": {"component.oam.dev/name": "web"}}, "spec": TEMPLATE["spec"]}
    assert (config.target.snapshot, config.target.replicas) == (snapshot_of(template), 1)


# what is replaced in a PodSpecWorkload, and by what: the complaint
WRONG_OF_OAM = {
    ("standard.oam.dev", "core.oam.dev"): "target.yaml:1: apiVersion: a PodSpecWorkload is of "
    "standard.oam.dev/v1alpha1, found PodSpecWorkload of core.oam.dev/v1alpha1 (write apiVersion: "
    "standard.oam.dev/v1alpha1)",
    ("  podSpec:", "  template:"): "target.yaml:4: spec.podSpec: is required (add podSpec)",
    ("  replicas: 3", "  minReadySeconds: 3"): "target.yaml:5: spec.minReadySeconds: there is no such field "
    "(write replicas or podSpec, or remove it)",
    ("  replicas", "  replica"): "target.yaml:5: spec.replica: there is no such field (did you mean replicas?)",
    ("image: reg", "imag: reg"): "target.yaml:8: spec.podSpec.containers[0].image: is required (add image)",
    ("{app: web}", "{gitops-bg.dev/app: web}"): 'target.yaml:3: metadata.labels["gitops-bg.dev/app"]: '
    "gitops-bg.dev/ is reserved for gitops-bg (remove it)",
    ("    containers", "    restartPolicy: Never\n    containers"): "target.yaml:7: spec.podSpec.restartPolicy: Never "
    "is not possible in a PodSpecWorkload (write Always, or remove the field)",
    ("name: web, n", "name: wep, n"): "target.yaml:3: metadata.name: wep is not the name of the folder apps/shop/web "
    "(write web, or rename the folder)",
    ("{app: web}", "web"): "target.yaml:3: metadata.labels: expected a mapping, found text (such as {app: web})",
}


@pytest.mark.parametrize("change", WRONG_OF_OAM, ids=lambda change: " -> ".join(change).replace("\n", "|"))
def test_what_is_wrong_with_a_podspecworkload(change: tuple[str, str]) -> None:
    text = OF_OAM.replace(*change, 1)
    assert text != OF_OAM
    assert complaints(load(target=text)) == [WRONG_OF_OAM[change]]


def test_a_containerizedworkload_is_no_target_and_says_what_makes_one() -> None:
    text = "apiVersion: core.oam.dev/v1alpha2\nkind: ContainerizedWorkload\nmetadata: {name: web}\nspec: {}\n"
    assert complaints(load(target=text)) == [
        "target.yaml:2: kind: a ContainerizedWorkload has containers in OAM's own form, and no pod template "
        "(let `gitops-bg import` write a Deployment of it)"
    ]


DAEMON_SET = TARGET.replace("kind: Deployment", "kind: DaemonSet").replace("  replicas: 3\n", "")


def test_a_daemon_set_is_another_version_than_a_deployment_with_its_pods() -> None:
    config, deployment = load(target=DAEMON_SET), load().target
    assert config.problems == ()
    assert config.target is not None
    assert deployment is not None
    assert config.target.snapshot.workload is WorkloadKind.DAEMON_SET
    assert config.target.replicas is None
    assert config.target.snapshot.text == deployment.snapshot.text
    assert config.target.snapshot.digest != deployment.snapshot.digest


# what is added to app.yaml's spec, or another file of the folder: the complaint
WRONG_BESIDE_A_DAEMON_SET: dict[str, tuple[str, dict[str, str], str]] = {
    "adoption": (
        app_with("adopt: {deployment: web}"),
        {},
        "spec.adopt: only a Deployment can be adopted, by an app whose target is one",
    ),
    "an autoscaler": (
        APP,
        {
            "hpa": "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec:\n"
            "  scaleTargetRef: {apiVersion: apps/v1, kind: DaemonSet, name: web}\n  maxReplicas: 5\n"
        },
        "hpa.yaml:2: kind: nothing scales a DaemonSet, which the target is",
    ),
    "anti-affinity": (
        app_with(blue_green="antiAffinity: {required: {}}"),
        {},
        "antiAffinity: the target is a DaemonSet: both versions have a pod on every node",
    ),
    "a size of the preview": (
        app_with(blue_green="previewReplicaCount: 1"),
        {},
        "previewReplicaCount: the target is a DaemonSet, which has one pod on each of its nodes",
    ),
}


@pytest.mark.parametrize("name", WRONG_BESIDE_A_DAEMON_SET)
def test_what_would_size_a_daemon_set_is_refused(name: str) -> None:
    app, files, complaint = WRONG_BESIDE_A_DAEMON_SET[name]
    assert any(complaint in each for each in complaints(load(app=app, target=DAEMON_SET, **files)))


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_image_of_any_workload_can_be_set(name: str) -> None:
    text = WORKLOADS[name][0]
    changed = set_image(text.encode(), "web", "registry.example/shop/web:2.0.0").decode()
    assert changed == text.replace("web:1.0.0", "web:2.0.0")


def test_fields_of_a_deployment_that_have_no_meaning_here_are_passed_over() -> None:
    more = "revisionHistoryLimit: 3\n  progressDeadlineSeconds: 60\n  strategy: {type: Recreate}\n  paused: false"
    assert load(target=TARGET.replace("replicas: 3", f"replicas: 3\n  {more}\n  ofTomorrow: 1")).problems == ()


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "DaemonSet"])
def test_the_kinds_of_apps_need_their_selector(kind: str) -> None:
    (complaint,) = complaints(load(target=NO_SELECTOR.replace("kind: Deployment", f"kind: {kind}")))
    assert "spec.selector: is required" in complaint


def test_what_has_no_pod_template_is_no_target() -> None:
    text = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: web}\nspec: {}\n"
    assert complaints(load(target=text)) == [
        "target.yaml:2: kind: the target must be a workload with a pod template, and this Thing has no spec.template "
        "(name a Deployment, or another workload)"
    ]


NO_APPS = {
    "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\n": "app.yaml:2: kind: a Rollout is no app of gitops-bg "
    "(let `gitops-bg import` write it, or write a BlueGreenDeployment: strategy.blueGreen keeps its field names, and "
    "template belongs into a Deployment in target.yaml; docs/how-to/come-from-argo-rollouts.md)",
    "apiVersion: flagger.app/v1beta1\nkind: Canary\n": "app.yaml:2: kind: a Canary is no app of gitops-bg "
    "(let `gitops-bg import` write it, or write a BlueGreenDeployment: analysis and its webhooks keep their field "
    "names, and targetRef is the Deployment in target.yaml; docs/how-to/come-from-flagger.md)",
    TARGET: "app.yaml:2: kind: a Deployment is no app of gitops-bg "
    "(it is the target: call the file target.yaml, and write app.yaml beside it)",
}


@pytest.mark.parametrize("text", NO_APPS, ids=lambda text: text.split()[3])
def test_what_another_system_calls_an_app_is_one_problem_with_what_to_write_instead(text: str) -> None:
    assert complaints(load(app=text)) == [NO_APPS[text]]
