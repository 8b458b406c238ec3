"""All rules of `check` about an app's folder, in the order of the documentation.

Those about what lies beside the target are here: Services, ConfigMaps and Secrets, and what other tools left in them.
"""

import json
from collections.abc import Iterator, Mapping

from gitops_bg.core.checks.ports import NONE, container_ports, derived_ports
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.layout import DEFAULT_TARGET_FILE, member_of
from gitops_bg.spec.importing.tools import Mark, marks_in_file
from gitops_bg.spec.lint.app_folder import (
    FIELD,
    NO_EFFECT,
    PROBLEM,
    REFUSED_ADDRESS,
    STALE,
    AppFolder,
    Finding,
    FolderRule,
    LintSeverity,
    Rule,
    error,
    name_of,
    near,
    note_rule,
)
from gitops_bg.spec.lint.containers import CONTAINER_RULES, PROBE_RULES
from gitops_bg.spec.lint.pods import POD_RULES, SCALING_RULES
from gitops_bg.spec.manifests.configuration import CONFIG_MAP, SECRET, Named, references
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.reader import first_of
from gitops_bg.spec.yaml.scalars import Body, as_map, maps, texts


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


def _similar_service(folder: AppFolder) -> Iterator[Problem]:
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
    note_rule("service-name", "app.yaml names a Service nearly as one of the folder.", _similar_service),
    error("node-port-twice", "Two Services want the same port of every node.", _node_port_twice),
    note_rule("service-without-ports", "A Service that the agent cannot make.", _without_ports),
    error("never-live", "No version can ever go live: a Service for live traffic has no port.", _never_live),
)


_ENV = {"configMapKeyRef": (CONFIG_MAP, "name"), "secretKeyRef": (SECRET, "name")}
_ENV_FROM = {"configMapRef": (CONFIG_MAP, "name"), "secretRef": (SECRET, "name")}
_VOLUME = {"configMap": (CONFIG_MAP, "name"), "secret": (SECRET, "secretName")}
_SOURCE = {"configMap": (CONFIG_MAP, "name"), "secret": (SECRET, "name")}


def _near_miss(folder: AppFolder) -> Iterator[Problem]:
    objects = {(each.value["kind"], name_of(each)) for each in folder.of_kind(CONFIG_MAP, SECRET)}
    used = references(folder.template)
    for (kind, name), path in _uses(folder):
        if (kind, name) in objects or folder.target is None:
            continue
        other = SECRET if kind == CONFIG_MAP else CONFIG_MAP
        guess = near(name, (its for of, its in objects if of == kind and (of, its) not in used))
        if guess:
            message = f"the folder has no {kind} {name}, but one called {guess}, which nothing refers to"
            yield folder.target.problem(path, message, f"did you mean {guess}?")
        elif (other, name) in objects and (other, name) not in used:
            message = f"the folder has no {kind} {name}; its {name} is a {other}"
            yield folder.target.problem(path, message, f"refer to a {other}, or add the {kind}")


def _uses(folder: AppFolder) -> Iterator[tuple[Named, Path]]:
    """What the target refers to, each with the place of the name."""
    for each in folder.containers():
        for place, env in maps(each.body.get("env")):
            yield from _named(as_map(env.get("valueFrom")), (*each.path, "env", place, "valueFrom"), _ENV)
        for place, source in maps(each.body.get("envFrom")):
            yield from _named(source, (*each.path, "envFrom", place), _ENV_FROM)
    for place, volume in maps(folder.pod.get("volumes")):
        path = (*folder.pod_path, "volumes", place)
        yield from _named(volume, path, _VOLUME)
        for number, source in maps(as_map(volume.get("projected")).get("sources")):
            yield from _named(source, (*path, "projected", "sources", number), _SOURCE)


def _named(body: Body, path: Path, fields: Mapping[str, tuple[str, str]]) -> Iterator[tuple[Named, Path]]:
    for field, (kind, key) in fields.items():
        name = as_map(body.get(field)).get(key)
        if isinstance(name, str):
            yield (kind, name), (*path, field, key)


CONFIGURATION_RULES = (
    note_rule(
        "configuration-name", "The target refers to an object nearly as one of the folder is called.", _near_miss
    ),
)


def _tool_mark(folder: AppFolder) -> Iterator[Problem]:
    """The marks on what is applied with its metadata: not on the target, of which only the pods' come to be."""
    for document in folder.others:
        for mark in marks_in_file(as_map(document.value.get("metadata"))):
            remedy = f"remove it, once {mark.tool} applies the object no more: docs/how-to/argo-cd-and-flux.md"
            yield document.problem(("metadata", mark.field, mark.key), _meaning(mark), remedy, at_key=True)


def _meaning(mark: Mark) -> str:
    if not mark.tracks:
        return f"tells {mark.tool} what to do with an object that the agent applies"
    what = ", and it deletes what is not in its own Git" if mark.tool == "Argo CD" else ""
    return f"is how {mark.tool} knows its objects{what}: this one is the agent's"


OTHER_TOOLS_RULES = (note_rule("tool-mark", "What another tool left on an object that the agent applies.", _tool_mark),)


FOLDER_RULES: tuple[FolderRule, ...] = (
    *CONTAINER_RULES,
    *PROBE_RULES,
    *POD_RULES,
    *CONFIGURATION_RULES,
    *SERVICE_RULES,
    *SCALING_RULES,
    *OTHER_TOOLS_RULES,
)

RULES: tuple[Rule, ...] = (PROBLEM, FIELD, STALE, *FOLDER_RULES, REFUSED_ADDRESS, NO_EFFECT)
"""Every rule of `check`: those about a folder, and what the loaders and the linter of fields find."""


def findings(folder: AppFolder, *severities: LintSeverity) -> Iterator[Finding]:
    """What the rules of these severities find."""
    for rule in FOLDER_RULES:
        if rule.severity in severities:
            yield from (Finding(rule, problem) for problem in first_of(rule.find(folder)))
