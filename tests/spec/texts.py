"""Texts that several tests of the specs start from."""

from __future__ import annotations

from gitops_bg.core.model.version import AppKey, Source

WEB = AppKey("shop", "web")

APP = """\
apiVersion: gitops-bg.dev/v1alpha1
kind: BlueGreenDeployment
metadata: {name: web, namespace: shop}
spec:
  strategy:
    blueGreen:
      activeService: web
"""

TARGET = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  replicas: 3
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
        - name: web
          image: registry.example/shop/web:1.0.0
"""

SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  selector: {whatever: "has no meaning"}
  ports: [{port: 80}]
"""

SOUND_TARGET = f"{TARGET}          readinessProbe: {{httpGet: {{path: /healthz, port: 8080}}}}\n"
"""The same, and `check` has nothing to note."""

SOUND_SERVICE = SERVICE.replace('  selector: {whatever: "has no meaning"}\n', "")


def app_with(*lines: str, blue_green: str = "") -> str:
    """The app with more lines in ``spec``, and one more in ``spec.strategy.blueGreen``."""
    more = "".join(f"  {line}\n" for line in lines)
    return APP + (f"      {blue_green}\n" if blue_green else "") + more


def source_of(*filenames: str) -> Source:
    """A commit that tells which files it was asked for."""
    return Source(commit=f"commit of {', '.join(filenames)}")
