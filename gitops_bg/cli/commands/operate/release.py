"""`release`: the way back of an adopted app, as a commit; the agent carries it out (docs/how-to/adopt.md)."""

from collections.abc import Iterator
from typing import Annotated

import typer

from gitops_bg.cli.clone.user_git import author
from gitops_bg.cli.edits.commits import commit_to_apps
from gitops_bg.cli.errors import UsageError
from gitops_bg.cli.options.options import App, AppOptions, AuthorOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.session import Session
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import DEPLOYMENTS, SERVICES
from gitops_bg.cluster.manifests.adoption import before_in
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.write.edits import Edit
from gitops_bg.spec.yaml.edit import set_release


def release(
    app: App,
    at: AppOptions,
    person: AuthorOptions,
    deployment: Annotated[
        str,
        typer.Option(
            "--deployment",
            metavar="NAME",
            help="Whose pods are to serve. Default: what the app was adopted from. An app that was moved needs it.",
        ),
    ] = "",
    reason: Annotated[str, typer.Option("--reason", "-r", "--message", "-m", help="Why.")] = "released by hand",
) -> None:
    """Give live traffic back to the Deployment that an app was adopted from, as a commit. `git revert` adopts it anew.

    Example: gitops-bg release shop/orders
    """
    output = Output(at.out, dry_run=person.dry_run)
    with Session(at.git, at.kube, at.place, author(person.author), about=apps_named(app), note=output.note) as session:
        key = session.app_in_git(app)
        spec = session.facts(key).spec
        name = deployment or _adopted_from(key, spec)
        is_asked = spec.release is not None and spec.release.deployment == name
        reasons = () if is_asked else tuple(_in_the_way(session.client, key, name, spec.strategy.active_services))
        if reasons:
            raise InvalidInput(*reasons)
        edits: dict[AppKey, Edit] = {key: _releasing(session.app_file(key), name)}
        made = commit_to_apps(session, output, edits, "release", reason)[key]
        session.nudge(key)
    said = f"{key}: live traffic goes back to Deployment {name} by commit {made[:10]}; `gitops-bg explain {key}`"
    sentence = said if made else f"{key}: it is being released to Deployment {name} already"
    output.both({"app": str(key), "deployment": name, "commit": made, "changed": bool(made)}, sentence)


def _adopted_from(app: AppKey, spec: AppSpec) -> str:
    """The Deployment that a release is meant for. Raises `UsageError` where the app has its Services from an app."""
    if spec.adopt is None:
        return app.name
    if spec.adopt.app:
        raise UsageError(
            f"{app} has its Services from the app {spec.adopt.app}: to which Deployment? --deployment NAME"
        )
    return spec.adopt.deployment


def _releasing(file: str, deployment: str) -> Edit:
    return lambda data: set_release(data, deployment, file)


def _in_the_way(client: Client, app: AppKey, deployment: str, services: tuple[str, ...]) -> Iterator[Problem]:
    """Everything that would keep the agent from it, before anything is committed."""
    live = client.get(DEPLOYMENTS, app.namespace, deployment)
    if live is None:
        what = DEPLOYMENTS.called(app.namespace, deployment)
        yield Problem(what, "does not exist", remedy="apply it again, at 0 replicas, or name another: --deployment")
    for name in services:
        body = client.get(SERVICES, app.namespace, name)
        selector = before_in((body or {}).get("metadata", {}).get("annotations") or {}).selector
        if not selector:
            said = "does not exist" if body is None else "was not taken over: nobody knows what it would select"
            yield Problem(SERVICES.called(app.namespace, name), said)
        elif live is not None:
            labels = (live["spec"]["template"].get("metadata") or {}).get("labels") or {}
            if not set(selector) <= labels.items():
                said = f"did not select the pods of Deployment {deployment} before it was taken over"
                yield Problem(SERVICES.called(app.namespace, name), said)
