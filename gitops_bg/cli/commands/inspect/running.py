"""`version` and `logs`: which releases run, here and in the cluster, and what the pods of a version print. They only
read.
"""

from collections.abc import Iterator
from functools import partial
from typing import Annotated

import typer

from gitops_bg import __version__
from gitops_bg.cli.errors import CommandFailed
from gitops_bg.cli.options import completion
from gitops_bg.cli.options.options import App, LiveOptions
from gitops_bg.cli.options.values import a_version_name
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.live_session import LiveSession
from gitops_bg.cluster.api.kinds import DEPLOYMENTS
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.foreign_json import images_in
from gitops_bg.core.model.version import AppKey, Version, short

_AGENTS = "app.kubernetes.io/name=gitops-bg"


def version(at: LiveOptions) -> None:
    """Show the release of this command, and the images of the agents that the cluster has.

    Example: gitops-bg version
    """
    output, agents, refused = Output(at.out), [], ""
    try:
        with LiveSession(kube=at.kube, place=at.place) as session:
            agents = list(_agents(session, at.place.namespace))
    except GitopsBgError as error:
        refused = str(error)
    output.both(
        {"client": __version__, "agents": [{"name": name, "image": image} for name, image in agents]},
        f"client: {__version__}",
    )
    for name, image in agents:
        output.line(f"agent:  {name}, {image}")
    if refused:
        output.notice(f"which agents run is not known: {refused}")


def _agents(session: LiveSession, namespace: str) -> Iterator[tuple[str, str]]:
    """Yield each agent's Deployment with its image."""
    for each in session.client.list(DEPLOYMENTS, namespace, _AGENTS):
        [container, *_] = each["spec"]["template"]["spec"]["containers"]
        yield f"{each['metadata']['namespace']}/{each['metadata']['name']}", str(container.get("image", ""))


def logs(
    app: App,
    at: LiveOptions,
    named: Annotated[
        str,
        typer.Option(
            "--version",
            parser=a_version_name,
            metavar="VERSION",
            autocompletion=completion.versions,
            help="Whose pods: a number (v4 or 4), a tag (1.2.0) or a digest. Default: the candidate, else what serves.",
        ),
    ] = "",
    tail: Annotated[int, typer.Option(min=1, help="How many lines of each pod.")] = 20,
    container: Annotated[str, typer.Option("--container", "-c", help="Of which container. Default: the first.")] = "",
    previous: Annotated[bool, typer.Option("--previous", "-p", help="Before the last restart.")] = False,
) -> None:
    """Print the last lines of the pods of a version: of the candidate, or of what serves where there is none.

    Example: gitops-bg logs shop/web --version 2.5.0
    """
    output = Output(at.out)
    with LiveSession(kube=at.kube, place=at.place) as session:
        key = session.app(app)
        chosen, pods = _pods(session, key, named)
        names = [name for name, _ in images_in(chosen.snapshot.text)]
        of = container or next(iter(names), "")
        log = partial(session.client.log, key.namespace, lines=tail, previous=previous, container=of)
        found = [(pod, log(pod)) for pod in pods]
    if not found:
        raise CommandFailed(f"{key}: {chosen.name} has no pods")
    output.both(
        {"app": str(key), "version": chosen.number, "pods": [{"pod": pod, "log": text} for pod, text in found]},
        f"{key}: {chosen.name}",
    )
    for pod, text in found:
        for line in text.splitlines():
            output.line(f"{pod}  {line}")


def _pods(session: LiveSession, app: AppKey, named: str) -> tuple[Version, list[str]]:
    """Return the version that is meant, and its pods. Raises `CommandFailed` where the app has no version."""
    from gitops_bg.cli.options.values import the_one
    from gitops_bg.cli.repository.proposals import known_as

    view = session.app_view(app)
    chosen = view.newest
    if named:
        meant = the_one(named, [known_as(each.number, each.snapshot) for each in view.versions], app)
        chosen = view.record.version(meant.digest)
    if chosen is None:
        raise CommandFailed(f"{app} has no version yet")
    return chosen, [pod.name for pod in view.pods if pod.digest == short(chosen.digest)]
