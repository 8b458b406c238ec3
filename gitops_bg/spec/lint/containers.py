"""Rules about the containers of a target: images, ports, environment, resources, probes, what happens when a pod starts
and stops. For `check` only.

What is an error here the API server refuses as well (k8s.io/kubernetes/pkg/apis/core/validation), or, of entries that
are there twice, server-side apply, which finds list items by their key.
"""

import re
from collections.abc import Callable, Hashable, Iterator
from decimal import Decimal
from typing import Any

from gitops_bg.core.checks.ports import container_ports, targets, written
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.validation import IMAGE_EXAMPLE, trouble_with
from gitops_bg.spec.lint.app_folder import MAIN, AppFolder, PlacedContainer, error, note_rule
from gitops_bg.spec.yaml.scalars import Body, Path, as_map, maps, nearest


def _image_reference(folder: AppFolder) -> Iterator[Problem]:
    for each, image in _images(folder):
        if trouble := trouble_with(image):
            remedy = "" if trouble.endswith("?") else f"such as {IMAGE_EXAMPLE}"
            yield each.problem(("image",), f"{image!r} is no image reference: {trouble}", remedy)


def _moving_tag(folder: AppFolder) -> Iterator[Problem]:
    for each, image in _images(folder):
        tag = image.rpartition("/")[2].partition(":")[2]
        if "@" not in image and tag in ("", "latest") and not trouble_with(image):
            said = "is the tag latest" if tag else "has no tag, so it is latest"
            message = f"{image} {said}: what it means can change without a commit, and going back may not bring it back"
            yield each.problem(("image",), message, "write a tag that never moves, or a digest")


def _images(folder: AppFolder) -> Iterator[tuple[PlacedContainer, str]]:
    for each in folder.containers():
        image = each.body.get("image")
        if isinstance(image, str):
            yield each, image


def _port_twice(folder: AppFolder) -> Iterator[Problem]:
    for each in folder.containers():
        names: set[str] = set()
        for place, port in _twice(each, "ports", lambda port: (port.get("containerPort"), port.get("protocol", "TCP"))):
            message = f"{port.get('containerPort')} ({port.get('protocol', 'TCP')}) is there twice"
            yield each.problem(("ports", place, "containerPort"), message, "keep one of the two")
        for place, port in maps(each.body.get("ports")):
            name = port.get("name")
            if isinstance(name, str) and name in names:
                yield each.problem(("ports", place, "name"), f"two ports are called {name}", "rename one")
            names.add(str(name))


def _port_name_shared(folder: AppFolder) -> Iterator[Problem]:
    first: dict[str, PlacedContainer] = {}
    for each in folder.containers():
        for place, port in maps(each.body.get("ports")) if not each.ends else ():
            name = port.get("name")
            if isinstance(name, str) and first.setdefault(name, each).path != each.path:
                message = (
                    f"container {first[name].name} has a port {name}, too: a Service reaches only one of them by name"
                )
                yield each.problem(("ports", place, "name"), message, "rename one")


_HOST_PORT_REMEDY = "remove it, Services lead to containerPort; or have a node for each pod of both versions"


def _host_port(folder: AppFolder) -> Iterator[Problem]:
    for each in () if folder.is_daemon_set else folder.containers():
        for place, port in maps(each.body.get("ports")):
            if port.get("hostPort"):
                message = f"takes port {port['hostPort']} of its node, where the old version may have it still"
                yield each.problem(("ports", place, "hostPort"), message, _HOST_PORT_REMEDY)


def _env_twice(folder: AppFolder) -> Iterator[Problem]:
    for each in folder.containers():
        for place, env in _twice(each, "env", lambda env: env.get("name")):
            message = f"{env.get('name')} is there twice"
            yield each.problem(("env", place, "name"), message, "keep one of the two")


