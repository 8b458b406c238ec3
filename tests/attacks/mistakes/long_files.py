"""Files with many of whatever a file can have many of, right and wrong. Reads none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from gitops_bg.spec.app.layout import SETTINGS_FILE

REPOSITORY = Path(__file__).parents[3]
TEMPLATE = REPOSITORY / "repo-template"
FILES = {
    str(path.relative_to(TEMPLATE)): path.read_bytes()
    for path in sorted(TEMPLATE.rglob("*.yaml"))
    if "examples" not in path.parts
} | {
    str(path.relative_to(TEMPLATE / "examples")): path.read_bytes()
    for path in sorted((TEMPLATE / "examples").rglob("*.yaml"))
}
"""A whole repository in which nothing is wrong: what is long stands in the place of one of its files, or beside it."""
FOLDER = "apps/shop/web"

Shape = Callable[[int], str]
"""A text of about so many bytes."""


def many(item: str, head: str = "", tail: str = "") -> Shape:
    """So many of one item, in which ``#`` is its number."""

    def text(size: int) -> str:
        return head + "".join(item.replace("#", str(number)) for number in range(size // len(item))) + tail

    return text


APP = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: BlueGreenDeployment
metadata: {name: web, namespace: shop}
spec:
  promotion: {via: commit}
"""
STRATEGY = APP + "  strategy:\n    blueGreen:\n      activeService: web\n      previewService: web-preview\n"
TARGET = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels:
        app: web
"""
POD = TARGET + "    spec:\n"
ONE = POD + "      containers:\n      - name: web\n        image: registry.example/web:1\n"
FIRST = POD + "      containers: [{name: web, image: registry.example/web:1}]\n"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s#, namespace: shop}\nspec:\n"
ANALYSIS = "apiVersion: gitops-bg.dev/v1alpha1\nkind: AnalysisTemplate\nmetadata: {name: a#}\nspec:\n"
METRIC = (
    "  - {name: m#, count: 1, successCondition: 'result < 1', provider: {prometheus: {address: http://p, query: q}}}\n"
)
POLICY = "apiVersion: gitops-bg.dev/v1alpha1\nkind: PromotionPolicy\nmetadata: {name: p#}\nspec:\n"
GROUP = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: ReleaseGroup
metadata: {name: store, namespace: shop}
spec:
  active: v1
"""
ROUTES = "apiVersion: gitops-bg.dev/v1alpha1\nkind: ServiceRoutes\nroutes:\n"
PEOPLE = "apiVersion: gitops-bg.dev/v1alpha1\nkind: People\npeople:\n"
CASES = "apiVersion: gitops-bg.dev/v1alpha1\nkind: PromotionPolicyTest\ncases:\n"
SETTINGS = FILES[SETTINGS_FILE].decode()
ROLLOUT = "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: r#, namespace: shop}\nspec:\n"
CANARY = "apiVersion: flagger.app/v1beta1\nkind: Canary\nmetadata: {name: c#, namespace: shop}\nspec:\n"
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: c#, namespace: shop}
spec:
  selector: {matchLabels: {app: c#}}
  template:
    metadata: {labels: {app: c#}}
    spec: {containers: [{name: c, image: "c:1", ports: [{containerPort: 80}]}]}
"""

ANYTHING: Mapping[str, Shape] = {
    "documents that are not what is expected": many("---\na: b\n"),
    "documents of one word": many("---\na\n"),
    "empty documents": many("---\n"),
    "unknown fields": many("a#: b\n"),
    "a key again and again": many("a: b\n"),
    "values that YAML parsers read differently": many("a#: 010\n"),
    "keys that are no text": many("1#: b\n"),
    "a list": many("- a: b\n"),
    "aliases": many("b#: *a\n", "a: &a {x: y}\n"),
    "aliases of nothing": many("b#: *a\n"),
    "brackets": many("["),
    "brackets in brackets that end": lambda size: "a: " + "[" * (size // 2) + "]" * (size // 2),
    "quotes": many('"'),
    "one word": many("a"),
    "one line of blanks": many(" "),
    "colons in brackets": many("http://x:8#, ", "a: [", "]\n"),
    "comments": many("# a\n"),
    "line breaks": many("\n"),
    "tags": many("a#: !x b\n"),
    "braces": many("a#: {{ b }}\n"),
    "braces of helm": many("a#: b{{ .Values.c }}\n"),
    "conflict markers": many("<<<<<<< HEAD\na: b\n=======\na: c\n>>>>>>> other\n"),
}
"""Of any file."""
OF_ANY_PLACE = {shape: ANYTHING[shape] for shape in list(ANYTHING)[:4]}
"""Of any file that has a meaning, beside what its reader says of it."""
PLACES = (
    f"{FOLDER}/app.yaml",
    f"{FOLDER}/target.yaml",
    f"{FOLDER}/primary.yaml",
    f"{FOLDER}/more.yaml",
    "groups/shop/store/group.yaml",
    "groups/shop/store/v1/cart/target.yaml",
    "groups/shop/store/v1/cart/routes.yaml",
    "groups/shop/store/v1/cart/more.yaml",
    "analysis/more.yaml",
    "alerts/more.yaml",
    "policies/more.yaml",
    "policies/people.yaml",
    "policies/allowed_signers",
    SETTINGS_FILE,
)
OF_ONE: Mapping[str, tuple[str, Shape]] = {
    "fields of app.yaml that are none": (f"{FOLDER}/app.yaml", many("  wrong#: 1\n", STRATEGY)),
    "alerts": (
        f"{FOLDER}/app.yaml",
        many("    - {providerRef: {name: p#}}\n", STRATEGY + "  analysis:\n    alerts:\n"),
    ),
    "webhooks": (
        f"{FOLDER}/app.yaml",
        many("    - {name: w, type: event, url: 'http://a'}\n", STRATEGY + "  analysis:\n    webhooks:\n"),
    ),
    "templates that are not there": (
        f"{FOLDER}/app.yaml",
        many("        - {templateName: t#}\n", STRATEGY + "      prePromotionAnalysis:\n        templates:\n"),
    ),
    "args that nobody asks for": (
        f"{FOLDER}/app.yaml",
        many(
            "        - {name: a#, value: b}\n",
            STRATEGY + "      prePromotionAnalysis:\n        templates: [{templateName: smoke}]\n        args:\n",
        ),
    ),
    "active Services": (
        f"{FOLDER}/app.yaml",
        many("      - s#\n", APP + "  strategy:\n    blueGreen:\n      activeServices:\n"),
    ),
    "labels of pods": (f"{FOLDER}/target.yaml", many("        l#: v\n", TARGET, POD.removeprefix(TARGET))),
    "labels of pods that are none": (f"{FOLDER}/target.yaml", many("        l#: 'a b'\n", TARGET)),
    "containers": (f"{FOLDER}/target.yaml", many("      - {name: c#, image: 'a:1'}\n", POD + "      containers:\n")),
    "containers of one name": (
        f"{FOLDER}/target.yaml",
        many("      - {name: c, image: 'a:1'}\n", POD + "      containers:\n"),
    ),
    "containers without an image": (f"{FOLDER}/target.yaml", many("      - {name: c#}\n", POD + "      containers:\n")),
    "containers with a field that is none": (
        f"{FOLDER}/target.yaml",
        many("      - {name: c#, image: 'a:1', prots: 1}\n", POD + "      containers:\n"),
    ),
    "ports": (f"{FOLDER}/target.yaml", many("        - {name: p#, containerPort: 1#}\n", ONE + "        ports:\n")),
    "ports of one name": (
        f"{FOLDER}/target.yaml",
        many("        - {name: p, containerPort: 80}\n", ONE + "        ports:\n"),
    ),
    "variables": (f"{FOLDER}/target.yaml", many("        - {name: A#, value: b}\n", ONE + "        env:\n")),
    "variables of one name": (f"{FOLDER}/target.yaml", many("        - {name: A, value: b}\n", ONE + "        env:\n")),
    "variables that name others": (
        f"{FOLDER}/target.yaml",
        many("        - {name: A#, value: '$(B#)'}\n", ONE + "        env:\n"),
    ),
    "variables of ConfigMaps": (
        f"{FOLDER}/target.yaml",
        many(
            "        - {name: A#, valueFrom: {configMapKeyRef: {name: c#, key: k}}}\n",
            ONE + "        env:\n",
        ),
    ),
    "ConfigMaps that are not there": (
        f"{FOLDER}/target.yaml",
        many("        - configMapRef: {name: c#}\n", ONE + "        envFrom:\n"),
    ),
    "mounts of volumes that are not there": (
        f"{FOLDER}/target.yaml",
        many("        - {name: v#, mountPath: /v#}\n", ONE + "        volumeMounts:\n"),
    ),
    "volumes": (f"{FOLDER}/target.yaml", many("      - {name: v#, emptyDir: {}}\n", FIRST + "      volumes:\n")),
    "volumes of one name": (
        f"{FOLDER}/target.yaml",
        many("      - {name: v, emptyDir: {}}\n", FIRST + "      volumes:\n"),
    ),
    "volumes of ConfigMaps": (
        f"{FOLDER}/target.yaml",
        many("      - {name: v#, configMap: {name: c#}}\n", FIRST + "      volumes:\n"),
    ),
    "tolerations": (f"{FOLDER}/target.yaml", many("      - {key: a#}\n", FIRST + "      tolerations:\n")),
    "Services": (f"{FOLDER}/more.yaml", many(SERVICE + "  ports: [{port: 80}]\n---\n")),
    "Services of one name": (f"{FOLDER}/more.yaml", many(SERVICE.replace("#", "") + "  ports: [{port: 80}]\n---\n")),
    "Services with a field that is none": (f"{FOLDER}/more.yaml", many(SERVICE + "  prots: [{port: 80}]\n---\n")),
    "ports of a Service": (
        f"{FOLDER}/services.yaml",
        many("  - {name: p#, port: 1#}\n", SERVICE.replace("s#", "web") + "  ports:\n"),
    ),
    "ports of a Service of one name": (
        f"{FOLDER}/services.yaml",
        many("  - {name: p, port: 80}\n", SERVICE.replace("s#", "web") + "  ports:\n"),
    ),
    "ConfigMaps": (
        f"{FOLDER}/more.yaml",
        many("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c#, namespace: shop}\ndata: {a: b}\n---\n"),
    ),
    "keys of a ConfigMap": (
        f"{FOLDER}/settings.yaml",
        many("  k#: v\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-settings, namespace: shop}\ndata:\n"),
    ),
    "keys of a ConfigMap that are none": (
        f"{FOLDER}/settings.yaml",
        many(
            "  'k #': v\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-settings, namespace: shop}\ndata:\n",
        ),
    ),
    "autoscalers": (
        f"{FOLDER}/more.yaml",
        many(
            "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h#, namespace: shop}\n"
            "spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n---\n"
        ),
    ),
    "budgets": (
        f"{FOLDER}/more.yaml",
        many(
            "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b#, namespace: shop}\n"
            "spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}\n---\n"
        ),
    ),
    "kinds that belong nowhere": (
        f"{FOLDER}/more.yaml",
        many("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s#, namespace: shop}\n---\n"),
    ),
    "metrics of a template": ("analysis/more.yaml", many(METRIC, ANALYSIS.replace("#", "") + "  metrics:\n")),
    "metrics of a template of one name": (
        "analysis/more.yaml",
        many(METRIC.replace("#", ""), ANALYSIS.replace("#", "") + "  metrics:\n"),
    ),
    "metrics with a field that is none": (
        "analysis/more.yaml",
        many(METRIC.replace("count", "cuont"), ANALYSIS.replace("#", "") + "  metrics:\n"),
    ),
    "args of a template": ("analysis/more.yaml", many("  - {name: a#}\n", ANALYSIS.replace("#", "") + "  args:\n")),
    "args of a template of one name": (
        "analysis/more.yaml",
        many("  - {name: a}\n", ANALYSIS.replace("#", "") + "  args:\n"),
    ),
    "templates": ("analysis/more.yaml", many(ANALYSIS + "  metrics:\n" + METRIC + "---\n")),
    "templates of one name": (
        "analysis/more.yaml",
        many(ANALYSIS.replace("#", "") + "  metrics:\n" + METRIC + "---\n"),
    ),
    "a condition of many parts": (
        "analysis/more.yaml",
        many(
            "&& result < 1# ", ANALYSIS.replace("#", "") + "  metrics:\n  - {name: m, successCondition: 'true ", "'}\n"
        ),
    ),
    "alert providers of one name": (
        "alerts/more.yaml",
        many(
            "apiVersion: gitops-bg.dev/v1alpha1\nkind: AlertProvider\nmetadata: {name: a}\nspec: {type: slack}\n---\n"
        ),
    ),
    "policies": ("policies/more.yaml", many(POLICY + "  rules: [{cel: 'to.version > 3'}]\n---\n")),
    "policies of one name": (
        "policies/more.yaml",
        many(POLICY.replace("#", "") + "  rules: [{cel: 'to.version > 3'}]\n---\n"),
    ),
    "policies for nobody": (
        "policies/more.yaml",
        many(POLICY + "  match: {apps: [a#]}\n  rules: [{cel: 'to.version > 3'}]\n---\n"),
    ),
    "windows": (
        "policies/more.yaml",
        many("      - {days: [sat]}\n", POLICY.replace("#", "") + "  rules:\n  - windows:\n      deny:\n"),
    ),
    "rules": ("policies/more.yaml", many("  - {cel: 'to.version > #'}\n", POLICY.replace("#", "") + "  rules:\n")),
    "rules with a field that is none": (
        "policies/more.yaml",
        many("  - {cle: 'to.version > 3'}\n", POLICY.replace("#", "") + "  rules:\n"),
    ),
    "people in a rule who are nobody": (
        "policies/more.yaml",
        many("      - nobody#\n", POLICY.replace("#", "") + "  rules:\n  - approvals:\n      count: 1\n      by:\n"),
    ),
    "people": ("policies/people.yaml", many("- {name: p#, emails: [p#@example.com]}\n", PEOPLE)),
    "people of one name": ("policies/people.yaml", many("- {name: p, emails: [p@example.com]}\n", PEOPLE)),
    "people whose keys are nowhere": (
        "policies/people.yaml",
        many("- {name: p#, signers: [p#@example.com]}\n", PEOPLE),
    ),
    "lines of signers": ("policies/allowed_signers", many("p#@example.com ssh-ed25519 AAAA\n")),
    "words in a line of signers": ("policies/allowed_signers", many("ssh-a ")),
    "names in a line of signers": ("policies/allowed_signers", many("p#,", "", "q ssh-ed25519 AAAA\n")),
    "versions of a group that are none": ("groups/shop/store/group.yaml", many("  wrong#: 1\n", GROUP)),
    "parents of a group": (
        "groups/shop/store/group.yaml",
        many("    - {name: g#}\n", GROUP + "  gateway:\n    parentRefs:\n"),
    ),
    "routes": ("groups/shop/store/v1/cart/routes.yaml", many("- path: {prefix: /p#}\n", ROUTES)),
    "routes of one path": ("groups/shop/store/v1/cart/routes.yaml", many("- path: {prefix: /p}\n", ROUTES)),
    "routes with a field that is none": (
        "groups/shop/store/v1/cart/routes.yaml",
        many("- paht: {prefix: /p}\n", ROUTES),
    ),
    "routes with a path that is none": (
        "groups/shop/store/v1/cart/routes.yaml",
        many("- path: {prefix: p}\n", ROUTES),
    ),
    "routes of one header": (
        "groups/shop/store/v1/cart/routes.yaml",
        many("- {path: {prefix: /cart}, headers: {x: y}}\n", ROUTES),
    ),
    "default alerts": (SETTINGS_FILE, many("    - {providerRef: {name: p#}}\n", SETTINGS + "  alerts:\n")),
}
IMPORTS: Mapping[str, Shape] = {
    **OF_ANY_PLACE,
    "Rollouts that have nothing": many(ROLLOUT + "  x: 1\n---\n"),
    "Rollouts": many(
        ROLLOUT + DEPLOYMENT.partition("spec:\n")[2] + "  strategy: {blueGreen: {activeService: s#}}\n---\n"
    ),
    "Rollouts with fields that are left": many(
        ROLLOUT + DEPLOYMENT.partition("spec:\n")[2] + "  strategy: {canary: {steps: [{setWeight: 5}]}}\n---\n"
    ),
    "Rollouts of a workload": many(
        DEPLOYMENT + "---\n" + ROLLOUT + "  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: c#}\n---\n"
    ),
    "Canaries": many(
        DEPLOYMENT
        + "---\n"
        + CANARY
        + "  targetRef: {apiVersion: apps/v1, kind: Deployment, name: c#}\n  service: {port: 80}\n"
        + "  analysis: {metrics: [{name: request-success-rate, thresholdRange: {min: 9}}]}\n---\n"
    ),
    "Canaries without a target": many(
        CANARY + "  targetRef: {apiVersion: apps/v1, kind: Deployment, name: d#}\n  service: {port: 80}\n---\n"
    ),
    "Deployments and their Services": many(
        DEPLOYMENT + "---\n" + SERVICE + "  selector: {app: c#}\n  ports: [{port: 80}]\n---\n"
    ),
    "Deployments of one name": many(DEPLOYMENT.replace("#", "") + "---\n"),
    "ConfigMaps of nobody": many("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c#, namespace: shop}\n---\n"),
    "kinds that nobody knows": many("apiVersion: a/v1\nkind: A\nmetadata: {name: a#, namespace: shop}\n---\n"),
    "templates of Argo": many(ANALYSIS.replace("gitops-bg.dev", "argoproj.io") + "  metrics: [{name: a}]\n---\n"),
}
CASE_SHAPES: Mapping[str, Shape] = {
    **OF_ANY_PLACE,
    "cases": many('- {name: c#, now: "2026-11-18T09:00:00Z", expect: {freeze: open}}\n', CASES),
    "cases of a policy that is none": many('- {name: c#, now: "2026-11-18T09:00:00Z", expect: {p#: open}}\n', CASES),
    "expectations": many("p#: open, ", CASES + '- {name: c, now: "2026-11-18T09:00:00Z", expect: {', "}}\n"),
}
EDITED: Mapping[str, Shape] = {
    "variables": OF_ONE["variables"][1],
    "containers": OF_ONE["containers"][1],
    "comments": many("# a\n", ONE),
    "documents": many("---\na: b\n", ONE),
}
OBJECTS: Mapping[str, Shape] = {
    **OF_ANY_PLACE,
    "Services": OF_ONE["Services"][1],
    "ConfigMaps": OF_ONE["ConfigMaps"][1],
}
