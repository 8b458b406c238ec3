"""The objects of an installation, from the files of `deploy/`, for one namespace and one image, and the templates of
`deploy/chart`, made of the same files, so that the two cannot drift. Asks no server.

`deploy/kustomization.yaml` names the files and their order, so that `kubectl apply -k`, `gitops-bg install` and the
chart install the same. Where apps may live is in none of them: each way asks for it.

``python -m gitops_bg.cluster.chart deploy`` (part of ``make docs``) writes the templates. What a value of the chart
sets is a placeholder in the objects; settings.yaml, _helpers.tpl and NOTES.txt are written by hand. Helm makes the
namespace itself. What watches the agent is rendered with ``monitoring.enabled``, because its kinds are the Prometheus
operator's; the dashboard is a file of the chart, so that its braces stay Grafana's. Who reaches it is rendered with
``networkPolicy.enabled``. Helm keeps the CustomResourceDefinitions when the chart is uninstalled, and upgrades them
with it: they are templates, because helm never upgrades what is in a folder `crds`. What every object of a release has
as labels, and what the image is called, say the helpers of _helpers.tpl.
"""

import base64
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from gitops_bg.cluster.api.kinds import DEFINITIONS, DEPLOYMENTS, NAMESPACES, NETWORK_POLICIES, Object
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_text import lines_of
from gitops_bg.spec.yaml.reader import read, read_one
from gitops_bg.spec.yaml.scalars import to_yaml

NAME = "gitops-bg"
"""The name of the agent's Deployment, Service, ServiceAccount and rights, and of its settings' ConfigMap."""
AGENTS = f"app.kubernetes.io/name={NAME}"
"""The label selector of the agent's Deployment and its pods."""
NAMESPACE = "gitops-bg"
"""The namespace in the files."""
CREDENTIALS = f"{NAME}-git"
"""The name of the Secret with the credentials for Git."""
CREDENTIALS_FOLDER = "/etc/gitops-bg/git"
"""Where the agent's container has the files of that Secret."""
SETTINGS_DIGEST = f"{names.GROUP}/settings"
"""The annotation of the agent's pods by which a change of their settings restarts them."""

MONITORING = "monitoring"
"""The folder of what watches an installation; it has a kustomization of its own."""

WATCHED = "GITOPS_BG_NAMESPACE"
"""The setting with the namespaces whose apps the agent manages; without it, all."""

IMPERSONATED = "GITOPS_BG_IMPERSONATE_SERVICE_ACCOUNT"
"""The setting with the ServiceAccount that the agent acts as in each namespace; without it, as itself."""
_IMPERSONATOR = f"{NAME}-impersonator"
"""The role with the right to act as a ServiceAccount, in deploy/rbac.yaml."""

_KUSTOMIZATION = "kustomization.yaml"
_ONE_NAMESPACE = "app-namespace.yaml"
_ALL_NAMESPACES = "all-namespaces.yaml"


@dataclass(frozen=True, slots=True)
class Watched:
    """The namespaces whose apps the agent manages, and whether it has its rights in all of them at once."""

    namespaces: tuple[str, ...] = ()
    """All, where there are none."""
    everywhere: bool = False
    """Whether one binding for the whole cluster gives the rights, instead of one in each namespace."""
    impersonated: str = ""
    """The ServiceAccount of each namespace that the agent acts as there; empty: it acts as itself."""


