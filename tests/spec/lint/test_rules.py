"""Each rule with the smallest mistake that it finds: the exact line, message and remedy, and nothing beside it."""

from __future__ import annotations

import pytest

from gitops_bg.spec.lint.rules import FOLDER_RULES
from tests.spec.lint.folder import GOOD, SERVICES, TARGET, Change, changed, found

IMAGE = "image: registry.example/shop/web:1.0.0"
DEPLOYMENT = "kind: Deployment"
DAEMON_SET = TARGET.replace(DEPLOYMENT, "kind: DaemonSet")
PORTS = "ports: [{name: http, containerPort: 8080}]"
REQUESTS = "resources: {requests: {cpu: 50m, memory: 64Mi}}"
PROBE = "readinessProbe: {httpGet: {path: /healthz, port: http}}"
NUMBER = PROBE.replace("port: http", "port: 80")
CONTAINERS = "      containers:\n"
LAST = f"          {REQUESTS}\n"
ENDS = "      terminationGracePeriodSeconds: 30\n"
SIDECAR = "        - {name: proxy, image: registry.example/proxy:1, %s}\n"
C = "target.yaml:%s: spec.template.spec.containers[0]."
P = "target.yaml:%s: spec.template.spec."
MOUNT = (
    "          volumeMounts: [{name: a, mountPath: /a}]\n"
    "      volumes: [{name: a, secret: {secretName: keys, defaultMode: %s}}]\n"
)
SETTINGS = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {GREETING: hi}\n"
HPA = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 5
  metrics:
    - {type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 80}}}
