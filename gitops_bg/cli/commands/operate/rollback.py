"""The ways back of live traffic: `rollback` to an earlier version, and `release` to the Deployment that an app was
adopted from (docs/how-to/adopt.md).

Through Git: commits an older primary.yaml, or the release. `rollback --offline`: the cluster first, Git later. The core
decides to which version (`destination`).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

import typer

from gitops_bg.agent.operate.primary import changed_by, demand_good, plan_rollback
from gitops_bg.agent.operate.requests import new_request
from gitops_bg.agent.reconcile.offline import Offline
from gitops_bg.cli.errors import CommandFailed, UsageError
from gitops_bg.cli.options.options import (
    App,
    AppOptions,
    AppOrGroup,
    AuthorOptions,
    ClusterOptions,
    CommitOptions,
    PatienceOptions,
    version_option,
)
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.commits import commit_to_apps
from gitops_bg.cli.repository.proposals import number_named, propose, report_proposal
from gitops_bg.cli.repository.user_git import author, who
from gitops_bg.cli.session.live_session import access
from gitops_bg.cli.session.location import apps_named
from gitops_bg.cli.session.operator_requests import carry_out, facts_of, now
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.session.watch import wait_for_traffic
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import DEPLOYMENTS, SERVICES
from gitops_bg.cluster.manifests.adoption import before_in
from gitops_bg.core.checks.git import destination
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.observed import OperatorCommand
from gitops_bg.core.model.spec import AppSpec
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.write.main_branch import Edit
from gitops_bg.spec.manifests.edit import set_release


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalOptions:
    """The version to go back to, and how."""

    to: Annotated[str, version_option("v4, 4, a tag, or the beginning of a digest. Default: the last good one.")] = ""
    force: Annotated[
        bool, typer.Option("--force", help="Permit a version that is on hold, failed before, or is newer.")
    ] = False
    offline: Annotated[
        bool, typer.Option("--offline", help="Without Git: the agent, or else this process, moves traffic at once.")
    ] = False


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options of the user."""

    named: str
    """The version, as the user named it."""
    force: bool
    reason: str
    patience: PatienceOptions
    wait: bool
    by: str = ""
    """The author of the commit, where there is one."""
    to: int | None = None
    """The number of that version, once the app is known."""


def rollback(
    app: AppOrGroup,
    at: AppOptions,
    commit: CommitOptions,
    patience: PatienceOptions,
    goal: GoalOptions,
    wait: Annotated[bool, typer.Option("--wait", help="Return only once live traffic has moved.")] = False,
) -> int:
    """Roll back: commit the older primary.yaml; traffic follows at once. Exit 3 where main takes only pull requests.

    Example: gitops-bg rollback shop/web -m 'error rate doubled' --wait
    """
    asked = _Asked(goal.to, goal.force, commit.message or "rolled back by hand", patience, wait)
    output = Output(at.out, dry_run=commit.person.dry_run)
    if goal.offline:
        with Session(kube=at.kube, place=at.place) as session:
            key = session.app(app)
        return _offline(at.kube, key, asked, who(commit.person.author), output)
    by = author(commit.person.author)
    with Session(at.git, at.kube, at.place, by, about=apps_named(app), with_ledger=True, note=output.notice) as session:
        asked = replace(asked, by="{} <{}>".format(*by))
        return _through_git(session, at.kube, session.app(app), asked, output)


def _through_git(session: Session, kube: ClusterOptions, app: AppKey, asked: _Asked, output: Output) -> int:
    facts = session.facts(app)
    world = facts.world(session.now)
    asked = replace(asked, to=number_named(asked.named, world, session))
    plan = plan_rollback(session, facts, world, asked.to, by=asked.by, reason=asked.reason, force=asked.force)
    version, change = plan.version, plan.change
    output.would(plan.says(session.repository.settings.branch))
    proposed = propose(session, output, change)
    if asked.wait and not proposed.branch:
        wait_for_traffic(session, kube, app, version.digest, asked.patience.timeout)
    code = report_proposal(
        output, proposed, change, session.repository.settings.branch, changes=changed_by(facts, change)
    )
    if proposed.branch:
        output.line(f"or, if it cannot wait: gitops-bg rollback {app} --offline", "yellow")
    return code


def _offline(kube: ClusterOptions, app: AppKey, asked: _Asked, by: str, output: Output) -> int:
    with Offline(access(kube), app, now) as cluster:
        world = facts_of(cluster, app).world(now())
        asked = replace(asked, to=number_named(asked.named, world, None))
        demand_good(world, asked.to, force=asked.force)
        version = destination(world, asked.to, forced=asked.force)
        if version is None:
            wanted = f"version {asked.to} never served here" if asked.to else "there is no good version to go back to"
            raise CommandFailed(f"{app}: {wanted}")
        shown = version.name
        if version.digest == world.record.routing.traffic:
            output.both({"app": str(app), "to": version.number, "changed": False}, f"{app}: {shown} is live already")
            return 0
        output.would(f"{app}: live traffic would go to {shown} at once, without Git")
        live = world.record.routing.traffic
        request = new_request(OperatorCommand.ROLLBACK, by, asked.reason, version.number, force=asked.force, live=live)
        answered = carry_out(cluster, request, asked.patience, output)
    if answered.after.routing.traffic != version.digest:
        raise CommandFailed(f"{app}: live traffic did not go to {shown}; see `gitops-bg explain {app}`")
    output.both(
        {"app": str(app), "to": version.number, "changed": True, "byAgent": answered.by_agent},
        f"{app}: live traffic goes to {shown}; the agent commits it to Git as soon as it can",
    )
    return 0


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
    with Session(
        at.git, at.kube, at.place, author(person.author), about=apps_named(app), note=output.notice
    ) as session:
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
    """Return the Deployment that a release is meant for. Raises `UsageError` where the app has its Services from an
    app.
    """
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
    """Yield everything that would keep the agent from it, before anything is committed."""
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
