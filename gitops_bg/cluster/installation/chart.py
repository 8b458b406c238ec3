"""Makes the templates of `deploy/chart` from the other files of `deploy/`, so that the two cannot drift.

``python -m gitops_bg.cluster.installation.chart deploy`` (part of ``make docs``) writes them. What a value of the chart
sets is a placeholder in the objects; settings.yaml and NOTES.txt are written by hand. Helm makes the namespace itself.

What watches the agent is rendered with ``monitoring.enabled``, because its kinds are the Prometheus operator's; the
dashboard is a file of the chart, so that its braces stay Grafana's. Who reaches it is rendered with
``networkPolicy.enabled``.

Helm keeps the CustomResourceDefinitions when the chart is uninstalled, and upgrades them with it: they are templates,
because helm never upgrades what is in a folder `crds`.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitops_bg.cluster.api.kinds import DEFINITIONS, DEPLOYMENTS, NAMESPACES, Object
from gitops_bg.cluster.installation.installer import NETWORK_POLICIES
from gitops_bg.cluster.installation.manifests import (
    MONITORING,
    NAME,
    SETTINGS_DIGEST,
    Installation,
    Watched,
    bindings_of,
    monitoring_of,
    objects_of,
)
from gitops_bg.core.foreign_text import lines_of
from gitops_bg.spec.yaml.emit import to_yaml

DASHBOARD = "dashboard.json"
"""The file of Grafana's dashboard, in ``deploy/monitoring`` and in the chart."""
MIRROR = "mirror"
"""The volume with the clone of the repository, whose size a value sets."""
KEEP = {"helm.sh/resource-policy": "keep"}
"""The annotation by which helm leaves an object where it is when the chart is uninstalled."""

_HEADER = "# Made from deploy/ by `make docs`; edit that.\n"
_ANYWHERE = Installation(namespace="@namespace@", image="@image@")

_VALUES = {
    "namespace": '"{{ $.Release.Namespace }}"',
    "watched": '"{{ . }}"',
    "image": '"{{ .Values.image }}"',
    "replicas": "{{ .Values.replicas }}",
    "dashboard": f'{{{{ .Files.Get "{DASHBOARD}" | toJson }}}}',
    "resources": "{{- toYaml .Values.resources | nindent 12 }}",
    "mirrorSize": '"{{ .Values.mirrorSize }}"',
    "ingress": "{{- toYaml .Values.networkPolicy.ingress | nindent 4 }}",
    "egress": "{{- toYaml .Values.networkPolicy.egress | nindent 4 }}",
}
_BLOCKS = {
    "annotations": (
        '{{- with include "gitops-bg.settings" . | fromYaml }}',
        "annotations:",
        f"  {SETTINGS_DIGEST}: {{{{ toJson . | sha256sum | trunc 16 | quote }}}}",
        "{{- end }}",
    ),
    "labels": ("{{- with .Values.monitoring.labels }}", "{{- toYaml . | nindent 4 }}", "{{- end }}"),
    "pod": ("{{- with .Values.pod }}", "{{- toYaml . | nindent 6 }}", "{{- end }}"),
}
"""What stands for a whole field, with lines of its own."""
_WATCHED = "watched-namespaces.yaml"
"""The template with the agent's rights where apps may live."""
_ENABLED_BY = {f"{MONITORING}.yaml": "monitoring.enabled", "networkpolicy.yaml": "networkPolicy.enabled"}
"""The value without which a template is empty, by file."""


def templates(folder: Path) -> Mapping[str, str]:
    """The text of each template by its file name, from the files in ``folder``."""
    found: dict[str, list[str]] = {}
    for body in objects_of(folder, _ANYWHERE):
        if body["kind"] != NAMESPACES.name:
            found.setdefault(_file_of(body), []).append(_text(_open(body)))
    found[f"{MONITORING}.yaml"] = _monitoring(folder)
    made = {name: _HEADER + _if_enabled(name, "---\n".join(texts)) for name, texts in found.items()}
    return made | {_WATCHED: _HEADER + _watched(folder)}


def _watched(folder: Path) -> str:
    """The bindings for the whole cluster, or those in each namespace; nothing where no value names any."""
    scopes = (Watched(everywhere=True, impersonated="@any@"), Watched(("@watched@",), impersonated="@any@"))
    everywhere, inside = (_bindings(folder, each) for each in scopes)
    begin, otherwise = (
        "{{- if .Values.watchAllNamespaces }}\n",
        "{{- else }}\n{{- range .Values.watchNamespaces }}\n---\n",
    )
    return begin + everywhere + otherwise + inside + "{{- end }}\n{{- end }}\n"


