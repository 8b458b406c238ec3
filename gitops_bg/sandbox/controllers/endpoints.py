"""Endpoints of Services: one EndpointSlice each, and the old Endpoints object. It must carry no traffic.

Rules: kubernetes `staging/src/k8s.io/endpointslice/{reconciler,utils}.go`. A Service with very many pods
still has one slice here, and so has one whose pods differ in the numbers behind a port's name.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from gitops_bg.sandbox.controllers.loop import LabelIndex, Loop, SelectorIndex
from gitops_bg.sandbox.http.watches import DELETED, WatchEvent
from gitops_bg.sandbox.objects.kinds import ENDPOINTS, PODS, SERVICES, SLICES, ResourceKey
from gitops_bg.sandbox.objects.objects import Manifest, copy_of, dig, is_pod_ready, key_of, labels_of
from gitops_bg.sandbox.objects.store import ObjectKey
from gitops_bg.sandbox.verbs.writing import Options, Writer

_OPTIONS = Options(manager="kube-controller-manager")


class Endpoints:
    """Keeps the endpoints of each Service in step with its pods."""

    def __init__(self, writer: Writer, loop: Loop) -> None:
        self._writer = writer
        self._store = writer.store
        self._loop = loop
        self._pods = LabelIndex()
        self._selectors = SelectorIndex()

    def notice(self, resource: ResourceKey, change: WatchEvent) -> None:
        """Queue a Service that changed, and those that select a pod that changed."""
        if resource == SERVICES:
            self._notice_service(change)
        elif resource == PODS:
            self._notice_pod(change)
        elif resource == SLICES and change.type == DELETED:
            namespace, _ = key_of(change.current.obj)
            service = labels_of(change.current.obj).get("kubernetes.io/service-name", "")
            self._loop.put(self, (namespace, service))

    def _notice_service(self, change: WatchEvent) -> None:
        namespace, name = key_of(change.current.obj)
        if change.type == DELETED:
            self._selectors.discard(namespace, name)
        else:
            self._selectors.add(namespace, name, change.current.obj["spec"].get("selector") or {})
        self._loop.put(self, (namespace, name))

    def _notice_pod(self, change: WatchEvent) -> None:
        namespace, name = key_of(change.current.obj)
        affected = set()
        if change.previous is not None:
            before = labels_of(change.previous.obj)
            self._pods.discard(namespace, name, before)
            affected |= self._selectors.matching(namespace, before)
        if change.type != DELETED:
            self._pods.add(namespace, name, labels_of(change.current.obj))
            affected |= self._selectors.matching(namespace, labels_of(change.current.obj))
        for service in affected:
            self._loop.put(self, (namespace, service))

    def pods_of(self, service: Manifest) -> list[Manifest]:
        """Return the pods that a Service selects and that have an address, by name."""
        namespace = key_of(service)[0]
        with self._store.lock:
            names = sorted(self._pods.select(namespace, service["spec"].get("selector") or {}))
            found = [self._store.get(PODS, (namespace, name)) for name in names]
        return [pod.obj for pod in found if pod and dig(pod.obj, ("status", "podIP"))]

    def reconcile(self, key: Hashable) -> None:
        """Write the endpoints of one Service, or delete them with it."""
        assert isinstance(key, tuple)
        service = self._store.get(SERVICES, key)
        if service is None:
            self._remove(key)
        elif service.obj["spec"].get("selector"):
            pods = self.pods_of(service.obj)
            self._write(SLICES, service.obj, _slice(service.obj, pods))
            self._write(ENDPOINTS, service.obj, _endpoints(service.obj, pods))

    def _remove(self, key: ObjectKey) -> None:
        with self._store.lock:
            for resource, name in ((SLICES, _slice_name(key[1])), (ENDPOINTS, key[1])):
                if self._store.get(resource, (key[0], name)):
                    self._store.remove(resource, (key[0], name))

    def _write(self, resource: ResourceKey, service: Manifest, wanted: Manifest) -> None:
        kind, key = self._writer.kinds.of(resource), (key_of(service)[0], wanted["metadata"]["name"])
        with self._store.lock:
            live = self._store.get(resource, key)
            namespace = self._store.get(("", "namespaces"), ("", key[0]))
            if live is not None:
                parts, labels = {**wanted}, labels_of(wanted)
                del parts["metadata"]
                self._writer.modify(kind, *key, lambda obj: {**_labelled(obj, labels), **parts}, _OPTIONS)
            elif namespace and "deletionTimestamp" not in namespace.obj["metadata"]:
                self._writer.create(kind, key[0], wanted, _OPTIONS)


def _labelled(obj: Manifest, labels: Mapping[str, str]) -> Manifest:
    """Return an object that follows the labels of its Service, as `setEndpointSliceLabels` of the rules does."""
    return {**obj, "metadata": {**obj["metadata"], "labels": {**labels}}}


def _slice_name(service: str) -> str:
    return f"{service}-sandbox"


def _port_number(port: Manifest, pods: list[Manifest]) -> int | None:
    """Return the number of the pods' port that a Service's port leads to; None where no container has one of that
    name.
    """
    target = port.get("targetPort", port["port"])
    if isinstance(target, int):
        return target
    named = (own for pod in pods for own in _container_ports(pod) if own.get("name") == target)
    found = next((own for own in named if own.get("protocol", "TCP") == port["protocol"]), None)
    return int(found["containerPort"]) if found else None


def _container_ports(pod: Manifest) -> list[Manifest]:
    spec = pod["spec"]
    sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    return [port for container in (*spec["containers"], *sidecars) for port in container.get("ports") or ()]


def _ports(service: Manifest, pods: list[Manifest]) -> list[Manifest]:
    """Return the ports that lead somewhere: a name that no container has is left out, and the addresses stay."""
    numbers = [(port, _port_number(port, pods)) for port in service["spec"].get("ports") or ()]
    return [
        {"name": port.get("name", ""), "port": number, "protocol": port["protocol"]}
        for port, number in numbers
        if number is not None
    ]


def _reference(pod: Manifest) -> Manifest:
    metadata = pod["metadata"]
    return {"kind": "Pod", "name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"]}


def _owner(service: Manifest) -> Manifest:
    reference = {"apiVersion": "v1", "kind": "Service", "name": service["metadata"]["name"]}
    return {**reference, "uid": service["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}


def _slice(service: Manifest, pods: list[Manifest]) -> Manifest:
    name = service["metadata"]["name"]
    labels = {**labels_of(service), "kubernetes.io/service-name": name}
    labels["endpointslice.kubernetes.io/managed-by"] = "endpointslice-controller.k8s.io"
    metadata = {"name": _slice_name(name), "labels": labels, "ownerReferences": [_owner(service)]}
    endpoints = [_endpoint(pod, service) for pod in pods]
    return {"metadata": metadata, "addressType": "IPv4", "endpoints": endpoints, "ports": _ports(service, pods)}


def _endpoint(pod: Manifest, service: Manifest) -> Manifest:
    serving, terminating = is_pod_ready(pod), "deletionTimestamp" in pod["metadata"]
    always = bool(service["spec"].get("publishNotReadyAddresses"))
    conditions = {"ready": always or (serving and not terminating), "serving": serving, "terminating": terminating}
    endpoint = {"addresses": [pod["status"]["podIP"]], "conditions": conditions}
    return {**endpoint, "nodeName": pod["spec"].get("nodeName", ""), "targetRef": _reference(pod)}


def _endpoints(service: Manifest, pods: list[Manifest]) -> Manifest:
    metadata = {"name": service["metadata"]["name"], "labels": copy_of(labels_of(service))}
    living = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    subset: Manifest = {}
    for name, wanted in (("addresses", True), ("notReadyAddresses", False)):
        found = [pod for pod in living if is_pod_ready(pod) == wanted]
        if found:
            subset[name] = [{"ip": pod["status"]["podIP"], "targetRef": _reference(pod)} for pod in found]
    ports = _ports(service, pods)
    if ports:
        subset["ports"] = ports
    reached = bool(ports) or not service["spec"].get("ports")
    return {"metadata": metadata, "subsets": [subset] if subset and reached else []}
