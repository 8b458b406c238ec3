"""`uninstall`: takes the agent and its rights out of a cluster. Everything that serves goes on serving."""

from contextlib import closing

from gitops_bg.cli.clone.worktree import deploy_folder
from gitops_bg.cli.commands.install import waited
from gitops_bg.cli.errors import CommandFailed
from gitops_bg.cli.options.durations import spoken
from gitops_bg.cli.options.install_options import UninstallOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.live_session import access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import DEPLOYMENTS, Object
from gitops_bg.cluster.installation import readiness
from gitops_bg.cluster.installation.installer import (
    apps_of,
    definitions,
    demand_own,
    removable,
    remove,
    roles_for_people,
    settings_of,
    superseded,
    watched_now,
)
from gitops_bg.cluster.installation.manifests import Installation, objects_of
from gitops_bg.core.model.change_set import ChangeSetEntry


def uninstall(at: UninstallOptions) -> None:
    """Remove the agent and its rights. ReplicaSets and Services stay and serve; records and settings stay.

    A later `gitops-bg install` goes on where this agent ended. With --crds the kinds go, too, once no app is left.

    Example: gitops-bg uninstall
    """
    output = Output(at.out)
    with closing(Client(access(at.kube))) as client:
        demand_own(client, at.namespace)
        apps = apps_of(client)
        objects = _installed(client, at.namespace)
        if at.crds and apps:
            raise _too_early(apps)
        agent, *rest = removable(objects)
        assert agent["kind"] == DEPLOYMENTS.name
        entries = list(remove(client, [agent]))
        # It stops by itself, and gives its lease back: for that it needs its rights.
        if not waited(lambda: readiness.is_gone(client, at.namespace), at.timeout):
            raise CommandFailed(
                f"the agent has not stopped after {spoken(at.timeout)}: kubectl -n {at.namespace} get pods"
            )
        kinds = (*roles_for_people(objects), *definitions(objects)) if at.crds else ()
        entries += remove(client, [*rest, *kinds])
    _tell(output, at, entries, apps)


def _installed(client: Client, namespace: str) -> tuple[Object, ...]:
    """The objects of an installation, with its rights wherever it may have them."""
    installed = Installation(namespace)
    before = watched_now(client, settings_of(client, namespace))
    return *objects_of(deploy_folder(), installed), *superseded(deploy_folder(), installed, before)


def _too_early(apps: list[str]) -> CommandFailed:
    shown = ", ".join(apps[:3]) + (" …" if len(apps) > 3 else "")
    return CommandFailed(
        f"--crds: {_counted(apps)} left ({shown}). With the kinds Kubernetes deletes their objects, and with "
        "these their records, autoscalers and budgets. If that is meant, delete them first: "
        "kubectl delete bluegreendeployments,releasegroups --all --all-namespaces"
    )


def _counted(apps: list[str]) -> str:
    return f"{len(apps)} apps are" if len(apps) > 1 else "1 app is"


def _tell(output: Output, at: UninstallOptions, entries: list[ChangeSetEntry], apps: list[str]) -> None:
    if output.json:
        objects = [{"kind": each.kind, "name": each.name, "change": each.change} for each in entries]
        output.data({"namespace": at.namespace, "objects": objects, "appsLeft": apps})
        return
    for entry in entries:
        output.line(f"{entry.kind.lower()}/{entry.name} {entry.change}")
    if not entries:
        output.line(f"no agent is installed in namespace {at.namespace}")
    if apps:
        output.line(f"{_counted(apps)} left as {'they are' if len(apps) > 1 else 'it is'}, without an agent.", "green")
    output.line(f"Settings and credentials stay in namespace {at.namespace}: kubectl delete namespace {at.namespace}")