def _bindings(folder: Path, watched: Watched) -> str:
    """The binding of the agent's rights, and the one by which it acts as somebody else where a value says so."""
    own, impersonating = map(_text, bindings_of(folder, replace(_ANYWHERE, watched=watched)))
    return f"{own}{{{{- if $.Values.impersonateServiceAccount }}}}\n---\n{impersonating}{{{{- end }}}}\n"


def _if_enabled(name: str, text: str) -> str:
    value = _ENABLED_BY.get(name)
    return f"{{{{- if .Values.{value} }}}}\n{text}{{{{- end }}}}\n" if value else text


def _monitoring(folder: Path) -> list[str]:
    """The objects that watch the agent, as text."""
    metadata = {"name": f"{NAME}-dashboard", "namespace": _ANYWHERE.namespace, "labels": {"grafana_dashboard": "1"}}
    dashboard = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {DASHBOARD: "@dashboard@"}}
    return [_text(_labelled(body)) for body in (*monitoring_of(folder, _ANYWHERE), dashboard)]


def _labelled(body: Object) -> Object:
    """An object with room for the labels by which an operator selects."""
    return {**body, "metadata": {**body["metadata"], "labels": {**body["metadata"]["labels"], "@labels@": ""}}}


def _file_of(body: Object) -> str:
    if body["kind"] == DEFINITIONS.name:
        return f"crd-{body['spec']['names']['plural']}.yaml"
    if body["apiVersion"].startswith("rbac.") or body["kind"] == "ServiceAccount":
        return "rbac.yaml"
    return f"{body['kind'].lower()}.yaml"


def _open(body: Object) -> Object:
    """An object with placeholders for what values set."""
    if body["kind"] == DEFINITIONS.name:
        return {**body, "metadata": {**body["metadata"], "annotations": KEEP}}
    if body["kind"] == NETWORK_POLICIES.name:
        return {**body, "spec": {**body["spec"], "ingress": "@ingress@", "egress": "@egress@"}}
    return _open_deployment(body) if body["kind"] == DEPLOYMENTS.name else body


def _open_deployment(body: Object) -> Object:
    spec = body["spec"]
    template: dict[str, Any] = spec["template"]
    (container,) = template["spec"]["containers"]
    containers = [{**container, "resources": "@resources@"}]
    volumes = [_open_volume(each) for each in template["spec"]["volumes"]]
    pod = {**template["spec"], "containers": containers, "volumes": volumes, "@pod@": ""}
    metadata = {**template["metadata"], "@annotations@": ""}
    return {**body, "spec": {**spec, "replicas": "@replicas@", "template": {"metadata": metadata, "spec": pod}}}


def _open_volume(volume: Object) -> Object:
    return {**volume, "emptyDir": {"sizeLimit": "@mirrorSize@"}} if volume["name"] == MIRROR else volume


def _text(body: Object) -> str:
    """An object as the text of a template; braces of its own are not helm's."""
    escaped = to_yaml(body).replace("{{", '{{ "{{" }}')
    return "".join(_line(line) for line in lines_of(escaped.removesuffix("\n")))


def _line(line: str) -> str:
    if block := re.fullmatch(r'( *)"@(\w+)@": ""', line, flags=re.ASCII):
        return "".join(f"{block[1]}{each}\n" for each in _BLOCKS[block[2]])
    filled = re.sub(r'"@(\w+)@"', lambda value: _VALUES[value[1]], line, flags=re.ASCII) + "\n"
    return filled + _runbook_url(line)


def _runbook_url(line: str) -> str:
    """What follows the path of a runbook: its address, where a value says where this documentation is published."""
    if not (runbook := re.fullmatch(r'( *)runbook: "[^"#]+(#[\w-]+)"', line, flags=re.ASCII)):
        return ""
    address = f'{runbook[1]}runbook_url: {{{{ printf "%s{runbook[2]}" . | quote }}}}\n'
    return f"{runbook[1]}{{{{- with .Values.monitoring.runbookUrl }}}}\n{address}{runbook[1]}{{{{- end }}}}\n"


def main(folder: Path) -> None:
    """Write the templates, and the dashboard, into the chart of ``folder``."""
    for name, text in templates(folder).items():
        (folder / "chart" / "templates" / name).write_text(text)
    (folder / "chart" / DASHBOARD).write_text((folder / MONITORING / DASHBOARD).read_text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
