"""What happens after the push of an adopted app, in order, and what is worth knowing before. Pure."""

from collections.abc import Iterator

from gitops_bg.cli.adoption.choice import Chosen
from gitops_bg.core.checks.adoption.taking_over import STAND_IN, key_to_hold_back
from gitops_bg.core.model.spec import ScaleDown
from gitops_bg.spec.importing.tool_marks import tool_of

_LEFT = {
    ScaleDown.NEVER: "it leaves the pods of Deployment {name} as they are; delete them when you like",
    ScaleDown.ON_SUCCESS: "once the app is healthy and scaleDownDelaySeconds have passed, it scales Deployment {name} "
    "to 0",
    ScaleDown.PROGRESSIVELY: "it scales Deployment {name} down, as many pods as its own are available",
}


def plan_of(chosen: Chosen, scale_down: ScaleDown) -> tuple[str, ...]:
    """What the agent does after the push, one sentence a step."""
    services = ", ".join(each["metadata"]["name"] for each in chosen.services)
    name, held = chosen.deployment["metadata"]["name"], ", ".join(f"{key}={STAND_IN}" for key in held_back(chosen))
    last = _LEFT[scale_down].format(name=name)
    return (
        f"the agent brings up {chosen.deployment['spec'].get('replicas', 1)} pods or more beside those that serve, "
        f"with {held}, so that no live Service selects them",
        "when as many are available as serve now, it commits the first primary.yaml",
        f"it takes over {services}, each in one write, and points them to its pods",
        "it gives its pods their own labels, in place",
        f"when the endpoints are exactly its pods, {last}"
        if scale_down is not ScaleDown.NEVER
        else f"{last}: live traffic has left them",
    )


def notes_of(chosen: Chosen) -> Iterator[str]:
    """What may stand in the way, and is not the agent's to judge."""
    tools: dict[str, list[str]] = {}
    for each in chosen.objects:
        if tool := tool_of(each["metadata"]):
            tools.setdefault(tool, []).append(f"{each['kind']} {each['metadata']['name']}")
    for tool, found in tools.items():
        yield (
            f"{tool} applies {', '.join(found)}: take them out there first, without deleting them, or both change them"
        )
    if chosen.concerned:
        keys = ", ".join(held_back(chosen))
        yield (
            f"NetworkPolicy {', '.join(chosen.concerned)} selects these pods: if it does by {keys}, the new pods are "
            "outside of it until the hand-over"
        )
    if chosen.secrets:
        yield f"Secrets stay where they are, and are no part of a version: {', '.join(chosen.secrets)}"
    namespace = chosen.app.namespace
    yield (
        f"the agent needs the ClusterRole gitops-bg-adopt in the namespace: kubectl -n {namespace} create rolebinding "
        "gitops-bg-adopt --clusterrole=gitops-bg-adopt --serviceaccount=gitops-bg:gitops-bg"
    )


def held_back(chosen: Chosen) -> tuple[str, ...]:
    """The labels that get a stand-in until the hand-over, by the agent's own rule."""
    held: list[str] = []
    for each in chosen.services:
        selector = each["spec"]["selector"]
        if not any(key in held for key in selector):
            held.append(key_to_hold_back(selector))
    return tuple(held)
