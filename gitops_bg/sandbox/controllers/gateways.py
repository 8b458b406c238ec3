"""What a Gateway says of itself and of the HTTPRoutes attached to it. It must carry no traffic.

Rules: https://gateway-api.sigs.k8s.io/reference/spec/#routeparentstatus. Every Gateway is the sandbox's own, whatever
its class. Left out: ReferenceGrants, selectors of namespaces, the status of listeners.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from gitops_bg.sandbox.controllers.loop import Loop
from gitops_bg.sandbox.http.watches import DELETED, WatchEvent
from gitops_bg.sandbox.objects.kinds import SERVICES, ResourceKey
from gitops_bg.sandbox.objects.objects import Manifest, key_of, timestamp
from gitops_bg.sandbox.objects.store import ObjectKey
from gitops_bg.sandbox.traffic.gateway import GATEWAYS, HTTP_ROUTES, refers_to, refusal
from gitops_bg.sandbox.verbs.writing import Options, Writer

CONTROLLER = "gitops-bg.dev/sandbox"
_OPTIONS = Options(manager="sandbox-gateway", subresource="status")


class Gateways:
    """Writes the status of Gateways, and of HTTPRoutes unless it is told not to, as some implementations never do."""

    def __init__(self, writer: Writer, loop: Loop) -> None:
        self.reports_status = True
        self._writer = writer
        self._store = writer.store
        self._loop = loop

    def notice(self, resource: ResourceKey, change: WatchEvent) -> None:
        """Queue what a change may concern: itself, and every route where a Gateway or a Service came or went."""
        if resource in (GATEWAYS, HTTP_ROUTES) and change.type != DELETED:
            self._loop.put(self, (resource, key_of(change.current.obj)))
        came_or_went = change.previous is None or change.type == DELETED
        if resource == GATEWAYS or (resource == SERVICES and came_or_went):
            for route in self._store.all(HTTP_ROUTES):
                self._loop.put(self, (HTTP_ROUTES, key_of(route.obj)))

    def reconcile(self, key: Hashable) -> None:
        """Write one status."""
        assert isinstance(key, tuple)
        resource, name = key
        with self._store.lock:
            live = self._store.get(resource, name)
            if live is None or (resource == HTTP_ROUTES and not self.reports_status):
                return
            status = _gateway_status(live.obj) if resource == GATEWAYS else self._route_status(live.obj)
            kind = self._writer.kinds.of(resource)
            said = {**live.obj.get("status", {}), **status}
            self._writer.modify(kind, name[0], name[1], lambda obj: {**obj, "status": said}, _OPTIONS)

    def _route_status(self, route: Manifest) -> Manifest:
        """Return what other controllers said stays: each writes and removes its own entries only."""
        said = route.get("status", {}).get("parents") or ()
        own = [each for each in said if each["controllerName"] == CONTROLLER]
        others = [each for each in said if each["controllerName"] != CONTROLLER]
        return {"parents": [*others, *self._parents(route, own)]}

    def _parents(self, route: Manifest, own: list[Manifest]) -> Iterator[Manifest]:
        before = {str(each["parentRef"]): each for each in own}
        for ref in route["spec"].get("parentRefs") or ():
            key: ObjectKey = (ref.get("namespace") or route["metadata"]["namespace"], ref["name"])
            gateway = self._store.get(GATEWAYS, key)
            if gateway is None or not refers_to(route, ref, gateway.obj):
                continue
            known = before.get(str(ref), {}).get("conditions") or []
            said = [self._accepted(route, ref, gateway.obj), self._resolved(route)]
            conditions = [_condition(route, known, *each) for each in said]
            yield {"parentRef": ref, "controllerName": CONTROLLER, "conditions": conditions}

    @staticmethod
    def _accepted(route: Manifest, ref: Manifest, gateway: Manifest) -> tuple[str, bool, str, str]:
        reason = refusal(route, ref, gateway)
        return "Accepted", not reason, reason or "Accepted", "not taken" if reason else "the Gateway serves it"

    def _resolved(self, route: Manifest) -> tuple[str, bool, str, str]:
        namespace = route["metadata"]["namespace"]
        for rule in route["spec"].get("rules") or ():
            for ref in rule.get("backendRefs") or ():
                key = (ref.get("namespace") or namespace, ref["name"])
                if ref.get("kind", "Service") != "Service":
                    return "ResolvedRefs", False, "InvalidKind", f"{ref['kind']} {ref['name']} is no Service"
                if key[0] != namespace:
                    return "ResolvedRefs", False, "RefNotPermitted", f"{key[0]} grants no reference to {key[1]}"
                if self._store.get(SERVICES, key) is None:
                    return "ResolvedRefs", False, "BackendNotFound", f"there is no Service {key[0]}/{key[1]}"
        return "ResolvedRefs", True, "ResolvedRefs", "every backend is there"


def _gateway_status(gateway: Manifest) -> Manifest:
    known = gateway.get("status", {}).get("conditions") or []
    said = (("Accepted", True, "Accepted", "accepted"), ("Programmed", True, "Programmed", "its port is open"))
    return {"conditions": [_condition(gateway, known, *each) for each in said]}


def _condition(obj: Manifest, known: list[Manifest], kind: str, holds: bool, reason: str, message: str) -> Manifest:
    """Return a condition whose time changes with its status only (`metav1.Condition`)."""
    status = "True" if holds else "False"
    before = next((each for each in known if each["type"] == kind and each["status"] == status), None)
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": obj["metadata"].get("generation", 1),
        "lastTransitionTime": before["lastTransitionTime"] if before else timestamp(),
    }
