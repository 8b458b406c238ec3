"""What Gateways say of the routes that are attached to them. Pure.

https://gateway-api.sigs.k8s.io/reference/spec/#routeparentstatus
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from gitops_bg.cluster.api.kinds import Object

_GATEWAY_API = "gateway.networking.k8s.io"
_MUST_HOLD = ("Accepted", "ResolvedRefs")


def acceptance(body: Object) -> tuple[bool | None, str]:
    """Whether every Gateway that the route names has taken this generation, and what one says against it.

    None: at least one has never said anything of it, and none says anything against it. What former parents said does
    not count.
    """
    generation = body["metadata"].get("generation", 0)
    answers = [_answer(statuses, generation) for statuses in _said(body)]
    against = [reason for taken, reason in answers if taken is False]
    if against:
        return False, against[0]
    return (True, "") if answers and all(taken for taken, _ in answers) else (None, "")


def refusal_of(body: Object) -> str:
    """Why a Gateway that the route names refuses this generation of it; empty where none does."""
    generation = body["metadata"].get("generation", 0)
    verdicts = (_verdict(status, generation) for statuses in _said(body) for status in statuses)
    return next((reason for taken, reason in verdicts if taken is False), "")


def hosts_served(gateway: Object, section: str = "", port: int = 0) -> tuple[str, ...]:
    """The host of each listener of a Gateway that a parentRef means; empty text: every host.

    >>> hosts_served({"spec": {"listeners": [{"name": "web", "port": 80, "hostname": "*.shop.example"}]}}, "web")
    ('*.shop.example',)
    """
    listeners = gateway["spec"].get("listeners") or ()
    meant = [each for each in listeners if section in ("", each["name"]) and port in (0, each["port"])]
    return tuple(each.get("hostname", "") for each in meant)


def is_served(host: str, by: str) -> bool:
    """Whether a listener with the host ``by`` takes requests for the host of a route: where the two meet.

    https://gateway-api.sigs.k8s.io/reference/spec/#httproutespec, ``hostnames``.

    >>> is_served("a.shop.example", "*.shop.example"), is_served("*.shop.example", "a.shop.example")
    (True, True)
    >>> is_served("*.a.shop.example", "*.shop.example"), is_served("shop.example", "*.shop.example")
    (True, False)
    """
    return not by or host == by or _is_below(host, by) or _is_below(by, host)


def _is_below(host: str, wildcard: str) -> bool:
    return wildcard.startswith("*.") and host.endswith(wildcard[1:])


def _said(body: Object) -> list[list[Mapping[str, Any]]]:
    """The statuses of each parent that the route names now."""
    namespace = body["metadata"].get("namespace", "")
    said: defaultdict[tuple[object, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for status in (body.get("status") or {}).get("parents") or ():
        said[_identity(status["parentRef"], namespace)].append(status)
    return [said[_identity(ref, namespace)] for ref in (body.get("spec") or {}).get("parentRefs") or ()]


def _answer(statuses: Iterable[Mapping[str, Any]], generation: int) -> tuple[bool | None, str]:
    """What one parent says, by all controllers that ever wrote for it: one that is gone leaves an old entry behind."""
    found = [_verdict(status, generation) for status in statuses]
    refusals = [reason for taken, reason in found if taken is False]
    if refusals:
        return False, refusals[0]
    if any(taken for taken, _ in found):
        return True, ""
    return (False, "a Gateway has not taken its last change yet") if found else (None, "")


def _identity(ref: Mapping[str, Any], namespace: str) -> tuple[object, ...]:
    """Identify a parent, with the defaults that the API server may leave out of a status."""
    group, kind = ref.get("group", _GATEWAY_API), ref.get("kind", "Gateway")
    return group, kind, ref.get("namespace") or namespace, ref["name"], ref.get("sectionName", ""), ref.get("port", 0)


def _verdict(status: Mapping[str, Any], generation: int) -> tuple[bool | None, str]:
    """Whether one controller has taken this generation, or why it refuses it; None: it has not said so yet."""
    known = {
        each.get("type"): each
        for each in status.get("conditions") or ()
        if each.get("observedGeneration", 0) >= generation
    }
    refused = [known[name] for name in _MUST_HOLD if known.get(name, {}).get("status") == "False"]
    if refused:
        return False, f"{refused[0].get('reason', '')}: {refused[0].get('message', '')}"
    is_taken = all(known.get(name, {}).get("status") == "True" for name in _MUST_HOLD)
    return (True, "") if is_taken else (None, "")