def _env_source(folder: AppFolder) -> Iterator[Problem]:
    for each in folder.containers():
        for place, env in maps(each.body.get("env")):
            sources = [key for key, value in as_map(env.get("valueFrom")).items() if value is not None]
            if env.get("value") and "valueFrom" in env:
                yield each.problem(("env", place), "has both value and valueFrom", "keep one of the two")
            elif "valueFrom" in env and len(sources) != 1:
                found = " and ".join(sources) or "no source"
                yield each.problem(
                    ("env", place, "valueFrom"), f"has {found}", "write exactly one, such as configMapKeyRef"
                )


def _mount_twice(folder: AppFolder) -> Iterator[Problem]:
    for each in folder.containers():
        for place, mount in _twice(each, "volumeMounts", lambda mount: mount.get("mountPath")):
            message = f"{mount.get('mountPath')} is mounted twice"
            yield each.problem(
                ("volumeMounts", place, "mountPath"), message, "keep one of the two, or mount it elsewhere"
            )


def _twice(each: PlacedContainer, field: str, key: Callable[[Body], Hashable]) -> Iterator[tuple[int, Body]]:
    """Yield the items of a list whose key another item before them has."""
    seen: set[str] = set()
    for place, item in maps(each.body.get(field)):
        if repr(key(item)) in seen:
            yield place, item
        seen.add(repr(key(item)))


def _quantity(folder: AppFolder) -> Iterator[Problem]:
    for each in folder.containers():
        for kind in ("requests", "limits"):
            for resource, value in as_map(as_map(each.body.get("resources")).get(kind)).items():
                if isinstance(value, str | int | float) and amount(value) is None:
                    yield each.problem(
                        ("resources", kind, resource), f"{value!r} is no quantity", "such as 500m, 2 or 64Mi"
                    )


def _request_above_limit(folder: AppFolder) -> Iterator[Problem]:
    for each, resource, request, limit in _bounded(folder):
        asked, most = amount(request), amount(limit)
        if asked is not None and most is not None and asked > most:
            message = f"{request} is more than the limit, {limit}"
            yield each.problem(
                ("resources", "requests", resource), message, f"write at most {limit}, or raise the limit"
            )


def _bounded(folder: AppFolder) -> Iterator[tuple[PlacedContainer, str, object, object]]:
    for each in folder.containers():
        resources = as_map(each.body.get("resources"))
        limits = as_map(resources.get("limits"))
        for resource, request in as_map(resources.get("requests")).items():
            if resource in limits:
                yield each, resource, request, limits[resource]


CONTAINER_RULES = (
    error("image-reference", "An image reference that no registry can have.", _image_reference),
    note_rule("image-tag", "An image whose meaning can change without a commit.", _moving_tag),
    error("port-twice", "A container declares a port, or the name of a port, twice.", _port_twice),
    note_rule("port-name-shared", "Two containers of a pod have ports of the same name.", _port_name_shared),
    note_rule(
        "host-port", "Pods of two versions cannot share a node, because both want the same port of it.", _host_port
    ),
    error("env-twice", "A container sets an environment variable twice.", _env_twice),
    error("env-source", "An environment variable has no source, or several.", _env_source),
    error("mount-twice", "Two volumes are mounted at the same path of a container.", _mount_twice),
    error("quantity", "A request or limit that is no quantity.", _quantity),
    error("request-above-limit", "A container requests more than its limit allows.", _request_above_limit),
)


# --- probes, and the start and the stop of a pod ---
# https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/

