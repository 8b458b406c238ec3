"""What Gateways say of the routes that are attached to them. Pure.

https://gateway-api.sigs.k8s.io/reference/spec/#routeparentstatus
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from gitops_bg.cluster.api.kinds import Object

_GATEWAY_API = "gateway.networking.k8s.io"
_ACCEPTED, _RESOLVED = "Accepted", "ResolvedRefs"
_BOTH = (_ACCEPTED, _RESOLVED)


def acceptance(body: Object) -> tuple[bool | None, str]:
    """Whether every Gateway that the route names has taken this generation, with all its backends, and what one says
    against it.

    None: at least one has never said anything of it, and none says anything against it. What former parents said does
    not count.
    """
    return _acceptance(body, _BOTH)


def acceptance_of_rules(body: Object) -> tuple[bool | None, str]:
    """As `acceptance`, but for what is said against backends: a Gateway serves all rules but those that lead to them
    (https://gateway-api.sigs.k8s.io/reference/spec/#httprouterule, ``backendRefs``).
    """
    return _acceptance(body, (_ACCEPTED,))


def unresolved(body: Object) -> str:
    """What a Gateway says against the backends of this generation; empty where none says anything."""
    return _refusal(body, (_RESOLVED,))


def is_reported(body: Object) -> bool:
    """Whether any Gateway has ever said anything of a route, also one that it named formerly."""
    return bool((body.get("status") or {}).get("parents"))


def _acceptance(body: Object, must_hold: tuple[str, ...]) -> tuple[bool | None, str]:
    generation = body["metadata"].get("generation", 0)
    answers = [_answer(statuses, generation, must_hold) for statuses in _parent_statuses(body)]
    against = [reason for holds, reason in answers if holds is False]
    if against:
        return False, against[0]
    return (True, "") if answers and all(holds for holds, _ in answers) else (None, "")


def refusal_of(body: Object) -> str:
    """Why a Gateway that the route names refuses this generation of it; empty where none does."""
    return _refusal(body, _BOTH)


def _refusal(body: Object, must_hold: tuple[str, ...]) -> str:
    generation = body["metadata"].get("generation", 0)
    verdicts = (_verdict(status, generation, must_hold) for statuses in _parent_statuses(body) for status in statuses)
    return next((reason for holds, reason in verdicts if holds is False), "")


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


def _parent_statuses(body: Object) -> list[list[Mapping[str, Any]]]:
    """The statuses of each parent that the route names now."""
    namespace = body["metadata"].get("namespace", "")
    said: defaultdict[tuple[object, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for status in (body.get("status") or {}).get("parents") or ():
        said[_identity(status["parentRef"], namespace)].append(status)
    return [said[_identity(ref, namespace)] for ref in (body.get("spec") or {}).get("parentRefs") or ()]


def _answer(
    statuses: Iterable[Mapping[str, Any]], generation: int, must_hold: tuple[str, ...]
) -> tuple[bool | None, str]:
    """What one parent says, by all controllers that ever wrote for it: one that is gone leaves an old entry behind."""
    found = [_verdict(status, generation, must_hold) for status in statuses]
    refusals = [reason for holds, reason in found if holds is False]
    if refusals:
        return False, refusals[0]
    if any(holds for holds, _ in found):
        return True, ""
    return (False, "a Gateway has not taken its last change yet") if found else (None, "")


def _identity(ref: Mapping[str, Any], namespace: str) -> tuple[object, ...]:
    """Identify a parent, with the defaults that the API server may leave out of a status."""
    group, kind = ref.get("group", _GATEWAY_API), ref.get("kind", "Gateway")
    return group, kind, ref.get("namespace") or namespace, ref["name"], ref.get("sectionName", ""), ref.get("port", 0)


def _verdict(status: Mapping[str, Any], generation: int, must_hold: tuple[str, ...]) -> tuple[bool | None, str]:
    """Whether what must hold does for one controller, or why not; None: it has not judged all of it yet."""
    known = {
        each.get("type"): each
        for each in status.get("conditions") or ()
        if each.get("observedGeneration", 0) >= generation
    }
    said = {name: known.get(name, {}).get("status") for name in _BOTH}
    refused = [known[name] for name in must_hold if said[name] == "False"]
    if refused:
        return False, f"{refused[0].get('reason', '')}: {refused[0].get('message', '')}"
    is_judged = all(each in ("True", "False") for each in said.values())
    return (True, "") if is_judged and all(said[name] == "True" for name in must_hold) else (None, "")