"""
BUDGET = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec:\n"
SELECTS = "  selector: {matchLabels: {app: web}}\n"

# name of the rule, the file, the change of it: what is said, without the rule's name
ROWS: list[tuple[str, str, Change, str]] = [
    (
        "image-reference",
        "target.yaml",
        (IMAGE, "image: registry.example/Shop/web:1"),
        C
        % 12
        + "image: 'registry.example/Shop/web:1' is no image reference: the name 'registry.example/Shop/web' may have "
        "lower-case letters, digits and single separators (. _ __ -) only: 'registry.example/shop/web'?",
    ),
    (
        "image-reference",
        "target.yaml",
        (IMAGE, "image: 'registry.example/shop/web:'"),
        C
        % 12
        + "image: 'registry.example/shop/web:' is no image reference: the tag '' may have letters, digits, '_', '.' "
        "and '-', up to 128, and begins with none of '.-' (such as registry.example.com/shop/web:1.4.2)",
    ),
    (
        "image-tag",
        "target.yaml",
        (IMAGE, "image: registry.example/shop/web:latest"),
        C
        % 12
        + "image: registry.example/shop/web:latest is the tag latest: what it means can change without a commit, and "
        "going back may not bring it back (write a tag that never moves, or a digest)",
    ),
    (
        "image-tag",
        "target.yaml",
        (IMAGE, "image: localhost:5000/web"),
        C
        % 12
        + "image: localhost:5000/web has no tag, so it is latest: what it means can change without a commit, and "
        "going back may not bring it back (write a tag that never moves, or a digest)",
    ),
    (
        "port-twice",
        "target.yaml",
        (PORTS, "ports: [{name: http, containerPort: 8080}, {name: https, containerPort: 8080}]"),
        C % 13 + "ports[1].containerPort: 8080 (TCP) is there twice (keep one of the two)",
    ),
    (
        "port-twice",
        "target.yaml",
        (PORTS, "ports: [{name: http, containerPort: 8080}, {name: http, containerPort: 8081}]"),
        C % 13 + "ports[1].name: two ports are called http (rename one)",
    ),
    (
        "port-name-shared",
        "target.yaml",
        (LAST, LAST + SIDECAR % f"ports: [{{name: http, containerPort: 9}}], {PROBE}"),
        P
        % 16
        + "containers[1].ports[0].name: container web has a port http, too: a Service reaches only one of them by "
        "name (rename one)",
    ),
    (
        "host-port",
        "target.yaml",
        (PORTS, "ports: [{name: http, containerPort: 8080, hostPort: 80}]"),
        C % 13 + "ports[0].hostPort: takes port 80 of its node, where the old version may have it still "
        "(remove it, Services lead to containerPort; or have a node for each pod of both versions)",
    ),
    (
        "daemon-set-twice",
        "target.yaml",
        (DEPLOYMENT, "kind: DaemonSet"),
        "target.yaml:2: kind: two versions have a pod on every node while one replaces the other, and the old one "
        "stays warm (leave room for both, or lower scaleDownDelaySeconds)",
    ),
    (
        "daemon-set-ports",
        "target.yaml",
        ("", DAEMON_SET.replace(PORTS, "ports: [{name: http, containerPort: 8080, hostPort: 80}]")),
        C % 13 + "ports[0].hostPort: two versions of a DaemonSet want port 80 of every node: none could follow "
        "(remove it; a Service reaches the pods of every node)",
    ),
    (
        "daemon-set-ports",
        "target.yaml",
        ("", DAEMON_SET.replace("      containers:", "      hostNetwork: true\n      containers:")),
        P % 10 + "hostNetwork: the pods of two versions of a DaemonSet never fit on one node, so no version could ever "
        "follow (remove it; a Service reaches the pods of every node)",
    ),
    (
        "env-twice",
        "target.yaml",
        (LAST, f"{LAST}          env: [{{name: A, value: one}}, {{name: A, value: two}}]\n"),
        C % 16 + "env[1].name: A is there twice (keep one of the two)",
    ),
    (
        "env-source",
        "target.yaml",
        (
            LAST,
            f"{LAST}          env: [{{name: A, value: x, valueFrom: {{fieldRef: {{fieldPath: spec.nodeName}}}}}}]\n",
        ),
        C % 16 + "env[0]: has both value and valueFrom (keep one of the two)",
    ),
    (
        "env-source",
        "target.yaml",
        (LAST, f"{LAST}          env: [{{name: A, valueFrom: {{}}}}]\n"),
        C % 16 + "env[0].valueFrom: has no source (write exactly one, such as configMapKeyRef)",
    ),
    (
        "mount-twice",
        "target.yaml",
        (
            LAST,
            f"{LAST}          volumeMounts: [{{name: a, mountPath: /a}}, {{name: a, mountPath: /a}}]\n"
            "      volumes: [{name: a, emptyDir: {}}]\n",
        ),
        C % 16 + "volumeMounts[1].mountPath: /a is mounted twice (keep one of the two, or mount it elsewhere)",
    ),
    (
        "quantity",
        "target.yaml",
        (REQUESTS, "resources: {requests: {cpu: 50m, memory: 64MB}}"),
        C % 15 + "resources.requests.memory: '64MB' is no quantity (such as 500m, 2 or 64Mi)",
    ),
    (
        "request-above-limit",
        "target.yaml",
        (REQUESTS, "resources: {requests: {cpu: 2}, limits: {cpu: 1500m}}"),
        C % 15 + "resources.requests.cpu: 2 is more than the limit, 1500m (write at most 1500m, or raise the limit)",
    ),
    (
        "probe-port",
        "target.yaml",
        ("port: http}", "port: htpp}"),
        C % 14 + "readinessProbe.httpGet.port: container web has no port named htpp, so nothing would ever be reached "
        "(write http, or a number)",
    ),
    (
        "probe-port",
        "target.yaml",
        ("port: http}", "port: '8080'}"),
        C % 14 + "readinessProbe.httpGet.port: 8080 is a name because of its quotes, and a name has a letter "
        "(remove the quotes)",
    ),
    (
        "probe-port",
        "target.yaml",
        (LAST, f"{LAST}          lifecycle: {{preStop: {{httpGet: {{port: admin, path: /}}}}}}\n"),
        C
        % 16
        + "lifecycle.preStop.httpGet.port: container web has no port named admin, so nothing would ever be reached "
        "(write http, or a number)",
    ),
    (
        "probe-handler",
        "target.yaml",
        (PROBE, "readinessProbe: {periodSeconds: 5}"),
        C % 14 + "readinessProbe: has none of exec, httpGet, tcpSocket, grpc (write exactly one)",
    ),
    (
        "probe-handler",
        "target.yaml",
        (PROBE, "readinessProbe: {tcpSocket: {port: 8080}, httpGet: {port: 8080}}"),
        C % 14 + "readinessProbe: has httpGet and tcpSocket (write exactly one)",
    ),
    (
        "probe-threshold",
        "target.yaml",
        (PROBE, f"{PROBE}\n          livenessProbe: {{tcpSocket: {{port: 8080}}, successThreshold: 2}}"),
        C % 15 + "livenessProbe.successThreshold: 2 is possible for a readinessProbe only (write 1, or remove it)",
    ),
    (
        "init-probe",
        "target.yaml",
        (
            CONTAINERS,
            f"      initContainers: [{{name: a, image: 'a:1', {NUMBER}}}]\n{CONTAINERS}",
        ),
        P
        % 10
        + "initContainers[0].readinessProbe: is possible for no init container that ends before the others start "
        "(remove it, or write restartPolicy: Always for a sidecar)",
    ),
    (
        "readiness-probe",
        "target.yaml",
        (f"          {PROBE}\n", ""),
        P % 11 + "containers[0]: container web gets requests and has no readinessProbe: it counts as ready once it has "
        "started (add a readinessProbe, so that traffic waits until it can answer)",
    ),
    (
        "readiness-gate",
        "target.yaml",
        (LAST, f"{LAST}      readinessGates: [{{conditionType: target-health.elbv2.k8s.aws/web}}]\n"),
        P % 16 + "readinessGates[0]: target-health.elbv2.k8s.aws/web may be set only once a Service selects the pods, "
        "as load balancers do; the preview Service selects those of a candidate once they are ready: each would wait "
        "for the other (write previewSwitch: immediate in strategy.blueGreen of app.yaml)",
    ),
    (
        "ready-too-late",
        "target.yaml",
        ("port: http}}", "port: http}, initialDelaySeconds: 600}"),
        C
        % 14
        + "readinessProbe.initialDelaySeconds: 600 are not less than progressDeadlineSeconds (600): every rollout "
        "would fail (lower it, or raise progressDeadlineSeconds in app.yaml)",
    ),
    (
        "prestop-sleep",
        "target.yaml",
        (LAST, f"{LAST}          lifecycle: {{preStop: {{sleep: {{seconds: 40}}}}}}\n"),
        C
        % 16
        + "lifecycle.preStop.sleep.seconds: 40 is more than terminationGracePeriodSeconds (30), after which the pod "
        "is killed (write at most 30, or raise terminationGracePeriodSeconds)",
    ),
    (
        "volume-missing",
        "target.yaml",
        (
            LAST,
            f"{LAST}          volumeMounts: [{{name: cahe, mountPath: /a}}, {{name: cache, mountPath: /b}}]\n"
            "      volumes: [{name: cache, emptyDir: {}}]\n",
        ),
        C % 16 + "volumeMounts[0].name: the pod has no volume cahe (did you mean cache?)",
    ),
    (
        "volume-twice",
        "target.yaml",
        (
            LAST,
            f"{LAST}          volumeMounts: [{{name: a, mountPath: /a}}]\n"
            "      volumes: [{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]\n",
        ),
        P % 17 + "volumes[1].name: two volumes are called a (rename one)",
    ),
    (
        "file-mode",
        "target.yaml",
        (LAST, f"{LAST}{MOUNT % 644}"),
        P % 17 + "volumes[0].secret.defaultMode: 644 is no mode: a decimal number of at most 511 (0777) "
        "(write 420, which is 0644 in octal)",
    ),
    (
        "no-pods",
        "target.yaml",
        ("spec:\n", "spec:\n  replicas: 0\n"),
        "target.yaml:5: spec.replicas: takes every pod away from the live version as soon as it is in main: the size "
        "is no part of a version, and waits for no promotion (write how many pods are to serve; to stop promotions "
        "alone, write spec.suspend in app.yaml)",
    ),
    (
        "shared-claim",
        "target.yaml",
        (
            LAST,
            f"{LAST}          volumeMounts: [{{name: a, mountPath: /a}}]\n"
            "      volumes: [{name: a, persistentVolumeClaim: {claimName: data}}]\n",
        ),
        P
        % 17
        + "volumes[0].persistentVolumeClaim: both versions use the claim data at once while one replaces the other "
        "(make sure that it is ReadWriteMany and that two versions may write to it, or say readOnly: true)",
    ),
    (
        "host-network",
        "target.yaml",
        (CONTAINERS, f"      hostNetwork: true\n{CONTAINERS}"),
        P % 10 + "hostNetwork: pods take the ports of their node, where the old version may have them still "
        "(remove it, Services lead to the pods; or have a node for each pod of both versions)",
    ),
    (
        "label",
        "target.yaml",
        ("labels: {app: web}", "labels: {app: web, team: web shop}"),
        "target.yaml:8: spec.template.metadata.labels.team: 'web shop' is no value of a label "
        "(at most 63 letters, digits, -, _ and ., or write an annotation)",
    ),
    (
        "label",
        "target.yaml",
        ("labels: {app: web}", "labels: {app: web}\n      annotations: {a/b/c: x}"),
        'target.yaml:9: spec.template.metadata.annotations["a/b/c"]: is no name of an annotation '
        "(at most 63 letters, digits, -, _ and ., after a DNS name and / if you like)",
    ),
    (
        "ignored-field",
        "target.yaml",
        ("  template:", "  strategy: {type: Recreate}\n  template:"),
        "target.yaml:6: spec.strategy: has no effect in a target "
        "(two versions run side by side, as spec.strategy of app.yaml says)",
    ),
    (
        "configuration-name",
        "target.yaml",
        (LAST, f"{LAST}          envFrom: [{{configMapRef: {{name: setings}}}}]\n"),
        C
        % 16
        + "envFrom[0].configMapRef.name: the folder has no ConfigMap setings, but one called settings, which nothing "
        "refers to (did you mean settings?)",
    ),
    (
        "configuration-name",
        "target.yaml",
        (LAST, f"{LAST}          envFrom: [{{secretRef: {{name: settings}}}}]\n"),
        C % 16 + "envFrom[0].secretRef.name: the folder has no Secret settings; its settings is a ConfigMap "
        "(refer to a ConfigMap, or add the Secret)",
    ),
    (
        "target-port",
        "services.yaml",
        ("targetPort: http", "targetPort: 8081"),
        "services.yaml:5: spec.ports[0].targetPort: no container of target.yaml declares the TCP port 8081 "
        "(write targetPort: http or 8080, or declare containerPort 8081)",
    ),
    (
        "target-port",
        "services.yaml",
        (", targetPort: http", ""),
        "services.yaml:5: spec.ports[0].port: no container of target.yaml declares the TCP port 80 "
        "(write targetPort: http or 8080, or declare containerPort 80)",
    ),
    (
        "service-selector",
        "services.yaml",
        ("spec:\n", "spec:\n  selector: {app: web}\n"),
        "services.yaml:5: spec.selector: has no effect: the agent sets the selector to one version (remove it)",
    ),
    (
        "service-selector",
        "services.yaml",
        ("spec:\n", "spec:\n  selector: {app: wbe}\n"),
        "services.yaml:5: spec.selector: has no effect: the agent sets the selector to one version; no pod of the "
        "target has app: wbe either (remove it)",
    ),
    (
        "tool-mark",
        "services.yaml",
        ("{name: web}", "{name: web, labels: {argocd.argoproj.io/instance: shop}}"),
        'services.yaml:3: metadata.labels["argocd.argoproj.io/instance"]: is how Argo CD knows its objects, and it '
        "deletes what is not in its own Git: this one is the agent's (remove it, once Argo CD applies the object no "
        "more: docs/how-to/argo-cd-and-flux.md)",
    ),
    (
        "tool-mark",
        "pdb.yaml",
        (
            "",
            BUDGET.replace("{name: web}", "{name: web, labels: {kustomize.toolkit.fluxcd.io/name: shop}}")
            + f"  maxUnavailable: 1\n{SELECTS}",
        ),
        'pdb.yaml:3: metadata.labels["kustomize.toolkit.fluxcd.io/name"]: is how Flux knows its objects: this one is '
        "the agent's (remove it, once Flux applies the object no more: docs/how-to/argo-cd-and-flux.md)",
    ),
    (
        "tool-mark",
        "services.yaml",
        ("{name: web}", "{name: web, annotations: {meta.helm.sh/release-name: web}}"),
        'services.yaml:3: metadata.annotations["meta.helm.sh/release-name"]: is how Helm knows its objects: this one '
        "is the agent's (remove it, once Helm applies the object no more: docs/how-to/argo-cd-and-flux.md)",
    ),
    (
        "tool-mark",
        "hpa.yaml",
        ("", HPA.replace("{name: web}", "{name: web, annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}}", 1)),
        'hpa.yaml:3: metadata.annotations["kustomize.toolkit.fluxcd.io/prune"]: tells Flux what to do with an object '
        "that the agent applies (remove it, once Flux applies the object no more: docs/how-to/argo-cd-and-flux.md)",
    ),
    (
        "service-name",
        "app.yaml",
        ("previewService: web-preview", "previewService: web-preveiw"),
        "app.yaml:8: spec.strategy.blueGreen.previewService: the folder has no Service web-preveiw for the candidate, "
        "but one called web-preview, which nobody names (did you mean web-preview?)",
    ),
    (
        "node-port-twice",
        "services.yaml",
        ("", SERVICES.replace("port: 80,", "port: 80, nodePort: 30080,")),
        "services.yaml:11: spec.ports[0].nodePort: 30080 is taken by the Service web already "
        "(write another one, or remove it)",
    ),
    (
        "replicas",
        "target.yaml",
        ("spec:\n", "spec:\n  replicas: 2\n"),
        "target.yaml:5: spec.replicas: counts for the first version only: HorizontalPodAutoscaler web sizes the pods "
        "(remove it; minReplicas is what you mean)",
    ),
    (
        "nothing-warm",
        "app.yaml",
        ("      previewService", "      scaleDownDelaySeconds: 0\n      previewService"),
        "app.yaml:8: spec.strategy.blueGreen.scaleDownDelaySeconds: the old version loses its pods without a "
        "delay after the switch: going back starts them anew (keep it warm for some minutes: the default is 600)",
    ),
]

BESIDE = {"replicas": {"hpa.yaml": HPA}}
"""What else is in the folder for a rule."""


def said_of(rule: str, file: str, change: Change) -> list[str]:
    files = {**changed(file, change), **BESIDE.get(rule, {})}
    if rule.startswith("configuration"):
        files["services.yaml"] += SETTINGS
    return [each for each in found(files) if not each.startswith("no-effect: services.yaml")]


@pytest.mark.parametrize(("rule", "file", "change", "said"), ROWS, ids=lambda each: str(each).strip()[:40])
def test_a_rule_finds_its_mistake_and_nothing_else_is_said(rule: str, file: str, change: Change, said: str) -> None:
    assert said_of(rule, file, change) == [f"{rule}: {said}"]


WITHOUT_PORTS = (
    "app.yaml:8: spec.strategy.blueGreen.previewService: Service web-preview (the candidate) is not in Git, and no "
    "container declares a port to make it of "
    "(declare a containerPort, or add a manifest of Service web-preview to the folder)"
)


def test_a_service_that_nothing_could_be_made_of_is_said_once() -> None:
    files = changed("target.yaml", (f"          {PORTS}\n          {PROBE}\n", f"          {NUMBER}\n"))
    headless = SERVICES.partition("---")[0].replace(
        "ports: [{name: http, port: 80, targetPort: http}]", "clusterIP: None"
    )
    files["services.yaml"] = headless
    assert found(files) == [f"service-without-ports: {WITHOUT_PORTS}"]


NEVER_LIVE = (
    "app.yaml:7: spec.strategy.blueGreen.activeService: no version could ever go live: Service web says no port, and "
    "no container declares one (declare a containerPort, or write the Service with its ports; a worker that nobody "
    "calls has no live traffic to switch: leave it a Deployment, applied as before)"
)


@pytest.mark.parametrize("spec", ["  ports: []\n", "  type: ClusterIP\n", ""])
def test_a_worker_without_ports_could_never_go_live(spec: str) -> None:
    files = changed("target.yaml", (f"          {PORTS}\n          {PROBE}\n", f"          {NUMBER}\n"))
    files["app.yaml"] = files["app.yaml"].replace("      previewService: web-preview\n", "")
    live = SERVICES.partition("---")[0].partition("spec:")[0]
    files["services.yaml"] = live + (f"spec:\n{spec}" if spec else "")
    assert f"never-live: {NEVER_LIVE}" in found(files)
    del files["services.yaml"]
    assert f"never-live: {NEVER_LIVE}" in found(files)
    files["app.yaml"] += "  adopt: {}\n"
    assert not any(each.startswith("never-live") for each in found(files)), "the cluster has the Service already"


def test_every_rule_has_a_row_and_a_name_of_its_own() -> None:
    names = [rule.name for rule in FOLDER_RULES]
    assert len(set(names)) == len(names) >= 20
    assert set(names) == {rule for rule, *_ in ROWS} | {"service-without-ports", "never-live"}
    assert found(GOOD) == []


# What looks like a mistake to a careless rule, and is none.
SOUND: list[tuple[str, Change]] = [
    ("target.yaml", (IMAGE, f"image: registry.example:5000/shop/web@sha256:{'0' * 64}")),
    (
        "target.yaml",
        (PORTS, PORTS[:-1] + ", {name: dns, containerPort: 8080, protocol: UDP}]"),
    ),
    ("target.yaml", (REQUESTS, "resources: {requests: {cpu: 1}, limits: {cpu: 1000m, memory: 1G}}")),
    ("target.yaml", (PROBE, "readinessProbe: {grpc: {port: 8080}, successThreshold: 3}")),
    ("target.yaml", (PROBE, "readinessProbe: {tcpSocket: {port: 8080}, initialDelaySeconds: 599}")),
    ("target.yaml", (LAST, LAST + SIDECAR % "command: [sleep, inf]")),
    ("target.yaml", (LAST, LAST + SIDECAR % "ports: [{name: metrics, containerPort: 9090}]")),
    (
        "target.yaml",
        (
            CONTAINERS,
            f"      initContainers: [{{name: a, image: 'a:1', restartPolicy: Always, {NUMBER}}}]\n{CONTAINERS}",
        ),
    ),
    ("target.yaml", (LAST, f"{LAST}          lifecycle: {{preStop: {{sleep: {{seconds: 30}}}}}}\n")),
    (
        "target.yaml",
        (
            LAST,
            f"{LAST}          volumeMounts: [{{name: a, mountPath: /a}}]\n"
            "      volumes: [{name: a, persistentVolumeClaim: {claimName: data, readOnly: true}}]\n",
        ),
    ),
    ("target.yaml", ("labels: {app: web}", "labels: {app: web, team: '', example.com/Team: A_b.c}")),
    (
        "target.yaml",
        ("labels: {app: web}", "labels: {app: web}\n      annotations: {Example.com/Team: 'any text: at all'}"),
    ),
    # A chart has both labels, and so has what is rendered from it.
    (
        "services.yaml",
        ("{name: web}", "{name: web, labels: {app.kubernetes.io/instance: web, app.kubernetes.io/managed-by: Helm}}"),
    ),
    # Nothing live has the target's own metadata.
    ("target.yaml", ("{name: web}", "{name: web, labels: {argocd.argoproj.io/instance: shop}}")),
    ("services.yaml", ("targetPort: http", "targetPort: 8080")),
    ("app.yaml", ("      previewService", "      scaleDownDelaySeconds: never\n      previewService")),
]


@pytest.mark.parametrize(("file", "change"), SOUND, ids=lambda each: str(each)[:40])
def test_what_is_no_mistake_is_not_called_one(file: str, change: Change) -> None:
    assert found(changed(file, change)) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("previewService: web-preview", "previewService: web-preview\n      previewSwitch: immediate"), []),
        (("      previewService: web-preview\n", ""), ["without a previewService none selects those of a candidate"]),
    ],
    ids=("they are shown at once", "nothing shows them"),
)
def test_a_readiness_gate_needs_a_service_that_selects_the_pods_of_a_candidate_at_once(change, said) -> None:
    files = changed("app.yaml", change)
    gate = f"{LAST}      readinessGates: [{{conditionType: cloud.google.com/load-balancer-neg-ready}}]\n"
    files["target.yaml"] = files["target.yaml"].replace(LAST, gate)
    names = [each for each in found(files) if each.startswith("readiness-gate")]
    assert len(names) == len(said)
    assert all(wanted in each for wanted, each in zip(said, names, strict=True))


ODD = ("5", "[5]", "{a: 5}", "null", "[{name: 5}]")
LISTS = ("env", "envFrom", "ports", "resources", "volumeMounts", "readinessProbe", "lifecycle", "livenessProbe")


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("field", [*LISTS, "volumes", "initContainers"])
def test_odd_values_in_any_place_stop_no_rule(field: str, odd: str) -> None:
    """What they are is a finding of the fields' linter; the rules pass over them."""
    before = {"ports": PORTS, "resources": REQUESTS, "readinessProbe": PROBE}.get(field)
    place = f"          {field}: {odd}\n"
    change = (before, f"{field}: {odd}") if before else (LAST, LAST + (place if field in LISTS else place[4:]))
    assert not [each for each in found(changed("target.yaml", change)) if "this is not YAML" in each]


