"""`install`: brings the agent into a cluster, or prints what that takes; `uninstall` takes the agent and its rights out
again, and everything that serves goes on serving. The objects are those of `deploy/`.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from gitops_bg.cli.errors import NOT_SO, OK, CommandFailed, UsageError
from gitops_bg.cli.options.options import CLUSTER, ClusterOptions, GitOptions, OutputOptions, VerifyOptions
from gitops_bg.cli.options.values import (
    namespace_name,
    one_namespace_name,
    positive_seconds,
    seconds,
    service_account_name,
)
from gitops_bg.cli.output import Output
from gitops_bg.cli.repository.user_git import repository_url
from gitops_bg.cli.repository.worktree import deploy_folder
from gitops_bg.cli.session.connect import installed_credentials, installed_settings
from gitops_bg.cli.session.live_session import access
from gitops_bg.cluster import installation
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import Forbidden, no_namespace
from gitops_bg.cluster.api.kinds import DEPLOYMENTS, NAMESPACES, Object
from gitops_bg.cluster.chart import (
    CREDENTIALS,
    NAME,
    Installation,
    Watched,
    bindings_of,
    image_of,
    objects_of,
    settings_digest,
    settings_watching,
)
from gitops_bg.cluster.installation import (
    MissingPart,
    apply,
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
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.drift import ChangeSetEntry
from gitops_bg.spec.yaml.scalars import to_yaml
from gitops_bg.views.words import spoken

if TYPE_CHECKING:
    from gitops_bg.views.shapes.files import InstalledJson


_Namespace = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        parser=namespace_name,
        metavar="NS",
        help="The namespace of the agent itself.",
        rich_help_panel=CLUSTER,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOptions:
    """What to install, and where. The options of Git are those that the agent will have."""

    image: Annotated[
        str,
        typer.Option(
            metavar="IMAGE",
            help="The image of the agent, as the cluster pulls it. Default: the one that is installed, "
            "else that of deploy/agent.yaml.",
        ),
    ] = ""
    export: Annotated[
        bool, typer.Option("--export", help="Print the objects as YAML instead; no cluster is asked.")
    ] = False
    watch_namespace: Annotated[
        list[str] | None,
        typer.Option(
            parser=one_namespace_name,
            metavar="NS",
            help="Apps may live in this namespace: the agent has its rights there, and nowhere else; may be repeated. "
            "Default: where an installed agent has them.",
        ),
    ] = None
    watch_all_namespaces: Annotated[
        bool,
        typer.Option("--watch-all-namespaces", help="Apps may live in every namespace, those that come later, too."),
    ] = False
    impersonate_service_account: Annotated[
        str | None,
        typer.Option(
            parser=service_account_name,
            metavar="NAME",
            help="In each namespace the agent acts as its ServiceAccount of this name: what that may not, no app there "
            "gets. Empty: as itself. Default: as an installed agent does.",
        ),
    ] = None
    timeout: Annotated[
        float,
        typer.Option(
            parser=seconds,
            metavar="DURATION",
            show_default="2m",
            help="How long to wait for the agent to be ready; 0: do not wait.",
        ),
    ] = 120.0
    namespace: _Namespace = "gitops-bg"
    kube: ClusterOptions
    git: GitOptions
    verify: VerifyOptions
    out: OutputOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class UninstallOptions:
    """What to remove."""

    crds: Annotated[
        bool,
        typer.Option("--crds", help="Remove the CustomResourceDefinitions, too; refused while there are apps."),
    ] = False
    timeout: Annotated[
        float,
        typer.Option(
            parser=positive_seconds, metavar="DURATION", show_default="1m", help="How long the agent may take to stop."
        ),
    ] = 60.0
    namespace: _Namespace = "gitops-bg"
    kube: ClusterOptions
    out: OutputOptions


_PAUSE = 0.5
"""Seconds between two looks at what is waited for."""
_SERVED_WITHIN = 30.0
"""Seconds that the API server has to serve a kind that was applied."""


def install(at: InstallOptions) -> int:
    """Install the agent into a cluster, or upgrade it: the kinds, its rights, its settings, and itself.

    Waits until it is ready, and tells what is missing. Without --repo an installed agent keeps its settings; without
    --watch-namespace and --watch-all-namespaces it keeps the namespaces of its apps.

    Example: gitops-bg install --image registry.example/gitops-bg:0.1.0 --repo https://git.example.com/shop/config.git
    --cluster prod --git-token-file token --watch-namespace shop
    """
    output = Output(at.out)
    if at.export:
        _export(output, at)
        return OK
    with closing(Client(access(at.kube))) as client:
        demand_own(client, at.namespace)
        settings = settings_of(client, at.namespace)
        before = watched_now(client, settings)
        wanted = _to_apply(client, at, settings, before)
        _demand_namespaces(client, wanted.watched)
        objects = objects_of(deploy_folder(), wanted)
        entries = list(_applied(client, objects, output))
        gone = remove(client, superseded(deploy_folder(), wanted, before))
        entries += [_print_entry(output, entry) for entry in gone]
        unready = _wait(client, at, output) if at.timeout else ()
    if output.json:
        output.data(_json(at, objects, entries, unready))
    return _verdict(output, at, objects, unready)


def _demand_namespaces(client: Client, watched: Watched) -> None:
    """Raise `CommandFailed`, before anything changes, where a namespace of apps does not exist."""
    missing = [each for each in watched.namespaces if client.get(NAMESPACES, "", each) is None]
    if missing:
        remedy = "or name those that do by --watch-namespace; nothing was changed"
        raise CommandFailed(f"{'; '.join(map(no_namespace, missing))}, {remedy}")


def _to_apply(client: Client, at: InstallOptions, settings: Mapping[str, str], before: Watched | None) -> Installation:
    """Return what to install: what the options say, else what is installed."""
    live = client.get(DEPLOYMENTS, at.namespace, NAME)
    if not settings and not at.git.repo:
        at = replace(at, git=replace(at.git, repo=repository_url("")))
    wanted = _wanted(at, settings, before)
    return replace(wanted, image=at.image or (image_of((live,)) if live else ""))


def _wanted(at: InstallOptions, settings: Mapping[str, str], before: Watched | None) -> Installation:
    """Return what the options say, beside the settings of an installed agent and where it had its rights."""
    watched = _watched(at, before)
    if watched is None:
        raise UsageError(
            "--watch-namespace: say in which namespaces apps may live, such as --watch-namespace shop, "
            "or --watch-all-namespaces"
        )
    known = settings_watching(installed_settings(at.git, at.verify) if at.git.repo else settings, watched)
    written = known if at.git.repo or watched != before else {}
    credentials = installed_credentials(at.git, at.verify) if at.git.repo else {}
    return Installation(at.namespace, at.image, watched, written, settings_digest(known), credentials)


def _watched(at: InstallOptions, before: Watched | None) -> Watched | None:
    """Return where apps may live, and as whom the agent acts there: by the options, else as ``before``; None: nobody
    said.
    """
    if at.watch_namespace and at.watch_all_namespaces:
        raise UsageError("--watch-namespace and --watch-all-namespaces: one of the two")
    watched = before
    if at.watch_all_namespaces or at.watch_namespace:
        watched = Watched(tuple(dict.fromkeys(at.watch_namespace or ())), at.watch_all_namespaces)
    if watched is None:
        return None
    known = before.impersonated if before else ""
    asked = at.impersonate_service_account
    return replace(watched, impersonated=known if asked is None else asked)


def _export(output: Output, at: InstallOptions) -> None:
    """Print the objects, without credentials."""
    watched = _watched(at, None) or Watched()
    wanted = _wanted(at, {}, None) if at.git.repo else Installation(at.namespace, at.image, watched)
    objects = objects_of(deploy_folder(), replace(wanted, credentials={}))
    if output.json:
        output.data({"apiVersion": "v1", "kind": "List", "items": objects})
    else:
        output.text("---\n".join(map(to_yaml, objects)))
    if not at.git.repo:
        output.notice(f"the agent needs the ConfigMap {NAME}, too: give --repo and --cluster, or make it by hand")
    if not bindings_of(deploy_folder(), wanted):
        output.notice("the agent has rights in no namespace yet: give --watch-namespace NS, or --watch-all-namespaces")
    if wanted.credentials:
        files = " ".join(f"--from-file={name}=…" for name in wanted.credentials)
        output.notice(
            f"credentials are not printed: kubectl -n {at.namespace} create secret generic {CREDENTIALS} {files}"
        )


def _applied(client: Client, objects: tuple[Object, ...], output: Output) -> Iterator[ChangeSetEntry]:
    """Apply the kinds, wait until they are served, apply the rest; print each."""
    kinds = definitions(objects)
    rest = tuple(each for each in objects if each not in kinds)
    try:
        for entry in apply(client, kinds):
            yield _print_entry(output, entry)
        if not waited(lambda: installation.kinds_served(client), _SERVED_WITHIN):
            raise CommandFailed(f"the API server serves no BlueGreenDeployment after {spoken(_SERVED_WITHIN)}")
        for entry in apply(client, rest):
            yield _print_entry(output, entry)
    except Forbidden as error:
        raise Forbidden(
            f"{error} (to install takes cluster-admin: give `gitops-bg install --export` to one)"
        ) from error


def _print_entry(output: Output, entry: ChangeSetEntry) -> ChangeSetEntry:
    output.line(f"{entry.kind.lower()}/{entry.name} {entry.change}")
    return entry


def _wait(client: Client, at: InstallOptions, output: Output) -> tuple[MissingPart, ...]:
    """Wait until the agent is ready; print what keeps it from that as soon as it is known, and return it at the end."""
    known: dict[MissingPart, None] = {}

    def ready() -> bool:
        if installation.is_ready(client, at.namespace):
            return True
        for each in installation.missing(client, at.namespace):
            if each not in known:
                known[each] = None
                output.notice(f"not ready yet: {each}")
        return False

    if waited(ready, at.timeout):
        return ()
    return installation.missing(client, at.namespace) or (
        MissingPart("its pods are starting", "wait longer: --timeout 10m"),
    )


def waited(so: Callable[[], bool], seconds: float) -> bool:
    """Wait until something is so, at most ``seconds``; return whether it is."""
    until = time.monotonic() + seconds
    while not so():
        if time.monotonic() >= until:
            return False
        time.sleep(_PAUSE)
    return True


def _json(
    at: InstallOptions, objects: tuple[Object, ...], entries: list[ChangeSetEntry], unready: tuple[MissingPart, ...]
) -> "InstalledJson":
    return {
        "namespace": at.namespace,
        "image": image_of(objects),
        "objects": [{"kind": each.kind, "name": each.name, "change": each.change} for each in entries],
        "ready": not unready if at.timeout else None,
        "missing": [{"message": each.message, "remedy": each.remedy} for each in unready],
    }


def _verdict(output: Output, at: InstallOptions, objects: tuple[Object, ...], unready: tuple[MissingPart, ...]) -> int:
    place = f"namespace {at.namespace}, image {image_of(objects)}"
    if not at.timeout:
        output.line(f"Applied: {place}.", "green")
        return OK
    if not unready:
        output.line(f"The agent is ready: {place}.", "green")
        output.line("Next: gitops-bg get")
        return OK
    for each in unready:
        output.line(f"missing: {each}", "red")
    output.line(f"The agent is not ready after {spoken(at.timeout)}: {place}. It goes on trying.", "red")
    return NOT_SO


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
        if not waited(lambda: installation.is_gone(client, at.namespace), at.timeout):
            raise CommandFailed(
                f"the agent has not stopped after {spoken(at.timeout)}: kubectl -n {at.namespace} get pods"
            )
        kinds = (*roles_for_people(objects), *definitions(objects)) if at.crds else ()
        entries += remove(client, [*rest, *kinds])
    _print_uninstalled(output, at, entries, apps)


def _installed(client: Client, namespace: str) -> tuple[Object, ...]:
    """Return the objects of an installation, with its rights wherever it may have them."""
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


def _print_uninstalled(output: Output, at: UninstallOptions, entries: list[ChangeSetEntry], apps: list[str]) -> None:
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