@dataclass(frozen=True, slots=True)
class Installation:
    """What an installation is for; what is empty stays as in the files."""

    namespace: str = NAMESPACE
    image: str = ""
    watched: Watched = Watched()
    settings: Mapping[str, str] = field(default_factory=dict)
    """The options of the agent as environment variables, for the ConfigMap."""
    settings_digest: str = ""
    """The digest of the settings that the agent will have; a new one restarts its pods."""
    credentials: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The files of the Secret, by name. Must never be printed."""


def objects_of(folder: Path, wanted: Installation) -> tuple[Object, ...]:
    """Return the objects of ``folder`` for an installation, in the order in which to apply them.

    Rights in the namespaces of apps, settings and credentials come before the Deployment, which needs them. Raises
    `InvalidInput` for a file of ``folder`` that cannot be read.
    """
    found = tuple(_placed(each, wanted) for each in _written(folder))
    own = (*bindings_of(folder, wanted), *_own_objects(wanted))
    before = [each["kind"] for each in found].index(DEPLOYMENTS.name)
    return found[:before] + own + found[before:]


def monitoring_of(folder: Path, wanted: Installation) -> tuple[Object, ...]:
    """Return the objects of ``folder`` by which the Prometheus operator watches an installation: none that the agent
    needs.
    """
    return tuple(_placed(each, wanted) for each in _written(folder / MONITORING))


def bindings_of(folder: Path, wanted: Installation) -> tuple[Object, ...]:
    """Return what gives the agent its rights where apps may live: one binding for the cluster, or one in each
    namespace.
    """
    watched = wanted.watched
    own = tuple(
        _placed(each, wanted) for each in _read(folder, _ALL_NAMESPACES if watched.everywhere else _ONE_NAMESPACE)
    )
    bodies = (*own, *map(_impersonating, own)) if watched.impersonated else own
    if watched.everywhere:
        return bodies
    return tuple(_inside(body, namespace) for namespace in watched.namespaces for body in bodies)


def _impersonating(binding: Object) -> Object:
    """Return a binding as one of the right to act as a ServiceAccount."""
    metadata, role = {**binding["metadata"], "name": _IMPERSONATOR}, {**binding["roleRef"], "name": _IMPERSONATOR}
    return {**binding, "metadata": metadata, "roleRef": role}


def settings_watching(settings: Mapping[str, str], watched: Watched) -> Mapping[str, str]:
    """Return settings with the namespaces that the agent manages, and whom it acts as there.

    >>> settings_watching({"GITOPS_BG_POLL": "10s"}, Watched(("shop", "pay"), impersonated="apps"))
    {'GITOPS_BG_POLL': '10s', 'GITOPS_BG_NAMESPACE': 'shop pay', 'GITOPS_BG_IMPERSONATE_SERVICE_ACCOUNT': 'apps'}
    """
    said = {WATCHED: " ".join(watched.namespaces), IMPERSONATED: watched.impersonated}
    others = {name: value for name, value in settings.items() if name not in said}
    return others | {name: value for name, value in said.items() if value}


def settings_digest(settings: Mapping[str, str]) -> str:
    """Return a short name for settings that changes with them."""
    return hashlib.sha256(json.dumps(dict(settings), sort_keys=True).encode()).hexdigest()[:16]


def image_of(objects: tuple[Object, ...]) -> str:
    """Return the image of the agent."""
    return next(str(_container(each)["image"]) for each in objects if each["kind"] == DEPLOYMENTS.name)


def _written(folder: Path) -> Iterator[Object]:
    """Yield the objects as they are in the files."""
    document, problems = read_one(_KUSTOMIZATION, (folder / _KUSTOMIZATION).read_bytes())
    if document is None:
        raise InvalidInput(*problems)
    for file in document.value["resources"]:
        yield from _read(folder, file)


def _read(folder: Path, file: str) -> Iterator[Object]:
    reading = read(file, (folder / file).read_bytes())
    if reading.problems:
        raise InvalidInput(*reading.problems)
    yield from (each.value for each in reading.documents)


def _inside(body: Object, namespace: str) -> Object:
    return {**body, "metadata": {**body["metadata"], "namespace": namespace}}


def _placed(body: Object, wanted: Installation) -> Object:
    """Return a manifest moved to the wanted namespace, with the wanted image and what restarts pods for new
    settings.
    """
    metadata = {**body["metadata"]}
    if "namespace" in metadata:
        metadata["namespace"] = wanted.namespace
    if body["kind"] == NAMESPACES.name:
        metadata["name"] = wanted.namespace
    placed = {**body, "metadata": metadata}
    if "subjects" in body:
        placed["subjects"] = [{**each, "namespace": wanted.namespace} for each in body["subjects"]]
    return _configured(placed, wanted) if body["kind"] == DEPLOYMENTS.name else placed


def _configured(deployment: Object, wanted: Installation) -> Object:
    template = deployment["spec"]["template"]
    metadata, spec = template["metadata"], template["spec"]
    if wanted.settings_digest:
        annotations = {**metadata.get("annotations", {}), SETTINGS_DIGEST: wanted.settings_digest}
        metadata = {**metadata, "annotations": annotations}
    container = _container(deployment)
    spec = {**spec, "containers": [{**container, "image": wanted.image or container["image"]}]}
    return {**deployment, "spec": {**deployment["spec"], "template": {**template, "metadata": metadata, "spec": spec}}}


def _container(deployment: Object) -> dict[str, Any]:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return dict(container)


def _own_objects(wanted: Installation) -> Iterator[Object]:
    """Yield the ConfigMap and the Secret, which no file has: they are the user's."""
    place = {"namespace": wanted.namespace, "labels": names.OWN_LABELS}
    if wanted.settings:
        metadata = {**place, "name": NAME}
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(wanted.settings)}
    if wanted.credentials:
        data = {name: base64.b64encode(content).decode() for name, content in wanted.credentials.items()}
        yield {"apiVersion": "v1", "kind": "Secret", "metadata": {**place, "name": CREDENTIALS}, "data": data}


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
    "image": '{{ include "gitops-bg.image" . | quote }}',
    "pullPolicy": "{{ .Values.image.pullPolicy }}",
    "replicas": "{{ .Values.replicas }}",
    "dashboard": f'{{{{ .Files.Get "{DASHBOARD}" | toJson }}}}',
    "resources": "{{- toYaml .Values.resources | nindent 12 }}",
    "mirrorSize": '"{{ .Values.mirrorSize }}"',
    "ingress": "{{- toYaml .Values.networkPolicy.ingress | nindent 4 }}",
    "egress": "{{- toYaml .Values.networkPolicy.egress | nindent 4 }}",
}
POD_FIELDS = (
    *("affinity", "dnsConfig", "dnsPolicy", "hostAliases", "imagePullSecrets", "nodeSelector", "priorityClassName"),
    *("runtimeClassName", "schedulerName", "tolerations", "topologySpreadConstraints"),
)
"""The fields of the agent's pod that are values of the same name."""