def test_an_app_with_an_error_has_no_notes_as_they_could_be_wrong() -> None:
    files = changed("target.yaml", (IMAGE, "image: 'a b'"))
    files["target.yaml"] = files["target.yaml"].replace(f"          {PROBE}\n", "")
    assert [each.partition(":")[0] for each in found(files)] == ["image-reference"]


def test_the_label_of_charts_is_a_mark_where_argo_cd_has_left_others_and_tracks_by_none_of_them() -> None:
    """Up to 2.x Argo CD tracks by it where nothing else is configured."""
    labels = "{name: web, labels: {app.kubernetes.io/instance: shop}, annotations: {%s: x}}"
    wave = changed("services.yaml", ("{name: web}", labels % "argocd.argoproj.io/sync-wave"))
    assert [each.partition(": ")[2].partition(": ")[0] for each in found(wave)] == ["services.yaml:3"] * 2
    assert 'metadata.labels["app.kubernetes.io/instance"]: is how Argo CD knows its objects' in "".join(found(wave))
    tracked = changed("services.yaml", ("{name: web}", labels % "argocd.argoproj.io/tracking-id"))
    assert len(found(tracked)) == 1
    assert "tracking-id" in found(tracked)[0]


def test_the_pods_of_a_podspecworkload_are_looked_at_where_they_are() -> None:
    head = "apiVersion: standard.oam.dev/v1alpha1\nkind: PodSpecWorkload\nmetadata: {name: web, labels: {app: web}}\n"
    pods = "".join(line[2:] for line in TARGET.partition("    spec:\n")[2].splitlines(keepends=True))
    good = f"{head}spec:\n  podSpec:\n{pods}"
    assert found({**GOOD, "target.yaml": good}) == []
    (said,) = found({**GOOD, "target.yaml": good.replace("{app: web}", "{app: web shop}")})
    assert said.startswith("label: target.yaml:3: metadata.labels.app: 'web shop' is no value of a label")
    (said,) = found({**GOOD, "target.yaml": good.replace(f"        {PROBE}\n", "")})
    assert said.startswith("readiness-probe: target.yaml:7: spec.podSpec.containers[0]: container web gets requests")


def test_a_config_map_here_and_a_secret_elsewhere_may_have_one_name() -> None:
    both = "          envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: settings}}]\n"
    files = changed("target.yaml", (LAST, LAST + both))
    assert found({**files, "settings.yaml": SETTINGS}) == []
