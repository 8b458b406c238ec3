"""`adopt`: writes the folder of a live Deployment into a work tree, as a whole or not at all, and says what the agent
will do after the push, in order. It commits nothing.

The cluster is only read; the agent takes over after the push (docs/how-to/adopt.md).
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from gitops_bg.cli.commands.files.adopted_folder import folder_of as files_of_app
from gitops_bg.cli.commands.files.adopted_folder import origins_of
from gitops_bg.cli.commands.files.adopted_objects import AdoptionChoices, Chosen, choose, problems_of
from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options.options import LiveOptions
from gitops_bg.cli.options.values import app_name
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.worktree import files_of, write_new_folder
from gitops_bg.cli.session.live_session import LiveSession
from gitops_bg.cluster.api.errors import NotFound
from gitops_bg.cluster.observation.on_demand import LiveWorkload, read_live
from gitops_bg.core.checks.adoption import STAND_IN, label_to_override
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.spec import ScaleDown
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.layout import folder_of
from gitops_bg.spec.importing.tools import tool_of

Files = Mapping[str, str]
"""Texts by their path below the work tree, with slashes."""


def adopt(
    deployment: Annotated[str, typer.Argument(metavar="NAMESPACE/DEPLOYMENT", help="What serves now.")],
    at: LiveOptions,
    checkout: Annotated[
        Path, typer.Option("--checkout", metavar="DIR", help="The work tree to write into.", show_default="here")
    ] = Path(),
    active: Annotated[
        list[str] | None,
        typer.Option(
            "--active",
            metavar="SERVICE",
            help="A Service that carries live traffic; may be repeated. Default: the only one that selects the pods.",
        ),
    ] = None,
    preview: Annotated[
        str,
        typer.Option("--preview", metavar="SERVICE", help="The name of the new preview Service. Default: APP-preview."),
    ] = "",
    scale_down: Annotated[
        ScaleDown,
        typer.Option("--scale-down", help="What becomes of the old pods after the hand-over, as in Argo Rollouts."),
    ] = ScaleDown.NEVER,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show it all, and write nothing.")] = False,
) -> None:
    """Write the folder of a live Deployment, with all that belongs to it; say what the agent will do after the push.

    Example: gitops-bg adopt shop/orders --scale-down onSuccess
    """
    output, app = Output(at.out), _app(deployment, at.place.namespace)
    folder, reasons = folder_of(app), list(_about_room(checkout, app))
    live = _read(at, app, reasons)
    chosen, of_live = choose(live, AdoptionChoices(app, tuple(active or ()), preview))
    reasons.extend(of_live)
    names = files_of_app(chosen, scale_down)
    repository = dict(files_of(checkout)) if checkout.is_dir() else {}
    reasons.extend(problems_of(chosen, names, origins_of(chosen), repository, tuple(reasons), datetime.now(UTC)))
    if reasons:
        raise InvalidInput(*reasons, Problem(folder, "nothing was written"))
    files = {f"{folder}/{name}": text for name, text in names.items()}
    if not dry_run:
        write_new_folder(checkout / folder, {name: text.encode() for name, text in names.items()})
    _print_adoption(output, chosen, scale_down, files, written=not dry_run)


def _app(text: str, namespace: str) -> AppKey:
    given, name = app_name(text)
    if not (given or namespace):
        raise UsageError(f"{text!r}: in which namespace? Write NAMESPACE/DEPLOYMENT, as in shop/web")
    return AppKey(given or namespace, name)


def _about_room(checkout: Path, app: AppKey) -> Iterator[Problem]:
    """Yield why the folder cannot be written."""
    place = checkout / folder_of(app)
    if not checkout.is_dir():
        yield Problem(str(checkout), "is no folder", remedy="name a work tree with --checkout")
    elif place.exists():
        yield Problem(str(place), f"is there already: {app} is an app of this work tree", remedy="move it away first")


def _read(at: LiveOptions, app: AppKey, reasons: Sequence[Problem]) -> LiveWorkload:
    """Read what is live. Raises `NotFound` where there is no such Deployment, or `InvalidInput` where that is not the
    only reason.
    """
    try:
        with LiveSession(at.kube, at.place) as session:
            return read_live(session.client, app.namespace, app.name)
    except NotFound as error:
        if not reasons:
            raise
        raise InvalidInput(*reasons, Problem(f"Deployment {app}", str(error))) from error


def _print_adoption(output: Output, chosen: Chosen, scale_down: ScaleDown, files: Files, *, written: bool) -> None:
    plan, notes = steps_after_push(chosen, scale_down), tuple(notes_of(chosen))
    if output.json:
        output.data(
            {"app": str(chosen.app), "written": written, "files": dict(files), "plan": list(plan), "notes": list(notes)}
        )
        return
    for line in _diff(files):
        output.line(line, "green" if line.startswith("+") else "bold")
    output.line("")
    output.line("After the push:", "bold")
    for number, step in enumerate(plan, 1):
        output.line(f"  {number}. {step}")
    for note in notes:
        output.notice(f"note: {note}")
    done = f"Wrote {len(files)} files to {folder_of(chosen.app)}." if written else "Nothing was written (--dry-run)."
    output.line(f"{done} Next: read them, `gitops-bg check`, commit and push.", "green")


def _diff(files: Files) -> Iterator[str]:
    """Yield the files as git shows new ones."""
    for path, text in files.items():
        yield from difflib.unified_diff([], text.splitlines(), "/dev/null", f"b/{path}", lineterm="")


_LEFT = {
    ScaleDown.NEVER: "it leaves the pods of Deployment {name} as they are; delete them when you like",
    ScaleDown.ON_SUCCESS: "once the app is healthy and scaleDownDelaySeconds have passed, it scales Deployment {name} "
    "to 0",
    ScaleDown.PROGRESSIVELY: "it scales Deployment {name} down, as many pods as its own are available",
}


def steps_after_push(chosen: Chosen, scale_down: ScaleDown) -> tuple[str, ...]:
    """Return what the agent does after the push, one sentence a step."""
    services = ", ".join(each["metadata"]["name"] for each in chosen.services)
    name, held = (
        chosen.deployment["metadata"]["name"],
        ", ".join(f"{key}={STAND_IN}" for key in labels_held_back(chosen)),
    )
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
    """Yield what may stand in the way, and is not the agent's to judge."""
    tools: dict[str, list[str]] = {}
    for each in chosen.objects:
        if tool := tool_of(each["metadata"]):
            tools.setdefault(tool, []).append(f"{each['kind']} {each['metadata']['name']}")
    for tool, found in tools.items():
        yield (
            f"{tool} applies {', '.join(found)}: take them out there first, without deleting them, or both change them"
        )
    if chosen.concerned:
        keys = ", ".join(labels_held_back(chosen))
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


def labels_held_back(chosen: Chosen) -> tuple[str, ...]:
    """Return the labels that get a stand-in until the hand-over, by the agent's own rule."""
    held: list[str] = []
    for each in chosen.services:
        selector = each["spec"]["selector"]
        if not any(key in held for key in selector):
            held.append(label_to_override(selector))
    return tuple(held)
