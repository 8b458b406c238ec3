"""Rules about the containers of a target: images, ports, environment, resources. For `check` only.

What is an error here the API server refuses as well (k8s.io/kubernetes/pkg/apis/core/validation), or, of entries that
are there twice, server-side apply, which finds list items by their key.
"""

from collections.abc import Callable, Hashable, Iterator

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.lint.app_folder import AppFolder, Container
from gitops_bg.spec.lint.finding import error, note
from gitops_bg.spec.manifests.image import EXAMPLE, trouble_with
from gitops_bg.spec.manifests.quantities import amount
from gitops_bg.spec.yaml.values import Body, as_map, maps


def _image_reference(folder: AppFolder) -> Iterator[Problem]:
    for each, image in _images(folder):
        if trouble := trouble_with(image):
            remedy = "" if trouble.endswith("?") else f"such as {EXAMPLE}"
            yield each.problem(("image",), f"{image!r} is no image reference: {trouble}", remedy)


def _moving_tag(folder: AppFolder) -> Iterator[Problem]:
    for each, image in _images(folder):
        tag = image.rpartition("/")[2].partition(":")[2]
        if "@" not in image and tag in ("", "latest") and not trouble_with(image):
            said = "is the tag latest" if tag else "has no tag, so it is latest"
            message = f"{image} {said}: what it means can change without a commit, and going back may not bring it back"
            yield each.problem(("image",), message, "write a tag that never moves, or a digest")


def _images(folder: AppFolder) -> Iterator[tuple[Container, str]]:
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
    first: dict[str, Container] = {}
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


def _twice(each: Container, field: str, key: Callable[[Body], Hashable]) -> Iterator[tuple[int, Body]]:
    """The items of a list whose key another item before them has."""
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


def _bounded(folder: AppFolder) -> Iterator[tuple[Container, str, object, object]]:
    for each in folder.containers():
        resources = as_map(each.body.get("resources"))
        limits = as_map(resources.get("limits"))
        for resource, request in as_map(resources.get("requests")).items():
            if resource in limits:
                yield each, resource, request, limits[resource]


CONTAINER_RULES = (
    error("image-reference", "An image reference that no registry can have.", _image_reference),
    note("image-tag", "An image whose meaning can change without a commit.", _moving_tag),
    error("port-twice", "A container declares a port, or the name of a port, twice.", _port_twice),
    note("port-name-shared", "Two containers of a pod have ports of the same name.", _port_name_shared),
    note("host-port", "Pods of two versions cannot share a node, because both want the same port of it.", _host_port),
    error("env-twice", "A container sets an environment variable twice.", _env_twice),
    error("env-source", "An environment variable has no source, or several.", _env_source),
    error("mount-twice", "Two volumes are mounted at the same path of a container.", _mount_twice),
    error("quantity", "A request or limit that is no quantity.", _quantity),
    error("request-above-limit", "A container requests more than its limit allows.", _request_above_limit),
)
