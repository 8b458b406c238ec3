"""What `check` knows of Kubernetes' own objects: each unknown field, wrong type, missing field, with its line."""

from __future__ import annotations

import re

import pytest

from gitops_bg.cluster.lint import MODELS, lint
from gitops_bg.spec.manifests.objects import ALLOWED
from gitops_bg.spec.manifests.target import APPS_KINDS, POD_TEMPLATE
from gitops_bg.spec.yaml.reader import read
from tests.cluster.kubernetes_fields import FILE, fields_file
from tests.spec.texts import SERVICE, TARGET


def said(text: str) -> list[str]:
    [document] = read("a.yaml", text.encode()).documents
    return [str(problem) for problem in lint(document)]


def test_good_manifests_have_nothing_said_of_them() -> None:
    assert said(TARGET) == []
    assert said(SERVICE) == []


def test_every_kind_that_may_lie_in_a_folder_is_known_in_its_present_version() -> None:
    kinds = {kind for _, kind in MODELS}
    assert kinds == {*ALLOWED, *APPS_KINDS, POD_TEMPLATE} - {"ScaledObject"}, "which is KEDA's, not Kubernetes' own"


def test_the_fields_are_those_of_the_client_library() -> None:
    assert FILE.read_text() == fields_file(), "run `make docs`"


# what stands in place of what, in the target: what is said of it
TARGETS = {
    ("  replicas: 3", "  replica: 3"): ["a.yaml:7: spec.replica: there is no such field (did you mean replicas?)"],
    ("  replicas: 3", '  replicas: "3"'): [
        "a.yaml:7: spec.replicas: expected a whole number, found text (remove the quotes)"
    ],
    ("  replicas: 3", "  replicas: null"): [],
    ("  replicas: 3", "  sidecars: 3"): [
        "a.yaml:7: spec.sidecars: there is no such field (`kubectl explain deployment.spec` has all there are)"
    ],
    ("          image:", "          imag:"): [
        "a.yaml:18: spec.template.spec.containers[0].imag: there is no such field (did you mean image?)"
    ],
    ("        - name: web\n", "        - nam: web\n"): [
        "a.yaml:17: spec.template.spec.containers[0].nam: there is no such field (did you mean name?)",
        "a.yaml:17: spec.template.spec.containers[0].name: is required (add name)",
    ],
    ("        app: web\n    spec:", "        app: 5\n    spec:"): [
        'a.yaml:14: spec.template.metadata.labels.app: expected text, found a number (quote it: "5")'
    ],
}


@pytest.mark.parametrize("change", TARGETS, ids=lambda change: change[1].strip())
def test_a_target(change: tuple[str, str]) -> None:
    assert change[0] in TARGET
    assert said(TARGET.replace(*change)) == TARGETS[change]


# what more a container has: what is said of it, after its place
CONTAINERS = {
    "env: [{name: PORT, value: 8080}]": ['env[0].value: expected text, found a number (quote it: "8080")'],
    "env: {PORT: x}": ["env: expected a list, found a mapping (such as [{name: NAME, value: text}])"],
    "resources: {requests: {cpu: 1, memory: 64Mi}, limits: {cpu: 0.5}}": [],
    "resources: {request: {cpu: 1}}": ["resources.request: there is no such field (did you mean requests?)"],
    "ports: [{containerPort: 8080, name: http}]": [],
    "ports: [{containerPort: http}]": ["ports[0].containerPort: expected a whole number, found text"],
    "ports: [{name: http}]": ["ports[0].containerPort: is required (add containerPort)"],
    "readinessProbe: {httpGet: {port: 80, path: /}, periodSeconds: 5}": [],
    "readinessProbe: {httpGet: {port: http, path: /}, periodSeconds: 5}": [],
    "readinessProbe: {httpGet: {port: []}}": [
        "readinessProbe.httpGet.port: expected a whole number or text, found a list"
    ],
    "readinessProbe: {httpget: {port: 80}}": ["readinessProbe.httpget: there is no such field (did you mean httpGet?)"],
    "tty: yes please": ["tty: expected true or false, found text (write true or false)"],
    "command: [sleep, 5]": ['command[1]: expected text, found a number (quote it: "5")'],
    "securityContext: [a]": ["securityContext: expected a mapping, found a list (write key: value)"],
}


@pytest.mark.parametrize("more", CONTAINERS)
def test_a_container(more: str) -> None:
    place = "spec.template.spec.containers[0]."
    found = [problem.partition(place)[2] for problem in said(f"{TARGET}          {more}\n")]
    assert found == CONTAINERS[more]


