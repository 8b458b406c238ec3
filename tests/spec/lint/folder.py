"""A folder of an app in which `check` finds nothing, and how the rows of a table change it."""

from __future__ import annotations

from gitops_bg.spec.app.check import check_repository

FOLDER = "apps/shop/web"
APP = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: BlueGreenDeployment
metadata: {name: web, namespace: shop}
spec:
  strategy:
    blueGreen:
      activeService: web
      previewService: web-preview
"""
TARGET = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
        - name: web
          image: registry.example/shop/web:1.0.0
          ports: [{name: http, containerPort: 8080}]
          readinessProbe: {httpGet: {path: /healthz, port: http}}
          resources: {requests: {cpu: 50m, memory: 64Mi}}
"""
SERVICES = """\
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  ports: [{name: http, port: 80, targetPort: http}]
---
apiVersion: v1
kind: Service
metadata: {name: web-preview}
spec:
  ports: [{name: http, port: 80, targetPort: http}]
"""
GOOD = {"app.yaml": APP, "target.yaml": TARGET, "services.yaml": SERVICES}

Change = tuple[str, str]
"""What stands in a file in place of what; of an empty text: the whole file."""


def changed(file: str, change: Change) -> dict[str, str]:
    """The files of the folder after one change of one file."""
    before, after = change
    assert before in GOOD.get(file, ""), f"{before!r} is not in {file}"
    return {**GOOD, file: GOOD[file].replace(before, after, 1) if before else after}


def found(files: dict[str, str]) -> list[str]:
    """What `check` says of the folder: ``rule: file:line: field: message (remedy)``, without the folder's path."""
    settings = b"apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"
    contents = [(f"{FOLDER}/{name}", text.encode()) for name, text in files.items()]
    checked = check_repository([("gitops-bg.yaml", settings), *contents])
    return [f"{each.rule.name}: {each.problem}".replace(f"{FOLDER}/", "") for each in checked.findings]
