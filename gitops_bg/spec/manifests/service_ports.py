"""The Services of an app in Git: which field of app.yaml names which, their ports, and whether the pods of its target
can serve them. Changes nothing.

The core decides which ports live traffic gets, and when (``core.transitions.switching``).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gitops_bg.core.checks.ports import NONE, container_ports, copied_ports, unservable, written
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.spec import Strategy
from gitops_bg.core.model.version import ServicePorts
from gitops_bg.spec.app.validation import nearest
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.reader import Document

LIVE, CANDIDATE = "live traffic", "the candidate"
_BLUE_GREEN: Path = ("spec", "strategy", "blueGreen")


def service_fields(strategy: Strategy, app: Mapping[str, Any]) -> Iterator[tuple[str, Path, str]]:
    """For each Service: its name, the field of ``app`` (app.yaml as written) that names it, so that `check` can
    report its line, and what it carries.
    """
    said = app.get("spec", {}).get("strategy", {}).get("blueGreen", {})
    for place, name in enumerate(strategy.active_services):
        field: Path = ("activeServices", place) if said.get("activeServices") else ("activeService",)
        yield name, (*_BLUE_GREEN, *field), LIVE
    if strategy.preview_service:
        yield strategy.preview_service, (*_BLUE_GREEN, "previewService"), CANDIDATE


EXTERNAL = "ExternalName"


def ports_in_git(
    strategy: Strategy, services: Mapping[str, Mapping[str, Any]], *, whole: bool
) -> Iterator[ServicePorts]:
    """The ports of each Service of an app and of its folder; empty where they are derived from its pods.

    A preview Service without a manifest has those of the active one: who tries a version there calls it as clients do.
    Unless the whole folder could be read (``whole``), a Service that is missing there is left out.
    """
    named = {*strategy.active_services, strategy.preview_service} if whole else set()
    for name in sorted({name for name in named if name} | services.keys()):
        copies = name == strategy.preview_service and name not in services
        yield ServicePorts(name, _copied(strategy, services) if copies else _ports(services.get(name) or {}))


def _copied(strategy: Strategy, services: Mapping[str, Mapping[str, Any]]) -> str:
    """The ports of the first active Service that has a manifest with ports; empty where none has."""
    of_active = (_ports(services.get(name) or {}) for name in strategy.active_services)
    return next((copied_ports(ports) for ports in of_active if ports not in ("", NONE)), "")


def _ports(manifest: Mapping[str, Any]) -> str:
    spec = manifest.get("spec")
    return written(spec.get("ports") or []) if spec else ""


def is_external(document: Document) -> bool:
    """Whether a Service is only another name of something else, so that it can have no pods."""
    return bool((document.value.get("spec") or {}).get("type") == EXTERNAL)


def check_ports(document: Document) -> Iterator[Problem]:
    """Check that its ports can be told apart, as the API server demands of every Service."""
    ports = (document.value.get("spec") or {}).get("ports") or ()
    names: set[str] = set()
    numbers: set[tuple[int, str]] = set()
    for place, port in enumerate(ports):
        field: Path = ("spec", "ports", place)
        name, number = port.get("name") or "", (port["port"], port.get("protocol") or "TCP")
        if not name and len(ports) > 1:
            yield document.problem(field, "has no name, which one of several ports needs", "add name")
        if name and name in names:
            yield document.problem((*field, "name"), f"{name} is the name of another port", "write another one")
        if number in numbers:
            message = f"{number[0]} ({number[1]}) is another port's number"
            yield document.problem((*field, "port"), message, "remove one of the two")
        names.add(name)
        numbers.add(number)


def check_service(document: Document, target_file: str, template: str) -> Iterator[Problem]:
    """All reasons why pods of a template (empty: unknown) would not get the traffic of a Service."""
    spec = document.value.get("spec") or {}
    if is_external(document):
        message = "ExternalName has no pods behind it, so its traffic cannot be moved"
        yield document.problem(("spec", "type"), message, "write ClusterIP")
    for place, port in enumerate(spec.get("ports") or ()) if template else ():
        for name, protocol in unservable(template, written([port])):
            if isinstance(name, str):
                yield _dangling(document, place, name, protocol, target_file, template)


def _dangling(document: Document, place: int, name: str, protocol: str, target_file: str, template: str) -> Problem:
    known = sorted(key for key, of in container_ports(template) if isinstance(key, str) and of == protocol)
    guess = nearest(name, known) or (known[0] if len(known) == 1 else "")
    field: Path = ("spec", "ports", place, "targetPort")
    message = f"no container of {target_file} has a {protocol} port named {name}, so no request would arrive"
    remedy = f"write {guess}, or name a containerPort {name}" if guess else f"name a containerPort {name}"
    others = f"; it has {', '.join(known)}" if known and not guess else ""
    return document.problem(field, message + others, f"{remedy} in {target_file}")
