"""Rules about the Services that app.yaml names: their ports, selectors and names. For `check` only."""

import json
from collections.abc import Iterator

from gitops_bg.core.checks.ports import NONE, container_ports, derived_ports
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.layout import DEFAULT_TARGET_FILE, member_of
from gitops_bg.spec.lint.app_folder import AppFolder, error, name_of, near, note_rule
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.scalars import as_map, maps, texts


def _target_port(folder: AppFolder) -> Iterator[Problem]:
    """A number that no container declares; of a name that none declares, the agent says it too (`service_ports`)."""
    declared = container_ports(json.dumps(folder.template))
    if not declared:
        return
    for service in folder.services():
        for place, port in maps(as_map(service.value.get("spec")).get("ports")):
            field = "targetPort" if port.get("targetPort") is not None else "port"
            number, protocol = port.get(field), port.get("protocol") or "TCP"
            if isinstance(number, int) and (number, protocol) not in declared:
                known = sorted((str(each) for each, of in declared if of == protocol), key=str.isdecimal)
                message = f"no container of {_target_file(folder)} declares the {protocol} port {number}"
                write = f"write targetPort: {' or '.join(known)}, or " if known else ""
                remedy = f"{write}declare containerPort {number}"
                yield service.problem(("spec", "ports", place, field), message, remedy)


def _target_file(folder: AppFolder) -> str:
    return folder.target.file.rpartition("/")[2] if folder.target else DEFAULT_TARGET_FILE


def _selector(folder: AppFolder) -> Iterator[Problem]:
    labels = dict(texts(as_map(folder.template.get("metadata")).get("labels")))
    for service in folder.services():
        written = as_map(service.value.get("spec")).get("selector")
        if as_map(written):
            strange = [f"{key}: {value}" for key, value in as_map(written).items() if labels.get(key) != value]
            also = f"; no pod of the target has {strange[0]} either" if strange and labels else ""
            message = f"has no effect: the agent sets the selector to one version{also}"
            yield service.problem(("spec", "selector"), message, "remove it", at_key=True)


def _near_miss(folder: AppFolder) -> Iterator[Problem]:
    fields = folder.named_services()
    named = {name for name, _, _ in fields}
    unnamed = {name_of(each) for each in folder.of_kind("Service")} - named
    for name, path, carries in fields:
        guess = near(name, unnamed) if name not in folder.config.services else ""
        if guess and not member_of(folder.config.folder):
            message = f"the folder has no Service {name} for {carries}, but one called {guess}, which nobody names"
            yield folder.app.problem(path, message, f"did you mean {guess}?")


def _node_port_twice(folder: AppFolder) -> Iterator[Problem]:
    seen: dict[object, str] = {}
    for service in folder.of_kind("Service"):
        for place, port in maps(as_map(service.value.get("spec")).get("ports")):
            key = (port.get("nodePort"), port.get("protocol") or "TCP")
            if port.get("nodePort") and seen.setdefault(key, name_of(service)) != name_of(service):
                message = f"{port['nodePort']} is taken by the Service {seen[key]} already"
                yield service.problem(("spec", "ports", place, "nodePort"), message, "write another one, or remove it")


def _without_ports(folder: AppFolder) -> Iterator[Problem]:
    """A Service that the agent would have to make of the pods' ports, and there are none (`render`)."""
    for name, path, carries in _unmade(folder):
        if not _is_needed(folder, name):
            message = f"Service {name} ({carries}) is not in Git, and no container declares a port to make it of"
            remedy = f"declare a containerPort, or add a manifest of Service {name} to the folder"
            yield folder.app.problem(path, message, remedy)


def _never_live(folder: AppFolder) -> Iterator[Problem]:
    """The same of live traffic, which then has no way to any version."""
    for name, path, _ in _unmade(folder):
        if _is_needed(folder, name):
            message = f"no version could ever go live: Service {name} says no port, and no container declares one"
            remedy = (
                "declare a containerPort, or write the Service with its ports; a worker that nobody calls has no live "
                "traffic to switch: leave it a Deployment, applied as before"
            )
            yield folder.app.problem(path, message, remedy)


def _is_needed(folder: AppFolder, name: str) -> bool:
    """Whether a Service carries live traffic, and none in the cluster may take its place."""
    spec = folder.config.spec
    return spec is not None and spec.adopt is None and name in spec.strategy.active_services


def _unmade(folder: AppFolder) -> Iterator[tuple[str, Path, str]]:
    """The Services of which neither a manifest nor a container says a port."""
    if folder.config.primary or not any(folder.containers()) or derived_ports(json.dumps(folder.template)):
        return
    headless = {
        name for name, each in folder.config.services.items() if as_map(each.get("spec")).get("clusterIP") == "None"
    }
    known = {each.service: each.ports for each in folder.config.ports if each.ports != NONE or each.service in headless}
    yield from (each for each in folder.named_services() if not known.get(each[0]))


SERVICE_RULES = (
    note_rule("target-port", "A Service leads to a port that no container declares.", _target_port),
    note_rule("service-selector", "A selector that the agent replaces.", _selector),
    note_rule("service-name", "app.yaml names a Service nearly as one of the folder.", _near_miss),
    error("node-port-twice", "Two Services want the same port of every node.", _node_port_twice),
    note_rule("service-without-ports", "A Service that the agent cannot make.", _without_ports),
    error("never-live", "No version can ever go live: a Service for live traffic has no port.", _never_live),
)