def _with(value: str, *lines: str) -> tuple[str, ...]:
    """Return lines that are there where a value is."""
    return (f"{{{{- with .Values.{value} }}}}", *lines, "{{- end }}")


def _more(value: str, indent: int) -> tuple[str, ...]:
    """Return what a value adds to a list or to a map."""
    return _with(value, f"{{{{- toYaml . | nindent {indent} }}}}")


_BLOCKS = {
    "recommended": ('{{- include "gitops-bg.labels" $ | nindent 4 }}',),
    "monitoringLabels": _more("monitoring.labels", 4),
    "accountAnnotations": _with("serviceAccount.annotations", "annotations: {{- toYaml . | nindent 4 }}"),
    "podLabels": _more("podLabels", 8),
    "podAnnotations": (
        '{{- $settings := include "gitops-bg.settings" . | fromYaml }}',
        "{{- if or $settings .Values.podAnnotations }}",
        "annotations:",
        "  {{- with $settings }}",
        f"  {SETTINGS_DIGEST}: {{{{ toJson . | sha256sum | trunc 16 | quote }}}}",
        "  {{- end }}",
        *(f"  {line}" for line in _more("podAnnotations", 8)),
        "{{- end }}",
    ),
    "podFields": tuple(line for name in POD_FIELDS for line in _with(name, f"{name}: {{{{- toYaml . | nindent 8 }}}}")),
    "extraArgs": _more("extraArgs", 12),
    "extraEnv": _more("extraEnv", 12),
    "extraVolumeMounts": _more("extraVolumeMounts", 12),
    "extraVolumes": _more("extraVolumes", 8),
}
"""What stands for a whole field, or for more items of a list, with lines of its own."""
_WATCHED = "watched-namespaces.yaml"
"""The template with the agent's rights where apps may live."""
_ENABLED_BY = {f"{MONITORING}.yaml": "monitoring.enabled", "networkpolicy.yaml": "networkPolicy.enabled"}
"""The value without which a template is empty, by file."""


def templates(folder: Path) -> Mapping[str, str]:
    """Return the text of each template by its file name, from the files in ``folder``."""
    found: dict[str, list[str]] = {}
    for body in objects_of(folder, _ANYWHERE):
        if body["kind"] != NAMESPACES.name:
            found.setdefault(_file_of(body), []).append(_text(_labelled(_open(body), "@recommended@")))
    found[f"{MONITORING}.yaml"] = _monitoring(folder)
    made = {name: _HEADER + _if_enabled(name, "---\n".join(texts)) for name, texts in found.items()}
    return made | {_WATCHED: _HEADER + _watched(folder)}


def _watched(folder: Path) -> str:
    """Return the bindings for the whole cluster, or those in each namespace; nothing where no value names any."""
    scopes = (Watched(everywhere=True, impersonated="@any@"), Watched(("@watched@",), impersonated="@any@"))
    everywhere, inside = (_bindings(folder, each) for each in scopes)
    begin, otherwise = (
        "{{- if .Values.watchAllNamespaces }}\n",
        "{{- else }}\n{{- range .Values.watchNamespaces }}\n---\n",
    )
    return begin + everywhere + otherwise + inside + "{{- end }}\n{{- end }}\n"


