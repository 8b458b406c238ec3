"""The options of `install` and `uninstall`. Declarations only."""

from dataclasses import dataclass
from typing import Annotated

import typer

from gitops_bg.cli.options.durations import positive_seconds, seconds
from gitops_bg.cli.options.names import namespace_name, one_namespace_name, service_account_name
from gitops_bg.cli.options.options import CLUSTER, ClusterOptions, GitOptions, OutputOptions, VerifyOptions

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