PROBES = ("readinessProbe", "livenessProbe", "startupProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_GRACE_SECONDS = 30
"""Kubernetes' default of terminationGracePeriodSeconds."""


def _probe_port(folder: AppFolder) -> Iterator[Problem]:
    for each in folder.containers():
        known = [str(port["name"]) for _, port in maps(each.body.get("ports")) if port.get("name")]
        for path, handler in _handlers(each):
            for kind in ("httpGet", "tcpSocket"):
                port = as_map(handler.get(kind)).get("port")
                if isinstance(port, str) and port not in known:
                    yield each.problem((*path, kind, "port"), *_unknown_port(each, port, known))


def _unknown_port(each: PlacedContainer, port: str, known: list[str]) -> tuple[str, str]:
    """Return message and remedy for a named port that the container does not declare."""
    if port.isdecimal():
        return f"{port} is a name because of its quotes, and a name has a letter", "remove the quotes"
    guess = nearest(port, known) or (known[0] if len(known) == 1 else "")
    remedy = f"write {guess}, or a number" if guess else f"name a containerPort {port}, or write a number"
    return f"container {each.name} has no port named {port}, so nothing would ever be reached", remedy


def _handlers(each: PlacedContainer) -> Iterator[tuple[Path, Body]]:
    """Yield the probes and lifecycle hooks of a container, each with its place in it."""
    for probe in PROBES:
        if each.body.get(probe) is not None:
            yield (probe,), as_map(each.body[probe])
    lifecycle = as_map(each.body.get("lifecycle"))
    for hook in ("postStart", "preStop"):
        if lifecycle.get(hook) is not None:
            yield ("lifecycle", hook), as_map(lifecycle[hook])


def _probe_handler(folder: AppFolder) -> Iterator[Problem]:
    for each, probe, body in _probes(folder):
        found = [kind for kind in _HANDLERS if body.get(kind) is not None]
        if len(found) != 1:
            said = " and ".join(found) or f"none of {', '.join(_HANDLERS)}"
            yield each.problem((probe,), f"has {said}", "write exactly one", at_key=True)


def _probe_threshold(folder: AppFolder) -> Iterator[Problem]:
    for each, probe, body in _probes(folder):
        threshold = body.get("successThreshold", 1)
        if probe != "readinessProbe" and isinstance(threshold, int) and threshold > 1:
            message = f"{threshold} is possible for a readinessProbe only"
            yield each.problem((probe, "successThreshold"), message, "write 1, or remove it")


def _probe_of_init_container(folder: AppFolder) -> Iterator[Problem]:
    for each in folder.containers():
        for probe in PROBES if each.ends else ():
            if each.body.get(probe) is not None:
                message = "is possible for no init container that ends before the others start"
                remedy = "remove it, or write restartPolicy: Always for a sidecar"
                yield each.problem((probe,), message, remedy, at_key=True)


def _probes(folder: AppFolder) -> Iterator[tuple[PlacedContainer, str, Body]]:
    for each in folder.containers():
        for probe in PROBES:
            if isinstance(each.body.get(probe), dict):
                yield each, probe, each.body[probe]


def _no_readiness_probe(folder: AppFolder) -> Iterator[Problem]:
    if folder.pod.get("readinessGates"):
        return
    for each in _reached(folder):
        if each.body.get("readinessProbe") is None:
            message = (
                f"container {each.name} gets requests and has no readinessProbe: it counts as ready once it has started"
            )
            yield each.problem(
                (), message, "add a readinessProbe, so that traffic waits until it can answer", at_key=True
            )


def _readiness_gate(folder: AppFolder) -> Iterator[Problem]:
    preview, switch = folder.blue_green.get("previewService"), folder.blue_green.get("previewSwitch", "onReady")
    gates = maps(folder.pod.get("readinessGates"))
    if folder.target is None or (preview and switch == "immediate"):
        return
    for place, gate in gates:
        message = f"{gate.get('conditionType')} may be set only once a Service selects the pods, as load balancers do; "
        if preview:
            message += (
                "the preview Service selects those of a candidate once they are ready: each would wait for the other"
            )
            remedy = "write previewSwitch: immediate in strategy.blueGreen of app.yaml"
        else:
            message += "without a previewService none selects those of a candidate"
            remedy = "write previewService and previewSwitch: immediate in strategy.blueGreen of app.yaml"
        yield folder.target.problem((*folder.pod_path, "readinessGates", place), message, remedy)


def _reached(folder: AppFolder) -> Iterator[PlacedContainer]:
    """Yield the containers that Services reach: by the ports that they declare; where none declares any, the only
    one.
    """
    running = [each for each in folder.containers() if each.group == MAIN]
    if not any(each.body.get("ports") for each in running):
        yield from running if len(running) == 1 else ()
        return
    wanted = _targets(folder)
    for each in running:
        declared = container_ports(_as_template(each))
        if declared & wanted if wanted else declared:
            yield each


def _targets(folder: AppFolder) -> set[tuple[str | int, str]]:
    """Return the targetPorts of the Services in Git; empty where a Service is made of all ports that the pods
    declare.
    """
    listed = [as_map(each.value.get("spec")).get("ports") for each in folder.services()]
    if not listed or not all(isinstance(ports, list) and ports for ports in listed):
        return set()
    return {target for ports in listed for target in targets(written(port for _, port in maps(ports)))}


def _as_template(each: PlacedContainer) -> str:
    import json

    return json.dumps({"spec": {"containers": [{"ports": each.body.get("ports")}]}})


def _ready_too_late(folder: AppFolder) -> Iterator[Problem]:
    spec = folder.config.spec
    for each in folder.containers() if spec else ():
        if each.group != MAIN or spec is None:
            continue
        for probe in ("startupProbe", "readinessProbe"):
            delay = _number(as_map(each.body.get(probe)).get("initialDelaySeconds"))
            total = delay + spec.min_ready_seconds
            if delay and total >= spec.progress_deadline_seconds:
                also = f" and minReadySeconds {spec.min_ready_seconds}" if spec.min_ready_seconds else ""
                message = (
                    f"{delay}{also} are not less than progressDeadlineSeconds ({spec.progress_deadline_seconds}): "
                )
                remedy = "lower it, or raise progressDeadlineSeconds in app.yaml"
                yield each.problem((probe, "initialDelaySeconds"), f"{message}every rollout would fail", remedy)


def _sleeps_too_long(folder: AppFolder) -> Iterator[Problem]:
    grace = folder.pod.get("terminationGracePeriodSeconds", _GRACE_SECONDS)
    for each in folder.containers():
        sleep = as_map(as_map(as_map(each.body.get("lifecycle")).get("preStop")).get("sleep"))
        seconds = sleep.get("seconds")
        if isinstance(seconds, int) and isinstance(grace, int) and seconds > grace:
            message = f"{seconds} is more than terminationGracePeriodSeconds ({grace}), after which the pod is killed"
            remedy = f"write at most {grace}, or raise terminationGracePeriodSeconds"
            yield each.problem(("lifecycle", "preStop", "sleep", "seconds"), message, remedy)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


PROBE_RULES = (
    error("probe-port", "A probe or hook asks a named port that its container does not declare.", _probe_port),
    error("probe-handler", "A probe says not how to ask, or says it twice.", _probe_handler),
    error("probe-threshold", "A liveness or startup probe wants several successes.", _probe_threshold),
    error("init-probe", "An init container has a probe.", _probe_of_init_container),
    note_rule(
        "readiness-probe", "A container gets requests before anybody asked whether it can answer.", _no_readiness_probe
    ),
    note_rule(
        "readiness-gate", "A candidate may wait for ever for what a load balancer says of its pods.", _readiness_gate
    ),
    note_rule("ready-too-late", "No pod can be ready before the rollout has failed.", _ready_too_late),
    error("prestop-sleep", "A pod would be killed while it still waits for its last requests.", _sleeps_too_long),
)


_SUFFIXES = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", start=1)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)},
}
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)([numkKMGTPE]?i?)")


def amount(value: object) -> Decimal | None:
    """Return how much a quantity is; None where it is none.

    >>> amount("500m"), amount("1Ki"), amount(2), amount("1 Gi"), amount("1gb")
    (Decimal('0.500'), Decimal('1024'), Decimal('2'), None, None)
    """
    found = _QUANTITY.fullmatch(str(value))
    factor = _SUFFIXES.get(found[2]) if found else None
    return Decimal(found[1]) * factor if found and factor is not None else None
