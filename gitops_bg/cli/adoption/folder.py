"""The folder of an app that is adopted: its files, each with a comment that says where it came from. Pure.

What is live becomes what Git says, word for word; only what nobody wrote is left out (`authored`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitops_bg.cli.adoption.authored import authored
from gitops_bg.cli.adoption.choice import Chosen
from gitops_bg.core.model.spec import ScaleDown
from gitops_bg.core.names import API_VERSION, KIND
from gitops_bg.spec.app.layout import APP_FILE, DEFAULT_TARGET_FILE
from gitops_bg.spec.yaml.emit import to_yaml

Object = Mapping[str, Any]

SERVICES_FILE, _AUTOSCALER_FILE = "services.yaml", "autoscaler.yaml"


def folder_of(chosen: Chosen, scale_down: ScaleDown) -> dict[str, str]:
    """The text of each file, by its name in the folder, in the order in which people read them. Without a Service that
    carries live traffic, which is a reason to write nothing, there is no file of Services.
    """
    files = {
        APP_FILE: _commented(_about_app(chosen), _app(chosen, scale_down)),
        DEFAULT_TARGET_FILE: _commented(_about_target(chosen), authored(chosen.deployment)),
    }
    if chosen.services:
        files[SERVICES_FILE] = "---\n".join(_services(chosen))
    if chosen.autoscaler is not None:
        files[_AUTOSCALER_FILE] = _copied(chosen.autoscaler, "A copy of it scales the live version.")
    for body in chosen.budgets:
        files[_file_of(body)] = _copied(body, "The agent takes it over.")
    for body in chosen.config_maps:
        about = "It is part of a version: the pods of each version read a copy of their own."
        files[_file_of(body)] = _copied(body, about)
    return files


def origins_of(chosen: Chosen) -> dict[str, list[Object | None]]:
    """The live object of each document of a file, by the file's name; None for what is new."""
    found: dict[str, list[Object | None]] = {
        DEFAULT_TARGET_FILE: [chosen.deployment],
        SERVICES_FILE: [*chosen.services, None],
        **{_file_of(each): [each] for each in (*chosen.budgets, *chosen.config_maps)},
    }
    return found | ({_AUTOSCALER_FILE: [chosen.autoscaler]} if chosen.autoscaler is not None else {})


def _file_of(body: Object) -> str:
    """The file of a budget or a ConfigMap, of which there may be several."""
    kind = {"PodDisruptionBudget": "budget", "ConfigMap": "configmap"}[body["kind"]]
    return f"{kind}-{body['metadata']['name']}.yaml"


def _app(chosen: Chosen, scale_down: ScaleDown) -> dict[str, Any]:
    active = [str(each["metadata"]["name"]) for each in chosen.services] or [chosen.app.name]
    named: dict[str, Any] = {"activeService": active[0]} if len(active) == 1 else {"activeServices": active}
    spec: dict[str, Any] = {
        "target": DEFAULT_TARGET_FILE,
        "adopt": {"deployment": chosen.deployment["metadata"]["name"], "scaleDown": scale_down.value},
        "strategy": {"blueGreen": {**named, "previewService": chosen.preview}},
    }
    if chosen.autoscaler is not None:
        autoscaler = chosen.autoscaler
        spec["autoscalerRef"] = {"kind": autoscaler["kind"], "name": autoscaler["metadata"]["name"]}
    metadata = {"name": chosen.app.name, "namespace": chosen.app.namespace}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}


def _services(chosen: Chosen) -> Iterator[str]:
    for live in chosen.services:
        yield _copied(live, "Its selector is the agent's from now on: it names one version.")
    first = authored(chosen.services[0])
    metadata = {"name": chosen.preview, "namespace": chosen.app.namespace}
    ports = [{key: each for key, each in port.items() if key != "nodePort"} for port in first["spec"]["ports"]]
    preview = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}
    yield _commented(["New: the candidate is reached through it before it is live."], preview)


def _copied(live: Object, about: str) -> str:
    return _commented([*_origin(live), about], authored(live))


def _about_app(chosen: Chosen) -> list[str]:
    return [
        f"Written by `gitops-bg adopt` for {_name_of(chosen.deployment)}.",
        "`adopt` lets the agent take its Services over, once, when the agent's own pods are ready. It may be removed",
        "when the condition Adopting is False.",
    ]


def _about_target(chosen: Chosen) -> list[str]:
    lines = [*_origin(chosen.deployment), "The agent never writes this file: people and CI push to it."]
    if chosen.secrets:
        lines.append(f"Its Secrets stay in the cluster, and are no part of a version: {', '.join(chosen.secrets)}.")
    return lines


def _origin(live: Object) -> list[str]:
    return [f"From {_name_of(live)}; left out: status, managed fields, defaults of the API server."]


def _name_of(live: Object) -> str:
    return f"{live['kind']} {live['metadata']['namespace']}/{live['metadata']['name']}"


def _commented(lines: Sequence[str], body: Object) -> str:
    return "".join(f"# {line}\n" for line in lines) + to_yaml(body)