def _bindings(folder: Path, watched: Watched) -> str:
    """Return the binding of the agent's rights, and the one by which it acts as somebody else where a value says so."""
    bodies = bindings_of(folder, replace(_ANYWHERE, watched=watched))
    own, impersonating = (_text(_labelled(body, "@recommended@")) for body in bodies)
    return f"{own}{{{{- if $.Values.impersonateServiceAccount }}}}\n---\n{impersonating}{{{{- end }}}}\n"


def _if_enabled(name: str, text: str) -> str:
    value = _ENABLED_BY.get(name)
    return f"{{{{- if .Values.{value} }}}}\n{text}{{{{- end }}}}\n" if value else text


def _monitoring(folder: Path) -> list[str]:
    """Return the objects that watch the agent, as text."""
    labels = {**names.OWN_LABELS, "grafana_dashboard": "1"}
    metadata = {"name": f"{NAME}-dashboard", "namespace": _ANYWHERE.namespace, "labels": labels}
    dashboard = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {DASHBOARD: "@dashboard@"}}
    bodies = (*monitoring_of(folder, _ANYWHERE), dashboard)
    return [_text(_labelled(body, "@recommended@", "@monitoringLabels@")) for body in bodies]


def _labelled(body: Object, *more: str) -> Object:
    """Return an object with room for more labels: of the release, or those by which an operator selects."""
    labels = {**body["metadata"].get("labels", {}), **dict.fromkeys(more, "")}
    return {**body, "metadata": {**body["metadata"], "labels": labels}}


def _file_of(body: Object) -> str:
    if body["kind"] == DEFINITIONS.name:
        return f"crd-{body['spec']['names']['plural']}.yaml"
    if body["apiVersion"].startswith("rbac.") or body["kind"] == "ServiceAccount":
        return "rbac.yaml"
    return f"{body['kind'].lower()}.yaml"


def _open(body: Object) -> Object:
    """Return an object with placeholders for what values set."""
    if body["kind"] == DEFINITIONS.name:
        return {**body, "metadata": {**body["metadata"], "annotations": KEEP}}
    if body["kind"] == NETWORK_POLICIES.name:
        return {**body, "spec": {**body["spec"], "ingress": "@ingress@", "egress": "@egress@"}}
    if body["kind"] == "ServiceAccount":
        return {**body, "metadata": {**body["metadata"], "@accountAnnotations@": ""}}
    return _open_deployment(body) if body["kind"] == DEPLOYMENTS.name else body


def _open_deployment(body: Object) -> Object:
    spec = body["spec"]
    template: dict[str, Any] = spec["template"]
    (container,) = template["spec"]["containers"]
    more = {name: [*container[name], f"@extra{name[0].upper()}{name[1:]}@"] for name in ("args", "env", "volumeMounts")}
    opened = {**container, **more, "resources": "@resources@", "imagePullPolicy": "@pullPolicy@"}
    volumes = [*map(_open_volume, template["spec"]["volumes"]), "@extraVolumes@"]
    pod = {**template["spec"], "containers": [opened], "volumes": volumes, "@podFields@": ""}
    labels = {**template["metadata"]["labels"], "@podLabels@": ""}
    metadata = {**template["metadata"], "labels": labels, "@podAnnotations@": ""}
    return {**body, "spec": {**spec, "replicas": "@replicas@", "template": {"metadata": metadata, "spec": pod}}}


def _open_volume(volume: Object) -> Object:
    return {**volume, "emptyDir": {"sizeLimit": "@mirrorSize@"}} if volume["name"] == MIRROR else volume


def _text(body: Object) -> str:
    """Return an object as the text of a template; braces of its own are not helm's."""
    escaped = to_yaml(body).replace("{{", '{{ "{{" }}')
    return "".join(_line(line) for line in lines_of(escaped.removesuffix("\n")))


def _line(line: str) -> str:
    if block := re.fullmatch(r'( *)(?:"@(\w+)@": ""|- "@(\w+)@")', line, flags=re.ASCII):
        return "".join(f"{block[1]}{each}\n" for each in _BLOCKS[block[2] or block[3]])
    if runbook := re.fullmatch(r'( *runbook_url: )"[^"#]+(#[\w-]+)"', line, flags=re.ASCII):
        return f'{runbook[1]}{{{{ printf "%s{runbook[2]}" .Values.monitoring.runbookUrl | quote }}}}\n'
    return re.sub(r'"@(\w+)@"', lambda value: _VALUES[value[1]], line, flags=re.ASCII) + "\n"


def main(folder: Path) -> None:
    """Write the templates, and the dashboard, into the chart of ``folder``."""
    for name, text in templates(folder).items():
        (folder / "chart" / "templates" / name).write_text(text)
    (folder / "chart" / DASHBOARD).write_text((folder / MONITORING / DASHBOARD).read_text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