# a field of a container or its pod, and what somebody writes there: what it is once its author has done what is advised
FOLLOWED = {
    ("defaultMode", "0400"): ["0400", "256"],
    ("defaultMode", '"0400"'): ['"0400"', "256"],
    ("defaultMode", "0o644"): ["0o644", "420"],
    ("defaultMode", '"0o644"'): ['"0o644"', "420"],
    ("defaultMode", '"256"'): ['"256"', "256"],
    ("containerPort", '"8080"'): ['"8080"', "8080"],
    ("containerPort", "08080"): ["08080", '"08080"', "8080"],
    ("containerPort", "8_080"): ["8_080", '"8_080"', "8080"],
    ("tty", "yes"): ["yes", "true"],
    ("tty", '"Yes"'): ['"Yes"', "true"],
    ("tty", '"false"'): ['"false"', "false"],
    ("value", "3.10"): ["3.10", '"3.10"'],
    ("value", "0x1F"): ["0x1F", '"0x1F"'],
    ("value", "True"): ["True", '"True"'],
    ("value", "+49"): ["+49", '"+49"'],
    ("value", "0123"): ["0123", '"0123"'],
}
CONTAINER = """          ports: [{containerPort: %(containerPort)s}]
          tty: %(tty)s
          env: [{name: A, value: %(value)s}]
      volumes: [{name: a, secret: {secretName: keys, defaultMode: %(defaultMode)s}}]
"""
ADVICE = (r'quote it: ("[^"]*")', r"write (\w+)(?:,|$)")


def advised(written: str, remedy: str) -> str:
    """What somebody writes who does what a remedy says, the first thing where it says two."""
    if "decimal digits, without quotes" in remedy:
        return written.strip('"').replace("_", "").lstrip("0")
    found = next((found for each in ADVICE if (found := re.match(each, remedy))), None)
    return found[1] if found else written.strip('"')


@pytest.mark.parametrize(("field", "written"), FOLLOWED)
def test_no_remedies_of_one_value_lead_in_a_circle(field: str, written: str) -> None:
    did = [written]
    for _ in range(3):
        values = {"containerPort": "8080", "tty": "false", "value": "x", "defaultMode": "256", field: did[-1]}
        reading = read("a.yaml", f"{TARGET}{CONTAINER % values}".encode())
        problems = reading.problems or tuple(lint(reading.documents[0]))
        if not problems:
            break
        assert problems[0].remedy, "there is a way on"
        did.append(advised(did[-1], problems[0].remedy))
    assert did == FOLLOWED[field, written]


def test_of_other_workloads_only_the_pod_template_is_looked_at() -> None:
    rollout = TARGET.replace("apps/v1", "argoproj.io/v1alpha1").replace("kind: Deployment", "kind: Rollout")
    assert said(rollout.replace("replicas: 3", "strategy: {blueGreen: {}}")) == []
    assert "did you mean image?" in said(rollout.replace("image:", "imag:"))[0]


def test_a_metric_s_value_and_quantities_may_be_numbers() -> None:
    metric = "{type: Resource, resource: {name: cpu, target: {type: Value, value: 5, averageValue: 1}}}"
    target = "scaleTargetRef: {kind: Deployment, name: web}"
    head = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\n"
    assert said(f"{head}spec: {{maxReplicas: 3, {target}, metrics: [{metric}]}}\n") == []
    assert said(f"{head}spec: {{maxReplicas: 3, {target}, metrics: [{metric.replace('cpu', '5')}]}}\n") != []


def test_no_value_of_a_secret_is_told() -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {pin: 4711}\n"
    assert said(secret) == ["a.yaml:4: stringData.pin: expected text, found a number (quote it)"]


def test_of_a_podspecworkload_the_spec_of_its_pods_is_known() -> None:
    head = "apiVersion: standard.oam.dev/v1alpha1\nkind: PodSpecWorkload\nmetadata: {name: web}\nspec:\n"
    good = f"{head}  podSpec:\n    containers: [{{name: web, image: 'web:1'}}]\n"
    assert said(good) == []
    assert said(good.replace("image:", "imag:")) == [
        "a.yaml:6: spec.podSpec.containers[0].imag: there is no such field (did you mean image?)"
    ]


def test_what_is_no_object_is_somebody_else_s_to_complain_about() -> None:
    [document] = read("a.yaml", b"[]\n").documents
    assert list(lint(document)) == []
